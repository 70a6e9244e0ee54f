/**
 * Locations: a provider and a path in it, opened with a grant. A location gives access to its path and what lies below,
 * so no code can use a path that the policy has not decided on. It validates what adapters return. Methods that move
 * content are registered in `ActiveGrants`: they fail with the reason when the grant ends.
 */
import type { FileHandle } from 'node:fs/promises'
import { finished, type Readable } from 'node:stream'
import type { ByteRange, Call, LinkHeaders, NativeVersions, StorageProvider, Traits } from '../../adapters/contract.ts'
import { noSuchVersion } from '../auth/id.ts'
import { ancestorsOf, childOf, isWithin, nameOf, type StoragePath, trashFolder } from '../auth/path.ts'
import type { Grant } from '../auth/policy.ts'
import type { VersionSettings } from '../db/entry-holds.ts'
import type { KnownContent } from '../db/known-contents.ts'
import { AppError } from '../errors.ts'
import { startDeadline } from '../lib/timeout.ts'
import type { ActiveGrants, ActiveWork } from './active-grants.ts'
import { callAdapter } from './adapter-call.ts'
import type { ContentTracker } from './content-tracker.ts'
import type { QuotaGuard } from './quota-guard.ts'
import { readWithTimeout, runWithTimeout, type TransferTimeouts } from './transfer-timeouts.ts'
import {
  type CheckedEntry,
  type CheckedVersions,
  checkBody,
  checkEntry,
  checkHandle,
  checkPage,
  checkPresigned,
  checkSmallFile,
  checkVersions,
  fault,
  known,
  noteSeen,
  type Presigned,
  type SmallContent,
} from './validate-entry.ts'
import type { VersionStore } from './versions.ts'
import type { WriteTracker } from './write-tracker.ts'

/** A change of an entry. */
export interface GuardedChange {
  path: StoragePath
  /** The entry and everything below it goes away or is replaced. */
  isTree: boolean
  /** The entry is added to its folder or removed from it. */
  isMember: boolean
  /**
   * Returns whether the present content stays as a version, with the settings that are in effect. The lock of an object does not prevent
   * a change that keeps its content. Default: the content does not stay.
   */
  keepsContent?: ((settings: VersionSettings) => boolean) | undefined
}

/** Decides whether something other than rights prevents a change: the lock of another member, or a hold. */
export interface ChangeGuard {
  /** Returns how the provider keeps versions, which is read with the rest. @throws LOCKED, ON_HOLD */
  require(grant: Grant, change: GuardedChange): Promise<VersionSettings>
  /** Returns how the provider keeps versions, whatever prevents a change. */
  versionSettings(providerId: string): Promise<VersionSettings>
  /** Calls `cancel` when something begins to prevent a change that is running. Dispose of it when the change ends. */
  watch(grant: Grant, change: GuardedChange, cancel: (error: AppError) => void): Disposable
}

export interface ProviderContext {
  id: string
  provider: StorageProvider
  warn(message: string): void
  /** Milliseconds for a call that moves no file content; a slower back end counts as unavailable. */
  metadataTimeout: number
  /** The timeouts of calls that move content. */
  timeouts: TransferTimeouts
  activeGrants: ActiveGrants
  changes: ChangeGuard
  quotas: QuotaGuard
  writeTracker: WriteTracker
  contents: ContentTracker
  versions: VersionStore
  /** See `WriteLocation.overLocked`. */
  isOverLocked?: boolean
}

/** The maximum number of entries per page of a listing. */
export const maxPageSize = 1000

interface OpenOptions {
  ifMatch?: string
  /** The call replaces a lookup, so it has to respond as fast. */
  isLookup?: boolean
}

/** An open file of this machine, and the entry that was opened. */
export interface OpenFile {
  handle: FileHandle
  entry: CheckedEntry
}

