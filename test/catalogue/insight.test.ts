/** What takes up space is what is there, and nothing outside of a key. */
import { mkdir, rename, rm, utimes, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { sql } from 'kysely'
import t from 'tap'
import type { StoragePath } from '../../src/auth/path.ts'
import { copiesAmong } from '../../src/services/catalogue/copies.ts'
import { until } from '../support/until.ts'
import { catalogueWorld, converged, type Disk } from './world.ts'

const { app, token, disk } = await catalogueWorld(t)

const usageQuery = `query ($within: [LocationInput!]) {
  storageUsage(within: $within) {
    files bytes directFiles directBytes isComplete parts { provider { id } path files bytes }
  }
}`
const rankQuery = `query ($within: [LocationInput!], $rank: FileRank!, $first: Int) {
  rankedFiles(within: $within, rank: $rank, first: $first) { file { path size } provider { id } }
}`
const duplicatesQuery = `query ($providerId: ID, $first: Int, $after: String) {
  duplicates(providerId: $providerId, first: $first, after: $after) {
    nodes { size checksum { algorithm hex } files { file { path } provider { id } } }
    pageInfo { hasNextPage endCursor }
  }
}`

interface Group {
  size: number
  checksum: { algorithm: string; hex: string } | null
  files: { file: { path: string }; provider: { id: string } }[]
}

interface DuplicatesPage {
  nodes: Group[]
  pageInfo: { hasNextPage: boolean; endCursor: string | null }
}

async function fill(disk: Disk, files: Readonly<Record<string, number>>): Promise<void> {
  for (const [path, size] of Object.entries(files)) {
    await mkdir(dirname(disk.at(path)), { recursive: true })
    await writeFile(disk.at(path), 'x'.repeat(size))
  }
}

async function compared(disk: Disk): Promise<void> {
  await sql`update catalogues set next_round_at = now() where provider_id = ${disk.id}`.execute(app.db)
  await converged(app, disk)
}

/** Returns the folders whose sums differ from their files. */
async function wrongSums(): Promise<unknown[]> {
  const { rows } = await sql`
    with counted as (
      select catalogue, case when path ~ '/' then regexp_replace(path, '/[^/]*$', '') else '' end as path,
        count(*) as files, sum(coalesce(size, 0)) as bytes
      from catalogue_entries where not is_folder group by 1, 2
    )
    select * from counted c full join catalogue_folders f on f.catalogue = c.catalogue and f.path = c.path
    where (c.files, c.bytes) is distinct from (f.files, f.bytes)`.execute(app.db)
  return rows
}

const usage = async (within: object[] | null, as = token) => (await app.ask(usageQuery, { within }, as)).storageUsage
const ranked = async (rank: string, within: object[] | null, as = token): Promise<string[]> => {
  const { rankedFiles } = await app.ask(rankQuery, { within, rank, first: 3 }, as)
  return rankedFiles.map(({ file }: { file: { path: string } }) => file.path)
}
async function duplicates(providerId: string | null, first = 20, as = token): Promise<Group[]> {
  const groups: Group[] = []
  for (let after: string | null = null; ; ) {
    const page: DuplicatesPage = (await app.ask(duplicatesQuery, { providerId, first, after }, as)).duplicates
    const { nodes, pageInfo } = page
    t.ok(nodes.length <= first)
    groups.push(...nodes)
    if (!pageInfo.hasNextPage) return groups
    after = pageInfo.endCursor
  }
}
const pathsOf = (groups: readonly Group[]) => groups.map(({ files }) => files.map(({ file }) => file.path).sort())

t.test('the usage of a folder is the sum of its files, one level at a time', async t => {
  const one = await disk('usage')
  await fill(one, { 'a.txt': 1, 'b/c.txt': 20, 'b/d/e.txt': 300, 'b-c/f.txt': 4000, 'ü/g.txt': 7, 'ü/h/i/j.txt': 9 })
  await compared(one)
  const at = (path: string) => [{ providerId: one.id, path }]
  const top = await usage(at('/'))
  t.match(top, { files: 6, bytes: 4337, directFiles: 1, directBytes: 1 })
  t.same(
    top.parts.map(({ path, files, bytes }: { path: string; files: number; bytes: number }) => [path, files, bytes]),
    [
      ['/b-c', 1, 4000],
      ['/b', 2, 320],
      ['/ü', 2, 16],
    ],
  )
  t.match(await usage(at('/b')), { files: 2, bytes: 320, directFiles: 1, directBytes: 20 })
  t.match((await usage(at('/ü'))).parts, [{ path: '/ü/h', files: 1, bytes: 9 }])
  t.match(await usage([...at('/b'), ...at('/a.txt')]), { files: 3, bytes: 321, directFiles: 0 })
  t.same(await wrongSums(), [])

  await rename(one.at('b/d'), one.at('b-c/d'))
  await writeFile(one.at('a.txt'), 'x'.repeat(50))
  await rm(one.at('ü'), { recursive: true })
  await rm(one.at('b/c.txt'))
  await mkdir(one.at('b/c.txt'))
  await compared(one)
  t.same(await wrongSums(), [], 'the sums follow every change')
  t.match(await usage(at('/')), { files: 3, bytes: 4350, directBytes: 50, parts: [{ path: '/b-c', bytes: 4300 }] })
})

t.test('the largest, the oldest or the newest files come first', async t => {
  const one = await disk('ranks')
  await fill(one, { 'large/a': 900, 'large/b': 800, 'small/c': 10, 'small/d': 700, e: 850, future: 1 })
  const files = ['small/c', 'large/b', 'e', 'large/a', 'small/d']
  await Promise.all(files.map((path, index) => utimes(one.at(path), new Date(1e12), new Date(1e12 + index * 1e9))))
  await utimes(one.at('future'), new Date(), new Date(Date.now() + 7 * 24 * 3600 * 1000))
  await compared(one)
  const at = (path: string) => [{ providerId: one.id, path }]
  t.same(await ranked('LARGEST', at('/')), ['/large/a', '/e', '/large/b'])
  t.same(await ranked('LARGEST', at('/small')), ['/small/d', '/small/c'])
  t.same(await ranked('OLDEST', at('/')), ['/small/c', '/large/b', '/e'])
  t.same(await ranked('NEWEST', at('/')), ['/small/d', '/large/a', '/e'], 'a time in the future says nothing')
})

t.test('copies are found by their checksums, or else by their sizes', async t => {
  const [one, two] = [await disk('copies'), await disk('more copies')]
  await fill(one, { 'a/x': 5000, 'b/x': 5000, 'other y': 3000, single: 77, empty: 0, 'more/empty': 0 })
  await fill(two, { 'x again': 5000, y: 3000, 'small 1': 9, 'small 2': 9 })
  await Promise.all([compared(one), compared(two)])
  t.same(pathsOf(await duplicates(one.id)), [['/a/x', '/b/x']])
  const all = [
    ['/a/x', '/b/x', '/x again'],
    ['/other y', '/y'],
    ['/small 1', '/small 2'],
  ]
  const ofBoth = (groups: readonly Group[]) =>
    pathsOf(groups.filter(({ files }) => files.some(({ provider }) => [one.id, two.id].includes(provider.id))))
  t.same(
    ofBoth(await duplicates(null)).filter(paths => all.some(known => known.join() === paths.join())),
    all,
  )
  t.same(pathsOf(await duplicates(two.id, 1)), [['/small 1', '/small 2']])
  const set = async (disk: Disk, path: string, checksums: object) =>
    sql`update catalogue_entries e set checksums = ${JSON.stringify(checksums)} from catalogues c
      where c.id = e.catalogue and c.provider_id = ${disk.id} and e.path = ${path}`.execute(app.db)
  // A late event of the file system reads an entry again, without the checksums that the test has set.
  await until(async () => {
    await set(one, 'a/x', { md5: 'aa' })
    await set(one, 'b/x', { md5: 'bb' })
    const groups = await duplicates(one.id)
    return groups.length === 0 || groups
  })
  t.pass('different checksums are different contents')
  await until(async () => {
    await set(one, 'a/x', { md5: 'aa' })
    await set(one, 'b/x', { md5: 'aa', sha1: 'cc' })
    const [certain] = await duplicates(one.id)
    return (certain?.size === 5000 && isDeepStrictEqual(certain.checksum, { algorithm: 'md5', hex: 'aa' })) || certain
  })
  t.pass('the same checksums are the same contents')
})

t.test('files without a checksum in common are compared by size', t => {
  const file = (path: string, checksums: Record<string, string>) => ({
    catalogue: 1,
    path: path as StoragePath,
    size: 1,
    modifiedAt: null,
    etag: null,
    checksums,
  })
  const named = (groups: ReturnType<typeof copiesAmong>) =>
    groups.map(({ checksum, files }) => [checksum?.algorithm ?? null, files.map(({ path }) => path).join(' ')])
  const [a, b, c, d] = [file('a', { md5: '1' }), file('b', { md5: '1' }), file('c', { sha1: '9' }), file('d', {})]
  t.same(named(copiesAmong(1, [a, b], 100)), [['md5', 'a b']])
  t.same(named(copiesAmong(1, [a, b, c, d], 100)), [
    ['md5', 'a b'],
    [null, 'a c d'],
  ])
  t.same(named(copiesAmong(1, [c, d], 100)), [[null, 'c d']])
  t.same(named(copiesAmong(1, [a, file('e', { md5: '2' })], 100)), [])
  t.same(named(copiesAmong(1, [file('f', { crc32c: '1' }), file('g', { crc32c: '1' })], 100)), [[null, 'f g']])
  t.end()
})

t.test('a job compares the contents of files of the same size', async t => {
  const one = await disk('contents')
  await fill(one, { 'a/x': 5000, 'b/x': 5000, 'c/single': 300, empty: 0, 'more/empty': 0 })
  await writeFile(one.at('c/other'), 'y'.repeat(5000))
  await compared(one)
  t.same(pathsOf(await duplicates(one.id)), [['/a/x', '/b/x', '/c/other']])
  const create = 'mutation ($input: CreateJobInput!) { createJob(input: $input) { job { id } } }'
  const inputAt = (path: string) => ({ kind: 'CHECKSUM', sources: [{ providerId: one.id, path }] })
  const compare = async (path = '/') => {
    const { id } = (await app.ask(create, { input: inputAt(path) }, token)).createJob.job
    const query =
      'query ($id: ID!) { job(id: $id) { state progress { files skipped } failures { nodes { path reason } } } }'
    const find = async () => (await app.ask(query, { id }, token)).job
    await until(async () => /SUCCEEDED|FAILED/.test((await find()).state), { within: 30_000 })
    return find()
  }
  const { key } = await app.createKey(token, {
    name: 'reader',
    scopes: ['read'],
    providerAccess: { restrictions: [{ providerId: one.id, basePath: '/a' }] },
  })
  const { errors } = await app.graphql(create, { input: inputAt('/') }, key)
  t.equal(errors[0]?.extensions.reason, 'OUTSIDE_BASE_PATH')
  t.ok((await app.ask(create, { input: inputAt('/a') }, key)).createJob.job.id, 'the scope "read" is enough')
  t.match(await compare(), { state: 'SUCCEEDED', progress: { files: 3 } })
  const [copies, ...others] = await duplicates(one.id)
  t.match(copies, {
    checksum: { algorithm: 'sha256' },
    files: [{ file: { path: '/a/x' } }, { file: { path: '/b/x' } }],
  })
  t.same(others, [])
  t.match(await compare(), { progress: { files: 0 } }, 'nothing is read twice')

  await writeFile(one.at('b/x'), 'z'.repeat(5000))
  // The sizes are the same, so wait for the end of the round.
  await compared(one)
  const rounds = sql`
    select from catalogues where provider_id = ${one.id} and round_started_at is null and next_round_at > now()`
  await until(async () => (await rounds.execute(app.db)).rows.length === 1)
  t.match(await duplicates(one.id), [{ checksum: null }], 'the checksum of an earlier version says nothing')
  t.match(await compare('/b'), { progress: { files: 0 } }, 'files outside of the sources do not count')
  t.match(await compare(), { progress: { files: 1 } })
  t.same(await duplicates(one.id), [])
  await app.ask(
    'mutation ($input: UpdateProviderInput!) { updateProvider(input: $input) { id } }',
    { input: { id: one.id, catalogueMode: 'OFF' } },
    token,
  )
  t.match(await compare(), { state: 'FAILED', failures: { nodes: [{ path: '/', reason: 'PRECONDITION_FAILED' }] } })
})

t.test('a key sees what takes up space at its base paths only', async t => {
  const one = await disk('limited')
  await fill(one, { 'team/a': 100, 'team/b': 100, 'secret/c': 100, 'secret/d': 9000 })
  await compared(one)
  const providerAccess = { restrictions: [{ providerId: one.id, basePath: '/team' }] }
  const { key } = await app.createKey(token, { name: 'team', scopes: ['read'], providerAccess })
  t.match(await usage(null, key), { files: 2, bytes: 200, parts: [{ path: '/team', files: 2, bytes: 200 }] })
  t.same(await ranked('LARGEST', null, key), ['/team/a', '/team/b'])
  t.same(pathsOf(await duplicates(null, 20, key)), [['/team/a', '/team/b']])
  t.same(pathsOf(await duplicates(one.id, 20, key)), [['/team/a', '/team/b']])
  for (const path of ['/', '/secret']) {
    const { errors } = await app.graphql(usageQuery, { within: [{ providerId: one.id, path }] }, key)
    t.equal(errors[0]?.extensions.reason, 'OUTSIDE_BASE_PATH')
  }
  const { errors } = await app.graphql(duplicatesQuery, { after: 'x' }, key)
  t.equal(errors[0]?.extensions.reason, 'INVALID_CURSOR')
})
