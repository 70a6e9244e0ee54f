import { lstat, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Returns every name below a folder with its kind, bytes and modification times. */
export async function snapshot(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const lines = entries.map(async entry => {
    const path = join(entry.parentPath, entry.name)
    const { ino, mode, nlink, mtimeMs } = await lstat(path)
    return [path, ino, mode, nlink, mtimeMs, entry.isFile() ? await readFile(path, 'utf8') : ''].join(' ')
  })
  return (await Promise.all(lines)).sort()
}
