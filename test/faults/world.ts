/** The whole program with its own data folder, a local provider and perhaps an S3 provider. Tests kill and restart it. */
import { mkdir, readdir, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { Test } from 'tap'
import { databaseSettings } from '../servers/postgres.ts'
import type { S3Account } from '../servers/radosgw.ts'
import { type Client, client } from '../support/client.ts'
import { freePort } from '../support/free-port.ts'
import { main, type Program, startProgram, temporaryFolder } from '../support/program.ts'
import { type Content, sha256 } from './ledger.ts'

export interface World extends Client {
  url: string
  /** The data folder of the server. */
  data: string
  /** The address of its database; null if that is the embedded one. */
  databaseUrl: string | null
  /** The root folder of the local provider. */
  files: string
  token: string
  /** The ids of the providers. */
  local: string
  s3: string
  program(): Program
  /** Starts the program again after it has exited. */
  restart(): Promise<void>
  /** Downloads a file and resolves with its hash. */
  content(providerId: string, path: string): Promise<Content>
  /** Lists all names in the root folder of a provider. */
  names(providerId: string): Promise<string[]>
}

interface WorldOptions {
  environment?: Record<string, string>
  s3?: { account: S3Account; endpoint?: string; bucket: string }
  /** The root of the local provider. The default is a folder in the data folder. */
  files?: string
  /** Modules that the server loads first. */
  imports?: readonly string[]
  /** Whether the server runs its embedded database, which the test kills. */
  isEmbedded?: boolean
}

export async function startWorld(t: Test, options: WorldOptions = {}): Promise<World> {
  const data = await temporaryFolder(t)
  const files = options.files ?? join(data, 'files')
  await mkdir(files, { recursive: true })
  const port = await freePort()
  const database = options.isEmbedded ? null : await databaseSettings(t)
  const environment = {
    ...database,
    PORT: String(port),
    STOWAGE_DATA: data,
    STOWAGE_LOCAL_ROOTS: files,
    STOWAGE_RATE_LIMIT: '0',
    LOG_LEVEL: 'warn',
    ...options.environment,
  }
  const imports = (options.imports ?? []).flatMap(module => ['--import', module])
  const launch = () => startProgram(t, { environment, command: [process.execPath, ...imports, main] })
  let program = await launch()
  const api = client(program.url)
  const { token } = await api.register('owner@example.org')
  const local = await api.connectProvider(token, 'local', { root: files })
  const { s3 } = options
  const config = s3 && {
    bucket: s3.bucket,
    endpoint: s3.endpoint ?? s3.account.endpoint,
    region: s3.account.region,
    accessKeyId: s3.account.accessKeyId,
    secretAccessKey: s3.account.secretAccessKey,
  }
  return {
    ...api,
    url: program.url,
    data,
    databaseUrl: database?.DATABASE_URL ?? null,
    files,
    token,
    local,
    s3: config ? await api.connectProvider(token, 's3', config) : '',
    program: () => program,
    async restart() {
      program = await launch()
    },
    async content(providerId, path) {
      const response = await api.download(token, providerId, path)
      if (response.status === 404) {
        await response.body?.cancel()
        return null
      }
      if (response.status !== 200) throw new Error(`${path}: ${response.status} ${await response.text()}`)
      return sha256(new Uint8Array(await response.arrayBuffer()))
    },
    async names(providerId) {
      const names: string[] = []
      let after: string | null = null
      do {
        const query = `query ($providerId: ID!, $after: String) {
          folder(providerId: $providerId, path: "/") { entries(first: 500, after: $after) {
            nodes { name } pageInfo { hasNextPage endCursor } } } }`
        const { folder }: { folder: Page } = await api.ask(query, { providerId, after }, token)
        names.push(...folder.entries.nodes.map(node => node.name))
        after = folder.entries.pageInfo.hasNextPage ? folder.entries.pageInfo.endCursor : null
      } while (after !== null)
      return names
    },
  }
}

interface Page {
  entries: { nodes: { name: string }[]; pageInfo: { hasNextPage: boolean; endCursor: string } }
}

/** Lists the files of unfinished writes on the disk of the local provider. */
export async function staged({ files }: { files: string }): Promise<string[]> {
  return await readdir(join(files, '.stowage-staging')).catch(() => [])
}

/** Lists the open descriptors of a process, such as a path or `socket:[inode]`. */
export async function openDescriptors(pid: number | undefined): Promise<string[]> {
  const folder = `/proc/${pid}/fd`
  const links = (await readdir(folder)).map(name => readlink(join(folder, name)).catch(() => ''))
  return (await Promise.all(links)).filter(link => link !== '')
}
