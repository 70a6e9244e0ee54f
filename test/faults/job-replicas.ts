/** Two replicas on a database of their own. Tests kill each of the three. */
import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { GetObjectCommand, ListObjectsV2Command } from '@aws-sdk/client-s3'
import pg from 'pg'
import type { Test } from 'tap'
import type { Connection } from '../../src/db/client.ts'
import { startEmbeddedPostgres } from '../../src/db/embedded/index.ts'
import { recordedPostmaster } from '../../src/db/embedded/processes.ts'
import { openDatabase } from '../../src/db/migrate.ts'
import { createLog } from '../../src/log/logger.ts'
import { backoff, endpointsOf } from '../adapters/google-drive-world.ts'
import { faultProxy } from '../servers/fault-proxy.ts'
import { type GoogleDrive, startGoogleDrive } from '../servers/google-drive/index.ts'
import { testDatabase } from '../servers/postgres.ts'
import type { S3Server } from '../servers/radosgw.ts'
import { bundle } from '../support/bundle.ts'
import { type Client, client } from '../support/client.ts'
import { type Program, startProgram, temporaryFolder } from '../support/program.ts'

/** Files of a tree, by path: the content's SHA-256. */
export type Tree = Record<string, string>

export interface Store {
  name: 'disk' | 'other disk' | 'S3' | 'Drive'
  providerId: string
  /** Reads everything below a folder, past the server. */
  read(folder: string): Promise<Tree>
}

export interface Replicas {
  readonly api: Client
  token: string
  /** Kills servers or the database, and starts them again. @param meanwhile runs before they start */
  kill(what: Victim, meanwhile?: () => Promise<void>): Promise<void>
  /** Resolves with the memory of all servers, in bytes. */
  memory(): Promise<number>
  query(sql: string): Promise<Record<string, unknown>[]>
  connectLocal(name: 'disk' | 'other disk', root: string): Promise<Store>
  /** @param onPut is called with the key of each object that is written */
  connectS3(server: S3Server, bucket: string, onPut: (key: string) => void): Promise<Store>
  connectDrive(): Promise<Store>
}

export const victims = ['first server', 'second server', 'both servers', 'database', 'everything'] as const
export type Victim = (typeof victims)[number]

