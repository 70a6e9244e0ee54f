/** Reads from /proc (proc(5)): the processes below another one, their memory and their processor time. */
import { readdir, readFile } from 'node:fs/promises'

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

/** Returns the ids of the living children of this process whose command contains a text. */
export async function childrenWith(text: string): Promise<number[]> {
  const ids = (await readdir('/proc')).filter(name => /^\d+$/.test(name))
  const found = await Promise.all(
    ids.map(async id => {
      const [command, status] = await Promise.all(
        ['cmdline', 'status'].map(file => readFile(`/proc/${id}/${file}`, 'utf8').catch(() => '')),
      )
      const isOwn = status?.includes(`PPid:\t${process.pid}\n`) && !status.includes('State:\tZ')
      return isOwn && command?.includes(text) ? [Number(id)] : []
    }),
  )
  return found.flat()
}
