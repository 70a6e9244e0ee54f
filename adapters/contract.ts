/**
 * The adapter contract, published as `stowage/adapter`. Everything that an adapter author needs is in this file.
 *
 * Words: a *provider* is one connected back end; an *adapter* is the code that speaks to back ends of one type; the
 * *host* is the Stowage server. A method's presence is its capability; `traits` state the facts that are not methods.
 */
import type { FileHandle } from 'node:fs/promises'
import type { Agent as HttpAgent, AgentOptions as HttpAgentOptions } from 'node:http'
import type { Agent as HttpsAgent, AgentOptions as HttpsAgentOptions } from 'node:https'
import type { Readable } from 'node:stream'

/** Of this contract; a server refuses adapters of another version. */
export const apiVersion = 1

/**
 * A path inside the provider, `/`-separated, no leading or trailing `/`; the empty string is the root.
 *
 * Well-formed Unicode kept exactly as the client gave it (a back end may hold NFC and NFD names side by side); no
 * segment is empty, `.`, `..` or holds NUL. At most 4,096 bytes of UTF-8. Only the host makes one.
 */
export type StoragePath = string & { readonly __storagePath: true }

/** Splits `a/b/c` into `a`, `b` and `c`. The root has no segments. */
export function segmentsOf(path: StoragePath): string[] {
  return path === '' ? [] : path.split('/')
}

/** Joins segments to a path; no segments make the root. The inverse of `segmentsOf`. */
export function joinSegments(segments: readonly string[]): StoragePath {
  return segments.join('/') as StoragePath
}

/** Returns the last segment: `c` for `a/b/c`, the empty string for the root. */
export function nameOf(path: StoragePath): string {
  return path.slice(path.lastIndexOf('/') + 1)
}

/** Returns the folder that holds the path: `a/b` for `a/b/c`. The parent of the root is the root. */
export function parentOf(path: StoragePath): StoragePath {
  return path.slice(0, Math.max(0, path.lastIndexOf('/'))) as StoragePath
}

/** Returns every folder that contains the path, from the root down: the root, `a` and `a/b` for `a/b/c`; none for the root. */
export function ancestorsOf(path: StoragePath): StoragePath[] {
  const segments = segmentsOf(path)
  return segments.map((_, depth) => joinSegments(segments.slice(0, depth)))
}

/** Returns the path of `name` in the folder `path`: `a/b` for `a` and `b`. It checks neither the name nor the length. */
export function childOf(path: StoragePath, name: string): StoragePath {
  return joinSegments([...segmentsOf(path), name])
}

export interface Entry {
  /** Leaf name, without `/`: adapters never build paths. The root's name is the empty string. */
  name: string
  kind: 'file' | 'directory'
  /** Bytes; null for a directory, or where the back end cannot say (a Google Doc). */
  size: number | null
  modifiedAt: Date | null
  /** Opaque, unquoted: 1 to 256 of printable ASCII without space and `"`. Equal etags of one path mean equal bytes. */
  etag: string | null
  /**
   * `type/subtype`; null where the back end keeps none, or tells it only of one file at a time and this is a listing. The
   * host then goes by the name.
   */
  mimeType: string | null
  /** Lowercase hex that the back end already stores; never read the file to compute one. A listing may leave them out. */
  checksums?: Partial<Record<ChecksumAlgorithm, string>>
  /**
   * Names the stored file or directory itself: the same through every provider that reaches it, whatever its path there, and
   * never that of another. 1 to 2,048 characters that begin with the kind of storage, such as `s3:<endpoint>/<bucket>/<key>`.
   *
   * Two providers may lead to one store. By this id the host refuses to copy or move a file onto itself or a directory into
   * itself, and never deletes as the source of a move what is also its target. Leave it out only where the back end knows
   * nothing of the kind. It must hold while the entry stays where it is and is not replaced; the host compares ids within one
   * operation and never stores them.
   */
  fileId?: string
  /**
   * True where reading yields a conversion made on request, not what is stored (a Google Doc). The host copies such a file,
   * but never deletes it as the source of a move that would have to copy it: only `move` moves it.
   */
  isExport?: boolean
}

