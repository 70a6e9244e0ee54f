/** Schedules create jobs at their times: each run on one server, and never two at once. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type CompiledQuery, type RawBuilder, sql } from 'kysely'
import t, { type Test } from 'tap'
import { nextTime } from '../../src/services/schedules/index.ts'
import { startApp, type TestApp, type TestAppOptions } from '../support/app.ts'
import type { Data } from '../support/client.ts'
import { atNight, extent } from '../support/extent.ts'
import { holdLocks } from '../support/held-locks.ts'
import { until } from '../support/until.ts'

const fields =
  'id name cron timeZone enabled error { reason } nextRunAt lastJob { id state } lastSkippedAt job { kind target { path } }'
const createQuery = `mutation ($input: CreateScheduleInput!) { createSchedule(input: $input) { schedule { ${fields} } } }`
const updateQuery = `mutation ($input: UpdateScheduleInput!) { updateSchedule(input: $input) { ${fields} } }`
const deleteQuery = 'mutation ($id: ID!) { deleteSchedule(id: $id) }'
const runQuery = 'mutation ($id: ID!) { runSchedule(id: $id) { id state } }'

async function startWorld(t: Test, options: TestAppOptions = {}) {
  const app = await startApp(t, options)
  const { token } = await app.register('owner@example.com')
  const [rootA, rootB] = [join(app.folder, 'a'), join(app.folder, 'b')]
  await mkdir(rootA)
  await mkdir(rootB)
  await writeFile(join(rootA, 'f'), 'content')
  const a = await app.connectProvider(token, 'local', { root: rootA }, 'a')
  const b = await app.connectProvider(token, 'local', { root: rootB }, 'b')
  const job = { kind: 'SYNC', sources: [{ providerId: a, path: '/' }], target: { providerId: b, path: '/' } }
  return { app, token, a, b, job }
}

type World = Awaited<ReturnType<typeof startWorld>>

/** Creates a schedule that runs once a year, so that only `makeDue` starts a run. */
async function create({ app, token, job }: World, input: object = {}, by = token): Promise<Data> {
  const given = { name: 'yearly', cron: '0 0 1 1 *', timeZone: 'UTC', job, ...input }
  return (await app.ask(createQuery, { input: given }, by)).createSchedule.schedule
}

async function makeDue({ db }: TestApp, ago = '0 seconds'): Promise<void> {
  await sql`update schedules set next_run_at = now() - ${ago}::interval where next_run_at is not null`.execute(db)
}

async function listed({ app, token }: World, id: string): Promise<Data> {
  const { schedules } = await app.ask(`{ schedules(first: 100) { nodes { ${fields} } } }`, {}, token)
  return schedules.nodes.find((each: { id: string }) => each.id === id)
}

async function reasonOf(
  { app, token }: World,
  query: string,
  variables: Record<string, unknown>,
  by = token,
): Promise<string> {
  const { errors } = await app.graphql(query, variables, by)
  return errors[0]?.extensions.reason ?? 'OK'
}

async function jobsOf({ db }: TestApp): Promise<number> {
  const { rows } = await sql<{ count: number }>`select count(*)::int as count from jobs`.execute(db)
  return rows[0]?.count ?? 0
}

async function ran(world: World, id: string): Promise<Data> {
  let schedule: Data
  await until(async () => {
    schedule = await listed(world, id)
    return schedule.lastJob?.state === 'SUCCEEDED' || schedule
  })
  return schedule
}

t.test('the times follow the clocks of the time zone', async t => {
  const times = (cron: string, timeZone: string, from: string, count: number) => {
    const found = [new Date(from)]
    while (found.length <= count) found.push(nextTime({ cron, timeZone }, found.at(-1) as Date))
    return found.slice(1).map(time => time.toISOString().slice(0, 16))
  }
  t.same(
    times('30 2 * * *', 'Europe/Berlin', '2026-03-27T12:00:00Z', 3),
    ['2026-03-28T01:30', '2026-03-29T01:00', '2026-03-30T00:30'],
    'half past two does not exist on the 29th',
  )
  t.same(
    times('30 2 * * *', 'Europe/Berlin', '2026-10-24T12:00:00Z', 2),
    ['2026-10-25T00:30', '2026-10-26T01:30'],
    'half past two exists twice on the 25th',
  )
  t.same(times('30 2 * * *', 'UTC', '2026-03-28T12:00:00Z', 2), ['2026-03-29T02:30', '2026-03-30T02:30'])
  t.same(times('0 * * * *', 'America/New_York', '2026-11-01T04:30:00Z', 3), [
    '2026-11-01T05:00',
    '2026-11-01T06:00',
    '2026-11-01T07:00',
  ])
  t.same(times('*/20 * * * *', 'Asia/Kathmandu', '2026-01-01T00:00:00Z', 2), ['2026-01-01T00:15', '2026-01-01T00:35'])
  t.same(times('0 0 29 2 *', 'UTC', '2026-01-01T00:00:00Z', 1), ['2028-02-29T00:00'])
})

