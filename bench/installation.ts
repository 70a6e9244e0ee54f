import { mkdir, open, readdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import pg from 'pg'
import { client } from '../test/support/client.ts'
import { type Peer, startStowage, temporaryFolder } from './processes.ts'

/** A new server with its own folder, an account, a key and a local provider. */
export interface Installation extends AsyncDisposable {
  stowage: Peer
  /** A temporary folder that is deleted with the installation. */
  folder: string
  /** The root folder of the local provider. */
  files: string
  session: string
  key: string
  providerId: string
}

/** @param settings the environment of the server */
export async function install(settings: Readonly<Record<string, string>> = {}): Promise<Installation> {
  await using stack = new AsyncDisposableStack()
  const { path: folder } = stack.use(await temporaryFolder())
  const stowage = stack.use(await startStowage(folder, settings))
  const api = client(stowage.url)
  const { token: session } = await api.register('owner@example.org')
  const files = join(folder, 'data', 'files')
  await mkdir(files, { recursive: true })
  const providerId = await api.connectProvider(session, 'local', { root: files })
  const { key } = await api.createKey(session, { name: 'bench', scopes: ['write'] })
  const kept = stack.move()
  return {
    stowage,
    folder,
    files,
    session,
    key,
    providerId,
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  }
}

/** Connects to the embedded database of an installation. @param folder that of the installation */
export async function connectToDatabase(folder: string): Promise<pg.Client> {
  const names = await readdir(join(folder, 'data'), { recursive: true })
  const socket = names.find(name => name.endsWith('.s.PGSQL.5432'))
  if (!socket) throw new Error('The embedded database has no socket')
  const host = dirname(join(folder, 'data', socket))
  const db = new pg.Client({ host, user: 'stowage', database: 'stowage', ssl: false })
  await db.connect()
  return db
}

/** Returns the query of an upload or download address. */
export function query(providerId: string, path: string): string {
  return `?${new URLSearchParams({ providerId, path })}`
}

export async function makeFile(path: string, bytes: number): Promise<void> {
  const file = await open(path, 'w')
  const chunk = crypto.getRandomValues(new Uint8Array(65536))
  for (let written = 0; written < bytes; written += chunk.length) await file.write(chunk)
  await file.close()
}

/** Makes files of random content, 100 in each folder. */
export async function makeTree(folder: string, { files, bytes }: { files: number; bytes: number }): Promise<void> {
  for (let number = 0; number < files; number += 1) {
    const parent = join(folder, `folder ${Math.floor(number / 100)}`)
    if (number % 100 === 0) await mkdir(parent, { recursive: true })
    await writeFile(join(parent, `${number}.bin`), crypto.getRandomValues(Buffer.alloc(bytes)))
  }
}
