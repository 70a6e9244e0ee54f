/** Implements `stowage doctor`: checks everything that a server needs, and changes nothing. */

import { connect, type Database } from '../../db/client.ts'
import { readSettings, type Settings, SettingsError } from '../../settings/index.ts'
import { hasDatabase, readSecretFile } from '../data-folder.ts'
import { connectionTo, withServices } from '../offline-app.ts'
import {
  checkBackEnds,
  checkDatabase,
  checkDirectory,
  checkDisks,
  checkPublicUrl,
  checkScanner,
  checkSecret,
  checkSettings,
  checkSftp,
  type Finding,
  messageOf,
  problem,
  warning,
} from './checks.ts'

export type { Finding } from './checks.ts'

const signs = { OK: '✓', WARNING: '!', PROBLEM: '✗' } as const

/** Returns the line that `stowage doctor` prints. */
export function lineOf({ level, subject, text }: Finding): string {
  return `${signs[level]} ${subject}: ${text}\n`
}

/** Yields what each check finds. */
export async function* examine(environment: Record<string, string | undefined>): AsyncGenerator<Finding> {
  let settings: Settings
  try {
    settings = readSettings(environment)
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error
    yield problem('Settings', error.message)
    return
  }
  yield* checkSettings(settings, environment)
  yield* await checkDisks(settings)
  if (settings.publicUrl !== null) yield await checkPublicUrl(settings.publicUrl)
  yield* examineDatabase(settings)
}

async function* examineDatabase(settings: Settings): AsyncGenerator<Finding> {
  const { databaseUrl, dataFolder } = settings
  if (databaseUrl === null && !(await hasDatabase(dataFolder))) {
    yield warning('Database', `There is none in ${dataFolder} yet: the first start of the server creates it.`)
    return
  }
  await using cleanup = new AsyncDisposableStack()
  try {
    const connection = await connectionTo(settings, cleanup)
    const db = connect(connection, { max: 5 })
    cleanup.defer(() => db.destroy())
    const { findings, isUsable } = await checkDatabase(db, settings)
    yield* findings
    if (isUsable) yield* examineContent(db, settings)
  } catch (error) {
    yield problem('Database', `${messageOf(error)} Check DATABASE_URL, or the log in ${dataFolder}.`)
  }
}

async function* examineContent(db: Database, settings: Settings): AsyncGenerator<Finding> {
  const { dataFolder, previousSecret } = settings
  const found =
    settings.secret === null ? await readSecretFile(dataFolder) : { secret: settings.secret, previous: previousSecret }
  if (!found) {
    yield problem('Secret', `There is no secret in ${dataFolder}: restore it from a backup, or set STOWAGE_SECRET.`)
    return
  }
  const { secret, previous } = found
  yield await checkSecret(db, found)
  yield* await withServices({ db, settings, secret, previousSecret: previous }, async services => [
    ...(await checkDirectory(services)),
    ...(await checkScanner(services)),
    ...(await checkSftp(services, settings)),
    ...(await checkBackEnds(services)),
  ])
}
