import { constants, type FileHandle, open, opendir, readlink, realpath } from 'node:fs/promises'
import { dirname } from 'node:path'
import { type Call, type ServerFolders, StorageError } from '../../contract.ts'
import { isInData, isWithin, type LocalOptions } from './config.ts'

/** The maximum number of names that one listing reads. */
const maxNames = 20_000

/** Lists folders that a configuration may name. Hidden ones and links are left out, but people can type them. @throws INVALID_CONFIG */
export async function listFolders(
  path: string | null,
  { localRoots, dataFolder }: LocalOptions,
  options: Call & { limit: number },
): Promise<ServerFolders> {
  if (path === null) {
    const folders = localRoots.slice(0, options.limit).map(root => ({ name: root, path: root }))
    return { path: null, parent: null, folders, isComplete: folders.length === localRoots.length }
  }
  // The folder is opened first and then looked at: a folder that becomes a link meanwhile leads nowhere else.
  const handle = await open(path, constants.O_RDONLY | constants.O_DIRECTORY).catch(error => {
    throw refuse(path, 'cannot be found or opened', error)
  })
  try {
    const real = await readlink(`/proc/self/fd/${handle.fd}`)
    const roots = await Promise.all(localRoots.map(root => realpath(root).catch(() => root)))
    const allowed = roots.findIndex(root => isWithin(real, root))
    if (allowed < 0) throw refuse(path, 'is outside of the folders in STOWAGE_LOCAL_ROOTS')
    if (await isInData(real, dataFolder)) throw refuse(path, "is in the server's own data")
    const { names, isComplete } = await namesIn(handle, options)
    const data = await realpath(dataFolder).catch(() => dataFolder)
    const folders = names.map(name => ({ name, path: real === '/' ? `/${name}` : `${real}/${name}` }))
    return {
      path: real,
      parent: roots.includes(real) ? null : dirname(real),
      folders: folders.filter(folder => folder.path !== data),
      isComplete,
    }
  } finally {
    await handle.close()
  }
}

/** Returns the first names of folders, sorted. */
async function namesIn(handle: FileHandle, { signal, limit }: Call & { limit: number }) {
  const names: string[] = []
  let seen = 0
  for await (const entry of await opendir(`/proc/self/fd/${handle.fd}`)) {
    signal.throwIfAborted()
    seen += 1
    if (seen > maxNames) break
    // A name that is not well-formed UTF-8 cannot be in a configuration.
    if (entry.isDirectory() && !entry.name.startsWith('.') && !entry.name.includes('\ufffd')) names.push(entry.name)
  }
  const isComplete = seen <= maxNames && names.length <= limit
  return { names: names.sort().slice(0, limit), isComplete }
}

function refuse(path: string, problem: string, cause?: unknown): StorageError {
  return new StorageError('INVALID_CONFIG', `${path} ${problem}: choose another folder.`, { cause })
}
