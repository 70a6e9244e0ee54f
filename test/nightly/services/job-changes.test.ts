/** A source that changes while a job copies it. */
import { mkdir, open, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { PutObjectCommand } from '@aws-sdk/client-s3'
import t from 'tap'
import { s3Server } from '../../servers/radosgw.ts'
import { control, ended, runJob, startWorld, tree, type World } from '../../services/jobs-world.ts'
import { extent } from '../../support/extent.ts'

t.setTimeout(600_000)

const size = 4_000_000
const rate = 1_500_000
/** Milliseconds between two changes. A copy takes more than two seconds. */
const interval = extent({ gate: 300, nightly: 50 })

/** Slows a provider down, so that a copy takes some seconds. */
async function slow({ app, token }: World, id: string): Promise<void> {
  const mutation = 'mutation ($input: UpdateProviderInput!) { updateProvider(input: $input) { id } }'
  await app.ask(mutation, { input: { id, jobLimits: { filesAtOnce: 16, bytesPerSecond: rate } } }, token)
}

/** Calls `change` again and again until `stop` is called. */
function repeat(change: (round: number) => Promise<unknown>): () => Promise<void> {
  let isStopped = false
  const done = (async () => {
    for (let round = 1; !isStopped; round++) {
      await change(round)
      await sleep(interval)
    }
  })()
  return () => {
    isStopped = true
    return done
  }
}

t.test('a local file that is written to while it is copied is a failure, and its copy is never mixed', async t => {
  const world = await startWorld(t)
  const { a, b, rootA, rootB } = world
  await mkdir(join(rootA, 'f'))
  const path = join(rootA, 'f/log')
  await writeFile(path, Buffer.alloc(size, 'a'))
  await writeFile(join(rootA, 'f/quiet.txt'), 'quiet')
  await slow(world, a)
  for (const kind of extent({ gate: ['MOVE'], nightly: ['COPY', 'MOVE'] })) {
    const handle = await open(path, 'r+')
    const stop = repeat(round => handle.write(Buffer.alloc(size, 'bc'[round % 2]), 0, size, 0))
    const target = { providerId: b, path: `/${kind}` }
    const job = await runJob(world, { kind, sources: [{ providerId: a, path: '/f' }], target })
    await stop()
    await handle.close()
    t.match(job, { state: 'FAILED', progress: { files: 1, failed: 1 } })
    t.match(job.failures.nodes, [{ path: '/f/log', reason: 'UNAVAILABLE', message: /written to while it was read/ }])
    t.same(await readdir(join(rootB, kind, 'f')), ['quiet.txt'])
    await control(world, 'retryJob', job.id)
    t.match(await ended(world, job.id), { state: 'SUCCEEDED', progress: { files: 2, failed: 0 } })
    t.equal(new Set(await readFile(join(rootB, kind, 'f/log'))).size, 1, 'the copy is one version')
  }
  t.same(await tree(rootA), {})
})

t.test('an object that is replaced while it is copied is copied as one version, and not deleted by a move', async t => {
  const world = await startWorld(t)
  const { app, token, b, rootB } = world
  const server = await s3Server(t)
  const bucket = await server.newBucket()
  const { endpoint, region, accessKeyId, secretAccessKey } = server
  const config = { bucket, endpoint, region, accessKeyId, secretAccessKey }
  const s3 = await app.connectProvider(token, 's3', config, 's3')
  const put = (round: number) =>
    server.client.send(
      new PutObjectCommand({ Bucket: bucket, Key: 'f/object', Body: Buffer.alloc(size, 'abc'[round % 3]) }),
    )
  await put(0)
  await slow(world, s3)
  for (const kind of ['COPY', 'MOVE']) {
    const stop = repeat(put)
    const target = { providerId: b, path: `/${kind}` }
    const job = await runJob(world, { kind, sources: [{ providerId: s3, path: '/f' }], target })
    await stop()
    t.equal(new Set(await readFile(join(rootB, kind, 'f/object'))).size, 1, 'the copy is one version')
    if (kind === 'COPY') t.match(job, { state: 'SUCCEEDED', progress: { files: 1 } })
    else t.match(job.failures.nodes, [{ path: '/f/object', reason: 'PRECONDITION_FAILED' }])
    t.equal((await app.download(token, s3, '/f/object')).status, 200, 'the source is there')
  }
})