export type ChecksumAlgorithm = 'md5' | 'sha1' | 'sha256' | 'crc32c'

/** On abort, reject with `signal.reason` and free the connection. */
export interface Call {
  signal: AbortSignal
}

/**
 * Settles as `promise` does, or rejects with the signal's reason as soon as the signal aborts. Use it to wait for work that
 * takes no signal, such as `Host.accessToken`: the work itself continues.
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

/** Facts that are not methods. */
export interface Traits {
  /** A directory can exist with nothing in it. */
  emptyDirectories: boolean
  /** Bytes. */
  maxFileSize?: number
  /**
   * What the back end itself computes of each file it stores, so that `write` answers it: the host computes it, too, and
   * compares. Without it the host compares what the client has sent a digest of, and hashes nothing else.
   */
  storedChecksum?: 'md5' | 'sha1' | 'sha256'
}

/** Values of the headers Content-Type and Content-Disposition (RFC 6266). */
export interface LinkAnswer {
  contentType: string
  contentDisposition: string
}

/** Bytes `offset` to `offset + length - 1`; without `length`, to the end. A `length` is 1 or more. */
export interface ByteRange {
  offset: number
  length?: number
}

/**
 * One connected back end. Any method may reject with UNAUTHORIZED, NEEDS_RECONNECT, PERMISSION_DENIED, RATE_LIMITED,
 * UNAVAILABLE or INVALID_PATH; what else it may reject with stands beside it. Calls come at once and in any order. The
 * root is looked at and listed, but the host never asks to write, make, delete, copy or move it.
 *
 * A back end that asks to wait may be asked again for some seconds; after that the caller is told, with `retryAfterMs`.
 * An abort ends such a wait, too.
 */
export interface StorageProvider {
  readonly traits: Traits

  /** @throws NOT_FOUND */
  stat(path: StoragePath, options: Call): Promise<Entry>

  /**
   * One page of a directory: at most `limit` entries (1 to 1,000), perhaps none; no `cursor` in the answer means the end.
   * A cursor (1 to 1,024 characters, no secrets, never the one that was given) stays good while entries come and go:
   * what is there during the whole walk is met exactly once. Entries are those of `stat`, but may lack `mimeType` and
   * `checksums`.
   * @throws NOT_FOUND where `traits.emptyDirectories`; NOT_A_DIRECTORY
   */
  list(path: StoragePath, options: Call & { cursor?: string; limit: number }): Promise<ListPage>

  /**
   * `entry` describes the whole file, whatever the range. An `offset` at or past the end is RANGE_NOT_SATISFIABLE; a
   * range that reaches past the end is cut there. `ifMatch` is an etag.
   * @throws NOT_FOUND, NOT_A_FILE, RANGE_NOT_SATISFIABLE, PRECONDITION_FAILED
   */
  read(path: StoragePath, options: Call & { range?: ByteRange; ifMatch?: string }): Promise<ReadResult>

  /**
   * Visible only once resolved, whole, and kept from then on, through a power cut too: the host may delete the source of a
   * move next. The same holds for `mkdir`, `copy`, `move` and `complete`. After a failure or abort no trace is left and what
   * was there before still is. Makes missing parents. `size` is a hint in bytes; `body` is read to its end even so, as it may still fail after its
   * last byte (a wrong digest), which rejects with the error of the body. When the adapter fails, it destroys `body`.
   * `unfinished` is for a back end that keeps what a killed server has begun.
   * @throws ALREADY_EXISTS with `overwrite: false`; NOT_A_FILE over a directory; NOT_A_DIRECTORY where a parent is a
   * file; QUOTA_EXCEEDED
   */
  write(
    path: StoragePath,
    body: Readable,
    options: Call & { size?: number; mimeType?: string; overwrite: boolean; unfinished?: Unfinished },
  ): Promise<Entry>

