/** Copies, moves, syncs and deletions between storages, which are jobs of the server. */
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { builtInAdapters } from '../../adapters/index.ts'
import { atNight } from '../support/extent.ts'
import { type FaultyAdapter, faultyAdapter } from '../support/faulty-adapter.ts'
import { until } from '../support/until.ts'
import { signedIn, type World } from './command-line.ts'

// By night, each command starts a process, which takes a second.
t.setTimeout(300_000)

interface JobWorld extends World {
  /** The folder of the second storage, "Archive". */
  archiveFolder: string
  /** The adapter of the storage "Slow", which has the same files as "Disk". */
  slow: FaultyAdapter
}

async function withArchive(t: Test): Promise<JobWorld> {
  const slow = faultyAdapter()
  const adapters = (folder: string) => [...builtInAdapters({ localRoots: [folder], dataFolder: '/nowhere' }), slow]
  const world = await signedIn(t, { adapters })
  const archiveFolder = join(world.app.folder, 'archive')
  await mkdir(archiveFolder)
  await world.app.connectProvider(world.token, 'local', { root: archiveFolder }, 'Archive')
  await world.app.connectProvider(world.token, 'faulty', { name: 'slow' }, 'Slow')
  await mkdir(join(world.diskFolder, 'photos/2026'), { recursive: true })
  for (const path of ['photos/a.jpg', 'photos/2026/b.jpg']) await writeFile(join(world.diskFolder, path), path)
  await world.output('cp', '-r', 'Disk:/photos', 'Slow:/')
  slow.calls.length = 0
  return { ...world, archiveFolder, slow }
}

/** Lets no read of the storage "Slow" begin until the returned function is called. */
function holdReads({ slow }: JobWorld): () => void {
  const { promise, resolve } = Promise.withResolvers<void>()
  slow.before = ({ method }) => (method === 'read' ? promise : undefined)
  return resolve
}

/** Returns the names in a folder, except for that of the adapter's own folder. */
async function namesIn(folder: string): Promise<string[]> {
  return (await readdir(folder)).filter(name => name !== '.stowage-staging').toSorted()
}

/** Resolves when the job has the state. */
async function hasState({ app, token }: JobWorld, id: string, state: string): Promise<void> {
  await until(async () => {
    const { job } = await app.ask('query ($id: ID!) { job(id: $id) { state } }', { id }, token)
    return job.state === state || job.state
  })
}

atNight(t, 'copies and moves between storages report their job', async t => {
  const { run, json, diskFolder, archiveFolder } = await withArchive(t)
  t.match(await run(['cp', 'Disk:/photos', 'Archive:/']), { status: 1, stderr: /give -r/ })
  const copied = await json('cp', '-r', 'Disk:/photos', 'Archive:/')
  t.match(copied, { status: 0, lines: [{ kind: 'COPY', state: 'SUCCEEDED', files: 2, failed: 0 }] })
  t.equal(await readFile(join(archiveFolder, 'photos/2026/b.jpg'), 'utf8'), 'photos/2026/b.jpg')

  const again = await json('cp', '-r', 'Disk:/photos', 'Archive:/')
  t.match(again, { status: 5, errors: [{ reason: 'ALREADY_EXISTS', subject: 'Disk:/photos' }] })
  t.match(await json('cp', '-r', '--conflict', 'skip', 'Disk:/photos', 'Archive:/photos'), {
    status: 0,
    lines: [{ state: 'SUCCEEDED' }],
  })
  t.match(await json('cp', 'Disk:/photos/a.jpg', 'Archive:/other.jpg'), {
    status: 0,
    lines: [{ result: 'copied', source: 'Disk:/photos/a.jpg', target: 'Archive:/other.jpg', size: 12 }],
  })
  t.match(await json('cp', '--conflict', 'skip', 'Disk:/photos/a.jpg', 'Archive:/other.jpg'), {
    status: 0,
    lines: [{ kind: 'COPY', state: 'SUCCEEDED', skipped: 1 }],
  })
  t.match(await json('cp', '-r', '--conflict', 'newer', 'Disk:/photos', 'Archive:/pictures'), {
    status: 0,
    lines: [{ kind: 'COPY', state: 'SUCCEEDED', files: 2 }],
  })
  t.same(await namesIn(join(archiveFolder, 'pictures')), ['2026', 'a.jpg'])
  await rm(join(archiveFolder, 'pictures'), { recursive: true })

  const moved = await run(['mv', 'Disk:/photos', 'Archive:/moved/'])
  t.match(moved, { status: 0, stdout: '' })
  t.match(moved.stderr, /^\S+ {2}MOVE {2}SUCCEEDED {2}\d+ files? /)
  t.same(await namesIn(diskFolder), [])
  t.same(await namesIn(join(archiveFolder, 'moved/photos')), ['2026', 'a.jpg'])
  t.match(await run(['mv', 'Archive:/moved', 'Archive:/renamed']), { status: 0 })
  t.same(await namesIn(archiveFolder), ['other.jpg', 'photos', 'renamed'])
  t.match(await run(['mv', 'Archive:/other.jpg', 'x.jpg']), { status: 2, stderr: /is not in a storage/ })
})

