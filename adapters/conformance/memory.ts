/** What buffers take, without the garbage among them. */
import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** As `--expose-gc` would, but without asking the author's test runner for it. */
function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
}

/** Bytes. */
export async function buffersInUse(): Promise<number> {
  collectGarbage()
  // Buffers are given back by a thread of its own.
  await sleep(2)
  return process.memoryUsage().arrayBuffers
}

/** Follows how far the buffers in use rise over what they were at first. */
export async function watchBuffers(): Promise<{ look(): Promise<void>; highest(): number }> {
  const before = await buffersInUse()
  let highest = 0
  return {
    async look() {
      highest = Math.max(highest, (await buffersInUse()) - before)
    },
    highest: () => highest,
  }
}
