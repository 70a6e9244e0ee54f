/** Drops connections at random points, between client and server and between server and back end. */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { ListMultipartUploadsCommand } from '@aws-sdk/client-s3'
import t from 'tap'
import { head } from '../http/socket.ts'
import { type Fault, faultProxy } from '../servers/fault-proxy.ts'
import { s3Server } from '../servers/radosgw.ts'
import { atNight, extent, isNight } from '../support/extent.ts'
import { expireUploads } from './age.ts'
import { sha256 } from './ledger.ts'
import { until } from './load.ts'
import { below, dice, rounds } from './rounds.ts'
import { openDescriptors, staged, startWorld } from './world.ts'

const mib = 1024 * 1024
/** Bytes of the largest object, which has several parts. */
const largest = extent({ gate: 10, nightly: 20 }) * mib

t.setTimeout(rounds(0) > 0 ? 3_600_000 : 300_000)

t.test('dropped connections leave nothing partial', async t => {
  const random = dice(t)
  // By day, the disk is enough.
  const server = isNight ? await s3Server(t) : null
  const bucket = (await server?.newBucket()) ?? ''
  const proxy = await faultProxy(t, server?.endpoint ?? 'http://localhost')
  const world = await startWorld(t, server ? { s3: { account: server, bucket, endpoint: proxy.endpoint } } : {})
  const times = rounds(extent({ gate: 1, nightly: 12 }))
  const parts = async () => {
    if (!server) return []
    const { Uploads = [] } = await server.client.send(new ListMultipartUploadsCommand({ Bucket: bucket }))
    return Uploads.map(({ Key }) => Key)
  }
  const query = (providerId: string, path: string) => `${new URLSearchParams({ providerId, path })}`

  for (const providerId of [world.local, ...(server ? [world.s3] : [])]) {
    const where = providerId === world.s3 ? 'S3' : 'the disk'
    const most = providerId === world.s3 ? largest : 4 * mib
    const old = randomBytes(most)
    await world.upload(world.token, providerId, '/old.bin', old)

    await t.test(`an upload to ${where} that its client aborts leaves nothing`, async t => {
      for (let round = 0; round < times; round++) {
        const replaces = random() < 0.5
        const path = replaces ? '/old.bin' : `/broken-${round}.bin`
        const bytes = randomBytes(below(random, most) + 2)
        const { port } = new URL(world.url)
        const socket = connect(Number(port), '127.0.0.1')
        socket.on('error', () => {})
        await once(socket, 'connect')
        const url = `${world.url}/api/upload/proxy?${query(providerId, path)}&conflict=${replaces ? 'replace' : 'fail'}`
        const authorization = `Bearer ${world.token}`
        const isSized = random() < 0.5
        const size = isSized ? { 'Content-Length': bytes.length } : { 'Transfer-Encoding': 'chunked' }
        socket.write(head('POST', url, { authorization, ...size }))
        if (!isSized) socket.write(`${bytes.length.toString(16)}\r\n`)
        const sent = below(random, bytes.length)
        socket.write(bytes.subarray(0, sent))
        await sleep(random() * 100)
        if (random() < 0.5) socket.resetAndDestroy()
        else socket.end()
        await once(socket.resume(), 'close')
      }
      await until(async () => (await staged(world)).length === 0 || (await staged(world)))
      await until(async () => (await parts()).length === 0 || (await parts()))
      t.same(
        (await world.names(providerId)).filter(name => name !== '.stowage-staging'),
        ['old.bin'],
      )
      t.equal(await world.content(providerId, '/old.bin'), sha256(old))
    })

    await t.test(`a download from ${where} that its client aborts leaves nothing open`, async t => {
      for (let round = 0; round < times; round++) {
        const stop = new AbortController()
        const response = await world.request(`/api/download/proxy?${query(providerId, '/old.bin')}`, {
          token: world.token,
          signal: stop.signal,
        })
        const reader = response.body?.getReader()
        const end = below(random, most)
        for (let got = 0; got < end; ) got += (await reader?.read())?.value?.length ?? end
        stop.abort()
      }
      const open = async () =>
        (await openDescriptors(world.program().process.pid)).filter(link => link.startsWith(`${world.files}/`))
      await until(async () => (await open()).length === 0 || (await open()))
      t.equal(await world.content(providerId, '/old.bin'), sha256(old), 'the next download is complete')
    })
  }

  await atNight(
    t,
    'when the back end drops connections, uploads are complete or missing, and downloads complete or cut',
    async t => {
      let stored = 0
      for (let round = 0; round < times; round++) {
        const bytes = randomBytes(below(random, largest))
        const path = `/file-${round}.bin`
        proxy.fault = () => faultOf(random, 0.25)
        const response = await world.upload(world.token, world.s3, path, bytes)
        await response.text()
        const isStored = response.status === 201
        if (!isStored) t.ok([502, 503, 504].includes(response.status), `${response.status}`)
        const got = isStored ? await download(path) : null
        proxy.fault = undefined
        const found = await world.content(world.s3, path)
        if (isStored) t.equal(found, sha256(bytes), path)
        // The response may have been lost after the file was stored.
        else t.ok(found === null || found === sha256(bytes), path)
        if (got) t.ok(got === 'cut' || got === sha256(bytes), `${path} during the faults`)
        stored += Number(isStored)
      }
      t.comment(`${stored} of ${times} uploads were stored`)
      // The sweep finds uploads whose id was lost with the response.
      await expireUploads(world)
      await world.program().stop()
      await world.restart()
      await until(async () => (await parts()).length === 0 || (await parts()))
      t.same(await parts(), [])
    },
  )

  /** Resolves with the SHA-256 of the file, or `cut` if the download failed. */
  async function download(path: string): Promise<string> {
    try {
      const response = await world.download(world.token, world.s3, path)
      const bytes = new Uint8Array(await response.arrayBuffer())
      return response.status === 200 ? sha256(bytes) : 'cut'
    } catch {
      return 'cut'
    }
  }
})

function faultOf(random: () => number, chance: number): Fault | undefined {
  if (random() > chance) return undefined
  const bytes = below(random, 6 * mib)
  const all: Fault[] = [
    { cutRequestAfter: bytes },
    { cutAnswerAfter: bytes },
    'lose answer',
    { answer: { status: 503, headers: { 'retry-after': '0' } } },
    { answer: { status: 500 } },
    { answer: { status: 429 } },
  ]
  return all[below(random, all.length)]
}