  /** A file or an empty directory; a missing path resolves. @throws NOT_EMPTY */
  delete(path: StoragePath, options: Call): Promise<void>

  /**
   * Makes missing parents, too. An existing directory resolves, or with `exclusive: true` rejects. @throws ALREADY_EXISTS over a file, or with `exclusive`; NOT_A_DIRECTORY where a parent is a file
   */
  mkdir(path: StoragePath, options: Call & { exclusive: boolean }): Promise<void>

  /**
   * Only where the back end removes a directory and all beneath it better than one by one, also what `list` leaves out.
   * A missing path resolves. Without it the host walks the tree.
   */
  deleteTree?(path: StoragePath, options: Call): Promise<void>

  /**
   * Only where the bytes are a file on this machine: the host reads at positions with reused buffers, or lets a server in
   * front send what is at the handle's path, and closes the handle. @throws as `read`
   */
  openFile?(path: StoragePath, options: Call & { ifMatch?: string }): Promise<{ handle: FileHandle; entry: Entry }>

  /**
   * A file, only if server-side; otherwise the host streams. Makes missing parents. NOT_IN_ONE_STEP has changed nothing.
   * @throws NOT_FOUND, NOT_A_FILE, ALREADY_EXISTS, QUOTA_EXCEEDED, NOT_IN_ONE_STEP
   */
  copy?(
    from: StoragePath,
    to: StoragePath,
    options: Call & { overwrite: boolean; unfinished?: Unfinished },
  ): Promise<Entry>

  /**
   * A file or a directory with all beneath it, only if the back end does it as one step; otherwise the host copies and
   * deletes. Makes missing parents. Never replaces a directory that is not empty, nor one kind by the other.
   * @throws NOT_FOUND, ALREADY_EXISTS, NOT_EMPTY, NOT_IN_ONE_STEP; NOT_A_FILE or NOT_A_DIRECTORY where the kinds differ
   */
  move?(from: StoragePath, to: StoragePath, options: Call & { overwrite: boolean }): Promise<Entry>

  quota?(options: Call): Promise<Quota>

  /**
   * Usable without credentials for `expiresIn` seconds, by a request with exactly this method and these headers. `answer` is
   * what a link to read is answered with, so that no browser shows what it should save.
   *
   * Whoever has a link adds headers of their own to its request. None of them may read or write anything else, or change who
   * may read it; null where the back end cannot be held to that.
   */
  presign?(
    path: StoragePath,
    options: Call & { method: 'GET' | 'PUT'; expiresIn: number; answer?: LinkAnswer },
  ): Promise<{ url: URL; headers: Record<string, string> } | null>

  /** Only where the back end itself can hold an unfinished write across requests and across server replicas. */
  resumable?: ResumableWrites

  /** Frees what `open` took; no call is under way or follows. */
  close?(): Promise<void>
}

/** Where a write tells the host what it holds at the back end: if the server is killed, another one frees it later. */
export interface Unfinished {
  /**
   * Await this before the request that takes something at the back end, and again when its answer names what was taken: the
   * later state replaces the earlier one.
   * @param state what `resumable.abort` takes; a write without such a method has no use for this
   * @throws what the write fails with then
   */
  began(state: string): Promise<void>
  /** The file is there, or all that was held is free. Without this, `resumable.abort` is called with the last state later. */
  ended(): Promise<void>
}

/** Bytes; null is unknown or unlimited. */
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

