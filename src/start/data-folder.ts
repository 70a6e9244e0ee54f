/** Creates and checks the data folder (STOWAGE_DATA), which only the user of the server should access. */
import { access, mkdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { reachesData } from '../../adapters/backends/local/config.ts'
import { type Settings, SettingsError } from '../settings/index.ts'

/** Only the owner can read, write and enter the folder. */
export const ownMode = 0o700

/** Bits of a mode for users who are neither the owner nor in the group. */
const others = { enter: 0o001, any: 0o007 }

/** Creates the data folder and its folder for local files. Existing folders keep their mode. @throws SettingsError */
export async function makeDataFolder(dataFolder: string): Promise<void> {
  await mkdir(join(dataFolder, 'files'), { recursive: true, mode: ownMode }).catch(cause => {
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
