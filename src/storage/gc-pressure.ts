/**
 * Collects the garbage of uploads early. The chunks of a body lie outside V8's heap but count towards its limit, and at the
 * limit V8 marks the whole heap. By default this happens every 32 MiB of an upload and halves its speed: see bench/NOTES.md.
 */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

// V8 sets the limit at one to four times the live memory, and near one after an idle time.
setFlagsFromString('--heap-growing-percent=200')
setFlagsFromString('--expose-gc')
const collect: (options: { type: 'minor'; execution: 'sync' }) => void = runInNewContext('gc')

/** Bytes. A collection of young objects takes half a millisecond. */
const collectEvery = 8 * 1024 * 1024
let sinceCollected = 0

/** Call this for every chunk received. */
export function recordForGc(bytes: number): void {
  sinceCollected += bytes
  if (sinceCollected < collectEvery) return
  sinceCollected = 0
  collect({ type: 'minor', execution: 'sync' })
}
