import { setImmediate } from 'node:timers/promises'

let last: Promise<unknown> = Promise.resolve()

/**
 * Lets the long work of different requests take turns. Each turn begins in a round of the event loop of its own, so that the
 * server responds to short requests in between. A turn should take a few milliseconds at most.
 */
export function nextTurn(): Promise<void> {
  const turn = last.then(() => setImmediate())
  last = turn
  return turn
}
