import { constants, open, realpath, stat } from 'node:fs/promises'
import { type ConfigSchema, StorageError } from '../../contract.ts'
import { reachesData } from './data-folder.ts'
import { identityOf, type Root } from './root.ts'

export type LocalConfig = { root: string }

/** The operator's settings. */
export interface LocalOptions {
  /** Absolute folders. A provider's root is one of them or below one. The first one is the default. */
  localRoots: readonly string[]
  /** The server's own data folder, absolute. */
  dataFolder: string
}

export function configSchema(localRoots: readonly string[]): ConfigSchema {
  const [first] = localRoots
  return {
    type: 'object',
    properties: {
      root: {
        type: 'string',
        title: 'Folder',
        description: `An absolute path on the server, in one of the folders that it allows: ${localRoots.join(', ')}`,
        pattern: '^/',
        ...(first === undefined ? {} : { default: first }),
      },
    },
    required: ['root'],
  }
}

/** @throws INVALID_CONFIG */
export async function resolveRoot({ root }: LocalConfig, { localRoots, dataFolder }: LocalOptions): Promise<Root> {
  await refuseOtherSystems()
  const allowed = `one of the folders in STOWAGE_LOCAL_ROOTS (now: ${localRoots.join(', ') || 'none'}), or below one`
  const refuse = (problem: string, cause?: unknown) =>
    new StorageError('INVALID_CONFIG', `${root} ${problem}. The root must be a folder that exists: ${allowed}.`, {
      cause,
    })
  const path = await realpath(root).catch(error => {
    throw refuse('cannot be found or opened', error)
  })
  // A symbolic link in the path is the operator's choice. The folder that it leads to has to be allowed.
  const roots = await Promise.allSettled(localRoots.map(folder => realpath(folder)))
  if (!roots.some(folder => folder.status === 'fulfilled' && isWithin(path, folder.value))) {
    throw refuse('is outside of the folders that local providers may use')
  }
  if (await reachesData(path, dataFolder)) throw refuse("contains the server's own data, or is in it")
  const handle = await open(path, constants.O_RDONLY | constants.O_DIRECTORY).catch(error => {
    throw refuse('is not a folder that the server can read', error)
  })
  try {
    return { path, ...(await identityOf(handle)) }
  } finally {
    await handle.close()
  }
}

function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith('/') ? folder : `${folder}/`)
}

async function refuseOtherSystems(): Promise<void> {
  await stat('/proc/self/fd').catch(error => {
    const message = 'Local storage needs Linux with /proc mounted, and this server has none: choose another type.'
    throw new StorageError('INVALID_CONFIG', message, { cause: error })
  })
}
