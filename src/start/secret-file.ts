import { randomBytes } from 'node:crypto'
import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { StartError } from '../errors.ts'

export const secretFile = 'secret'
/** Operators rename the secret's file to this name to rotate the secret. */
export const previousSecretFile = 'secret.previous'

/** Reads the secret of the data folder, or creates it on the first start. Servers that start at the same time use the same one. */
export async function readOrMakeSecret(dataFolder: string): Promise<{ secret: string; previous: string | null }> {
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
