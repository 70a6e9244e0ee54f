/** Replaces a folder by a symbolic link and back, as fast as possible, until it gets a message to stop. */
import { renameSync, symlinkSync, unlinkSync } from 'node:fs'
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'

const { folder, away, outside } = workerData as { folder: string; away: string; outside: string }

let swaps = 0
let strays = 0

/** Makes the change, after moving away a folder that another process created at the path. */
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
    renameSync(folder, `${away} ${strays}`)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error
  }
}

while (parentPort && !receiveMessageOnPort(parentPort)) {
  renameSync(folder, away)
  insist(() => symlinkSync(outside, folder))
  unlinkSync(folder)
  insist(() => renameSync(away, folder))
  swaps += 1
}
parentPort?.postMessage(swaps)
