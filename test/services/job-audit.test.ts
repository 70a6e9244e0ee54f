/** The audit log names the sources of jobs and schedules. */
import t from 'tap'
import { runJob, startJob, startWorld, type World } from './jobs-world.ts'

interface Page {
  nodes: { action: string; subjectId: string }[]
  pageInfo: { hasNextPage: boolean; endCursor: string | null }
}

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

t.test('only those who may access all locations of a job see its events, which have its counts and bytes', async t => {
  const world = await startWorld(t)
  const { app, token, a, b } = world
  const at = (providerId: string, path: string) => ({ providerId, path })
  for (const [id, path] of [
    [a, '/in/1'],
    [a, '/in/2'],
    [a, '/inside/3'],
    [b, '/in/4'],
  ] as const)
    await app.upload(token, id, path, 'content')
  const long = Array.from({ length: 60 }, (_, n) => at(a, `/in/${n}/${'long '.repeat(40)}${n}`))
  const sources = {
    all: [at(a, '/in/1'), at(a, '/in/2')],
    beside: [at(a, '/in/1'), at(a, '/inside/3')],
    elsewhere: [at(a, '/in/1'), at(b, '/in/4')],
    'perhaps elsewhere': long,
  }
  const ids = new Map<string, string>()
  for (const [name, some] of Object.entries(sources)) {
    const job = { kind: 'COPY', sources: some, target: at(a, `/in/t-${name}`), dryRun: true }
    ids.set((await runJob(world, job)).id, name)
  }
  const { key } = await app.createKey(token, {
    name: 'narrow',
    scopes: ['admin'],
    providerAccess: { restrictions: [{ providerId: a, basePath: '/in' }] },
  })
  const seen = async (by: string, first: number) => {
    await app.app.services.audit.flush()
    const query = `query ($after: String) { auditEvents(first: ${first}, after: $after) {
      nodes { action subjectId } pageInfo { hasNextPage endCursor } } }`
    const found: string[] = []
    let after: string | null = null
    for (;;) {
      const { nodes, pageInfo }: Page = (await app.ask(query, { after }, by)).auditEvents
      found.push(...nodes.map(({ action, subjectId }) => `${action} ${ids.get(subjectId)}`))
      if (!pageInfo.hasNextPage) return found.filter(each => each.startsWith('JOB_')).toSorted()
      after = pageInfo.endCursor
    }
  }
  const names = Object.keys(sources)
  const every = ['JOB_CREATE', 'JOB_END'].flatMap(action => names.map(name => `${action} ${name}`)).toSorted()
  for (const first of [1, 50]) {
    t.same(await seen(token, first), every)
    t.same(await seen(key, first), ['JOB_CREATE all', 'JOB_END all'])
  }
})
