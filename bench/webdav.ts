import { link, mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Installation, install, makeFile, query } from './installation.ts'
import type { Part } from './part.ts'
import { findProgram, type Peer, run, startNginx, startRclone } from './processes.ts'
import { interleave } from './rounds.ts'
import { requestsTo } from './small-files.ts'
import type { Row } from './table.ts'
import { callsPerSecond, type WrkRequest, wrkScript } from './wrk.ts'

const largeBytes = 1024 * 1024 * 1024
const smallBytes = 10_000
const smallFiles = 1000
const entries = 10_000
const connections = 16
const seconds = 3

interface Contestant {
  name: string
  /** The folder that the server serves. */
  root: string
  url: string
  /** The arguments of curl. */
  large: Record<'down' | 'up', string[]>
  /** TURN stands for the number of the measurement. */
  small: Record<'down' | 'up', WrkRequest>
  /** Null without PROPFIND. */
  propfind: { path: string; headers: Record<string, string> } | null
}

export const webdav: Part = {
  title: 'WebDAV',
  about: `Files of 1 GiB with curl, files of ${smallBytes / 1000} KB with wrk over ${connections} connections for ${seconds} seconds, and PROPFIND with
\`Depth: 1\` of a folder of ${entries.toLocaleString('en')} files, from and to tmpfs, in turn with \`rclone serve webdav\`, with nginx and its \`dav_methods\`, and
with the REST endpoints of Stowage.`,
  async measure({ rounds, say }) {
    const [wrk, rclone, nginx] = [await findProgram('wrk'), await findProgram('rclone'), await findProgram('nginx')]
    if (!wrk || !rclone || !nginx) {
      say('WebDAV is skipped: it needs wrk, rclone and nginx.')
      return []
    }
    await using stack = new AsyncDisposableStack()
    const installation = stack.use(await install())
    const { folder } = installation
    const source = join(folder, 'source.bin')
    await makeFile(source, largeBytes)
    await fill(installation.files, source)
    const contestants: Contestant[] = [restOf(installation, source), davOf(installation, source)]
    for (const [name, start] of [
      ['rclone', (root: string) => startRclone(rclone, root)],
      ['nginx', (root: string) => startNginx(nginx, root)],
    ] as const) {
      const root = join(folder, name)
      // Create the files before the start, because rclone caches listings.
      await fill(root, source)
      contestants.push(peerOf(name, root, stack.use(await start(root)), source))
    }
    const rows: Row[] = []
    const measure = async (
      what: string,
      unit: string,
      taking: Contestant[],
      work: (on: Contestant) => Promise<number>,
    ) => {
      say(`  ${what}`)
      const works = taking.map(contestant => [contestant.name, () => work(contestant)])
      const figures: Record<string, number[]> = await interleave(rounds, Object.fromEntries(works))
      const [own = []] = [figures.WebDAV]
      for (const { name } of taking) {
        const row = { what: `${what}: ${name}`, figures: figures[name] ?? [], unit }
        rows.push(name === 'WebDAV' ? row : { ...row, against: { what: 'WebDAV', figures: own } })
      }
    }
    for (const direction of ['down', 'up'] as const) {
      await measure(`1 GiB, ${direction}load`, 'MB/s', contestants, ({ root, large }) =>
        curlRate(large[direction], join(root, 'up.bin')),
      )
    }
    let turn = 0
    for (const direction of ['down', 'up'] as const) {
      await measure(`10 KB, ${direction}loads`, 'files/s', contestants, async ({ name, root, url, small }) => {
        turn += 1
        const { path, ...request } = small[direction]
        const script = await wrkScript(folder, name, { ...request, path: path.replace('TURN', String(turn)) })
        const figure = await callsPerSecond(wrk, script, url, { connections, seconds })
        // The folder stays, because rclone caches that it exists.
        for (const file of await readdir(join(root, 'up'))) await rm(join(root, 'up', file))
        return figure
      })
    }
    const listing = contestants.filter(({ propfind }) => propfind)
    await measure('PROPFIND', 'ms', listing, ({ url, propfind }) => timeOfPropfind(url, propfind))
    return rows
  },
}

async function fill(root: string, source: string): Promise<void> {
  for (const name of ['down', 'up', 'many']) await mkdir(join(root, name), { recursive: true })
  await link(source, join(root, 'down.bin'))
  const content = Buffer.alloc(smallBytes, 7)
  for (let n = 1; n <= smallFiles; n += 1) await writeFile(join(root, 'down', `${n}.bin`), content)
  for (let n = 0; n < entries; n += 1) await writeFile(join(root, 'many', `file ${n}.txt`), '')
}

function restOf(installation: Installation, source: string): Contestant {
  const { stowage, files, key, providerId } = installation
  const header = ['-H', `Authorization: Bearer ${key}`]
  const at = (path: string) => query(providerId, path)
  return {
    name: 'REST',
    root: files,
    url: stowage.url,
    large: {
      down: [...header, `${stowage.url}/api/download/proxy${at('/down.bin')}`],
      up: [...header, '-X', 'POST', '-T', source, `${stowage.url}/api/upload/proxy${at('/up.bin')}`],
    },
    small: requestsTo(installation, { bytes: smallBytes, files: smallFiles }),
    propfind: null,
  }
}

function davOf({ stowage, files, key }: Installation, source: string): Contestant {
  const authorization = `Basic ${Buffer.from(`any:${key}`).toString('base64')}`
  return davServer('WebDAV', files, stowage.url, '/dav/local', source, { Authorization: authorization })
}

function peerOf(name: string, root: string, { url }: Peer, source: string): Contestant {
  const contestant = davServer(name, root, url, '', source, {})
  // The module of nginx has no PROPFIND.
  return name === 'nginx' ? { ...contestant, propfind: null } : contestant
}

function davServer(
  name: string,
  root: string,
  url: string,
  prefix: string,
  source: string,
  headers: Record<string, string>,
): Contestant {
  const given = Object.entries(headers).flatMap(([header, value]) => ['-H', `${header}: ${value}`])
  return {
    name,
    root,
    url,
    large: {
      down: [...given, `${url}${prefix}/down.bin`],
      up: [...given, '-T', source, `${url}${prefix}/up.bin`],
    },
    small: {
      down: { method: 'GET', path: `${prefix}/down/#.bin`, headers, paths: smallFiles },
      up: { method: 'PUT', path: `${prefix}/up/TURN-#.bin`, headers, body: 'x'.repeat(smallBytes) },
    },
    propfind: { path: `${prefix}/many/`, headers },
  }
}

/** Measures the speed of one transfer of 1 GiB in MB/s. */
export async function curlRate(args: readonly string[], uploaded: string): Promise<number> {
  const start = performance.now()
  await run('curl', ['-sS', '--fail', '-H', 'Expect:', '-o', '/dev/null', ...args])
  const figure = largeBytes / 1000 / (performance.now() - start)
  await rm(uploaded, { force: true })
  return figure
}

/** Measures milliseconds until the whole response has arrived. */
async function timeOfPropfind(url: string, propfind: Contestant['propfind']): Promise<number> {
  if (!propfind) return Number.NaN
  const start = performance.now()
  const headers = { ...propfind.headers, depth: '1' }
  const response = await fetch(url + propfind.path, { method: 'PROPFIND', headers })
  const text = await response.text()
  const time = performance.now() - start
  const count = text.split(/<D:response[\s>]/i).length - 1
  if (count !== entries + 1) throw new Error(`${count} responses to PROPFIND: ${text.slice(0, 200)}`)
  return time
}
