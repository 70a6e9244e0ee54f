import { StorageError } from '../../contract.ts'
import type { Container } from './container.ts'
import { hasCode, missingContainer, refusalOf } from './errors.ts'
import { isHierarchical } from './hierarchy.ts'
import { listBlobs } from './list.ts'

/**
 * Finds the container, and whether the account has a hierarchical namespace.
 * @throws INVALID_CONFIG where the container is missing; the error of a server that is down
 */
export async function probe(container: Container, signal: AbortSignal): Promise<{ isHierarchical: boolean }> {
  const [hierarchical] = await Promise.all([
    isHierarchical(container, signal).catch(orUndecided),
    listBlobs(container, { prefix: container.settings.base, limit: 1 }, signal).catch(error => {
      const { code } = refusalOf(error) ?? {}
      if (code !== 'ContainerNotFound' && code !== 'FilesystemNotFound') throw error
      throw new StorageError('INVALID_CONFIG', missingContainer(container.settings), { cause: error })
    }),
  ])
  return { isHierarchical: hierarchical ?? false }
}

/** The credentials may not allow this question. */
function orUndecided(error: unknown): undefined {
  if (refusalOf(error) === undefined || hasCode(error, 'RATE_LIMITED')) throw error
}
