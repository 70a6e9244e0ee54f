/** Earlier versions over S3: listed in pages, read, and deleted. */
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import {
  CopyObjectCommand,
  DeleteObjectCommand,
  DeleteObjectsCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectVersionsCommand,
  type ListObjectVersionsCommandInput,
  PutObjectCommand,
} from '@aws-sdk/client-s3'
import t from 'tap'
import { localAdapter } from '../../adapters/backends/local/index.ts'
import { MemoryProvider } from '../../adapters/backends/memory/provider.ts'
import type { AdapterDefinition, NativeVersions, StorageProvider } from '../../adapters/contract.ts'
import { atNight } from '../support/extent.ts'
import { codeOf, createS3World } from './world.ts'

const Bucket = 'files'

t.test('versions over S3', async t => {
  const world = await createS3World(t, { settings: { versionCount: 20, versionDays: 30 } })
  const s3 = world.client()
  const put = (Key: string, Body: string) => s3.send(new PutObjectCommand({ Bucket, Key, Body }))
  for (const content of ['1', '22', '333']) await put('a', content)
  for (const content of ['1', '22']) await put('a-b', content)
  for (const content of ['1', '22']) await put('folder/gone', content)
  await put('new', '1')
  await s3.send(new DeleteObjectCommand({ Bucket, Key: 'folder/gone' }))

  /** Lists everything in pages: the key, the size and whether it is the latest. */
  const list = async (input: Partial<ListObjectVersionsCommandInput>) => {
    const found: string[] = []
    const ids: Record<string, string> = {}
    for (let markers = {}; ; ) {
      const page = await s3.send(new ListObjectVersionsCommand({ Bucket, ...input, ...markers }))
      const { Versions = [], DeleteMarkers = [], CommonPrefixes = [] } = page
      for (const { Key = '', IsLatest, Size, VersionId = '' } of Versions) {
        found.push(`${Key} ${Size}${IsLatest ? ' latest' : ''}`)
        ids[`${Key} ${Size}`] = VersionId
      }
      for (const { Key = '', IsLatest } of DeleteMarkers) found.push(`${Key} deleted${IsLatest ? ' latest' : ''}`)
      for (const { Prefix = '' } of CommonPrefixes) found.push(Prefix)
      if (!page.IsTruncated) return { found: found.sort(), ids }
      markers = { KeyMarker: page.NextKeyMarker, VersionIdMarker: page.NextVersionIdMarker }
    }
  }
  const all = [
    'a 1',
    'a 2',
    'a 3 latest',
    'a-b 1',
    'a-b 2 latest',
    'folder/ 0 latest',
    'folder/gone 1',
    'folder/gone 2',
    'folder/gone deleted latest',
    'new 1 latest',
  ]
  for (const MaxKeys of [1, 2, 1000]) t.same((await list({ MaxKeys })).found, all, `in pages of ${MaxKeys}`)
  t.same((await list({ Prefix: 'a-' })).found, ['a-b 1', 'a-b 2 latest'])
  for (const MaxKeys of [1, 1000]) {
    t.same((await list({ Delimiter: '/', MaxKeys })).found, [...all.slice(0, 5), 'folder/', 'new 1 latest'])
  }

  const { ids } = await list({})
  const VersionId = ids['a 1'] ?? ''
  const { Body, VersionId: named } = await s3.send(new GetObjectCommand({ Bucket, Key: 'a', VersionId }))
  t.same([await text(Body as unknown as AsyncIterable<Buffer>), named], ['1', VersionId])
  t.equal((await s3.send(new HeadObjectCommand({ Bucket, Key: 'a', VersionId: 'null' }))).ContentLength, 3)
  t.equal(await codeOf(s3.send(new GetObjectCommand({ Bucket, Key: 'a-b', VersionId }))), 'NoSuchKey', 'of another key')
  const CopySource = `${Bucket}/a?versionId=${VersionId}`
  const { CopySourceVersionId } = await s3.send(new CopyObjectCommand({ Bucket, Key: 'b', CopySource }))
  t.equal(CopySourceVersionId, VersionId)
  t.equal((await s3.send(new HeadObjectCommand({ Bucket, Key: 'b' }))).ContentLength, 1)
  t.equal(
    await codeOf(
      s3.send(new CopyObjectCommand({ Bucket, Key: 'b', CopySource: `${Bucket}/a-b?versionId=${VersionId}` })),
    ),
    'NoSuchKey',
  )
  await s3.send(new CopyObjectCommand({ Bucket, Key: 'new', CopySource }))
  await s3.send(new CopyObjectCommand({ Bucket, Key: 'new', CopySource: `${Bucket}/a?versionId=${ids['a 2']}` }))
  t.same((await list({ Prefix: 'new' })).found, ['new 1', 'new 1', 'new 2 latest'], 'what a copy replaces is a version')
  await s3.send(new DeleteObjectCommand({ Bucket, Key: 'a', VersionId }))
  t.same((await list({ Prefix: 'a' })).found, all.slice(1, 5))
  const Objects = [{ Key: 'a-b', VersionId: ids['a-b 1'] }]
  const { Deleted } = await s3.send(new DeleteObjectsCommand({ Bucket, Delete: { Objects } }))
  t.same(Deleted, Objects)
  t.same((await list({ Prefix: 'a' })).found, ['a 2', 'a 3 latest', 'a-b 2 latest'])
  await s3.send(new DeleteObjectCommand({ Bucket, Key: 'a', VersionId }))
  const wrong = new ListObjectVersionsCommand({ Bucket, KeyMarker: 'a', VersionIdMarker: 'x' })
  t.equal(await codeOf(s3.send(wrong)), 'InvalidArgument')

  const current = { Key: 'a', VersionId: 'null' }
  await s3.send(new DeleteObjectCommand({ Bucket, ...current }))
  t.same((await list({ Prefix: 'a' })).found, ['a 2', 'a deleted latest', 'a-b 2 latest'], 'earlier versions stay')
  t.equal(await codeOf(s3.send(new DeleteObjectCommand({ Bucket, ...current }))), 'NotImplemented', 'a delete marker')
  const { Errors } = await s3.send(new DeleteObjectsCommand({ Bucket, Delete: { Objects: [current] } }))
  t.match(Errors, [{ Key: 'a', Code: 'NotImplemented' }])
  await s3.send(new DeleteObjectCommand({ Bucket, Key: 'a', VersionId: ids['a 2'] ?? '' }))
  await s3.send(new DeleteObjectCommand({ Bucket, ...current }))
  t.same((await list({ Prefix: 'a' })).found, ['a-b 2 latest'], 'nothing of it is left')

  const basePath = { restrictions: [{ providerId: world.providerId, basePath: '/folder' }] }
  const narrow = world.client((await world.createKey({ scopes: ['read'], providerAccess: basePath })).s3)
  const seen = await narrow.send(new ListObjectVersionsCommand({ Bucket }))
  t.same([...new Set((seen.Versions ?? []).map(({ Key }) => Key))].sort(), ['folder/', 'folder/gone'])
  const refused = new DeleteObjectCommand({ Bucket, Key: 'folder/gone', VersionId: ids['folder/gone 1'] })
  t.equal(await codeOf(narrow.send(refused)), 'AccessDenied')
})

