/** `node bench/s3-adapter.ts [rounds]` measures the S3 adapter and the AWS SDK alone in turn, with radosgw. */
import { Readable, Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { GetObjectCommand } from '@aws-sdk/client-s3'
import { Upload } from '@aws-sdk/lib-storage'
import { testHost } from '../adapters/conformance/index.ts'
import type { StoragePath } from '../adapters/contract.ts'
import { s3Adapter } from '../adapters/s3/index.ts'
import { s3Server } from '../test/servers/radosgw.ts'
import { type Row, table } from './table.ts'

const mib = 1024 * 1024
const bytes = 1024 * mib
const rounds = Number(process.argv[2] ?? 3)
const ends: (() => Promise<void>)[] = []
const server = await s3Server({ teardown: end => ends.push(end) })
const bucket = await server.newBucket()
const { endpoint, region, accessKeyId, secretAccessKey } = server
const provider = await s3Adapter.open(
  { bucket, endpoint, region, accessKeyId, secretAccessKey, prefix: '', forcePathStyle: true },
  testHost(),
)
const signal = new AbortController().signal
const path = 'adapter' as StoragePath

/** Generates chunks like those of a socket. */
function source(): Readable {
  const chunk = Buffer.alloc(64 * 1024, 7)
  function* chunks() {
    for (let sent = 0; sent < bytes; sent += chunk.length) yield chunk
  }
  return Readable.from(chunks(), { objectMode: false })
}

function sink(): Writable {
  return new Writable({ write: (_chunk, _encoding, done) => done() })
}

/** Measures the speed in MB/s. */
async function rate(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await work()
  return bytes / 1000 / (performance.now() - start)
}

const work: Record<string, () => Promise<unknown>> = {
  'SDK up': () =>
    new Upload({
      client: server.client,
      params: { Bucket: bucket, Key: 'sdk', Body: source() },
      partSize: 8 * mib,
      queueSize: 4,
    }).done(),
  'adapter up': () => provider.write(path, source(), { signal, size: bytes, overwrite: true }),
  'SDK down': async () => {
    const { Body } = await server.client.send(new GetObjectCommand({ Bucket: bucket, Key: 'sdk' }))
    await pipeline(Body as Readable, sink())
  },
  'adapter down': async () => {
    const { body } = await provider.read(path, { signal })
    await pipeline(body, sink())
  },
}

const figures: Record<string, number[]> = {}
for (let round = 0; round <= rounds; round += 1) {
  // Measure in turn, in reverse order every second round. The first round only warms up.
  const names =
    round % 2 === 0
      ? ['SDK up', 'adapter up', 'SDK down', 'adapter down']
      : ['adapter up', 'SDK up', 'adapter down', 'SDK down']
  for (const name of names) {
    const figure = await rate(work[name] ?? (async () => {}))
    if (round > 0) figures[name] = [...(figures[name] ?? []), figure]
  }
}

const row = (direction: string): Row => ({
  what: `1 GiB ${direction}`,
  figures: figures[`adapter ${direction}`] ?? [],
  unit: 'MB/s',
  against: { what: 'the SDK alone', figures: figures[`SDK ${direction}`] ?? [] },
})
process.stdout.write(`${table([row('up'), row('down')])}\n`)
await provider.close?.()
for (const end of ends) await end()
