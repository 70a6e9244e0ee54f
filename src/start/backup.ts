/**
 * Implements `stowage backup`: copies the embedded database and the generated secret, whether the server runs or not.
 */
import { mkdir, mkdtemp, open, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { backupEmbedded } from '../db/embedded/backup.ts'
import { startEmbeddedPostgres } from '../db/embedded/index.ts'
import { StartError } from '../errors.ts'
import type { Settings } from '../settings/index.ts'
import { previousSecretFile, requireDatabase, secretFile } from './data-folder.ts'

/**
 * Creates a folder with the layout of a data folder, without the files. It appears complete or not at all. If no server is
 * running, starts the database for the duration of the backup.
 * @returns the folder's absolute path
 * @throws StartError, EmbeddedPostgresError, or the signal's reason
 */
export async function backUp(settings: Settings, folder: string, signal: AbortSignal): Promise<string> {
  const { dataFolder } = settings
  if (settings.databaseUrl !== null) {
    throw new StartError(
      'DATABASE_URL names a PostgreSQL of your own: back it up with pg_dump, and keep STOWAGE_SECRET.',
    )
  }
  await requireDatabase(dataFolder)
  const destination = resolve(folder)
  await requireFree(destination)
  const draft = await makeDraft(destination)
  try {
    await copyDatabase(dataFolder, join(draft, 'postgres'), signal)
    await copySecrets(dataFolder, draft)
    await rename(draft, destination)
    await sync(dirname(destination))
  } catch (error) {
    await rm(draft, { recursive: true, force: true })
    throw error
  }
  return destination
}

async function copyDatabase(dataFolder: string, target: string, signal: AbortSignal): Promise<void> {
  await mkdir(target, { mode: 0o700 })
  const database = await startEmbeddedPostgres({ dataFolder, signal, log: () => {} })
  try {
    await backupEmbedded({ dataFolder, destination: join(target, 'data'), signal })
  } finally {
    await database.stop()
  }
}

/** Copies no secret if STOWAGE_SECRET is set, and two during a rotation of the secret. */
async function copySecrets(dataFolder: string, target: string): Promise<void> {
  for (const name of [secretFile, previousSecretFile]) {
    const secret = await readFile(join(dataFolder, name)).catch(error => {
      if (error.code === 'ENOENT') return null
      throw error
    })
    if (secret) await writeFile(join(target, name), secret, { mode: 0o600, flush: true })
  }
  await sync(target)
}

async function makeDraft(destination: string): Promise<string> {
  try {
    return await mkdtemp(`${destination}.partial-`)
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new StartError(`cannot create a folder in ${dirname(destination)} (${why}): choose another folder.`, {
      cause,
    })
  }
}

async function requireFree(destination: string): Promise<void> {
  const content = await readdir(destination).catch(error => (error.code === 'ENOENT' ? [] : null))
  if (content?.length === 0) return
  throw new StartError(`${destination} already exists: choose a new name for the backup.`)
}

async function sync(folder: string): Promise<void> {
  const handle = await open(folder)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
