/**
 * `node bench/s3-proxy.ts [rounds]`: 2 GiB up to S3 and down again through the proxies, beside the AWS SDK alone, against
 * radosgw, in turn, in one run; and what the server's memory grew by meanwhile.
 */
import { createReadStream } from 'node:fs'
import { open, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Readable, Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { GetObjectCommand } from '@aws-sdk/client-s3'
import { Upload } from '@aws-sdk/lib-storage'
import { s3Server } from '../test/servers/radosgw.ts'
import { client } from '../test/support/client.ts'
import { run, startStowage, temporaryFolder } from './processes.ts'
import { type Row, table } from './table.ts'

const mib = 1024 * 1024
const bytes = 2048 * mib
const rounds = Number(process.argv[2] ?? 3)
const ends: (() => Promise<void>)[] = []

await using folder = await temporaryFolder()
const server = await s3Server({ teardown: end => ends.push(end) })
const bucket = await server.newBucket()
await using stowage = await startStowage(folder.path)
const api = client(stowage.url)
const { token } = await api.register('owner@example.org')
const { endpoint, region, accessKeyId, secretAccessKey } = server
const config = { bucket, endpoint, region, accessKeyId, secretAccessKey, forcePathStyle: true }
const providerId = await api.connectProvider(token, 's3', config)
const source = join(folder.path, 'source.bin')
const file = await open(source, 'w')
const chunk = crypto.getRandomValues(new Uint8Array(65536))
for (let written = 0; written < bytes; written += chunk.length) await file.write(chunk)
await file.close()

const curl = (...args: string[]) => run('curl', ['-sSf', '-H', `Authorization: Bearer ${token}`, ...args])
const place = new URLSearchParams({ providerId, path: '/proxy', conflict: 'replace' })
const work: Record<string, () => Promise<unknown>> = {
  'SDK up': () =>
    new Upload({
      client: server.client,
      params: { Bucket: bucket, Key: 'sdk', Body: createReadStream(source, { highWaterMark: mib }) },
      partSize: 8 * mib,
      queueSize: 4,
    }).done(),
  'proxy up': () =>
    curl('-X', 'POST', '-T', source, '-H', 'Expect:', '-o', '/dev/null', `${stowage.url}/api/upload/proxy?${place}`),
  'SDK down': async () => {
    const { Body } = await server.client.send(new GetObjectCommand({ Bucket: bucket, Key: 'sdk' }))
    await pipeline(Body as Readable, new Writable({ write: (_chunk, _encoding, done) => done() }))
  },
  'proxy down': () => curl('-o', '/dev/null', `${stowage.url}/api/download/proxy?providerId=${providerId}&path=/proxy`),
}

/** Bytes that the server's process holds. */
async function resident(): Promise<number> {
  const status = await readFile(`/proc/${stowage.pid}/status`, 'utf8')
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) * 1024
}

const figures: Record<string, number[]> = {}
const growth: Record<string, number> = {}
for (let round = 0; round <= rounds; round += 1) {
  // In turn, and in the other order every second round; the first one only warms up.
  const names = Object.keys(work).sort((a, b) => (round % 2 === 0 ? a.localeCompare(b) : b.localeCompare(a)))
  for (const name of names.filter(name => name.endsWith('up')).concat(names.filter(name => name.endsWith('down')))) {
    const before = await resident()
    let highest = before
    const watch = setInterval(() => void resident().then(now => (highest = Math.max(highest, now))), 100)
    const start = performance.now()
    await work[name]?.()
    const figure = bytes / 1000 / (performance.now() - start)
    clearInterval(watch)
    if (round === 0) continue
    figures[name] = [...(figures[name] ?? []), figure]
    growth[name] = Math.max(growth[name] ?? 0, highest - before)
  }
}

const row = (direction: string): Row => ({
  what: `2 GiB ${direction}, S3 through the proxy`,
  figures: figures[`proxy ${direction}`] ?? [],
  unit: 'MB/s',
  against: { what: 'the SDK alone', figures: figures[`SDK ${direction}`] ?? [] },
})
process.stdout.write(`${table([row('up'), row('down')])}

The server's memory grew by at most ${Math.round((growth['proxy up'] ?? 0) / mib)} MiB (up) and ${Math.round((growth['proxy down'] ?? 0) / mib)} MiB (down), of ${Math.round((await resident()) / mib)} MiB.
`)
for (const end of ends) await end()
