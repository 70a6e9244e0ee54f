/** The trash: what people delete goes there, comes back, and is deleted for good after its time. */
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { DeleteObjectCommand, DeleteObjectsCommand, S3Client } from '@aws-sdk/client-s3'
import { sql } from 'kysely'
import t from 'tap'
import { localAdapter } from '../../adapters/backends/local/index.ts'
import { memoryAdapter } from '../../adapters/backends/memory/index.ts'
import type { AdapterDefinition } from '../../adapters/contract.ts'
import { startApp } from '../support/app.ts'
import { atNight } from '../support/extent.ts'
import { nativeTrashAdapter, nativeTrashes } from '../support/native-trash.ts'
import { until } from '../support/until.ts'

const remove = `mutation ($input: DeleteInput!) {
  delete(input: $input) { deletedPath trashItem { id kind originalPath size expiresAt } } }`
const trash = `query ($providerId: ID!, $jobId: ID, $first: Int, $after: String) {
  trash(providerId: $providerId, jobId: $jobId, first: $first, after: $after) {
    nodes { id kind name originalPath size deletedAt deletedBy { email } } pageInfo { hasNextPage endCursor } } }`
const restore = 'mutation ($input: RestoreInput!) { restore(input: $input) { __typename path } }'
const empty = 'mutation ($id: ID!) { emptyTrash(providerId: $id) }'
const job = 'mutation ($input: CreateJobInput!) { createJob(input: $input) { job { id permanent } } }'

interface Store {
  id: string
  at(path: string): string
  put(path: string, content: string): Promise<void>
  /** The names in the folder of deleted entries. */
  trashed(): Promise<string[]>
}

const app = await startApp(t, {
  settings: { trashDays: 30 },
  adapters: folder => [
    localAdapter({ localRoots: [folder], dataFolder: '/nowhere' }) as AdapterDefinition,
    memoryAdapter as AdapterDefinition,
    nativeTrashAdapter,
  ],
})
const { token } = await app.register('owner@example.org')
const disk = await connect('disk')
/** Moves nothing in one step. */
const memory = await app.connectProvider(token, 'memory', {})

async function connect(name: string): Promise<Store> {
  const root = join(app.folder, name)
  await mkdir(root, { recursive: true })
  const at = (path: string) => join(root, path)
  return {
    id: await app.connectProvider(token, 'local', { root }, name.replaceAll('/', ' ')),
    at,
    async put(path, content) {
      await mkdir(dirname(at(path)), { recursive: true })
      await writeFile(at(path), content)
    },
    trashed: () => readdir(at('.stowage-trash')).catch(() => []),
  }
}

const deleted = async (providerId: string, path: string, options: object = {}, as = token) =>
  (await app.ask(remove, { input: { providerId, path, ...options } }, as)).delete.trashItem
const listed = async (providerId: string, as = token): Promise<string[]> =>
  (await app.ask(trash, { providerId }, as)).trash.nodes.map((node: { originalPath: string }) => node.originalPath)
const restored = async (id: string, conflict = 'FAIL', as = token) => {
  const { data, errors } = await app.graphql(restore, { input: { id, conflict } }, as)
  return errors[0]?.extensions.reason ?? data.restore.path
}
const reasonOf = async (document: string, variables: Record<string, unknown>, as = token) =>
  (await app.graphql(document, variables, as)).errors[0]?.extensions.reason
const exists = (path: string) =>
  stat(path).then(
    () => true,
    () => false,
  )
const idOf = (place: [id: string, providerId: string, path: string]) =>
  Buffer.from(JSON.stringify(place)).toString('base64url')
const uuidOf = (id: string): string => JSON.parse(Buffer.from(id, 'base64url').toString())[0]

t.test('a file goes to the trash with one rename, and comes back with its bytes', async t => {
  await disk.put('docs/a.txt', 'text')
  const { ino } = await stat(disk.at('docs/a.txt'))
  const item = await deleted(disk.id, '/docs/a.txt')
  t.match(item, { kind: 'FILE', originalPath: '/docs/a.txt', size: 4 })
  t.equal(Math.round((Date.parse(item.expiresAt) - Date.now()) / 86_400_000), 30)
  t.notOk(await exists(disk.at('docs/a.txt')))
  const [name = ''] = await disk.trashed()
  t.equal((await stat(disk.at(`.stowage-trash/${name}`))).ino, ino, 'the same file')
  t.match((await app.ask(trash, { providerId: disk.id }, token)).trash.nodes, [
    { id: item.id, name: 'a.txt', deletedBy: { email: 'owner@example.org' } },
  ])
  t.equal(await restored(item.id), '/docs/a.txt')
  t.equal(await readFile(disk.at('docs/a.txt'), 'utf8'), 'text')
  t.same([await listed(disk.id), await disk.trashed()], [[], []])
  t.equal(await restored(item.id), 'NOT_FOUND', 'only once')
})

