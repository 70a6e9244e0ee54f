import { copyFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type Peer, run } from './processes.ts'
import type { Row } from './table.ts'

/** Megabytes a second of one download and one upload stream, beside nginx where it is installed. */
export async function streams(options: {
  stowage: Peer
  nginx: Peer | null
  folder: string
  /** A file of `bytes` bytes outside both servers' folders. */
  file: string
  bytes: number
  providerId: string
  token: string
  rounds: number
}): Promise<Row[]> {
  const { stowage, nginx, folder, file, bytes, providerId, token, rounds } = options
  const header = `Authorization: Bearer ${token}`
  const query = (path: string) => `providerId=${providerId}&path=${encodeURIComponent(path)}`
  const timed = async (args: string[]): Promise<number> => {
    const { stdout } = await run('curl', ['-sS', '--fail', '-o', '/dev/null', '-w', '%{time_total}', ...args])
    return bytes / 1e6 / Number(stdout)
  }
  const figures = { down: [] as number[], up: [] as number[], nginxDown: [] as number[], nginxUp: [] as number[] }
  await copyFile(file, join(folder, 'data', 'files', 'down.bin'))
  if (nginx) await copyFile(file, join(folder, 'nginx', 'down.bin'))
  for (let round = -1; round < rounds; round++) {
    const measured = {
      down: await timed(['-H', header, `${stowage.url}/api/download/proxy?${query('/down.bin')}`]),
      nginxDown: nginx && (await timed([`${nginx.url}/down.bin`])),
      up: await timed(['-H', header, '-X', 'POST', '-T', file, `${stowage.url}/api/upload/proxy?${query('/up.bin')}`]),
      nginxUp: nginx && (await timed(['-T', file, `${nginx.url}/up.bin`])),
    }
    await rm(join(folder, 'data', 'files', 'up.bin'))
    await rm(join(folder, 'nginx', 'up.bin'), { force: true })
    if (round < 0) continue
    for (const name of ['down', 'up', 'nginxDown', 'nginxUp'] as const) figures[name].push(measured[name] ?? 0)
  }
  const against = (peer: number[]) => (nginx ? { what: 'nginx', figures: peer } : undefined)
  return [
    {
      what: 'one download stream from a local disk',
      figures: figures.down,
      unit: 'MB/s',
      against: against(figures.nginxDown),
    },
    {
      what: 'one raw upload stream to a local disk',
      figures: figures.up,
      unit: 'MB/s',
      against: against(figures.nginxUp),
    },
  ]
}
