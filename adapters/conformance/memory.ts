/** Returns the bytes that buffers use, after a garbage collection. */
import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

const maxLooks = 5

/** Enables `gc` as `--expose-gc` does, without a flag of the test runner. */
function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
}

/** Bytes. */
export async function buffersInUse(): Promise<number> {
  // Another thread frees buffers, late on a busy machine, so take the lowest of several readings.
  let lowest = Infinity
  for (let [look, fell] = [0, true]; fell && look < maxLooks; look++) {
    collectGarbage()
    await sleep(2)
    const now = process.memoryUsage().arrayBuffers
    fell = now < lowest
    lowest = Math.min(lowest, now)
  }
  return lowest
}

/** Measures how far the bytes in buffers rise above their first value. */
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
