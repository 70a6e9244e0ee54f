import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'

/** Reads all files and folders below a folder, including unfinished writes, and maps paths to a summary of their content. */
export async function readTree(root: string): Promise<Map<string, string>> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true })
  const tree = new Map<string, string>()
  for (const entry of entries) {
    const path = join(entry.parentPath, entry.name)
    const { ino, size, mtimeMs } = await stat(path)
    const value = entry.isDirectory()
      ? 'folder'
      : `${ino} ${size} ${mtimeMs} ${(await readFile(path, 'latin1')).slice(0, 200)}`
    tree.set(path.slice(root.length), value)
  }
  return tree
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
