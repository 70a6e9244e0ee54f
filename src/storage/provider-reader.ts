import type { Readable } from 'node:stream'
import type { ByteRange, Call, Traits } from '../../adapters/contract.ts'
import { nameOf, type StoragePath } from '../auth/path.ts'
import { callAdapter } from './adapter-call.ts'
import type { ProviderContext } from './read-location.ts'
import { readWithTimeout, runWithTimeout } from './transfer-timeouts.ts'
import { type CheckedChanges, checkChanges } from './validate-changes.ts'
import { type CheckedEntry, checkBody, checkEntry, checkPage } from './validate-entry.ts'

/** Milliseconds. */
const usualChangesInterval = 60_000

/** The entries of a provider and their content, as the server itself reads them for the catalogue, without a grant. */
export class ProviderReader {
  readonly #context: ProviderContext

  constructor(context: ProviderContext) {
    this.#context = context
  }

  get traits(): Traits {
    return this.#context.provider.traits
  }

  /** @throws as `ReadLocation.stat` */
  stat(path: StoragePath, signal: AbortSignal): Promise<CheckedEntry> {
    return this.#call(signal, async call => checkEntry(await this.#context.provider.stat(path, call), nameOf(path)))
  }

  /** The entry at a path. */
  at(path: StoragePath): { stat(signal: AbortSignal): Promise<CheckedEntry> } {
    return { stat: signal => this.stat(path, signal) }
  }

  /** @throws as `ReadLocation.list` */
  list(
    path: StoragePath,
    page: { cursor: string | null; limit: number },
    signal: AbortSignal,
  ): Promise<{ entries: CheckedEntry[]; cursor: string | null }> {
    const { provider, warn } = this.#context
    const cursor = page.cursor === null ? {} : { cursor: page.cursor }
    return this.#call(signal, async call =>
      checkPage(await provider.list(path, { ...call, ...cursor, limit: page.limit }), page, warn),
    )
  }

  /** Opens the content of a file. @throws as `ReadLocation.read` */
  async read(
    path: StoragePath,
    options: { range?: ByteRange; ifMatch?: string },
    signal: AbortSignal,
  ): Promise<{ body: Readable; entry: CheckedEntry }> {
    const { provider, timeouts } = this.#context
    const open = async () => {
      const { body, entry } = await provider.read(path, { ...options, signal })
      const checked = checkBody(body)
      try {
        return { body: checked, entry: checkEntry(entry, nameOf(path)) }
      } catch (error) {
        checked.destroy()
        throw error
      }
    }
    const { body, entry } = await runWithTimeout(signal, timeouts.transfer, bounded =>
      callAdapter(bounded, open, late => late.body.destroy()),
    )
    return { body: readWithTimeout(body, timeouts.transfer), entry }
  }

  /** Whether the back end itself tells what has changed. */
  get reportsChanges(): boolean {
    return this.#context.provider.changes !== undefined
  }

  /** Milliseconds until the next call of `changes`. */
  get changesInterval(): number {
    return Math.max(1000, this.traits.changesInterval ?? usualChangesInterval)
  }

  /**
   * Returns what has changed at the back end since a cursor, null if it cannot tell now.
   * @throws as `ReadLocation.stat`
   */
  changes(cursor: string | null, signal: AbortSignal): Promise<CheckedChanges | null> {
    return this.#call(signal, async call => {
      const { provider } = this.#context
      return checkChanges((await provider.changes?.(cursor, call)) ?? null)
    })
  }

  #call<T>(signal: AbortSignal, call: (call: Call) => Promise<T>): Promise<T> {
    return runWithTimeout(signal, this.#context.metadataTimeout, bounded =>
      callAdapter(bounded, () => call({ signal: bounded })),
    )
  }
}
