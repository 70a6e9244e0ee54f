/**
 * Locations: a provider and a path in it, opened with a grant. A location gives access to its path and what lies below,
 * so no code can use a path that the policy has not decided on. It validates what adapters return. Methods that move
 * content are registered in `ActiveGrants`: they fail with the reason when the grant ends.
 */
import type { FileHandle } from 'node:fs/promises'
import { finished, type Readable } from 'node:stream'
import type { ByteRange, Call, Entry, LinkAnswer, StorageProvider, Traits } from '../../adapters/contract.ts'
import { childOf, nameOf, type StoragePath } from '../auth/path.ts'
import type { Grant } from '../auth/policy.ts'
import type { ActiveGrants } from './active-grants.ts'
import { callAdapter, callAdapterForChange } from './adapter-call.ts'
import { enclosingIds } from './enclosing.ts'
import { isStorageError } from './errors.ts'
import { ResumableLocation } from './resumable-write.ts'
import { readWithTimeout, runWithTimeout, type TransferTimeouts, writeWithTimeout } from './transfer-timeouts.ts'
import {
  type CheckedEntry,
  checkBody,
  checkEntry,
  checkHandle,
  checkPage,
  checkPresigned,
  fault,
  type Presigned,
} from './validate-entry.ts'
import type { WriteTracker } from './write-tracker.ts'

export type { Presigned } from './validate-entry.ts'

export interface ProviderContext {
  id: string
  provider: StorageProvider
  warn(message: string): void
  /** Milliseconds for a call that moves no file content; a slower back end counts as unavailable. */
  metadataTimeout: number
  /** For calls that move content. */
  timeouts: TransferTimeouts
  activeGrants: ActiveGrants
  writeTracker: WriteTracker
}

/** The maximum number of entries per page of a listing. */
export const maxPageSize = 1000

export class ReadLocation {
  protected readonly context: ProviderContext
  readonly grant: Grant
  readonly path: StoragePath

