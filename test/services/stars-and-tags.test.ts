/** Stars and tags follow their entries, end with them, and are seen by those who may see them. */
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { sql } from 'kysely'
import t from 'tap'
import { localAdapter } from '../../adapters/backends/local/index.ts'
import { memoryAdapter } from '../../adapters/backends/memory/index.ts'
import type { StoragePath } from '../../src/auth/path.ts'
import { startApp } from '../support/app.ts'
import { atNight } from '../support/extent.ts'
import { faultyAdapter } from '../support/faulty-adapter.ts'
import { until } from '../support/until.ts'
import { davClient } from '../webdav/client.ts'

const faults = faultyAdapter()
const app = await startApp(t, {
  settings: { trashDays: 30 },
  adapters: folder => [localAdapter({ localRoots: [folder], dataFolder: join(folder, 'data') }), memoryAdapter, faults],
})
const owner = await app.register('owner@example.org')
const root = join(app.folder, 'files')
await mkdir(root)
const disk = await app.connectProvider(owner.token, 'local', { root }, 'Files')
/** Moves nothing in one step. */
const memory = await app.connectProvider(owner.token, 'memory', {}, 'Memory')
const faulty = await app.connectProvider(owner.token, 'faulty', { name: 'faulty' }, 'Faulty')
const member = await joined('member@example.org', 'EDITOR')

async function joined(email: string, role: string) {
  const query =
    'mutation ($role: Role!) { createInvite(input: { role: $role, providerAccess: { all: true } }) { invite } }'
  const { createInvite } = await app.ask(query, { role }, owner.token)
  return app.register(email, { invite: createInvite.invite })
}

async function put(...paths: string[]): Promise<void> {
  for (const path of paths) {
    await mkdir(dirname(join(root, path)), { recursive: true })
    await writeFile(join(root, path), path)
  }
}

const change = (name: string, type: string, select = '{ path }') =>
  `mutation ($input: ${type}!) { ${name}(input: $input) ${select} }`
type Input = Record<string, unknown>
const at = (path: string, providerId = disk) => ({ providerId, path })

const star = (path: string, as = owner.token, providerId = disk) =>
  app.ask(change('addStar', 'LocationInput', ''), { input: at(path, providerId) }, as)
const tag = async (
  path: string,
  add: string[],
  { remove = [] as string[], as = owner.token, providerId = disk } = {},
) =>
  (await app.ask(change('updateTags', 'UpdateTagsInput', ''), { input: { ...at(path, providerId), add, remove } }, as))
    .updateTags
const mark = async (path: string, providerId = disk) => {
  await star(path, owner.token, providerId)
  await tag(path, ['Marked'], { providerId })
}

async function refused(name: string, type: string, input: Input, as: string): Promise<string> {
  const { errors } = await app.graphql(change(name, type, ''), { input }, as)
  return errors[0]?.extensions.reason ?? 'OK'
}

/** Returns the paths that lists show: those with a star, and those with the tag. */
async function marked(as = owner.token): Promise<{ stars: string[]; tagged: string[] }> {
  const found = await app.ask(
    '{ stars(first: 200) { nodes { entry { path } } } taggedEntries(tag: "marked", first: 200) { nodes { path } } }',
    {},
    as,
  )
  const paths = (entries: { path: string }[]) => entries.map(({ path }) => path).toSorted()
  return {
    stars: paths(found.stars.nodes.map(({ entry }: { entry: { path: string } }) => entry)),
    tagged: paths(found.taggedEntries.nodes),
  }
}

const both = (...paths: string[]) => ({ stars: paths, tagged: paths })

async function forget(): Promise<void> {
  await sql`delete from entry_stars`.execute(app.db)
  await sql`delete from entry_tags`.execute(app.db)
}

async function runJob(input: Input, end = 'SUCCEEDED'): Promise<void> {
  const { createJob } = await app.ask(change('createJob', 'CreateJobInput', '{ job { id } }'), { input }, owner.token)
  await until(async () => {
    const { job } = await app.ask('query ($id: ID!) { job(id: $id) { state } }', { id: createJob.job.id }, owner.token)
    return job.state === end
  })
}

