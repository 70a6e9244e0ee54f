import { readFile } from 'node:fs/promises'
import type { Peer } from './processes.ts'

const mib = 1024 * 1024
/** Milliseconds. */
const interval = 100

/** Returns the peak growth of a server's resident memory during `work`, in MiB. */
export async function growth({ pid }: Pick<Peer, 'pid'>, work: () => Promise<void>): Promise<number> {
  const before = await resident(pid)
  let highest = before
  const watch = setInterval(() => {
    void resident(pid).then(now => {
      highest = Math.max(highest, now)
    })
  }, interval)
  try {
    await work()
  } finally {
    clearInterval(watch)
  }
  return (highest - before) / mib
}

/** Returns the resident memory of a process in bytes. */
async function resident(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) * 1024
}