  /** @param path the grant's path, or one below it */
  constructor(context: ProviderContext, grant: Grant, path: StoragePath = grant.path) {
    this.context = context
    this.grant = grant
    this.path = path
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

  stat(signal: AbortSignal): Promise<CheckedEntry> {
    return this.#statAt(this.path, signal)
  }

  /**
   * Returns the ids of the stored folders that the path lies in. Looks above the grant, but reveals only ids.
   * @param except a location whose own enclosing folders are left out if it has the same provider
   */
  enclosingIds(signal: AbortSignal, except: ReadLocation): Promise<ReadonlySet<string>> {
    const known = except.providerId === this.providerId ? except.path : null
    return enclosingIds(this.path, known, folder => this.#statAt(folder, signal))
  }

  #statAt(path: StoragePath, signal: AbortSignal): Promise<CheckedEntry> {
    return this.metadata(signal, async call => checkEntry(await this.context.provider.stat(path, call), nameOf(path)))
  }

  list(
    signal: AbortSignal,
    page: { cursor: string | null; limit: number },
  ): Promise<{ entries: CheckedEntry[]; cursor: string | null }> {
    const limit = Math.min(page.limit, maxPageSize)
    const cursor = page.cursor === null ? {} : { cursor: page.cursor }
    return this.metadata(signal, async call => {
      const result = await this.context.provider.list(this.path, { ...call, ...cursor, limit })
      return checkPage(result, { limit, cursor: page.cursor }, this.context.warn)
    })
  }

  /** Opens the content of a file. The body fails with the reason as soon as the grant ends. */
  async read(
    signal: AbortSignal,
    options: { range?: ByteRange; ifMatch?: string } = {},
  ): Promise<{ body: Readable; entry: CheckedEntry }> {
    await this.context.activeGrants.confirm([this.grant])
    const active = this.context.activeGrants.register([this.grant], signal)
    const { transfer } = this.context.timeouts
    const opening = runWithTimeout(active.signal, transfer, bounded =>
      callAdapter(
        bounded,
        async () => {
          // Not `bounded`: this signal has to last as long as the body.
          const { body, entry } = await this.context.provider.read(this.path, { ...options, signal: active.signal })
          const checked = checkBody(body)
          try {
            return { body: checked, entry: checkEntry(entry, nameOf(this.path)) }
          } catch (error) {
            checked.destroy()
            throw error
          }
        },
        late => late.body.destroy(),
      ),
    )
    const { body, entry } = await opening.catch(error => {
      active.cancel(error)
      active[Symbol.dispose]()
      throw error
    })
    const result = { body: readWithTimeout(body, transfer), entry }
    active.signal.addEventListener('abort', () => result.body.destroy(active.signal.reason))
    finished(result.body, { writable: false }, () => active[Symbol.dispose]())
    return result
  }

  /** Opens a file of this machine, or returns null if the back end is elsewhere. The end of the grant closes the handle. */
  openFile(
    signal: AbortSignal,
    options: { ifMatch?: string } = {},
  ): Promise<{ handle: FileHandle; entry: CheckedEntry }> | null {
    return this.context.provider.openFile ? this.#openFile(signal, options) : null
  }

  async #openFile(
    signal: AbortSignal,
    options: { ifMatch?: string },
  ): Promise<{ handle: FileHandle; entry: CheckedEntry }> {
    await this.context.activeGrants.confirm([this.grant])
    const active = this.context.activeGrants.register([this.grant], signal)
    const opening = runWithTimeout(active.signal, this.context.timeouts.transfer, bounded =>
      callAdapter(
        bounded,
        async () => {
          const opened = await this.context.provider.openFile?.(this.path, { ...options, signal: active.signal })
          if (!opened) throw fault('no open file')
          const handle = checkHandle(opened.handle)
          try {
            return { handle, entry: checkEntry(opened.entry, nameOf(this.path)) }
          } catch (error) {
            await handle.close()
            throw error
          }
        },
        late => late.handle.close(),
      ),
    )
    const result = await opening.catch(error => {
      active.cancel(error)
      active[Symbol.dispose]()
      throw error
    })
    const { handle } = result
    active.signal.addEventListener('abort', () => void handle.close().catch(() => {}))
    handle.once('close', () => active[Symbol.dispose]())
    return result
  }

  /**
   * Returns a link that reads the file without credentials, or null if the back end supports none.
   * @param expiresIn seconds
   * @param answer headers of the response
   */
  presignRead(signal: AbortSignal, expiresIn: number, answer: LinkAnswer): Promise<Presigned | null> {
    return this.presigned(signal, { method: 'GET', expiresIn, answer })
  }

  protected async presigned(
    signal: AbortSignal,
    options: { method: 'GET' | 'PUT'; expiresIn: number; answer?: LinkAnswer },
  ): Promise<Presigned | null> {
    const { provider } = this.context
    if (!provider.presign) return null
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

  protected metadata<T>(signal: AbortSignal, work: (call: Call) => Promise<T>): Promise<T> {
    const bounded = AbortSignal.any([signal, AbortSignal.timeout(this.context.metadataTimeout)])
    return callAdapter(bounded, () => work({ signal: bounded }))
  }
}

export class WriteLocation extends ReadLocation {
  override child(name: string): WriteLocation {
    return new WriteLocation(this.context, this.grant, childOf(this.path, name))
  }

  write(
    requestSignal: AbortSignal,
    body: Readable,
    options: { size?: number; mimeType?: string; overwrite: boolean },
  ): Promise<CheckedEntry> {
    const { timeouts, provider, writeTracker } = this.context
    return this.runGranted(requestSignal, granted =>
      writeWithTimeout(granted, body, timeouts, options.size, signal =>
        callAdapterForChange(signal, async () => {
          const written = await writeTracker.track(this.grant, this.path, unfinished =>
            provider.write(this.path, body, { ...options, unfinished, signal }),
          )
          const stored = checkEntry(written, nameOf(this.path))
          if (options.size !== undefined && stored.size !== null && stored.size !== options.size) {
            throw fault(`${stored.size} bytes as stored, of ${options.size}`)
          }
          return stored
        }),
      ),
    )
  }

