/** The bytes of parts that wait in the database: their limit, and when they are freed. */
import { randomBytes } from 'node:crypto'
import { type ClientRequest, request } from 'node:http'
import { text } from 'node:stream/consumers'
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { BudgetShare } from '../../src/lib/byte-budget.ts'
import { partBudget } from '../../src/services/uploads/limits.ts'
import { atNight } from '../support/extent.ts'
import { until } from '../support/until.ts'
import { codeOf, createS3World } from './world.ts'

const mib = 1024 * 1024
const Bucket = 'memory'

interface UploadName {
  Key: string
  UploadId: string
}

/** A part of 4 MiB of which only the first bytes are sent. */
interface Unfinished {
  sending: ClientRequest
  /** The body of the response; null before it arrives. */
  answer: string | null
}

async function setUp(t: Test) {
  const world = await createS3World(t)
  const { app, token } = world
  await app.connectProvider(token, 'memory', { maxBytes: 100 * mib }, Bucket)
  const { s3: credentials, key } = await world.createKey()
  const s3 = world.client(credentials)
  // Every part waits in the database from its first MiB on.
  const others = new BudgetShare(partBudget)
  t.ok(others.tryTake(128 * mib))
  t.teardown(() => others.release())
  return {
    app,
    s3,
    async begin(Key: string): Promise<UploadName> {
      const { UploadId = '' } = await s3.send(new CreateMultipartUploadCommand({ Bucket, Key }))
      return { Key, UploadId }
    },
    /** @param sent bytes */
    send(url: string, { Key, UploadId }: UploadName, number: number, sent: number): Unfinished {
      const sending = request(new URL(`/s3/${Bucket}/${Key}?partNumber=${number}&uploadId=${UploadId}`, url), {
        method: 'PUT',
        headers: { authorization: `Bearer ${key}`, 'content-length': 4 * mib },
      })
      t.teardown(() => sending.destroy())
      const unfinished: Unfinished = { sending, answer: null }
      sending.on('error', () => {})
      sending.on('response', async response => {
        unfinished.answer = await text(response)
      })
      sending.write(randomBytes(sent))
      return unfinished
    },
    async stored() {
      const { rows } = await sql<{ parts: number; bytes: number; counted: number }>`
        select count(distinct content)::int parts, coalesce(sum(octet_length(bytes)), 0)::int bytes,
          (select coalesce(sum(waiting), 0)::int from uploads) counted from upload_part_chunks`.execute(app.db)
      return rows[0] ?? { parts: 0, bytes: 0, counted: 0 }
    },
  }
}

t.test('parts that arrive together stay within the limit of the member, on all replicas', async t => {
  const { app, s3, begin, send, stored } = await setUp(t)
  const replica = await app.replica()
  await begin('full')
  const upload = await begin('parts')
  const room = 2.5 * mib
  // Pretend that this upload has stored all but the room.
  await app.db
    .updateTable('uploads')
    .set({ received: 4096 * mib - room })
    .where('path', '=', 'full')
    .execute()
  const parts = Array.from({ length: 8 }, (_, n) => send(n % 2 ? app.url : replica.url, upload, n + 2, 1.5 * mib))
  const refused = () => parts.flatMap(({ answer }) => answer ?? [])
  await until(async () => {
    const { parts, bytes } = await stored()
    if (bytes > room) return true
    return parts + refused().length === 8 || { parts, refused: refused().length }
  })
  t.ok((await stored()).bytes <= room, 'while the parts arrive')
  t.equal(refused().length, 6)
  for (const answer of refused()) t.match(answer, /<Code>SlowDown<.*<Reason>TOO_MANY_UPLOADS</)

  for (const { sending } of parts) sending.destroy()
  await until(async () => (await stored()).parts === 0 || 'the bytes of requests that failed')
  const whole = (PartNumber: number, size: number) =>
    s3.send(new UploadPartCommand({ Bucket, ...upload, PartNumber, Body: randomBytes(size) }))
  t.ok((await whole(2, 2 * mib)).ETag, 'their room is free again')
  t.equal(await codeOf(whole(3, mib)), 'SlowDown')
  t.same(await stored(), { parts: 1, bytes: 2 * mib, counted: 2 * mib })
})

t.test('a completed upload keeps no bytes of other parts, and takes no more', async t => {
  const { app, s3, begin, send, stored } = await setUp(t)
  const upload = await begin('file')
  const { ETag } = await s3.send(new UploadPartCommand({ Bucket, ...upload, PartNumber: 1, Body: 'first' }))
  // A server that is killed while it receives a part leaves such a row.
  await sql`insert into upload_part_chunks (upload_id, content, position, bytes)
    values (${upload.UploadId}, gen_random_uuid(), 0, 'left')`.execute(app.db)
  const late = send(app.url, upload, 2, 1.5 * mib)
  await until(async () => (await stored()).parts === 2 || 'the part that arrives')
  const Parts = [{ PartNumber: 1, ETag }]
  await s3.send(new CompleteMultipartUploadCommand({ Bucket, ...upload, MultipartUpload: { Parts } }))
  t.same(await stored(), { parts: 0, bytes: 0, counted: 0 })
  late.sending.end(randomBytes(2.5 * mib))
  await until(() => late.answer !== null)
  t.match(late.answer, /<Code>NoSuchUpload</)
  t.same(await stored(), { parts: 0, bytes: 0, counted: 0 })
})

atNight(t, 'an aborted upload takes no more bytes', async t => {
  const { app, s3, begin, send, stored } = await setUp(t)
  const upload = await begin('file')
  const late = send(app.url, upload, 2, 1.5 * mib)
  await until(async () => (await stored()).parts === 1 || 'the part that arrives')
  await s3.send(new AbortMultipartUploadCommand({ Bucket, ...upload }))
  late.sending.end(randomBytes(2.5 * mib))
  await until(() => late.answer !== null)
  t.match(late.answer, /<Code>NoSuchUpload</)
  t.same(await stored(), { parts: 0, bytes: 0, counted: 0 })
})
