/**
 * Upgrades from the first and the second version. Each fixture has the rows, the secret and the files of a data folder that the
 * server of the version made: an owner, a member, a key, an invite, a local disk and a half-sent upload; in the first a Google Drive
 * that awaits consent, in the second shares, a job, a schedule, a webhook, an item in the trash, a lock and a WebDAV property.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { sql } from 'kysely'
import { Migrator } from 'kysely/migration'
import t, { type Test } from 'tap'
import { connect } from '../src/db/client.ts'
import { startEmbeddedPostgres } from '../src/db/embedded/index.ts'
import { type Client, client, type Data } from './support/client.ts'
import { atNight } from './support/extent.ts'
import { main, runProgram, startProgram, temporaryFolder } from './support/program.ts'
import { makeShare, sharePath } from './support/shares.ts'

// biome-ignore lint/suspicious/noExplicitAny: the tests assert what they read
type Fixture = any

async function readFixture(name: string): Promise<Fixture> {
  return JSON.parse(await readFile(new URL(`fixtures/${name}.json`, import.meta.url), 'utf8'))
}

/** The migrations of the first version, which never change. */
const firstMigrations = [
  '2026-11-21T00-initial',
  '2026-11-21T01-oauth',
  '2026-11-21T02-rate-limits',
  '2026-11-21T03-audit',
  '2026-11-21T04-uploads',
  '2026-11-21T05-idempotency',
  '2026-11-21T08-token-refresh',
]

/** Makes the data folder of a version. */
async function restore(
  fixture: Fixture,
  migrations: readonly string[],
  dataFolder: string,
  files: string,
): Promise<void> {
  await mkdir(dataFolder, { mode: 0o700 })
  await writeFile(join(dataFolder, 'secret'), `${fixture.secret}\n`, { mode: 0o600 })
  for (const [path, content] of Object.entries<string>(fixture.files)) {
    await mkdir(dirname(join(files, path)), { recursive: true })
    await writeFile(join(files, path), content)
  }
  const embedded = await startEmbeddedPostgres({ dataFolder, log: () => {} })
  const db = connect(embedded.connection, { max: 1 })
  const modules = migrations.map(async name => [name, await import(`../migrations/${name}.ts`)] as const)
  const provider = { getMigrations: async () => Object.fromEntries(await Promise.all(modules)) }
  const { error } = await new Migrator({ db, provider }).migrateToLatest()
  if (error) throw error
  for (const [table, rows] of Object.entries(fixture.tables)) {
    const json = JSON.stringify(rows).replaceAll('{files}', files)
    await sql`insert into ${sql.table(table)} select * from jsonb_populate_recordset(null::${sql.table(table)}, ${json}::jsonb)`.execute(
      db,
    )
  }
  for (const table of ['uploads', 'trash_items', 'webdav_locks'].filter(each => each in fixture.tables)) {
    await sql`update ${sql.table(table)} set expires_at = now() + interval '1 day'`.execute(db)
  }
  await db.destroy()
  await embedded.stop()
}

async function signIn(api: Client, fixture: Fixture, email: string): Promise<Data> {
  const login = 'mutation ($input: LoginInput!) { login(input: $input) { token user { id role } } }'
  return (await api.ask(login, { input: { email, password: fixture.password } })).login
}

/** Sends the last bytes of the half-sent upload. */
function resume(api: Client, fixture: Fixture): Promise<Response> {
  const headers = { 'tus-resumable': '1.0.0', 'upload-offset': '5', 'content-type': 'application/offset+octet-stream' }
  return api.request(fixture.upload, { method: 'PATCH', token: fixture.key, headers, body: ' last' })
}