t.test('a schedule is created, changed, disabled and deleted', async t => {
  const world = await startWorld(t)
  const made = await create(world, { cron: '30 2 * * *', timeZone: 'Europe/Berlin', name: 'Nightly' })
  t.match(made, { name: 'Nightly', enabled: true, error: null, lastJob: null, job: { kind: 'SYNC' } })
  t.equal(made.nextRunAt, nextTime(made, new Date()).toISOString())
  const change = async (input: object) =>
    (await world.app.ask(updateQuery, { input: { id: made.id, ...input } }, world.token)).updateSchedule
  t.match(await change({ enabled: false }), { enabled: false, nextRunAt: null, cron: '30 2 * * *' })
  t.match(await change({ cron: '0 4 * * 1' }), { enabled: false, nextRunAt: null })
  const enabled = await change({ enabled: true, timeZone: 'UTC' })
  t.equal(new Date(enabled.nextRunAt).getUTCHours(), 4)
  t.equal(new Date(enabled.nextRunAt).getUTCDay(), 1)
  for (const bad of [
    { cron: '* * * * * *' },
    { cron: '2030-01-01T00:00:00' },
    { cron: '{"$ne": null}' },
    { cron: '61 * * * *' },
    { cron: '0 0 30 2 *' },
    { cron: '' },
    { cron: '* '.repeat(5000) },
    { timeZone: 'Mars/Olympus' },
    { timeZone: '' },
    { name: '' },
  ]) {
    t.equal(await reasonOf(world, updateQuery, { input: { id: made.id, ...bad } }), 'INVALID_INPUT')
  }
  await world.app.ask(deleteQuery, { id: made.id }, world.token)
  t.equal(await listed(world, made.id), undefined)
  t.equal(await reasonOf(world, deleteQuery, { id: made.id }), 'NOT_FOUND')
  await world.app.app.services.audit.flush()
  const { rows } = await sql<{ action: string; subject_id: string }>`
    select action, subject_id from audit_events where subject_kind = 'SCHEDULE' and result = 'OK' order by id`.execute(
    world.app.db,
  )
  t.ok(rows.every(({ subject_id }) => subject_id === made.id))
  const updates = ['SCHEDULE_UPDATE', 'SCHEDULE_UPDATE', 'SCHEDULE_UPDATE']
  t.same(
    rows.map(({ action }) => action),
    ['SCHEDULE_CREATE', ...updates, 'SCHEDULE_DELETE'],
  )
})

t.test('a change keeps what another change has made meanwhile', async t => {
  const world = await startWorld(t)
  const { app, token } = world
  const { id, nextRunAt } = await create(world)
  const during = async (change: RawBuilder<unknown>, input: object): Promise<Data> => {
    const held = await holdLocks(app.db, change)
    const changing = app.ask(updateQuery, { input: { id, ...input } }, token)
    await held.blocks(1)
    await held.commit()
    return (await changing).updateSchedule
  }
  const disabled = sql`update schedules set next_run_at = null where id = ${id}`
  t.match(await during(disabled, { name: 'renamed' }), { name: 'renamed', enabled: false })
  await app.ask(updateQuery, { input: { id, enabled: true } }, token)
  t.match(await during(disabled, { cron: '0 4 * * *' }), { name: 'renamed', enabled: false, cron: '0 4 * * *' })
  const moved = sql`update schedules set cron = '0 0 1 1 *', time_zone = 'UTC', name = 'other' where id = ${id}`
  t.match(await during(moved, { enabled: true }), { name: 'other', enabled: true, cron: '0 0 1 1 *', nextRunAt })
  const { updateSchedule } = await app.ask(updateQuery, { input: { id } }, token)
  t.match(updateSchedule, { name: 'other', enabled: true, nextRunAt }, 'an input without a change changes nothing')
})

