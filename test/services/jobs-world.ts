/** Two local providers, and helpers that run jobs over GraphQL. */
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import type { Test } from 'tap'
import { localAdapter } from '../../adapters/backends/local/index.ts'
import { memoryAdapter } from '../../adapters/backends/memory/index.ts'
import type { StoragePath } from '../../adapters/contract.ts'
import { startApp, type TestApp, type TestAppOptions } from '../support/app.ts'
import type { Data } from '../support/client.ts'
import { type FaultyAdapter, faultyAdapter } from '../support/faulty-adapter.ts'
import { nativeTrashAdapter } from '../support/native-trash.ts'
import { until } from '../support/until.ts'

export const create = `mutation ($input: CreateJobInput!) { createJob(input: $input) { job { id state } } }`
const jobQuery = `query ($id: ID!) { job(id: $id) { state error { reason }
  progress { files bytes skipped deleted failed totalFiles totalBytes }
  failures(first: 1000) { nodes { path reason message } } } }`

/** Copies of thousands of files on a busy machine. */
const deadline = { within: 120_000 }
export interface World {
  app: TestApp
  token: string
  /** Providers and their roots. */
  a: string
  b: string
  rootA: string
  rootB: string
}

export async function startWorld(t: Test, options: TestAppOptions = {}): Promise<World> {
  const app = await startApp(t, options)
  const { token } = await app.register('owner@example.com')
  const [rootA, rootB] = [join(app.folder, 'a'), join(app.folder, 'b')]
  await mkdir(rootA)
  await mkdir(rootB)
  const a = await app.connectProvider(token, 'local', { root: rootA }, 'a')
  const b = await app.connectProvider(token, 'local', { root: rootB }, 'b')
  return { app, token, a, b, rootA, rootB }
}

/** Writes files by path. */
export async function fill(root: string, files: Record<string, string>): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    await mkdir(join(root, path, '..'), { recursive: true })
    await writeFile(join(root, path), content)
  }
}

/** Reads all files below a folder by path; an empty folder is null. */
export async function tree(root: string, prefix = ''): Promise<Record<string, string | null>> {
  const found: Record<string, string | null> = {}
  for (const name of await readdir(join(root, prefix))) {
    if (name === '.stowage-staging') continue
    const path = prefix === '' ? name : `${prefix}/${name}`
    if (!(await stat(join(root, path))).isDirectory()) found[path] = await readFile(join(root, path), 'utf8')
    else {
      const inner = await tree(root, path)
      if (Object.keys(inner).length === 0) found[path] = null
      Object.assign(found, inner)
    }
  }
  return found
}

export async function runJob({ app, token }: Pick<World, 'app' | 'token'>, input: object) {
  const { createJob } = await app.ask(create, { input }, token)
  return ended({ app, token }, createJob.job.id)
}

export async function ended({ app, token }: Pick<World, 'app' | 'token'>, id: string) {
  let job: Data
  await until(async () => {
    job = (await app.ask(jobQuery, { id }, token)).job
    return ['SUCCEEDED', 'FAILED', 'CANCELED'].includes(job.state) || job
  }, deadline)
  return { id, ...job }
}

/** Calls a mutation that takes the id of a job. */
export async function control({ app, token }: World, name: string, id: string): Promise<string> {
  const data = await app.ask(`mutation ($id: ID!) { ${name}(id: $id) { state } }`, { id }, token)
  return data[name].state
}

export async function startJob({ app, token }: Pick<World, 'app'> & { token: string }, input: object): Promise<string> {
  return (await app.ask(create, { input }, token)).createJob.job.id
}

export async function stateOf({ app, token }: World, id: string): Promise<string> {
  return (await app.ask('query ($id: ID!) { job(id: $id) { state } }', { id }, token)).job.state
}

export interface FaultyWorld extends World {
  faults: FaultyAdapter
  /** A provider whose calls fail as the test says. */
  faulty: string
}

export async function startFaultyWorld(t: Test, options: TestAppOptions = {}): Promise<FaultyWorld> {
  const faults = faultyAdapter()
  const world = await startWorld(t, {
    ...options,
    adapters: folder => [
      localAdapter({ localRoots: [folder], dataFolder: join(folder, 'data') }),
      faults,
      memoryAdapter,
      nativeTrashAdapter,
    ],
  })
  const faulty = await world.app.connectProvider(world.token, 'faulty', { name: 'faulty' }, 'faulty')
  return { ...world, faults, faulty }
}

export async function put(faults: FaultyAdapter, path: string, text: string): Promise<void> {
  const { signal } = new AbortController()
  await faults.files('faulty').write(path as StoragePath, Readable.from([text]), { overwrite: true, signal })
}

export async function textAt({ app, token, faulty }: FaultyWorld, path: string): Promise<string> {
  return (await app.download(token, faulty, path)).text()
}