/** A storage from before keeps versions from when somebody sets their number. Holds and share links work there, too. */
async function keepsFiles(
  t: Test,
  api: Client,
  { providerId, path, token }: { providerId: string; path: string; token: string },
): Promise<void> {
  const ask = (document: string, input: object) => api.ask(document, { input }, token)
  const versions = '{ providers { id versions { count } } }'
  const countOf = async () =>
    (await api.ask(versions, {}, token)).providers.find(({ id }: { id: string }) => id === providerId).versions.count
  t.equal(await countOf(), 0, 'nothing keeps more than before')
  await ask('mutation ($input: UpdateProviderInput!) { updateProvider(input: $input) { id } }', {
    id: providerId,
    versionCount: 5,
  })
  const before = await (await api.download(token, providerId, path)).text()
  const file = `query ($id: ID!, $path: String!) {
    file(providerId: $id, path: $path) { versions(first: 2) { nodes { size isCurrent } } } }`
  await api.upload(token, providerId, path, 'replaced', '&conflict=replace')
  const kept = (await api.ask(file, { id: providerId, path }, token)).file.versions.nodes
  t.ok(
    kept.some(({ size }: { size: number }) => size === before.length),
    'the replaced file is a version',
  )
  const { link } = await makeShare(api, token, { providerId, path })
  t.equal(await (await api.request(sharePath(link, 'content', { path: '/note.txt' }))).text(), 'replaced')
  const hold = 'mutation ($input: CreateHoldInput!) { createHold(input: $input) { id } }'
  t.ok(await ask(hold, { providerId, path, reason: 'Contract 4711' }))
  const remove = 'mutation ($input: DeleteInput!) { delete(input: $input) { trashItem { id } } }'
  const { errors } = await api.graphql(remove, { input: { providerId, path } }, token)
  t.match(errors, [{ extensions: { reason: 'ON_HOLD' } }])
}

atNight(t, 'everything of the first version works after an upgrade', async t => {
  const folder = await temporaryFolder(t)
  const [data, files] = [join(folder, 'data'), join(folder, 'files')]
  const fixture = await readFixture('first-version')
  await restore(fixture, firstMigrations, data, files)
  const environment = { STOWAGE_DATA: data, STOWAGE_LOCAL_ROOTS: files, PORT: '0' }
  const doctor = () => runProgram({ environment, command: [process.execPath, main, 'doctor'] })
  t.match((await doctor()).stdout, /^! Database: The next start of the server changes it/m)
  const server = await startProgram(t, { environment })
  const api = client(server.url)

  const owner = await signIn(api, fixture, 'owner@example.org')
  t.same(owner.user, { id: fixture.owner, role: 'OWNER' })
  const member = await signIn(api, fixture, 'ann@example.org')
  t.same(member.user, { id: fixture.member, role: 'EDITOR' })
  const { workspace, providers } = await api.ask('{ workspace { name } providers { id name status } }', {}, owner.token)
  t.same(workspace, { name: 'Since the first version' })
  t.same(providers, [
    { id: fixture.disk, name: 'Team disk', status: 'CONNECTED' },
    { id: fixture.drive, name: 'Team drive', status: 'NEEDS_AUTHORIZATION' },
  ])
  const authorize = 'mutation ($id: ID!) { authorizeProvider(id: $id) { authorizationUrl } }'
  t.ok((await api.ask(authorize, { id: fixture.drive }, owner.token)).authorizeProvider.authorizationUrl)

  for (const [token, path] of [
    [fixture.key, '/team/note.txt'],
    [member.token, '/team/uploaded.txt'],
  ]) {
    const content = await (await api.download(token, fixture.disk, path)).text()
    t.equal(content, fixture.files[path.slice(1)])
  }
  t.equal((await api.download(fixture.key, fixture.disk, '/other')).status, 403, 'the base path of the key holds')
  const resumed = await resume(api, fixture)
  t.equal(resumed.status, 204)
  t.equal(await readFile(join(files, 'team/resumed.txt'), 'utf8'), 'first last')
  const invited = { email: 'new@example.org', password: fixture.password, invite: fixture.invite }
  const register = 'mutation ($input: RegisterInput!) { register(input: $input) { user { role } } }'
  t.same((await api.ask(register, { input: invited })).register.user, { role: 'VIEWER' })
  const { auditEvents } = await api.ask(
    '{ auditEvents(filter: { action: PROVIDER_CONNECT }) { nodes { providerName userEmail } } }',
    {},
    owner.token,
  )
  t.same(
    auditEvents.nodes.map(({ providerName }: { providerName: string }) => providerName),
    ['Team drive', 'Team disk'],
  )
  const job = { kind: 'COPY', sources: [{ providerId: fixture.disk, path: '/team' }], conflict: 'FAIL' }
  const target = { providerId: fixture.disk, path: '/copies' }
  const create = 'mutation ($input: CreateJobInput!) { createJob(input: $input) { job { state } } }'
  t.ok(await api.ask(create, { input: { ...job, target } }, owner.token), 'new features work with old rows')
  await keepsFiles(t, api, { providerId: fixture.disk, path: '/team/note.txt', token: owner.token })
  t.match(await doctor(), { status: 0, stdout: /^✓ Secret: It decrypts all stored credentials\.$/m })
})

