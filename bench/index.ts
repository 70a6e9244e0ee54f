/** `npm run bench [-- rounds]`: ratios between servers that are measured in turn, in one run. Nothing here is a test. */
import { open } from 'node:fs/promises'
import { cpus, totalmem } from 'node:os'
import { join } from 'node:path'
import { client } from '../test/support/client.ts'
import { findProgram, startBare, startNginx, startStowage, temporaryFolder } from './processes.ts'
import { smallCalls } from './small-calls.ts'
import { streams } from './streams.ts'
import { type Row, table } from './table.ts'

const rounds = Number(process.argv[2] ?? 5)
const fileSize = 1024 ** 3

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}

/** An account, a key and a local provider on a fresh server. */
async function prepare(url: string, folder: string) {
  const api = client(url)
  const { token: session } = await api.register('owner@example.org')
  const providerId = await api.connectProvider(session, 'local', { root: join(folder, 'data', 'files') })
  const { key } = await api.createKey(session, { name: 'bench', scopes: ['write'] })
  return { session, key, providerId }
}

async function makeFile(path: string, bytes: number): Promise<void> {
  const file = await open(path, 'w')
  const chunk = crypto.getRandomValues(new Uint8Array(65536))
  for (let written = 0; written < bytes; written += chunk.length) await file.write(chunk)
  await file.close()
}

await using folder = await temporaryFolder()
await using stowage = await startStowage(folder.path)
const { session, key, providerId } = await prepare(stowage.url, folder.path)
const rows: Row[] = []

const wrk = await findProgram('wrk')
if (wrk) {
  say(`Small calls, ${rounds} rounds ...`)
  await using bare = await startBare()
  rows.push(...(await smallCalls({ wrk, bare, stowage, folder: folder.path, tokens: { session, key }, rounds })))
} else say('Small calls are left out: wrk is not installed.')

const nginxProgram = await findProgram('nginx')
if (!nginxProgram) say('Streams are measured without a peer: nginx is not installed.')
await using nginx = nginxProgram ? await startNginx(nginxProgram, folder.path) : null
say(`Streams of ${fileSize / 1024 ** 2} MiB, ${rounds} rounds ...`)
const file = join(folder.path, 'source.bin')
await makeFile(file, fileSize)
rows.push(
  ...(await streams({ stowage, nginx, folder: folder.path, file, bytes: fileSize, providerId, token: key, rounds })),
)

const [cpu] = cpus()
say(`
${cpus().length} x ${cpu?.model}, ${Math.round(totalmem() / 1024 ** 3)} GiB, Node ${process.version}, ${new Date().toISOString().slice(0, 10)}

${table(rows)}`)
