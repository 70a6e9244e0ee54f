import { setImmediate } from 'node:timers/promises'

let last: Promise<unknown> = Promise.resolve()

/**
 * Lets the event loop serve others before long work goes on. If several pieces of long work wait, each continues in a round of
 * the event loop of its own, so that the server responds to short requests in between. The work between two calls should
 * take a few milliseconds at most.
 */
export function yieldToOthers(): Promise<void> {
  const resumed = last.then(() => setImmediate())
  last = resumed
  return resumed
}