/** Stores files in a provider whose next call for one of them waits. Resolves with the function that lets it go on. */
async function holding(path: string, ...others: string[]): Promise<{ waits: () => boolean; goOn: () => void }> {
  const { signal } = new AbortController()
  const files = faults.files('faulty')
  const folder = dirname(path).slice(1) as StoragePath
  if (folder !== '') await files.mkdir(folder, { signal, exclusive: false })
  for (const each of [path, ...others]) {
    await files.write(each.slice(1) as StoragePath, Readable.from([each]), { overwrite: true, signal })
  }
  const { promise, resolve } = Promise.withResolvers<void>()
  let isWaiting = false
  faults.before = async call => {
    if (call.method !== 'read' || `/${call.path}` !== path) return
    isWaiting = true
    await promise
  }
  return { waits: () => isWaiting, goOn: resolve }
}

t.test('they follow what is renamed and moved, through each way to do it', async t => {
  await put('a.txt', 'team/b.txt', 'team-2/c.txt')
  for (const path of ['/a.txt', '/team', '/team/b.txt', '/team-2/c.txt']) await mark(path)
  await app.ask(change('rename', 'RenameInput'), { input: { ...at('/a.txt'), name: 'd.txt' } }, owner.token)
  await app.ask(change('rename', 'RenameInput'), { input: { ...at('/team'), name: 'crew' } }, owner.token)
  t.same(await marked(), both('/crew', '/crew/b.txt', '/d.txt', '/team-2/c.txt'))

  const { createApiKey } = await app.ask(
    'mutation { createApiKey(input: { name: "all", scopes: [write] }) { key } }',
    {},
    owner.token,
  )
  const dav = davClient(app, createApiKey.key)
  const moved = await dav('MOVE', '/files/d.txt', { headers: { destination: `${app.url}/dav/files/e.txt` } })
  t.equal(moved.status, 201)
  await app.ask(
    change('move', 'MoveInput'),
    { input: { ...at('/crew'), toProviderId: memory, toPath: '/crew', conflict: 'FAIL' } },
    owner.token,
  )
  t.same(await marked(), both('/crew', '/crew/b.txt', '/e.txt', '/team-2/c.txt'))
  const { folder } = await app.ask(
    `query ($id: ID!) { folder(providerId: $id, path: "/crew") {
      isStarred tags entries(first: 1) { nodes { isStarred tags } } } }`,
    { id: memory },
    owner.token,
  )
  t.same(folder, { isStarred: true, tags: ['Marked'], entries: { nodes: [{ isStarred: true, tags: ['Marked'] }] } })

  await put('far/x')
  await runJob({ kind: 'MOVE', sources: [at('/e.txt'), at('/team-2')], target: at('/far'), conflict: 'RENAME' })
  t.same(await marked(), both('/crew', '/crew/b.txt', '/far/e.txt', '/far/team-2/c.txt'))
  await forget()
})

atNight(t, 'they follow if they are given while a job moves the entry', async t => {
  const first = await holding('/slow/a.txt')
  const moved = runJob({ kind: 'MOVE', sources: [at('/slow', faulty)], target: at('/far'), conflict: 'RENAME' })
  await until(first.waits)
  for (const path of ['/slow', '/slow/a.txt']) await mark(path, faulty)
  first.goOn()
  await moved
  t.same(await marked(), both('/far/slow', '/far/slow/a.txt'))

  const single = await holding('/single.txt')
  const input = { ...at('/single.txt', faulty), toProviderId: disk, toPath: '/single.txt', conflict: 'FAIL' }
  const asked = app.ask(change('move', 'MoveInput'), { input }, owner.token)
  await until(single.waits)
  await mark('/single.txt', faulty)
  single.goOn()
  await asked
  t.same(await marked(), both('/far/slow', '/far/slow/a.txt', '/single.txt'))
  await forget()

  const second = await holding('/taken/b.txt', '/taken/a.txt')
  const stopped = runJob({ kind: 'MOVE', sources: [at('/taken', faulty)], target: at('/far') }, 'FAILED')
  await until(async () => {
    const { folder } = await app.ask(
      'query ($id: ID!) { folder(providerId: $id, path: "/taken") { entries { nodes { name } } } }',
      { id: faulty },
      owner.token,
    )
    return second.waits() && folder.entries.nodes.length === 1
  })
  const stored = await app.upload(owner.token, faulty, '/taken/a.txt', 'another file')
  t.equal(stored.status, 201)
  await mark('/taken/a.txt', faulty)
  second.goOn()
  await stopped
  t.same(await marked(), both('/taken/a.txt'), 'another file at the earlier path keeps its own')
  await forget()
})

