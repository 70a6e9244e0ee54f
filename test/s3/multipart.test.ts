import { randomBytes } from 'node:crypto'
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  ListPartsCommand,
  PutObjectCommand,
  UploadPartCommand,
  UploadPartCopyCommand,
} from '@aws-sdk/client-s3'
import { Upload } from '@aws-sdk/lib-storage'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { atNight, extent, isNight } from '../support/extent.ts'
import { codeOf, createS3World } from './world.ts'

const mib = 1024 * 1024

atNight(t, 'parts that the back end keeps', t => testUploads(t, { Bucket: 'files', keepsParts: true }))
t.test('parts that wait in the database', t => testUploads(t, { Bucket: 'memory', keepsParts: false }))

async function testUploads(t: Test, { Bucket, keepsParts }: { Bucket: string; keepsParts: boolean }): Promise<void> {
  const world = await createS3World(t)
  const { app, token } = world
  await app.connectProvider(token, 'memory', { maxBytes: 100 * mib }, 'memory')
  const s3 = world.client()
  const store = (Key: string, Body: string) => s3.send(new PutObjectCommand({ Bucket, Key, Body }))
  const content = async (Key: string) => {
    const { Body } = await s3.send(new GetObjectCommand({ Bucket, Key }))
    return Buffer.from((await Body?.transformToByteArray()) ?? '')
  }
  const begin = async (Key: string, more: object = {}) => {
    const { UploadId = '' } = await s3.send(new CreateMultipartUploadCommand({ Bucket, Key, ...more }))
    const name = { Bucket, Key, UploadId }
    return {
      name,
      part: async (PartNumber: number, Body: string | Buffer) => {
        const { ETag } = await s3.send(new UploadPartCommand({ ...name, PartNumber, Body }))
        return { PartNumber, ETag }
      },
      complete: (Parts: { PartNumber?: number; ETag?: string | undefined }[], conditions: object = {}) =>
        s3.send(
          new CompleteMultipartUploadCommand({ ...name, MultipartUpload: { Parts: Parts as object[] }, ...conditions }),
        ),
    }
  }
  const waiting = async () => {
    const { rows } = await sql<{ parts: number; chunks: number; uploads: number }>`
      select (select count(*)::int from upload_parts) parts, (select count(*)::int from upload_part_chunks) chunks,
        (select count(*)::int from uploads where stored_path is null) uploads`.execute(app.db)
    return rows[0]
  }

  await t.test('parts in any order and at once', async t => {
    const bytes = randomBytes(1_300_000)
    const parts = Array.from({ length: 5 }, (_, at) => bytes.subarray(at * 300_000, (at + 1) * 300_000))
    const orders = [
      [1, 2, 3, 4, 5],
      [5, 4, 3, 2, 1],
      [2, 1, 5, 3, 4],
    ]
    for (const order of orders.slice(extent({ gate: 2, nightly: 0 }))) {
      const upload = await begin('ordered.bin')
      const stored = []
      for (const number of order) stored.push(await upload.part(number, parts[number - 1] ?? ''))
      t.equal(await codeOf(s3.send(new HeadObjectCommand({ Bucket, Key: 'ordered.bin' }))), 'NotFound')
      const { ETag } = await upload.complete(stored.toSorted((a, b) => a.PartNumber - b.PartNumber))
      t.ok(ETag)
      t.ok((await content('ordered.bin')).equals(bytes), `${order}`)
      await s3.send(new DeleteObjectCommand({ Bucket, Key: 'ordered.bin' }))
    }
    const together = await begin('together.bin')
    const stored = await Promise.all(parts.map((part, at) => together.part(at + 1, part)))
    await together.complete(stored)
    t.ok((await content('together.bin')).equals(bytes))
    if (!keepsParts && !isNight) return
    const large = randomBytes(11 * mib)
    await new Upload({ client: s3, params: { Bucket, Key: 'sdk.bin', Body: large }, partSize: 5 * mib }).done()
    t.ok((await content('sdk.bin')).equals(large), 'as the SDK uploads')
  })

  await atNight(t, 'a part larger than the memory for parts', async t => {
    const bytes = randomBytes(19 * mib)
    const upload = await begin('large.bin')
    const second = await upload.part(2, bytes.subarray(17 * mib))
    const first = await upload.part(1, bytes.subarray(0, 17 * mib))
    await upload.complete([first, second])
    t.ok((await content('large.bin')).equals(bytes))
    t.match(await waiting(), { chunks: 0 })
  })

  await t.test('repeated, replaced and left out parts', async t => {
    const upload = await begin('repeated.txt')
    const [first, again] = [await upload.part(1, 'one '), await upload.part(1, 'one ')]
    t.same(first, again)
    if (!keepsParts) t.equal(await codeOf(upload.part(1, 'other')), 'InvalidPart', 'its bytes are appended')
    const early = await upload.part(3, 'early')
    const third = await upload.part(3, 'three')
    t.notSame(early, third)
    await upload.part(7, 'left out')
    t.equal(await codeOf(upload.complete([first, early])), 'InvalidPart')
    t.equal(await codeOf(upload.complete([third, first])), 'InvalidPartOrder')
    t.equal(await codeOf(upload.complete([first, { PartNumber: 2, ETag: '"x"' }])), 'InvalidPart')
    if (!keepsParts) t.equal(await codeOf(upload.complete([third])), 'InvalidPart', 'it is appended')
    const { ETag } = await upload.complete([first, third])
    t.equal(String(await content('repeated.txt')), 'one three')
    t.equal((await upload.complete([first, third])).ETag, ETag, 'a repeated completion')
    t.equal(await codeOf(upload.part(4, 'late')), 'NoSuchUpload')
    if (!keepsParts) return
    const other = await begin('replaced.txt')
    await other.part(1, 'left out')
    const replaced = await other.part(2, 'replaced')
    const latest = await other.part(2, 'two')
    t.equal(await codeOf(other.complete([replaced])), 'InvalidPart')
    await other.complete([latest])
    t.equal(String(await content('replaced.txt')), 'two')
  })

  await t.test('conditions', async t => {
    await store('taken.txt', 'taken')
    const upload = await begin('taken.txt')
    const parts = [await upload.part(1, 'new')]
    t.equal(await codeOf(upload.complete(parts, { IfNoneMatch: '*' })), 'PreconditionFailed')
    t.equal(await codeOf(upload.complete(parts, { IfMatch: '"other"' })), 'PreconditionFailed')
    t.equal(String(await content('taken.txt')), 'taken')
    await upload.complete(parts)
    t.equal(String(await content('taken.txt')), 'new')
  })

  await t.test('lists of uploads and parts, and aborts', async t => {
    const a = await begin('list/a')
    const b = await begin('list/b')
    const c = await begin('list/sub/c')
    await a.part(1, 'one')
    await a.part(2, 'two!')
    await a.part(9, 'nine')
    const { Parts, IsTruncated, NextPartNumberMarker } = await s3.send(new ListPartsCommand({ ...a.name, MaxParts: 2 }))
    t.same(
      Parts?.map(({ PartNumber, Size }) => [PartNumber, Size]),
      [
        [1, 3],
        [2, 4],
      ],
    )
    t.match([IsTruncated, NextPartNumberMarker], [true, '2'])
    const rest = await s3.send(new ListPartsCommand({ ...a.name, PartNumberMarker: '2' }))
    t.same(
      rest.Parts?.map(({ PartNumber }) => PartNumber),
      [9],
    )
    const list = (more: object) => s3.send(new ListMultipartUploadsCommand({ Bucket, Prefix: 'list/', ...more }))
    t.same(
      (await list({})).Uploads?.map(({ Key }) => Key),
      ['list/a', 'list/b', 'list/sub/c'],
    )
    const grouped = await list({ Delimiter: '/' })
    t.same(
      grouped.CommonPrefixes?.map(({ Prefix }) => Prefix),
      ['list/sub/'],
    )
    const page = await list({ MaxUploads: 1 })
    t.match(page, { IsTruncated: true, NextKeyMarker: 'list/a' })
    const { Uploads } = await list({ KeyMarker: page.NextKeyMarker, UploadIdMarker: page.NextUploadIdMarker })
    t.same(
      Uploads?.map(({ Key }) => Key),
      ['list/b', 'list/sub/c'],
    )
    const other = world.client((await world.createKey()).s3)
    t.notOk((await other.send(new ListMultipartUploadsCommand({ Bucket }))).Uploads)
    t.equal(await codeOf(other.send(new ListPartsCommand(a.name))), 'NoSuchUpload')
    for (const { name } of [a, b, c]) await s3.send(new AbortMultipartUploadCommand(name))
    t.equal(await codeOf(s3.send(new AbortMultipartUploadCommand(a.name))), 'NoSuchUpload')
    t.equal(await codeOf(s3.send(new ListPartsCommand({ ...a.name, Key: 'list/other' }))), 'NoSuchUpload')
    t.notOk((await list({})).Uploads)
    t.match(await waiting(), { chunks: 0, uploads: 0 })
  })

  await t.test('parts from other objects', async t => {
    await store('source.txt', '0123456789')
    const upload = await begin('copied.txt')
    const copy = async (PartNumber: number, more: object = {}) => {
      const command = new UploadPartCopyCommand({
        ...upload.name,
        PartNumber,
        CopySource: `${Bucket}/source.txt`,
        ...more,
      })
      return { PartNumber, ETag: (await s3.send(command)).CopyPartResult?.ETag }
    }
    const parts = [await copy(1, { CopySourceRange: 'bytes=2-4' }), await copy(2)]
    t.equal(await codeOf(copy(3, { CopySourceRange: 'bytes=5-2' })), 'InvalidArgument')
    for (const range of ['8-10', '10-11', '20-30']) {
      t.equal(await codeOf(copy(3, { CopySourceRange: `bytes=${range}` })), 'InvalidRange', range)
    }
    t.equal(await codeOf(copy(3, { CopySource: `${Bucket}/missing` })), 'NoSuchKey')
    t.equal(await codeOf(copy(3, { CopySourceIfMatch: '"other"' })), 'PreconditionFailed')
    t.equal(await codeOf(copy(3, { UploadId: 'unknown' })), 'NoSuchUpload')
    t.equal(await codeOf(copy(3, { CopySource: 'no-such-bucket/x' })), 'NoSuchBucket')
    await upload.complete(parts)
    t.equal(String(await content('copied.txt')), '2340123456789')
    await app.app.services.audit.flush()
    const { rows } = await sql<{ result: string; path: string; to_path: string; bytes: string | null }>`
      select result, path, to_path, bytes from audit_events where action = 'PART_COPY' and to_path = '/copied.txt'
      and to_provider_id = (select id from providers where slug = ${Bucket}) order by id`.execute(app.db)
    t.same(
      rows.filter(({ result }) => result === 'OK').map(({ path, bytes }) => [path, bytes]),
      [
        ['/source.txt', '3'],
        ['/source.txt', '10'],
      ],
      'the audit log names the source of each part',
    )
    const failures = rows.map(({ result, path }) => `${result} ${path}`)
    for (const failure of ['RANGE_NOT_SATISFIABLE /source.txt', 'NOT_FOUND /missing']) t.ok(failures.includes(failure))
  })

  await t.test('bad input', async t => {
    const upload = await begin('bad.txt')
    for (const number of [0, 10_001, -1]) t.equal(await codeOf(upload.part(number, 'x')), 'InvalidArgument')
    t.equal(await codeOf(upload.complete([])), 'MalformedXML')
    const md5 = await upload.part(1, 'x')
    const wrong = new UploadPartCommand({
      ...upload.name,
      PartNumber: 2,
      Body: 'x',
      ContentMD5: 'AAAAAAAAAAAAAAAAAAAAAA==',
    })
    t.equal(await codeOf(s3.send(wrong)), 'BadDigest')
    const many = Array.from({ length: 10_000 }, (_, at) => ({ PartNumber: at + 1, ETag: md5.ETag }))
    t.equal(await codeOf(upload.complete(many)), 'InvalidPart')
    const unknown = { ...upload.name, UploadId: 'unknown', MultipartUpload: { Parts: [{ PartNumber: 1, ETag: 'x' }] } }
    t.equal(await codeOf(s3.send(new CompleteMultipartUploadCommand(unknown))), 'NoSuchUpload')
    t.equal(await codeOf(upload.complete([md5], { IfMatch: '*' })), 'NoSuchKey')
    t.equal(await codeOf(begin('../bad')), 'InvalidArgument')
    t.equal(await codeOf(begin('folder/')), 'InvalidArgument')
    const reader = world.client((await world.createKey({ scopes: ['read'] })).s3)
    t.equal(await codeOf(reader.send(new CreateMultipartUploadCommand({ Bucket, Key: 'x' }))), 'AccessDenied')
  })
}
