/** Multipart uploads whose ids were lost with a response. */
import { Readable } from 'node:stream'
import { CreateMultipartUploadCommand, ListMultipartUploadsCommand, UploadPartCommand } from '@aws-sdk/client-s3'
import t, { type Test } from 'tap'
import { at, bodyOf, call, pattern, put } from '../../adapters/conformance/kit.ts'
import type { Unfinished } from '../../adapters/contract.ts'
import { type Fault, faultProxy } from '../servers/fault-proxy.ts'
import { s3Server } from '../servers/radosgw.ts'
import { atNight, extent } from '../support/extent.ts'
import { until } from '../support/until.ts'
import { UploadRecord } from './host.ts'
import { openS3, smallParts } from './s3-provider.ts'

t.setTimeout(300_000)

const mib = 1024 * 1024
const server = await s3Server(t)
const bytes = pattern(6 * mib)

async function start(t: Test) {
  const bucket = await server.newBucket()
  const proxy = await faultProxy(t, server.endpoint)
  const limits = { ...smallParts, copyBytes: 5 * mib, copyPartBytes: 5 * mib }
  const account = { ...server, endpoint: proxy.endpoint }
  const provider = await openS3(account, bucket, { limits, config: { prefix: '' } })
  await put(provider, 'source', bytes)
  const { client } = server
  return {
    provider,
    /** The faults of the requests that begin an upload, in order. */
    setBeginFaults(...faults: (Fault | undefined)[]) {
      proxy.fault = ({ method, url }) => (method === 'POST' && url?.includes('?uploads') ? faults.shift() : undefined)
    },
    async uploads(): Promise<(string | undefined)[]> {
      const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket: bucket }))
      return Uploads.map(({ Key }) => Key).sort()
    },
    async beginTheirs(Key: string, parts: number) {
      const { UploadId } = await client.send(new CreateMultipartUploadCommand({ Bucket: bucket, Key }))
      for (let PartNumber = 1; PartNumber <= parts; PartNumber += 1) {
        await client.send(new UploadPartCommand({ Bucket: bucket, Key, UploadId, PartNumber, Body: 'part' }))
      }
    },
  }
}

type Started = Awaited<ReturnType<typeof start>>

const operations: Record<string, (started: Started, unfinished: Unfinished) => Promise<unknown>> = {
  'a write': ({ provider }, unfinished) =>
    provider.write(at('file'), bodyOf(bytes), { ...call(), size: bytes.length, overwrite: true, unfinished }),
  'a write that fails': async ({ provider }, unfinished) => {
    const body = Readable.from(
      (async function* () {
        yield bytes
        throw new Error('broken')
      })(),
    )
    const options = { ...call(), size: 20 * mib, overwrite: true, unfinished }
    await provider.write(at('file'), body, options).catch(() => {})
  },
  'a copy in parts': ({ provider }, unfinished) =>
    provider.copy(at('source'), at('file'), { ...call(), overwrite: true, unfinished }),
  'a resumable upload': async ({ provider }, unfinished) => {
    const state = await provider.resumable.begin(at('file'), { ...call(), unfinished })
    const options = { ...call(), offset: 0, size: bytes.length, overwrite: true }
    await provider.resumable.complete(state, bodyOf(bytes), options)
  },
}

for (const [what, run] of Object.entries(operations).slice(0, extent({ gate: 1, nightly: 4 }))) {
  t.test(`${what}: the host has a record while anything of the upload can exist`, async t => {
    const started = await start(t)
    const { provider, setBeginFaults, uploads, beginTheirs } = started

    await t.test('without a fault', async t => {
      const record = new UploadRecord()
      const { promise: answered, resolve: answer } = Promise.withResolvers<void>()
      setBeginFaults({ answerAfter: answered })
      const running = run(started, record)
      await until(async () => (await uploads()).length > 0)
      t.equal(record.all.length, 1)
      const early = record.state ?? ''
      answer()
      await running
      t.equal(record.state, undefined)
      t.same(await uploads(), [])
      // The state after a kill at this moment.
      await beginTheirs('file', 0)
      await provider.resumable.abort(early, call())
      t.same(await uploads(), [])
    })

    await t.test('after a lost response', async t => {
      const record = new UploadRecord()
      setBeginFaults('lose answer')
      await run(started, record)
      t.same(await uploads(), ['file'], 'the upload whose id was lost remains')
      await beginTheirs('file', 1)
      for (const key of ['file 2', 'file/below', 'fil']) await beginTheirs(key, 0)
      const theirs = ['fil', 'file', 'file 2', 'file/below']
      await provider.resumable.abort(record.state ?? '', call())
      t.same(await uploads(), theirs, 'uploads of others are kept')
      await provider.resumable.abort(record.state ?? '', call())
      t.same(await uploads(), theirs)
    })
  })
}

atNight(t, 'an upload is freed if no response arrives at all', async t => {
  const started = await start(t)
  const record = new UploadRecord()
  started.setBeginFaults('lose answer', 'lose answer', 'lose answer', 'lose answer')
  await t.rejects(operations['a write']?.(started, record) ?? Promise.resolve(), { code: 'UNAVAILABLE' })
  t.equal((await started.uploads()).length, 4)
  await started.provider.resumable.abort(record.state ?? '', call())
  t.same(await started.uploads(), [])
})

t.test('a refused upload leaves no record', async t => {
  const started = await start(t)
  const record = new UploadRecord()
  started.setBeginFaults({ answer: { status: 403, body: '<Error><Code>AccessDenied</Code></Error>' } })
  await t.rejects(operations['a write']?.(started, record) ?? Promise.resolve(), { code: 'PERMISSION_DENIED' })
  t.equal(record.all.length, 1)
  t.equal(record.state, undefined)
})

atNight(t, 'uploads that began long before or after are kept', async t => {
  const { provider, uploads, beginTheirs } = await start(t)
  await beginTheirs('file', 0)
  for (const hours of [-1, 1]) {
    const since = Date.now() + hours * 3_600_000
    await provider.resumable.abort(JSON.stringify({ path: 'file', since }), call())
    t.same(await uploads(), ['file'])
  }
})

atNight(t, 'more uploads of one key than a page lists are freed', async t => {
  const { provider, uploads, beginTheirs } = await start(t)
  const workers = Array.from({ length: 10 }, async () => {
    for (let i = 0; i < 110; i += 1) await beginTheirs('file', 0)
  })
  await Promise.all(workers)
  await provider.resumable.abort(JSON.stringify({ path: 'file', since: Date.now() }), call())
  t.same(await uploads(), [])
})
