/**
 * A place in a provider that a grant was given for. It reaches itself and what lies below, nothing else: whoever holds
 * one cannot get at a path that the policy has not decided on. All that adapters answer is checked here.
 */
import type { FileHandle } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import type { ByteRange, Call, Entry, StorageProvider, Traits } from '../../adapters/contract.ts'
import { childOf, nameOf, type StoragePath } from '../auth/path.ts'
import { type CheckedEntry, checkBody, checkEntry, checkHandle, checkPage, fault } from './entries.ts'
import { isStorageError } from './errors.ts'
import { guarded, guardedChange } from './guarded.ts'

export interface OpenedProvider {
  id: string
  provider: StorageProvider
  warn(message: string): void
  /** Milliseconds for what moves no file content; a back end that takes longer counts as unavailable. */
  metadataTimeout: number
}

/** Of one page of a listing. */
export const maxPageSize = 1000

export class ReadLocation {
  protected readonly opened: OpenedProvider
  readonly path: StoragePath

  constructor(opened: OpenedProvider, path: StoragePath) {
    this.opened = opened
    this.path = path
  }

  get providerId(): string {
    return this.opened.id
  }

  get traits(): Traits {
    return this.opened.provider.traits
  }

  child(name: string): ReadLocation {
    return new ReadLocation(this.opened, childOf(this.path, name))
  }

  stat(signal: AbortSignal): Promise<CheckedEntry> {
    return this.metadata(signal, async call =>
      checkEntry(await this.opened.provider.stat(this.path, call), nameOf(this.path)),
    )
  }

  list(
    signal: AbortSignal,
    page: { cursor: string | null; limit: number },
  ): Promise<{ entries: CheckedEntry[]; cursor: string | null }> {
    const limit = Math.min(page.limit, maxPageSize)
    const cursor = page.cursor === null ? {} : { cursor: page.cursor }
    return this.metadata(signal, async call => {
      const answer = await this.opened.provider.list(this.path, { ...call, ...cursor, limit })
      return checkPage(answer, { limit, cursor: page.cursor }, this.opened.warn)
    })
  }

  read(
    signal: AbortSignal,
    options: { range?: ByteRange; ifMatch?: string } = {},
  ): Promise<{ body: Readable; entry: CheckedEntry }> {
    return guarded(
      signal,
      async () => {
        const { body, entry } = await this.opened.provider.read(this.path, { ...options, signal })
        const checked = checkBody(body)
        try {
          return { body: checked, entry: checkEntry(entry, nameOf(this.path)) }
        } catch (error) {
          checked.destroy()
          throw error
        }
      },
      late => late.body.destroy(),
    )
  }

  /** Where the bytes are a file on this machine; else null. */
  openFile(
    signal: AbortSignal,
    options: { ifMatch?: string } = {},
  ): Promise<{ handle: FileHandle; entry: CheckedEntry }> | null {
    const { provider } = this.opened
    if (!provider.openFile) return null
    return guarded(
      signal,
      async () => {
        const opened = await provider.openFile?.(this.path, { ...options, signal })
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
    )
  }

  protected metadata<T>(signal: AbortSignal, work: (call: Call) => Promise<T>): Promise<T> {
    const bounded = AbortSignal.any([signal, AbortSignal.timeout(this.opened.metadataTimeout)])
    return guarded(bounded, () => work({ signal: bounded }))
  }
}

export class WriteLocation extends ReadLocation {
  override child(name: string): WriteLocation {
    return new WriteLocation(this.opened, childOf(this.path, name))
  }

  write(
    signal: AbortSignal,
    body: Readable,
    options: { size?: number; mimeType?: string; overwrite: boolean },
  ): Promise<CheckedEntry> {
    return guardedChange(signal, async () => {
      const stored = checkEntry(
        await this.opened.provider.write(this.path, body, { ...options, signal }),
        nameOf(this.path),
      )
      if (options.size !== undefined && stored.size !== null && stored.size !== options.size) {
        throw fault(`${stored.size} bytes as stored, of ${options.size}`)
      }
      return stored
    })
  }

  mkdir(signal: AbortSignal, options: { exclusive: boolean }): Promise<void> {
    const timeout = AbortSignal.timeout(this.opened.metadataTimeout)
    const call = { ...options, signal: AbortSignal.any([signal, timeout]) }
    return guardedChange(signal, () => guarded(timeout, async () => this.opened.provider.mkdir(this.path, call)))
  }

  delete(signal: AbortSignal): Promise<void> {
    return this.metadata(signal, call => this.opened.provider.delete(this.path, call))
  }

  /** A directory and all beneath it in one call, where the back end can; else null. */
  deleteTree(signal: AbortSignal): Promise<void> | null {
    const { provider } = this.opened
    if (!provider.deleteTree) return null
    return guarded(signal, async () => provider.deleteTree?.(this.path, { signal }))
  }

  /** One step at the back end; null where it cannot, and the bytes have to be copied. */
  async moveTo(
    target: WriteLocation,
    signal: AbortSignal,
    options: { overwrite: boolean },
  ): Promise<CheckedEntry | null> {
    const { provider } = this.opened
    if (!target.sharesBackEnd(this)) return null
    const step = provider.move?.bind(provider, this.path, target.path, { ...options, signal })
    return target.inOneStep(signal, step)
  }

  /** A file, inside the back end; null where it cannot. */
  async copyFrom(
    source: ReadLocation,
    signal: AbortSignal,
    options: { overwrite: boolean },
  ): Promise<CheckedEntry | null> {
    const { provider } = this.opened
    if (!this.sharesBackEnd(source)) return null
    const step = provider.copy?.bind(provider, source.path, this.path, { ...options, signal })
    return this.inOneStep(signal, step)
  }

  private async inOneStep(signal: AbortSignal, step: (() => Promise<Entry>) | undefined): Promise<CheckedEntry | null> {
    if (!step) return null
    return guardedChange(signal, async () => {
      try {
        return checkEntry(await step(), nameOf(this.path))
      } catch (error) {
        if (isStorageError(error) && error.code === 'NOT_IN_ONE_STEP') return null
        throw error
      }
    })
  }

  private sharesBackEnd(other: ReadLocation): boolean {
    return other.providerId === this.providerId
  }
}
