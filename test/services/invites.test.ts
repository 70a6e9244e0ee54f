import { sql } from 'kysely'
import t from 'tap'
import { startApp } from '../support/app.ts'
import { password } from '../support/client.ts'
import { until } from '../support/until.ts'

const list =
  '{ invites { id role providerAccess { all restrictions { basePath } } createdAt expiresAt createdBy { id } } }'
const revoke = 'mutation ($id: ID!) { revokeInvite(id: $id) }'
const create = 'mutation ($input: CreateInviteInput!) { createInvite(input: $input) { invite expiresAt } }'
const register = 'mutation ($input: RegisterInput!) { register(input: $input) { user { role } } }'

t.test('open invites', async t => {
  const app = await startApp(t)
  const owner = await app.register('owner@example.org')
  const providerId = await app.connectProvider(owner.token, 'local', { root: app.folder })
  const within = (basePath: string) => ({ restrictions: [{ providerId, basePath }] })
  const invite = async (input: object, token = owner.token): Promise<string> =>
    (await app.ask(create, { input }, token)).createInvite.invite
  const join = async (email: string, input: object) => app.register(email, { invite: await invite(input) })
  const open = async (token = owner.token) => (await app.ask(list, {}, token)).invites
  const roles = async (token?: string) => (await open(token)).map(({ role }: { role: string }) => role)
  const reason = async (query: string, variables: object, token: string | null) =>
    (await app.graphql(query, { ...variables }, token)).errors[0]?.extensions.reason
  const registerWith = (token: string, name: string) =>
    reason(register, { input: { email: `${name}@example.org`, password, invite: token } }, null)
  const events = async () =>
    app.db
      .selectFrom('audit_events')
      .select(['result', 'subject_kind', 'subject_id', 'details'])
      .where('action', '=', 'INVITE_REVOKE')
      .orderBy('id', 'desc')
      .execute()
  const forget = () => app.db.deleteFrom('invites').execute()
  const admin = await join('admin@example.org', { role: 'ADMIN' })
  const editor = await join('editor@example.org', { role: 'EDITOR' })

  await t.test('open invites show the role and access but never the token', async t => {
    t.same(await open(), [], 'used invites are not listed')
    const made = await invite({ role: 'EDITOR', providerAccess: within('/team') }, admin.token)
    const found = await open()
    t.match(found, [
      {
        role: 'EDITOR',
        providerAccess: { all: false, restrictions: [{ basePath: '/team' }] },
        createdBy: { id: admin.id },
      },
    ])
    t.notOk(JSON.stringify(found).includes(made))
    await forget()
  })

  await t.test('invites are listed newest first, without used and expired ones', async t => {
    for (const role of ['VIEWER', 'EDITOR', 'ADMIN']) await invite({ role })
    const used = await invite({ role: 'NONE' })
    t.same(await roles(), ['NONE', 'ADMIN', 'EDITOR', 'VIEWER'])
    await app.register('user@example.org', { invite: used })
    t.same(await roles(), ['ADMIN', 'EDITOR', 'VIEWER'])
    const [, expired] = await open()
    await app.db.updateTable('invites').set({ expires_at: new Date() }).where('id', '=', expired.id).execute()
    t.same(await roles(), ['ADMIN', 'VIEWER'])
    t.equal(await reason(revoke, { id: expired.id }, owner.token), 'NOT_FOUND')
    await forget()
  })

  await t.test('a revoked invite registers nobody, and the audit log records it', async t => {
    const leaked = await invite({ role: 'ADMIN' })
    const [{ id, expiresAt }] = await open()
    t.same(await app.ask(revoke, { id }, owner.token), { revokeInvite: true })
    t.same(await open(), [])
    t.equal(await registerWith(leaked, 'thief'), 'INVALID_INVITE')
    t.equal(await reason(revoke, { id }, owner.token), 'NOT_FOUND', 'it no longer exists')
    t.equal(await reason(revoke, { id: 'made up' }, owner.token), 'NOT_FOUND')
    await app.app.services.audit.flush()
    const [madeUp, again, done] = await events()
    t.match(done, {
      result: 'OK',
      subject_kind: 'INVITE',
      subject_id: id,
      details: { role: 'ADMIN', gives: { providerAccess: { all: true } }, createdBy: owner.id, expiresAt },
    })
    t.match([again?.result, madeUp?.result], ['NOT_FOUND', 'NOT_FOUND'])
  })

  await t.test('an invite that is being used can be revoked only if its registration fails', async t => {
    const isWaiting = async () => {
      const { rows } = await sql`select 1 from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`.execute(app.db)
      return rows.length > 0
    }
    for (const [ending, expected] of [['commit', 'NOT_FOUND'] as const, ['rollback', undefined] as const]) {
      await invite({ role: 'VIEWER' })
      const [{ id }] = await open()
      const using = await app.db.startTransaction().execute()
      await using.updateTable('invites').set({ used_at: new Date() }).where('id', '=', id).execute()
      const revoking = reason(revoke, { id }, owner.token)
      await until(isWaiting)
      await using[ending]().execute()
      t.equal(await revoking, expected, ending)
      t.same(await open(), [])
    }
    await forget()
  })

  await t.test('only those who could create an invite see it and can revoke it', async t => {
    const team = await join('team@example.org', { role: 'ADMIN', providerAccess: within('/team') })
    const gifts = {
      owner: { role: 'OWNER' },
      everything: { role: 'ADMIN' },
      above: { role: 'VIEWER', providerAccess: within('/') },
      beside: { role: 'VIEWER', providerAccess: within('/team-old') },
      below: { role: 'EDITOR', providerAccess: within('/team/a') },
      own: { role: 'ADMIN', providerAccess: within('/team') },
      nothing: { role: 'NONE' },
    }
    const ids: Record<string, string> = {}
    for (const [name, gift] of Object.entries(gifts)) {
      await invite(gift)
      ids[name] = (await open())[0].id
    }
    const seen = async (token: string) => {
      const found = new Set((await open(token)).map(({ id }: { id: string }) => id))
      return Object.keys(ids).filter(name => found.has(ids[name]))
    }
    t.same(await seen(owner.token), Object.keys(gifts))
    t.same(await seen(admin.token), ['everything', 'above', 'beside', 'below', 'own', 'nothing'])
    t.equal(await reason(revoke, { id: ids.owner }, admin.token), 'EXCEEDS_OWN_REACH')
    const key = (input: object) => app.createKey(owner.token, { name: 'k', scopes: ['admin'], ...input })
    const { key: restricted } = await key({ providerAccess: within('/') })
    for (const [query, variables] of [[list, {}] as const, [revoke, { id: ids.nothing }] as const]) {
      t.equal(await reason(query, variables, editor.token), 'SCOPE_REQUIRED')
      t.equal(await reason(query, variables, restricted), 'PROVIDER_NOT_ALLOWED')
      t.equal(await reason(query, variables, team.token), 'PROVIDER_NOT_ALLOWED')
      t.equal(await reason(query, variables, null), 'CREDENTIAL_REQUIRED')
    }
    t.same(await seen(owner.token), Object.keys(gifts), 'all invites remain')
    await app.ask(revoke, { id: ids.below }, admin.token)
    await app.ask(revoke, { id: ids.owner }, (await key({})).key)
    t.same(await seen(owner.token), ['everything', 'above', 'beside', 'own', 'nothing'])
    await forget()
  })

  await t.test('invites of another workspace look missing', async t => {
    const { rows } = await sql<{ id: string }>`
      with other as (insert into workspaces (name) values ('other') returning id)
      insert into invites (workspace_id, token_hash, role, provider_access, expires_at)
      select id, sha256('a hash'), 'NONE', '{"all": true}', now() + interval '1 day' from other returning id`.execute(
      app.db,
    )
    const [foreign] = rows
    t.same(await open(), [])
    t.equal(await reason(revoke, { id: foreign?.id }, owner.token), 'NOT_FOUND')
    t.equal((await app.db.selectFrom('invites').select('id').execute()).length, 1)
    await forget()
  })

  await t.test('invites of a removed member stay listed but are invalid', async t => {
    const maker = await join('maker@example.org', { role: 'ADMIN' })
    const made = await invite({ role: 'VIEWER' }, maker.token)
    await app.ask('mutation ($id: ID!) { removeMember(userId: $id) }', { id: maker.id }, owner.token)
    t.match(await open(), [{ role: 'VIEWER', createdBy: null }])
    t.equal(await registerWith(made, 'late'), 'INVALID_INVITE')
    await forget()
  })

  await t.test('invites are listed up to 200, not counting hidden ones', async t => {
    const insert = (role: string, count: number, age: number) =>
      sql`
      insert into invites (workspace_id, token_hash, role, provider_access, created_at, expires_at)
      select workspace_id, sha256((${role} || n)::bytea), ${role}, '{"all": true}', now() - make_interval(mins => ${age}),
        now() + interval '1 day'
      from members, generate_series(1, ${count}::int) as n where user_id = ${owner.id}`.execute(app.db)
    await insert('OWNER', 201, 1)
    await insert('VIEWER', 201, 2)
    const count = async (token: string) =>
      Object.entries(Object.groupBy<string, string>(await roles(token), role => role)).map(
        ([role, all]) => `${all?.length} ${role}`,
      )
    t.same(await count(owner.token), ['200 OWNER'])
    t.same(await count(admin.token), ['200 VIEWER'])
    await forget()
  })
})
