/** The front doors over storages of S3 and Google Drive: what depends on the adapter. */
import { randomBytes } from 'node:crypto'
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CopyObjectCommand,
  CreateMultipartUploadCommand,
  DeleteObjectsCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  ListPartsCommand,
  PutObjectCommand,
  UploadPartCommand,
  UploadPartCopyCommand,
} from '@aws-sdk/client-s3'
import { sql } from 'kysely'
import t from 'tap'
import { localAdapter } from '../../adapters/backends/local/index.ts'
import type { AdapterDefinition } from '../../adapters/contract.ts'
import { googleDrive, s3 } from '../hostile/back-ends.ts'
import { atNight, extent, isNight } from '../support/extent.ts'
import { davClient, resourcesIn } from '../webdav/client.ts'
import { codeOf, createS3World } from './world.ts'

const mib = 1024 * 1024
const modified = new Date('2021-03-04T05:06:07.890Z')
const drive = 'google-drive-bucket'
const Metadata = { mtime: String(modified.getTime() / 1000) }

// The server may need to be installed first.
t.setTimeout(300_000)

t.test('other storages', async t => {
  const backEnds = [await s3(t), ...(isNight ? [await googleDrive(t)] : [])]
  const world = await createS3World(t, {
    adapters: folder => [
      localAdapter({ localRoots: [folder], dataFolder: '/nowhere' }) as AdapterDefinition,
      ...backEnds.flatMap(backEnd => backEnd.adapters(folder)),
    ],
  })
  const { app, token } = world
  const { s3: keys, key } = await world.createKey()
  const other = await app.replica()
  const clients = [world.client(keys), world.client(keys, { endpoint: `${other.url}/s3` })] as const
  const [client] = clients
  const dav = davClient(app, key)
  for (const backEnd of backEnds) {
    await app.connectProvider(token, backEnd.type, await backEnd.config(app.folder), `${backEnd.type}-bucket`)
  }
  const textOf = async (Bucket: string, Key: string) =>
    (await client.send(new GetObjectCommand({ Bucket, Key }))).Body?.transformToString()
  const keysIn = async (Bucket: string, Prefix: string) =>
    (await client.send(new ListObjectsV2Command({ Bucket, Prefix }))).Contents?.map(({ Key }) => Key)

  /** Begins an upload whose parts go to two replicas in turn. */
  const begin = async (Bucket: string, Key: string) => {
    const { UploadId = '' } = await client.send(new CreateMultipartUploadCommand({ Bucket, Key, Metadata }))
    const name = { Bucket, Key, UploadId }
    return {
      name,
      async part(PartNumber: number, Body: Buffer | string, more: object = {}) {
        const command = new UploadPartCommand({ ...name, PartNumber, Body, ...more })
        const { ETag } = await clients[PartNumber % 2 ? 0 : 1].send(command)
        return { PartNumber, ETag }
      },
      complete: (Parts: { PartNumber: number; ETag: string | undefined }[], more: object = {}) =>
        client.send(new CompleteMultipartUploadCommand({ ...name, MultipartUpload: { Parts }, ...more })),
    }
  }

  for (const Bucket of extent({ gate: ['s3-bucket'], nightly: ['s3-bucket', drive] })) {
    await t.test(`objects on ${Bucket}`, async t => {
      const put = (Key: string, Body: string, more: object = {}) =>
        client.send(new PutObjectCommand({ Bucket, Key, Body, ...more }))
      const { ETag } = await put('a/one & ü.txt', 'one', { Metadata, ContentType: 'text/x-test' })
      const head = await client.send(new HeadObjectCommand({ Bucket, Key: 'a/one & ü.txt' }))
      t.match(head, { ETag, ContentLength: 3, ContentType: 'text/x-test' })
      if (Bucket === drive) t.equal(head.LastModified?.getTime(), Math.floor(modified.getTime() / 1000) * 1000)
      t.equal(await textOf(Bucket, 'a/one & ü.txt'), 'one')
      t.equal(await codeOf(put('a/one & ü.txt', 'two', { IfNoneMatch: '*' })), 'PreconditionFailed')
      const copy = (CopySource: string, to: string, Key: string) =>
        client.send(new CopyObjectCommand({ Bucket: to, Key, CopySource }))
      await copy(`${Bucket}/a/one%20%26%20%C3%BC.txt`, 'files', `${Bucket}.txt`)
      await copy(`files/${Bucket}.txt`, Bucket, 'a/three')
      await copy(`${Bucket}/a/three`, Bucket, 'a/two')
      t.equal(await textOf(Bucket, 'a/two'), 'one')
      t.same(await keysIn(Bucket, 'a/'), ['a/one & ü.txt', 'a/three', 'a/two'])
      const Objects = ['a/one & ü.txt', 'a/three', 'a/two', 'a/missing'].map(Key => ({ Key }))
      const { Errors } = await client.send(new DeleteObjectsCommand({ Bucket, Delete: { Objects, Quiet: true } }))
      t.notOk(Errors)
      t.equal(await codeOf(textOf(Bucket, 'a/two')), 'NoSuchKey')
    })

    await t.test(`multipart uploads on ${Bucket}`, async t => {
      const bytes = randomBytes(10 * mib + 1000)
      const [first, middle, last] = [0, 1, 2].map(at => bytes.subarray(at * 5 * mib, (at + 1) * 5 * mib))
      const upload = await begin(Bucket, 'large.bin')
      const late = await upload.part(9, last ?? '')
      const [fourth, second] = await Promise.all([upload.part(4, middle ?? ''), upload.part(2, first ?? '')])
      const { Parts } = await client.send(new ListPartsCommand(upload.name))
      t.same(
        Parts?.map(({ PartNumber, Size }) => [PartNumber, Size]),
        [
          [2, 5 * mib],
          [4, 5 * mib],
          [9, 1000],
        ],
      )
      t.equal(await codeOf(textOf(Bucket, 'large.bin')), 'NoSuchKey', 'invisible until it is complete')
      const whole = [second, fourth, late]
      const done = await upload.complete(whole)
      t.equal((await upload.complete(whole)).ETag, done.ETag, 'a repeated completion')
      const found = await client.send(new GetObjectCommand({ Bucket, Key: 'large.bin' }))
      t.equal(found.ETag, done.ETag)
      t.ok(Buffer.from((await found.Body?.transformToByteArray()) ?? []).equals(bytes))
      if (Bucket === drive) t.equal(found.LastModified?.getTime(), Math.floor(modified.getTime() / 1000) * 1000)
      const ranged = await begin(Bucket, 'copied.bin')
      const copied = await client.send(
        new UploadPartCopyCommand({
          ...ranged.name,
          PartNumber: 1,
          CopySource: `${Bucket}/large.bin`,
          CopySourceRange: `bytes=1000-${5 * mib + 999}`,
        }),
      )
      const end = await ranged.part(2, 'end')
      await ranged.complete([{ PartNumber: 1, ETag: copied.CopyPartResult?.ETag }, end])
      const expected = Buffer.concat([bytes.subarray(1000, 5 * mib + 1000), Buffer.from('end')])
      const joined = await client.send(new GetObjectCommand({ Bucket, Key: 'copied.bin' }))
      t.ok(Buffer.from((await joined.Body?.transformToByteArray()) ?? []).equals(expected))
    })

    await t.test(`WebDAV on ${Bucket}`, async t => {
      const at = (path: string) => `/${Bucket}${path}`
      t.equal((await dav('MKCOL', at('/dav'))).status, 201)
      const put = await dav('PUT', at('/dav/a%20%26%20%C3%BC'), {
        body: 'dav',
        headers: { 'x-oc-mtime': '1614834367' },
      })
      t.equal(put.status, 201)
      if (Bucket === drive) t.equal(put.headers.get('x-oc-mtime'), 'accepted')
      const listed = await resourcesIn(await dav('PROPFIND', at('/dav/'), { headers: { depth: '1' } }))
      t.same(
        listed.map(({ href }) => decodeURIComponent(href)),
        [`/dav/${Bucket}/dav/`, `/dav/${Bucket}/dav/a & ü`],
      )
      t.equal((await dav('GET', at('/dav/a%20%26%20%C3%BC'))).text, 'dav')
      const to = (path: string) => ({ headers: { destination: `/dav${at(path)}` } })
      t.equal((await dav('COPY', at('/dav/'), to('/copy/'))).status, 201)
      t.equal((await dav('MOVE', at('/copy/'), to('/moved/'))).status, 201)
      t.equal((await dav('GET', at('/moved/a%20%26%20%C3%BC'))).text, 'dav')
      for (const path of ['/dav/', '/moved/']) t.equal((await dav('DELETE', at(path))).status, 204)
      t.equal((await dav('GET', at('/dav/a%20%26%20%C3%BC'))).status, 404)
    })
  }

  await atNight(t, 'S3 keeps the parts itself', async t => {
    const Bucket = 's3-bucket'
    const waiting = async () => {
      const { rows } = await sql<{ chunks: number; uploads: number }>`
        select (select count(*)::int from upload_part_chunks) chunks,
          (select count(*)::int from uploads where stored_path is null) uploads`.execute(app.db)
      return rows[0]
    }
    const upload = await begin(Bucket, 'native.txt')
    const [early, large] = [await upload.part(3, 'early'), randomBytes(5 * mib)]
    const first = await upload.part(1, large)
    const third = await upload.part(3, 'three')
    t.same(await waiting(), { chunks: 0, uploads: 1 })
    t.equal(await codeOf(upload.part(2, 'x', { ContentMD5: 'AAAAAAAAAAAAAAAAAAAAAA==' })), 'BadDigest')
    t.equal(await codeOf(upload.complete([first, early])), 'InvalidPart')
    t.equal(await codeOf(upload.complete([first, { PartNumber: 2, ETag: third.ETag }])), 'InvalidPart')
    t.equal(await codeOf(upload.complete([third, { ...first, PartNumber: 7 }])), 'EntityTooSmall')
    await upload.complete([first, third])
    t.equal((await textOf(Bucket, 'native.txt'))?.slice(-5), 'three')
    t.equal(await codeOf(upload.part(4, 'late')), 'NoSuchUpload')
    const taken = await begin(Bucket, 'native.txt')
    const part = await taken.part(1, 'new')
    t.equal(await codeOf(taken.complete([part], { IfNoneMatch: '*' })), 'PreconditionFailed')
    t.equal((await textOf(Bucket, 'native.txt'))?.slice(-5), 'three')
    await client.send(new AbortMultipartUploadCommand(taken.name))
    t.equal(await codeOf(taken.part(2, 'late')), 'NoSuchUpload')
    t.same(await waiting(), { chunks: 0, uploads: 0 })
  })

  t.notMatch(app.logged(), /"level":50/)
})
