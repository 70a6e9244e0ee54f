/** Multipart uploads that a killed server leaves at S3. */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { request } from 'node:http'
import { CreateMultipartUploadCommand, ListMultipartUploadsCommand } from '@aws-sdk/client-s3'
import t from 'tap'
import { expireUploads } from '../../faults/age.ts'
import { until } from '../../faults/load.ts'
import { startWorld } from '../../faults/world.ts'
import { faultProxy } from '../../servers/fault-proxy.ts'
import { s3Server } from '../../servers/radosgw.ts'

const mib = 1024 * 1024

t.test('the sweep aborts the multipart uploads of a killed server and no others', async t => {
  const server = await s3Server(t)
  const bucket = await server.newBucket()
  const proxy = await faultProxy(t, server.endpoint)
  const world = await startWorld(t, { s3: { account: server, bucket, endpoint: proxy.endpoint } })
  const unfinished = async () => {
    const { Uploads = [] } = await server.client.send(new ListMultipartUploadsCommand({ Bucket: bucket }))
    return Uploads.map(({ Key }) => Key).sort()
  }
  // An upload of another program, which must stay.
  await server.client.send(new CreateMultipartUploadCommand({ Bucket: bucket, Key: 'theirs' }))

  const start = (path: string, bytes: Buffer) => {
    const query = new URLSearchParams({ providerId: world.s3, path })
    const outgoing = request(`${world.url}/api/upload/proxy?${query}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${world.token}` },
    })
    const failed = once(outgoing, 'error')
    outgoing.write(bytes)
    return { outgoing, failed }
  }
  // S3 starts two uploads, because the response to the first request is lost.
  const losing = start('/losing.bin', randomBytes(20 * mib))
  let isLost = false
  proxy.fault = ({ method, url }) => {
    if (isLost || method !== 'POST' || !url?.includes('losing.bin?uploads')) return undefined
    isLost = true
    return 'lose answer'
  }
  await until(async () => (await unfinished()).length === 3)
  losing.outgoing.end()
  await until(async () => (await world.names(world.s3)).includes('losing.bin'))
  const sending = start('/sending.bin', randomBytes(20 * mib))
  let isCompleting = false
  proxy.fault = ({ method, url }) => {
    // S3 starts the upload, and the server is killed before it receives the id.
    if (url?.includes('beginning.bin?uploads')) return { answerAfter: new Promise(() => {}) }
    const isLast = method === 'POST' && url?.includes('uploadId') && url.includes('ending.bin')
    if (!isLast) return undefined
    isCompleting = true
    return 'stall'
  }
  const ending = start('/ending.bin', randomBytes(20 * mib))
  ending.outgoing.end()
  const beginning = start('/beginning.bin', randomBytes(20 * mib))
  const all = ['beginning.bin', 'ending.bin', 'losing.bin', 'sending.bin', 'theirs']
  await until(async () => isCompleting && (await unfinished()).length === all.length)
  t.same(await unfinished(), all)

  await world.program().stop('SIGKILL')
  await Promise.all([sending.failed, ending.failed, beginning.failed])
  proxy.fault = undefined
  await world.restart()
  t.same(await world.names(world.s3), ['losing.bin'])
  await expireUploads(world)
  await world.program().stop()
  await world.restart()

  await until(async () => (await unfinished()).length === 1 || (await unfinished()))
  t.same(await unfinished(), ['theirs'])
  t.same(await world.names(world.s3), ['losing.bin'])
  const again = await world.upload(world.token, world.s3, '/ending.bin', 'again')
  t.equal(again.status, 201)
})