atNight(t, 'a sync between storages is a job', async t => {
  const { run, json, archiveFolder } = await withArchive(t)
  await mkdir(join(archiveFolder, 'photos'))
  await writeFile(join(archiveFolder, 'photos/extra.jpg'), 'extra')
  const whole = await run(['sync', 'Disk:/photos', 'Archive:/'])
  t.match(whole, { status: 2, stderr: /Give a target such as "Archive:\/photos"/ })
  t.match(await json('sync', 'Disk:/photos', 'Archive:/mirror'), { status: 0, lines: [{ kind: 'SYNC', files: 2 }] })
  t.same(await namesIn(join(archiveFolder, 'mirror')), ['2026', 'a.jpg'])
  const dry = await json('sync', '--dry-run', '--delete', 'Disk:/photos', 'Archive:/photos')
  t.match(dry, { status: 0, lines: [{ kind: 'SYNC', dryRun: true, state: 'SUCCEEDED', deleted: 1 }] })
  t.same(await namesIn(join(archiveFolder, 'photos')), ['extra.jpg'])
  t.match(await run(['sync', '--delete', 'Disk:/photos', 'Archive:/photos']), { status: 2, stderr: /give --yes/ })
  t.match(await json('sync', '--delete', '-y', 'Disk:/photos', 'Archive:/photos'), {
    status: 0,
    lines: [{ deleted: 1 }],
  })
  t.same(await namesIn(join(archiveFolder, 'photos')), ['2026', 'a.jpg'])
  t.match(await json('verify', 'Disk:/photos', 'Archive:/photos'), {
    status: 0,
    lines: [{ kind: 'VERIFY', state: 'SUCCEEDED', files: 4, failed: 0 }],
  })
  await rm(join(archiveFolder, 'photos/a.jpg'))
  t.match(await json('restore', '--at', '2020-01-01', '--dry-run', '--delete', 'Archive:/photos'), {
    status: 0,
    lines: [
      { kind: 'RESTORE', state: 'SUCCEEDED' },
      { action: 'DELETE', path: '/photos/2026/b.jpg', isFolder: false },
    ],
  })
  t.match(await run(['restore', 'Archive:/photos']), { status: 2, stderr: /Give --at/ })
  t.match(await json('sync', 'Disk:/', 'Archive:/whole'), { status: 0, lines: [{ files: 2 }] })
  t.same(await namesIn(join(archiveFolder, 'whole')), ['photos'])
})

atNight(t, 'copies are kept, checked and reported', async t => {
  const { run, json, archiveFolder } = await withArchive(t)
  const created = await json('copies', 'create', '--repair', '--name', 'photos', 'Disk:/photos', 'Archive:/kept')
  t.match(created, { status: 0, lines: [{ name: 'photos', nextRunAt: String }] })
  t.match(await json('copies', 'check', 'photos'), {
    status: 0,
    lines: [{ kind: 'KEEP_COPIES', state: 'SUCCEEDED', files: 2 }],
  })
  t.same(await namesIn(join(archiveFolder, 'kept')), ['2026', 'a.jpg'])
  t.match(await json('copies', 'ls'), {
    status: 0,
    lines: [{ name: 'photos', folder: 'Disk:/photos', copies: ['Archive:/kept'], lastState: 'SUCCEEDED', damaged: 0 }],
  })
  t.match(await run(['copies', 'report', 'photos']), { status: 0, stdout: /Copy 1: Archive:\/kept\n {2}read 0 files/ })
  t.match(await run(['copies', 'report', 'x']), { status: 4 })
})

