/**
 * Pieces that come from sockets are garbage soon, and lie outside V8's heap; it counts them all the same, and when they reach
 * the heap's limit it marks the whole heap. Left to itself it does so for each 32 MiB of an upload, which is half as fast
 * then: see bench/NOTES.md.
 */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

// V8 sets the limit at one to four times of what is live, near to one once the server was idle.
setFlagsFromString('--heap-growing-percent=200')
setFlagsFromString('--expose-gc')
const collect: (options: { type: 'minor'; execution: 'sync' }) => void = runInNewContext('gc')

/** Bytes. A collection of young objects frees them in half a millisecond. */
const collectEvery = 8 * 1024 * 1024
let sinceCollected = 0

/** To be told of each piece. */
export function passed(bytes: number): void {
  sinceCollected += bytes
  if (sinceCollected < collectEvery) return
  sinceCollected = 0
  collect({ type: 'minor', execution: 'sync' })
}
