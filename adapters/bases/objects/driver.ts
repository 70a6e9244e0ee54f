/**
 * Object stores: flat names, whole objects, parts that are joined. A backend describes its requests as an `ObjectDriver`, and
 * `ObjectProvider` makes a provider of it: folders, listings, reads that survive lost connections, writes in parts, resumable
 * uploads. A driver decides nothing that two stores have in common.
 */
import type { Readable } from 'node:stream'
import type {
  ByteRange,
  Call,
  Entry,
  LinkHeaders,
  StoragePath,
  StorageProvider,
  Traits,
  Unfinished,
  VersionPage,
} from '../../contract.ts'
import type { ObjectKeys } from './keys.ts'
import type { BodyReader, PartLimits, SendLimits, SendOptions } from './parts.ts'
import type { OpenedObject } from './read.ts'
import type { FileStore } from './write.ts'

export interface ObjectLimits extends PartLimits, SendLimits {
  /** Milliseconds without a byte after which a connection counts as dropped. */
  idleTime: number
}

/** A name in a listing, or the common beginning of several names, which ends in `/`. */
export interface ListedKey<Facts extends object> {
  /** Undefined for a name that is not UTF-8. */
  key: string | undefined
  /** Undefined for a common beginning. */
  facts: Facts | undefined
}

export interface KeyPage<Facts extends object> {
  items: ListedKey<Facts>[]
  /** Undefined for the last page. */
  next: string | undefined
}

export interface Selection extends Call {
  /** Empty, or ending in `/`. */
  folderKey: string
  cursor: string | undefined
  from: string | undefined
  limit: number
}

/** A part of a folder's listing, for one page. */
export interface FolderPage<Facts extends object> {
  items: ListedKey<Facts>[]
  cursor: string | undefined
  /** Returns true if an object with this key may be on an earlier page. */
  mayBeEarlier(key: string): boolean
}

/** The object that a write, copy or upload creates or replaces. */
export interface Destination extends Call {
  key: string
  /** The last segment of the path. */
  name: string
  overwrite: boolean
}

/** The facts about a new file that a client gives. */
export interface NewFile {
  mimeType: string | undefined
  modifiedAt: Date | undefined
}

export interface WriteOptions extends NewFile {
  path: StoragePath
  size: number | undefined
  unfinished: Unfinished | undefined
}

/** An upload that continues in later calls. */
export interface UploadRef {
  /** The id that the driver knows the upload by. */
  id: string
  /** The key of the file that it becomes. */
  key: string
}

export interface UploadDriver {
  /** Returns the id of a new upload. */
  begin(path: StoragePath, key: string, options: NewFile & { unfinished: Unfinished | undefined }): Promise<string>
  /** Sends a body as the next parts. @throws NOT_FOUND for a missing upload */
  send(
    upload: UploadRef,
    body: Readable,
    reader: BodyReader,
    options: SendOptions,
  ): Promise<{ bytes: number; count: number }>
  /**
   * Makes the parts 1 to `count` visible as one file of `size` bytes, 1 or more.
   * @throws NOT_FOUND; UNAVAILABLE where a part is missing
   */
  join(
    upload: UploadRef,
    parts: { count: number; size: number },
    destination: Destination,
    file: NewFile,
  ): Promise<Entry>
  /** Frees the parts of an upload that has become a file. Never rejects. */
  free(upload: UploadRef): Promise<void>
  /** Frees what a state or a record of an unfinished write names. Resolves for any other text. */
  abort(text: string): Promise<void>
  /** See `PartWrites`. */
  readonly minPartSize: number
  putPart(upload: UploadRef, body: Readable, options: Call & { number: number; size: number }): Promise<string>
  joinParts(
    upload: UploadRef,
    parts: readonly { number: number; tag: string }[],
    size: number,
    destination: Destination,
    file: NewFile,
  ): Promise<Entry>
}

/** The requests about versions of one store. */
export interface ObjectVersions<Facts extends object> {
  /** Returns a page of the versions of exactly this key, without its present object. */
  list(key: string, options: Call & { cursor: string | undefined; limit: number }): Promise<VersionPage>
  /** Returns undefined for a version that the key does not have. */
  head(key: string, id: string, signal: AbortSignal): Promise<Facts | undefined>
  /** As `ObjectDriver.get`. @throws NOT_FOUND */
  get(
    key: string,
    id: string,
    range: ByteRange | undefined,
    signal: AbortSignal,
  ): Promise<OpenedObject & { facts: Facts }>
  /** Copies a version to its own key. */
  restore(id: string, facts: Facts, destination: Destination, path: StoragePath): Promise<Entry>
  remove(key: string, id: string, signal: AbortSignal): Promise<void>
  /** Returns a page of the keys with a prefix whose objects were deleted, and that have versions. */
  deleted(
    prefix: string,
    options: Call & { cursor: string | undefined; limit: number },
  ): Promise<{ keys: string[]; cursor?: string }>
}

