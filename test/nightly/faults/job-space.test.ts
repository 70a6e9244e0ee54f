/** A job streams a large file between two providers: neither the disk nor the memory of the server holds it. */
import { execFile } from 'node:child_process'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { startReplicas } from '../../faults/job-replicas.ts'
import type { Data } from '../../support/client.ts'
import { temporaryFolder } from '../../support/program.ts'
import { until } from '../../support/until.ts'

const run = promisify(execFile)
const mib = 1024 * 1024

/** Bytes. 10 GB for a long run. */
const size = Number(process.env.FAULT_BYTES ?? 600 * mib)
/** Bytes of the only disk that the servers may write to. */
const disk = Math.min(100, Math.floor(size / mib / 6)) * mib

t.setTimeout(1_800_000)

t.test('a job needs little disk and memory for a large file', async t => {
  const folder = await temporaryFolder(t)
  const small = join(folder, 'small')
  await mkdir(small)
  const isMounted = await run('mount', ['-t', 'tmpfs', '-o', `size=${disk}`, 'none', small]).then(
    () => true,
    () => false,
  )
  // The memory is checked in any case.
  if (isMounted) t.teardown(async () => void (await run('umount', ['--lazy', small])))
  else t.comment('only a user who can mount can create a small disk')
  const replicas = await startReplicas(t, {
    roots: folder,
    environment: { TMPDIR: small, STOWAGE_DATA: small, STOWAGE_WORKERS: '1' },
  })
  const { api, token } = replicas
  const [from, to] = [
    await api.connectProvider(token, 'generated', { size }, 'source'),
    await api.connectProvider(token, 'generated', { size: 0 }, 'target'),
  ]
  const before = await replicas.memory()
  const create = 'mutation ($input: CreateJobInput!) { createJob(input: $input) { job { id } } }'
  const input = {
    kind: 'COPY',
    sources: [{ providerId: from, path: '/large.bin' }],
    target: { providerId: to, path: '/' },
  }
  const { createJob } = await api.ask(create, { input }, token)
  const query =
    'query ($id: ID!) { job(id: $id) { state progress { files bytes } failures { nodes { reason message } } } }'
  let job: Data
  await until(
    async () => {
      job = (await api.ask(query, { id: createJob.job.id }, token)).job
      return ['SUCCEEDED', 'FAILED'].includes(job.state) || job
    },
    { within: 1_700_000, every: 200 },
  )
  t.match(job, { state: 'SUCCEEDED', progress: { files: 1, bytes: size }, failures: { nodes: [] } })
  const more = (await replicas.memory()) - before
  t.ok(more < 250 * mib, `${Math.round(more / mib)} MiB more memory for ${Math.round(size / mib)} MiB`)
})
