/**
 * The adapter contract, published as `stowage/adapter`. This file holds everything that an adapter author needs.
 *
 * A *provider* is one connected back end. An *adapter* is the code for back ends of one type. The *host* is the Stowage
 * server. An optional method that is present is a capability; `traits` state other facts about the back end.
 */
import type { FileHandle } from 'node:fs/promises'
import type { ClientRequest, Agent as HttpAgent, AgentOptions as HttpAgentOptions } from 'node:http'
import type { Agent as HttpsAgent, AgentOptions as HttpsAgentOptions } from 'node:https'
import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import type { TLSSocket, ConnectionOptions as TlsConnectionOptions } from 'node:tls'

/** The version of this contract. A server refuses adapters with another version. */
export const apiVersion = 1

/**
 * A path inside the provider: segments separated by `/`, without a leading or trailing `/`. The empty string is the root.
 *
 * A path is well-formed Unicode, at most 4,096 bytes of UTF-8, exactly as the client sent it: a back end may hold NFC and
 * NFD names side by side. No segment is empty, `.` or `..`, and none contains NUL. A segment can contain any other
 * character, including `\`, `:`, CR and LF. Where your back end gives one of them a meaning, name it in
 * `traits.forbiddenInNames`, and the host never passes a path with it.
 *
 * The host validates paths that clients send; adapters derive other paths from them only with the functions below.
 */
export type StoragePath = string & { readonly __storagePath: true }

/** Splits `a/b/c` into `a`, `b` and `c`. The root has no segments. */
export function segmentsOf(path: StoragePath): string[] {
  return path === '' ? [] : path.split('/')
}

/** Joins segments to a path, the inverse of `segmentsOf`. Without segments, it returns the root. */
export function joinSegments(segments: readonly string[]): StoragePath {
  return segments.join('/') as StoragePath
}

/** Returns the last segment: `c` for `a/b/c`, the empty string for the root. */
export function nameOf(path: StoragePath): string {
  return path.slice(path.lastIndexOf('/') + 1)
}

/** Returns the parent folder: `a/b` for `a/b/c`. The parent of the root is the root. */
export function parentOf(path: StoragePath): StoragePath {
  return path.slice(0, Math.max(0, path.lastIndexOf('/'))) as StoragePath
}

/** Returns every folder that contains the path, root first: the root, `a` and `a/b` for `a/b/c`; none for the root. */
export function ancestorsOf(path: StoragePath): StoragePath[] {
  const segments = segmentsOf(path)
  return segments.map((_, depth) => joinSegments(segments.slice(0, depth)))
}

/** Returns the path of `name` in the folder `path`: `a/b` for `a` and `b`. It checks neither the name nor the length. */
export function childOf(path: StoragePath, name: string): StoragePath {
  return joinSegments([...segmentsOf(path), name])
}

export interface Entry {
  /** The last segment of the path. The root's name is the empty string. */
  name: string
  kind: 'file' | 'directory'
  /** Bytes. Null for a directory, and where the back end does not know the size (a Google Doc). */
  size: number | null
  modifiedAt: Date | null
  /**
   * An opaque, unquoted version: 1 to 256 characters of printable ASCII without space and `"`. Equal etags of one path mean
   * equal bytes.
   */
  etag: string | null
  /**
   * Set it where `etag` also changes while the bytes stay, as with a rename: an opaque text of 1 to 256 characters of printable ASCII
   * that stays the same until something writes to the file.
   */
  contentTag?: string
  /**
   * `type/subtype`. Null where the back end stores no type, or returns none in a listing. The host then derives the type
   * from the name.
   */
  mimeType: string | null
  /** Checksums that the back end stores, in lowercase hex; optional in a listing. Never read the file to compute one. */
  checksums?: Partial<Record<ChecksumAlgorithm, string>>
  /**
   * Identifies the stored file or directory itself: it is the same in every provider that contains the entry, whatever
   * its path there, and different from the id of every other entry. 1 to 2,048 characters that start with the kind of
   * storage, such as `s3:<endpoint>/<bucket>/<key>`.
   *
   * Two providers may open the same back end. The host compares ids to refuse copying or moving a file onto itself or a
   * directory into itself, and so never deletes the source of a move that is also its destination. The id stays the
   * same until the entry is moved or replaced. The host compares ids within one operation and never stores them. Leave
   * it out only where the back end has no such id.
   */
  fileId?: string
  /**
   * True where `read` returns a conversion instead of the stored content (a Google Doc). The host copies such a file, but
   * never moves it by copying and deleting; only `move` moves it.
   */
  isExport?: boolean
}

export type ChecksumAlgorithm = 'md5' | 'sha1' | 'sha256' | 'crc32c'

/**
 * The options of every call. When `signal` aborts, undo what the call has begun, free the connection and reject with
 * `signal.reason`. The host waits up to five seconds for the end of a call that changes something.
 *
 * The host also aborts calls that take too long. Add timeouts only where you can detect a dead connection earlier. The host aborts
 * - `resumable.abort` after 30 seconds;
 * - `read`, `versions.read`, `write`, `openFile` and the other methods of `resumable` after five minutes without progress;
 * - `copy`, `copySmall`, `move`, `deleteTree`, `versions.restore`, the methods of `trash`, and the end of a write, whose progress it cannot
 *   see, after one hour;
 * - `stat`, `list`, `changes`, `readSmall`, `delete`, `mkdir`, `quota`, `presign` and the other methods of `versions` after one minute.
 */
export interface Call {
  signal: AbortSignal
}

