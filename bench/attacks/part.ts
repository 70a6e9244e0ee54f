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
  about: `One process attacks a fresh server for ${seconds} seconds while another client measures: the slowest request for
\`/healthz\`, the number of successful logins of the owner (of ${signInsTried}) from another address, and the peak growth of the
server's resident memory. The large folder has ${files.toLocaleString('en')} files. The aims are 400 ms, 19 and 400 MiB.`,
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
