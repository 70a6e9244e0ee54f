import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Installation, install, makeFile, query } from './installation.ts'
import type { Part } from './part.ts'
import { run } from './processes.ts'
import { interleave } from './rounds.ts'
import type { Row } from './table.ts'

const mib = 1024 * 1024
/** The bytes of a file, and how many of them curl sends one after the other. */
const kinds: Readonly<Record<string, { bytes: number; files: number }>> = {
  '1 GiB': { bytes: 1024 * mib, files: 1 },
  '100 MiB': { bytes: 100 * mib, files: 3 },
  '30 MiB': { bytes: 30 * mib, files: 6 },
  '1 MiB': { bytes: mib, files: 40 },
}

export const contentHashes: Part = {
  title: 'SHA-256 of contents',
  about: `curl uploads to tmpfs, to a server that computes the SHA-256 of what it writes, and to one whose hashes end after 4 KiB. The
first is as fast as the second where a disk or a network is slower than that.`,
  async measure({ rounds, say }) {
    await using stack = new AsyncDisposableStack()
    const preload = fileURLToPath(new URL('without-hashes.js', import.meta.url))
    const hashing = stack.use(await install())
    const plain = stack.use(await install({ NODE_OPTIONS: `--import=${preload}` }))
    const rows: Row[] = []
    for (const [name, { bytes, files }] of Object.entries(kinds)) {
      say(`  ${name}`)
      const source = join(hashing.folder, `${bytes}.bin`)
      await makeFile(source, bytes)
      const upload = (server: Installation) => () => timed(server, source, { bytes, files })
      const figures = await interleave(rounds, { hashed: upload(hashing), plain: upload(plain) })
      rows.push(
        { what: `${name}: without`, figures: figures.plain, unit: 'MB/s' },
        {
          what: `${name}: with`,
          figures: figures.hashed,
          unit: 'MB/s',
          against: { what: 'without', figures: figures.plain },
        },
      )
    }
    return rows
  },
}

/** Measures the speed in MB/s. */
async function timed(
  { stowage, key, providerId, files: root }: Installation,
  source: string,
  { bytes, files }: { bytes: number; files: number },
): Promise<number> {
  const names = Array.from({ length: files }, (_, index) => `up-${index}.bin`)
  const url = `${stowage.url}/api/upload/proxy`
  const uploads = names.flatMap(name => ['-T', source, url + query(providerId, `/${name}`)])
  const headers = ['-H', 'Expect:', '-H', `Authorization: Bearer ${key}`]
  const start = performance.now()
  await run('curl', ['-sS', '--fail', '-o', '/dev/null', '-X', 'POST', ...headers, ...uploads])
  const figure = (bytes * files) / 1000 / (performance.now() - start)
  for (const name of names) await rm(join(root, name))
  return figure
}
