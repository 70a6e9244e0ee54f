import { sql } from 'kysely'
import t from 'tap'
import { fill, runJob, startWorld } from './jobs-world.ts'

t.test('jobs stay for 30 days after their end, and unfinished jobs stay', async t => {
  const world = await startWorld(t)
  const { app, token, a, b } = world
  await fill(world.rootA, { 'f/1.txt': 'one' })
  const input = { kind: 'COPY', sources: [{ providerId: a, path: '/f' }], target: { providerId: b, path: '/' } }
  const { id } = await runJob(world, { ...input, conflict: 'SKIP' })
  // More than one statement of the sweep deletes.
  await sql`insert into jobs (id, workspace_id, user_id, credential_kind, credential_id, address, request_id, kind, state,
      sources, target, conflict, ended_at)
    select gen_random_uuid(), workspace_id, user_id, credential_kind, credential_id, '', '', kind, state, sources, target,
      conflict, now() - interval '30 days 1 minute'
    from jobs, generate_series(1, 50) n`.execute(app.db)
  await sql`insert into job_entries (job_id, state, provider_id, path, depth, reason, message)
    select id, 'SOURCE', ${a}, '/f', 0, 'NOT_FOUND', '' from jobs`.execute(app.db)
  await sql`update jobs set ended_at = now() - interval '29 days 23 hours' where id = ${id}`.execute(app.db)
  await sql`insert into jobs (id, workspace_id, user_id, credential_kind, credential_id, address, request_id, kind, state,
      sources, target, conflict, created_at)
    select gen_random_uuid(), workspace_id, user_id, credential_kind, credential_id, '', '', kind, 'PAUSED', sources, target,
      conflict, now() - interval '1 year' from jobs where id = ${id}`.execute(app.db)
  await app.app.services.jobs.sweep(new AbortController().signal)
  const { jobs } = await app.ask('{ jobs(first: 100) { nodes { id state } } }', {}, token)
  t.same(jobs.nodes.map(({ state }: { state: string }) => state).sort(), ['PAUSED', 'SUCCEEDED'])
  const { rows } = await sql<{ job_id: string }>`select job_id from job_entries`.execute(app.db)
  t.same(rows, [{ job_id: id }], 'the rows of the deleted jobs are deleted, too')
})