export async function startReplicas(
  t: Test,
  { roots, environment = {}, servers = 2 }: { roots: string; environment?: Record<string, string>; servers?: 1 | 2 },
): Promise<Replicas> {
  const folder = await temporaryFolder(t)
  const secret = 'a secret that only these tests have'
  const log = createLog('silent')
  const migrateDatabase = async (connection: Connection) => (await openDatabase(connection, log)).destroy()
  const startDatabase = () => startEmbeddedPostgres({ dataFolder: folder, log: () => {}, migrate: migrateDatabase })
  // A single server uses the database of the tests, whose start takes no time, and which cannot be killed.
  let database: { connection: Connection; stop(): Promise<void> } =
    servers === 1 ? { connection: await testDatabase(t), stop: async () => {} } : await startDatabase()
  t.teardown(() => database.stop())
  await migrateDatabase(database.connection)
  const drive = await startGoogleDrive(t)
  const launch = () =>
    startProgram(t, {
      command: [process.execPath, join(bundle, 'test/faults/job-server.js')],
      environment: {
        TEST_JOB_SERVER: JSON.stringify({
          connection: database.connection,
          secret,
          drive: { endpoints: endpointsOf(drive), backoff, trust: 0 },
        }),
        DATABASE_URL: 'postgres://is.not.used/',
        STOWAGE_SECRET: secret,
        STOWAGE_DATA: folder,
        STOWAGE_LOCAL_ROOTS: roots,
        STOWAGE_RATE_LIMIT: '0',
        LOG_LEVEL: 'warn',
        ...environment,
      },
    })
  const programs: Program[] = servers === 1 ? [await launch()] : [await launch(), await launch()]
  const first = () => client(programs[0]?.url ?? '')
  const { token } = await first().register('owner@example.org')

  async function killServers(indexes: readonly number[]): Promise<void> {
    await Promise.all(indexes.map(index => programs[index]?.stop('SIGKILL')))
  }

  async function killDatabase(): Promise<void> {
    process.kill((await recordedPostmaster(join(folder, 'postgres', 'data'))) ?? Number.NaN, 'SIGKILL')
    await database.stop().catch(() => {})
    database = await startDatabase()
  }

  return {
    get api() {
      return first()
    },
    token,
    async kill(what, meanwhile) {
      const killed = {
        'first server': [0],
        'second server': [1],
        'both servers': [0, 1],
        database: [],
        everything: [0, 1],
      }
      const dead = killed[what].filter(index => index < programs.length)
      await killServers(dead)
      if (what === 'database' || what === 'everything') await killDatabase()
      await meanwhile?.()
      for (const index of dead) programs[index] = await launch()
    },
    async memory() {
      const sizes = await Promise.all(programs.map(({ process: { pid } }) => readFile(`/proc/${pid}/status`, 'utf8')))
      return sizes.reduce((sum, status) => sum + Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) * 1024, 0)
    },
    async query(sql) {
      const connection = new pg.Client(database.connection)
      await connection.connect()
      const { rows } = await connection.query(sql)
      await connection.end()
      return rows
    },
    async connectLocal(name, root) {
      await mkdir(root, { recursive: true })
      const providerId = await first().connectProvider(token, 'local', { root }, name)
      return { name, providerId, read: path => readLocal(join(root, path)) }
    },
    async connectS3(server, bucket, onPut) {
      const { endpoint, region, accessKeyId, secretAccessKey } = server
      const proxy = await faultProxy(t, endpoint)
      proxy.fault = ({ method, url = '' }) => {
        if (method === 'PUT') onPut(decodeURIComponent(new URL(url, endpoint).pathname).slice(`/${bucket}/`.length))
        return undefined
      }
      const config = { bucket, endpoint: proxy.endpoint, region, accessKeyId, secretAccessKey, forcePathStyle: true }
      const providerId = await first().connectProvider(token, 's3', config, 'S3')
      return { name: 'S3', providerId, read: path => readS3(server, bucket, path) }
    },
    async connectDrive() {
      const account = 'robot@fake.iam.gserviceaccount.com'
      const serviceAccountKey = drive.oauth.addServiceAccount(account)
      const rootFolderId = drive.addFolder(drive.store.rootOf(account), 'root', { owner: account }).id
      const config = { serviceAccountKey, rootFolderId }
      const providerId = await first().connectProvider(token, 'google-drive', config, 'Drive')
      return { name: 'Drive', providerId, read: async path => readDrive(drive, rootFolderId, path) }
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

async function readS3({ client: s3 }: S3Server, bucket: string, folder: string): Promise<Tree> {
  const tree: Tree = {}
  let after: string | undefined
  do {
    const list = { Bucket: bucket, Prefix: `${folder}/`, ...(after && { ContinuationToken: after }) }
    const page = await s3.send(new ListObjectsV2Command(list))
    await Promise.all(
      (page.Contents ?? []).map(async ({ Key = '' }) => {
        if (Key.endsWith('/')) return
        const { Body } = await s3.send(new GetObjectCommand({ Bucket: bucket, Key }))
        tree[Key.slice(folder.length + 1)] = sha256((await Body?.transformToByteArray()) ?? new Uint8Array())
      }),
    )
    after = page.NextContinuationToken
  } while (after)
  return sorted(tree)
}

/** @throws if a folder has two entries with one name, which Drive allows */
function readDrive({ store }: GoogleDrive, rootId: string, folder: string): Tree {
  const childrenOf = (id: string) => store.childrenOf(id).filter(({ explicitlyTrashed }) => !explicitlyTrashed)
  let top: string | undefined = rootId
  for (const name of folder.split('/')) top = top && childrenOf(top).find(item => item.name === name)?.id
  const tree: Tree = {}
  const walk = (id: string, prefix: string): void => {
    for (const item of childrenOf(id)) {
      const path = `${prefix}${item.name}`
      if (tree[path] !== undefined) throw new Error(`${path} exists twice`)
      if (item.content) tree[path] = item.content.sha256
      else walk(item.id, `${path}/`)
    }
  }
  if (top) walk(top, '')
  return sorted(tree)
}

function sorted(tree: Tree): Tree {
  return Object.fromEntries(Object.entries(tree).toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}
