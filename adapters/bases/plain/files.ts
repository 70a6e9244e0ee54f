/**
 * For servers of plain files and folders, such as FTP, SFTP and WebDAV: implement a few commands, and `openPlainProvider` makes
 * a provider of them.
 */
import type { Readable } from 'node:stream'
import type {
  Call,
  ChangesPage,
  Entry,
  Quota,
  ResumableWrites,
  StoragePath,
  Traits,
  Unfinished,
} from '../../contract.ts'

/** The facts about a file or folder that the server returns. */
export interface Facts
  extends Pick<Entry, 'kind' | 'size' | 'modifiedAt'>,
    Partial<Pick<Entry, 'etag' | 'mimeType' | 'checksums' | 'fileId'>> {}

export interface RenameOptions extends Call {
  overwrite: boolean
  /** The kind of the entry that is renamed. */
  kind: Facts['kind']
}

export interface StoreOptions extends Call {
  modifiedAt?: Date
  /** A hint, in bytes. */
  size?: number
  /** See `StorageProvider.write`: for servers with commands for unfinished uploads. */
  unfinished?: Unfinished
}

/**
 * Makes a file visible with `store`, which creates the file or replaces it in one step. Meanwhile, no other writer of this path
 * does so. Makes missing parents, and finds the reason where `store` is refused.
 * @throws ALREADY_EXISTS, NOT_A_FILE, NOT_A_DIRECTORY as `StorageProvider.write`; the error of `store`
 */
export type Commit = (
  path: StoragePath,
  options: Call & { overwrite: boolean },
  store: () => Promise<void>,
) => Promise<Entry>

/**
 * The commands of a server. Reject with a StorageError. When the server refuses a command and does not say why (a missing
 * parent, an existing target), use any code but UNAVAILABLE, RATE_LIMITED, UNAUTHORIZED, QUOTA_EXCEEDED and IN_USE, such as
 * PERMISSION_DENIED: the provider looks at the paths and finds the reason, or else returns your error.
 */
export interface PlainFiles {
  readonly traits: Omit<Traits, 'emptyDirectories' | 'listOrder'>
  /** True where `rename` without `overwrite` never replaces anything. Otherwise writes to one path take turns. */
  readonly hasExclusiveRename?: boolean

  /** Returns the `fileId` of a path, for entries whose facts have none. Writers of a path take turns under this name. */
  idOf(path: StoragePath): string

  /** Returns null for a missing path, and for what is neither a file nor a folder. */
  find(path: StoragePath, call: Call): Promise<Facts | null>
  /** Lists a whole folder, in any order, with files and folders only. */
  list(path: StoragePath, call: Call): Promise<(Facts & { name: string })[]>
  /**
   * Yields the bytes `start` to `end - 1` of a file, and may yield those after them. After an UNAVAILABLE, the provider looks
   * at the file and continues where it stopped. An early `return` ends the transfer, as an abort does. Reject with
   * PRECONDITION_FAILED for a file that has changed since its `facts` were read.
   */
  receive(path: StoragePath, options: Call & { start: number; end: number; facts: Facts }): AsyncIterable<Uint8Array>
  /**
   * Stores a file at a path where there is none, durably where the server can. A failure may leave a part of it. The body
   * ends with an error when the signal aborts.
   */
  store(path: StoragePath, body: Readable, options: StoreOptions): Promise<void>
  /**
   * Renames a file or a folder. With `overwrite`, replaces a file in one step where the server can. If the server refuses that, the
   * provider first renames the file at `to` to a hidden name, and renames it back if the second rename also fails.
   */
  rename(from: StoragePath, to: StoragePath, options: RenameOptions): Promise<void>
  /** Makes one folder in an existing one. Is refused where anything exists. */
  makeFolder(path: StoragePath, call: Call): Promise<void>
  removeFile(path: StoragePath, call: Call): Promise<void>
  /** Is refused where the folder is not empty. */
  removeFolder(path: StoragePath, call: Call): Promise<void>

  /**
   * Replaces a file by a body in one step: readers get the old or the new one, and a failure keeps the old one. Without this
   * method, the provider stores the body beside the file, and renames.
   */
  replace?(path: StoragePath, body: Readable, options: StoreOptions): Promise<void>
  /** Removes a folder with everything below it. */
  removeTree?(path: StoragePath, call: Call): Promise<void>
  /** Sets the modification time of a file or folder. */
  setModifiedAt?(path: StoragePath, modifiedAt: Date, call: Call): Promise<void>
  /** Copies a file to a path where there is none. */
  copy?(from: StoragePath, to: StoragePath, call: Call): Promise<void>
  /**
   * Writes a body into a file from `offset` on, durably where the server can. The file has at least `offset` bytes, and more
   * where an earlier attempt has failed: drop those where the server can. At offset 0, makes the file. Without this method, the
   * host keeps unfinished uploads itself.
   */
  append?(path: StoragePath, body: Readable, options: Call & { offset: number; modifiedAt?: Date }): Promise<void>
  /** Makes resumable writes of the server's own commands for unfinished uploads, instead of `append`. */
  resumable?(commit: Commit): ResumableWrites
  quota?(call: Call): Promise<Quota>
  /** As `StorageProvider.changes`. */
  changes?(cursor: string | null, call: Call): Promise<ChangesPage | null>
  close(): void
}