export class ReadLocation {
  protected readonly context: ProviderContext
  readonly grant: Grant
  readonly path: StoragePath
  /** The id of a version that the back end keeps by itself; null for what is at the path. */
  readonly #nativeVersion: string | null

  /** @param path the grant's path, or one below it */
  constructor(
    context: ProviderContext,
    grant: Grant,
    path: StoragePath = grant.path,
    nativeVersion: string | null = null,
  ) {
    this.context = context
    this.grant = grant
    this.path = path
    this.#nativeVersion = nativeVersion
  }

  get providerId(): string {
    return this.context.id
  }

  get traits(): Traits {
    return this.context.provider.traits
  }

  child(name: string): ReadLocation {
    return new ReadLocation(this.context, this.grant, childOf(this.path, name))
  }

  /** Returns the location of a path at or below this one. @throws OUTSIDE_BASE_PATH for any other path */
  at(path: StoragePath): ReadLocation {
    requireWithin(path, this.path)
    return new ReadLocation(this.context, this.grant, path)
  }

  /** Returns the location of an earlier version. @param id of a version of the file at this path */
  version(id: string): ReadLocation {
    return new ReadLocation(this.context, this.grant, childOf(trashFolder, id))
  }

  /** Returns the location of a version that the back end keeps by itself. @param id as the back end names it */
  nativeVersion(id: string): ReadLocation {
    return new ReadLocation(this.context, this.grant, this.path, id)
  }

  /** Whether the back end keeps versions by itself. */
  get hasNativeVersions(): boolean {
    return this.context.provider.versions !== undefined
  }

  /** Returns one page of the versions that the back end keeps by itself, the newest first. Call it only where there are any. */
  listNativeVersions(
    signal: AbortSignal,
    { cursor, limit }: { cursor: string | null; limit: number },
  ): Promise<CheckedVersions> {
    return this.metadata(signal, async call => {
      const options = { ...call, limit: Math.min(limit, maxPageSize), ...(cursor !== null && { cursor }) }
      return checkVersions(await nativeVersions(this.context).list(this.path, options), { limit, cursor })
    })
  }

  stat(signal: AbortSignal): Promise<CheckedEntry> {
    const id = this.#nativeVersion
    if (id === null) return this.#statAt(this.path, signal)
    return this.metadata(signal, async call =>
      checkEntry(await nativeVersions(this.context).stat(this.path, id, call), nameOf(this.path)),
    )
  }

