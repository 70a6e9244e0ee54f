/** Comments follow their entries, end with them, and mention only people who may read the entry. */
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { sql } from 'kysely'
import t from 'tap'
import { startApp } from '../support/app.ts'
import { atNight } from '../support/extent.ts'
import { until } from '../support/until.ts'

// Emails wait for a server that never answers.
const mail = {
  smtpUrl: 'smtp://127.0.0.1:9',
  from: 'stowage@example.org',
  publicUrl: 'https://files.example.org',
  sendsResets: false,
}
const app = await startApp(t, { settings: { trashDays: 30, mail, publicUrl: mail.publicUrl } })
const owner = await app.register('owner@example.org')
const root = join(app.folder, 'files')
await mkdir(root)
const disk = await app.connectProvider(owner.token, 'local', { root }, 'Files')
const memory = await app.connectProvider(owner.token, 'memory', {}, 'Memory')
const editor = await joined('editor@example.org', 'EDITOR')
const viewer = await joined('viewer@example.org', 'VIEWER')
const outsider = await joined('outsider@example.org', 'EDITOR', {
  all: false,
  restrictions: [{ providerId: disk, basePath: '/elsewhere' }],
})

type Input = Record<string, unknown>
interface Listed {
  id: string
  text: string
  author: { id: string; name: string } | null
  mentions: { id: string; name: string }[]
  editedAt: string | null
}

