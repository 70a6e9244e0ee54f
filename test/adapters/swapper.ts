/** Puts a symbolic link in a folder's place and the folder back, as fast as it can, until it is told to stop. */
import { renameSync, symlinkSync, unlinkSync } from 'node:fs'
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'

const { place, away, outside } = workerData as { place: string; away: string; outside: string }

let swaps = 0
let strays = 0

/** Whoever found the place empty may have made a folder of its own there, and may take it away again. */
function insist(change: () => void): void {
  for (;;) {
    try {
      change()
      return
    } catch {
      putAside()
    }
  }
}

function putAside(): void {
  strays += 1
  try {
    renameSync(place, `${away} ${strays}`)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error
  }
}

while (parentPort && !receiveMessageOnPort(parentPort)) {
  renameSync(place, away)
  insist(() => symlinkSync(outside, place))
  unlinkSync(place)
  insist(() => renameSync(away, place))
  swaps += 1
}
parentPort?.postMessage(swaps)
