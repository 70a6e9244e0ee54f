/** Checksums, holds and the counters of quotas do not need the catalogue, which can be switched off at any time, and no extension. */
import { open, stat, utimes } from 'node:fs/promises'
import { sql } from 'kysely'
import t from 'tap'
import { runJob } from '../services/jobs-world.ts'
import { isNight } from '../support/extent.ts'
import { until } from '../support/until.ts'
import { catalogued, catalogueWorld, isComplete } from './world.ts'

const world = await catalogueWorld(t)
const { app, token } = world

t.test('checksums, holds and quotas stay without a catalogue', async t => {
  const store = await world.disk('off')
  const { id: providerId } = store
  const switchTo = (catalogueMode: string) =>
    app.ask(
      'mutation ($input: UpdateProviderInput!) { updateProvider(input: $input) { id } }',
      { input: { id: providerId, catalogueMode } },
      token,
    )
  const untilEmpty = () => until(async () => (await catalogued(app, providerId)).length === 0, { within: 60_000 })
  await switchTo('OFF')
  await app.upload(token, providerId, '/held.txt', 'nobody changes this')
  await app.upload(token, providerId, '/damaged.txt', 'a disk changes this')
  await app.ask(
    'mutation ($input: CreateHoldInput!) { createHold(input: $input) { id } }',
    { input: { providerId, path: '/held.txt', reason: 'Litigation' } },
    token,
  )
  await app.ask(
    'mutation ($input: SetQuotaInput!) { setQuota(input: $input) { id } }',
    { input: { providerId, bytes: 1000, files: 3 } },
    token,
  )
  await until(async () => {
    const { rows } = await sql`select from content_checksums where provider_id = ${providerId}`.execute(app.db)
    return rows.length === 2
  })
  await damage(store.at('damaged.txt'))

  const check = async (mode: string) => {
    const { quotas, holds } = await app.ask(
      'query ($id: ID!) { quotas { nodes { usedBytes usedFiles isExact } } holds(providerId: $id) { nodes { path } } }',
      { id: providerId },
      token,
    )
    t.same(quotas.nodes, [{ usedBytes: 38, usedFiles: 2, isExact: true }], `${mode}: the counters of the quota`)
    t.same(holds.nodes, [{ path: '/held.txt' }], `${mode}: the hold`)
    const over = await app.upload(token, providerId, '/large.txt', 'x'.repeat(963))
    t.match([over.status, await over.text()], [507, /QUOTA_EXCEEDED/], `${mode}: the limit of the quota`)
    const changed = await app.upload(token, providerId, '/held.txt', 'changed', '&conflict=replace')
    t.match([changed.ok, await changed.text()], [false, /ON_HOLD/], `${mode}: what the hold refuses`)
    const verified = await runJob({ app, token }, { kind: 'VERIFY', sources: [{ providerId, path: '/' }] })
    t.match(verified.failures.nodes, [{ path: '/damaged.txt', reason: 'DAMAGED' }], `${mode}: the checksums`)
  }

  await until(async () => {
    const { quotas } = await app.ask('{ quotas { nodes { isExact } } }', {}, token)
    return quotas.nodes[0].isExact
  })
  await untilEmpty()
  await check('OFF')
  await switchTo('NAMES')
  await until(() => isComplete(app, providerId), { within: 60_000 })
  t.equal((await catalogued(app, providerId)).length, 2)
  await check('NAMES')
  if (!isNight) return
  await switchTo('OFF')
  await untilEmpty()
  await check('OFF again')
  await switchTo('NAMES')
  await until(async () => (await catalogued(app, providerId)).length === 2, { within: 60_000 })
  await check('NAMES again')
})

t.test('the database needs no extension', async t => {
  const { rows } = await sql<{ extname: string }>`select extname from pg_extension order by extname`.execute(app.db)
  t.same(rows, [{ extname: 'plpgsql' }], 'every server of PostgreSQL has it')
})

/** Changes one byte as a failing disk does: the time of the file stays. */
async function damage(path: string): Promise<void> {
  const { atime, mtime } = await stat(path)
  const file = await open(path, 'r+')
  await file.write(Buffer.from('?'), 0, 1, 3)
  await file.close()
  await utimes(path, atime, mtime)
}
