/**
 * An upgrade from the first version. `fixtures/version-0.1.0.json` has the rows, the secret and the files of a data folder that
 * its server made: an owner, a member, a key, an invite, a local disk, a Google Drive that awaits consent, and a half-sent upload.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { sql } from 'kysely'
import { Migrator } from 'kysely/migration'
import t from 'tap'
import { connect } from '../src/db/client.ts'
import { startEmbeddedPostgres } from '../src/db/embedded/index.ts'
import { client } from './support/client.ts'
import { main, runProgram, startProgram, temporaryFolder } from './support/program.ts'

const fixture = JSON.parse(await readFile(new URL('fixtures/version-0.1.0.json', import.meta.url), 'utf8'))
/** The migrations of version 0.1.0, which never change. */
const migrations = [
  '2026-11-21T00-initial',
  '2026-11-21T01-oauth',
  '2026-11-21T02-rate-limits',
  '2026-11-21T03-audit',
  '2026-11-21T04-uploads',
  '2026-11-21T05-idempotency',
  '2026-11-21T08-token-refresh',
]

/** Makes the data folder of version 0.1.0. */
async function restore(dataFolder: string, files: string): Promise<void> {
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
  await sql`update uploads set expires_at = now() + interval '1 day'`.execute(db)
  await db.destroy()
  await embedded.stop()
}

t.test('everything of the first version works after an upgrade', async t => {
  const folder = await temporaryFolder(t)
  const [data, files] = [join(folder, 'data'), join(folder, 'files')]
  await restore(data, files)
  const environment = { STOWAGE_DATA: data, STOWAGE_LOCAL_ROOTS: files, PORT: '0' }
  const doctor = () => runProgram({ environment, command: [process.execPath, main, 'doctor'] })
  t.match((await doctor()).stdout, /^! Database: The next start of the server changes it/m)
  const server = await startProgram(t, { environment })
  const api = client(server.url)

  const login = 'mutation ($input: LoginInput!) { login(input: $input) { token user { id role } } }'
  const signIn = async (email: string) => (await api.ask(login, { input: { email, password: fixture.password } })).login
  const owner = await signIn('owner@example.org')
  t.same(owner.user, { id: fixture.owner, role: 'OWNER' })
  const member = await signIn('ann@example.org')
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
  const headers = { authorization: `Bearer ${fixture.key}`, 'tus-resumable': '1.0.0' }
  const resumed = await fetch(new URL(fixture.upload, server.url), {
    method: 'PATCH',
    headers: { ...headers, 'upload-offset': '5', 'content-type': 'application/offset+octet-stream' },
    body: ' last',
  })
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
  t.match(await doctor(), { status: 0, stdout: /^✓ Secret: It decrypts all stored credentials\.$/m })
})