  /** Returns the known content of the file, or null. The file may have changed since: compare with `isSameVersion`. */
  async known(): Promise<KnownContent | null> {
    if (this.#nativeVersion !== null) return null
    return this.context.contents.known(this)
  }

  /**
   * Returns the ids of the stored folders that the path lies in. Looks above the grant, but reveals only ids.
   * @param except a location whose own enclosing folders are omitted if it has the same provider; null for none
   */
  enclosingIds(signal: AbortSignal, except: ReadLocation | null): Promise<ReadonlySet<string>> {
    const known = except?.providerId === this.providerId ? except.path : null
    return enclosingIds(this.path, known, folder => this.#statAt(folder, signal))
  }

  #statAt(path: StoragePath, signal: AbortSignal): Promise<CheckedEntry> {
    const askedAt = performance.now()
    return this.metadata(signal, async call => {
      const entry = await this.context.provider.stat(path, call)
      return noteSeen(checkEntry(entry, nameOf(path)), askedAt)
    })
  }

  /** @param page.from used for the first page, if the back end lists in an order */
  list(
    signal: AbortSignal,
    page: { cursor: string | null; from?: string; limit: number },
  ): Promise<{ entries: CheckedEntry[]; cursor: string | null }> {
    const limit = Math.min(page.limit, maxPageSize)
    const cursor = page.cursor === null ? {} : { cursor: page.cursor }
    const takesFrom = page.cursor === null && this.traits.listOrder !== undefined
    const from = takesFrom && page.from ? { from: page.from } : {}
    const askedAt = performance.now()
    return this.metadata(signal, async call => {
      const result = await this.context.provider.list(this.path, { ...call, ...cursor, ...from, limit })
      const checked = checkPage(result, { limit, cursor: page.cursor }, this.context.warn)
      for (const entry of checked.entries) noteSeen(entry, askedAt)
      return checked
    })
  }

  /**
   * Opens the content of a file. The body fails with the reason as soon as the grant ends.
   * @param options.seen the entry, as `stat` or `list` returned it
   */
  async read(
    signal: AbortSignal,
    { isLookup = false, seen, ...options }: OpenOptions & { range?: ByteRange; seen?: CheckedEntry } = {},
  ): Promise<{ body: Readable; entry: CheckedEntry }> {
    const { provider, timeouts } = this.context
    const id = this.#nativeVersion
    const open = async (signal: AbortSignal) => {
      const { body, entry } = await (id === null
        ? provider.read(this.path, { ...options, ...known(seen), signal })
        : nativeVersions(this.context).read(this.path, id, { ...options, signal }))
      const checked = checkBody(body)
      try {
        return { body: checked, entry: checkEntry(entry, nameOf(this.path)) }
      } catch (error) {
        checked.destroy()
        throw error
      }
    }
    const { active, content } = await this.#open(signal, isLookup, open, late => late.body.destroy())
    const body = readWithTimeout(content.body, timeouts.transfer)
    active.signal.addEventListener('abort', () => body.destroy(active.signal.reason))
    finished(body, { writable: false }, () => active[Symbol.dispose]())
    return { body, entry: content.entry }
  }

  /** Opens a file of this machine, or returns null if the back end is elsewhere. The end of the grant closes the handle. */
  openFile(signal: AbortSignal, options: OpenOptions = {}): Promise<OpenFile> | null {
    return this.context.provider.openFile && this.#nativeVersion === null ? this.#openFile(signal, options) : null
  }

  async #openFile(signal: AbortSignal, { isLookup = false, ...options }: OpenOptions): Promise<OpenFile> {
    const { provider } = this.context
    const open = async (signal: AbortSignal) => {
      const opened = await provider.openFile?.(this.path, { ...options, signal })
      if (!opened) throw fault('no open file')
      const handle = checkHandle(opened.handle)
      try {
        return { handle, entry: checkEntry(opened.entry, nameOf(this.path)) }
      } catch (error) {
        await handle.close()
        throw error
      }
    }
    const { active, content } = await this.#open(signal, isLookup, open, late => late.handle.close())
    const { handle } = content
    active.signal.addEventListener('abort', () => void handle.close().catch(() => {}))
    handle.once('close', () => active[Symbol.dispose]())
    return content
  }

  /**
   * Returns a file of at most `maxBytes` bytes, whole, or null if it has to be opened. It takes no longer than a lookup, so it is
   * not registered.
   */
  async readSmall(signal: AbortSignal, maxBytes: number): Promise<SmallContent | null> {
    const { provider, activeGrants, metadataTimeout, timeouts } = this.context
    if (!provider.readSmall || this.#nativeVersion !== null) return null
    await activeGrants.confirm([this.grant])
    return await runWithTimeout(signal, Math.min(metadataTimeout, timeouts.transfer), bounded =>
      callAdapter(bounded, async () => {
        const file = await provider.readSmall?.(this.path, { signal: bounded, maxBytes })
        if (file === undefined) throw fault('no small file')
        return checkSmallFile(file, { name: nameOf(this.path), maxBytes })
      }),
    )
  }

  /**
   * Opens content and registers it until the caller disposes of `active`.
   * @param discard frees content that arrives after an abort
   */
  async #open<T>(
    signal: AbortSignal,
    isLookup: boolean,
    open: (signal: AbortSignal) => Promise<T>,
    discard: (late: T) => unknown,
  ): Promise<{ active: ActiveWork; content: T }> {
    const { activeGrants, metadataTimeout, timeouts } = this.context
    await activeGrants.confirm([this.grant])
    const active = activeGrants.register([this.grant], signal)
    try {
      // `open` gets the signal without the timeout, because that signal has to last as long as the content.
      const time = isLookup ? Math.min(metadataTimeout, timeouts.transfer) : timeouts.transfer
      const content = await runWithTimeout(active.signal, time, bounded =>
        callAdapter(bounded, () => open(active.signal), discard),
      )
      return { active, content }
    } catch (error) {
      active.cancel(error)
      active[Symbol.dispose]()
      throw error
    }
  }

