/** A whole server on a loopback port, on a database of its own, with one folder that local providers may use. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import type { CompiledQuery } from 'kysely'
import type { Test } from 'tap'
import type { AdapterDefinition } from '../../adapters/contract.ts'
import { type App, buildApp } from '../../src/app.ts'
import { connect, type Database } from '../../src/db/client.ts'
import { createLog } from '../../src/log/logger.ts'
import { readSettings, type Settings } from '../../src/settings.ts'
import { testDatabase } from '../servers/postgres.ts'
import { type Client, client } from './client.ts'

export interface TestApp extends Client {
  app: App
  db: Database
  /** Where clients reach it: http://127.0.0.1:<port> */
  url: string
  /** An empty folder inside STOWAGE_LOCAL_ROOTS. */
  folder: string
  settings: Settings
  /** Every line that the server has logged. */
  logged(): string
  /** A second server on the same database, as another replica; with the same options unless given. */
  replica(options?: TestAppOptions): Promise<TestApp>
  close(): Promise<void>
}

export interface TestAppOptions {
  settings?: Partial<Settings>
  onQuery?: (query: CompiledQuery) => void
  /** In place of those that come with the server. */
  adapters?: readonly AdapterDefinition[] | ((folder: string) => readonly AdapterDefinition[])
  /** Milliseconds; a minute unless given. */
  metadataTimeout?: number
  secret?: string
  previousSecret?: string
  /** Milliseconds; half a minute unless given. */
  bodyTimeout?: number
}

export async function startApp(t: Test, options: TestAppOptions = {}): Promise<TestApp> {
  const folder = await mkdtemp(join(tmpdir(), 'stowage-test-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const { connectionString } = await testDatabase(t)
  return launch(t, connectionString, folder, options)
}

async function launch(t: Test, connectionString: string, folder: string, options: TestAppOptions): Promise<TestApp> {
  const settings: Settings = {
    ...readSettings({ STOWAGE_LOCAL_ROOTS: folder, PORT: '0', LOG_LEVEL: 'debug' }),
    // All of a test comes from one address.
    rateLimit: 0,
    signInLimit: 0,
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
  const db = connect({ connectionString }, { max: 4, ...(options.onQuery && { onQuery: options.onQuery }) })
  const { metadataTimeout, bodyTimeout } = options
  const adapters = typeof options.adapters === 'function' ? options.adapters(folder) : options.adapters
  const { secret = 'a secret that only these tests have', previousSecret } = options
  const app = await buildApp({ db, secret, previousSecret, settings, log, adapters, metadataTimeout, bodyTimeout })
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
    url,
    folder,
    settings,
    logged: () => lines.join(''),
    replica: (other = {}) => launch(t, connectionString, folder, { ...options, ...other }),
    close,
  }
}
