/** What buffers take, without the garbage among them. */
import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

const maxLooks = 5

/** As `--expose-gc` would, but without asking the author's test runner for it. */
function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
}

/** Bytes. */
export async function buffersInUse(): Promise<number> {
  // Buffers are given back by a thread of its own, which a busy machine keeps waiting: the lowest of some looks counts.
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
