/** The folder of STOWAGE_DATA: nobody else on the machine needs it. */
import { mkdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { reachesData } from '../adapters/local/data-folder.ts'
import { type Settings, SettingsError } from './settings.ts'

/** Only the owner reads, writes and enters. */
export const ownMode = 0o700

/** Bits of a mode, for those who are neither the owner nor in the group. */
const others = { enter: 0o001, any: 0o007 }

/** With the folder for local files. What exists keeps its mode. @throws SettingsError */
export async function makeDataFolder(dataFolder: string): Promise<void> {
  await mkdir(join(dataFolder, 'files'), { recursive: true, mode: ownMode }).catch(cause => {
    throw new SettingsError(`STOWAGE_DATA must be a folder that this user may write to: ${cause.message}.`, { cause })
  })
}

/** An administrator of the workspace could read the secret and replace the database. @throws SettingsError */
export async function requireSeparateRoots({ localRoots, dataFolder }: Settings): Promise<void> {
  for (const root of localRoots) {
    if (!(await reachesData(root, dataFolder))) continue
    throw new SettingsError(
      `STOWAGE_LOCAL_ROOTS must not name ${root}, which holds the data folder ${dataFolder} or lies in it: name a folder beside it, or ${join(dataFolder, 'files')}.`,
    )
  }
}

/** Whether all users of the machine reach the local files. That may be wanted, for a web server that sends them. */
export async function isOpenToOthers(dataFolder: string): Promise<boolean> {
  const [data, files] = await Promise.all([modeOf(dataFolder), modeOf(join(dataFolder, 'files'))])
  return (data & others.enter) !== 0 && (files & others.any) !== 0
}

/** 0 where there is nothing. */
async function modeOf(path: string): Promise<number> {
  return (await stat(path).catch(() => null))?.mode ?? 0
}