t.test('a detached job is followed, paused, resumed, canceled and retried', async t => {
  const world = await withArchive(t)
  const { json, run, output, start } = world
  let release = holdReads(world)
  const detached = await json('cp', '-r', '--detach', 'Slow:/photos', 'Archive:/')
  t.match(detached, { status: 0, lines: [{ kind: 'COPY', id: String }] })
  const [{ id }] = detached.lines
  await hasState(world, id, 'RUNNING')
  t.match(await json('jobs', 'list', '--state', 'running'), { status: 0, lines: [{ id, state: 'RUNNING' }] })
  t.match(await json('jobs', 'list', '--state', 'failed'), { status: 0, lines: [] })
  const waiting = start(['jobs', 'wait', id])
  t.match(await json('jobs', 'pause', id), { status: 0, lines: [{ id }] })
  await hasState(world, id, 'PAUSED')
  t.match(await json('jobs', 'resume', id), { status: 0, lines: [{ id }] })
  release()
  t.equal(await waiting.exited, 0, waiting.printed())
  t.match(waiting.printed(), /COPY {2}SUCCEEDED {2}2 files/)
  t.match(await run(['jobs', 'wait', id]), { status: 0 }, 'an ended job')

  world.slow.before = ({ method, path }) => {
    if (method === 'read' && path.endsWith('b.jpg')) throw new Error('The back end is broken')
  }
  const failed = await json('cp', '-r', '--conflict', 'replace', 'Slow:/photos', 'Archive:/')
  t.match(failed, {
    status: 1,
    errors: [{ subject: 'Slow:/photos/2026/b.jpg' }],
    lines: [{ state: 'FAILED', failed: 1 }],
  })
  const failedId = failed.lines[0].id
  t.match(await json('jobs', 'show', failedId), {
    lines: [{ state: 'FAILED' }, { storage: 'Slow', path: '/photos/2026/b.jpg', reason: String, message: String }],
  })
  t.match(await run(['jobs', 'wait', failedId]), { status: 1 })
  world.slow.before = () => {}
  t.match(await json('jobs', 'retry', failedId), { status: 0 })
  t.match(await run(['jobs', 'wait', failedId]), { status: 0 })

  release = holdReads(world)
  const last = (await json('cp', '-r', '-d', '--conflict', 'replace', 'Slow:/photos', 'Archive:/')).lines[0].id
  t.match(await json('jobs', 'cancel', last), { status: 0 })
  t.match(await run(['jobs', 'wait', last]), { status: 1, stderr: /has the state CANCELED/ })
  release()
  t.match(await run(['jobs', 'pause', last]), { status: 5 })
  t.match(await run(['jobs', 'show', '00000000-0000-4000-8000-000000000000']), { status: 4 })
  t.match(await output('jobs', 'list', '--limit', '1'), new RegExp(`^\\S+ {2}${last} {2}COPY {2}CANCELED`))
  t.match(await run(['jobs']), { status: 2, stderr: /jobs list, jobs show/ })
})

atNight(t, 'Ctrl-C cancels the job that a command has created', async t => {
  const world = await withArchive(t)
  const release = holdReads(world)
  const copy = world.start(['cp', '-r', 'Slow:/photos', 'Archive:/'])
  await until(() => world.slow.calls.some(({ method }) => method === 'read'))
  copy.process.kill('SIGINT')
  t.equal(await copy.exited, 130)
  const [, id = ''] = /Job (\S+) is canceled\. Its finished work stays\./.exec(copy.printed()) ?? []
  await hasState(world, id, 'CANCELED')
  release()
})

atNight(t, 'a terminal shows the progress of a job', async t => {
  const world = await withArchive(t)
  const release = holdReads(world)
  const copy = world.startOnTerminal(['cp', '-r', 'Slow:/photos', 'Archive:/'])
  await copy.hasPrinted('RUNNING  ')
  release()
  t.equal(await copy.exited, 0, copy.printed())
  t.match(copy.printed(), /COPY {2}SUCCEEDED {2}2 files/)
})
