import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import {
  ListObjectsCommand,
  type ListObjectsCommandOutput,
  ListObjectsV2Command,
  type ListObjectsV2CommandInput,
  type ListObjectsV2CommandOutput,
} from '@aws-sdk/client-s3'
import t from 'tap'
import { atNight } from '../support/extent.ts'
import { codeOf, createS3World } from './world.ts'

const Bucket = 'files'

/** Names whose order differs between bytes, UTF-16 and folders before files. */
const keys = [
  'a',
  'a b/c',
  'a-b',
  'a.txt',
  'a/b/c',
  'a/b-c',
  'a/b.d/e/f',
  'a/empty/',
  'a/z',
  'a0',
  'b/only/way/down/deep.txt',
  'z\u{ffff}x'.replace('\u{ffff}', '\u{fffd}'),
  'z\u{1f600}',
  'ä/ö',
].filter(key => key !== 'a')

const byBytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b))

/** The response of S3 for a set of keys. */
function expected(all: readonly string[], { Prefix = '', Delimiter = '', StartAfter = '' }): string[] {
  const found = new Set<string>()
  for (const key of all.toSorted(byBytes)) {
    if (!key.startsWith(Prefix) || byBytes(key, StartAfter) <= 0) continue
    const end = Delimiter === '' ? -1 : key.indexOf('/', Prefix.length)
    found.add(end < 0 || key === Prefix ? key : key.slice(0, end + 1))
  }
  return [...found]
}