/** S3 multipart uploads, Drive resumable sessions, a staging file. */
export interface ResumableWrites {
  /** Bytes; the size of every append is a multiple of this. */
  readonly partSize: number
  /** How many appends one upload can have, the rest that comes with `complete` counted; without it, any number. */
  readonly maxAppends?: number
  /**
   * Resolves with opaque state: text the host stores, encrypted, and hands back, 8 KiB at most. Whoever opened the
   * same back end can go on with it, on another replica or after a restart. Two uploads to one path do not touch.
   * `unfinished` is for what the returned state does not name: what the back end began when its answer was lost. The host holds
   * it until the returned state is stored.
   */
  begin(
    path: StoragePath,
    options: Call & { size?: number; mimeType?: string; unfinished?: Unfinished },
  ): Promise<string>
  /**
   * Adds `size` bytes, one `partSize` or several, at `offset`, the sum of what was added before; resolves with the new
   * state. One at a time. Safe to repeat with the same state and the same bytes after a failure, an abort or a lost answer.
   * When it fails, it destroys `body`.
   * @throws NOT_FOUND for an upload that is gone; PRECONDITION_FAILED where it does not stand at `offset`; QUOTA_EXCEEDED
   */
  append(state: string, body: Readable, options: Call & { offset: number; size: number }): Promise<string>
  /**
   * Adds the rest, `size` bytes at `offset`, and makes the file visible. They are as many as were left: 0 where the end of
   * an unknown size came late, or of an empty file. Safe to repeat as `append` is, until the file is there; from then on
   * it may also be NOT_FOUND. `body` as for `write`.
   * @throws as `append`, and ALREADY_EXISTS, NOT_A_FILE, NOT_A_DIRECTORY as `write`
   */
  complete(
    state: string,
    body: Readable,
    options: Call & { offset: number; size: number; overwrite: boolean },
  ): Promise<Entry>
  /** Frees what begin and append took. The state of an upload that was aborted or completed resolves and changes nothing. */
  abort(state: string, options: Call): Promise<void>
}

/**
 * The only way out to other machines. A configuration, a redirect or a name in DNS may lead to where no back end is, such as
 * the metadata service of the cloud that the server runs in; so each connection is decided on when it is made, by the
 * address that it goes to.
 *
 * A connection that is refused fails with an error whose `code` is ERR_CLOSED_ADDRESS. Do not try again, and keep that
 * error as a `cause`: the host then says what is wrong in its own words.
 */
export interface Network {
  /** For `node:http` and SDKs that take an agent; kept-alive sockets and bounds as its options have them. */
  httpAgent(options?: HttpAgentOptions): HttpAgent
  /** The same for `node:https`. */
  httpsAgent(options?: HttpsAgentOptions): HttpsAgent
  /** In place of the global one, which an adapter never calls. */
  readonly fetch: typeof globalThis.fetch
}

/**
 * Runs `work` while no other call with this `name` runs, on any replica of this host. The name is that of the stored object,
 * the same through every provider that reaches it. The signal ends the wait only, never `work`.
 * @throws UNAVAILABLE where the turn does not come within a minute; what `work` throws
 */
export type Exclusive = <T>(name: string, options: { signal?: AbortSignal }, work: () => Promise<T>) => Promise<T>

/** What the host offers to an opened provider. */
export interface Host {
  readonly network: Network
  /**
   * For a back end that cannot create a file only where there is none: look, then write, in one call of this. It holds off
   * all who write through this host, but no other program.
   */
  readonly exclusively: Exclusive
  /**
   * An OAuth access token that is good for a minute at least. `rejected` is one that the back end has refused: then
   * another is got, by one refresh for all who ask with the same one, on all replicas.
   * @throws NEEDS_RECONNECT, also where the definition has no `oauth`; UNAVAILABLE
   */
  accessToken(options?: { rejected?: string }): Promise<string>
  /** A line for the operator's log: something odd on the back end that no caller can be told about. No secrets. */
  warn(message: string, details?: Record<string, unknown>): void
}

export interface ConfigSchema {
  type: 'object'
  properties: Record<string, object>
  required?: string[]
}

