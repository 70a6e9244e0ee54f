/** The whole program on a data folder of its own, with providers on this disk and perhaps on S3, to be killed and started again. */
import { once } from 'node:events'
import { mkdir, readdir, readlink } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import type { Test } from 'tap'
import type { S3Account } from '../servers/radosgw.ts'
import { type Client, client } from '../support/client.ts'
import { main, type Program, startProgram, temporaryFolder } from '../support/program.ts'
import { type Content, sha256 } from './ledger.ts'

export interface World extends Client {
  url: string
  /** Data of the server. */
  data: string
  /** What the local provider serves. */
  files: string
  token: string
  /** Ids of the providers. */
  local: string
  s3: string
  program(): Program
  /** After the program has ended. */
  restart(): Promise<void>
  /** What is stored at a path, as a download has it. */
  content(providerId: string, path: string): Promise<Content>
  /** Names in the root folder of a provider, all pages. */
  names(providerId: string): Promise<string[]>
}

export interface WorldOptions {
  environment?: Record<string, string>
  s3?: { account: S3Account; endpoint?: string; bucket: string }
  /** Where the local provider has its root; a folder of the data folder unless given. */
  files?: string
  /** Modules that the server loads first. */
  imports?: readonly string[]
}

export async function startWorld(t: Test, options: WorldOptions = {}): Promise<World> {
  const data = await temporaryFolder(t)
  const files = options.files ?? join(data, 'files')
  await mkdir(files, { recursive: true })
  const port = await freePort()
  const environment = {
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

/** For a server that has to come back where its clients look for it. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/** What unfinished writes have left on the disk of the local provider. */
export async function staged({ files }: { files: string }): Promise<string[]> {
  return await readdir(join(files, '.stowage-staging')).catch(() => [])
}

/** What a process has open: a path, or `socket:[inode]` and the like. */
export async function openDescriptors(pid: number | undefined): Promise<string[]> {
  const folder = `/proc/${pid}/fd`
  const links = (await readdir(folder)).map(name => readlink(join(folder, name)).catch(() => ''))
  return (await Promise.all(links)).filter(link => link !== '')
}
