import { setTimeout as sleep } from 'node:timers/promises'

/** Milliseconds. */
interface Deadline {
  within?: number
  every?: number
}

/**
 * Polls until `check` returns true; any other value says what is still in the way.
 * @throws once the time is over, with the last such value
 */
export async function until(check: () => unknown, { within = 30_000, every = 10 }: Deadline = {}): Promise<void> {
  for (const end = performance.now() + within; ; await sleep(every)) {
    const left = await check()
    if (left === true) return
    if (performance.now() > end) throw new Error(`After ${within} ms it is still ${JSON.stringify(left)}: ${check}`)
  }
}

/** Polls until `check` returns without throwing. @throws what it threw last, once the time is over */
export async function eventually(check: () => Promise<void> | void, within = 5000): Promise<void> {
  for (const end = performance.now() + within; ; await sleep(10)) {
    try {
      return await check()
    } catch (error) {
      if (performance.now() > end) throw error
    }
  }
}
