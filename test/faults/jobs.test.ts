/** kill -9 of one of two servers, again and again, while a job copies, moves or syncs a tree. */
import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { GetObjectCommand, ListObjectsV2Command } from '@aws-sdk/client-s3'
import t, { type Test } from 'tap'
import { testDatabase } from '../servers/postgres.ts'
import { type S3Server, s3Server } from '../servers/radosgw.ts'
import { type Client, client, type Data } from '../support/client.ts'
import { type Program, startProgram, temporaryFolder } from '../support/program.ts'
import { until } from '../support/until.ts'
import { dice, rounds } from './rounds.ts'

/** Files of a tree, by path: the content's SHA-256. */
type Tree = Record<string, string>

t.setTimeout(rounds(0) > 0 ? 3_600_000 : 300_000)

const fileCount = Number(process.env.FAULT_FILES ?? 150)

interface Store {
  providerId: string
  /** Reads everything below a folder. */
  read(folder: string): Promise<Tree>
}

interface Replicas {
  api: Client
  token: string
  /** Kills one server, and starts it again. */
  kill(index: number): Promise<void>
  connectLocal(root: string): Promise<Store>
  connectS3(server: S3Server, bucket: string): Promise<Store>
}

async function startReplicas(t: Test, roots: string): Promise<Replicas> {
  const { connectionString } = await testDatabase(t)
  const data = await temporaryFolder(t)
  const launch = () =>
    startProgram(t, {
      environment: {
        PORT: '0',
        DATABASE_URL: connectionString,
        STOWAGE_SECRET: 'a secret that only these tests have',
        STOWAGE_DATA: data,
        STOWAGE_LOCAL_ROOTS: roots,
        STOWAGE_RATE_LIMIT: '0',
        LOG_LEVEL: 'warn',
      },
    })
  const programs: Program[] = [await launch(), await launch()]
  const first = () => client(programs[0]?.url ?? '')
  const { token } = await first().register('owner@example.org')
  return {
    get api() {
      return first()
    },
    token,
    async kill(index) {
      await programs[index]?.stop('SIGKILL')
      programs[index] = await launch()
    },
    async connectLocal(root) {
      await mkdir(root, { recursive: true })
      const providerId = await first().connectProvider(token, 'local', { root }, root)
      return { providerId, read: folder => readLocal(join(root, folder)) }
    },
    async connectS3({ client: s3, ...account }, bucket) {
      const { endpoint, region, accessKeyId, secretAccessKey } = account
      const config = { bucket, endpoint, region, accessKeyId, secretAccessKey }
      const providerId = await first().connectProvider(token, 's3', config, bucket)
      const read = async (folder: string): Promise<Tree> => {
        const tree: Tree = {}
        let ContinuationToken: string | undefined
        do {
          const page = await s3.send(
            new ListObjectsV2Command({
              Bucket: bucket,
              Prefix: `${folder}/`,
              ...(ContinuationToken && { ContinuationToken }),
            }),
          )
          await Promise.all(
            (page.Contents ?? []).map(async ({ Key = '' }) => {
              if (Key.endsWith('/')) return
              const { Body } = await s3.send(new GetObjectCommand({ Bucket: bucket, Key }))
              tree[Key.slice(folder.length + 1)] = sha256((await Body?.transformToByteArray()) ?? new Uint8Array())
            }),
          )
          ContinuationToken = page.NextContinuationToken
        } while (ContinuationToken)
        return sorted(tree)
      }
      return { providerId, read }
    },
  }
}

async function readLocal(root: string): Promise<Tree> {
  const tree: Tree = {}
  const entries = await readdir(root, { recursive: true, withFileTypes: true }).catch(() => [])
  for (const entry of entries) {
    const path = join(entry.parentPath, entry.name)
    if (entry.isFile()) tree[path.slice(root.length + 1)] = sha256(await readFile(path))
  }
  return sorted(tree)
}

function sorted(tree: Tree): Tree {
  return Object.fromEntries(Object.entries(tree).toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

/** Writes a tree with folders of different sizes and depths. */
async function writeTree(root: string, count: number, random: () => number): Promise<void> {
  const folders = Array.from({ length: 20 }, (_, index) => join(root, ...`${index}`.split(''), `d${index % 7}`))
  await Promise.all(folders.map(folder => mkdir(folder, { recursive: true })))
  for (let index = 0; index < count; index++) {
    const folder = folders[Math.floor(random() ** 3 * folders.length)] ?? root
    await writeFile(join(folder, `file ${index}.bin`), Buffer.alloc(Math.floor(random() * 30_000), `${index} `))
  }
}

/** Runs a job to its end while servers are killed. Resolves with the job and the number of kills. */
async function runUnderKills(replicas: Replicas, input: object, random: () => number, kills: number) {
  const { token } = replicas
  const create = 'mutation ($input: CreateJobInput!) { createJob(input: $input) { job { id } } }'
  const { createJob } = await replicas.api.ask(create, { input }, token)
  const query = `query ($id: ID!) { job(id: $id) { state error { reason message } progress { files failed }
    failures { nodes { path reason message } } } }`
  let job: Data
  let killed = 0
  const hasEnded = async () => {
    job = (await replicas.api.ask(query, { id: createJob.job.id }, token)).job
    return ['SUCCEEDED', 'FAILED', 'CANCELED'].includes(job.state) || job
  }
  for (; killed < kills && (await hasEnded()) !== true; killed++) {
    await sleep(random() * 1500)
    await replicas.kill(killed % 2)
  }
  await until(hasEnded, { within: 240_000, every: 100 })
  return { job, killed }
}

for (const kind of ['COPY', 'MOVE', 'SYNC'] as const) {
  t.test(`a ${kind} continues after its server is killed`, async t => {
    const random = dice(t)
    const roots = await temporaryFolder(t)
    const replicas = await startReplicas(t, roots)
    const server = await s3Server(t)
    const bucket = await server.newBucket()
    const disk = await replicas.connectLocal(join(roots, 'a'))
    const other = await replicas.connectLocal(join(roots, 'b'))
    const s3 = await replicas.connectS3(server, bucket)
    await writeTree(join(roots, 'a/tree'), fileCount, random)
    const expected = await disk.read('tree')
    for (const [from, to, names] of [
      [disk, other, 'disk to disk'],
      [kind === 'MOVE' ? other : disk, s3, 'disk to S3'],
      [s3, disk, 'S3 to disk'],
    ] as const) {
      const folder = `from ${names}`
      const path = from === disk ? '/tree' : from === other ? '/from disk to disk/tree' : '/from disk to S3/tree'
      const target = { providerId: to.providerId, path: `/${folder}` }
      const input = { kind, sources: [{ providerId: from.providerId, path }], target }
      const { job, killed } = await runUnderKills(replicas, input, random, rounds(1))
      t.comment(`${names}: ${killed} kills, ${job.progress.files} files`)
      t.match(job, { state: 'SUCCEEDED', error: null, progress: { failed: 0 } }, names)
      t.same(job.failures.nodes, [])
      t.same(await to.read(`${folder}/tree`), expected, `${names}: every file exists and is whole`)
      if (kind === 'MOVE') t.same(await from.read(path.slice(1)), {}, `${names}: nothing is left`)
      else t.same(await from.read(path.slice(1)), expected, `${names}: the source is unchanged`)
    }
  })
}
