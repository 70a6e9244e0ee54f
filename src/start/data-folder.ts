/** Creates and checks the data folder (STOWAGE_DATA), which only the user of the server should access. */

import { randomBytes } from 'node:crypto'
import { access, link, mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { reachesData } from '../../adapters/backends/local/config.ts'
import { StartError } from '../errors.ts'
import { type Settings, SettingsError } from '../settings/index.ts'

/** Only the owner can read, write and enter the folder. */
const ownMode = 0o700

/** Bits of a mode for users who are neither the owner nor in the group. */
const others = { enter: 0o001, any: 0o007 }

/**
 * Creates the data folder and its folder for local files. Existing folders keep their mode. With DATABASE_URL the folder is
 * needed only as the default root of local providers, so a data folder that is read-only does not prevent the start.
 * @throws SettingsError
 */
export async function makeDataFolder({ dataFolder, databaseUrl, localRoots }: Settings): Promise<void> {
  const files = join(dataFolder, 'files')
  if (databaseUrl !== null && !localRoots.includes(files)) return
  await mkdir(files, { recursive: true, mode: ownMode }).catch(cause => {
    if (databaseUrl !== null) return
    throw new SettingsError(`STOWAGE_DATA must name a folder that this user can write to: ${cause.message}.`, { cause })
  })
}

/** Rejects local roots that include the data folder: an administrator of the workspace could read the secret. @throws SettingsError */
export async function requireSeparateRoots({ localRoots, dataFolder }: Settings): Promise<void> {
  for (const root of localRoots) {
    if (!(await reachesData(root, dataFolder))) continue
    throw new SettingsError(
      `STOWAGE_LOCAL_ROOTS must not include ${root}, which contains the data folder ${dataFolder} or is inside it: choose a folder next to it, or ${join(dataFolder, 'files')}.`,
    )
  }
}

/** Returns whether all users of the machine can read the local files, which a web server that sends them may need. */
export async function isOpenToOthers(dataFolder: string): Promise<boolean> {
  const [data, files] = await Promise.all([modeOf(dataFolder), modeOf(join(dataFolder, 'files'))])
  return (data & others.enter) !== 0 && (files & others.any) !== 0
}

/** Returns 0 for a missing path. */
async function modeOf(path: string): Promise<number> {
  return (await stat(path).catch(() => null))?.mode ?? 0
}

/** Returns whether the data folder contains the embedded database. */
export function hasDatabase(dataFolder: string): Promise<boolean> {
  return access(join(dataFolder, 'postgres', 'data')).then(
    () => true,
    () => false,
  )
}

/** @throws StartError if the data folder does not contain the embedded database */
export async function requireDatabase(dataFolder: string): Promise<void> {
  if (await hasDatabase(dataFolder)) return
  throw new StartError(`there is no database in ${dataFolder}: set STOWAGE_DATA to the data folder of the server.`)
}

export const secretFile = 'secret'
/** Operators rename the secret's file to this name to rotate the secret. */
export const previousSecretFile = 'secret.previous'

/** Reads the secret of the data folder, or creates it on the first start. Servers that start at the same time use the same one. */
async function readOrMakeSecret(dataFolder: string): Promise<{ secret: string; previous: string | null }> {
  const file = join(dataFolder, secretFile)
  const secret = (await readSecret(file)) ?? (await makeSecret(file))
  return { secret, previous: await readPrevious(dataFolder) }
}

/** Returns the secrets of the settings, or those of the data folder. */
export async function readSecrets(settings: {
  secret: string | null
  previousSecret: string | null
  dataFolder: string
}): Promise<{ secret: string; previous: string | null }> {
  const { secret, previousSecret, dataFolder } = settings
  return secret === null ? await readOrMakeSecret(dataFolder) : { secret, previous: previousSecret }
}

/** Reads the secret of the data folder; null if there is none. @throws StartError */
export async function readSecretFile(dataFolder: string): Promise<{ secret: string; previous: string | null } | null> {
  const secret = await readSecret(join(dataFolder, secretFile))
  return secret === null ? null : { secret, previous: await readPrevious(dataFolder) }
}

function readPrevious(dataFolder: string): Promise<string | null> {
  return readSecret(join(dataFolder, previousSecretFile))
}

async function readSecret(file: string): Promise<string | null> {
  try {
    const secret = (await readFile(file, 'utf8')).trim()
    if (Buffer.byteLength(secret) >= 32) return secret
    throw new StartError(
      `The secret in ${file} is damaged: restore it from a backup, or everything that is encrypted with it is lost.`,
    )
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null
    throw error
  }
}

async function makeSecret(file: string): Promise<string> {
  await mkdir(join(file, '..'), { recursive: true, mode: 0o700 })
  const draft = `${file}.${randomBytes(4).toString('hex')}`
  await writeFile(draft, `${randomBytes(32).toString('hex')}\n`, { mode: 0o600, flag: 'wx', flush: true })
  try {
    // `link` is atomic and never replaces an existing file.
    await link(draft, file).catch(error => {
      if (error.code !== 'EEXIST') throw error
    })
  } finally {
    await rm(draft)
  }
  const secret = await readSecret(file)
  if (secret === null) throw new StartError(`${file} was removed while the server started.`)
  return secret
}