/**
 * The requests of one store. They throw only StorageErrors and the reason of an abort. Without a signal, a request is not
 * interrupted. `Facts` are what the store reports about an object.
 */
export interface ObjectDriver<Facts extends object> {
  readonly limits: ObjectLimits
  readonly traits: Omit<Traits, 'emptyDirectories'> & { maxFileSize: number }
  readonly keys: ObjectKeys
  readonly uploads: UploadDriver
  /**
   * How the store has folders. `inside`: the marker of an empty folder is an object in it, with the key `<folder>/`. `beside`:
   * the marker is an object with the key of the folder. `real`: the store has folders itself.
   */
  readonly folderStyle: 'inside' | 'beside' | 'real'
  /** @param key the key of a file, or the prefix of a folder: empty for the whole store, otherwise ending in `/` */
  fileId(key: string): string
  fileEntry(name: string, key: string, facts: Facts): Entry
  /** Returns true for a marker or a real folder. */
  isFolder(facts: Facts): boolean
  /** Returns true for a name that a path can have. */
  isName(name: string): boolean
  /** Returns true for what Stowage itself keeps in the store. Listings leave it out, and folders with nothing else are empty. */
  isHidden(name: string, isPrefix: boolean): boolean
  /** Returns the facts that a copy needs, from an entry of some time ago; undefined where the entry does not suffice. */
  factsOf?(entry: Entry): Facts | undefined
  /** Runs before a change, at the same time as the checks of its path. */
  prepare?(): Promise<unknown>

  /** Returns undefined for a missing key. */
  head(key: string, signal?: AbortSignal): Promise<Facts | undefined>
  /** Lists keys with this prefix, in the order of the store. @param options.delimiter groups keys by it */
  list(
    prefix: string,
    options: { limit: number; delimiter?: '/'; after?: string | undefined },
    signal?: AbortSignal,
  ): Promise<KeyPage<Facts>>
  /** Returns one page of a folder with the cursors of this store; without items for a folder that has none. */
  page(selection: Selection): Promise<FolderPage<Facts>>
  /** @param etag the only version to read; undefined or null for any. @throws NOT_FOUND, NOT_A_FILE, PRECONDITION_FAILED, RANGE_NOT_SATISFIABLE */
  get(
    key: string,
    range: ByteRange | undefined,
    etag: string | null | undefined,
    signal: AbortSignal,
  ): Promise<OpenedObject & { facts: Facts }>
  /** Returns the error for the last of several failures of a connection. */
  unreachable(error: Error): Error
  /** Stores a file in one request. @throws ALREADY_EXISTS */
  put(destination: Destination, file: NewFile, bytes: Buffer): Promise<Entry>
  /** Prepares a write of unknown length. */
  fileStore(destination: Destination, body: Readable, options: WriteOptions): FileStore
  /** Copies within the store. @throws PRECONDITION_FAILED, NOT_FOUND where the source is not the one that `facts` describe */
  copy(
    source: { key: string; facts: Facts },
    destination: Destination,
    options: { path: StoragePath; unfinished: Unfinished | undefined },
  ): Promise<Entry>
  /** Resolves for a missing key. */
  remove(key: string, signal?: AbortSignal): Promise<void>
  removeAll(keys: readonly string[], signal: AbortSignal): Promise<void>
  /** Makes an empty folder. Returns false if it exists. */
  makeFolder(path: StoragePath, signal?: AbortSignal): Promise<boolean>
  /** With real folders: deletes one. Returns false for a missing one. @throws NOT_EMPTY unless `isRecursive` */
  removeFolder?(key: string, isRecursive: boolean, signal: AbortSignal): Promise<boolean>
  /** With real folders: renames a file or a folder. @throws NOT_FOUND, ALREADY_EXISTS */
  rename?(from: string, to: string, overwrite: boolean): Promise<void>
  presign(
    key: string,
    options: { method: 'GET' | 'PUT'; expiresIn: number; responseHeaders?: LinkHeaders | undefined },
  ): ReturnType<NonNullable<StorageProvider['presign']>>
  /** Where the store keeps what is replaced. */
  readonly versions?: ObjectVersions<Facts>
  close(): void
}
