/** Starts a whole server on a loopback port with its own database and a folder for local providers. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { type CompiledQuery, sql } from 'kysely'
import type { Test } from 'tap'
import type { AdapterDefinition } from '../../adapters/contract.ts'
import { type App, buildApp } from '../../src/app.ts'
import type { Database } from '../../src/db/client.ts'
import { changeRights } from '../../src/db/rights.ts'
import { createLog } from '../../src/log/logger.ts'
import { readSettings, type Settings } from '../../src/settings/index.ts'
import type { Networks } from '../../src/storage/network/index.ts'
import { type Client, client } from './client.ts'
import { type KeptDatabase, keptDatabase } from './kept-database.ts'

export interface TestApp extends Client {
  app: App
  db: Database
  connectionString: string
  /** The address: http://127.0.0.1:<port> */
  url: string
  /** An empty folder inside STOWAGE_LOCAL_ROOTS. */
  folder: string
  settings: Settings
  /** Returns all lines that the server has logged. */
  logged(): string
  /** Starts another replica on the same database, with the same options unless `other` changes them. */
  replica(options?: TestAppOptions): Promise<TestApp>
  close(): Promise<void>
}

export interface TestAppOptions {
  settings?: Partial<Settings>
  onQuery?: (query: CompiledQuery) => void
  /** Replaces the built-in adapters. */
  adapters?: readonly AdapterDefinition[] | ((folder: string) => readonly AdapterDefinition[])
  /** Milliseconds. The default is one minute. */
  metadataTimeout?: number
  secret?: string
  previousSecret?: string
  /** Milliseconds. The default is half a minute. */
  bodyTimeout?: number
  /** Milliseconds. The default is twelve seconds. */
  heartbeat?: number
  /** Where applications may describe themselves. The default is public networks. */
  publicNetworks?: Networks | undefined
}

/** The secret of the servers of tests. */
export const testSecret = 'a secret that only these tests have'

export async function startApp(t: Test, options: TestAppOptions = {}): Promise<TestApp> {
  const folder = await mkdtemp(join(tmpdir(), 'stowage-test-'))
  for (const each of [folder, dataFolderOf(folder)]) t.teardown(() => rm(each, { recursive: true, force: true }))
  return launch(t, await keptDatabase(t), folder, options)
}

/** The data folder of a server, which replicas share. It exists once something is stored there. */
function dataFolderOf(folder: string): string {
  return `${folder}-data`
}

async function launch(t: Test, database: KeptDatabase, folder: string, options: TestAppOptions): Promise<TestApp> {
  const settings: Settings = {
    ...readSettings({
      STOWAGE_LOCAL_ROOTS: folder,
      STOWAGE_DATA: dataFolderOf(folder),
      PORT: '0',
      LOG_LEVEL: 'debug',
      PATH: process.env.PATH,
    }),
    // A test sends all its requests from one address.
    processes: 1,
    rateLimit: 0,
    signInLimit: 0,
    // Most tests are about deleting itself. Those of the trash switch it on.
    trashDays: 0,
    // The same is true of replacing, and of the tests of versions.
    versionCount: 0,
    // Only tests of the catalogue count calls of its worker.
    catalogueHours: 0,
    ...options.settings,
  }
  const lines: string[] = []
  const sink = new Writable({
    write(chunk, _encoding, done) {
      lines.push(String(chunk))
      done()
    },
  })
  const log = createLog(settings.logLevel, sink)
  const db = database.connect(options.onQuery ? { onQuery: options.onQuery } : {})
  const { metadataTimeout, bodyTimeout, heartbeat, publicNetworks } = options
  const adapters = typeof options.adapters === 'function' ? options.adapters(folder) : options.adapters
  const { secret = testSecret, previousSecret } = options
  const timeouts = { metadataTimeout, bodyTimeout, heartbeat }
  const app = await buildApp({ db, secret, previousSecret, settings, log, adapters, publicNetworks, ...timeouts })
  const url = await app.server.listen({ host: '127.0.0.1', port: 0 })
  let closing: Promise<void> | undefined
  const close = () => {
    closing ??= app.close().then(() => db.destroy())
    return closing
  }
  t.teardown(close)
  return {
    ...client(url),
    app,
    db,
    connectionString: database.connectionString,
    url,
    folder,
    settings,
    logged: () => lines.join(''),
    replica: (other = {}) => launch(t, database, folder, { ...options, ...other }),
    close,
  }
}

/** Makes all sessions too old for sensitive changes. Resolves when each replica decides by that. */
export async function outdateSessions({ db }: Pick<TestApp, 'db'>): Promise<void> {
  await changeRights(db, change => sql`update sessions set verified_at = now() - interval '11 minutes'`.execute(change))
}
