import type { AdapterDefinition } from './contract.ts'
import { googleDriveAdapter } from './google-drive/index.ts'
import { localAdapter } from './local/index.ts'
import { memoryAdapter } from './memory/index.ts'
import { s3Adapter } from './s3/index.ts'

/**
 * The adapters that come with Stowage. Each `open` takes a config that its own schema has passed.
 *
 * @param options.localRoots absolute folders that local providers may use; the first is the default
 */
export function builtInAdapters({ localRoots }: { localRoots: readonly string[] }): AdapterDefinition[] {
  return [localAdapter(localRoots), s3Adapter, googleDriveAdapter(), memoryAdapter]
}