t.test('a folder goes to the trash as a whole and at once, and comes back although its parent is gone', async t => {
  await disk.put('tree/sub/b.txt', 'b')
  await disk.put('tree/sub/deep/c.txt', 'c')
  const jobs = async () => (await app.ask('{ jobs { nodes { id } } }', {}, token)).jobs.nodes.length
  const before = await jobs()
  const item = await deleted(disk.id, '/tree/sub', { recursive: true })
  t.match(item, { kind: 'FOLDER', size: null })
  t.equal(await jobs(), before, 'no job')
  t.equal((await deleted(disk.id, '/tree')) ?? null, null, 'an empty folder is just deleted')
  t.equal(await restored(item.id), '/tree/sub')
  t.equal(await readFile(disk.at('tree/sub/deep/c.txt'), 'utf8'), 'c')
  t.equal(await reasonOf(remove, { input: { providerId: disk.id, path: '/tree' } }), 'NOT_EMPTY')
  t.ok(await exists(disk.at('tree/sub/b.txt')))
})

t.test('conflict decides what happens if the path is taken', async t => {
  await disk.put('taken.txt', 'old')
  const first = await deleted(disk.id, '/taken.txt')
  await disk.put('taken.txt', 'new')
  t.equal(await restored(first.id), 'ALREADY_EXISTS')
  t.same(await listed(disk.id), ['/taken.txt'], 'it is still in the trash')
  t.equal(await restored(first.id, 'RENAME'), '/taken (1).txt')
  const second = await deleted(disk.id, '/taken (1).txt')
  await disk.put('taken (1).txt', 'other')
  t.equal(await restored(second.id, 'REPLACE'), '/taken (1).txt')
  t.equal(await readFile(disk.at('taken (1).txt'), 'utf8'), 'old')
  await disk.put('folder/x.txt', 'x')
  const folder = await deleted(disk.id, '/folder', { recursive: true })
  await disk.put('folder/y.txt', 'y')
  t.equal(await restored(folder.id, 'REPLACE'), 'NOT_EMPTY', 'the content of a folder is never replaced')
  t.equal(await restored(folder.id, 'RENAME'), '/folder (1)')
})

t.test('only one of two restores at once succeeds', async t => {
  await disk.put('race.txt', 'once')
  const { id } = await deleted(disk.id, '/race.txt')
  const results = await Promise.all([restored(id, 'RENAME'), restored(id, 'RENAME')])
  t.same(results.toSorted(), ['/race.txt', 'NOT_FOUND'])
  t.equal(await readFile(disk.at('race.txt'), 'utf8'), 'once')
})

t.test('a permanent deletion, and a storage without days, keep nothing', async t => {
  await disk.put('gone.txt', 'gone')
  const before = await disk.trashed()
  t.equal((await deleted(disk.id, '/gone.txt', { permanent: true })) ?? null, null)
  t.same(await disk.trashed(), before)
  t.equal((await app.upload(token, memory, '/gone.txt', 'gone')).status, 201)
  t.equal((await deleted(memory, '/gone.txt')) ?? null, null, 'memory would have to copy it')
  const off = await connect('off')
  const update =
    'mutation ($id: ID!, $days: Int) { updateProvider(input: { id: $id, trashDays: $days }) { trash { days isOneStep } } }'
  const days = async (days: number | null) => (await app.ask(update, { id: off.id, days }, token)).updateProvider.trash
  t.same(await days(0), { days: 0, isOneStep: true })
  await off.put('a.txt', 'a')
  t.equal((await deleted(off.id, '/a.txt')) ?? null, null)
  t.notOk(await exists(off.at('.stowage-trash')))
  t.same(await days(null), { days: 30, isOneStep: true })
  t.equal(await reasonOf(update, { id: off.id, days: -1 }), 'INVALID_INPUT')
  await off.put('a.txt', 'a')
  t.match(await deleted(off.id, '/a.txt'), { originalPath: '/a.txt' })
})

