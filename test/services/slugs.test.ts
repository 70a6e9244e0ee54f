/** The names of providers in addresses. */
import { sql } from 'kysely'
import { Migrator } from 'kysely/migration'
import t from 'tap'
import { connect } from '../../src/db/client.ts'
import { noProvider } from '../../src/services/providers/index.ts'
import { freeSlug, isSlug, slugOf } from '../../src/services/providers/settings.ts'
import { testDatabase } from '../servers/postgres.ts'
import { startApp } from '../support/app.ts'

const made = {
  'Team disk': 'team-disk',
  '  Büro – Köln / Straße 7 ': 'buro-koln-strasse-7',
  'Łódź & Ærø': 'lodz-aero',
  S3: 'storage-s3',
  文件: 'storage',
  '...': 'storage',
  'ﬁles²': 'files2',
  [`${'x'.repeat(49)} y`]: 'x'.repeat(49),
  ['x'.repeat(200)]: 'x'.repeat(50),
}

t.test('a slug is made from any name', async t => {
  for (const [name, slug] of Object.entries(made)) {
    t.equal(slugOf(name), slug, name)
    t.ok(isSlug(slugOf(name)), name)
  }
  t.equal(freeSlug('disk', ['disk', 'disk-2', 'disk-4']), 'disk-3')
})

t.test('slugs are unique, and only administrators change them', async t => {
  const app = await startApp(t)
  const { token } = await app.register('owner@example.com')
  const connectMutation = `mutation ($input: ConnectProviderInput!) {
    connectProvider(input: $input) { provider { id slug } }
  }`
  const connectAs = (name: string, slug?: string | null) =>
    app.graphql(connectMutation, { input: { type: 'memory', name, slug, config: {} } }, token)
  const slugsOf = async () => {
    const { providers } = await app.ask('{ providers { slug } }', {}, token)
    return providers.map(({ slug }: { slug: string }) => slug)
  }

  const answers = await Promise.all(Array.from({ length: 5 }, () => connectAs('Team disk')))
  for (const { errors } of answers) t.same(errors ?? [], [])
  const expected = ['team-disk', 'team-disk-2', 'team-disk-3', 'team-disk-4', 'team-disk-5']
  t.same((await slugsOf()).toSorted(), expected, 'those that arrive together get different ones')
  const chosen = await connectAs('Team disk', 'archive')
  t.match(chosen, { data: { connectProvider: { provider: { slug: 'archive' } } } })
  const { id } = chosen.data.connectProvider.provider

  const reasonOf = (answer: { errors?: { extensions?: { reason?: string } }[] }) =>
    answer.errors?.[0]?.extensions?.reason
  t.equal(reasonOf(await connectAs('Another', 'archive')), 'ALREADY_EXISTS')
  for (const slug of ['', 'ab', 'Archive', 'a_b', 'a.b', '-abc', 'abc-', 'ä-b', `a${'b'.repeat(63)}`, 'abc\n']) {
    t.equal(reasonOf(await connectAs('Another', slug)), 'INVALID_INPUT', JSON.stringify(slug))
  }
  const update = (input: object, by = token) =>
    app.graphql(
      'mutation ($input: UpdateProviderInput!) { updateProvider(input: $input) { name slug } }',
      { input: { id, ...input } },
      by,
    )
  t.match(await update({ name: 'Cold storage' }), {
    data: { updateProvider: { name: 'Cold storage', slug: 'archive' } },
  })
  t.match(await update({ slug: 'cold' }), { data: { updateProvider: { name: 'Cold storage', slug: 'cold' } } })
  t.match(await update({ slug: 'cold', config: {} }), { data: { updateProvider: { slug: 'cold' } } })
  t.equal(reasonOf(await update({ slug: 'team-disk' })), 'ALREADY_EXISTS')
  t.equal(reasonOf(await update({ slug: 'team-disk', config: {} })), 'ALREADY_EXISTS')
  t.equal(reasonOf(await update({ slug: 'Cold' })), 'INVALID_INPUT')
  const { key: writer } = await app.createKey(token, { name: 'writer', scopes: ['write'] })
  t.equal(reasonOf(await update({ slug: 'mine' }, writer)), 'SCOPE_REQUIRED')

  await t.test('the slug leads to the id, and rights are decided by the service that gets it', async t => {
    const { credentials, providers, files } = app.app.services
    const viewer = await credentials.authenticate(token, { address: '127.0.0.1', requestId: '' })
    t.equal(await providers.idOf(viewer, 'cold'), id)
    for (const slug of ['nothing', '', 'a/b', 'x\0y', 'Cold']) {
      t.equal(await providers.idOf(viewer, slug), noProvider, JSON.stringify(slug))
    }
    await t.rejects(providers.idOf(null, 'cold'), { message: /Send "Authorization/ })
    const { signal } = new AbortController()
    await t.rejects(files.stat(viewer, { providerId: noProvider, path: '/' }, signal), { message: /no such provider/ })
  })
})

t.test('existing providers get slugs in the migration', async t => {
  const db = connect(await testDatabase(t), { max: 1 })
  t.teardown(() => db.destroy())
  const names = [...Object.keys(made).filter(name => !name.includes('Ł')), 'Büro', 'Buro', 'buro 2', 'Bu.ro', 'büro-2']
  const workspaces = ['00000000-0000-4000-8000-000000000001', '00000000-0000-4000-8000-000000000002']
  await sql`alter table providers drop column slug cascade`.execute(db)
  for (const workspace of workspaces) {
    await sql`insert into workspaces (id, name) values (${workspace}, 'w')`.execute(db)
    for (const [index, name] of names.entries()) {
      await sql`insert into providers (id, workspace_id, type, name, config, status, created_at)
        values (gen_random_uuid(), ${workspace}, 'memory', ${name}, '{}', 'CONNECTED', to_timestamp(${index}))`.execute(
        db,
      )
    }
  }
  const name = '2026-11-22T82-provider-slugs'
  const migration = await import(`../../migrations/${name}.ts`)
  const provider = { getMigrations: async () => ({ [name]: migration }) }
  const tables = { migrationTableName: 'again', migrationLockTableName: 'again_lock' }
  t.match(await new Migrator({ db, provider, ...tables }).migrateToLatest(), { error: undefined })
  for (const workspace of workspaces) {
    const { rows } = await sql<{ name: string; slug: string }>`
      select name, slug from providers where workspace_id = ${workspace} order by created_at`.execute(db)
    const slugs = new Map(rows.map(row => [row.name, row.slug]))
    t.same(
      ['Team disk', '...', 'Büro', 'Buro', 'buro 2', 'Bu.ro', 'büro-2'].map(each => slugs.get(each)),
      ['team-disk', 'storage-2', 'buro', 'buro-2', 'buro-2-2', 'bu-ro', 'buro-2-3'],
    )
    t.equal(new Set(slugs.values()).size, names.length)
  }
})
