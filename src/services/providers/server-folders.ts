import type { ServerFolders } from '../../../adapters/contract.ts'
import { requireWorkspaceAdmin } from '../../auth/policy.ts'
import type { Viewer } from '../../auth/viewer.ts'
import { AppError } from '../../errors.ts'
import type { Storage } from '../../storage/index.ts'
import { requireAdapter } from './back-end-tests.ts'

/** The maximum number of folders in one listing. */
const maxFolders = 500
/** Characters. Linux has a maximum of 4,096 bytes. */
const maxPath = 4096

/** Lists the folders of the server that people choose from when they connect a storage. */
export function createServerFolders(storage: Storage) {
  return {
    /**
     * Returns one level of the folders that a configuration of this type may name; with null those that the operator allows.
     * @throws CREDENTIAL_REQUIRED, SCOPE_REQUIRED, PROVIDER_NOT_ALLOWED, INVALID_INPUT, INVALID_CONFIG, UNAVAILABLE
     */
    async serverFolders(
      viewer: Viewer | null,
      { type, path }: { type: string; path: string | null },
      signal: AbortSignal,
    ): Promise<ServerFolders> {
      requireWorkspaceAdmin(viewer)
      const { definition } = requireAdapter(storage, type)
      if (!definition.listFolders) {
        throw new AppError('INVALID_INPUT', 'Storages of this type are not in folders of the server: leave this out.')
      }
      if (path !== null && (!path.startsWith('/') || path.length > maxPath || path.includes('\0'))) {
        throw new AppError('INVALID_INPUT', 'The path begins with "/" and has at most 4,096 characters.')
      }
      const limit = maxFolders
      const listed = await storage.ask(signal, async call => definition.listFolders?.(path, { ...call, limit }))
      return checked(listed)
    },
  }
}

/** Checks what an adapter has returned. @throws BACK_END_FAULT */
function checked(listed: ServerFolders | undefined): ServerFolders {
  const isPath = (value: unknown) => value === null || (typeof value === 'string' && value.length <= maxPath)
  const isValid =
    listed !== undefined &&
    isPath(listed.path) &&
    isPath(listed.parent) &&
    Array.isArray(listed.folders) &&
    listed.folders.length <= maxFolders &&
    listed.folders.every(({ name, path }) => typeof name === 'string' && typeof path === 'string' && isPath(path))
  if (!isValid) throw new AppError('BACK_END_FAULT')
  return { ...listed, isComplete: listed.isComplete === true }
}
