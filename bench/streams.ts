import { link, mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type Installation, install, makeFile, query } from './installation.ts'
import type { Part } from './part.ts'
import { findProgram, run, startBare, startNginx, startRclone } from './processes.ts'
import { interleave } from './rounds.ts'
import type { Row } from './table.ts'

const mib = 1024 * 1024
const streamBytes = 1024 * mib
/** The size of each of the eight files. */
const partBytes = 256 * mib
const parallel = 8

/** The arguments of curl for one transfer. */
interface Contestant {
  name: string
  /** The folder that the server serves. */
  root: string
  down(file: string): string[]
  up(source: string, name: string): string[]
  form?(source: string): string[]
}

export const streams: Part = {
  title: 'Streams',
  about: `curl from and to one disk, 1 GiB; eight downloads at once have ${partBytes / mib} MiB each. nginx sends with \`sendfile\`
and takes \`dav_methods PUT\`, in one worker process; only Stowage accepts a form, which is compared with that PUT.`,
  async measure({ rounds, say }) {
    await using stack = new AsyncDisposableStack()
    const installation = stack.use(await install())
    const contestants: Contestant[] = [stowageOf(installation)]
    const { folder, files } = installation
    const source = join(folder, 'source.bin')
    const small = join(folder, 'small.bin')
    await makeFile(source, streamBytes)
    await makeFile(small, partBytes)
    const fill = async (root: string) => {
      await link(source, join(root, 'down.bin'))
      for (let index = 0; index < parallel; index += 1) await link(small, join(root, `down-${index}.bin`))
    }
    await fill(files)
    const add = async (name: string, start: (root: string) => Promise<{ url: string } & AsyncDisposable>) => {
      const root = join(folder, name)
      await mkdir(root)
      // Create the files before the start, because rclone caches listings.
      await fill(root)
      const { url } = stack.use(await start(root))
      const down = (file: string) => [`${url}/${file}`]
      contestants.push({ name, root, down, up: (source, target) => ['-T', source, `${url}/${target}`] })
    }
    const nginx = await findProgram('nginx')
    if (nginx) await add('nginx', root => startNginx(nginx, root))
    else say('nginx is skipped: it is not installed. Without it, the results have no ratios.')
    const rclone = await findProgram('rclone')
    if (rclone) await add('rclone', root => startRclone(rclone, root))
    else say('rclone is skipped: it is not installed.')
    await add('bare Node', startBare)

    const kinds = {
      'one download': ({ down }: Contestant) => [down('down.bin')],
      'eight downloads at once': ({ down }: Contestant) =>
        Array.from({ length: parallel }, (_, index) => down(`down-${index}.bin`)),
      'one raw upload': ({ up }: Contestant) => [up(source, 'up.bin')],
      'one upload by form': ({ form, name, up }: Contestant) =>
        form ? [form(source)] : name === 'nginx' ? [up(source, 'up.bin')] : [],
    }
    const rows: Row[] = []
    for (const [kind, requestsOf] of Object.entries(kinds)) {
      say(`  ${kind}`)
      const taking = contestants.filter(contestant => requestsOf(contestant).length > 0)
      const figures = await interleave(
        rounds,
        Object.fromEntries(
          taking.map(contestant => [contestant.name, () => timed(contestant, requestsOf(contestant))]),
        ),
      )
      const peer = figures.nginx
      const against = peer && { what: 'nginx', figures: peer }
      for (const { name } of taking) {
        const row = { what: `${kind}: ${name}`, figures: figures[name] ?? [], unit: 'MB/s' }
        rows.push(name === 'nginx' ? row : { ...row, against })
      }
    }
    return rows
  },
}

function stowageOf({ stowage, files, key, providerId }: Installation): Contestant {
  const header = ['-H', `Authorization: Bearer ${key}`]
  const upload = `${stowage.url}/api/upload/proxy`
  return {
    name: 'Stowage',
    root: files,
    down: file => [...header, `${stowage.url}/api/download/proxy${query(providerId, `/${file}`)}`],
    up: (source, name) => [...header, '-X', 'POST', '-T', source, upload + query(providerId, `/${name}`)],
    form: source => [...header, '-F', `file=@${source};filename=up.bin`, upload + query(providerId, '/')],
  }
}

/** Measures the total speed in MB/s. */
async function timed({ root }: Contestant, requests: string[][]): Promise<number> {
  const start = performance.now()
  await Promise.all(requests.map(args => run('curl', ['-sS', '--fail', '-H', 'Expect:', '-o', '/dev/null', ...args])))
  const bytes = requests.length === 1 ? streamBytes : requests.length * partBytes
  const figure = bytes / 1000 / (performance.now() - start)
  await rm(join(root, 'up.bin'), { force: true })
  return figure
}