/**
 * Settles as `promise` does, or rejects with the signal's reason as soon as the signal aborts. Use it to wait for work that
 * takes no signal, such as `Host.accessToken`. The work itself continues.
 */
export async function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const onAbort = () => reject(signal.reason)
  if (signal.aborted) onAbort()
  else signal.addEventListener('abort', onAbort, { once: true })
  try {
    return await Promise.race([aborted, promise])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

/** The treatment of a file that already has the path of a call. */
export interface Replacing {
  /** False to reject with ALREADY_EXISTS. */
  overwrite: boolean
  /**
   * Keeps the content of a file that the call replaces. The host passes it only with `traits.keepsReplaced`, and then not to every call.
   *
   * Call and await it when everything is ready, just before you replace the file that has the path. Do not call it if no file has the path.
   * If another file has taken the path meanwhile, call it again: only the file of the last call counts. The host calls `preserve` at most
   * once for each call, while no other call of its own replaces the same file. `preserve` lets the present file have the
   * path `to` as well, in a folder at the root that it makes, and returns the entry there, or null if no file has the path any more. If it
   * has to copy the file, that entry has the `etag` of the file and no `fileId`. If `keep` rejects, reject with its error and replace
   * nothing.
   */
  keep?: KeepReplaced
}

export type KeepReplaced = (preserve: (to: StoragePath) => Promise<Entry | null>) => Promise<void>

/** Facts about the back end that its methods do not show. */
export interface Traits {
  /** True where an empty directory can exist. */
  emptyDirectories: boolean
  /** The size of the largest file that the back end stores, in bytes. */
  maxFileSize?: number
  /**
   * The checksum algorithm that the back end applies to every file, so that the entry returned by each `write` has the
   * result. The host computes the same checksum and compares. Without it the host verifies only the digests that
   * clients send.
   */
  storedChecksum?: 'md5' | 'sha1' | 'sha256'
  /**
   * True where `write` stores the `modifiedAt` that it is given, to the millisecond or rounded to one or two seconds, and
   * `copy` gives the copy the time of its source. All entries of the file then have that time.
   */
  keepsModifiedAt?: boolean
  /**
   * True where `write`, `copy`, `move` and `complete` call `keep`, so that a file which they replace stays as an earlier version in the
   * same step. Set it where that takes no copy, such as with hard links. Otherwise the host copies the file before it calls them.
   */
  keepsReplaced?: boolean
  /**
   * Milliseconds to which `list` rounds times down, where it is coarser than `stat`. Leave it out where both return the
   * same time.
   */
  listedTimePrecision?: number
  /** Milliseconds after which the host calls `changes` again, 1,000 or more. Default: a minute. */
  changesInterval?: number
  /**
   * The order of all entries that the pages of one walk return, if it is always the same: 'names' is that of the bytes of the names
   * in UTF-8; in 'keys', the name of a directory counts with a `/` behind it. `list` then takes `from`.
   */
  listOrder?: 'names' | 'keys'
  /**
   * The maximum number of bodies from `read` that exist at once in one open provider, each from the call until it ends or
   * is destroyed. Further calls wait in the host, in order, for up to 30 seconds, and then fail with UNAVAILABLE. Set it
   * where a body occupies a connection. Default: unlimited.
   */
  maxReads?: number
  /**
   * The maximum number of calls of `write`, `copy`, `copySmall`, `resumable.append`, `resumable.complete` and `resumable.parts.put`
   * that run at once in one open provider. It is separate from `maxReads`, so that a copy inside the provider, which reads and writes at once,
   * always gets both.
   */
  maxWrites?: number
  /**
   * Characters that no name can contain, because the back end refuses them, separates folders with them or drops them. The host
   * passes no path with such a name to any method: reading there is NOT_FOUND, writing there is INVALID_PATH with a message
   * that names the character, and `list` leaves out entries with such names. `windowsNames` has those of Windows.
   */
  forbiddenInNames?: string
  /** Characters that no name can end with, such as those that Windows drops. The host enforces it as `forbiddenInNames`. */
  forbiddenAtEndOfNames?: string
  /**
   * Names that no entry can have, in any case of the letters. `con.*` stands for `con` and for `con` with any extension. The host
   * enforces it as `forbiddenInNames`.
   */
  reservedNames?: readonly string[]
  /** True where names are part of a command line. It adds CR and LF to `forbiddenInNames`. */
  singleLineNames?: boolean
}

/** U+0001 to U+001F. No path contains U+0000. */
const controlCharacters = String.fromCharCode(...Array.from({ length: 0x1f }, (_, index) => index + 1))

/**
 * Traits of a back end with the names of Windows, such as an SMB server: `traits = { emptyDirectories: true, ...windowsNames }`.
 * https://learn.microsoft.com/windows/win32/fileio/naming-a-file
 */
export const windowsNames = {
  // `\` separates folders, and `:` separates a file from the name of one of its streams.
  forbiddenInNames: `\\:*?"<>|${controlCharacters}`,
  forbiddenAtEndOfNames: ' .',
  reservedNames: [
    'con.*',
    'prn.*',
    'aux.*',
    'nul.*',
    'conin$.*',
    'conout$.*',
    ...Array.from('0123456789\u00b9\u00b2\u00b3', digit => [`com${digit}.*`, `lpt${digit}.*`]).flat(),
  ],
} satisfies Partial<Traits>

/** The values of the response headers Content-Type and Content-Disposition (RFC 6266). */
export interface LinkHeaders {
  contentType: string
  contentDisposition: string
}

/** The bytes `offset` to `offset + length - 1`; without `length`, to the end. A `length` is 1 or more. */
export interface ByteRange {
  offset: number
  length?: number
}

/**
 * One connected back end. `open` decides its capabilities and traits once it knows the server: an optional method that is
 * undefined is a missing capability. Any method may reject with UNAUTHORIZED, NEEDS_RECONNECT, PERMISSION_DENIED, IN_USE,
 * RATE_LIMITED, UNAVAILABLE or INVALID_PATH; `@throws` lists the other codes of each method. The host makes calls concurrently and in any
 * order. It reads and lists the root, but never writes, creates, deletes, copies or moves it.
 *
 * When the back end is busy or down, retry for some seconds, then reject with RATE_LIMITED or UNAVAILABLE and
 * `retryAfterMs`. An abort ends the wait between retries, too.
 */
export interface StorageProvider {
  readonly traits: Traits

  /** Returns the entry at `path`. @throws NOT_FOUND */
  stat(path: StoragePath, options: Call): Promise<Entry>

  /**
   * Returns one page of a directory: 0 to `limit` entries (`limit` is 1 to 1,000). A page without `cursor` is the last. A
   * cursor has 1 to 1,024 characters, contains no secrets and differs from the one passed in. It stays valid while entries
   * are added and removed: a walk returns each entry that exists during the whole walk exactly once. Entries equal those of
   * `stat`, but may lack `mimeType`, `modifiedAt` and `checksums`.
   *
   * The host passes `from` only for the first page, and only if `traits.listOrder` is set. The walk may leave out all entries that
   * come before this text in that order. The text need not be a name, and may end in NUL.
   * @throws NOT_FOUND where `traits.emptyDirectories`; NOT_A_DIRECTORY
   */
  list(path: StoragePath, options: Call & { cursor?: string; from?: string; limit: number }): Promise<ListPage>

  /**
   * Returns the content of a file, or a range of it. `entry` describes the whole file, of the version that `body` has. A
   * range that reaches past the end is cut there. `ifMatch` is an etag. The host listens to the errors of `body`, and
   * destroys a `body` that it does not read to the end.
   *
   * `entry` is what `stat` or `list` returned for the path within the last two seconds. Use it instead of looking again
   * where the back end reports nothing about the file that it sends.
   * @throws NOT_FOUND, NOT_A_FILE, RANGE_NOT_SATISFIABLE for an `offset` at or past the end, PRECONDITION_FAILED
   */
  read(path: StoragePath, options: Call & { range?: ByteRange; ifMatch?: string; entry?: Entry }): Promise<ReadResult>

  /**
   * Stores a file and makes missing parents. The file becomes visible as a whole when the call resolves, and survives a power
   * cut from then on, because the host may next delete the source of a move. The same holds for `mkdir`, `copy`, `move` and
   * `complete`. A call that fails or is aborted leaves no trace and keeps an existing file.
   *
   * With `overwrite: false`, never replace a file that another write has created since. Where the back end has no atomic
   * create, check and write within `Host.exclusively`.
   *
   * `modifiedAt`, a time from 1970 to 2099, is the modification time of the file that this one is a copy of. Ignore it where
   * the back end cannot store it. Without it, the file has the current time. The returned entry has the `modifiedAt` null if
   * another request would be needed to find it.
   *
   * `size` is a hint in bytes. Read `body` to its end regardless: it can fail after its last byte (a wrong digest). Reject
   * with the error of the body then. The host listens to the errors of `body`, so one that nobody reads does not stop the
   * process. When the write fails for another reason, destroy `body`.
   *
   * Use `unfinished` where the back end keeps unfinished writes when a server is killed.
   * @throws ALREADY_EXISTS with `overwrite: false`; NOT_A_FILE over a directory; NOT_A_DIRECTORY where a parent is a
   * file; QUOTA_EXCEEDED
   */
  write(
    path: StoragePath,
    body: Readable,
    options: Call & Replacing & { size?: number; mimeType?: string; modifiedAt?: Date; unfinished?: Unfinished },
  ): Promise<Entry>

  /**
   * Deletes a file or an empty directory. Resolves for a missing path. `entry` is as in `read`: use its kind to choose the
   * right request, and look again if that fails.
   * @throws NOT_EMPTY
   */
  delete(path: StoragePath, options: Call & { entry?: Entry }): Promise<void>

  /**
   * Makes a directory and missing parents. Resolves for an existing directory, unless `exclusive` is true.
   * @throws ALREADY_EXISTS over a file, or with `exclusive`; NOT_A_DIRECTORY where a parent is a file
   */
  mkdir(path: StoragePath, options: Call & { exclusive: boolean }): Promise<void>

  /**
   * Deletes a directory with everything below it, including entries that `list` leaves out. Resolves for a missing path.
   * Implement it only where the back end does this better than one by one. Without it the host walks the tree.
   */
  deleteTree?(path: StoragePath, options: Call): Promise<void>

  /**
   * Opens a file on this machine. Implement it only for local files: the host reads with reused buffers or lets a reverse
   * proxy send the file at the handle's path. The entry has the size and, to the millisecond, the time of the handle. The host
   * closes the handle. @throws as `read`
   */
  openFile?(path: StoragePath, options: Call & { ifMatch?: string }): Promise<{ handle: FileHandle; entry: Entry }>

  /**
   * Returns the whole content of a file of at most `maxBytes` bytes. Returns null for a larger file, and whenever the file cannot
   * be read in this way: the host then calls `openFile` or `read`, which also report errors. Implement it only if it is faster
   * than those.
   */
  readSmall?(
    path: StoragePath,
    options: Call & { maxBytes: number },
  ): Promise<{ entry: Entry; bytes: Uint8Array } | null>

  /**
   * Copies a file and makes missing parents. Implement it only where the back end copies by itself; otherwise the host
   * streams. Reject with NOT_IN_ONE_STEP, having changed nothing, where it cannot do so for these two paths.
   *
   * `entry` is the source as `stat` or `list` returned it some time ago. Use it instead of looking at the source first. If the
   * source has changed since, copy the current version. The returned entry may lack what `entry` lacks.
   * @throws NOT_FOUND, NOT_A_FILE, ALREADY_EXISTS, QUOTA_EXCEEDED, NOT_IN_ONE_STEP
   */
  copy?(
    from: StoragePath,
    to: StoragePath,
    options: Call & Replacing & { unfinished?: Unfinished; entry?: Entry },
  ): Promise<Entry>

  /**
   * Copies up to 100 small files of the directory `from` into the directory `to`, under the same names, and never replaces a file.
   * Returns for each name, in order, the entry of the copy, or null for a file that was not copied: the host then calls `copy`,
   * which also reports errors. Implement it only if it is faster than `copy` for each file. Resolve when all copies survive a
   * power cut. A call that fails may leave copies, which the host finds when it tries again.
   */
  copySmall?(
    from: StoragePath,
    to: StoragePath,
    names: readonly string[],
    options: Call,
  ): Promise<readonly (Entry | null)[]>

  /**
   * Moves a file, or a directory with everything below it, and makes missing parents. Implement it only where the back end
   * does this in one step; otherwise the host copies and deletes. Never replace a directory that is not empty, a file by a
   * directory or a directory by a file. `entry` is the source, as in `read`.
   * @throws NOT_FOUND, ALREADY_EXISTS, NOT_EMPTY, NOT_IN_ONE_STEP; NOT_A_FILE or NOT_A_DIRECTORY where the kinds differ
   */
  move?(from: StoragePath, to: StoragePath, options: Call & Replacing & { entry?: Entry }): Promise<Entry>

  /**
   * Sets the modification time of a file or directory, from 1970 to 2099, and changes nothing else. The etag of a file may change.
   * Implement it only where that takes no copy. @throws NOT_FOUND
   */
  setModifiedAt?(path: StoragePath, modifiedAt: Date, options: Call): Promise<void>

  /** Returns the space used and the total of the account or disk. */
  quota?(options: Call): Promise<Quota>

  /**
   * Returns an id of the root folder. Implement it only where the `fileId` of the root folder does not stay the same for years. The id has
   * 1 to 2,048 characters and starts with the name of the kind of storage. The id of a folder below the root is the id of the root, followed
   * by `/` and more. The host stores the id and compares it with the ids of other providers of the same type, because no other provider may
   * be connected at the root of an encrypted provider, above it or below it.
   */
  rootId?(options: Call): Promise<string>

  /**
   * Returns what has changed since a position, whoever has changed it. With `null`, returns the present position and no changes. The
   * host calls it again and again, one call at a time, and passes the cursor of the last result. It may pass the cursor before that
   * one again, if it could not store the result. A cursor is for this provider, of another replica too.
   *
   * Implement it only where the back end itself tells what has changed, and never list folders for it: the host compares all folders
   * once a day, and after `'everything'`. Return null while the back end cannot tell: the host asks again after an hour.
   */
  changes?(cursor: string | null, options: Call): Promise<ChangesPage | null>

  /**
   * Returns a link that works without credentials for `expiresIn` seconds, for a request with exactly this method and these
   * headers. `responseHeaders` has the headers of the response to a GET link, so that a browser saves a file that it must not show.
   *
   * The holder of a link can add headers to the request. Return null where such a header could read or write something else
   * or change who can read the file.
   */
  presign?(
    path: StoragePath,
    options: Call & { method: 'GET' | 'PUT'; expiresIn: number; responseHeaders?: LinkHeaders },
  ): Promise<{ url: URL; headers: Record<string, string> } | null>

  /** Implement it only where the back end itself keeps an unfinished upload across requests and server replicas. */
  resumable?: ResumableWrites

  /**
   * Implement it only where the back end itself has a trash, into which an entry goes and from which it comes back in one step.
   * Without it, the host moves deleted entries to a folder at the root of the provider.
   */
  trash?: NativeTrash

  /**
   * Implement it only where the back end itself keeps the content of a file that is replaced. The host then keeps no copies of its own,
   * unless the settings of the provider have a number of versions.
   */
  versions?: NativeVersions

  /** Frees what `open` acquired. The host calls it once, when no other call is running, and makes no call after it. */
  close?(): Promise<void>
}

/** Records an unfinished write at the back end. If the server is killed, another replica frees it later. */
export interface Unfinished {
  /**
   * Await this before the request that creates something at the back end, and again once the response names it: the later
   * state replaces the earlier one.
   * @param state the argument for `resumable.abort`; a provider without that method does not need this
   * @throws an error that the write must fail with
   */
  began(state: string): Promise<void>
  /**
   * Call this when the file is stored or everything is freed. Otherwise the host later calls `resumable.abort` with the last
   * state.
   */
  ended(): Promise<void>
}

/** One page of what has changed at a back end. */
export interface ChangesPage {
  /**
   * At most 1,000 entries, in any order, perhaps repeatedly, and perhaps ones that have not changed: the host looks at each and compares.
   * `'everything'` where the back end cannot tell what has changed since the cursor, as when the cursor has expired.
   */
  changed: readonly ChangedEntry[] | 'everything'
  /** The position after these changes: 1 to 4,096 characters without secrets. */
  cursor: string
  /** There are more changes: the host calls again at once. */
  hasMore: boolean
}

/** An entry that was added, changed, moved or removed. It has a path, an id or both. */
export interface ChangedEntry {
  /** A path at which the entry is or was. */
  path?: StoragePath
  /**
   * The `fileId` of the entry. The host looks at each path at which it has seen this id, so a back end need not know where an entry
   * was before it was moved or removed.
   */
  fileId?: string
  /** Anything below the path may have changed, too. The host looks below new folders in any case. */
  isTree?: boolean
  /**
   * When the adapter learned of the latest change, as of `performance.now()`, if it learns of changes before the host asks. It saves the
   * host a look at what it has changed itself.
   */
  noticedAt?: number
}

/** Bytes. Null means unknown or unlimited. */
export interface Quota {
  used: number | null
  total: number | null
}

export interface ListPage {
  entries: Entry[]
  cursor?: string
}

export interface ReadResult {
  body: Readable
  entry: Entry
}

/** Uploads that span several requests: S3 multipart uploads, Drive resumable sessions, a staging file. */
export interface ResumableWrites {
  /** The minimum size of an append in bytes. */
  readonly partSize: number
  /**
   * The size of every append is a multiple of this number of bytes, and so is `partSize`. Default: `partSize`. Set it where appends
   * may have other sizes than whole parts, and set it to 1 where they may have any size.
   */
  readonly partMultiple?: number
  /** The maximum number of appends in one upload, counting `complete` as one. Default: unlimited. */
  readonly maxAppends?: number
  /**
   * Begins an upload and returns its state: opaque text, at most 8 KiB, that the host stores encrypted and passes to the
   * next call. Any provider opened on the same back end can continue with it, on another replica or after a restart. Two
   * uploads to one path are independent. `modifiedAt` is as in `write`. Use `unfinished` for an upload whose id was lost
   * with the response; the host keeps it until the returned state is stored.
   */
  begin(
    path: StoragePath,
    options: Call & { size?: number; mimeType?: string; modifiedAt?: Date; unfinished?: Unfinished },
  ): Promise<string>
  /**
   * Adds `size` bytes at `offset`, which is the sum of all earlier sizes. Returns the new state. The appends of one upload mostly have
   * the same size, because some back ends require it. The host makes one call at a time, and may repeat it with the same state and bytes
   * after a failure, an abort or a lost response. Destroy `body` when the call fails.
   * @throws NOT_FOUND for a missing upload; PRECONDITION_FAILED where its size is not `offset`; QUOTA_EXCEEDED
   */
  append(state: string, body: Readable, options: Call & { offset: number; size: number }): Promise<string>
  /**
   * Adds the last `size` bytes at `offset` and makes the file visible. Any `size` is possible, including 0: for an
   * empty file, or where the total was unknown until now. The host may repeat the call as it may `append`; once the
   * file is visible, a repeated call may also reject with NOT_FOUND. Treat `body` as in `write`.
   * @throws as `append`, and ALREADY_EXISTS, NOT_A_FILE, NOT_A_DIRECTORY as `write`
   */
  complete(state: string, body: Readable, options: Call & Replacing & { offset: number; size: number }): Promise<Entry>
  /**
   * Frees what `begin`, `append` and `parts.put` stored. Resolves without effect for an upload that was aborted or completed.
   */
  abort(state: string, options: Call): Promise<void>
  /** Implement it where the back end takes the parts of a file in any order and at once. */
  readonly parts?: PartWrites
}

/**
 * Uploads in parts: S3 multipart uploads, block lists. `begin` begins such an upload, too, and its state stays the same. The host
 * adds bytes to an upload either with `append` and `complete` or with these two methods.
 */
export interface PartWrites {
  /** The size of every part but the last, at least, in bytes. */
  readonly minSize: number
  /**
   * Stores the part with this number, 1 to 10,000, of `size` bytes, 0 to 5 GiB. Returns its tag: text of 1 to 256 characters that
   * identifies the bytes of this call. It replaces an earlier part with the number. The host makes calls at once, and may repeat
   * each. Destroy `body` when the call fails.
   * @throws NOT_FOUND for a missing upload; QUOTA_EXCEEDED
   */
  put(state: string, body: Readable, options: Call & { number: number; size: number }): Promise<string>
  /**
   * Makes the file visible: the bytes of these parts, one or more, in the order of their numbers, and of no others. `size` is
   * that of the file. The host may repeat the call as it may repeat `ResumableWrites.complete`.
   * @throws NOT_FOUND for a missing upload; PRECONDITION_FAILED for a part that is missing or has another tag, or for one that is
   * not listed where the back end cannot leave it out; ALREADY_EXISTS, NOT_A_FILE, NOT_A_DIRECTORY as `write`. The bytes of a
   * part that was sent again may still be there under their own tag: the host passes the latest one.
   */
  complete(
    state: string,
    parts: readonly { number: number; tag: string }[],
    options: Call & Replacing & { size: number },
  ): Promise<Entry>
}

/**
 * The trash of a back end. The host stores which entries it has put there, and shows only those.
 *
 * The host may be killed between any two calls, so an entry has an id that is known before it goes to the trash: opaque text of
 * 1 to 1,024 characters without secrets, which stays the same in the trash, and on which another server can act later.
 */
export interface NativeTrash {
  /** Returns the id of a file or directory. @throws NOT_FOUND */
  identify(path: StoragePath, options: Call): Promise<string>
  /**
   * Moves an entry, with everything below it, to the trash. Resolves for one that is there. `path` is where `identify` has just
   * found it, for caches.
   * @throws NOT_FOUND
   */
  put(id: string, path: StoragePath, options: Call): Promise<void>
  /** Returns whether the entry itself is in the trash, and not just a directory that contains it. */
  has(id: string, options: Call): Promise<boolean>
  /**
   * Moves an entry from the trash to a path and makes missing parents. Never replaces anything.
   * @throws NOT_FOUND where it is not in the trash; ALREADY_EXISTS; NOT_A_DIRECTORY where a parent is a file
   */
  restore(id: string, to: StoragePath, options: Call): Promise<Entry>
  /** Deletes an entry of the trash with everything below it. Resolves for one that is not in the trash. */
  remove(id: string, options: Call): Promise<void>
}

/** The earlier versions of files that a back end keeps. The present content of a file is none of them. */
export interface NativeVersions {
  /**
   * Returns one page of the versions of a file, the newest first: 0 to `limit` (1 to 1,000). A page without `cursor` is the last; a cursor
   * is like that of `list`. Returns no versions for a path without a file, unless the back end has versions of a file that was deleted there.
   */
  list(path: StoragePath, options: Call & { cursor?: string; limit: number }): Promise<VersionPage>
  /** Returns a version as the entry of a file, without `fileId`. @throws NOT_FOUND for a version that the file does not have */
  stat(path: StoragePath, id: string, options: Call): Promise<Entry>
  /** Returns the content of a version, as `StorageProvider.read` does. @throws NOT_FOUND, RANGE_NOT_SATISFIABLE */
  read(path: StoragePath, id: string, options: Call & { range?: ByteRange }): Promise<ReadResult>
  /**
   * Makes a version the content of its file again, and keeps the content that it replaces as a version. Without this method, the host reads
   * the version and writes it. @throws NOT_FOUND, QUOTA_EXCEEDED
   */
  restore?(path: StoragePath, id: string, options: Call): Promise<Entry>
  /** Deletes a version for good. Resolves if the version is gone. Leave this method out where the back end deletes versions only by itself. */
  remove?(path: StoragePath, id: string, options: Call): Promise<void>
  /**
   * Returns one page of the files below a folder that were deleted and of which the back end has versions: 0 to `limit` paths (1 to 1,000) in
   * any order, each once. A page without `cursor` is the last. Leave this method out where the back end does not say what was deleted.
   */
  deleted?(
    folder: StoragePath,
    options: Call & { cursor?: string; limit: number },
  ): Promise<{ paths: StoragePath[]; cursor?: string }>
}

export interface VersionPage {
  versions: NativeVersion[]
  cursor?: string
}

export interface NativeVersion {
  /** Opaque text of 1 to 1,024 characters without secrets, which stays the same as long as the version exists. */
  id: string
  /** Bytes; null where the back end does not know the size. */
  size: number | null
  /** When this content was stored. */
  modifiedAt: Date | null
  /** When this content was replaced or deleted, if the page of versions says so. */
  replacedAt?: Date
  /** As that of an entry. */
  etag: string | null
}

/**
 * Opens connections to other machines; adapters open none themselves. A configuration, a redirect or a DNS name can lead to
 * an address that is not a back end, such as the metadata service of a cloud. The network therefore checks the address of
 * each connection when it is made.
 *
 * A refused connection fails with an error whose `code` is ERR_CLOSED_ADDRESS. Do not retry, and keep that error as the
 * `cause` of yours: the host finds it there and explains the refusal.
 */
export interface Network {
  /** Returns an agent for `node:http` and for SDKs that take one. `options` are those of Node's own agent. */
  httpAgent(options?: HttpAgentOptions): HttpAgent
  /** The same for `node:https`. */
  httpsAgent(options?: HttpsAgentOptions): HttpsAgent
  /** Use this instead of the global `fetch`. */
  readonly fetch: typeof globalThis.fetch
  /**
   * Begins a request as `request` of `node:http` or `node:https` does, whichever the URL needs. Use it where bodies are Node's
   * streams, or where the bytes of a response matter: `fetch` decompresses them. The agent is one of `httpAgent` or
   * `httpsAgent`. Redirects are not followed.
   */
  request(url: URL, options: HttpRequestOptions): ClientRequest
  /**
   * Opens a TCP connection, and begins TLS on it with `tls`. The socket has TCP keep-alive and no delay. When `signal`
   * aborts before the connection is ready, the socket is destroyed. Afterwards it is yours: destroy it.
   * @throws errors of Node's sockets and of TLS; that of a certificate that is not trusted has its `fingerprint`
   */
  connect(options: ConnectOptions & Call): Promise<Socket>
  /**
   * Begins TLS on an open connection, for protocols that do so later (AUTH TLS, STARTTLS). Returns at once; the socket
   * emits `secureConnect` once the server has proved its identity, or `error`.
   */
  startTls(socket: Socket, options: TlsOptions): TLSSocket
  /**
   * Listens on a loopback port and connects each client of it with the server, as `connect` does. Use it for a library that opens its
   * own connections and takes neither a socket nor an agent. It resolves once the server has accepted a connection, so a refused
   * address or certificate rejects here. Close it in `close`.
   *
   * Every program on this machine can connect to the port, so use it only if the server requires credentials.
   * @throws as `connect`
   */
  relay(options: ConnectOptions & Call): Promise<Relay>
}

/** A port of this machine that leads to a server. */
export interface Relay {
  /** An address of the loopback interface. */
  readonly host: string
  readonly port: number
  /** Why the last connection to the server has failed, if one has. The library sees only a closed connection: use it as the `cause`. */
  readonly failure: unknown
  /** Closes the port and its connections. */
  close(): void
}

/** A part of the options of Node's own `request`. */
export interface HttpRequestOptions {
  method: string
  headers: Readonly<Record<string, string>>
  agent: HttpAgent
  signal?: AbortSignal | undefined
  /** Milliseconds without a byte until the request emits `timeout`. */
  timeout: number
}

export interface ConnectOptions {
  /** A name or an address. */
  host: string
  port: number
  tls?: TlsOptions
}

/** Node's options for TLS. Set `host` to the name that the certificate must have. */
export interface TlsOptions extends Omit<TlsConnectionOptions, 'socket' | 'port' | 'path' | 'lookup'> {
  /**
   * The SHA-256 fingerprint of the server's certificate, 64 hexadecimal digits with or without colons. With it, exactly
   * this certificate is accepted, with any signer and any name.
   */
  fingerprint?: string
}

export interface PoolOptions<Connection> {
  /** The maximum number of connections. */
  max: number
  /** The maximum number of users of one connection at once. Default: 1. */
  maxUsers?: number
  /**
   * Opens a connection. If it rejects with UNAVAILABLE or RATE_LIMITED, the pool tries again for some seconds, or uses a
   * connection that has become free.
   */
  open(options: Call): Promise<Connection>
  /** Closes a connection. It may be broken. */
  close(connection: Connection): void
  /** Returns false once the connection is broken or closed by the server. */
  isOpen(connection: Connection): boolean
  /** Sends a request without effect. The pool calls this before it uses a connection that was idle for ten seconds. */
  check?(connection: Connection, options: Call): Promise<unknown>
  /** Milliseconds after which an idle connection is closed. Default: one minute. */
  idleTime?: number
  /** Converts the errors of `open`, and those of the work in `use`, to StorageErrors. */
  toError?(error: unknown): unknown
}

/** Connections that the calls of one provider share. A caller that has to wait gets its turn in order. */
export interface Pool<Connection> {
  /**
   * Runs `work` with a connection. When the signal aborts, a connection with one user is closed, since a request may be
   * under way, and the call rejects with the signal's reason.
   */
  use<T>(options: Call, work: (connection: Connection) => Promise<T>): Promise<T>
  /** Takes a connection until it is released, for a body that outlives its call. An abort ends only the wait. */
  take(options: Call): Promise<Lease<Connection>>
  /** Closes all connections. */
  close(): void
}

export interface Lease<Connection> {
  readonly connection: Connection
  /** Returns the connection to the pool. Further calls do nothing. */
  release(): void
  /** Closes the connection, because a request on it has not ended. Further calls do nothing. */
  discard(): void
}

/**
 * Runs `work` while no other call with this `name` runs on any replica. Use a name that is the same for the stored
 * object in every provider that contains it. The signal cancels only the wait, not `work`.
 * @throws UNAVAILABLE after waiting for a minute; any error of `work`
 */
export type Exclusive = <T>(name: string, options: { signal?: AbortSignal }, work: () => Promise<T>) => Promise<T>

/** The services that the host offers to an open provider. */
export interface Host {
  /**
   * Aborts when `open` has taken a minute, and before `close`. Pass it to the requests that `open` sends, and end with it
   * what runs between calls.
   */
  readonly signal: AbortSignal
  readonly network: Network
  /**
   * Use this where the back end has no atomic create: check and write within one call. It excludes all writers that use this
   * host, but no other program.
   */
  readonly exclusively: Exclusive
  /** Makes a pool of connections. Close it in `close`, and when `open` fails. */
  pool<Connection>(options: PoolOptions<Connection>): Pool<Connection>
  /**
   * Returns an OAuth access token that is valid for at least a minute. Pass a token that the back end has refused as
   * `rejected` to get another one. All callers on all replicas that pass the same token share one refresh.
   * @throws NEEDS_RECONNECT, also where the definition has no `oauth`; UNAVAILABLE
   */
  accessToken(options?: { rejected?: string }): Promise<string>
  /** Writes a line to the operator's log about a problem that no caller can see. It must not contain secrets. */
  warn(message: string, details?: Record<string, unknown>): void
}

export interface ConfigSchema {
  type: 'object'
  properties: Record<string, object>
  required?: string[]
  /** What people do before they fill in the form. The form numbers the steps. */
  steps?: readonly SetupStep[]
  /** Questions with few answers, such as how to sign in. The form shows the properties of the chosen option alone. */
  choices?: readonly ConfigChoice[]
}

/** A question of the form. Properties that no option names are always shown. */
export interface ConfigChoice {
  /** "Sign in with" */
  title: string
  /** Two or more. The first one is chosen at first. */
  options: readonly ConfigOption[]
}

export interface ConfigOption {
  /** "An app password" */
  title: string
  description?: string
  /** The properties that belong to this option. Another option of the choice may name them, too. */
  properties: readonly string[]
  /** Those of `properties` that the form requires. The host does not: check them in `open`. */
  required?: readonly string[]
  /** The values of properties that store the choice, such as `{ access: 'key' }`. The form does not show these properties. */
  values?: Readonly<Record<string, string | number | boolean>>
  steps?: readonly SetupStep[]
}

/** One step of instructions, in plain text. */
export interface SetupStep {
  text: string
  /** A page of the vendor that the step is about, with an `https` address. */
  link?: { title: string; url: string }
  /** True for the step that enters the address to which the vendor returns people. The form shows the address, to copy it. */
  showsRedirectAddress?: boolean
}

/** One level of the folders of the server that a configuration may name. */
export interface ServerFolders {
  /** The folder that was listed; null above all folders that the operator allows. */
  path: string | null
  /** The folder that contains it, as for `path`. */
  parent: string | null
  folders: readonly { name: string; path: string }[]
  /** False if there are more. */
  isComplete: boolean
}

export interface AdapterDefinition<Config = Record<string, unknown>> {
  /** `[a-z0-9-]+`, at most 64 characters. The database stores it, so never change it. */
  type: string
  apiVersion: typeof apiVersion
  /** A name for people: "Local disk". */
  title: string
  /**
   * The JSON Schema (draft-07) of Config. It validates, fills in each `default` and draws the form from `title`,
   * `description` and `enum`. `writeOnly: true` marks a secret: the host stores it encrypted and never returns it. The host
   * refuses properties that the schema does not name.
   *
   * `keepsSecrets: true` marks a property that determines neither where secrets and tokens are sent nor whose they are, such
   * as a folder. When another property changes, people must enter all secrets again and the OAuth consent ends. Otherwise
   * somebody could have a stored secret sent to their own server.
   *
   * `picksFolder: true` marks a text with a folder of the server, which people find with `listFolders`.
   */
  configSchema: ConfigSchema
  /**
   * Where the form for new storages shows the type: among folders and databases of this server, among accounts of a cloud, or among
   * servers and buckets elsewhere. Default: 'account' with `oauth`, otherwise 'remote'.
   */
  group?: 'server' | 'account' | 'remote'
  oauth?: OAuthFlow<Config>
  /**
   * Lists folders of the server that a configuration may name, for administrators of the workspace: those in `path`, or those that the
   * operator allows if it is null. Bound what it reads, return at most `limit` folders, and never one outside of what `open` accepts.
   * @throws INVALID_CONFIG for a path that is missing or not allowed
   */
  listFolders?(path: string | null, options: Call & { limit: number }): Promise<ServerFolders>
  /**
   * Opens a provider. `config` has passed the schema. The host calls this before it stores a new or changed provider, and
   * when a provider is first used after a start or a change. It allows one minute, as for `close`, and closes a provider that
   * arrives later. A failure is not stored: the next use opens the provider again.
   * @throws INVALID_CONFIG with a sentence that says what to change; the codes of every method where it calls the back end
   */
  open(config: Config, host: Host): Promise<StorageProvider>
}

/** The requests to the vendor in an OAuth flow. The host handles state, PKCE, token storage and the callback route. */
export interface OAuthFlow<Config> {
  /** Returns false for a configuration with its own credentials (a service account). Default: always true. */
  isNeeded?(config: Config): boolean
  authorizeUrl(config: Config, query: { redirectUri: string; state: string; codeChallenge: string }): URL
  exchange(
    config: Config,
    query: { redirectUri: string; code: string; codeVerifier: string },
    network: Network,
  ): Promise<Tokens>
  /** @throws NEEDS_RECONNECT where the vendor no longer accepts the refresh token */
  refresh(config: Config, refreshToken: string, network: Network): Promise<Tokens>
}

export interface Tokens {
  accessToken: string
  refreshToken?: string
  expiresAt: Date
}

/**
 * Every failure that is not a bug. The host treats any other error as a fault of the adapter and does not show its text to
 * clients. The host checks `name` and `code`, because two copies of this module may be loaded: do the same, and check neither
 * the message nor `instanceof`.
 */
export class StorageError extends Error {
  override name = 'StorageError'
  readonly code: StorageErrorCode
  /** Milliseconds to wait after RATE_LIMITED or UNAVAILABLE, 0 or more, where the back end states them. */
  readonly retryAfterMs: number | undefined
  /** With INVALID_CONFIG: the property of the configuration that is wrong. Forms show the message there. */
  readonly property: WrongProperty | undefined

  /**
   * @param message a sentence for the user: what is wrong and what to do, without secrets or text of the vendor
   * @param details `cause`: the vendor's own error, for the log only
   */
  constructor(
    code: StorageErrorCode,
    message: string,
    details: { cause?: unknown; retryAfterMs?: number | undefined; property?: WrongProperty | undefined } = {},
  ) {
    super(message, { cause: details.cause })
    this.code = code
    this.retryAfterMs = details.retryAfterMs
    this.property = details.property
  }
}

export interface WrongProperty {
  name: string
  /** A value that the person can accept after comparing it, such as the fingerprint of the server's key. */
  suggestion?: string
}

export const storageErrorCodes = [
  'NOT_FOUND',
  'ALREADY_EXISTS',
  'NOT_EMPTY',
  'NOT_A_FILE',
  'NOT_A_DIRECTORY',
  /** The back end cannot store such a name (too long, reserved, a character it refuses). */
  'INVALID_PATH',
  /** Only from `open`. */
  'INVALID_CONFIG',
  /** Only from `copy` and `move`: the back end cannot do it in one step for these two paths. The host then streams. */
  'NOT_IN_ONE_STEP',
  'PRECONDITION_FAILED',
  /** Somebody else has the entry open or has locked it: a sharing violation, a lease, HTTP 423. */
  'IN_USE',
  'RANGE_NOT_SATISFIABLE',
  /** The credentials are valid, but do not allow this path. */
  'PERMISSION_DENIED',
  /** The back end refuses the credentials in the configuration. */
  'UNAUTHORIZED',
  /** Somebody must give consent again. */
  'NEEDS_RECONNECT',
  'QUOTA_EXCEEDED',
  'RATE_LIMITED',
  'UNAVAILABLE',
] as const

export type StorageErrorCode = (typeof storageErrorCodes)[number]
