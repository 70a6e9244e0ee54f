import { setTimeout as sleep } from 'node:timers/promises'

/** Milliseconds. */
interface Deadline {
  within?: number
  /** The default grows with the time that has passed: see `pauseAfter`. */
  every?: number
}

const [shortest, longest] = [10, 100]
/** Milliseconds: also enough for a machine with other work. */
const defaultWithin = 60_000

/**
 * Returns how long to wait before the next check. A twentieth of the time that has passed delays a test by as little, and saves
 * most of the checks of a long wait, which often are requests.
 */
function pauseAfter(begin: number): number {
  return Math.min(longest, Math.max(shortest, (performance.now() - begin) / 20))
}

/**
 * Polls until `check` returns true. Other values describe what is missing.
 * @throws after the timeout, with the last value
 */
export async function until(check: () => unknown, { within = defaultWithin, every }: Deadline = {}): Promise<void> {
  for (const begin = performance.now(); ; await sleep(every ?? pauseAfter(begin))) {
    const missing = await check()
    if (missing === true) return
    if (performance.now() > begin + within)
      throw new Error(`After ${within} ms it is still ${JSON.stringify(missing)}: ${check}`)
  }
}

/** Polls until `check` does not throw. @throws the last error after the timeout */
export async function eventually(check: () => Promise<void> | void, within = defaultWithin): Promise<void> {
  for (const begin = performance.now(); ; await sleep(pauseAfter(begin))) {
    try {
      return await check()
    } catch (error) {
      if (performance.now() > begin + within) throw error
    }
  }
}
