import { setTimeout as sleep } from 'node:timers/promises'

/** Milliseconds. */
interface Deadline {
  within?: number
  every?: number
}

/**
 * Polls until `check` returns true. Other values describe what is missing.
 * @throws after the timeout, with the last value
 */
export async function until(check: () => unknown, { within = 30_000, every = 10 }: Deadline = {}): Promise<void> {
  for (const end = performance.now() + within; ; await sleep(every)) {
    const missing = await check()
    if (missing === true) return
    if (performance.now() > end) throw new Error(`After ${within} ms it is still ${JSON.stringify(missing)}: ${check}`)
  }
}

/** Polls until `check` does not throw. @throws the last error after the timeout */
export async function eventually(check: () => Promise<void> | void, within = 5000): Promise<void> {
  for (const end = performance.now() + within; ; await sleep(10)) {
    try {
      return await check()
    } catch (error) {
      if (performance.now() > end) throw error
    }
  }
}