t.test('a change of the name starts no other run', async t => {
  const world = await startWorld(t, { settings: { workers: 0 } })
  const { app, token } = world
  const { id } = await create(world)
  await makeDue(app, '1 day')
  const { nextRunAt } = await listed(world, id)
  const { updateSchedule } = await app.ask(updateQuery, { input: { id, name: 'renamed' } }, token)
  t.match(updateSchedule, { name: 'renamed', nextRunAt }, 'the run that is due stays due')
})

atNight(t, 'a schedule runs now, beside its times, and never twice at once', async t => {
  const world = await startWorld(t)
  const { app, token } = world
  const made = await create(world)
  await app.ask(updateQuery, { input: { id: made.id, enabled: false } }, token)
  const { runSchedule } = await app.ask(runQuery, { id: made.id }, token)
  const after = await ran(world, made.id)
  t.match(after, { enabled: false, nextRunAt: null, lastJob: { id: runSchedule.id } })
  await app.app.services.audit.flush()
  const { rows } = await sql<{ details: { schedule: string }; subject_id: string }>`
    select details, subject_id from audit_events where action = 'JOB_CREATE'`.execute(app.db)
  t.match(rows, [{ details: { schedule: made.id }, subject_id: runSchedule.id }])

  await sql`update schedules set next_run_at = '2099-01-01'`.execute(app.db)
  await sql`update providers set job_files_at_once = 1, job_bytes_per_second = 65536`.execute(app.db)
  await writeFile(join(app.folder, 'a', 'large'), Buffer.alloc(4_000_000))
  const reasons = await Promise.all(Array.from({ length: 5 }, () => reasonOf(world, runQuery, { id: made.id })))
  t.same(reasons.toSorted(), ['OK', ...Array(4).fill('PRECONDITION_FAILED')])
  t.equal(await reasonOf(world, runQuery, { id: made.id }), 'PRECONDITION_FAILED')
  t.equal(await jobsOf(app), 2)
  await makeDue(app)
  await until(async () => (await listed(world, made.id)).lastSkippedAt !== null)
  t.equal(await jobsOf(app), 2, 'a run that is due meanwhile is skipped')
})

atNight(t, 'who may create the jobs of a schedule may run it', async t => {
  const world = await startWorld(t)
  const { app, token, a } = world
  const { id } = await create(world)
  const narrow = { providerAccess: { restrictions: [{ providerId: a, basePath: '/' }] } }
  const reader = await app.createKey(token, { name: 'reader', scopes: ['read'] })
  const elsewhere = await app.createKey(token, { name: 'elsewhere', scopes: ['write'], ...narrow })
  const writer = await app.createKey(token, { name: 'writer', scopes: ['write'] })
  const admin = await app.createKey(token, { name: 'admin', scopes: ['admin'] })
  t.equal(await reasonOf(world, runQuery, { id }, reader.key), 'SCOPE_REQUIRED')
  t.equal(await reasonOf(world, runQuery, { id }, elsewhere.key), 'NOT_FOUND')
  t.equal(await reasonOf(world, runQuery, { id: 'no id' }, writer.key), 'NOT_FOUND')
  t.equal(await reasonOf(world, runQuery, { id }, writer.key), 'NOT_FOUND', 'the schedule of the session')
  t.equal(await jobsOf(app), 0)
  t.equal(await reasonOf(world, runQuery, { id }, admin.key), 'OK')
  await ran(world, id)
})

atNight(t, 'a run that is due starts once, even if it was missed many times', async t => {
  const world = await startWorld(t)
  const { id } = await create(world, { cron: '* * * * *' })
  await makeDue(world.app, '3 days')
  const schedule = await ran(world, id)
  t.ok(Date.parse(schedule.nextRunAt) > Date.now() - 2000, 'the next run is in the future')
  t.equal(await jobsOf(world.app), 1)
  await world.app.app.services.audit.flush()
  const { rows } = await sql<{ details: Data; user_email: string }>`
    select details, user_email from audit_events where action = 'JOB_CREATE'`.execute(world.app.db)
  t.match(rows, [{ details: { schedule: id }, user_email: 'owner@example.com' }])
})

/** Runs that are due at once. */
const dueRuns = extent({ gate: 12, nightly: 100 })

