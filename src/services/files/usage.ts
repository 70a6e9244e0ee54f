/** Adds up what a folder contains. */
import { authorize, needs } from '../../auth/needs.ts'
import type { Viewer } from '../../auth/viewer.ts'
import type { Storage } from '../../storage/index.ts'
import { walkBounded } from './bounded-walk.ts'
import type { LocationInput } from './entry.ts'

export interface FolderUsage {
  files: number
  folders: number
  /** The bytes of all files whose size is known. */
  bytes: number
  /** False if the folder has more than was counted: a limit was reached, or something could not be read. */
  isComplete: boolean
}

/** Counts everything below a folder until a limit is reached. @throws as `search` */
export async function usageOf(
  storage: Storage,
  viewer: Viewer | null,
  input: LocationInput,
  requestSignal: AbortSignal,
): Promise<FolderUsage> {
  const [granted] = authorize(viewer, needs.read, input)
  const top = await storage.readAt(granted)
  return storage.activeGrants.run([granted], requestSignal, async signal => {
    const sum = { files: 0, folders: 0, bytes: 0 }
    const { cut, unreadable } = await walkBounded(top, signal, (_location, entry) => {
      if (entry.kind === 'directory') sum.folders += 1
      else {
        sum.files += 1
        sum.bytes += entry.size ?? 0
      }
      return true
    })
    return { ...sum, isComplete: cut === null && unreadable === 0 }
  })
}