atNight(t, 'a back end that moves nothing in one step copies files, and folders in a job', async t => {
  const update = 'mutation ($id: ID!) { updateProvider(input: { id: $id, trashDays: 3 }) { trash { days isOneStep } } }'
  t.equal((await app.upload(token, memory, '/kept.txt', 'kept')).status, 201)
  t.same((await app.ask(update, { id: memory }, token)).updateProvider.trash, { days: 3, isOneStep: false })
  t.equal((await app.download(token, memory, '/kept.txt')).status, 200, 'the provider stays open')
  for (const path of ['/m/a.txt', '/m/sub/b.txt', '/m/sub/c.txt', '/single.txt']) {
    t.equal((await app.upload(token, memory, path, path)).status, 201)
  }
  const file = await deleted(memory, '/single.txt')
  t.equal(await restored(file.id), '/single.txt')
  t.equal(await (await app.download(token, memory, '/single.txt')).text(), '/single.txt')
  const folder = await deleted(memory, '/m', { recursive: true })
  t.match(folder, { kind: 'FOLDER', originalPath: '/m' })
  t.equal((await app.download(token, memory, '/m')).status, 404)
  t.same(await listed(memory), ['/m'])
  t.equal(await restored(folder.id), '/m')
  for (const path of ['/m/a.txt', '/m/sub/b.txt', '/m/sub/c.txt']) {
    t.equal(await (await app.download(token, memory, path)).text(), path)
  }
  t.same(await listed(memory), [])
  const again = await deleted(memory, '/m', { recursive: true })
  t.equal((await app.upload(token, memory, '/m/a.txt', 'other')).status, 201)
  t.equal(await restored(again.id), 'ALREADY_EXISTS')
  t.equal(await restored(again.id, 'RENAME'), '/m (1)')
  t.equal(await (await app.download(token, memory, '/m (1)/sub/c.txt')).text(), '/m/sub/c.txt')
})

t.test('a back end with a trash of its own uses that one', async t => {
  const id = await app.connectProvider(token, 'native', {})
  const put = async (path: string, content: string) =>
    t.equal((await app.upload(token, id, path, content)).status, 201, path)
  const textAt = async (path: string) => (await app.download(token, id, path)).text()
  const traits = 'query ($id: ID!) { provider(id: $id) { trash { days isOneStep isNative } } }'
  const { provider } = await app.ask(traits, { id }, token)
  t.same(provider.trash, { days: 30, isOneStep: true, isNative: true })
  for (const path of ['/a.txt', '/sub/b.txt']) await put(path, path)
  const file = await deleted(id, '/a.txt')
  const folder = await deleted(id, '/sub', { recursive: true })
  t.same(await listed(id), ['/sub', '/a.txt'])
  t.equal(await restored(folder.id), '/sub')
  t.equal(await textAt('/sub/b.txt'), '/sub/b.txt')
  await put('/a.txt', 'new')
  t.equal(await restored(file.id), 'ALREADY_EXISTS')
  t.equal(await restored(file.id, 'REPLACE'), '/a.txt')
  t.equal(await textAt('/a.txt'), '/a.txt')
  const again = await deleted(id, '/a.txt')
  await app.ask(empty, { id }, token)
  t.same([await listed(id), await restored(again.id)], [[], 'NOT_FOUND'])
  await put('/a.txt', 'first')
  const lost = await deleted(id, '/a.txt')
  await put('/a.txt', 'second')
  for (const each of nativeTrashes) each.empty()
  t.equal(await restored(lost.id, 'REPLACE'), 'NOT_FOUND')
  t.equal(await textAt('/a.txt'), 'second', 'nothing is deleted for an entry that is not in the trash')
})