t.test('lists over S3', async t => {
  const world = await createS3World(t)
  const s3 = world.client()
  for (const key of keys) {
    const path = join(world.root, key)
    await mkdir(key.endsWith('/') ? path : dirname(path), { recursive: true })
    if (!key.endsWith('/')) await writeFile(path, key)
  }
  const namesOf = ({ Contents, CommonPrefixes }: ListObjectsV2CommandOutput | ListObjectsCommandOutput) =>
    [
      ...(Contents ?? []).map(({ Key = '' }) => Key),
      ...(CommonPrefixes ?? []).map(({ Prefix = '' }) => Prefix),
    ].toSorted(byBytes)
  const listAll = async (input: Partial<ListObjectsV2CommandInput>, client = s3) => {
    const found: string[] = []
    let ContinuationToken: string | undefined
    do {
      const page = await client.send(
        new ListObjectsV2Command({ Bucket, ...input, ...(ContinuationToken && { ContinuationToken }) }),
      )
      found.push(...namesOf(page))
      ContinuationToken = page.NextContinuationToken
    } while (ContinuationToken)
    return found
  }
  const listAllV1 = async (input: object) => {
    const found: string[] = []
    let Marker: string | undefined
    for (;;) {
      const page = await s3.send(new ListObjectsCommand({ Bucket, ...input, ...(Marker && { Marker }) }))
      const names = namesOf(page)
      found.push(...names)
      if (!page.IsTruncated) return found
      Marker = page.NextMarker ?? names.at(-1)
    }
  }

  await atNight(t, 'keys are in the order of their bytes, page by page', async t => {
    const prefixes = [
      '',
      'a',
      'a/',
      'a/b',
      'a/b/',
      'a/empty/',
      'a/emp',
      'b/only/w',
      'z',
      'missing/',
      '/',
      '//',
      '../',
      'a//',
      'a\0',
    ]
    for (const Prefix of prefixes) {
      for (const Delimiter of ['', '/']) {
        const query = { Prefix, ...(Delimiter && { Delimiter }) }
        const wanted = expected(keys, query)
        for (const MaxKeys of [1, 2, 1000]) {
          t.same(await listAll({ ...query, MaxKeys }), wanted, JSON.stringify({ ...query, MaxKeys }))
        }
        t.same(await listAllV1({ ...query, MaxKeys: 3 }), wanted, `V1 ${JSON.stringify(query)}`)
      }
    }
  })

  await t.test('StartAfter may name any key', async t => {
    for (const StartAfter of [
      'a',
      'a/',
      'a/b',
      'a/b/c',
      'a/b/cc',
      'a/zz',
      'a0',
      'b/',
      'b/only/way/down/deep.txt',
      'zz',
      'ä/',
    ]) {
      for (const Delimiter of ['', '/']) {
        const query = { StartAfter, ...(Delimiter && { Delimiter }) }
        // A listing that continues after a common prefix does not repeat it.
        const wanted = expected(keys, query).filter(key => Delimiter === '' || key !== StartAfter)
        t.same(await listAll(query), wanted, JSON.stringify(query))
      }
    }
  })

  await t.test('parameters', async t => {
    const none = await s3.send(new ListObjectsV2Command({ Bucket, MaxKeys: 0 }))
    t.match(none, { KeyCount: 0, IsTruncated: false })
    const page = await s3.send(new ListObjectsV2Command({ Bucket, Prefix: 'a b/', FetchOwner: true }))
    t.match(page.Contents, [{ Key: 'a b/c', Size: 5, StorageClass: 'STANDARD' }])
    t.match(page.Contents?.[0]?.ETag, /^"[^"]*-[^"]*"$/)
    t.ok(page.Contents?.[0]?.LastModified)
    const encoded = await s3.send(new ListObjectsV2Command({ Bucket, Prefix: 'a b/', EncodingType: 'url' }))
    t.same(
      encoded.Contents?.map(({ Key }) => Key),
      ['a%20b/c'],
    )
    const codes = {
      NotImplemented: { Delimiter: '-' },
      none: { ContinuationToken: '' },
      InvalidArgument: { ContinuationToken: 'not one' },
    }
    for (const [code, input] of Object.entries(codes)) {
      t.equal(await codeOf(s3.send(new ListObjectsV2Command({ Bucket, ...input }))), code)
    }
    t.equal(await codeOf(s3.send(new ListObjectsV2Command({ Bucket, MaxKeys: -1 }))), 'InvalidArgument')
    t.equal(await codeOf(s3.send(new ListObjectsV2Command({ Bucket, EncodingType: 'x' as never }))), 'InvalidArgument')
  })

  await t.test('a key with a base path sees only the way down to it', async t => {
    const { providerId } = world
    const restricted = await world.createKey({
      scopes: ['read'],
      providerAccess: { restrictions: [{ providerId, basePath: '/b/only/way' }] },
    })
    const client = world.client(restricted.s3)
    const deep = 'b/only/way/down/deep.txt'
    t.same(await listAll({ Delimiter: '/' }, client), ['b/'])
    t.same(await listAll({ Delimiter: '/', Prefix: 'b/' }, client), ['b/only/'])
    t.same(await listAll({ Delimiter: '/', Prefix: 'b/on' }, client), ['b/only/'])
    t.same(await listAll({ Delimiter: '/', Prefix: 'b/only/way/' }, client), ['b/only/way/down/'])
    t.same(await listAll({ Delimiter: '/', Prefix: 'b/only/wayward/' }, client), [])
    t.same(await listAll({ Delimiter: '/', Prefix: 'a' }, client), [])
    t.same(await listAll({}, client), [deep])
    t.same(await listAll({ Prefix: 'b/on' }, client), [deep])
    t.same(await listAll({ StartAfter: 'b/only/x' }, client), [])
    t.same(await listAll({ StartAfter: 'b/only/x', Delimiter: '/' }, client), [])
    t.same(await listAll({ StartAfter: 'b/only/w', Delimiter: '/' }, client), ['b/'])
    t.same(await listAll({ StartAfter: 'b/', Delimiter: '/' }, client), [])
  })

  await t.test('a member with several folders lists all of them in one order', async t => {
    const { providerId, app } = world
    const basePaths = ['/b/only/way', '/b/only-this', '/a', '/missing']
    const providerAccess = { restrictions: basePaths.map(basePath => ({ providerId, basePath })) }
    const update = 'mutation ($input: UpdateMemberInput!) { updateMember(input: $input) { id } }'
    const invite = 'mutation { createInvite(input: { role: VIEWER }) { invite } }'
    const member = await app.register('several@example.org', (await app.ask(invite, {}, world.token)).createInvite)
    const create = `mutation { createApiKey(input: { name: "several", scopes: [read] }) {
      s3 { accessKeyId secretAccessKey } } }`
    const client = world.client((await app.ask(create, {}, member.token)).createApiKey.s3)
    await app.upload(world.token, providerId, '/b/only-this/x.txt', 'x')
    await app.ask(update, { input: { userId: member.id, providerAccess } }, world.token)
    const own = (await listAll({})).filter(key => /^(?:a|b\/only\/way|b\/only-this)\//.test(key))
    t.ok(own.some(key => key.startsWith('a/')) && own.includes('b/only-this/x.txt'))
    t.same(await listAll({}, client), own)
    t.same(await listAll({ MaxKeys: 1 }, client), own)
    t.same(await listAll({ Delimiter: '/' }, client), ['a/', 'b/', 'missing/'])
    t.same(await listAll({ Delimiter: '/', MaxKeys: 1 }, client), ['a/', 'b/', 'missing/'])
    t.same(await listAll({ Delimiter: '/', Prefix: 'b/' }, client), ['b/only-this/', 'b/only/'])
    t.same(await listAll({ StartAfter: 'b/only-this/x.txt', Prefix: 'b' }, client), ['b/only/way/down/deep.txt'])
  })

  await t.test('folders with more entries than a page', async t => {
    const names = Array.from({ length: 1203 }, (_, at) => `many/${String((at * 7919) % 1203).padStart(5, '0')}`)
    await mkdir(join(world.root, 'many/00500.d'), { recursive: true })
    await Promise.all([...names, 'many/00500.d/x'].map(name => writeFile(join(world.root, name), '')))
    const all = [...names, 'many/00500.d/x']
    t.same(await listAll({ Prefix: 'many/', MaxKeys: 500 }), expected(all, {}))
    t.same(await listAll({ Prefix: 'many/', Delimiter: '/' }), expected(all, { Prefix: 'many/', Delimiter: '/' }))
  })
})