atNight(t, 'they follow to the trash and back, and end with what is deleted', async t => {
  await put('old/a.txt', 'b.txt')
  for (const path of ['/old', '/old/a.txt', '/b.txt']) await mark(path)
  const remove = change('delete', 'DeleteInput', '{ trashItem { id } }')
  const { delete: deleted } = await app.ask(remove, { input: { ...at('/old'), recursive: true } }, owner.token)
  t.same(await marked(), both('/b.txt'))
  await put('old/a.txt')
  t.same(await marked(), both('/b.txt'), 'another file at the path has no mark')
  const input = { id: deleted.trashItem.id, conflict: 'RENAME' }
  const { restore } = await app.ask(change('restore', 'RestoreInput'), { input }, owner.token)
  t.same(await marked(), both('/b.txt', restore.path, `${restore.path}/a.txt`))

  await app.ask(remove, { input: { ...at(restore.path), recursive: true } }, owner.token)
  await app.ask('mutation ($id: ID!) { emptyTrash(providerId: $id) }', { id: disk }, owner.token)
  await app.ask(remove, { input: { ...at('/b.txt'), permanent: true } }, owner.token)
  await until(async () => {
    const { rows } = await sql`select from entry_stars union all select from entry_tags`.execute(app.db)
    return rows.length === 0
  })
  t.same(await marked(), both())
})

atNight(t, 'a restore that fails takes none from the entry that is at its path by now', async t => {
  await put('first.txt', 'second.txt')
  await mark('/second.txt')
  const remove = change('delete', 'DeleteInput', '{ trashItem { id } }')
  const { delete: deleted } = await app.ask(remove, { input: at('/first.txt') }, owner.token)
  await app.ask(change('rename', 'RenameInput'), { input: { ...at('/second.txt'), name: 'first.txt' } }, owner.token)
  const input = { id: deleted.trashItem.id, conflict: 'FAIL' }
  const { errors } = await app.graphql(change('restore', 'RestoreInput'), { input }, owner.token)
  t.equal(errors[0]?.extensions.reason, 'ALREADY_EXISTS')
  t.same(await marked(), both('/first.txt'))
  await forget()
})

atNight(t, 'a restore of what is gone from the trash gives none to another entry at its path', async t => {
  await put('same.txt', 'box/in.txt')
  const remove = change('delete', 'DeleteInput', '{ trashItem { id } }')
  for (const path of ['/same.txt', '/box']) {
    await mark(path)
    const { delete: deleted } = await app.ask(remove, { input: { ...at(path), recursive: true } }, owner.token)
    await put('same.txt', 'box/in.txt')
    await rm(join(root, '.stowage-trash'), { recursive: true })
    const input = { id: deleted.trashItem.id, conflict: 'FAIL' }
    const { errors } = await app.graphql(change('restore', 'RestoreInput'), { input }, owner.token)
    t.match(errors[0]?.extensions.reason, /^(?:ALREADY_EXISTS|NOT_FOUND)$/)
    t.same(await marked(), both(), path)
  }
  await forget()
})

t.test('a copy begins without them, and a replaced file keeps them', async t => {
  await put('a.txt')
  await mark('/a.txt')
  await app.ask(
    change('copy', 'CopyInput'),
    { input: { ...at('/a.txt'), toPath: '/copy.txt', conflict: 'FAIL' } },
    owner.token,
  )
  const query = new URLSearchParams({ providerId: disk, path: '/', conflict: 'replace' })
  const form = new FormData()
  form.set('file', new Blob(['new']), 'a.txt')
  const uploaded = await app.request(`/api/upload/proxy?${query}`, { method: 'POST', body: form, token: owner.token })
  t.equal(uploaded.status, 201)
  t.same(await marked(), both('/a.txt'))
  await forget()
})

