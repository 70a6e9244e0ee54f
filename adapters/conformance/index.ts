import type { StorageProvider } from '../contract.ts'
import { abortCases } from './abort.ts'
import { faultCases } from './faults.ts'
import { fileIdCases } from './file-id.ts'
import type { Harness } from './harness.ts'
import { kindCases } from './kinds.ts'
import { type Case, Lacking } from './kit.ts'
import { largeCases } from './large.ts'
import { listCases } from './list.ts'
import { modifiedAtCases } from './modified-at.ts'
import { nameCases } from './names.ts'
import { optionalCases } from './optional.ts'
import { overwriteCases } from './overwrite.ts'
import { presignCases } from './presign.ts'
import { rangeCases } from './range.ts'
import { resumableCases } from './resumable.ts'
import { roundTripCases } from './round-trip.ts'

export type { Faults, Harness, Undo } from './harness.ts'
export { commonNames, oddNames } from './names.ts'
export { type TestHost, testHost } from './test-host.ts'

export interface ConformanceCase {
  /** The behavior that the case checks, unique among the cases. */
  name: string
  /** Rejects if the adapter breaks the contract. `skipped` names what the adapter or the harness lacks for the case. */
  run(): Promise<{ skipped?: string }>
}

/**
 * Returns the cases that every adapter must pass, for any test runner. Cases share nothing and may run concurrently, except
 * those that measure memory (their names say so): run these alone.
 *
 * ```ts
 * for (const { name, run } of conformanceCases({ open: () => adapter.open(config, testHost()) })) test(name, run)
 * ```
 */
export function conformanceCases(harness: Harness): ConformanceCase[] {
  const cases = [
    ...roundTripCases,
    ...largeCases,
    ...rangeCases,
    ...nameCases,
    ...listCases,
    ...overwriteCases,
    ...kindCases,
    ...fileIdCases,
    ...abortCases,
    ...modifiedAtCases,
    ...optionalCases,
    ...resumableCases,
    ...presignCases,
    ...faultCases,
  ]
  return cases.map(entry => ({ name: entry.name, run: () => runCase(entry, harness) }))
}

async function runCase(entry: Case, harness: Harness): Promise<{ skipped?: string }> {
  const provider = await harness.open()
  const [result] = await Promise.allSettled([runWith(entry, provider, harness)])
  const [closed] = await Promise.allSettled([provider.close?.()])
  await harness.cleanUp?.(provider)
  // An error of `close` may be a consequence of the error of the case.
  if (result.status === 'rejected') throw result.reason
  if (closed.status === 'rejected') throw closed.reason
  return result.value
}

async function runWith(
  { needs, run }: Case,
  provider: StorageProvider,
  harness: Harness,
): Promise<{ skipped?: string }> {
  const lacking = needs?.(provider, harness)
  if (lacking !== undefined) return { skipped: lacking }
  try {
    await run(provider, harness)
    return {}
  } catch (error) {
    if (error instanceof Lacking) return { skipped: error.message }
    throw error
  }
}
