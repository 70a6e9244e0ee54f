/** Kept copies: what is damaged comes back from a good copy, and what somebody has written stays, wherever it is. */
import { mkdir, open, rename, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { timeOrderedIds } from '../../src/auth/id.ts'
import { failRestorations } from '../../src/db/jobs/failures.ts'
import { fullReport, type JobRun, RunProgress, Tally } from '../../src/services/jobs/job-run.ts'
import type { ReadLocation } from '../../src/storage/read-location.ts'
import { startSshd } from '../servers/sshd.ts'
import type { Data } from '../support/client.ts'
import { atNight } from '../support/extent.ts'
import { toolCall, toolOutcome } from '../support/mcp.ts'
import { until } from '../support/until.ts'
import { davClient, lockInfo } from '../webdav/client.ts'
import { control, create, ended, fill, runJob, startWorld, tree } from './jobs-world.ts'

const world = await startWorld(t)
const { app, token, a, b, rootA, rootB } = world
const rootC = join(app.folder, 'c')
await mkdir(rootC)
const c = await app.connectProvider(token, 'local', { root: rootC }, 'c')
const roots = [rootA, rootB, rootC]
const setVersions = (id: string, versionCount: number) =>
  app.ask(
    'mutation ($input: UpdateProviderInput!) { updateProvider(input: $input) { id } }',
    { input: { id, versionCount } },
    token,
  )
for (const id of [a, b, c]) await setVersions(id, 20)

/** Changes one bit of a file as a disk does: the time of the file stays. */
async function flip(path: string): Promise<void> {
  const { atime, mtime } = await stat(path)
  const file = await open(path, 'r+')
  const { buffer } = await file.read({ buffer: Buffer.alloc(1), position: 3 })
  await file.write(Buffer.from([(buffer[0] ?? 0) ^ 1]), 0, 1, 3)
  await file.close()
  await utimes(path, atime, mtime)
}

const report = `query ($id: ID!) { job(id: $id) { copyReport {
  locations { providerId path readFiles readBytes copiedFiles copiedBytes damaged missing changed restored }
  findings(first: 100) { nodes { kind isRestored providerId path from { providerId path } foundAt reason message } } } } }`

function keep(path: string, more: object = {}) {
  const sources = [a, b, c].map(providerId => ({ providerId, path }))
  return runJob(world, { kind: 'KEEP_COPIES', sources, repair: true, recheckDays: 0, ...more })
}

async function reportOf(id: string) {
  const { copyReport } = (await app.ask(report, { id }, token)).job
  const names: Record<string, string> = { [a]: 'a', [b]: 'b', [c]: 'c' }
  const findings = copyReport.findings.nodes.map(
    (each: { kind: string; isRestored: boolean; providerId: string; path: string }) =>
      `${names[each.providerId]}${each.path} ${each.kind}${each.isRestored ? ' restored' : ''}`,
  )
  return { ...copyReport, findings: findings.sort() }
}

const versionsOf = async (providerId: string, path: string) => {
  const query = `query ($id: ID!, $path: String!) { file(providerId: $id, path: $path) { versions(first: 9) { nodes { size } } } }`
  return (await app.ask(query, { id: providerId, path }, token)).file.versions.nodes.length
}

async function readAll(t: Test, path: string, expected: Record<string, string>): Promise<void> {
  for (const root of roots) t.same(await tree(join(root, path)), expected, root)
}

t.test('new and changed files are copied, damage is repaired, and edits of the original win', async t => {
  const names = ['same', 'flipped', 'gone', 'edited', 'sub/copy-flipped', 'sub/copy-gone']
  for (const name of names) await app.upload(token, a, `/d/${name}`, `the bytes of ${name}`)
  const expected = Object.fromEntries(names.map(name => [name, `the bytes of ${name}`]))
  const first = await keep('/d')
  t.match(first, { state: 'SUCCEEDED', progress: { files: 6, failed: 0, totalFiles: 6 } })
  await readAll(t, 'd', expected)
  t.match((await reportOf(first.id)).locations, [
    { providerId: a, path: '/d', copiedFiles: 0 },
    { providerId: b, copiedFiles: 6, copiedBytes: 128 },
    { providerId: c, copiedFiles: 6 },
  ])
  t.match(
    await keep('/d', { recheckDays: 30 }),
    { state: 'SUCCEEDED', progress: { files: 0, skipped: 6 } },
    'nothing is due',
  )

  await flip(join(rootA, 'd/flipped'))
  await rm(join(rootA, 'd/gone'))
  await writeFile(join(rootA, 'd/edited'), 'the BYTES of edited')
  await flip(join(rootB, 'd/sub/copy-flipped'))
  await rm(join(rootC, 'd/sub/copy-gone'))
  const second = await keep('/d')
  t.match(second, { state: 'SUCCEEDED', progress: { failed: 0 } })
  await readAll(t, 'd', { ...expected, edited: 'the BYTES of edited' })
  const found = await reportOf(second.id)
  t.same(found.findings, [
    'a/d/flipped DAMAGED restored',
    'a/d/gone MISSING restored',
    'b/d/sub/copy-flipped DAMAGED restored',
    'c/d/sub/copy-gone MISSING restored',
  ])
  t.match(found.locations, [
    { damaged: 1, missing: 1, restored: 2 },
    { damaged: 1, missing: 0, restored: 1, copiedFiles: 1 },
    { damaged: 0, missing: 1, restored: 1, copiedFiles: 1 },
  ])
  t.equal(await versionsOf(a, '/d/flipped'), 2, 'the damaged bytes are an earlier version')
  t.equal(await versionsOf(b, '/d/sub/copy-flipped'), 2)
  const download = (format: string) =>
    fetch(`${app.url}/api/jobs/report?id=${second.id}&format=${format}`, {
      headers: { authorization: `Bearer ${token}` },
    })
  const json = await download('json')
  t.equal(json.headers.get('content-disposition'), `attachment; filename="report-${second.id}.json"`)
  t.match(await json.json(), {
    id: second.id,
    repair: true,
    locations: [{ storage: 'a', path: '/d', damaged: 1 }, { storage: 'b' }, { storage: 'c' }],
    findings: { length: 4 },
  })
  t.match((await (await download('csv')).text()).split('\r\n'), [
    'kind,isRestored,storage,path,from,foundAt,reason,message',
    /^"(?:DAMAGED|MISSING)","true","[abc]","\/d\//,
  ])
  t.match(
    await (await download('text')).text(),
    /Folder: a:\/d\n[\s\S]*restored 2\n[\s\S]*DAMAGED, restored {2}a:\/d\/flipped\n/,
  )
  t.equal((await download('xml')).status, 400)
  await app.app.services.audit.flush()
  const events = '{ auditEvents(first: 1, filter: { action: DAMAGE_FOUND }) { nodes { subjectId path details } } }'
  t.match((await app.ask(events, {}, token)).auditEvents.nodes, [
    { subjectId: second.id, path: '/d', details: { damaged: 2, missing: 2, restored: 4, sources: 3 } },
  ])
  const third = await keep('/d')
  t.match(third, { state: 'SUCCEEDED', progress: { failed: 0 } })
  t.same((await reportOf(third.id)).findings, [])
})

atNight(t, 'what somebody has changed or created in a copy stays and is reported', async t => {
  for (const name of ['one', 'two', 'three']) await app.upload(token, a, `/e/${name}`, `the bytes of ${name}`)
  await fill(rootB, { 'e/three': 'of somebody' })
  const first = await keep('/e')
  t.same((await reportOf(first.id)).findings, ['b/e/three CHANGED'])
  t.match(first, { state: 'FAILED', failures: { nodes: [{ path: '/e/three', reason: 'PRECONDITION_FAILED' }] } })
  await app.upload(token, b, '/e/one', 'an edit of the copy', '&conflict=replace')
  await writeFile(join(rootA, 'e/one'), 'an edit of the original')
  await rm(join(rootB, 'e/three'))
  const second = await keep('/e')
  t.same((await reportOf(second.id)).findings, ['b/e/one CHANGED'])
  t.match(await tree(join(rootB, 'e')), { one: 'an edit of the copy', three: 'the bytes of three' })
  t.match(await tree(join(rootC, 'e')), { one: 'an edit of the original' })
  await app.upload(token, a, '/e/two', 'the same edit of both', '&conflict=replace')
  await app.upload(token, b, '/e/two', 'the same edit of both', '&conflict=replace')
  t.same((await reportOf((await keep('/e')).id)).findings, ['b/e/one CHANGED'], 'a copy may get the same edit')
  await rm(join(rootB, 'e/one'))
  await control(world, 'retryJob', second.id)
  t.match(await ended(world, second.id), { state: 'SUCCEEDED' })
  t.match(await tree(join(rootB, 'e')), { one: 'an edit of the original' })
})

atNight(t, 'without repair, damage is only reported, and never copied', async t => {
  for (const name of ['flipped', 'gone', 'copy']) await app.upload(token, a, `/f/${name}`, `the bytes of ${name}`)
  const only = { repair: false }
  t.match(await keep('/f', only), { state: 'SUCCEEDED' })
  await flip(join(rootA, 'f/flipped'))
  await rm(join(rootA, 'f/gone'))
  await flip(join(rootC, 'f/copy'))
  const found = await keep('/f', only)
  t.equal(found.state, 'FAILED')
  const expected = ['a/f/flipped DAMAGED', 'a/f/gone MISSING', 'c/f/copy DAMAGED']
  t.same((await reportOf(found.id)).findings, expected)
  t.match(await tree(join(rootB, 'f')), { flipped: 'the bytes of flipped', gone: 'the bytes of gone' })
  const again = await keep('/f', only)
  t.same((await reportOf(again.id)).findings, expected, 'until somebody repairs it')
  t.match(await keep('/f'), { state: 'SUCCEEDED' })
  await readAll(t, 'f', { flipped: 'the bytes of flipped', gone: 'the bytes of gone', copy: 'the bytes of copy' })
})

atNight(t, 'a deletion through the server is no damage', async t => {
  for (const name of ['kept', 'deleted', 'old/moved', 'edited'])
    await app.upload(token, a, `/g/${name}`, `the bytes of ${name}`)
  await keep('/g')
  const drop = 'mutation ($input: DeleteInput!) { delete(input: $input) { deletedPath } }'
  for (const path of ['/g/deleted', '/g/edited']) await app.ask(drop, { input: { providerId: a, path } }, token)
  const rename = 'mutation ($input: RenameInput!) { rename(input: $input) { id } }'
  await app.ask(rename, { input: { providerId: a, path: '/g/old', name: 'new' } }, token)
  await writeFile(join(rootB, 'g/edited'), 'of somebody')
  t.match(await keep('/g'), { state: 'SUCCEEDED' }, 'the copies stay')
  t.match(await tree(join(rootB, 'g')), { deleted: String, 'old/moved': String, 'new/moved': String })
  t.strictSame(Object.keys(await tree(join(rootA, 'g'))).sort(), ['kept', 'new/moved'])
  const follow = await keep('/g', { deleteExtra: true })
  t.same((await reportOf(follow.id)).findings, ['b/g/edited CHANGED'])
  t.strictSame(Object.keys(await tree(join(rootB, 'g'))).sort(), ['edited', 'kept', 'new/moved', 'old'])
  t.strictSame(Object.keys(await tree(join(rootC, 'g'))).sort(), ['kept', 'new/moved', 'old'])
  const query =
    'query ($id: ID!, $path: String!) { versions(providerId: $id, path: $path, first: 9) { nodes { size } } }'
  const { versions } = await app.ask(query, { id: c, path: '/g/deleted' }, token)
  t.match(versions.nodes, [{ size: 20 }], 'the deleted copy is a version')
})

atNight(t, 'a disk that is not mounted is no loss, and a copy alone decides nothing', async t => {
  for (const name of ['one', 'two']) await app.upload(token, a, `/h/${name}`, `the bytes of ${name}`)
  await keep('/h')
  await rm(join(rootA, 'h'), { recursive: true })
  await mkdir(join(rootA, 'h'))
  t.match(await keep('/h'), { state: 'FAILED', failures: { nodes: [{ path: '/h', reason: 'PRECONDITION_FAILED' }] } })
  t.same(await tree(join(rootA, 'h')), {})
  await rm(join(rootA, 'h'), { recursive: true })
  t.match(await keep('/h'), { state: 'FAILED', failures: { nodes: [{ path: '/h', reason: 'NOT_FOUND' }] } })
  t.match(await tree(join(rootB, 'h')), { one: 'the bytes of one', two: 'the bytes of two' })
})

atNight(t, 'the majority decides whether the record is wrong, and nobody without one', async t => {
  for (const name of ['all', 'tie']) await app.upload(token, a, `/i/${name}`, `the bytes of ${name}`)
  await keep('/i')
  for (const root of roots) await flip(join(root, 'i/all'))
  for (const root of [rootA, rootB]) await flip(join(root, 'i/tie'))
  const found = await keep('/i')
  t.same((await reportOf(found.id)).findings, ['a/i/all UNCLEAR', 'a/i/tie DAMAGED'])
  const flipped = await tree(join(rootA, 'i'))
  t.not(flipped.all, 'the bytes of all')
  t.match(await tree(join(rootC, 'i')), { all: flipped.all, tie: 'the bytes of tie' })
  t.same((await reportOf((await keep('/i')).id)).findings, ['a/i/tie DAMAGED'], 'the other record is right again')
})

atNight(t, 'a hold and a storage without versions keep what is damaged', async t => {
  for (const name of ['held', 'plain']) await app.upload(token, a, `/j/${name}`, `the bytes of ${name}`)
  await keep('/j')
  await flip(join(rootA, 'j/held'))
  await flip(join(rootA, 'j/plain'))
  const hold = 'mutation ($input: CreateHoldInput!) { createHold(input: $input) { id } }'
  const { createHold } = await app.ask(hold, { input: { providerId: a, path: '/j/held', reason: 'a case' } }, token)
  const found = await keep('/j')
  t.match(found.failures.nodes, [{ path: '/j/held', reason: 'ON_HOLD' }])
  t.same((await reportOf(found.id)).findings, ['a/j/held DAMAGED', 'a/j/plain DAMAGED restored'])
  await app.ask('mutation ($id: ID!) { releaseHold(id: $id) { id } }', { id: createHold.id }, token)
  await setVersions(a, 0)
  const unkept = await keep('/j')
  t.match(unkept.failures.nodes, [{ path: '/j/held', reason: 'DAMAGED' }], 'nothing would keep the damaged bytes')
  await setVersions(a, 20)
  await control(world, 'retryJob', unkept.id)
  t.match(await ended(world, unkept.id), { state: 'SUCCEEDED' })
  t.match(await tree(join(rootA, 'j')), { held: 'the bytes of held' })
})

atNight(t, 'a damaged original that only its copies know is not copied to a new one', async t => {
  await fill(rootA, { 'l/outside': 'written by another program' })
  const sources = [a, c, b].map(providerId => ({ providerId, path: '/l' }))
  t.match(await keep('/l', { sources: [sources[0], sources[2]] }), { state: 'SUCCEEDED' })
  await sql`delete from content_checksums where provider_id = ${a}`.execute(app.db)
  await flip(join(rootA, 'l/outside'))
  const found = await keep('/l', { sources, recheckDays: 30 })
  t.match(found, { state: 'SUCCEEDED' })
  t.same((await reportOf(found.id)).findings, ['a/l/outside DAMAGED restored'])
  t.match(await keep('/l', { sources, recheckDays: 30 }), { state: 'SUCCEEDED' })
  await readAll(t, 'l', { outside: 'written by another program' })
})

atNight(t, 'a disk that was copied to another one is not copied again, and its damage is found', async t => {
  for (const name of ['same', 'damaged', 'cut']) await app.upload(token, a, `/m/${name}`, `the bytes of ${name}`)
  const old = new Date('2026-01-02T03:04:05.678Z')
  for (const name of ['same', 'damaged', 'cut']) await utimes(join(rootA, 'm', name), old, old)
  await keep('/m')
  for (const [name, content] of Object.entries(await tree(join(rootA, 'm')))) {
    const path = join(rootA, 'm', name)
    await writeFile(`${path}.new`, name === 'cut' ? '' : (content ?? ''))
    await rename(`${path}.new`, path)
    await utimes(path, old, old)
  }
  await flip(join(rootA, 'm/damaged'))
  const daily = await keep('/m', { recheckDays: 30 })
  t.same((await reportOf(daily.id)).findings, ['a/m/cut UNCLEAR'])
  t.match((await reportOf(daily.id)).locations, [{ copiedFiles: 0 }, { copiedFiles: 0 }, { copiedFiles: 0 }])
  const due = await keep('/m')
  t.same((await reportOf(due.id)).findings, ['a/m/cut UNCLEAR', 'a/m/damaged DAMAGED restored'])
  t.match(await tree(join(rootB, 'm')), { cut: 'the bytes of cut', damaged: 'the bytes of damaged' })
})

atNight(t, 'a damaged copy is found although its original was touched, and gets an edit of it', async t => {
  for (const name of ['touched', 'edited']) await app.upload(token, a, `/o/${name}`, `the bytes of ${name}`)
  await keep('/o')
  for (const name of ['touched', 'edited']) await flip(join(rootB, 'o', name))
  await sql`delete from content_checksums where provider_id = ${a}`.execute(app.db)
  await utimes(join(rootA, 'o/touched'), new Date(), new Date())
  await writeFile(join(rootA, 'o/edited'), 'the BYTES of edited')
  const found = await keep('/o')
  t.same((await reportOf(found.id)).findings, ['b/o/touched DAMAGED restored'])
  await readAll(t, 'o', { touched: 'the bytes of touched', edited: 'the BYTES of edited' })
})

atNight(t, 'a retry does not bring back what was deleted since', async t => {
  for (const name of ['gone', 'edited']) await app.upload(token, a, `/n/${name}`, `the bytes of ${name}`)
  await keep('/n')
  await rm(join(rootA, 'n/gone'))
  await writeFile(join(rootB, 'n/edited'), 'of somebody')
  const found = await keep('/n')
  t.same((await reportOf(found.id)).findings, ['a/n/gone MISSING restored', 'b/n/edited CHANGED'])
  const drop = 'mutation ($input: DeleteInput!) { delete(input: $input) { deletedPath } }'
  await app.ask(drop, { input: { providerId: a, path: '/n/gone' } }, token)
  await control(world, 'retryJob', found.id)
  t.match(await ended(world, found.id), { state: 'FAILED' })
  t.same(await tree(join(rootA, 'n')), { edited: 'the bytes of edited' })
  t.same((await reportOf(found.id)).findings, ['a/n/gone MISSING restored', 'b/n/edited CHANGED'])
})

atNight(t, 'if most files are missing, nothing is restored before somebody asks for it', async t => {
  const names = Array.from({ length: 30 }, (_, index) => `f${index}`)
  await fill(rootA, Object.fromEntries(names.map(name => [`p/${name}`, `the bytes of ${name}`])))
  const sources = [a, b].map(providerId => ({ providerId, path: '/p' }))
  t.match(await keep('/p', { sources }), { state: 'SUCCEEDED' })
  const gone = names.slice(0, 22)
  for (const name of gone) await rm(join(rootA, 'p', name))
  const found = await keep('/p', { sources })
  t.match(found, { state: 'FAILED', progress: { failed: 22 } })
  t.match(found.failures.nodes[0], { reason: 'PRECONDITION_FAILED', message: /^Most files of "\/p" are missing/ })
  t.equal(Object.keys(await tree(join(rootA, 'p'))).length, 8)
  await writeFile(join(rootA, 'p/f0'), 'of somebody')
  await control(world, 'retryJob', found.id)
  t.match(await ended(world, found.id), { state: 'SUCCEEDED' })
  const restored = Object.fromEntries(names.map(name => [name, `the bytes of ${name}`]))
  t.same(await tree(join(rootA, 'p')), { ...restored, f0: 'of somebody' })
  const { findings, locations } = await reportOf(found.id)
  t.same(findings, ['a/p/f0 CHANGED', ...gone.slice(1).map(name => `a/p/${name} MISSING restored`)].sort())
  t.match(locations[0], { missing: 21, changed: 1, restored: 21 }, 'the counts are those of the findings')
})

atNight(t, 'a full report counts what it does not list, and a retry looks at all files again', t => {
  const progress = new RunProgress({ totalFiles: null, totalBytes: null, failed: 0 })
  progress.room = 1
  const run = { progress, sources: [{ providerId: a, path: 'q' }] } as unknown as JobRun
  const tally = new Tally()
  const at = { state: 'FILE', providerId: a, targetPath: null, depth: 1, isNewTarget: false } as const
  for (const name of ['one', 'two', 'three'])
    tally.fail(run, { ...at, path: `/q/${name}`, reason: 'DAMAGED', message: 'x' })
  t.match(tally.failures, [{ path: '/q/one' }, { path: '/q', state: 'SOURCE', message: /^More than 10000 files/ }])
  t.equal(tally.failures.length, 2)
  t.equal(tally.unlisted, 2)
  tally.fail(run, { ...at, id: '7', path: '/q/planned', reason: 'DAMAGED', message: 'x' })
  t.same([tally.failures.length, tally.unlisted], [2, 3], 'a planned repair that fails has no room either')
  t.end()
})

atNight(t, 'a report stays bounded if very many files are missing, and its retry restores all', async t => {
  const names = Array.from({ length: 30 }, (_, index) => `f${index}`)
  await fill(rootA, Object.fromEntries(names.map(name => [`r/${name}`, `the bytes of ${name}`])))
  const sources = [a, b].map(providerId => ({ providerId, path: '/r' }))
  t.match(await keep('/r', { sources }), { state: 'SUCCEEDED' })
  for (const name of names.slice(0, 22)) await rm(join(rootA, 'r', name))
  const { id } = await keep('/r', { sources })
  const lease = 'a0000000-0000-4000-8000-000000000000'
  await sql`update jobs set lease_id = ${lease} where id = ${id}`.execute(app.db)
  // The job then has the state of one that has found 10,050 other missing files.
  await sql`
    insert into job_entries (job_id, state, provider_id, path, depth, is_new_target, is_started, finding)
    select ${id}, 'LISTED', ${a}, '/r/g' || n, 1, false, false,
      json_build_object('kind', 'MISSING', 'source', 0, 'from', 1, 'at', 0, 'sha256', '00', 'seen', null)
    from generate_series(1, 10050) as n`.execute(app.db)
  const { rows: kept } = await sql<{ id: number }>`
    select kept_folder as id from kept_files group by 1 having count(*) = 30 order by 1 desc limit 1`.execute(app.db)
  const failed = await failRestorations(
    app.db,
    { job: { id }, lease },
    { source: 0, keptFolders: kept.map(each => each.id) },
    {
      least: 20,
      reason: 'PRECONDITION_FAILED',
      message: 'Most files are missing.',
      room: 10_000 - 22,
      full: fullReport({ providerId: a, path: 'r' } as ReadLocation),
    },
  )
  t.equal(failed, 10_050)
  await sql`update jobs set lease_id = null where id = ${id}`.execute(app.db)
  const listed = sql<{ count: number }>`select count(*)::int as count from job_entries where job_id = ${id}`
  t.same((await listed.execute(app.db)).rows, [{ count: 10_001 }], 'and the one that says so')
  const download = async (format: string) => {
    const url = `${app.url}/api/jobs/report?id=${id}&format=${format}`
    return (await fetch(url, { headers: { authorization: `Bearer ${token}` } })).text()
  }
  const { unlistedFindings, findings } = JSON.parse(await download('json'))
  t.same([unlistedFindings, findings.length], [72, 10_001])
  t.match(await download('text'), /\nThe counts include 72 more, for which this list has no room\.\n$/)
  t.match(await download('csv'), /\r\n(?:"",){7}"The counts include 72 more, for which this list has no room\."\r\n$/)

  await control(world, 'retryJob', id)
  t.match(await ended(world, id), { state: 'SUCCEEDED', progress: { failed: 0 } })
  t.equal(Object.keys(await tree(join(rootA, 'r'))).length, 30)
  const { findings: restored, locations } = await reportOf(id)
  t.equal(restored.length, 22)
  t.match(locations[0], { missing: 22, restored: 22 })
})

atNight(t, 'a retry with a full report counts repairs that fail, and what is settled without one', async t => {
  for (const name of ['held', 'edited', 'all']) await app.upload(token, a, `/u/${name}`, `the bytes of ${name}`)
  t.match(await keep('/u'), { state: 'SUCCEEDED' })
  const hold = 'mutation ($input: CreateHoldInput!) { createHold(input: $input) { id } }'
  const { createHold } = await app.ask(hold, { input: { providerId: a, path: '/u', reason: 'a case' } }, token)
  for (const name of ['held', 'edited']) await flip(join(rootA, 'u', name))
  await writeFile(join(rootB, 'u/all'), 'of somebody')
  const { id } = await keep('/u')
  t.same((await reportOf(id)).findings, ['a/u/edited DAMAGED', 'a/u/held DAMAGED', 'b/u/all CHANGED'])
  // The job then has the state of one that has restored 10,000 other files.
  await sql`
    insert into job_entries (job_id, state, provider_id, path, depth, is_new_target, is_started, finding)
    select ${id}, 'KEPT', ${a}, '/u/g' || n, 1, false, true,
      json_build_object('kind', 'DAMAGED', 'source', 0, 'from', 1, 'at', 0, 'sha256', '00', 'seen', null)
    from generate_series(1, 10000) as n`.execute(app.db)
  await writeFile(join(rootA, 'u/edited'), 'an edit of the original')
  for (const root of [rootA, rootC]) await flip(join(root, 'u/all'))
  await writeFile(join(rootB, 'u/all'), (await tree(join(rootA, 'u'))).all ?? '')

  await control(world, 'retryJob', id)
  const failures = { nodes: [{ path: '/u', reason: 'TOO_LARGE' }] }
  t.match(await ended(world, id), { state: 'FAILED', progress: { failed: 2 }, failures })
  const response = await fetch(`${app.url}/api/jobs/report?id=${id}&format=json`, {
    headers: { authorization: `Bearer ${token}` },
  })
  const { unlistedFindings, findings, locations } = (await response.json()) as Data
  t.same([unlistedFindings, findings.length], [3, 10_001])
  t.match(locations, [{ damaged: 1, changed: 1 }, { changed: 0 }], 'the copy is no longer changed')

  await app.ask('mutation ($id: ID!) { releaseHold(id: $id) { id } }', { id: createHold.id }, token)
  await control(world, 'retryJob', id)
  t.match(await ended(world, id), { state: 'SUCCEEDED' })
  t.same((await reportOf(id)).findings, ['a/u/held DAMAGED restored'])
  await readAll(t, 'u', {
    held: 'the bytes of held',
    edited: 'an edit of the original',
    all: (await tree(join(rootB, 'u'))).all ?? '',
  })
})

atNight(t, 'the retry of another failure restores nothing where most files are missing', async t => {
  const names = Array.from({ length: 30 }, (_, index) => `sub/f${index}`)
  const files = Object.fromEntries(['top', ...names].map(name => [name, `the bytes of ${name}`]))
  await fill(join(rootA, 'v'), files)
  const sources = [a, b].map(providerId => ({ providerId, path: '/v' }))
  t.match(await keep('/v', { sources }), { state: 'SUCCEEDED' })
  const disk = join(rootB, 'v/sub')
  await rename(disk, `${disk}-away`)
  await writeFile(disk, 'no folder')
  const { id, ...found } = await keep('/v', { sources })
  t.match(found, { state: 'FAILED', failures: { nodes: [{ path: '/v/sub', reason: 'NOT_A_FOLDER' }] } })
  // The mount point of a disk that is not mounted.
  await rm(disk)
  await mkdir(disk)
  await control(world, 'retryJob', id)
  const failed = await ended(world, id)
  t.match(failed, { state: 'FAILED', progress: { failed: 30 } })
  t.match(failed.failures.nodes[0], { reason: 'PRECONDITION_FAILED', message: /^Most files of "\/v" are missing/ })
  t.same(await tree(disk), {})
  await control(world, 'retryJob', id)
  t.match(await ended(world, id), { state: 'SUCCEEDED' })
  t.equal(Object.keys(await tree(disk)).length, 30)
})

atNight(t, 'a lock and a quota keep a file as it is', async t => {
  for (const name of ['locked', 'small']) await app.upload(token, a, `/k/${name}`, `the bytes of ${name}`)
  await keep('/k')
  const invite = 'mutation { createInvite(input: { role: EDITOR, providerAccess: { all: true } }) { invite } }'
  const { createInvite } = await app.ask(invite, {}, token)
  const ben = await app.register('ben@example.com', { invite: createInvite.invite })
  const { key } = await app.createKey(ben.token, { name: 'k', scopes: ['write'] })
  const dav = davClient(app, key)
  const { provider } = await app.ask('query ($id: ID!) { provider(id: $id) { slug } }', { id: a }, token)
  const { status } = await dav('LOCK', `/${provider.slug}/k/locked`, { body: lockInfo(), headers: { depth: '0' } })
  t.equal(status, 200)
  await flip(join(rootA, 'k/locked'))
  const setQuota = 'mutation ($input: SetQuotaInput!) { setQuota(input: $input) { id } }'
  await app.ask(setQuota, { input: { providerId: c, path: '/k', bytes: 20 } }, token)
  await app.upload(token, a, '/k/large', 'more than the quota of the copy in c')
  const found = await keep('/k')
  t.same(found.failures.nodes.map(({ path, reason }: Data) => `${path} ${reason}`).sort(), [
    '/k/large QUOTA_EXCEEDED',
    '/k/locked LOCKED',
  ])
  t.same((await reportOf(found.id)).findings, ['a/k/locked DAMAGED', 'c/k/large FAILED'])
  t.match(await tree(join(rootB, 'k')), { large: String, locked: 'the bytes of locked' })
})

atNight(
  t,
  'bits flipped on an SFTP server come back, and an edit of the original within the same second wins',
  async t => {
    const server = await startSshd(t)
    const { host, port, user, privateKey, passphrase, hostKey, root } = server
    const config = { host, port, user, privateKey, passphrase, hostKey, folder: root }
    const sftp = await app.connectProvider(token, 'sftp', config)
    await setVersions(sftp, 5)
    for (const name of ['one', 'two']) await app.upload(token, a, `/s/${name}`, `the bytes of ${name}`)
    const sources = [a, sftp].map(providerId => ({ providerId, path: '/s' }))
    const check = () => runJob(world, { kind: 'KEEP_COPIES', sources, repair: true, recheckDays: 0 })
    t.match(await check(), { state: 'SUCCEEDED', progress: { files: 2 } })
    await flip(join(root, 's/one'))
    await writeFile(join(rootA, 's/two'), 'the BYTES of two')
    const found = await check()
    t.match(found, { state: 'SUCCEEDED', progress: { failed: 0 } })
    t.match(await tree(join(root, 's')), { one: 'the bytes of one', two: 'the BYTES of two' })
    t.match((await reportOf(found.id)).findings, [/\/s\/one DAMAGED restored$/])
  },
)

t.test('it needs the copies in other storages, and rights at all of them', async t => {
  const restrictions = [
    { providerId: a, basePath: '/d' },
    { providerId: b, basePath: '/d' },
  ]
  const { key } = await app.createKey(token, { name: 'r', scopes: ['write'], providerAccess: { restrictions } })
  const { key: reader } = await app.createKey(token, { name: 'x', scopes: ['read'], providerAccess: { restrictions } })
  const reasonOf = async (sources: object[], more = {}, by = key) =>
    (await app.graphql(create, { input: { kind: 'KEEP_COPIES', sources, ...more } }, by)).errors[0]?.extensions.reason
  const [from, to] = [
    { providerId: a, path: '/d' },
    { providerId: b, path: '/d' },
  ]
  t.equal(await reasonOf([from, to]), undefined)
  t.equal(await reasonOf([from, to], {}, reader), 'SCOPE_REQUIRED')
  t.equal(await reasonOf([from, { ...to, path: '/' }]), 'OUTSIDE_BASE_PATH')
  t.equal(await reasonOf([from, { providerId: c, path: '/d' }]), 'PROVIDER_NOT_ALLOWED')
  t.equal(await reasonOf([from]), 'INVALID_INPUT')
  t.equal(await reasonOf([from, { ...from, path: '/d/x' }]), 'INVALID_INPUT')
  t.equal(await reasonOf([from, to], { recheckDays: 4000 }), 'INVALID_INPUT')
  const { errors } = await app.graphql(create, { input: { kind: 'VERIFY', sources: [from], repair: true } }, key)
  t.equal(errors[0]?.extensions.reason, 'INVALID_INPUT')
})

atNight(t, 'agents read all schedules with copies, page by page, with what the latest check has found', async t => {
  await fill(rootA, { 'agents/one': 'some bytes' })
  // A key sees only its own schedules.
  const { key } = await app.createKey(token, { name: 'agent', scopes: ['write'] })
  const sources = [a, b].map(providerId => ({ providerId, path: '/agents' }))
  const input = {
    name: 'Agents',
    cron: '0 3 1 1 *',
    timeZone: 'UTC',
    job: { kind: 'KEEP_COPIES', sources, repair: true },
  }
  const { schedule } = (
    await app.ask(
      'mutation ($input: CreateScheduleInput!) { createSchedule(input: $input) { schedule { id } } }',
      { input },
      key,
    )
  ).createSchedule
  const { runSchedule } = await app.ask('mutation ($id: ID!) { runSchedule(id: $id) { id } }', schedule, key)
  await ended(world, runSchedule.id)
  // More of them than a page has room for.
  const ids = timeOrderedIds()
  const more = Array.from({ length: 100 }, () => ids(new Date()))
  await sql`
    insert into schedules select (jsonb_populate_record(s, jsonb_build_object('id', other.id, 'next_run_at', null))).*
    from schedules s cross join unnest(${more}::uuid[]) as other (id) where s.id = ${schedule.id}`.execute(app.db)
  // And more that keep no copies.
  const others = Array.from({ length: 150 }, () => ids(new Date()))
  await sql`
    insert into schedules select (jsonb_populate_record(s, jsonb_build_object(
      'id', other.id, 'next_run_at', null, 'last_job_id', null, 'job', s.job || '{"kind": "VERIFY"}'))).*
    from schedules s cross join unnest(${others}::uuid[]) as other (id)
    where s.id = ${schedule.id}`.execute(app.db)
  const page = async (args: object) => {
    const { path, ...init } = toolCall('list_kept_copies', args)
    const response = await app.request(path, { ...init, token: key })
    return toolOutcome(response.status, await response.text()).output
  }
  const first = await page({})
  const second = await page({ after: first.nextCursor })
  t.match([first.copies.length, second.copies.length, second.nextCursor], [100, 1, null])
  t.match(second.copies, [
    {
      name: 'Agents',
      providerId: a,
      path: '/agents',
      jobId: runSchedule.id,
      state: 'SUCCEEDED',
      damaged: 0,
      restored: 0,
    },
  ])
  await sql`delete from schedules`.execute(app.db)
})

t.test('what was agreed ends with its storage', async t => {
  const { rows } = await sql<{ count: number }>`select count(*)::int as count from kept_files`.execute(app.db)
  t.ok(Number(rows[0]?.count) > 10)
  await sql`update providers set config = config || '{"connections": 3}' where id = ${a}`.execute(app.db)
  t.equal((await sql`select from kept_files`.execute(app.db)).rows.length, Number(rows[0]?.count))
  await app.ask('mutation ($id: ID!) { disconnectProvider(id: $id) }', { id: a }, token)
  await until(async () => {
    const { rows } = await sql`select from kept_files`.execute(app.db)
    return rows.length === 0 || rows.length
  })
})
