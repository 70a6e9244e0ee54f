/** kill -9 of servers and of their database, again and again, while a job copies, moves, syncs or restores a tree. */
import { execFile } from 'node:child_process'
import { cp, mkdir, open, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { ListObjectsV2Command } from '@aws-sdk/client-s3'
import t, { type Test } from 'tap'
import { findProgram } from '../servers/programs.ts'
import { type S3Server, s3Server } from '../servers/radosgw.ts'
import type { Data } from '../support/client.ts'
import { atNight, extent, isNight } from '../support/extent.ts'
import { temporaryFolder } from '../support/program.ts'
import { until } from '../support/until.ts'
import { type Replicas, type Store, sha256, startReplicas, type Victim, victims } from './job-replicas.ts'
import { below, dice, rounds } from './rounds.ts'

const run = promisify(execFile)

const fileCount = Number(process.env.FAULT_FILES ?? 150)
const isLong = fileCount > 150 || rounds(0) > 0

t.setTimeout(isLong ? 3_600_000 : 400_000)

/** Writes a tree with folders of different sizes and depths. */
async function writeTree(root: string, count: number, random: () => number): Promise<void> {
  const folders = Array.from({ length: 20 }, (_, index) => join(root, ...`${index}`.split(''), `d${index % 7}`))
  await Promise.all(folders.map(folder => mkdir(folder, { recursive: true })))
  for (let index = 0; index < count; index++) {
    const folder = folders[Math.floor(random() ** 3 * folders.length)] ?? root
    await writeFile(join(folder, `file ${index}.bin`), Buffer.alloc(1 + Math.floor(random() * 30_000), `${index} `))
  }
}

/**
 * Runs a job to its end while servers and the database are killed. Resolves with the job and what was killed.
 * @param meanwhile runs while no server does, after each kill
 */
async function runUnderKills(
  replicas: Replicas,
  input: object,
  random: () => number,
  kills: number,
  meanwhile?: () => Promise<void>,
) {
  const { token } = replicas
  const create = 'mutation ($input: CreateJobInput!) { createJob(input: $input) { job { id } } }'
  const { createJob } = await replicas.api.ask(create, { input }, token)
  const query = `query ($id: ID!) { job(id: $id) { state error { reason message } progress { files failed }
    failures { nodes { path reason message } } } }`
  let job: Data
  const killed: Victim[] = []
  const hasEnded = async () => {
    // The servers connect to the database again after it was killed.
    const data = await replicas.api.ask(query, { id: createJob.job.id }, token).catch(() => null)
    job = data?.job ?? job
    return ['SUCCEEDED', 'FAILED', 'CANCELED'].includes(data?.job.state) || job
  }
  while (killed.length < kills && (await hasEnded()) !== true) {
    if (isNight) await sleep(random() * 1500)
    else await until(async () => (await hasEnded()) === true || job?.progress.files > 0, { every: 20 })
    const possible = meanwhile ? (['both servers', 'everything'] as const) : victims
    const victim = isNight ? (possible[below(random, possible.length)] ?? 'everything') : 'first server'
    await replicas.kill(victim, meanwhile)
    killed.push(victim)
  }
  await until(hasEnded, { within: isLong ? 1_800_000 : 240_000, every: extent({ gate: 400, nightly: 100 }) })
  return { job, killed }
}

/** Compares two folders with rclone. Returns what differs. */
async function rcloneCheck(program: string, server: S3Server, local: string, remote: string): Promise<string> {
  const env = {
    PATH: process.env.PATH,
    RCLONE_CONFIG_S3_TYPE: 's3',
    RCLONE_CONFIG_S3_PROVIDER: 'Ceph',
    RCLONE_CONFIG_S3_ENDPOINT: server.endpoint,
    RCLONE_CONFIG_S3_REGION: server.region,
    RCLONE_CONFIG_S3_ACCESS_KEY_ID: server.accessKeyId,
    RCLONE_CONFIG_S3_SECRET_ACCESS_KEY: server.secretAccessKey,
  }
  const check = ['check', '--config', '', '--checkers', '8', local, `s3:${remote}`]
  return run(program, check, { env }).then(
    () => '',
    ({ stderr }) => String(stderr),
  )
}

/** Checks that the killed servers have left nothing in the stores and in the database. */
async function nothingIsLeft(t: Test, replicas: Replicas, roots: string, stores: readonly Store[]): Promise<void> {
  t.same(await replicas.query('select job_id from job_entries'), [], 'no entry of a job is left')
  const staging = (name: string) => join(roots, name, '.stowage-staging')
  const staged = async () => (await Promise.all(['a', 'b'].map(name => readdir(staging(name)).catch(() => [])))).flat()
  const old = new Date('2020-01-01')
  for (const name of ['a', 'b']) {
    for (const file of await readdir(staging(name)).catch(() => [])) await utimes(join(staging(name), file), old, old)
  }
  // A server sweeps the unfinished files of a provider when it opens the provider.
  await replicas.kill('both servers')
  const list = 'query ($id: ID!) { folder(providerId: $id, path: "/") { entries { nodes { name } } } }'
  for (const { providerId } of stores) await replicas.api.ask(list, { id: providerId }, replicas.token)
  await until(async () => (await staged()).length === 0 || (await staged()))
}

async function start(t: Test) {
  const roots = await temporaryFolder(t)
  return { roots, replicas: await startReplicas(t, { roots, servers: extent({ gate: 1, nightly: 2 }) }) }
}

/** All kinds continue in the same way. A MOVE is the one that could lose a file. */
const kinds = extent({ gate: ['MOVE'], nightly: ['COPY', 'MOVE', 'SYNC'] } as const)

for (const [turn, kind] of kinds.entries()) {
  t.test(`a ${kind} continues after kills`, async t => {
    const random = dice(t)
    const { roots, replicas } = await start(t)
    const server = isNight ? await s3Server(t) : null
    const rclone = await findProgram('rclone')
    const bucket = (await server?.newBucket()) ?? ''
    const puts = new Map<string, number>()
    const disk = await replicas.connectLocal('disk', join(roots, 'a'))
    const other = await replicas.connectLocal('other disk', join(roots, 'b'))
    const onPut = (key: string) => {
      if (key.endsWith('.bin')) puts.set(key, (puts.get(key) ?? 0) + 1)
    }
    const s3 = server && (await replicas.connectS3(server, bucket, onPut))
    await writeTree(join(roots, 'a/tree'), fileCount, random)
    const expected = await disk.read('tree')
    const reference = join(roots, 'reference')
    await cp(join(roots, 'a/tree'), reference, { recursive: true })
    let path = '/tree'
    let from: Store = disk
    let inBucket = ''
    // The last job stays on one disk, which copies small files together.
    const all = s3 ? [other, s3, await replicas.connectDrive(), disk, disk] : [other]
    for (const [leg, to] of all.entries()) {
      // Some of the jobs are enough, because each kill takes up to 20 seconds.
      const isKilled = extent({
        gate: true,
        nightly: leg < 4 && (turn + leg) % 2 === 1,
      })
      const kills = rounds(isKilled ? 1 : 0)
      const names = `${from.name} to ${to.name}`
      const folder = `from ${from.name}`
      const target = { providerId: to.providerId, path: `/${folder}` }
      const input = { kind, sources: [{ providerId: from.providerId, path }], target }
      const { job, killed } = await runUnderKills(replicas, input, random, kills)
      t.comment(`${names}: killed ${killed.join(', ') || 'nothing'}; ${job.progress.files} files`)
      t.match(job, { state: 'SUCCEEDED', error: null, progress: { failed: 0 } }, names)
      t.same(job.failures.nodes, [])
      t.same(await to.read(`${folder}/tree`), expected, `${names}: every file exists and is whole`)
      t.same(await from.read(path.slice(1)), kind === 'MOVE' ? {} : expected, `${names}: the source is as it should be`)
      if (server && to === s3) {
        inBucket = `${folder}/`
        const [[key, most] = ['', 0]] = [...puts].toSorted(([, one], [, two]) => two - one)
        t.ok(most <= 1 + killed.length, `${names}: ${key} was written ${most} times, and no object more often`)
        if (rclone)
          t.equal(await rcloneCheck(rclone, server, reference, `${bucket}/${folder}/tree`), '', 'as rclone says')
        else t.comment('rclone is not installed')
      }
      path = `/${folder}/tree`
      from = to
    }
    t.same(await replicas.query('select job_id from job_entries'), [], 'no entry of a job is left')
    if (!server) return
    const { Contents = [] } = await server.client.send(new ListObjectsV2Command({ Bucket: bucket }))
    const strange = Contents.filter(({ Key = '' }) => !(inBucket && Key.startsWith(inBucket)) && !Key.endsWith('/'))
    t.same(strange, [], 'no other object is in the bucket')
    await nothingIsLeft(t, replicas, roots, [disk, other])
  })
}

atNight(t, 'a RESTORE continues after kills', async t => {
  const random = dice(t)
  const { roots, replicas } = await start(t)
  const disk = await replicas.connectLocal('disk', join(roots, 'a'))
  const { providerId } = disk
  await writeTree(join(roots, 'a/tree'), fileCount, random)
  const expected = await disk.read('tree')
  for (const path of Object.keys(expected)) {
    const other = join(roots, 'a/other/tree', path)
    await mkdir(dirname(other), { recursive: true })
    await writeFile(other, `another content of ${path}`)
  }
  const time = Date.now() + 1
  await until(() => Date.now() > time)
  const copy = { kind: 'COPY', sources: [{ providerId, path: '/other/tree' }], target: { providerId, path: '/' } }
  const replaced = await runUnderKills(replicas, { ...copy, conflict: 'REPLACE' }, random, 0)
  t.match(replaced.job, { state: 'SUCCEEDED' })
  const gone = { kind: 'DELETE', sources: [{ providerId, path: '/tree/1' }] }
  t.match((await runUnderKills(replicas, gone, random, 0)).job, { state: 'SUCCEEDED' })
  const input = { kind: 'RESTORE', sources: [{ providerId, path: '/tree' }], restoreAt: new Date(time).toISOString() }
  const { job, killed } = await runUnderKills(replicas, input, random, rounds(1))
  t.comment(`killed ${killed.join(', ') || 'nothing'}`)
  t.match(job, { state: 'SUCCEEDED', error: null, progress: { failed: 0 } })
  t.same(await disk.read('tree'), expected)
})

atNight(t, 'kept copies are repaired although servers are killed, and edits stay', async t => {
  const random = dice(t)
  const { roots, replicas } = await start(t)
  const disk = await replicas.connectLocal('disk', join(roots, 'a'))
  const other = await replicas.connectLocal('other disk', join(roots, 'b'))
  await writeTree(join(roots, 'a/tree'), fileCount, random)
  const expected = await disk.read('tree')
  const sources = [disk, other].map(({ providerId }) => ({ providerId, path: '/tree' }))
  const input = { kind: 'KEEP_COPIES', sources, repair: true, recheckDays: 0 }
  const done = { state: 'SUCCEEDED', error: null, progress: { failed: 0 } }
  t.match((await runUnderKills(replicas, input, random, 0)).job, done)
  t.same(await other.read('tree'), expected)
  const paths = Object.keys(expected)
  const every = (step: number, rest: number) => paths.filter((_, index) => index % step === rest)
  const [damaged, gone] = [every(3, 0), every(3, 1)]
  const edited = new Set([every(9, 0), every(9, 1), every(9, 2)].flat())
  for (const path of damaged) await flip(join(roots, 'a/tree', path))
  for (const path of gone) await rm(join(roots, 'a/tree', path))
  const edit = async () => {
    for (const path of edited) await writeFile(join(roots, 'a/tree', path), `an edit of ${path}`)
  }
  const { job, killed } = await runUnderKills(replicas, input, random, rounds(1), edit)
  t.comment(`killed ${killed.join(', ') || 'nothing'}`)
  t.match(job, done)
  const isEdited = killed.length > 0
  const repaired = [...damaged, ...gone].filter(path => !(isEdited && edited.has(path)))
  const pathsOf = async (from: string) =>
    new Set((await replicas.query(`select trim(trailing '/' from path) as path from ${from}`)).map(row => row.path))
  const versions = await pathsOf(`file_versions where provider_id = '${disk.providerId}'`)
  const reported = await pathsOf("job_entries where state = 'KEPT' and finding is not null")
  const isOutside = (set: Set<unknown>) => (path: string) => !set.has(`/tree/${path}`)
  t.same(repaired.filter(path => damaged.includes(path)).filter(isOutside(versions)), [], 'damaged bytes are versions')
  t.same(repaired.filter(isOutside(reported)), [], 'the report names each of them')

  const edits = Object.fromEntries([...edited].map(path => [path, sha256(Buffer.from(`an edit of ${path}`))]))
  const wanted = { ...expected, ...(isEdited && edits) }
  t.same(await disk.read('tree'), wanted)
  t.match((await runUnderKills(replicas, input, random, 0)).job, done)
  t.same(await disk.read('tree'), wanted)
  t.same(await other.read('tree'), wanted, 'the next run copies the edits')
  await replicas.query('delete from job_entries')
})

/** Changes the first byte of a file as a disk does: its time stays. */
async function flip(path: string): Promise<void> {
  const { atime, mtime } = await stat(path)
  const bytes = await readFile(path)
  bytes[0] = (bytes[0] ?? 0) ^ 1
  const file = await open(path, 'r+')
  await file.write(bytes, 0, 1, 0)
  await file.close()
  await utimes(path, atime, mtime)
}

atNight(t, 'the mutations copy and move finish folders although servers are killed', async t => {
  const random = dice(t)
  const { roots, replicas } = await start(t)
  const disk = await replicas.connectLocal('disk', join(roots, 'a'))
  const other = await replicas.connectLocal('other disk', join(roots, 'b'))
  const drive = await replicas.connectDrive()
  await writeTree(join(roots, 'a/tree'), fileCount, random)
  const expected = await disk.read('tree')
  const both = [
    ['copy', other],
    ['move', drive],
  ] as const
  for (const [operation, to] of both) {
    const type = operation === 'copy' ? 'CopyInput' : 'MoveInput'
    const mutation = `mutation ($input: ${type}!) { ${operation}(input: $input) { path } }`
    const input = {
      providerId: disk.providerId,
      path: '/tree',
      toProviderId: to.providerId,
      toPath: `/by ${operation}`,
    }
    // The server of the request may be killed.
    const asked = replicas.api.graphql(mutation, { input }, replicas.token).catch(() => null)
    let job: Data
    const latest = async () => {
      const query = '{ jobs(first: 5) { nodes { kind state progress { files failed } error { reason } } } }'
      const data = await replicas.api.ask(query, {}, replicas.token).catch(() => null)
      job = data?.jobs.nodes.find(({ kind }: { kind: string }) => kind === operation.toUpperCase()) ?? job
      return job
    }
    await until(async () => (await latest())?.progress.files > 0 || job?.state === 'SUCCEEDED' || job)
    const victim = victims[below(random, victims.length)] ?? 'everything'
    await replicas.kill(victim)
    await until(async () => ['SUCCEEDED', 'FAILED'].includes((await latest())?.state) || job, { within: 240_000 })
    await asked
    t.match(job, { state: 'SUCCEEDED', error: null, progress: { failed: 0 } }, `${operation}: killed ${victim}`)
    t.same(await to.read(`by ${operation}`), expected, `${operation}: every file exists and is whole`)
    t.same(await disk.read('tree'), operation === 'move' ? {} : expected, `${operation}: the source`)
  }
  await nothingIsLeft(t, replicas, roots, [disk, other])
})

atNight(t, 'the end of a job has its event, even if the servers are killed at once', async t => {
  const { roots, replicas } = await start(t)
  const { providerId } = await replicas.connectLocal('disk', join(roots, 'a'))
  await mkdir(join(roots, 'a/tree'), { recursive: true })
  await writeFile(join(roots, 'a/tree/file'), 'content')
  const input = { kind: 'COPY', sources: [{ providerId, path: '/tree' }], target: { providerId, path: '/copies' } }
  const create = 'mutation ($input: CreateJobInput!) { createJob(input: $input) { job { id } } }'
  const { id } = (await replicas.api.ask(create, { input }, replicas.token)).createJob.job
  const stateOf = async () => (await replicas.query(`select state from jobs where id = '${id}'`))[0]?.state
  await until(async () => (await stateOf()) === 'SUCCEEDED' || (await stateOf()), { every: 20 })
  await replicas.kill('both servers')
  const events = await replicas.query(
    `select details from audit_events where action = 'JOB_END' and subject_id = '${id}'`,
  )
  t.match(events, [{ details: { state: 'SUCCEEDED', files: 1 } }])
  t.equal(events.length, 1)
})