t.test('stars belong to a member, and tags to the workspace', async t => {
  const reader = await joined('reader@example.org', 'VIEWER')
  await put('inside/a.txt', 'inside-not/b.txt')
  await app.ask(change('createFolder', 'CreateFolderInput'), { input: at('/inside', memory) }, owner.token)
  for (const path of ['/inside/a.txt', '/inside-not/b.txt']) await mark(path)
  await mark('/inside', memory)
  t.same(await marked(reader.token), { stars: [], tagged: ['/inside', '/inside-not/b.txt', '/inside/a.txt'] })
  await star('/inside/a.txt', reader.token)
  t.same((await marked(reader.token)).stars, ['/inside/a.txt'])
  const tagging = { ...at('/inside/a.txt'), add: ['Mine'] }
  t.equal(await refused('updateTags', 'UpdateTagsInput', tagging, reader.token), 'SCOPE_REQUIRED')

  const keyInput = {
    name: 'below',
    scopes: ['read'],
    providerAccess: { all: false, restrictions: [{ providerId: disk, basePath: '/inside' }] },
  }
  const { createApiKey } = await app.ask(
    change('createApiKey', 'CreateApiKeyInput', '{ key }'),
    { input: keyInput },
    owner.token,
  )
  t.same(await marked(createApiKey.key), both('/inside/a.txt'), 'and nothing at the same path of another storage')
  const { tags } = await app.ask('{ tags { nodes { name count } } }', {}, createApiKey.key)
  t.same(tags.nodes, [{ name: 'Marked', count: 1 }])
  for (const name of ['addStar', 'removeStar']) {
    t.equal(await refused(name, 'LocationInput', at('/inside-not/b.txt'), createApiKey.key), 'OUTSIDE_BASE_PATH')
  }

  t.equal(
    await refused('removeStar', 'LocationInput', at('/a', '00000000-0000-4000-8000-000000000000'), owner.token),
    'NOT_FOUND',
  )
  t.equal(await refused('removeStar', 'LocationInput', at('/a', 'no id'), owner.token), 'NOT_FOUND')
  t.equal(
    await refused('updateTags', 'UpdateTagsInput', { ...at('/a', 'no id'), remove: ['a'] }, owner.token),
    'NOT_FOUND',
  )

  const { users } = await app.ask('{ users { nodes { id email } } }', {}, owner.token)
  const userId = users.nodes.find(({ email }: { email: string }) => email === 'reader@example.org').id
  await app.ask('mutation ($id: ID!) { removeMember(userId: $id) }', { id: userId }, owner.token)
  const { rows } = await sql`select from entry_stars where user_id = ${userId}`.execute(app.db)
  t.equal(rows.length, 0, 'the stars of a member end with the membership')
  await forget()
})

atNight(t, 'tags have limits, and no two that differ only in case', async t => {
  await put('a.txt')
  t.same(await tag('/a.txt', [' Urgent ', 'urgent', 'Öl']), ['Urgent', 'Öl'])
  t.same(await tag('/a.txt', ['URGENT'], { remove: ['ÖL'] }), ['Urgent'])
  const add = (tags: string[]) => refused('updateTags', 'UpdateTagsInput', { ...at('/a.txt'), add: tags }, member.token)
  t.equal(await add(['x'.repeat(51)]), 'INVALID_INPUT')
  t.equal(await add(['']), 'INVALID_INPUT')
  t.equal(await add(['line\nbreak']), 'INVALID_INPUT')
  t.equal(await add(Array.from({ length: 21 }, (_, index) => `t${index}`)), 'TOO_MANY_TAGS')
  const outcomes = await Promise.all(Array.from({ length: 30 }, (_, index) => add([`at once ${index}`])))
  t.equal(outcomes.filter(outcome => outcome === 'OK').length, 19)
  t.same(new Set(outcomes), new Set(['OK', 'TOO_MANY_TAGS']))
  const page =
    'query ($after: String) { tags(first: 7, after: $after) { nodes { name } pageInfo { hasNextPage endCursor } } }'
  const listed: string[][] = []
  for (let after: string | null = null, hasNext = true; hasNext; ) {
    const { tags } = await app.ask(page, { after }, owner.token)
    listed.push(tags.nodes.map(({ name }: { name: string }) => name))
    ;({ endCursor: after, hasNextPage: hasNext } = tags.pageInfo)
  }
  t.same(
    listed.map(names => names.length),
    [7, 7, 6],
  )
  const { file } = await app.ask(
    'query ($id: ID!) { file(providerId: $id, path: "/a.txt") { tags } }',
    { id: disk },
    owner.token,
  )
  t.same(listed.flat(), file.tags)
  for (const after of ['no cursor', '', 'AA']) {
    t.equal((await app.graphql(page, { after }, owner.token)).errors[0]?.extensions.reason, 'INVALID_CURSOR', after)
  }
  t.equal(await refused('addStar', 'LocationInput', at('/missing'), member.token), 'NOT_FOUND')
})

t.test('they end with the storage', async t => {
  await put('end.txt')
  await mark('/end.txt')
  await app.ask('mutation ($id: ID!) { disconnectProvider(id: $id) }', { id: disk }, owner.token)
  const { rows } = await sql`select from entry_stars union all select from entry_tags`.execute(app.db)
  t.equal(rows.length, 0)
})
