import { accessSync, constants, existsSync, mkdirSync } from 'node:fs'
import { enableCompileCache } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** A bundle has this folder, the sources do not. */
const folderOfBundle = fileURLToPath(new URL('../../compiled', import.meta.url))

/**
 * Caches compiled modules loaded after this call, which saves a quarter of a warm start: beside the bundle if this user can
 * write there, so that a new data folder gains, too, and else in the data folder.
 */
export function cacheCompiled(dataFolder: string): void {
  const folder = isWritable(folderOfBundle) ? folderOfBundle : makeFolder(dataFolder)
  if (folder !== null) enableCompileCache(folder)
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK)
    return true
  } catch {
    return false
  }
}

/** Returns null if there is no data folder yet, or if it is read-only. */
function makeFolder(dataFolder: string): string | null {
  if (!existsSync(dataFolder)) return null
  const folder = join(dataFolder, 'compiled')
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    return folder
  } catch {
    return null
  }
}