  /** Null if the back end cannot hold unfinished writes itself. */
  get resumable(): ResumableLocation | null {
    const { resumable } = this.context.provider
    if (!resumable) return null
    const { timeouts, writeTracker } = this.context
    return new ResumableLocation(resumable, this.path, timeouts, work =>
      writeTracker.track(this.grant, this.path, work),
    )
  }

  /** As `presignRead`, for a link that creates or replaces the file. */
  presignWrite(signal: AbortSignal, expiresIn: number): Promise<Presigned | null> {
    return this.presigned(signal, { method: 'PUT', expiresIn })
  }

  async mkdir(signal: AbortSignal, options: { exclusive: boolean }): Promise<void> {
    await this.context.activeGrants.confirm([this.grant])
    const timeout = AbortSignal.timeout(this.context.metadataTimeout)
    const call = { ...options, signal: AbortSignal.any([signal, timeout]) }
    return callAdapterForChange(signal, () =>
      callAdapter(timeout, async () => this.context.provider.mkdir(this.path, call)),
    )
  }

  async delete(signal: AbortSignal): Promise<void> {
    await this.context.activeGrants.confirm([this.grant])
    return this.metadata(signal, call => this.context.provider.delete(this.path, call))
  }

  /** Deletes a directory and its content in one call, or returns null if the back end cannot. */
  deleteTree(requestSignal: AbortSignal): Promise<void> | null {
    const { provider } = this.context
    if (!provider.deleteTree) return null
    return this.runGranted(requestSignal, granted =>
      runWithTimeout(granted, this.context.timeouts.step, signal =>
        callAdapter(signal, async () => provider.deleteTree?.(this.path, { signal })),
      ),
    )
  }

  /** Moves in one step at the back end. Returns null if it cannot, so that the caller copies instead. */
  async moveTo(
    destination: WriteLocation,
    signal: AbortSignal,
    options: { overwrite: boolean },
  ): Promise<CheckedEntry | null> {
    const { provider } = this.context
    const move = provider.move?.bind(provider)
    if (!destination.sharesBackEnd(this) || !move) return null
    return destination.inOneStep(this, signal, call => move(this.path, destination.path, { ...options, ...call }))
  }

  /** Copies a file inside the back end. Returns null if it cannot. */
  async copyFrom(
    source: ReadLocation,
    signal: AbortSignal,
    options: { overwrite: boolean },
  ): Promise<CheckedEntry | null> {
    const { provider } = this.context
    const copy = provider.copy?.bind(provider)
    if (!this.sharesBackEnd(source) || !copy) return null
    return this.inOneStep(source, signal, call =>
      this.context.writeTracker.track(this.grant, this.path, unfinished =>
        copy(source.path, this.path, { ...options, ...call, unfinished }),
      ),
    )
  }

  private inOneStep(
    source: ReadLocation,
    requestSignal: AbortSignal,
    step: (call: Call) => Promise<Entry>,
  ): Promise<CheckedEntry | null> {
    return this.context.activeGrants.run([source.grant, this.grant], requestSignal, granted =>
      runWithTimeout(granted, this.context.timeouts.step, signal =>
        callAdapterForChange(signal, async () => {
          try {
            return checkEntry(await step({ signal }), nameOf(this.path))
          } catch (error) {
            if (isStorageError(error) && error.code === 'NOT_IN_ONE_STEP') return null
            throw error
          }
        }),
      ),
    )
  }

  private sharesBackEnd(other: ReadLocation): boolean {
    return other.providerId === this.providerId
  }
}