t.test('a base path sees, restores and empties only what was deleted below it', async t => {
  const store = await connect('limits')
  await store.put('team/in.txt', 'in')
  await store.put('team/kept.txt', 'kept')
  await store.put('other/out.txt', 'out')
  const keyOf = async (scopes: string[], basePath: string) => {
    const providerAccess = { restrictions: [{ providerId: store.id, basePath }] }
    return (await app.createKey(token, { name: basePath, scopes, providerAccess })).key
  }
  const [team, reader] = [await keyOf(['write'], '/team'), await keyOf(['read'], '/')]
  const inside = await deleted(store.id, '/team/in.txt', {}, team)
  const outside = await deleted(store.id, '/other/out.txt')
  t.same(await listed(store.id, team), ['/team/in.txt'])
  t.same(await listed(store.id), ['/other/out.txt', '/team/in.txt'])
  const invite = `mutation ($id: ID!) { createInvite(input: { role: EDITOR, providerAccess: {
    restrictions: [{ providerId: $id, basePath: "/other" }] } }) { invite } }`
  const { createInvite } = await app.ask(invite, { id: store.id }, token)
  const editor = await app.register('editor@example.org', createInvite)
  t.match((await app.ask(trash, { providerId: store.id }, editor.token)).trash.nodes, [
    { originalPath: '/other/out.txt', deletedBy: null },
  ])
  t.equal(await restored(outside.id, 'FAIL', team), 'OUTSIDE_BASE_PATH')
  t.equal(
    await restored(idOf([uuidOf(outside.id), store.id, '/team/out.txt']), 'FAIL', team),
    'NOT_FOUND',
    'a forged id',
  )
  t.equal(await restored(idOf([uuidOf(outside.id), disk.id, '/other/out.txt']), 'FAIL', team), 'PROVIDER_NOT_ALLOWED')
  t.equal(await restored(idOf(['x', store.id, '/team/out.txt']), 'FAIL', team), 'NOT_FOUND')
  t.equal(await restored('nonsense', 'FAIL', team), 'NOT_FOUND')
  t.equal(await reasonOf(trash, { providerId: disk.id }, team), 'PROVIDER_NOT_ALLOWED')
  t.equal(await reasonOf(trash, { providerId: store.id }, reader), 'SCOPE_REQUIRED')
  t.equal(await reasonOf(empty, { id: store.id }, reader), 'SCOPE_REQUIRED')
  t.equal(await restored(inside.id, 'FAIL', reader), 'SCOPE_REQUIRED')
  t.equal(await restored(inside.id, 'FAIL', team), '/team/in.txt')
  await deleted(store.id, '/team/in.txt')
  await app.ask(empty, { id: store.id }, team)
  t.same(await listed(store.id), ['/other/out.txt'], 'the trash of others stays')
  await until(async () => (await store.trashed()).length === 1)
  t.equal(await restored(outside.id), '/other/out.txt')

  const folders = ['/team', '/other'].map(basePath => ({ providerId: store.id, basePath }))
  const update = 'mutation ($input: UpdateMemberInput!) { updateMember(input: $input) { id } }'
  await app.ask(update, { input: { userId: editor.id, providerAccess: { restrictions: folders } } }, token)
  await store.put('teams.txt', 'beside')
  for (const path of ['/team/kept.txt', '/other/out.txt', '/teams.txt']) await deleted(store.id, path)
  t.same(await listed(store.id, editor.token), ['/other/out.txt', '/team/kept.txt'])
  await app.ask(empty, { id: store.id }, editor.token)
  t.same(await listed(store.id), ['/teams.txt'])
})

t.test('pages of the trash follow each other, newest first', async t => {
  const store = await connect('pages')
  for (const name of ['1', '2', '3']) {
    await store.put(name, name)
    await deleted(store.id, `/${name}`)
  }
  const page = async (after: string | null) =>
    (await app.ask(trash, { providerId: store.id, first: 2, after }, token)).trash
  const first = await page(null)
  const second = await page(first.pageInfo.endCursor)
  const names = [...first.nodes, ...second.nodes].map((node: { name: string }) => node.name)
  t.same([names, first.pageInfo.hasNextPage, second.pageInfo.hasNextPage], [['3', '2', '1'], true, false])
  t.equal(await reasonOf(trash, { providerId: store.id, first: 0 }), 'INVALID_INPUT')
  t.equal(await reasonOf(trash, { providerId: store.id, after: 'x' }), 'INVALID_CURSOR')
})

