/**
 * A place in a provider that a grant was given for. It reaches itself and what lies below, nothing else: whoever holds
 * one cannot get at a path that the policy has not decided on. All that adapters answer is checked here, and all that
 * moves content is active in `running`, so that it ends when the grant no longer holds: it then fails with the reason.
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
  /** Milliseconds for what moves no file content; a back end that takes longer counts as unavailable. */
  metadataTimeout: number
  /** For what moves content. */
  timeouts: TransferTimeouts
  activeGrants: ActiveGrants
  writeTracker: WriteTracker
}

/** Of one page of a listing. */
export const maxPageSize = 1000

export class ReadLocation {
  protected readonly context: ProviderContext
  readonly grant: Grant
  readonly path: StoragePath

  /** @param path that of the grant, or one below it */
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
   * Ids of the stored folders that the path lies in, also above the grant: nothing else is told of those.
   * @param except folders that enclose this location of the same provider, too, are left out
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
      const answer = await this.context.provider.list(this.path, { ...call, ...cursor, limit })
      return checkPage(answer, { limit, cursor: page.cursor }, this.context.warn)
    })
  }

  /** The body fails with why the grant no longer holds, as soon as that is known. */
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
          // Its signal lives as long as its body.
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

  /** Where the bytes are a file on this machine; else null. The handle is closed when the grant no longer holds. */
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
   * A link that reads the file without credentials for so many seconds, answered with these headers; null where the back
   * end makes none.
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

  /** For what moves content in one call. */
  protected during<T>(signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
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
    return this.during(requestSignal, granted =>
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

  /** Where the back end itself holds unfinished writes; else null. */
  get resumable(): ResumableLocation | null {
    const { resumable } = this.context.provider
    if (!resumable) return null
    const { timeouts, writeTracker } = this.context
    return new ResumableLocation(resumable, this.path, timeouts, work =>
      writeTracker.track(this.grant, this.path, work),
    )
  }

  /** A link that writes the file, whatever stands there; as `presignRead`. */
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

  /** A directory and all beneath it in one call, where the back end can; else null. */
  deleteTree(requestSignal: AbortSignal): Promise<void> | null {
    const { provider } = this.context
    if (!provider.deleteTree) return null
    return this.during(requestSignal, granted =>
      runWithTimeout(granted, this.context.timeouts.step, signal =>
        callAdapter(signal, async () => provider.deleteTree?.(this.path, { signal })),
      ),
    )
  }

  /** One step at the back end; null where it cannot, and the bytes have to be copied. */
  async moveTo(
    target: WriteLocation,
    signal: AbortSignal,
    options: { overwrite: boolean },
  ): Promise<CheckedEntry | null> {
    const { provider } = this.context
    const move = provider.move?.bind(provider)
    if (!target.sharesBackEnd(this) || !move) return null
    return target.inOneStep(this, signal, call => move(this.path, target.path, { ...options, ...call }))
  }

  /** A file, inside the back end; null where it cannot. */
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