  /**
   * Returns a link that reads the file without credentials, or null if the back end supports none.
   * @param expiresIn seconds
   * @param responseHeaders headers of the response
   */
  presignRead(signal: AbortSignal, expiresIn: number, responseHeaders: LinkHeaders): Promise<Presigned | null> {
    return this.presigned(signal, { method: 'GET', expiresIn, responseHeaders })
  }

  protected async presigned(
    signal: AbortSignal,
    options: { method: 'GET' | 'PUT'; expiresIn: number; responseHeaders?: LinkHeaders },
  ): Promise<Presigned | null> {
    const { provider } = this.context
    if (!provider.presign || this.#nativeVersion !== null) return null
    await this.context.activeGrants.confirm([this.grant])
    return this.metadata(signal, async call => {
      const link = await provider.presign?.(this.path, { ...call, ...options })
      return link === null ? null : checkPresigned(link)
    })
  }

  /** Runs one call that moves content, until the grant ends. */
  protected runGranted<T>(signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    return this.context.activeGrants.run([this.grant], signal, work)
  }

  protected async metadata<T>(signal: AbortSignal, work: (call: Call) => Promise<T>): Promise<T> {
    using deadline = startDeadline(this.context.metadataTimeout, slowBackEnd, signal)
    return await callAdapter(deadline.signal, () => work({ signal: deadline.signal }))
  }
}

/** @throws NOT_FOUND if the back end keeps none any more */
export function nativeVersions({ provider }: Pick<ProviderContext, 'provider'>): NativeVersions {
  if (!provider.versions) throw noSuchVersion()
  return provider.versions
}

function slowBackEnd(): AppError {
  return new AppError('UNAVAILABLE', 'The back end does not respond in time.')
}

export function requireWithin(path: StoragePath, top: StoragePath): void {
  if (!isWithin(path, top)) throw new AppError('OUTSIDE_BASE_PATH')
}

/** The maximum depth, because each level costs a request to the back end. */
const maxDepth = 512
const concurrency = 8

/**
 * Returns the ids of the folders that enclose `path`, without those that are missing or have no id.
 *
 * @param known a path of the same provider whose own enclosing folders are omitted
 * @throws INVALID_INPUT if the path is too deep
 */
async function enclosingIds(
  path: StoragePath,
  known: StoragePath | null,
  stat: (folder: StoragePath) => Promise<CheckedEntry>,
): Promise<ReadonlySet<string>> {
  const folders = ancestorsOf(path).filter(folder => known === null || known === folder || !isWithin(known, folder))
  if (folders.length > maxDepth)
    throw new AppError('INVALID_INPUT', `The destination is more than ${maxDepth} folders deep.`)
  const ids = new Set<string>()
  for (let start = 0; start < folders.length; start += concurrency) {
    const found = await Promise.all(
      folders.slice(start, start + concurrency).map(folder => stat(folder).catch(asUnknown)),
    )
    for (const entry of found) if (entry?.fileId) ids.add(entry.fileId)
    if (found.includes(undefined)) break
  }
  return ids
}

/** Returns undefined if the folder is missing, and null if the provider's credentials do not permit access to it. */
function asUnknown(error: unknown): undefined | null {
  if (error instanceof AppError && error.reason === 'NOT_FOUND') return undefined
  if (error instanceof AppError && error.reason === 'BACK_END_REFUSED') return null
  throw error
}