async function joined(email: string, role: string, providerAccess: Input = { all: true }) {
  const query = `mutation ($role: Role!, $access: ProviderAccessInput) {
    createInvite(input: { role: $role, providerAccess: $access }) { invite } }`
  const { createInvite } = await app.ask(query, { role, access: providerAccess }, owner.token)
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
const at = (path: string, providerId = disk) => ({ providerId, path })
const fields = '{ id text author { id name } mentions { id name } createdAt editedAt }'
const creation = change('createComment', 'CreateCommentInput', fields)
const edit = change('updateComment', 'UpdateCommentInput', fields)
const deletion = change('deleteComment', 'DeleteCommentInput', '')

const comment = async (path: string, text: string, as = owner.token, providerId = disk): Promise<Listed> =>
  (await app.ask(creation, { input: { ...at(path, providerId), text } }, as)).createComment
const listed = async (path: string, as = owner.token, providerId = disk): Promise<Listed[]> => {
  const query = `query ($providerId: ID!, $path: String!) {
    comments(providerId: $providerId, path: $path, first: 100) { nodes ${fields} } }`
  return (await app.ask(query, at(path, providerId), as)).comments.nodes
}
const texts = async (path: string, providerId = disk) =>
  (await listed(path, owner.token, providerId)).map(({ text }) => text)
const reason = async (query: string, input: Input, as: string): Promise<string> =>
  (await app.graphql(query, { input }, as)).errors[0]?.extensions.reason ?? 'OK'
const notices = () =>
  sql<{ user_id: string }>`select user_id from comment_notices order by user_id`
    .execute(app.db)
    .then(({ rows }) => rows)
const forget = () => sql`delete from entry_comments`.execute(app.db)
const key = async (input: Input) =>
  (await app.ask(change('createApiKey', 'CreateApiKeyInput', '{ key }'), { input }, owner.token)).createApiKey.key

atNight(t, 'they follow what is renamed, moved, deleted and restored', async t => {
  await put('a.txt', 'team/b.txt', 'team-2/c.txt')
  for (const path of ['/a.txt', '/team', '/team/b.txt', '/team-2/c.txt']) await comment(path, `on ${path}`)
  await comment('/a.txt', 'second')
  await app.ask(change('rename', 'RenameInput'), { input: { ...at('/a.txt'), name: 'd.txt' } }, owner.token)
  t.same(await texts('/d.txt'), ['second', 'on /a.txt'], 'all of them, the newest first')
  t.same(await texts('/a.txt'), [])
  await app.ask(
    change('move', 'MoveInput'),
    { input: { ...at('/team'), toProviderId: memory, toPath: '/crew', conflict: 'FAIL' } },
    owner.token,
  )
  t.same([await texts('/crew', memory), await texts('/crew/b.txt', memory)], [['on /team'], ['on /team/b.txt']])
  t.same(await texts('/team-2/c.txt'), ['on /team-2/c.txt'])

  const input = { kind: 'MOVE', sources: [at('/team-2')], target: at('/far'), conflict: 'RENAME' }
  const { createJob } = await app.ask(change('createJob', 'CreateJobInput', '{ job { id } }'), { input }, owner.token)
  await until(async () => {
    const { job } = await app.ask('query ($id: ID!) { job(id: $id) { state } }', { id: createJob.job.id }, owner.token)
    return job.state === 'SUCCEEDED'
  })
  t.same(await texts('/far/team-2/c.txt'), ['on /team-2/c.txt'])

  const remove = change('delete', 'DeleteInput', '{ trashItem { id } }')
  const { delete: deleted } = await app.ask(remove, { input: at('/d.txt') }, owner.token)
  t.same(await texts('/d.txt'), [], 'those in the trash are on no other file at the path')
  await app.ask(
    change('restore', 'RestoreInput'),
    { input: { id: deleted.trashItem.id, conflict: 'FAIL' } },
    owner.token,
  )
  t.same(await texts('/d.txt'), ['second', 'on /a.txt'])
  await app.ask(
    change('copy', 'CopyInput'),
    { input: { ...at('/d.txt'), toPath: '/copy.txt', conflict: 'FAIL' } },
    owner.token,
  )
  t.same(await texts('/copy.txt'), [], 'a copy begins without any')
  await app.ask(remove, { input: { ...at('/d.txt'), permanent: true } }, owner.token)
  t.same(await texts('/d.txt'), [], 'they end when it is deleted for good')
  await forget()
})

t.test('who reads, writes, edits and deletes them', async t => {
  await put('inside/a.txt', 'inside-not/b.txt')
  const mine = await comment('/inside/a.txt', ' Line one\r\nline two\t ', editor.token)
  t.match(mine, { text: 'Line one\nline two', author: { id: editor.id, name: 'editor@example.org' }, editedAt: null })
  t.equal((await listed('/inside/a.txt', viewer.token)).length, 1)
  const input = { ...at('/inside/a.txt'), text: 'no' }
  t.equal(await reason(creation, input, viewer.token), 'SCOPE_REQUIRED')
  t.equal(await reason(creation, input, await key({ name: 'reads', scopes: ['read'] })), 'SCOPE_REQUIRED')
  t.equal(await reason(creation, input, outsider.token), 'OUTSIDE_BASE_PATH')
  const restrictions = [{ providerId: disk, basePath: '/inside-not' }]
  const elsewhere = await key({ name: 'other', scopes: ['write'], providerAccess: { all: false, restrictions } })
  t.equal(await reason(creation, input, elsewhere), 'OUTSIDE_BASE_PATH')
  t.equal(await reason(creation, { ...at('/missing'), text: 'x' }, owner.token), 'NOT_FOUND')
  t.equal(await reason(creation, { ...at('/a', 'no id'), text: 'x' }, owner.token), 'NOT_FOUND')
  for (const text of ['', ' \n ', 'x'.repeat(2001), 'nul\0', 'bell\u0007', '\ud800']) {
    t.equal(await reason(creation, { ...input, text }, owner.token), 'INVALID_INPUT', JSON.stringify(text.slice(0, 9)))
  }
  t.equal((await comment('/inside/a.txt', '€'.repeat(2000))).text.length, 2000)

  const edited = (text: string, as: string) => reason(edit, { ...at('/inside/a.txt'), id: mine.id, text }, as)
  t.equal(await edited('by another', owner.token), 'SCOPE_REQUIRED', 'not even an owner edits the words of others')
  t.equal(await edited('better', editor.token), 'OK')
  const [, changed] = await listed('/inside/a.txt')
  t.match(changed, { id: mine.id, text: 'better', editedAt: String })
  t.equal(await reason(edit, { ...at('/inside-not/b.txt'), id: mine.id, text: 'x' }, editor.token), 'NOT_FOUND')
  t.equal(await reason(deletion, { ...at('/inside-not/b.txt'), id: mine.id }, owner.token), 'NOT_FOUND')
  t.equal(await reason(deletion, { ...at('/inside/a.txt'), id: 'no id' }, owner.token), 'NOT_FOUND')
  const second = await comment('/inside/a.txt', 'of the owner')
  t.equal(await reason(deletion, { ...at('/inside/a.txt'), id: second.id }, editor.token), 'SCOPE_REQUIRED')
  t.equal(await reason(deletion, { ...at('/inside/a.txt'), id: mine.id }, owner.token), 'OK', 'an administrator')
  t.equal(await reason(deletion, { ...at('/inside/a.txt'), id: second.id }, owner.token), 'OK', 'the author')
  t.equal((await listed('/inside/a.txt')).length, 1)
  const query =
    'query ($id: ID!) { folder(providerId: $id, path: "/inside") { commentCount entries { nodes { commentCount } } } }'
  const { folder } = await app.ask(query, { id: disk }, owner.token)
  t.same(folder, { commentCount: 0, entries: { nodes: [{ commentCount: 1 }] } })
  const { auditEvents } = await app.ask('{ auditEvents(first: 50) { nodes { action path details } } }', {}, owner.token)
  t.match(
    auditEvents.nodes.find(({ action }: { action: string }) => action === 'COMMENT_DELETE'),
    { path: '/inside/a.txt', details: { commentId: String, authorId: owner.id } },
  )
  t.notMatch(JSON.stringify(auditEvents), /better|of the owner/, 'the log does not repeat the words')
  await forget()
})

t.test('they come in pages', async t => {
  await put('pages.txt')
  for (let n = 0; n < 5; n += 1) await comment('/pages.txt', `${n}`)
  const page = `query ($id: ID!, $after: String) {
    comments(providerId: $id, path: "/pages.txt", first: 2, after: $after) {
      nodes { text } pageInfo { hasNextPage endCursor } } }`
  const found: string[][] = []
  for (let after: string | null = null, hasNext = true; hasNext; ) {
    const { comments } = await app.ask(page, { id: disk, after }, owner.token)
    found.push(comments.nodes.map(({ text }: { text: string }) => text))
    ;({ endCursor: after, hasNextPage: hasNext } = comments.pageInfo)
  }
  t.same(found, [['4', '3'], ['2', '1'], ['0']])
  t.equal(
    (await app.graphql(page, { id: disk, after: 'none' }, owner.token)).errors[0]?.extensions.reason,
    'INVALID_CURSOR',
  )
  await forget()
})

atNight(t, 'a limit holds for an entry, also for many requests at once', async t => {
  await put('full.txt')
  await sql`insert into entry_comments (id, workspace_id, provider_id, path, is_folder, user_id, text)
    select gen_random_uuid(), workspace_id, ${disk}, '/full.txt/', false, user_id, 'x'
    from generate_series(1, 998), members where user_id = ${editor.id}`.execute(app.db)
  const outcomes = await Promise.all(
    Array.from({ length: 8 }, (_, n) =>
      reason(creation, { ...at('/full.txt'), text: 'x' }, n % 2 === 0 ? owner.token : editor.token),
    ),
  )
  t.equal(outcomes.filter(outcome => outcome === 'OK').length, 2)
  t.same(new Set(outcomes), new Set(['OK', 'TOO_MANY_COMMENTS']))
  await sql`update entry_comments set path = '/other.txt/'`.execute(app.db)
  await sql`insert into entry_comments (id, workspace_id, provider_id, path, is_folder, user_id, text)
    select gen_random_uuid(), workspace_id, ${disk}, '/' || n || '/', false, user_id, 'x'
    from generate_series(1, 10000) n, members where user_id = ${editor.id}`.execute(app.db)
  t.equal(
    await reason(creation, { ...at('/full.txt'), text: 'x' }, editor.token),
    'TOO_MANY_COMMENTS',
    'and for a member',
  )
  t.equal(await reason(creation, { ...at('/full.txt'), text: 'x' }, owner.token), 'OK')
  await forget()
})

t.test('mentions name people who may read the entry, and only those', async t => {
  await put('m.txt', 'elsewhere/n.txt')
  const text = `@[${viewer.id}] and @[${owner.id}], again @[${viewer.id}], not @[nobody]`
  const made = await comment('/m.txt', text)
  t.equal(made.text, text)
  t.same(made.mentions, [
    { id: viewer.id, name: 'viewer@example.org' },
    { id: owner.id, name: 'owner@example.org' },
  ])
  await app.ask('mutation { updateProfile(input: { name: "Vera" }) { id } }', {}, viewer.token)
  t.match(await listed('/m.txt'), [{ mentions: [{ name: 'Vera' }, {}] }], 'a new name shows')
  t.same(await notices(), [{ user_id: viewer.id }], 'the author gets no email')

  const mentioning = (id: string, path = '/m.txt') => ({ ...at(path), text: `@[${id}]` })
  const unknown = '00000000-0000-4000-8000-000000000000'
  const refusals = await Promise.all(
    [outsider.id, unknown].map(
      async id => (await app.graphql(creation, { input: mentioning(id) }, owner.token)).errors[0],
    ),
  )
  t.equal(refusals[0]?.extensions.reason, 'INVALID_INPUT')
  t.equal(refusals[0]?.message, refusals[1]?.message, 'whether somebody exists is not told')
  t.equal(await reason(creation, mentioning(outsider.id, '/elsewhere/n.txt'), owner.token), 'OK')
  const many = Array.from({ length: 21 }, (_, n) => `@[${unknown.slice(0, -2)}${n + 10}]`).join('')
  t.equal(await reason(creation, { ...at('/m.txt'), text: many }, owner.token), 'INVALID_INPUT')

  await forget()
  const { id } = await comment('/m.txt', `@[${viewer.id}]`)
  const input = { ...at('/m.txt'), id, text: `@[${viewer.id}] @[${editor.id}]` }
  t.equal(await reason(edit, input, owner.token), 'OK')
  t.equal(await reason(edit, { ...input, text: 'none' }, owner.token), 'OK')
  t.equal(await reason(edit, input, owner.token), 'OK')
  t.same(
    (await notices()).map(({ user_id }) => user_id),
    [editor.id, viewer.id].toSorted(),
    'one email for each',
  )
  await app.ask('mutation { updateProfile(input: { getsMentions: false }) { id } }', {}, editor.token)
  const { me } = await app.ask('{ me { getsMentions } }', {}, editor.token)
  t.equal(me.getsMentions, false)
  await forget()
  await comment('/m.txt', `@[${editor.id}]`)
  t.same(await notices(), [], 'nobody who has switched it off')
  await forget()
})

t.test('the words of somebody who leaves stay, without a name', async t => {
  await put('left.txt')
  await comment('/left.txt', `of @[${editor.id}]`, editor.token)
  await app.ask('mutation ($id: ID!) { removeMember(userId: $id) }', { id: editor.id }, owner.token)
  t.match(await listed('/left.txt'), [{ text: `of @[${editor.id}]`, author: null, mentions: [] }])
  const [{ id } = { id: '' }] = await listed('/left.txt')
  t.equal(await reason(deletion, { ...at('/left.txt'), id }, owner.token), 'OK', 'an administrator deletes them')
})

t.test('they end with the storage', async t => {
  await put('end.txt')
  await comment('/end.txt', 'x')
  await app.ask('mutation ($id: ID!) { disconnectProvider(id: $id) }', { id: disk }, owner.token)
  const { rows } = await sql`select from entry_comments`.execute(app.db)
  t.equal(rows.length, 0)
})
