import { createHash, randomBytes } from 'node:crypto'
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import {
  CopyObjectCommand,
  CreateBucketCommand,
  DeleteObjectCommand,
  DeleteObjectsCommand,
  GetBucketLocationCommand,
  GetBucketVersioningCommand,
  GetObjectCommand,
  GetObjectTaggingCommand,
  HeadBucketCommand,
  HeadObjectCommand,
  ListBucketsCommand,
  ListObjectsCommand,
  ListObjectsV2Command,
  PutObjectAclCommand,
  PutObjectCommand,
  type S3Client,
} from '@aws-sdk/client-s3'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import t from 'tap'
import { codeOf, createS3World } from './world.ts'

const Bucket = 'files'
const bytesOf = async (body: unknown): Promise<Buffer> => Buffer.concat(await (body as Readable).toArray())

t.test('objects over S3', async t => {
  const world = await createS3World(t)
  const { app, root } = world
  const s3 = world.client()
  const put = (Key: string, Body: string | Buffer = Key, more: object = {}) =>
    s3.send(new PutObjectCommand({ Bucket, Key, Body, ...more }))
  const get = async (Key: string, more: object = {}, client: S3Client = s3) => {
    const found = await client.send(new GetObjectCommand({ Bucket, Key, ...more }))
    return { ...found, text: (await bytesOf(found.Body)).toString() }
  }

  await t.test('buckets are the providers of the key', async t => {
    const other = await world.connect('Other', 'another-bucket')
    const { Buckets, Owner } = await s3.send(new ListBucketsCommand())
    t.same(
      Buckets?.map(({ Name }) => Name),
      ['another-bucket', 'files'],
    )
    t.equal(Owner?.DisplayName, 'owner@example.org')
    const page = async (more: object) => {
      const { Buckets, ContinuationToken } = await s3.send(new ListBucketsCommand(more))
      return [Buckets?.map(({ Name }) => Name).join(), ContinuationToken]
    }
    t.same(await page({ MaxBuckets: 1 }), ['another-bucket', 'another-bucket'])
    t.same(await page({ MaxBuckets: 1, ContinuationToken: 'another-bucket' }), ['files', undefined])
    t.same(await page({ Prefix: 'fi' }), ['files', undefined])
    t.same(await page({ BucketRegion: 'eu-central-1' }), ['', undefined])
    const listed = async (command: ListObjectsCommand | ListObjectsV2Command) => (await s3.send(command)).Contents?.[0]
    await put('owned')
    t.same((await listed(new ListObjectsCommand({ Bucket })))?.Owner, { ID: Owner?.ID })
    t.same((await listed(new ListObjectsV2Command({ Bucket, FetchOwner: true })))?.Owner, { ID: Owner?.ID })
    t.equal((await listed(new ListObjectsV2Command({ Bucket })))?.Owner, undefined)
    const expecting = (ExpectedBucketOwner: string | undefined) =>
      codeOf(s3.send(new GetObjectCommand({ Bucket, Key: 'owned', ExpectedBucketOwner })))
    t.same([await expecting(Owner?.ID), await expecting('123456789012')], ['none', 'AccessDenied'])
    const expected = { Bucket, Key: 'owned', ExpectedBucketOwner: '123456789012' }
    const url = await getSignedUrl(s3, new GetObjectCommand(expected), { expiresIn: 60 })
    t.match(await (await fetch(url)).text(), '<Code>AccessDenied</Code><Message>The owner')
    t.equal(await codeOf(s3.send(new ListBucketsCommand({ MaxBuckets: 0 }))), 'InvalidArgument')
    t.equal(await codeOf(s3.send(new CreateBucketCommand({ Bucket }))), 'BucketAlreadyOwnedByYou')
    t.equal(await codeOf(s3.send(new CreateBucketCommand({ Bucket: 'new-bucket' }))), 'NotImplemented')
    t.ok(await s3.send(new HeadBucketCommand({ Bucket })))
    t.equal((await s3.send(new GetBucketVersioningCommand({ Bucket }))).Status, undefined)
    const location = await s3.send(new GetBucketLocationCommand({ Bucket }))
    t.notOk(location.LocationConstraint)
    const limited = await world.createKey({
      scopes: ['read'],
      providerAccess: { restrictions: [{ providerId: other.providerId, basePath: '/' }] },
    })
    const client = world.client(limited.s3)
    const seen = await client.send(new ListBucketsCommand())
    t.same(
      seen.Buckets?.map(({ Name }) => Name),
      ['another-bucket'],
    )
    for (const name of ['files', 'no-such-bucket']) {
      t.equal(await codeOf(client.send(new ListObjectsV2Command({ Bucket: name }))), 'AccessDenied')
      t.equal(await codeOf(client.send(new CreateBucketCommand({ Bucket: name }))), 'AccessDenied')
    }
    t.equal(await codeOf(s3.send(new ListObjectsV2Command({ Bucket: 'no-such-bucket' }))), 'NoSuchBucket')
    t.equal(await codeOf(client.send(new PutObjectCommand({ Bucket: 'another-bucket', Key: 'a' }))), 'AccessDenied')
  })

  await t.test('objects are files with the same names, bytes and times', async t => {
    const content = randomBytes(300_000)
    const modified = new Date('2021-03-04T05:06:07.890Z')
    const Metadata = { mtime: String(modified.getTime() / 1000), 's3cmd-attrs': 'uid:0' }
    for (const Key of ['plain.txt', "a b+c/ü (1)!'*~&<>.txt", '%2e%2e/x', '日本/語 ', 'deep/er/still']) {
      if (Key.startsWith('%2e')) {
        t.equal(await codeOf(put(Key)), 'InvalidArgument')
        continue
      }
      const { ETag } = await put(Key, content, { Metadata, ContentType: 'text/x-test' })
      t.ok((await readFile(join(root, Key))).equals(content), Key)
      const head = await s3.send(new HeadObjectCommand({ Bucket, Key }))
      t.equal(head.ETag, ETag)
      t.equal(head.ContentLength, content.length)
      t.equal(head.LastModified?.getTime(), new Date('2021-03-04T05:06:07Z').getTime())
      t.equal(Number(head.Metadata?.mtime), modified.getTime() / 1000)
      const found = await s3.send(new GetObjectCommand({ Bucket, Key }))
      t.ok((await bytesOf(found.Body)).equals(content))
    }
    t.equal(await codeOf(put('b.txt', 'x', { Metadata: { color: 'blue' } })), 'NotImplemented')
    t.equal(await codeOf(put('b.txt', 'x', { ContentEncoding: 'gzip' })), 'NotImplemented')
    t.equal(await codeOf(put('b.txt', 'x', { ACL: 'public-read' })), 'NotImplemented')
    t.equal(await codeOf(put('b.txt', 'x', { ServerSideEncryption: 'AES256' })), 'NotImplemented')
    t.ok(await put('b.txt', 'x', { ACL: 'private', CacheControl: 'no-cache' }))
    const acl = new PutObjectAclCommand({ Bucket, Key: 'b.txt', ACL: 'private' })
    t.equal(await codeOf(s3.send(acl)), 'NotImplemented')
    t.equal((await get('b.txt')).text, 'x', 'an unknown operation leaves the object')
    const tagsOf = (Key: string) => s3.send(new GetObjectTaggingCommand({ Bucket, Key }))
    t.same((await tagsOf('b.txt')).TagSet, [], 'programs that copy objects ask for their tags')
    t.equal(await codeOf(tagsOf('deep')), 'NoSuchKey')
    t.equal(await codeOf(tagsOf('missing')), 'NoSuchKey')
  })

  await t.test('bodies of every form, compared with their digests', async t => {
    const content = randomBytes(200_000)
    const md5 = createHash('md5').update(content).digest('base64')
    const stream = () => Readable.from([content.subarray(0, 70_000), content.subarray(70_000)])
    const forms = {
      'a known length and CRC32': { Body: content },
      'a stream with a trailer': { Body: stream(), ContentLength: content.length },
      MD5: { Body: content, ContentMD5: md5 },
      ...Object.fromEntries(
        ['CRC32', 'CRC32C', 'CRC64NVME', 'SHA1', 'SHA256'].flatMap(ChecksumAlgorithm => [
          [ChecksumAlgorithm, { Body: content, ChecksumAlgorithm }],
          [`${ChecksumAlgorithm} in a trailer`, { Body: stream(), ContentLength: content.length, ChecksumAlgorithm }],
        ]),
      ),
    }
    for (const [what, more] of Object.entries(forms)) {
      await s3.send(new PutObjectCommand({ Bucket, Key: 'forms', Body: 'before' }))
      await s3.send(new PutObjectCommand({ Bucket, Key: 'forms', ...(more as object) }))
      t.ok((await readFile(join(root, 'forms'))).equals(content), what)
    }
    const wrong = {
      BadDigest: { ChecksumSHA256: createHash('sha256').update('other').digest('base64') },
      InvalidDigest: { ContentMD5: 'short' },
    }
    for (const [code, more] of Object.entries(wrong)) t.equal(await codeOf(put('wrong', content, more)), code)
    const otherMd5 = createHash('md5').update('other').digest('base64')
    t.equal(await codeOf(put('wrong', content, { ContentMD5: otherMd5 })), 'BadDigest')
    t.notOk((await readdir(root)).includes('wrong'), 'nothing is stored')
  })

  await t.test('conditions and ranges', async t => {
    const { ETag = '' } = await put('conditions', '0123456789', { IfNoneMatch: '*' })
    t.equal(await codeOf(put('conditions', 'x', { IfNoneMatch: '*' })), 'PreconditionFailed')
    t.equal(await codeOf(put('conditions', 'x', { IfMatch: '"other"' })), 'PreconditionFailed')
    for (const IfMatch of ['*', '"other"']) t.equal(await codeOf(put('not there', 'x', { IfMatch })), 'NoSuchKey')
    t.equal((await get('conditions', { Range: 'bytes=2-4' })).text, '234')
    t.equal((await get('conditions', { Range: 'bytes=-3' })).text, '789')
    t.equal(await codeOf(get('conditions', { Range: 'bytes=10-' })), 'InvalidRange')
    t.equal((await get('conditions', { IfMatch: ETag })).text, '0123456789')
    t.equal(await codeOf(get('conditions', { IfMatch: '"other"' })), 'PreconditionFailed')
    t.equal(await codeOf(get('conditions', { IfNoneMatch: ETag })), '304')
    const future = new Date(Date.now() + 10_000)
    t.equal(await codeOf(get('conditions', { IfModifiedSince: future })), '304')
    const named = await get('conditions', {
      ResponseContentType: 'text/html',
      ResponseContentDisposition: 'attachment; filename="x.html"',
      ResponseCacheControl: 'max-age=60',
    })
    t.match(named, { ContentType: 'text/html', CacheControl: 'max-age=60' })
    t.match(named.ContentDisposition, /x\.html/)
    t.equal(await codeOf(get('conditions', { ResponseContentType: 'text/html\r\nx: y' })), 'InvalidArgument')
    t.ok(await put('conditions', 'new', { IfMatch: ETag }))
  })

  await t.test('conditions of deletions, with or without quotation marks', async t => {
    const { ETag = '' } = await put('deleted', 'x')
    const bare = ETag.replaceAll('"', '')
    t.equal((await get('deleted', { IfMatch: bare })).text, 'x')
    t.equal(await codeOf(get('deleted', { IfNoneMatch: bare })), '304')
    const remove = (more: object) => codeOf(s3.send(new DeleteObjectCommand({ Bucket, Key: 'deleted', ...more })))
    const removeInList = async (more: object) => {
      const Objects = [{ Key: 'deleted', ...more }]
      const { Deleted, Errors } = await s3.send(new DeleteObjectsCommand({ Bucket, Delete: { Objects } }))
      return Deleted ? 'none' : Errors?.[0]?.Code
    }
    t.equal(await remove({ IfMatch: 'other' }), 'PreconditionFailed')
    t.equal(await removeInList({ ETag: 'other' }), 'PreconditionFailed')
    t.equal(await remove({ IfMatchSize: 1 }), 'NotImplemented')
    const presigned = new DeleteObjectCommand({ Bucket, Key: 'deleted', IfMatchSize: 1 })
    t.equal((await fetch(await getSignedUrl(s3, presigned), { method: 'DELETE' })).status, 501)
    t.equal(await codeOf(removeInList({ Size: 1 })), 'NotImplemented')
    t.equal((await get('deleted')).text, 'x')
    t.equal(await remove({ IfMatch: bare }), 'none')
    t.equal(await remove({ IfMatch: '*' }), 'NoSuchKey')
    t.equal(await removeInList({ ETag: bare }), 'NoSuchKey')
    const again = await put('deleted', 'x')
    t.equal(await removeInList({ ETag: again.ETag }), 'none')
    t.notOk((await readdir(root)).includes('deleted'))
    const folder = { Bucket, Key: 'empty/' }
    const { ETag: tag } = await s3.send(new PutObjectCommand(folder))
    t.equal(await codeOf(s3.send(new DeleteObjectCommand({ ...folder, IfMatch: ETag }))), 'PreconditionFailed')
    t.equal(await codeOf(s3.send(new DeleteObjectCommand({ ...folder, IfMatch: tag }))), 'none')
  })

  await t.test('folders are keys that end in "/"', async t => {
    await s3.send(new PutObjectCommand({ Bucket, Key: 'made/by s3/' }))
    await s3.send(new PutObjectCommand({ Bucket, Key: 'made/by s3/' }))
    t.ok((await stat(join(root, 'made/by s3'))).isDirectory())
    t.equal(await codeOf(put('made/', 'content')), 'InvalidArgument')
    t.equal((await s3.send(new HeadObjectCommand({ Bucket, Key: 'made/by s3/' }))).ContentLength, 0)
    t.equal((await get('made/')).text, '')
    t.equal(await codeOf(get('made')), 'NoSuchKey')
    t.equal(await codeOf(get('b.txt/')), 'NoSuchKey')
    t.equal(await codeOf(s3.send(new HeadObjectCommand({ Bucket, Key: 'made' }))), 'NotFound')
    for (const Key of ['made/', 'made', 'made/by s3', 'b.txt/', 'missing', 'missing/']) {
      await s3.send(new DeleteObjectCommand({ Bucket, Key }))
    }
    t.ok((await stat(join(root, 'made/by s3'))).isDirectory(), 'a folder is deleted by its own key only')
    t.equal((await get('b.txt')).text, 'x')
    await s3.send(new DeleteObjectCommand({ Bucket, Key: 'made/by s3/' }))
    await s3.send(new DeleteObjectCommand({ Bucket, Key: 'made/' }))
    t.notOk((await readdir(root)).includes('made'))
  })

  await t.test('copies', async t => {
    await world.connect('Target', 'target')
    await put('source/a b.txt', 'copied')
    const copy = (CopySource: string, Key: string, more: object = {}) =>
      s3.send(new CopyObjectCommand({ Bucket: 'target', Key, CopySource, ...more }))
    const { CopyObjectResult } = await copy('files/source/a%20b.txt', 'to/c.txt')
    t.ok(CopyObjectResult?.ETag)
    t.equal(await readFile(join(app.folder, 'target/to/c.txt'), 'utf8'), 'copied')
    t.ok(await copy('/target/to/c.txt', 'to/d.txt'))
    t.ok(await copy('files/source/', 'to/folder/'))
    t.ok((await stat(join(app.folder, 'target/to/folder'))).isDirectory())
    t.equal(await codeOf(copy('files/source/', 'to/e.txt')), 'InvalidRequest')
    t.equal(await codeOf(copy('files/missing/', 'to/missing/')), 'NoSuchKey')
    t.equal(await codeOf(copy('target/to/c.txt', 'to/c.txt')), 'InvalidRequest')
    t.equal(await codeOf(copy('files/missing', 'x')), 'NoSuchKey')
    t.equal(await codeOf(copy('files/source', 'x')), 'NoSuchKey', 'a folder is not an object')
    t.equal(await codeOf(copy('no-such-bucket/x', 'x')), 'NoSuchBucket')
    t.equal(await codeOf(copy('files', 'x')), 'InvalidArgument')
    t.equal(await codeOf(copy('files/b.txt', 'x', { CopySourceIfMatch: '"other"' })), 'PreconditionFailed')
    t.equal(await codeOf(copy('files/b.txt', 'x', { CopySourceIfNoneMatch: '*' })), 'PreconditionFailed')
    const tag = (await get('b.txt')).ETag?.replaceAll('"', '')
    t.equal(await codeOf(copy('files/b.txt', 'x', { CopySourceIfNoneMatch: tag })), 'PreconditionFailed')
    t.equal(await codeOf(copy('files/b.txt', 'to/c.txt', { IfNoneMatch: '*' })), 'PreconditionFailed')
    t.equal(await codeOf(copy('files/b.txt', 'to/c.txt', { IfMatch: '*' })), 'NotImplemented')
    t.equal(await codeOf(copy('files/b.txt', 'x', { ExpectedSourceBucketOwner: '123456789012' })), 'AccessDenied')
    t.notOk((await readdir(join(app.folder, 'target'))).includes('x'), 'nothing else is stored')
  })

  await t.test('deleting many', async t => {
    for (const name of ['one', 'two', 'thr<ee>&']) await put(`many/${name}`)
    const Objects = ['many/one', 'many/two', 'many/thr<ee>&', 'many/missing', 'many/../b.txt'].map(Key => ({ Key }))
    const { Deleted, Errors } = await s3.send(new DeleteObjectsCommand({ Bucket, Delete: { Objects } }))
    t.same(Deleted?.map(({ Key }) => Key).toSorted(), ['many/missing', 'many/one', 'many/thr<ee>&', 'many/two'])
    t.match(Errors, [{ Key: 'many/../b.txt', Code: 'InvalidArgument' }])
    t.same(await readdir(join(root, 'many')), [])
    const quiet = await s3.send(new DeleteObjectsCommand({ Bucket, Delete: { Objects: [{ Key: 'x' }], Quiet: true } }))
    t.notOk(quiet.Deleted)
    const tooMany = Array.from({ length: 1001 }, (_, at) => ({ Key: `${at}` }))
    t.equal(await codeOf(s3.send(new DeleteObjectsCommand({ Bucket, Delete: { Objects: tooMany } }))), 'MalformedXML')
  })

  await t.test('requests without a valid signature', async t => {
    const url = await getSignedUrl(s3, new GetObjectCommand({ Bucket, Key: 'b.txt' }), { expiresIn: 60 })
    const shared = await fetch(url)
    t.equal(await shared.text(), 'x')
    t.equal(shared.headers.get('content-security-policy'), 'sandbox')
    const refusedBy = async (url: string, init: RequestInit = {}) => {
      const response = await fetch(url, init)
      const text = await response.text()
      t.match(response.headers.get('content-type'), 'application/xml', text)
      return `${response.status} ${/<Code>(\w+)<\/Code>/.exec(text)?.[1]}`
    }
    t.equal(await refusedBy(url.replace('b.txt', 'conditions')), '403 SignatureDoesNotMatch')
    t.equal(await refusedBy(url.replace('Expires=60', 'Expires=61')), '403 SignatureDoesNotMatch')
    t.equal(await refusedBy(url, { method: 'DELETE' }), '403 SignatureDoesNotMatch')
    t.equal(await refusedBy(`${app.url}/s3/files/b.txt`), '403 AccessDenied')
    t.equal(await refusedBy(`${app.url}/s3/files/b.txt`, { method: 'PATCH' }), '405 MethodNotAllowed')
    t.equal(await refusedBy(url, { method: 'PATCH' }), '403 SignatureDoesNotMatch')
    t.equal(await refusedBy(`${app.url}/s3/files/b%FF`), '400 InvalidArgument')
    t.equal(await refusedBy(`${app.url}/s3/files/b.txt?a=%FF`), '400 InvalidURI')
    t.equal(await refusedBy(`${app.url}/s3`, { method: 'POST' }), '403 AccessDenied')
    t.equal(await refusedBy(`${app.url}/s3`, { headers: { authorization: 'Basic eDp5' } }), '400 InvalidArgument')
    const { s3: keys, id } = await world.createKey()
    const client = world.client(keys)
    const temporary = await getSignedUrl(client, new GetObjectCommand({ Bucket, Key: 'b.txt' }), { expiresIn: 604_800 })
    t.equal((await fetch(temporary)).status, 200)
    const other = world.client({ ...keys, secretAccessKey: `${keys.secretAccessKey}x` })
    t.equal(await codeOf(other.send(new ListBucketsCommand())), 'SignatureDoesNotMatch')
    const unknown = world.client({ ...keys, accessKeyId: 'STW00000000000000000000000000000000' })
    t.equal(await codeOf(unknown.send(new ListBucketsCommand())), 'InvalidAccessKeyId')
    await app.ask('mutation ($id: ID!) { revokeApiKey(id: $id) { id } }', { id }, world.token)
    t.equal(await refusedBy(temporary), '403 AccessDenied', 'a replayed URL')
    t.equal(await codeOf(client.send(new ListBucketsCommand())), 'AccessDenied')
    const late = world.client(undefined, { systemClockOffset: -20 * 60_000 })
    t.equal(await codeOf(late.send(new ListBucketsCommand())), 'RequestTimeTooSkewed')
    t.notMatch(app.logged(), keys.secretAccessKey.slice(8))
    t.notMatch(app.logged(), new URL(temporary).searchParams.get('X-Amz-Signature') ?? '-')
  })
})
