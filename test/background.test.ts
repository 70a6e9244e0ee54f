/** The work of a server in the background ends when the server stops. */
import { sql } from 'kysely'
import { pino } from 'pino'
import t from 'tap'
import { startBackgroundWork } from '../src/start/background.ts'
import { fill, runJob, startWorld } from './services/jobs-world.ts'
import { until } from './support/until.ts'

t.test('a sweep with very many old rows does not delay the end of a server', async t => {
  let stop: (() => Promise<void>) | undefined
  let stopping: Promise<void> | undefined
  const world = await startWorld(t, {
    onQuery({ sql }) {
      if (sql.startsWith('delete from "jobs"')) stopping ??= stop?.()
    },
  })
  const { app, a, b } = world
  await fill(world.rootA, { 'f/1.txt': 'one' })
  const target = { providerId: b, path: '/' }
  await runJob(world, { kind: 'COPY', sources: [{ providerId: a, path: '/f' }], target, conflict: 'SKIP' })
  await sql`insert into jobs (id, workspace_id, user_id, credential_kind, credential_id, address, request_id, kind, state,
      sources, target, conflict, ended_at)
    select gen_random_uuid(), workspace_id, user_id, credential_kind, credential_id, '', '', kind, state, sources, target,
      conflict, now() - interval '31 days'
    from jobs, generate_series(1, 50) n`.execute(app.db)
  stop = startBackgroundWork(app.app.services, false, pino({ enabled: false }))
  await until(() => stopping !== undefined)
  await stopping
  const { rows } = await sql`select id from jobs where ended_at < now() - interval '30 days'`.execute(app.db)
  t.equal(rows.length, 49, 'the statement that was running is the last one')
})
