import type { StorageProvider } from '../contract.ts'
import { abortCases } from './abort.ts'
import { kindCases } from './kinds.ts'
import type { Case } from './kit.ts'
import { listCases } from './list.ts'
import { nameCases } from './names.ts'
import { optionalCases } from './optional.ts'
import { overwriteCases } from './overwrite.ts'
import { rangeCases } from './range.ts'
import { roundTripCases } from './round-trip.ts'

/** How the kit gets at the adapter under test. */
export interface Harness {
  /** A fresh provider with nothing in it; each case opens its own. */
  open(): Promise<StorageProvider>
  /** Takes away what `open` made. Runs after `provider.close`, whether or not the case passed. */
  cleanUp?(provider: StorageProvider): Promise<void>
}

export interface ConformanceCase {
  name: string
  /** Rejects where the adapter does not keep the contract; `skipped` says what the adapter lacks for the case. */
  run(): Promise<{ skipped?: string }>
}

/**
 * What every adapter has to pass, for any test runner:
 *
 * ```ts
 * for (const { name, run } of conformanceCases({ open: async () => adapter.open(config, host) })) test(name, run)
 * ```
 */
export function conformanceCases(harness: Harness): ConformanceCase[] {
  const cases = [
    ...roundTripCases,
    ...rangeCases,
    ...nameCases,
    ...listCases,
    ...overwriteCases,
    ...kindCases,
    ...abortCases,
    ...optionalCases,
  ]
  return cases.map(entry => ({ name: entry.name, run: () => runCase(entry, harness) }))
}

async function runCase({ needs, run }: Case, harness: Harness): Promise<{ skipped?: string }> {
  const provider = await harness.open()
  try {
    const skipped = needs?.(provider)
    if (skipped !== undefined) return { skipped }
    await run(provider)
    return {}
  } finally {
    await provider.close?.()
    await harness.cleanUp?.(provider)
  }
}
