import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { Upload } from '@aws-sdk/lib-storage'
import t, { type Test } from 'tap'
import { configFor } from '../adapters/s3-provider.ts'
import { testDatabase } from '../servers/postgres.ts'
import { s3Server } from '../servers/radosgw.ts'
import { atNight, extent, isNight } from '../support/extent.ts'
import { until } from '../support/until.ts'
import { head, type Talk, talk } from './socket.ts'

t.setTimeout(300_000)

const mebibyte = 1024 * 1024
const size = extent({ gate: 160, nightly: 240 }) * mebibyte
const boundary = 'a-boundary'

interface Process {
  url: string
  folder: string
  /** The S3 provider if S3 is configured, else the local one. */
  provider: string
  authorization: { authorization: string }
  query(path: string): string
  /** Runs `work` and resolves with the peak growth of the resident memory, in bytes. */
  growth(work: () => Promise<unknown>): Promise<number>
}

async function startProcess(t: Test, s3Config?: object): Promise<Process> {
  const folder = await mkdtemp(join(tmpdir(), 'stowage-memory-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const { connectionString } = await testDatabase(t)
  const script = new URL('server-process.ts', import.meta.url).pathname
  const args = [script, connectionString, folder, ...(s3Config ? [JSON.stringify(s3Config)] : [])]
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  t.teardown(async () => {
    child.stdin.end()
    if (child.exitCode === null) await once(child, 'exit')
  })
  const [line] = await once(createInterface(child.stdout), 'line')
  const { url, local, s3, token } = JSON.parse(line)
  const resident = async () => {
    const status = await readFile(`/proc/${child.pid}/status`, 'utf8')
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024
  }
  return {
    url,
    folder,
    provider: s3 ?? local,
    authorization: { authorization: `Bearer ${token}` },
    query: path => new URLSearchParams({ providerId: local, path }).toString(),
    async growth(work) {
      const before = await resident()
      let peak = before
      const timer = setInterval(async () => {
        peak = Math.max(peak, await resident().catch(() => 0))
      }, 10)
      await work()
      clearInterval(timer)
      return Math.max(peak, await resident()) - before
    },
  }
}

/** Generates the same bytes on each read. */
function* blocks(): Generator<Buffer> {
  for (let index = 0; index < size / mebibyte; index++) yield Buffer.alloc(mebibyte, `block ${index} `)
}

function digestOf(body: Iterable<Buffer>): string {
  const hash = createHash('sha256')
  for (const block of body) hash.update(block)
  return hash.digest('hex')
}

async function send(server: Process, path: string, headers: object, body: Iterable<Buffer>): Promise<number> {
  const outgoing = request(server.url + path, { method: 'POST', headers: { ...server.authorization, ...headers } })
  const answered = once(outgoing, 'response')
  await pipeline(Readable.from(body, { objectMode: false }), outgoing)
  const [response] = await answered
  response.resume()
  return response.statusCode
}

t.test('memory does not grow with the size of files', async t => {
  const server = await startProcess(t)
  const digest = digestOf(blocks())
  const warm = server.query('/warm')
  await send(server, `/api/upload/proxy?${warm}`, {}, [Buffer.alloc(8 * mebibyte)])

  const raw = await server.growth(async () => {
    t.equal(await send(server, `/api/upload/proxy?${server.query('/raw')}`, { 'content-length': size }, blocks()), 201)
  })
  t.comment(`raw upload: ${Math.round(raw / mebibyte)} MiB`)
  t.ok(raw < 100 * mebibyte, `a raw upload took ${Math.round(raw / mebibyte)} MiB`)

  const download = await server.growth(async () => {
    const response = await fetch(`${server.url}/api/download/proxy?${server.query('/raw')}`, {
      headers: server.authorization,
    })
    const hash = createHash('sha256')
    for await (const chunk of response.body ?? []) hash.update(chunk)
    t.equal(hash.digest('hex'), digest, 'the downloaded bytes are the uploaded ones')
  })
  t.ok(download < 40 * mebibyte, `a download took ${Math.round(download / mebibyte)} MiB`)

  // By day, upload.test.ts sends forms.
  if (!isNight) return
  const form = await server.growth(async () => {
    const start = `--${boundary}\r\nContent-Disposition: form-data; name="f"; filename="form"\r\n\r\n`
    const body = function* () {
      yield Buffer.from(start)
      yield* blocks()
      yield Buffer.from(`\r\n--${boundary}--\r\n`)
    }
    const type = { 'content-type': `multipart/form-data; boundary=${boundary}` }
    t.equal(await send(server, `/api/upload/proxy?${server.query('/')}`, type, body()), 201)
  })
  t.ok(form < 100 * mebibyte, `a form took ${Math.round(form / mebibyte)} MiB`)
  t.equal(
    createHash('sha256')
      .update(await readFile(join(server.folder, 'form')))
      .digest('hex'),
    digest,
  )
})

atNight(t, '64 slow readers and 64 slow writers of 1 GB use bounded memory, on disk', async t => {
  const server = await startProcess(t)
  await writeFile(join(server.folder, 'large'), '')
  await truncate(join(server.folder, 'large'), 1_000_000_000)
  await slowOnes(t, server, server.provider)
})

/** Bytes. All readers together would need many times the memory that they may. */
const largeObject = extent({ gate: 200_000_000, nightly: 1_000_000_000 })

atNight(t, '64 slow readers and 64 slow writers of large files use bounded memory, on S3', async t => {
  const s3 = await s3Server(t)
  const bucket = await s3.newBucket()
  const server = await startProcess(t, configFor(s3, bucket))
  const params = { Bucket: bucket, Key: 'large', Body: Readable.from(zeros(largeObject), { objectMode: false }) }
  await new Upload({ client: s3.client, params, partSize: 16 * mebibyte, queueSize: 2 }).done()
  await slowOnes(t, server, server.provider)
})

function* zeros(length: number): Generator<Buffer> {
  for (let left = length; left > 0; left -= mebibyte) yield Buffer.alloc(Math.min(left, mebibyte))
}

/** Each writer sends 5 MiB in all, which is less than a part of S3. */
async function slowOnes(t: Test, server: Process, providerId: string): Promise<void> {
  const query = (path: string) => new URLSearchParams({ providerId, path })
  // An allowance for code and data that the server loads only once.
  const bytes = 8 * mebibyte
  t.equal(
    await send(server, `/api/upload/proxy?${query('/warm')}`, { 'content-length': bytes }, [Buffer.alloc(bytes)]),
    201,
  )
  const warm = await fetch(`${server.url}/api/download/proxy?${query('/warm')}`, { headers: server.authorization })
  t.equal((await warm.arrayBuffer()).byteLength, bytes)
  // The thread for small files loads its code in the background.
  await until(async () => (await server.growth(() => sleep(300))) < mebibyte)
  const url = `${server.url}/api/download/proxy?${query('/large')}`
  const readers: Talk[] = []
  const writers: Talk[] = []
  const block = Buffer.alloc(64 * 1024)
  t.teardown(() => {
    for (const { socket } of [...readers, ...writers]) socket.destroy()
  })
  const goOn = async (rounds: number) => {
    for (let round = 0; round < rounds; round++) {
      for (const { socket } of readers) socket.read(64 * 1024)
      await Promise.all(writers.map(writer => writer.send(block)))
      await new Promise(resolve => setTimeout(resolve, 50))
    }
  }
  const growth = await server.growth(async () => {
    for (let index = 0; index < 64; index++) {
      const reader = await talk(Number(new URL(server.url).port))
      readers.push(reader)
      const begun = once(reader.socket, 'data')
      await reader.send(head('GET', url, server.authorization))
      await begun
      reader.socket.pause()
    }
    for (let index = 0; index < 64; index++) {
      const writer = await talk(Number(new URL(server.url).port))
      writers.push(writer)
      const to = `${server.url}/api/upload/proxy?${query(`/new-${index}`)}`
      await writer.send(head('POST', to, { 'Content-Length': 1_000_000_000, ...server.authorization }))
    }
    await goOn(20)
  })
  t.comment(`64 readers and 64 writers: ${Math.round(growth / mebibyte)} MiB`)
  t.ok(growth < 128 * mebibyte, `64 readers and 64 writers took ${Math.round(growth / mebibyte)} MiB`)
  const more = await server.growth(() => goOn(60))
  t.comment(`after more bytes have arrived: ${Math.round(more / mebibyte)} MiB`)
  t.ok(more < 128 * mebibyte, `memory grows with the received bytes: ${Math.round(more / mebibyte)} MiB more`)
  for (const writer of writers) t.equal(writer.received(), '', 'the writer is still sending')
  for (const reader of readers) t.match(reader.received().slice(0, 15), 'HTTP/1.1 200 OK')
}
