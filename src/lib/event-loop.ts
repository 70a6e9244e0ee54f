import { setImmediate } from 'node:timers/promises'

let round: Promise<void> | null = null

/**
 * Resolves in the next round of the event loop, at the same time for all callers of this round. Requests that arrive together then
 * take each asynchronous step together, so that the code of the step stays in the processor's caches: with 64 connections, a short
 * request takes two thirds of the time that it takes when each request runs from its first to its last step alone.
 */
export function nextRound(): Promise<void> {
  round ??= setImmediate().then(() => {
    round = null
  })
  return round
}

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
