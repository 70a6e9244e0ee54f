/** Measures the memory that buffers use. */
import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

const maxReadings = 5

/** Enables `gc` as `--expose-gc` does, without a flag of the test runner. */
function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
}

/** Returns the bytes that buffers use, after a garbage collection. */
export async function buffersInUse(): Promise<number> {
  // Another thread frees buffers, late on a busy machine, so take the lowest of several readings.
  let lowest = Infinity
  for (let [reading, fell] = [0, true]; fell && reading < maxReadings; reading++) {
    collectGarbage()
    await sleep(2)
    const now = process.memoryUsage().arrayBuffers
    fell = now < lowest
    lowest = Math.min(lowest, now)
  }
  return lowest
}

/** Measures how far the bytes in buffers rise above their first value. */
export async function watchBuffers(): Promise<{ measure(): Promise<void>; highest(): number }> {
  const before = await buffersInUse()
  let highest = 0
  return {
    async measure() {
      highest = Math.max(highest, (await buffersInUse()) - before)
    },
    highest: () => highest,
  }
}