t.test('no path names the folder of deleted entries, and nothing lists it', async t => {
  const outer = await connect('outer')
  const inner = await connect('outer/inner')
  await outer.put('seen.txt', 'seen')
  for (const [store, path] of [
    [outer, 'a.txt'],
    [inner, 'b.txt'],
  ] as const) {
    await store.put(path, path)
    await deleted(store.id, `/${path}`)
    t.equal((await store.trashed()).length, 1)
  }
  const names = `query ($id: ID!, $path: String!) {
    folder(providerId: $id, path: $path) { entries { nodes { name } } } }`
  const namesAt = async (path: string) =>
    (await app.ask(names, { id: outer.id, path }, token)).folder.entries.nodes.map(
      (node: { name: string }) => node.name,
    )
  t.same([await namesAt('/'), await namesAt('/inner')], [['inner', 'seen.txt'], []])
  const archive = Buffer.from(await (await app.download(token, outer.id, '/')).arrayBuffer())
  t.ok(archive.includes('seen.txt') && !archive.includes('stowage-trash'))
  for (const path of ['/.stowage-trash', '/.STOWAGE-trash', '/inner/.stowage-trash/x', '/.\u017ftowage-trash. /x']) {
    t.equal(await reasonOf(names, { id: outer.id, path }), 'INVALID_PATH', path)
    t.equal((await app.download(token, outer.id, path)).status, 400, path)
    t.equal((await app.upload(token, outer.id, path, 'x')).status, 400, path)
  }
  const copies = await connect('copies')
  const copy = 'mutation ($input: CopyInput!) { copy(input: $input) { path } }'
  await app.ask(copy, { input: { providerId: outer.id, path: '/inner', toProviderId: copies.id, toPath: '/c' } }, token)
  t.same(await readdir(copies.at('c')), [], 'a copy leaves it out')
})

atNight(t, 'a job moves each of its sources to the trash, and an undo finds them', async t => {
  const store = await connect('jobs')
  await store.put('a.txt', 'a')
  await store.put('sub/b.txt', 'b')
  await store.put('c.txt', 'c')
  const run = async (paths: string[], options: object = {}) => {
    const sources = paths.map(path => ({ providerId: store.id, path }))
    const { createJob } = await app.ask(job, { input: { kind: 'DELETE', sources, ...options } }, token)
    const state = 'query ($id: ID!) { job(id: $id) { state progress { deleted failed } } }'
    const ended = async () => (await app.ask(state, { id: createJob.job.id }, token)).job
    await until(async () => (await ended()).state === 'SUCCEEDED' || (await ended()))
    return { id: createJob.job.id as string, job: await ended(), permanent: createJob.job.permanent }
  }
  const first = await run(['/a.txt', '/sub'])
  t.match(first, { permanent: false, job: { progress: { deleted: 2, failed: 0 } } })
  const found = (await app.ask(trash, { providerId: store.id, jobId: first.id }, token)).trash.nodes
  t.same(found.map((node: { originalPath: string }) => node.originalPath).toSorted(), ['/a.txt', '/sub'])
  for (const { id } of found) await restored(id)
  t.equal(await readFile(store.at('sub/b.txt'), 'utf8'), 'b')
  t.equal((await run(['/c.txt'], { permanent: true })).permanent, true)
  t.same([await exists(store.at('c.txt')), await listed(store.id)], [false, []])

  const mirror = await connect('mirror')
  await mirror.put('jobs/extra.txt', 'extra')
  const input = {
    kind: 'SYNC',
    sources: [{ providerId: store.id, path: '/sub' }],
    target: { providerId: mirror.id, path: '/jobs' },
    deleteExtra: true,
  }
  await mirror.put('jobs/sub/extra.txt', 'extra')
  await app.ask(job, { input }, token)
  await until(async () => (await listed(mirror.id)).length === 1)
  t.same(await listed(mirror.id), ['/jobs/sub/extra.txt'], 'what a SYNC deletes can be restored')
})

