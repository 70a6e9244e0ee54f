/** `node bench/azure-small-files.ts [rounds]` stores small files with the adapter for Azure and Microsoft's SDK in turn, in Azurite. */
import { Readable } from 'node:stream'
import { azureBlobAdapter } from '../adapters/backends/azure-blob/index.ts'
import { testHost } from '../adapters/conformance/index.ts'
import type { StoragePath } from '../adapters/contract.ts'
import { azureServer } from '../test/servers/azurite.ts'
import { interleave } from './rounds.ts'
import { table } from './table.ts'

const smallFiles = 200
const content = Buffer.from('content')
const rounds = Number(process.argv[2] ?? 3)
await using ends = new AsyncDisposableStack()
const server = await azureServer({ teardown: end => ends.defer(end) })
const container = await server.newContainer()
const { account, accountKey, endpoint } = server
const provider = await azureBlobAdapter().open(
  { account, accountKey, endpoint, container: container.containerName, access: 'key', prefix: '' },
  testHost(),
)
ends.defer(async () => provider.close?.())
const options = { signal: new AbortController().signal, size: content.length, overwrite: true }

/** Stores the files, 16 at a time. Resolves with their number per second. */
async function rate(write: (name: string) => Promise<unknown>): Promise<number> {
  const names = Array.from({ length: smallFiles }, (_, i) => `small/${i}`).values()
  const worker = async () => {
    for (const name of names) await write(name)
  }
  const start = performance.now()
  await Promise.all(Array.from({ length: 16 }, worker))
  return (smallFiles * 1000) / (performance.now() - start)
}

const { sdk, adapter } = await interleave(rounds, {
  sdk: () => rate(name => container.getBlockBlobClient(`sdk ${name}`).upload(content, content.length)),
  adapter: () => rate(name => provider.write(name as StoragePath, Readable.from([content]), options)),
})
const against = { what: 'the SDK alone', figures: sdk }
process.stdout.write(`${table([{ what: 'small files up', unit: 'files/s', figures: adapter, against }])}\n`)