export interface AdapterDefinition<Config = Record<string, unknown>> {
  /** `[a-z0-9-]+`; stored in the database, so never renamed. */
  type: string
  apiVersion: typeof apiVersion
  /** For people: "Local disk". */
  title: string
  /**
   * JSON Schema of Config (draft-07). It validates, fills defaults and draws the form: `title`, `description`, `default`,
   * `enum`; `writeOnly: true` marks a secret, which is stored encrypted and never sent back. Properties it does not name
   * are refused.
   *
   * `keepsSecrets: true` marks a property that decides neither where secrets and tokens are sent nor whom they belong to,
   * such as a folder. If any other property changes, people enter all secrets again and an OAuth consent ends, so that
   * nobody can have a secret sent to a server of their own.
   */
  configSchema: ConfigSchema
  oauth?: OAuthFlow<Config>
  /**
   * `config` has passed the schema. The host gives it a minute, as it does `stat`, `list`, `delete`, `mkdir`, `quota` and
   * `close`.
   * @throws INVALID_CONFIG with a sentence that says what to change
   */
  open(config: Config, host: Host): Promise<StorageProvider>
}

/** The host owns state, PKCE, token storage and the callback route; the adapter only speaks to the vendor. */
export interface OAuthFlow<Config> {
  /** False for a configuration that brings its own credentials (a service account); without it, always true. */
  isNeeded?(config: Config): boolean
  authorizeUrl(config: Config, query: { redirectUri: string; state: string; codeChallenge: string }): URL
  exchange(
    config: Config,
    query: { redirectUri: string; code: string; codeVerifier: string },
    network: Network,
  ): Promise<Tokens>
  /** @throws NEEDS_RECONNECT when the grant is gone */
  refresh(config: Config, refreshToken: string, network: Network): Promise<Tokens>
}

export interface Tokens {
  accessToken: string
  refreshToken?: string
  expiresAt: Date
}

/**
 * What every failure that is not a bug is told by; the host takes any other error for a fault of the adapter, and shows
 * its text to nobody. It goes by `name` and `code`, so do the same, never by the message or `instanceof`: two copies of
 * this module may be loaded.
 */
export class StorageError extends Error {
  override name = 'StorageError'
  readonly code: StorageErrorCode
  /** Milliseconds to wait, with RATE_LIMITED or UNAVAILABLE, where the back end said; 0 or more. */
  readonly retryAfterMs: number | undefined

  /**
   * @param message a sentence for the person who asked: what is wrong and what to do, without secrets or vendor text
   * @param details `cause`: the vendor's own error, for the log only
   */
  constructor(
    code: StorageErrorCode,
    message: string,
    details: { cause?: unknown; retryAfterMs?: number | undefined } = {},
  ) {
    super(message, { cause: details.cause })
    this.code = code
    this.retryAfterMs = details.retryAfterMs
  }
}

export const storageErrorCodes = [
  'NOT_FOUND',
  'ALREADY_EXISTS',
  'NOT_EMPTY',
  'NOT_A_FILE',
  'NOT_A_DIRECTORY',
  /** The back end cannot hold such a name (too long, reserved, a character it refuses). */
  'INVALID_PATH',
  /** Only from `open`. */
  'INVALID_CONFIG',
  /** Only from `copy` and `move`: the back end can do it, but not for these two. The host goes another way. */
  'NOT_IN_ONE_STEP',
  'PRECONDITION_FAILED',
  'RANGE_NOT_SATISFIABLE',
  /** The back end refuses this path to credentials that are good. */
  'PERMISSION_DENIED',
  /** The back end refuses the credentials in the configuration. */
  'UNAUTHORIZED',
  /** A person has to give consent again. */
  'NEEDS_RECONNECT',
  'QUOTA_EXCEEDED',
  'RATE_LIMITED',
  'UNAVAILABLE',
] as const

export type StorageErrorCode = (typeof storageErrorCodes)[number]
