import { mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Installation, install } from './installation.ts'
import type { Part } from './part.ts'
import { findProgram, startRclone } from './processes.ts'
import { interleave } from './rounds.ts'
import type { Row } from './table.ts'
import { callsPerSecond, type WrkRequest, wrkScript } from './wrk.ts'

const bytes = 10_000
const files = 1000
const seconds = 3

/** A server, and how it is asked for one file. TURN stands for the number of the measurement. */
interface Contestant {
  name: string
  /** The folder that the server serves. */
  root: string
  url: string
  down: WrkRequest
  up: WrkRequest
}

export const smallFiles: Part = {
  title: 'Small files',
  about: `Files of ${bytes / 1000} KB from and to tmpfs, over 16 connections and over one for ${seconds} seconds. Downloads read ${files.toLocaleString('en')} files in
turn; each upload creates a file.`,
  async measure({ rounds, say }) {
    const [wrk, rclone] = [await findProgram('wrk'), await findProgram('rclone')]
    if (!wrk || !rclone) {
      say('Small files are skipped: they need wrk and rclone.')
      return []
    }
    await using stack = new AsyncDisposableStack()
    const installation = stack.use(await install())
    const { folder } = installation
    const root = join(folder, 'rclone')
    // Create the files before the start, because rclone caches listings.
    await fill(root)
    await fill(installation.files)
    const { url } = stack.use(await startRclone(rclone, root))
    const contestants: Contestant[] = [
      {
        name: 'rclone',
        root,
        url,
        down: { method: 'GET', path: '/down/#.bin', paths: files },
        up: { method: 'PUT', path: '/up/TURN-#.bin', body: 'x'.repeat(bytes) },
      },
      {
        name: 'Stowage',
        root: installation.files,
        url: installation.stowage.url,
        ...requestsTo(installation, { bytes, files }),
      },
    ]
    const rows: Row[] = []
    let turn = 0
    for (const direction of ['down', 'up'] as const) {
      for (const connections of [16, 1]) {
        const what = `${direction}loads, ${connections === 1 ? 'one connection' : `${connections} connections`}`
        say(`  ${what}`)
        const measure = async ({ name, root, url, [direction]: request }: Contestant) => {
          turn += 1
          const script = await wrkScript(folder, name, { ...request, path: request.path.replace('TURN', String(turn)) })
          const figure = await callsPerSecond(wrk, script, url, { connections, seconds })
          // The folder stays, because rclone caches that it exists.
          for (const file of await readdir(join(root, 'up'))) await rm(join(root, 'up', file))
          return figure
        }
        const figures = await interleave(
          rounds,
          Object.fromEntries(contestants.map(contestant => [contestant.name, () => measure(contestant)])),
        )
        const against = { what: 'rclone', figures: figures.rclone ?? [] }
        rows.push(
          { what: `${what}: rclone serve webdav`, figures: figures.rclone ?? [], unit: 'files/s' },
          { what: `${what}: Stowage`, figures: figures.Stowage ?? [], unit: 'files/s', against },
        )
      }
    }
    return rows
  },
}

async function fill(root: string): Promise<void> {
  await mkdir(join(root, 'down'), { recursive: true })
  await mkdir(join(root, 'up'))
  const content = Buffer.alloc(bytes, 7)
  for (let number = 1; number <= files; number += 1) await writeFile(join(root, 'down', `${number}.bin`), content)
}

/** Returns the requests to a provider. Uploads go into the folder `up`; TURN stands for the number of the measurement. */
export function requestsTo(
  { key, providerId }: Pick<Installation, 'key' | 'providerId'>,
  { bytes, files }: { bytes: number; files: number },
): Record<'down' | 'up', WrkRequest> {
  const headers = { Authorization: `Bearer ${key}` }
  const at = `providerId=${providerId}&path=%2F`
  return {
    down: { method: 'GET', path: `/api/download/proxy?${at}down%2F#.bin`, headers, paths: files },
    up: {
      method: 'POST',
      path: `/api/upload/proxy?${at}up%2FTURN-#.bin`,
      headers: { ...headers, 'Content-Type': 'application/octet-stream' },
      body: 'x'.repeat(bytes),
    },
  }
}