atNight(t, `two servers start each of ${dueRuns} due runs once`, async t => {
  const world = await startWorld(t)
  await world.app.replica()
  for (let n = 0; n < dueRuns; n += 1) {
    await create(world, { job: { ...world.job, target: { providerId: world.b, path: `/${n}` } } })
  }
  // Runs are skipped while a member has 100 jobs, so half of them are due first.
  for (const half of [0, 1]) {
    await sql`update schedules set next_run_at = now() where id in
      (select id from schedules order by id limit ${dueRuns / 2} offset ${(half * dueRuns) / 2})`.execute(world.app.db)
    await until(async () => (await jobsOf(world.app)) >= (dueRuns / 2) * (half + 1) || jobsOf(world.app))
    await until(async () => {
      const { rows } = await sql`select 1 from jobs where state in ('QUEUED', 'RUNNING')`.execute(world.app.db)
      return rows.length === 0 || rows.length
    })
  }
  const { rows } = await sql<{ count: number }>`
    select count(distinct last_job_id)::int as count from schedules where next_run_at > now()`.execute(world.app.db)
  t.equal(rows[0]?.count, dueRuns)
  t.equal(await jobsOf(world.app), dueRuns)
})

atNight(t, 'a run is skipped while the job before has not ended', async t => {
  const world = await startWorld(t)
  const { id } = await create(world)
  await makeDue(world.app)
  const { lastJob } = await ran(world, id)
  await sql`update jobs set state = 'PAUSED', ended_at = null where id = ${lastJob.id}`.execute(world.app.db)
  await makeDue(world.app)
  await until(async () => (await listed(world, id)).lastSkippedAt !== null || 'no skip')
  const skipped = await listed(world, id)
  t.ok(Date.parse(skipped.nextRunAt) > Date.now())
  t.equal(skipped.lastJob.id, lastJob.id)
  t.equal(await jobsOf(world.app), 1)
})

atNight(t, 'the server disables a schedule whose key is revoked, and says why', async t => {
  const world = await startWorld(t)
  const { key, id: keyId } = await world.app.createKey(world.token, { name: 'k', scopes: ['write'] })
  const { id } = await create(world, {}, key)
  await world.app.ask('mutation ($id: ID!) { revokeApiKey(id: $id) { id } }', { id: keyId }, world.token)
  await makeDue(world.app)
  await until(async () => (await listed(world, id)).enabled === false || 'still enabled')
  t.match(await listed(world, id), { error: { reason: 'KEY_REVOKED' }, nextRunAt: null, lastJob: null })
  t.equal(await jobsOf(world.app), 0)
  await world.app.app.services.audit.flush()
  const { rows } = await sql<{ user_email: string; credential_id: string }>`
    select user_email, credential_id from audit_events where action = 'SCHEDULE_UPDATE' and result = 'KEY_REVOKED'`.execute(
    world.app.db,
  )
  t.same(rows, [{ user_email: 'owner@example.com', credential_id: keyId }])
})

t.test('a schedule outlives its session, but not the access of its member', async t => {
  const world = await startWorld(t)
  const { app, token } = world
  const inviting = 'mutation ($input: CreateInviteInput!) { createInvite(input: $input) { invite } }'
  const { createInvite } = await app.ask(inviting, { input: { role: 'EDITOR', providerAccess: { all: true } } }, token)
  const editor = await app.register('editor@example.com', { invite: createInvite.invite })
  const { id } = await create(world, {}, editor.token)
  await app.ask('mutation { logout }', {}, editor.token)
  await makeDue(app)
  await ran(world, id)
  await app.ask('mutation ($userId: ID!) { removeMember(userId: $userId) }', { userId: editor.id }, token)
  await makeDue(app)
  await until(async () => (await listed(world, id)).enabled === false || 'still enabled')
  t.match(await listed(world, id), { error: { reason: 'INVALID_CREDENTIAL' } })
})

t.test('rights decide who creates, sees and changes a schedule', async t => {
  const world = await startWorld(t)
  const { app, token, a, b, job } = world
  const { id } = await create(world)
  const keyFor = async (scopes: string[], restrictions?: object[]) =>
    (await app.createKey(token, { name: 'k', scopes, ...(restrictions && { providerAccess: { restrictions } }) })).key
  const reader = await keyFor(['read'])
  const narrow = await keyFor(['write'], [{ providerId: a, basePath: '/' }])
  const input = { name: 'x', cron: '0 0 1 1 *', job }
  t.equal(await reasonOf(world, createQuery, { input }, reader), 'SCOPE_REQUIRED')
  t.equal(await reasonOf(world, createQuery, { input }, narrow), 'PROVIDER_NOT_ALLOWED')
  t.equal(await reasonOf(world, updateQuery, { input: { id, enabled: false } }, reader), 'SCOPE_REQUIRED')
  t.equal(await reasonOf(world, deleteQuery, { id }, narrow), 'NOT_FOUND')
  const seen = async (by: string) => (await app.ask('{ schedules { nodes { id } } }', {}, by)).schedules.nodes.length
  t.same([await seen(reader), await seen(narrow), await seen(token)], [0, 0, 1])
  const missing = { ...job, target: { providerId: b.replace(/^./, c => (c === '0' ? '1' : '0')), path: '/' } }
  t.equal(await reasonOf(world, createQuery, { input: { ...input, job: missing } }), 'NOT_FOUND')
  t.equal(await reasonOf(world, createQuery, { input: { ...input, job: { ...job, sources: [] } } }), 'INVALID_INPUT')
  const long = Array.from({ length: 17 }, (_, n) => ({
    providerId: a,
    path: `/${n}${`/${'x'.repeat(999)}`.repeat(4)}`,
  }))
  t.equal(await reasonOf(world, createQuery, { input: { ...input, job: { ...job, sources: long } } }), 'INVALID_INPUT')
})

