import { lstat, mkdir, opendir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { client } from '../test/support/client.ts'
import { install } from './installation.ts'
import type { Part } from './part.ts'
import { interleave } from './rounds.ts'
import { median, type Row } from './table.ts'

const sizes = [10_000, 100_000]
const pageSize = 100
const callsPerRound = 10
const query = `query ($providerId: ID!, $path: String!) {
  folder(providerId: $providerId, path: $path) {
    entries(first: ${pageSize}) { edges { node { name path modifiedAt } } pageInfo { hasNextPage endCursor } }
  }
}`

export const folders: Part = {
  title: 'First page of large folders',
  about: `${pageSize} entries by GraphQL over HTTP, compared with the minimum that a listing of the same folder needs: all names (\`readdir\`) and
an \`lstat\` of ${pageSize}, in Node, without a server. Milliseconds, so less is better; ${callsPerRound} calls per round.`,
  async measure({ rounds, say }) {
    await using installation = await install()
    const { stowage, files, key, providerId } = installation
    const api = client(stowage.url)
    const rows: Row[] = []
    for (const size of sizes) {
      const name = `folder-${size}`
      const folder = join(files, name)
      await mkdir(folder)
      for (let start = 0; start < size; start += 1000) {
        const indexes = Array.from({ length: Math.min(1000, size - start) }, (_, offset) => start + offset)
        await Promise.all(indexes.map(index => writeFile(join(folder, `file ${index}.txt`), '')))
      }
      say(`  ${size.toLocaleString('en')} entries`)
      const figures = await interleave(rounds, {
        bare: () => typical(() => bareRead(folder)),
        stowage: () => typical(() => api.ask(query, { providerId, path: `/${name}` }, key)),
      })
      const entries = `${size.toLocaleString('en')} entries`
      const against = { what: 'the bare read', figures: figures.bare }
      rows.push(
        { what: `${entries}: bare read of the directory`, figures: figures.bare, unit: 'ms' },
        { what: `${entries}: first page`, figures: figures.stowage, unit: 'ms', against },
      )
    }
    return rows
  },
}

async function typical(work: () => Promise<unknown>): Promise<number> {
  const times: number[] = []
  for (let call = 0; call < callsPerRound; call += 1) {
    const start = performance.now()
    await work()
    times.push(performance.now() - start)
  }
  return median(times)
}

async function bareRead(folder: string): Promise<void> {
  const names: string[] = []
  for await (const { name } of await opendir(folder, { bufferSize: 1024 })) names.push(name)
  await Promise.all(names.slice(0, pageSize).map(name => lstat(join(folder, name))))
}