t.test('everything of the second version works after an upgrade', async t => {
  const folder = await temporaryFolder(t)
  const [data, files] = [join(folder, 'data'), join(folder, 'files')]
  const fixture = await readFixture('second-version')
  await restore(fixture, fixture.migrations, data, files)
  const environment = { STOWAGE_DATA: data, STOWAGE_LOCAL_ROOTS: files, PORT: '0', STOWAGE_WORKERS: '0' }
  const server = await startProgram(t, { environment })
  const api = client(server.url)

  const owner = await signIn(api, fixture, 'owner@example.org')
  t.same(owner.user, { id: fixture.owner, role: 'OWNER' })
  const content = async (token: string, path: string) => (await api.download(token, fixture.disk, path)).text()
  t.equal(await content(fixture.key, '/team/note.txt'), fixture.files['team/note.txt'])
  t.equal((await api.download(fixture.key, fixture.disk, '/copies')).status, 403, 'the base path of the key holds')
  const { providers, job, schedules, webhooks } = await api.ask(
    `query ($job: ID!) {
      providers { id slug catalogue { mode } }
      job(id: $job) { state progress { files } }
      schedules { nodes { id name cron timeZone } }
      webhooks { id name events }
    }`,
    { job: fixture.job },
    owner.token,
  )
  t.match(providers, [{ id: fixture.disk, catalogue: { mode: 'NAMES' } }])
  t.same(job, { state: 'SUCCEEDED', progress: { files: 2 } })
  t.match(schedules.nodes, [
    { id: fixture.schedule, name: 'Nightly copy', cron: '30 2 * * *', timeZone: 'Europe/Berlin' },
  ])
  t.match(webhooks, [{ id: fixture.webhook, name: 'Chat', events: ['ENTRY_MOVED'] }])

  const restoreItem = 'mutation ($input: RestoreInput!) { restore(input: $input) { path } }'
  t.ok(await api.ask(restoreItem, { input: { id: fixture.trashItem } }, owner.token))
  t.equal(await content(owner.token, '/team/deleted.txt'), 'deleted by the second version')

  const dav = (method: string, path: string, body: string, headers: Record<string, string> = {}) =>
    api.request(`/dav/${providers[0].slug}${path}`, {
      method,
      body,
      headers: { authorization: `Basic ${Buffer.from(`any:${fixture.key}`).toString('base64')}`, ...headers },
    })
  const find = '<d:propfind xmlns:d="DAV:" xmlns:x="urn:x"><d:prop><x:color/></d:prop></d:propfind>'
  t.match(await (await dav('PROPFIND', '/team/note.txt', find, { depth: '0' })).text(), />green</)
  t.equal((await dav('PUT', '/team/locked.txt', 'new')).status, 423, 'the lock holds')
  t.equal((await dav('PUT', '/team/locked.txt', 'new', { if: `(${fixture.lockToken})` })).status, 204)

  const resumed = await resume(api, fixture)
  t.equal(resumed.status, 204)
  t.equal(await readFile(join(files, 'team/resumed.txt'), 'utf8'), 'first last')

  const share = fixture.share.replace('/s/', '/api/share/')
  t.equal((await api.request(share)).status, 401, 'the share asks for its password')
  const headers = { 'stowage-share-password': fixture.sharePassword }
  t.equal(await (await api.request(`${share}/content?path=/a.txt`, { headers })).text(), 'shared a')
  const dropped = await api.request(`${fixture.drop.replace('/s/', '/api/share/')}/files?path=/new.txt`, {
    method: 'POST',
    body: 'dropped',
  })
  t.equal(dropped.status, 201)
  await keepsFiles(t, api, { providerId: fixture.disk, path: '/team/note.txt', token: owner.token })
})
