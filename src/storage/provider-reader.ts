import type { Call, Traits } from '../../adapters/contract.ts'
import { nameOf, type StoragePath } from '../auth/path.ts'
import { callAdapter } from './adapter-call.ts'
import type { ProviderContext } from './read-location.ts'
import { runWithTimeout } from './transfer-timeouts.ts'
import { type CheckedEntry, checkEntry, checkPage } from './validate-entry.ts'

/** The entries of a provider, as the server itself reads them for the catalogue, without a grant. */
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

  #call<T>(signal: AbortSignal, call: (call: Call) => Promise<T>): Promise<T> {
    return runWithTimeout(signal, this.#context.metadataTimeout, bounded =>
      callAdapter(bounded, () => call({ signal: bounded })),
    )
  }
}