/** A back end that has kept 12,000 versions of each file whose name is "many", and one of every other. */
const versioned: AdapterDefinition = {
  type: 'versioned',
  apiVersion: 1,
  title: 'Memory with versions',
  configSchema: { type: 'object', properties: {} },
  async open() {
    const files = new MemoryProvider(1_000_000)
    const versions: Pick<NativeVersions, 'list'> = {
      async list(path, { cursor = '0', limit }) {
        const [begin, count] = [Number(cursor), path.endsWith('many') ? 12_000 : 1]
        const end = Math.min(begin + limit, count)
        const found = Array.from({ length: end - begin }, (_, index) => ({
          id: String(begin + index),
          size: 1,
          etag: null,
          modifiedAt: new Date(0),
          replacedAt: new Date(1),
        }))
        return { versions: found, ...(end < count && { cursor: String(end) }) }
      },
    }
    return new Proxy<StorageProvider>(files, {
      get(target, name) {
        if (name === 'versions') return versions
        const value: unknown = Reflect.get(target, name, target)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
  },
}

atNight(t, 'an object of which the back end keeps very many versions hides no other key', async t => {
  const world = await createS3World(t, {
    adapters: folder => [localAdapter({ localRoots: [folder], dataFolder: join(folder, 'data') }), versioned],
  })
  const connect = 'mutation ($input: ConnectProviderInput!) { connectProvider(input: $input) { provider { id } } }'
  const input = { type: 'versioned', name: 'Versions', slug: 'versions', config: {} }
  await world.app.ask(connect, { input }, world.token)
  const s3 = world.client()
  for (const Key of ['before', 'many', 'next'])
    await s3.send(new PutObjectCommand({ Bucket: 'versions', Key, Body: '1' }))
  const counts: Record<string, number> = {}
  let pages = 0
  for (let markers = {}; pages < 20; ) {
    const page = await s3.send(new ListObjectVersionsCommand({ Bucket: 'versions', ...markers }))
    for (const { Key = '' } of page.Versions ?? []) counts[Key] = (counts[Key] ?? 0) + 1
    pages += 1
    if (!page.IsTruncated) break
    markers = { KeyMarker: page.NextKeyMarker, VersionIdMarker: page.NextVersionIdMarker }
  }
  t.match([counts, pages], [{ before: 2, many: 10_001, next: 2 }, 11])
  const lost = { KeyMarker: 'many', VersionIdMarker: `native-${Buffer.from('11999').toString('base64url')}` }
  const page = await s3.send(new ListObjectVersionsCommand({ Bucket: 'versions', ...lost }))
  t.same([...new Set(page.Versions?.map(({ Key }) => Key))], ['next'], 'a place too far back is the end of the key')
})
