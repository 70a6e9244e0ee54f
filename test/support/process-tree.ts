/** Reads the memory and the processor time of a server and all processes below it from /proc (proc(5)). */
import { readFile } from 'node:fs/promises'

/** Microseconds: Linux counts processor time in hundredths of a second. */
const tick = 10_000

export interface ProcessUse {
  pid: number
  /** The name of the program, such as `node` or `postgres`. */
  name: string
  /** Bytes of memory, in which shared pages count in parts (PSS). */
  bytes: number
  /** Microseconds, without those of ended children. */
  time: number
}

/** Processes that end meanwhile are left out. */
export async function processTree(pid: number): Promise<ProcessUse[]> {
  const read = (name: string) => readFile(`/proc/${pid}/${name}`, 'utf8').catch(() => '')
  const [stat, rollup, children] = await Promise.all([read('stat'), read('smaps_rollup'), read(`task/${pid}/children`)])
  const name = stat.slice(stat.indexOf('(') + 1, stat.lastIndexOf(')'))
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const bytes = Number(/^Pss:\s+(\d+) kB$/m.exec(rollup)?.[1] ?? 0) * 1024
  const own = { pid, name, bytes, time: (Number(fields[11]) + Number(fields[12])) * tick }
  const below = await Promise.all(
    children
      .split(' ')
      .filter(Boolean)
      .map(child => processTree(Number(child))),
  )
  return stat === '' ? [] : [own, ...below.flat()]
}

export async function residentBytes(pid: number): Promise<number> {
  return (await processTree(pid)).reduce((sum, { bytes }) => sum + bytes, 0)
}
