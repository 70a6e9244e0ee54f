import type { Part } from '../part.ts'
import { type AttackName, attackNames } from './attacks.ts'
import { type Measured, measure, signInsTried } from './measure.ts'
import { startTarget } from './target.ts'

const mib = 1024 * 1024
const files = 300_000
const connections = 12_000
const seconds = 15

export const attacked: Part = {
  title: 'Under attack',
  about: `What somebody else sees while a process attacks a fresh server for ${seconds} seconds: the slowest of all requests for
\`/healthz\`, how many of ${signInsTried} logins of the owner from another address succeed, and by how much the server's
resident memory grows at most. The large folder has ${files.toLocaleString('en')} files. The aims are 400 ms, 19 and 400 MiB.`,
  async measure({ rounds, say }) {
    const rows = []
    for (const name of attackNames) {
      say(`  ${name}`)
      const figures: Measured[] = []
      for (let round = 0; round < rounds; round += 1) figures.push(await attackOnce(name))
      rows.push(
        { what: `${name}: slowest \`/healthz\``, figures: figures.map(({ slowest }) => slowest), unit: 'ms' },
        { what: `${name}: logins`, figures: figures.map(({ signIns }) => signIns), unit: `of ${signInsTried}` },
        { what: `${name}: memory`, figures: figures.map(({ growth }) => growth / mib), unit: 'MiB' },
      )
    }
    return rows
  },
}

async function attackOnce(name: AttackName): Promise<Measured> {
  await using stack = new AsyncDisposableStack()
  const server = await startTarget(
    { teardown: (end: () => unknown) => stack.defer(async () => void (await end())) },
    { files, connections },
  )
  // The server stops when this function returns.
  return await measure(server, name, seconds * 1000)
}
