/**
 * The conformance kit, published as `stowage/adapter/conformance`: a harness that opens an adapter enters, and cases that any test
 * runner can run leave. Each file has the cases about one part of the contract.
 */
import { orAborted, type StorageProvider } from '../contract.ts'
import { abortCases } from './abort.ts'
import { changesCases } from './changes.ts'
import { fileIdCases, modifiedAtCases } from './facts.ts'
import { faultCases } from './faults.ts'
import { type Harness, watchCalls } from './harness.ts'
import { type Case, Lacking } from './kit.ts'
import { largeCases } from './large.ts'
import { presignCases, trashCases } from './links-and-trash.ts'
import { listCases } from './list.ts'
import { nameCases } from './names.ts'
import { optionalCases } from './optional.ts'
import { partCases } from './parts.ts'
import { rangeCases, roundTripCases } from './read.ts'
import { replacedCases } from './replaced.ts'
import { resumableCases } from './resumable.ts'
import { versionCases } from './versions.ts'
import { kindCases, overwriteCases } from './write.ts'

export { networkFaults } from './faults.ts'
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
    ...replacedCases,
    ...resumableCases,
    ...partCases,
    ...presignCases,
    ...trashCases,
    ...versionCases,
    ...changesCases,
    ...faultCases,
  ]
  return cases.map(entry => ({ name: entry.name, run: () => runCase(entry, harness) }))
}

/** Milliseconds for calls to settle and for `close`, once a case has ended. */
const usualEndLimit = 30_000

async function runCase(entry: Case, harness: Harness): Promise<{ skipped?: string }> {
  const { timeLimit = 120_000 } = harness
  const endLimit = Math.min(timeLimit, usualEndLimit)
  const provider = await within(timeLimit, harness.open(), () => ['open of the harness'])
  const calls = watchCalls(provider, harness)
  let result = {}
  const steps = [
    async () => {
      result = await within(timeLimit, runWith(entry, calls.provider, calls.harness), calls.underWay)
    },
    // A case that fails may leave calls running that it had started.
    () => within(endLimit, calls.settled(), calls.underWay),
    async () => within(endLimit, provider.close?.(), () => ['close']),
    async () => within(timeLimit, harness.cleanUp?.(provider), () => ['cleanUp of the harness']),
  ]
  const errors: unknown[] = []
  for (const step of steps) await step().catch(error => errors.push(error))
  // Each error may be a consequence of the one before.
  if (errors.length > 0) throw errors[0]
  return result
}

/** Settles as `work` does. @throws an error that names what is under way, after `time` milliseconds */
async function within<T>(time: number, work: T | Promise<T>, underWay: () => string[]): Promise<T> {
  const timer = new AbortController()
  const timeout = setTimeout(() => {
    const calls = underWay()
    const what = calls.length === 0 ? 'no call is under way' : calls.slice(0, 5).join(', ')
    timer.abort(new Error(`Not ended after ${time / 1000} seconds: ${what}.`))
  }, time)
  try {
    return await orAborted(Promise.resolve(work), timer.signal)
  } finally {
    clearTimeout(timeout)
  }
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
