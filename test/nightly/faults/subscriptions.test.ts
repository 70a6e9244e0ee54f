/** A client of another vendor follows a job while its server is killed. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createClient } from 'graphql-sse'
import t from 'tap'
import { startWorld } from '../../faults/world.ts'
import { until } from '../../support/until.ts'

interface Job {
  id: string
  state: string
  progress: { files: number }
}

t.test('graphql-sse follows a job over the end of the server', async t => {
  const world = await startWorld(t)
  const count = 400
  await mkdir(join(world.files, 'tree'))
  for (let n = 0; n < count; n++) await writeFile(join(world.files, 'tree', String(n)), 'x'.repeat(1000))
  let connections = 0
  const client = createClient({
    url: `${world.url}/graphql`,
    headers: { authorization: `Bearer ${world.token}` },
    retryAttempts: 1000,
    retry: () => new Promise(resolve => setTimeout(resolve, 100)),
    onMessage: () => {},
    on: {
      connected: () => {
        connections += 1
      },
    },
  })
  t.teardown(() => client.dispose())
  const seen: Job[] = []
  const failures: unknown[] = []
  const end = client.subscribe<{ jobChanged: Job }>(
    { query: 'subscription { jobChanged { id state progress { files } } }' },
    {
      next: ({ data, errors }) => {
        if (data) seen.push(data.jobChanged)
        else failures.push(errors)
      },
      error: error => failures.push(error),
      complete: () => {},
    },
  )
  await until(() => connections === 1)
  const at = (path: string) => ({ providerId: world.local, path })
  const { createJob } = await world.ask(
    'mutation ($input: CreateJobInput!) { createJob(input: $input) { job { id } } }',
    { input: { kind: 'COPY', sources: [at('/tree')], target: at('/copies') } },
    world.token,
  )
  await until(() => seen.some(({ state }) => state === 'RUNNING'))
  await world.program().stop('SIGKILL')
  await world.restart()
  await until(() => seen.at(-1)?.state === 'SUCCEEDED' || seen.at(-1), { within: 60_000 })
  t.equal(connections, 2, 'the client has connected again')
  t.match(seen.at(-1), { id: createJob.job.id, progress: { files: count } })
  t.same(failures, [])
  end()
})
