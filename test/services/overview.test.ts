/** The overview for administrators: people, storages and their usage, failures, and what runs. */
import { mkdir, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import t from 'tap'
import { noteLostEmail } from '../../src/db/outbox.ts'
import { claimUsage, isAnyUsageDue, keptDays, storeUsage } from '../../src/db/usage-days.ts'
import { startApp } from '../support/app.ts'
import { atNight } from '../support/extent.ts'
import { until } from '../support/until.ts'

let queries = 0
const app = await startApp(t, { settings: { catalogueHours: 24 }, onQuery: () => queries++ })
const { db } = app
const owner = await app.register('owner@example.org')
const root = join(app.folder, 'files')
await mkdir(root)
await writeFile(join(root, 'a.txt'), 'x'.repeat(1000))
const disk = await app.connectProvider(owner.token, 'local', { root }, 'Disk')

const fields = `
  people { roles { role members } activeIn7Days activeIn30Days withoutSecondFactor invites serviceAccounts deactivated }
  storages { provider { id name status } files bytes addedBytes }
  failures { kind count latestAt }
  server { version postgresVersion migration databaseBytes hasMixedVersions processes { host version isAlive } }`
const read = async (token = owner.token) => (await app.ask(`{ overview { ${fields} } }`, {}, token)).overview
const usage = async (days = 30, providerId: string | null = null) => {
  const query = 'query ($days: Int!, $id: ID) { usageHistory(days: $days, providerId: $id) { day files bytes } }'
  return (await app.ask(query, { days, id: providerId }, owner.token)).usageHistory
}
const reason = async (query: string, token: string) =>
  (await app.graphql(query, {}, token)).errors[0]?.extensions.reason ?? 'OK'

async function joined(email: string, input: Record<string, unknown>) {
  const query = 'mutation ($input: CreateInviteInput!) { createInvite(input: $input) { invite } }'
  const { createInvite } = await app.ask(query, { input }, owner.token)
  return app.register(email, { invite: createInvite.invite })
}

/** Adds up everything, as a server does within a minute. A catalogue that is being changed is claimed later. */
async function count(): Promise<void> {
  await sql`update catalogues set usage_due_at = now()`.execute(db)
  await until(async () => {
    const id = await claimUsage(db)
    if (id !== null) await storeUsage(db, id)
    return !(await isAnyUsageDue(db))
  })
}

/** Stores the usage of a day. */
const store = (providerId: string, daysAgo: number, bytes: number) =>
  sql`insert into usage_days (provider_id, day, files, bytes)
    values (${providerId}, (now() at time zone 'utc')::date - ${daysAgo}::integer, 1, ${bytes})`.execute(db)

atNight(t, 'the servers count what the storages contain, each day once', async t => {
  await until(async () => (await sql`select from catalogues where indexed_at is not null`.execute(db)).rows.length > 0)
  await count()
  t.match((await read()).storages, [{ provider: { id: disk }, files: 1, bytes: 1000, addedBytes: null }])
  const first = await usage()
  t.match(first, [{ files: 1, bytes: 1000 }])
  t.match(first[0].day, /T00:00:00/)
  t.equal(await claimUsage(db), null, 'a catalogue that was added up is not due')
  await writeFile(join(root, 'b.txt'), 'x'.repeat(500))
  await sql`update catalogues set next_round_at = now()`.execute(db)
  await until(async () => {
    await count()
    const days = await usage()
    return (days.length === 1 && days[0].bytes === 1500) || days
  })
})

t.test('two servers do not add up the same catalogue', async t => {
  const claimAtOnce = async () => {
    const ids = await Promise.all(Array.from({ length: 4 }, () => claimUsage(db)))
    return ids.filter(id => id !== null)
  }
  const due = sql`update catalogues set usage_due_at = now()`
  // The second time, the claim of a server that was killed has ended.
  for (let round = 0; round < 2; round++) {
    await due.execute(db)
    let claimed: number[] = []
    await until(async () => {
      claimed = await claimAtOnce()
      return claimed.length > 0
    })
    t.equal(claimed.length, 1)
    t.equal(await isAnyUsageDue(db), false)
  }
})

t.test('a storage without a catalogue is not counted', async t => {
  const id = await app.connectProvider(owner.token, 'memory', {}, 'Without')
  const change = 'mutation ($input: UpdateProviderInput!) { updateProvider(input: $input) { id } }'
  await app.ask(change, { input: { id, catalogueMode: 'OFF' } }, owner.token)
  await count()
  const { storages } = await read()
  t.match(storages.at(-1), { provider: { id }, files: null, bytes: null, addedBytes: null })
  await app.ask('mutation ($id: ID!) { disconnectProvider(id: $id) }', { id }, owner.token)
})

t.test('usage over days: days without a sum take the one before, for a week', async t => {
  const other = await app.connectProvider(owner.token, 'memory', {}, 'Other')
  await sql`delete from usage_days`.execute(db)
  for (const [daysAgo, bytes] of [
    [40, 100],
    [29, 200],
    [27, 300],
    [0, 1000],
  ] as const)
    await store(disk, daysAgo, bytes)
  await store(other, 28, 5)
  const bytesOf = (days: { bytes: number }[]) => days.map(({ bytes }) => bytes)
  // After a week without a sum, nothing is known until the next one.
  const mine = [200, 200, 300, 300, 300, 300, 300, 300, 300, 1000]
  t.same(bytesOf(await usage(30, disk)), mine)
  t.same(bytesOf(await usage(30)), [200, 205, 305, 305, 305, 305, 305, 305, 300, 1000])
  t.equal((await usage(1)).length, 1)
  const { storages } = await read()
  t.match(storages, [
    { provider: { id: disk }, addedBytes: null },
    { provider: { id: other }, addedBytes: null },
  ])
  await store(disk, 33, 150)
  t.equal((await read()).storages[0].addedBytes, 850)

  t.equal(await reason('{ usageHistory(days: 0) { day } }', owner.token), 'INVALID_INPUT')
  t.equal(await reason(`{ usageHistory(days: ${keptDays + 1}) { day } }`, owner.token), 'INVALID_INPUT')
  t.same(await usage(30, 'rubbish'), [])

  await store(disk, keptDays + 1, 7)
  await app.app.services.overview.sweep()
  t.equal((await sql`select from usage_days where bytes = 7`.execute(db)).rows.length, 0, 'old days are deleted')
  await app.ask('mutation ($id: ID!) { disconnectProvider(id: $id) }', { id: other }, owner.token)
  t.equal((await sql`select from usage_days where provider_id = ${other}`.execute(db)).rows.length, 0)
})

t.test('people count by their strongest role, and by what they do', async t => {
  const editor = await joined('editor@example.org', { role: 'EDITOR', providerAccess: { all: true } })
  const viewer = await joined('viewer@example.org', { role: 'VIEWER', providerAccess: { all: true } })
  const away = await joined('away@example.org', { role: 'VIEWER', providerAccess: { all: true } })
  const left = await joined('left@example.org', { role: 'VIEWER', providerAccess: { all: true } })
  await app.ask('mutation ($id: ID!) { deactivateMember(userId: $id) { id } }', { id: left.id }, owner.token)
  const group = { name: 'Writers', role: 'EDITOR', providerAccess: { all: true } }
  const { createGroup } = await app.ask(
    'mutation ($input: CreateGroupInput!) { createGroup(input: $input) { group { id } } }',
    { input: group },
    owner.token,
  )
  await app.ask(
    'mutation ($group: ID!, $user: ID!) { addGroupMember(groupId: $group, userId: $user) { id } }',
    { group: createGroup.group.id, user: viewer.id },
    owner.token,
  )
  await app.ask(
    'mutation ($input: CreateServiceAccountInput!) { createServiceAccount(input: $input) { id } }',
    { input: { name: 'Backup', role: 'VIEWER', providerAccess: { all: true } } },
    owner.token,
  )
  await app.ask(
    'mutation ($input: CreateInviteInput!) { createInvite(input: $input) { invite } }',
    { input: { role: 'VIEWER', providerAccess: { all: true } } },
    owner.token,
  )
  await app.app.services.audit.flush()
  const outdate = async (userId: string, days: number) => {
    await sql`update sessions set created_at = now() - make_interval(days => ${days}) where user_id = ${userId}`.execute(
      db,
    )
    await sql`delete from audit_events where user_id = ${userId}`.execute(db)
  }
  await outdate(away.id, 20)
  await outdate(viewer.id, 60)
  await sql`insert into passkeys (user_id, credential_id, public_key, counter, transports, is_synced, name)
    values (${editor.id}, 'x', 'x', 0, '{}', false, 'Phone')`.execute(db)
  t.same((await read()).people, {
    roles: [
      { role: 'OWNER', members: 1 },
      { role: 'EDITOR', members: 2 },
      { role: 'VIEWER', members: 1 },
    ],
    activeIn7Days: 2,
    activeIn30Days: 3,
    withoutSecondFactor: 3,
    invites: 1,
    serviceAccounts: 1,
    deactivated: 1,
  })
  const from = queries
  await read()
  const few = queries - from
  for (let n = 0; n < 3; n++) await app.connectProvider(owner.token, 'memory', {}, `More ${n}`)
  await until(async () => {
    const from = queries
    await read()
    return queries - from <= few || queries - from
  })
})

t.test('failures of the last week count, and those that last', async t => {
  t.same((await read()).failures, [])
  const login = 'mutation ($input: LoginInput!) { login(input: $input) { token } }'
  await app.graphql(login, { input: { email: 'owner@example.org', password: 'not the password' } })
  await app.app.services.audit.flush()
  await noteLostEmail(db)
  const ids = { workspace: sql`(select id from workspaces)`, user: sql`${owner.id}::uuid` }
  const creator = sql`gen_random_uuid(), ${ids.workspace}, ${ids.user}, 'SESSION', gen_random_uuid()`
  for (const daysAgo of [1, 8]) {
    await sql`insert into jobs (id, workspace_id, user_id, credential_kind, credential_id, address, request_id, kind, state, sources,
        conflict, delete_extra, dry_run, ended_at)
      values (${creator}, '', '', 'DELETE', 'FAILED', '[]', 'FAIL', false, false, now() - make_interval(days => ${daysAgo}))`.execute(
      db,
    )
  }
  await sql`insert into webhooks (id, workspace_id, user_id, credential_kind, credential_id, name, url, actions, secrets, is_enabled, error)
    values (${creator}, 'Index', 'https://example.org/', '{UPLOAD}', '', false, 'It is gone.')`.execute(db)
  await sql`insert into webhook_deliveries (webhook_id, id, action, event, state, ended_at)
    select id, gen_random_uuid(), 'UPLOAD', '{}', 'FAILED', now() from webhooks, generate_series(1, 2)`.execute(db)
  await sql`update providers set status = 'UNAVAILABLE' where id = ${disk}`.execute(db)
  const { failures } = await read()
  t.match(failures, [
    { kind: 'STORAGES', count: 1, latestAt: null },
    { kind: 'JOBS', count: 1, latestAt: String },
    { kind: 'WEBHOOKS', count: 1 },
    { kind: 'DELIVERIES', count: 2 },
    { kind: 'EMAILS', count: 1 },
    { kind: 'SIGN_INS', count: 1 },
  ])
  t.equal(failures.length, 6)
})

t.test('processes show that they run, with their versions', async t => {
  t.same((await read()).server.processes, [])
  const leave = app.app.services.overview.announce()
  const replica = await app.replica()
  const leaveReplica = replica.app.services.overview.announce()
  await until(async () => (await read()).server.processes.length === 2)
  const { server } = await read()
  t.match(server, { hasMixedVersions: false, postgresVersion: /^\d+/, migration: /^2026-/ })
  t.ok(server.databaseBytes > 1e6)
  t.match(server.processes, [{ host: hostname(), version: server.version, isAlive: true }, {}])
  await sql`insert into server_processes (id, host, version, node_version, started_at, renewed_at)
    values (gen_random_uuid(), 'other', '0.0.1', '24.0.0', now(), now())`.execute(db)
  t.equal((await read()).server.hasMixedVersions, true)
  await sql`update server_processes set renewed_at = now() - interval '5 minutes' where host = 'other'`.execute(db)
  const later = (await read()).server
  t.equal(later.hasMixedVersions, false, 'a process that was killed has no part in it')
  t.match(
    later.processes.find(({ host }: { host: string }) => host === 'other'),
    { isAlive: false },
  )
  await leaveReplica()
  await leave()
  t.match((await read()).server.processes, [{ host: 'other' }])
  await sql`update server_processes set renewed_at = now() - interval '2 hours'`.execute(db)
  t.same((await read()).server.processes, [])
})

t.test('only administrators with access to everything see it', async t => {
  const admin = { role: 'ADMIN', providerAccess: { restrictions: [{ providerId: disk, basePath: '/' }] } }
  const limited = await joined('limited@example.org', admin)
  const member = await joined('member@example.org', { role: 'EDITOR', providerAccess: { all: true } })
  for (const query of ['{ overview { failures { kind } } }', '{ usageHistory { day } }']) {
    t.equal(await reason(query, limited.token), 'PROVIDER_NOT_ALLOWED')
    t.equal(await reason(query, member.token), 'SCOPE_REQUIRED')
    t.equal(await reason(query, 'rubbish'), 'INVALID_CREDENTIAL')
    t.equal(await reason(query, owner.token), 'OK')
  }
})
