/** `node bench/azure-adapter.ts [rounds]` measures the adapter for Azure and Microsoft's SDK alone in turn, with Azurite. */
import { Readable, Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { azureBlobAdapter } from '../adapters/azure-blob/index.ts'
import { testHost } from '../adapters/conformance/index.ts'
import type { StoragePath } from '../adapters/contract.ts'
import { azureServer } from '../test/servers/azurite.ts'
import { interleave } from './rounds.ts'
import { table } from './table.ts'

const mib = 1024 * 1024
const bytes = 128 * mib
const smallFiles = 200
const rounds = Number(process.argv[2] ?? 3)
const ends: (() => Promise<void>)[] = []
const server = await azureServer({ teardown: end => ends.push(end) })
const container = await server.newContainer()
const { account, accountKey, endpoint } = server
const provider = await azureBlobAdapter().open(
  { account, accountKey, endpoint, container: container.containerName, access: 'key', prefix: '' },
  testHost(),
)
const signal = new AbortController().signal
const path = (name: string) => name as StoragePath

/** Generates chunks like those of a socket. */
function source(): Readable {
  const chunk = Buffer.alloc(64 * 1024, 7)
  function* chunks() {
    for (let sent = 0; sent < bytes; sent += chunk.length) yield chunk
  }
  return Readable.from(chunks(), { objectMode: false })
}

const sink = () => new Writable({ write: (_chunk, _encoding, done) => done() })

/** Measures `amount` per second. */
async function rate(amount: number, work: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await work()
  return (amount * 1000) / (performance.now() - start)
}

/** Stores small files, 16 at a time. */
async function small(write: (name: string) => Promise<unknown>): Promise<void> {
  const names = Array.from({ length: smallFiles }, (_, i) => `small/${i}`).values()
  const worker = async () => {
    for (const name of names) await write(name)
  }
  await Promise.all(Array.from({ length: 16 }, worker))
}

const sdk = container.getBlockBlobClient('sdk')
const mb = bytes / 1e6
const up = await interleave(rounds, {
  sdk: () => rate(mb, () => sdk.uploadStream(source(), 8 * mib, 4)),
  adapter: () => rate(mb, () => provider.write(path('adapter'), source(), { signal, size: bytes, overwrite: true })),
})
const down = await interleave(rounds, {
  sdk: () => rate(mb, async () => pipeline((await sdk.download()).readableStreamBody as Readable, sink())),
  adapter: () => rate(mb, async () => pipeline((await provider.read(path('adapter'), { signal })).body, sink())),
})
const files = await interleave(rounds, {
  sdk: () => rate(smallFiles, () => small(name => container.getBlockBlobClient(`sdk ${name}`).upload('content', 7))),
  adapter: () =>
    rate(smallFiles, () =>
      small(name =>
        provider.write(path(name), Readable.from([Buffer.from('content')]), { signal, size: 7, overwrite: true }),
      ),
    ),
})
const row = (what: string, unit: string, figures: { sdk: number[]; adapter: number[] }) => ({
  what,
  unit,
  figures: figures.adapter,
  against: { what: 'the SDK alone', figures: figures.sdk },
})
const rows = [row('128 MiB up', 'MB/s', up), row('128 MiB down', 'MB/s', down), row('small files up', 'files/s', files)]
process.stdout.write(`${table(rows)}\n`)
await provider.close?.()
for (const end of ends) await end()
