/** The order in which a subscription learns of the states of a job, and how the feed reads many large jobs. */
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import type { Viewer } from '../../src/auth/viewer.ts'
import type { Database } from '../../src/db/client.ts'
import { createJobFeed, type JobFeed, type JobSubscription } from '../../src/services/jobs/feed.ts'
import { startApp, type TestApp } from '../support/app.ts'
import { atNight } from '../support/extent.ts'
import { until } from '../support/until.ts'

/** Passes each execution of a query that begins with `selectFrom` to `around`. */
function wrapQueries(db: Database, around: (work: () => Promise<unknown>) => Promise<unknown>): void {
  const wrap = <T extends object>(object: T): T =>
    new Proxy(object, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name, target)
        if (typeof member !== 'function') return member
        if (name === 'execute') return () => around(() => member.call(target))
        return (...args: unknown[]) => {
          const result: unknown = member.apply(target, args)
          const isBuilder = typeof result === 'object' && result !== null && 'execute' in result
          return isBuilder ? wrap(result) : result
        }
      },
    })
  const selectFrom = db.selectFrom.bind(db) as (...args: unknown[]) => object
  Object.defineProperty(db, 'selectFrom', { value: (...args: unknown[]) => wrap(selectFrom(...args)) })
}

interface World {
  app: TestApp
  token: string
  viewer: Viewer
  /** The id of a job that is queued. */
  id: string
  /** Creates a feed whose queries are passed to `around`. */
  createFeed(around: (work: () => Promise<unknown>) => Promise<unknown>): Promise<JobFeed>
}

async function startWorld(t: Test): Promise<World> {
  const app = await startApp(t, { settings: { workers: 0 } })
  const { ask, register, connectProvider, folder } = app
  const { token, id: userId } = await register('owner@example.org')
  const providerId = await connectProvider(token, 'local', { root: folder })
  const input = { kind: 'DELETE', sources: [{ providerId, path: '/x' }] }
  const create = 'mutation ($input: CreateJobInput!) { createJob(input: $input) { job { id } } }'
  const { createJob } = await ask(create, { input }, token)
  const { workspace } = await ask('{ workspace { id } }', {}, token)
  const member = { workspaceId: workspace.id, userId }
  const viewer = { scope: 'admin', access: { all: true }, member, credentialId: 'x' } as unknown as Viewer
  return {
    app,
    token,
    viewer,
    id: createJob.job.id,
    async createFeed(around) {
      const { db } = await app.replica()
      wrapQueries(db, around)
      const registered = { signal: new AbortController().signal, [Symbol.dispose]() {} }
      const activeGrants = { registerViewer: () => registered } as unknown as Parameters<
        typeof createJobFeed
      >[0]['activeGrants']
      const feed = createJobFeed({ db, activeGrants, onError: error => t.fail(String(error)) })
      t.teardown(() => feed.close())
      return feed
    },
  }
}

atNight(t, 'a subscription learns of a change while it begins', async t => {
  const { app, token, viewer, id, createFeed } = await startWorld(t)
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  let started = 0
  let done = 0
  // The first query waits.
  const feed = await createFeed(async work => {
    started += 1
    const isFirst = started === 1
    if (isFirst) await released
    const result = await work()
    if (!isFirst) done += 1
    return result
  })

  const opening = feed.open(viewer, id, new AbortController().signal)
  // The feed publishes the state as soon as it listens, before the subscription reads it.
  await until(() => done >= 2)
  await app.ask('mutation ($id: ID!) { cancelJob(id: $id) { state } }', { id }, token)
  release()
  const subscription = await opening
  const states: string[] = []
  const reading = (async () => {
    for await (const { job } of subscription) {
      states.push(job.state)
      if (job.state === 'CANCELED') return
    }
  })()
  reading.catch(error => t.fail(String(error)))
  await until(() => states.at(-1) === 'CANCELED' || states)
  await reading
  // A subscription keeps only the latest state, which may be the second one by the time that it is read.
  t.match(states.join(' '), /^(QUEUED )?CANCELED$/)
})

t.test('a change back to the state before the beginning is published', async t => {
  const { app, viewer, id, createFeed } = await startWorld(t)
  const feed = await createFeed(work => work())
  const { signal } = new AbortController()
  const stateOf = async (next: ReturnType<JobSubscription['next']>) => (await next).value?.job.state
  const first = await feed.open(viewer, id, signal)
  t.equal(await stateOf(first.next()), 'QUEUED')
  // Without the trigger, no notification tells the feed of the change.
  await sql`alter table jobs disable trigger user`.execute(app.db)
  await sql`update jobs set state = 'PAUSED'`.execute(app.db)
  await sql`alter table jobs enable trigger user`.execute(app.db)
  const second = await feed.open(viewer, id, signal)
  t.equal(await stateOf(second.next()), 'PAUSED')
  const next = stateOf(second.next())
  await sql`update jobs set state = 'QUEUED'`.execute(app.db)
  t.equal(await next, 'QUEUED')
})

atNight(t, 'a client that reads late gets the latest state of large jobs, which are read in small sets', async t => {
  const { app, viewer, createFeed } = await startWorld(t)
  const count = 101
  // Each job names paths with about 60,000 characters, so that not all of them stay in memory.
  await sql`insert into jobs (id, workspace_id, user_id, credential_kind, credential_id, address, request_id, kind, state,
      sources, target, conflict)
    select gen_random_uuid(), workspace_id, user_id, credential_kind, credential_id, '', '', kind, state,
      (select jsonb_agg(jsonb_build_object('providerId', jobs.sources -> 0 -> 'providerId',
        'path', '/' || path || repeat('/' || repeat('x', 999), 4))) from generate_series(1, 15) path),
      target, conflict
    from jobs, generate_series(2, ${count}) n`.execute(app.db)
  let mostRows = 0
  const feed = await createFeed(async work => {
    const result = await work()
    mostRows = Math.max(mostRows, (result as unknown[]).length)
    return result
  })

  const { signal } = new AbortController()
  const late = await feed.open(viewer, null, signal)
  const prompt = await feed.open(viewer, null, signal)
  const files = new Map<string, number>()
  const reading = (async () => {
    for await (const { job } of prompt) files.set(job.id, job.progress.files)
  })()
  reading.catch(() => {})
  await until(() => files.size === count || files.size)
  await sql`update jobs set files = 7`.execute(app.db)
  await until(() => [...files.values()].every(each => each === 7) || files.size)

  const seen: [string, number][] = []
  for await (const { job } of late) {
    seen.push([job.id, job.progress.files])
    if (seen.length === count) break
  }
  t.same(new Set(seen.map(([id]) => id)), new Set(files.keys()), 'each job comes once')
  t.ok(seen.every(([, each]) => each === 7))
  t.ok(mostRows > 0 && mostRows <= 50, `${mostRows} rows in one query`)
})
