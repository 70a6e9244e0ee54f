import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * Reads all files and folders below a folder, including unfinished writes, and maps paths to a summary of their content. Leaves out
 * entries that are removed during the walk, such as an item that is restored from the trash.
 */
export async function readTree(root: string): Promise<Map<string, string>> {
  const tree = new Map<string, string>()
  const folders = [root]
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for (const entry of (await ifPresent(readdir(folder, { withFileTypes: true }))) ?? []) {
      const path = join(folder, entry.name)
      if (entry.isDirectory()) folders.push(path)
      const value = entry.isDirectory() ? 'folder' : await ifPresent(contentOf(path))
      if (value !== null) tree.set(path.slice(root.length), value)
    }
  }
  return tree
}

async function contentOf(path: string): Promise<string> {
  const { ino, size, mtimeMs } = await stat(path)
  return `${ino} ${size} ${mtimeMs} ${(await readFile(path, 'latin1')).slice(0, 200)}`
}

async function ifPresent<T>(reading: Promise<T>): Promise<T | null> {
  return reading.catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
}

/** Describes the differences. */
export function compareTrees(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): string[] {
  const paths = new Set([...before.keys(), ...after.keys()])
  return [...paths].flatMap(path => {
    const [was, is] = [before.get(path), after.get(path)]
    if (was === is) return []
    return was === undefined
      ? [`${path} was created`]
      : is === undefined
        ? [`${path} was removed`]
        : [`${path} was changed`]
  })
}
