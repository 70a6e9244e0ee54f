/** The audit log names the sources of jobs and schedules. */
import t from 'tap'
import { startJob, startWorld, type World } from './jobs-world.ts'

interface FoundEvent {
  path: string
  details: { sources: number; otherSources?: { providerId: string; path: string }[] }
}

async function eventOf({ app, token }: World, action: string, by = token): Promise<FoundEvent> {
  await app.app.services.audit.flush()
  const query = `{ auditEvents(first: 1, filter: { action: ${action} }) { nodes { path details } } }`
  return (await app.ask(query, {}, by)).auditEvents.nodes[0]
}

t.test('an event names all sources of a job', async t => {
  const world = await startWorld(t, { settings: { workers: 0 } })
  const { app, token, a, b } = world
  const sources = Array.from({ length: 100 }, (_, n) => ({ providerId: n % 2 ? a : b, path: `/folder ${n}/file ${n}` }))
  const job = { kind: 'COPY', sources, target: { providerId: a, path: '/t' } }
  await startJob(world, job)
  const expected = { sources: 100, otherSources: sources.slice(1) }
  t.match(await eventOf(world, 'JOB_CREATE'), { path: '/folder 0/file 0', details: expected })

  const createSchedule = 'mutation ($input: CreateScheduleInput!) { createSchedule(input: $input) { schedule { id } } }'
  const { createSchedule: made } = await app.ask(
    createSchedule,
    { input: { name: 's', cron: '0 0 1 1 *', job } },
    token,
  )
  t.match(await eventOf(world, 'SCHEDULE_CREATE'), { details: expected })
  await app.ask('mutation ($id: ID!) { deleteSchedule(id: $id) }', { id: made.schedule.id }, token)
  t.match(await eventOf(world, 'SCHEDULE_DELETE'), { details: expected })

  await startJob(world, { kind: 'DELETE', sources: [{ providerId: a, path: '/one' }] })
  const single = await eventOf(world, 'JOB_CREATE')
  t.match(single, { path: '/one', details: { sources: 1 } })
  t.notOk('otherSources' in single.details)
})

t.test('the names of an event are bounded', async t => {
  const world = await startWorld(t, { settings: { workers: 0 } })
  const sources = Array.from({ length: 100 }, (_, n) => ({ providerId: world.a, path: `/${n}/${'long '.repeat(40)}x` }))
  await startJob(world, { kind: 'DELETE', sources })
  const { details } = await eventOf(world, 'JOB_CREATE')
  t.equal(details.sources, 100)
  const named = details.otherSources ?? []
  t.ok(named.length > 30 && named.length < 99, `${named.length} are named`)
  t.same(named, sources.slice(1, named.length + 1))
})

t.test('an event names no source that the reader may not access', async t => {
  const world = await startWorld(t, { settings: { workers: 0 } })
  const { app, token, a, b } = world
  const at = (providerId: string, path: string) => ({ providerId, path })
  const sources = [at(a, '/in/1'), at(a, '/in/2'), at(a, '/out/3'), at(b, '/in/4'), at(a, '/inside/5')]
  await startJob(world, { kind: 'COPY', sources, target: at(a, '/in/t') })
  const { key } = await app.createKey(token, {
    name: 'narrow',
    scopes: ['admin'],
    providerAccess: { restrictions: [{ providerId: a, basePath: '/in' }] },
  })
  const { details } = await eventOf(world, 'JOB_CREATE', key)
  t.match(details, { sources: 5, otherSources: [at(a, '/in/2')] })
  t.equal(details.otherSources?.length, 1)
  t.equal((await eventOf(world, 'JOB_CREATE')).details.otherSources?.length, 4)
})