atNight(t, 'a member can have 100 schedules, even through two servers at once', async t => {
  const world = await startWorld(t)
  const replica = await world.app.replica()
  const input = { name: 'x', cron: '0 0 1 1 *', job: world.job }
  const answers = await Promise.all(
    Array.from({ length: 110 }, (_, n) => (n % 2 ? world.app : replica).graphql(createQuery, { input }, world.token)),
  )
  const reasons = answers.map(({ errors }) => errors[0]?.extensions.reason ?? 'OK')
  t.equal(reasons.filter(reason => reason === 'OK').length, 100)
  t.equal(reasons.filter(reason => reason === 'TOO_MANY_SCHEDULES').length, 10)
})

atNight(t, 'a run that was due while no server ran starts after the restart', async t => {
  const world = await startWorld(t, { settings: { workers: 0 } })
  const { id } = await create(world)
  await makeDue(world.app, '1 day')
  await world.app.replica({ settings: { workers: 1 } })
  await ran(world, id)
  t.equal(await jobsOf(world.app), 1)
})

atNight(t, 'a server that was killed while it decided leaves the run to another one', async t => {
  const world = await startWorld(t, { settings: { workers: 0 } })
  const { id } = await create(world)
  await makeDue(world.app)
  await sql`update schedules set claim_id = gen_random_uuid(), claimed_until = now() + interval '3 seconds'`.execute(
    world.app.db,
  )
  await world.app.replica({ settings: { workers: 1 } })
  await ran(world, id)
  t.equal(await jobsOf(world.app), 1)
})

atNight(t, 'the search writes nothing while nothing is due', async t => {
  const statements: string[] = []
  let searches = 0
  const onQuery = ({ sql }: CompiledQuery) => {
    if (/from "schedules"/.test(sql) && /next_run_at/.test(sql)) searches += 1
    if (/"?schedules"?/.test(sql) && !sql.startsWith('select')) statements.push(sql)
  }
  const world = await startWorld(t, { onQuery })
  await create(world)
  statements.length = 0
  searches = 0
  await until(() => searches >= 3 || searches)
  t.same(statements, [])
})

atNight(t, 'schedules that a credential does not see do not end its list', async t => {
  const world = await startWorld(t)
  const { app, token, a } = world
  const at = (path: string) => ({ kind: 'DELETE', sources: [{ providerId: a, path }] })
  const { id } = await create(world, { job: at('/visible') })
  await sql`insert into schedules (id, workspace_id, user_id, credential_kind, credential_id, name, cron, time_zone, job)
    select ('f0000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, workspace_id, user_id, credential_kind, credential_id,
      name, cron, time_zone, ${JSON.stringify({ ...at('/hidden'), target: null })}
    from schedules, generate_series(1, 1100) n`.execute(app.db)
  const { key, id: keyId } = await app.createKey(token, {
    name: 'narrow',
    scopes: ['read'],
    providerAccess: { restrictions: [{ providerId: a, basePath: '/visible' }] },
  })
  await sql`update schedules set credential_kind = 'API_KEY', credential_id = ${keyId}`.execute(app.db)
  const query =
    'query ($after: String) { schedules(after: $after) { nodes { id } pageInfo { hasNextPage endCursor } } }'
  const found: string[] = []
  let page = (await app.ask(query, {}, key)).schedules
  for (; ; page = (await app.ask(query, { after: page.pageInfo.endCursor }, key)).schedules) {
    found.push(...page.nodes.map((schedule: { id: string }) => schedule.id))
    if (!page.pageInfo.hasNextPage) break
  }
  t.same(found, [id])
})
