/** Members take turns with the slots of the job workers. */
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { ended, type FaultyWorld, put, runJob, startFaultyWorld, startJob, stateOf } from '../../services/jobs-world.ts'
import { until } from '../../support/until.ts'

const folders = 300

/** Starts a server with two slots, and a second member. */
async function setUp(t: Test): Promise<FaultyWorld & { other: string; copy: (from: string, to: string) => object }> {
  const world = await startFaultyWorld(t, { settings: { workers: 2 } })
  const { app, token, faults, faulty } = world
  const person = await app.register('editor@example.com')
  await app.ask(
    'mutation ($input: UpdateMemberInput!) { updateMember(input: $input) { id } }',
    { input: { userId: person.id, role: 'EDITOR', providerAccess: { all: true } } },
    token,
  )
  await put(faults, 'small/file', 'small')
  const at = (path: string) => ({ providerId: faulty, path })
  const copy = (from: string, to: string) => ({ kind: 'COPY', sources: [at(from)], target: at(to), conflict: 'FAIL' })
  return { ...world, other: person.token, copy }
}

t.test('jobs of a member that do not end make room for the job of another member, and continue', async t => {
  const world = await setUp(t)
  const { app, faults, token, other, copy } = world
  for (let n = 0; n < folders; n++) await put(faults, `large/${n}/file`, `content ${n}`)
  let isSlow = true
  faults.before = ({ method, path }) => method === 'read' && isSlow && path.startsWith('large/') && sleep(500)
  const large: string[] = []
  for (let n = 0; n < 4; n++) large.push(await startJob(world, copy('/large', `/copy-${n}`)))
  await until(async () => (await Promise.all(large.map(id => stateOf(world, id)))).includes('RUNNING'))

  const started = performance.now()
  const { state } = await runJob({ app, token: other }, copy('/small', '/target'))
  t.comment(`the other job ended after ${Math.round(performance.now() - started)} ms`)
  t.equal(state, 'SUCCEEDED')
  const states = await Promise.all(large.map(id => stateOf(world, id)))
  t.notOk(states.includes('SUCCEEDED'), `the large jobs are ${states}`)

  isSlow = false
  for (const [n, id] of large.entries()) {
    const job = await ended({ app, token }, id)
    t.match(job, { state: 'SUCCEEDED', progress: { files: folders, failed: 0, totalFiles: folders } })
    for (const folder of [0, folders - 1]) {
      const copied = await app.download(token, world.faulty, `/copy-${n}/large/${folder}/file`)
      t.equal(await copied.text(), `content ${folder}`)
    }
  }
})

t.test('a file that is copied for a long time keeps no slot from another member', async t => {
  const world = await setUp(t)
  const { app, faults, token, other, copy } = world
  await put(faults, 'long/file', 'long')
  const gate = Promise.withResolvers<void>()
  t.teardown(() => gate.resolve())
  faults.before = ({ method, path }) => method === 'read' && path.startsWith('long/') && gate.promise
  const long: string[] = []
  for (let n = 0; n < 5; n++) long.push(await startJob(world, copy('/long', `/copy-${n}`)))
  const running = async () => (await Promise.all(long.map(id => stateOf(world, id)))).filter(each => each === 'RUNNING')
  await until(async () => (await running()).length === 2)
  for (const target of ['/first', '/second']) {
    t.equal((await runJob({ app, token: other }, copy('/small', target))).state, 'SUCCEEDED')
  }
  t.equal((await running()).length, 2, 'the slots are free for others only')
  gate.resolve()
  for (const id of long) t.match(await ended({ app, token }, id), { state: 'SUCCEEDED', progress: { files: 1 } })
})