t.test('WebDAV and S3 delete into the trash, unless the client asks otherwise', async t => {
  const store = await connect('doors')
  const slug = (await app.ask('query ($id: ID!) { provider(id: $id) { slug } }', { id: store.id }, token)).provider.slug
  const authorization = `Bearer ${token}`
  const dav = (method: string, path: string, headers: Record<string, string> = {}) =>
    fetch(`${app.url}/dav/${slug}${path}`, { method, headers: { authorization, ...headers } })
  for (const name of ['a.txt', 'b.txt', 'over/old.txt', 'from/new.txt', 'c.txt', 'd.txt', 'e.txt', 'f.txt'])
    await store.put(name, name)
  t.equal((await dav('DELETE', '/a.txt')).status, 204)
  t.same(await listed(store.id), ['/a.txt'])
  t.equal((await dav('DELETE', '/b.txt', { 'X-NC-Skip-Trashbin': 'true' })).status, 204)
  t.same(await listed(store.id), ['/a.txt'])
  t.equal((await dav('MOVE', '/from', { destination: `/dav/${slug}/over` })).status, 204)
  t.same(await listed(store.id), ['/over', '/a.txt'], 'what a MOVE clears away')
  t.same(await readdir(store.at('over')), ['new.txt'])
  const found = await dav('PROPFIND', '/', { depth: '1' })
  t.notMatch(await found.text(), /stowage-trash/)

  const createKey = `mutation { createApiKey(input: { name: "s3", scopes: [write] }) {
    s3 { accessKeyId secretAccessKey } } }`
  const credentials = (await app.ask(createKey, {}, token)).createApiKey.s3
  const s3 = new S3Client({
    endpoint: `${app.url}/s3`,
    region: 'us-east-1',
    forcePathStyle: true,
    credentials,
    maxAttempts: 1,
  })
  t.teardown(() => s3.destroy())
  await s3.send(new DeleteObjectCommand({ Bucket: slug, Key: 'c.txt' }))
  t.same((await listed(store.id))[0], '/c.txt')
  await s3.send(new DeleteObjectCommand({ Bucket: slug, Key: 'd.txt', VersionId: 'null' }))
  const Objects = [{ Key: 'e.txt' }, { Key: 'f.txt', VersionId: 'null' }]
  t.equal((await s3.send(new DeleteObjectsCommand({ Bucket: slug, Delete: { Objects } }))).Deleted?.length, 2)
  t.same((await listed(store.id)).toSorted(), ['/a.txt', '/c.txt', '/e.txt', '/over'])
  for (const name of ['d.txt', 'f.txt']) t.notOk(await exists(store.at(name)), name)
  await t.rejects(s3.send(new DeleteObjectCommand({ Bucket: slug, Key: 'over/new.txt', VersionId: 'v1' })), {
    name: 'InvalidArgument',
  })
})

atNight(t, 'what has expired is deleted for good by one replica', async t => {
  const store = await connect('expiry')
  for (const name of ['old.txt', 'tree/sub/deep.txt', 'new.txt']) await store.put(name, name)
  await deleted(store.id, '/old.txt')
  await deleted(store.id, '/tree', { recursive: true })
  await deleted(store.id, '/new.txt')
  await sql`update trash_items set expires_at = now(), due_at = now() where provider_id = ${store.id}
    and path <> '/new.txt'`.execute(app.db)
  const replicas = await Promise.all([app.replica(), app.replica()])
  await until(async () => (await store.trashed()).length === 1)
  await until(async () => `${await listed(store.id)}` === '/new.txt')
  for (const replica of replicas) t.notMatch(replica.logged(), /"level":[56]0/)
  await Promise.all(replicas.map(replica => replica.close()))
})

t.test('the audit log has deletions, restores and an empty trash', async t => {
  const store = await connect('events')
  await store.put('a.txt', 'a')
  const item = await deleted(store.id, '/a.txt')
  await restored(item.id)
  await app.ask(empty, { id: store.id }, token)
  const events = `query ($id: ID!) { auditEvents(first: 10, filter: { providerId: $id }) {
    nodes { action result path bytes details } } }`
  await app.app.services.audit.flush()
  const { nodes } = (await app.ask(events, { id: store.id }, token)).auditEvents
  t.match(
    nodes.filter(({ action }: { action: string }) => action !== 'PROVIDER_CONNECT'),
    [
      { action: 'TRASH_EMPTY', result: 'OK', path: null, details: { paths: ['/'], items: 0 } },
      { action: 'RESTORE', result: 'OK', path: '/a.txt', bytes: 1, details: { kind: 'file', conflict: 'FAIL' } },
      { action: 'DELETE', result: 'OK', path: '/a.txt', bytes: 1, details: { trashed: true } },
    ],
  )
})

t.test('polls for expired entries write nothing', async t => {
  const writes: string[] = []
  const replica = await app.replica({
    onQuery: ({ sql: text }) => {
      if (/trash_items/.test(text) && /^(?:update|insert|delete)/i.test(text)) writes.push(text)
    },
  })
  await sql`select 1`.execute(replica.db)
  await replica.close()
  t.same(writes, [])
})

t.test('no call was logged as a fault', async t => t.notMatch(app.logged(), /"level":[56]0/))
