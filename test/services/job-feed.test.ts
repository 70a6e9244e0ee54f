/** The order in which a subscription learns of the states of a job. */
import t from 'tap'
import type { Viewer } from '../../src/auth/viewer.ts'
import type { Database } from '../../src/db/client.ts'
import { createJobFeed } from '../../src/services/jobs/feed.ts'
import { startApp } from '../support/app.ts'
import { until } from '../support/until.ts'

/** Lets the first query for jobs wait, and counts the others that are done. */
function delayFirst(db: Database, released: Promise<void>): { done(): number } {
  let started = 0
  let done = 0
  const execute = async (work: () => Promise<unknown>) => {
    started += 1
    const isFirst = started === 1
    if (isFirst) await released
    const result = await work()
    if (!isFirst) done += 1
    return result
  }
  const wrap = <T extends object>(object: T): T =>
    new Proxy(object, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name, target)
        if (typeof member !== 'function') return member
        if (name === 'execute') return () => execute(() => member.call(target))
        return (...args: unknown[]) => {
          const result: unknown = member.apply(target, args)
          const isBuilder = typeof result === 'object' && result !== null && 'execute' in result
          return isBuilder ? wrap(result) : result
        }
      },
    })
  const selectFrom = db.selectFrom.bind(db) as (...args: unknown[]) => object
  Object.defineProperty(db, 'selectFrom', { value: (...args: unknown[]) => wrap(selectFrom(...args)) })
  return { done: () => done }
}

t.test('a subscription learns of a change while it begins', async t => {
  const app = await startApp(t, { settings: { workers: 0 } })
  const { ask, register, connectProvider, folder } = app
  const { token, id: userId } = await register('owner@example.org')
  const providerId = await connectProvider(token, 'local', { root: folder })
  const input = { kind: 'DELETE', sources: [{ providerId, path: '/x' }] }
  const create = 'mutation ($input: CreateJobInput!) { createJob(input: $input) { job { id } } }'
  const { createJob } = await ask(create, { input }, token)
  const { id } = createJob.job
  const { workspace } = await ask('{ workspace { id } }', {}, token)
  const member = { workspaceId: workspace.id, userId }
  const viewer = { scope: 'admin', access: { all: true }, member, credentialId: 'x' } as unknown as Viewer

  const { promise, resolve: release } = Promise.withResolvers<void>()
  const { db } = await app.replica()
  const delayed = delayFirst(db, promise)
  const registered = { signal: new AbortController().signal, [Symbol.dispose]() {} }
  const activeGrants = { registerViewer: () => registered } as unknown as Parameters<
    typeof createJobFeed
  >[0]['activeGrants']
  const feed = createJobFeed({ db, activeGrants, onError: error => t.fail(String(error)) })
  t.teardown(() => feed.close())

  const opening = feed.open(viewer, id, new AbortController().signal)
  // The feed publishes the state as soon as it listens, before the subscription reads it.
  await until(() => delayed.done() >= 2)
  await ask('mutation ($id: ID!) { cancelJob(id: $id) { state } }', { id }, token)
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
  t.same(states, ['QUEUED', 'CANCELED'])
})
