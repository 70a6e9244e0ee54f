/**
 * The operations of a hierarchical namespace on folders, at the address `<account>.dfs...`. Everything else uses the address
 * for blobs, which shows the same files: https://learn.microsoft.com/azure/storage/blobs/data-lake-storage-multi-protocol-access
 */
import { hasCode } from '../../bases/errors.ts'
import { StorageError } from '../../contract.ts'
import type { Container } from './client.ts'
import { encodeKey } from './entry.ts'
import { missingContainer, refusalOf } from './errors.ts'

const service = 'dfs'

/** Returns whether the account has a hierarchical namespace; undefined where it does not say. */
async function isHierarchical(container: Container, signal: AbortSignal): Promise<boolean | undefined> {
  const query = { restype: 'account', comp: 'properties' }
  const { headers } = await container.call({ method: 'GET', query }, signal)
  const text = headers['x-ms-is-hns-enabled']
  return text === undefined ? undefined : text === 'true'
}

/**
 * Finds the container, and whether the account has a hierarchical namespace.
 * @throws INVALID_CONFIG where the container is missing; the error of a server that is down
 */
export async function probe(container: Container, signal: AbortSignal): Promise<{ isHierarchical: boolean }> {
  const [hierarchical] = await Promise.all([
    isHierarchical(container, signal).catch(orUndecided),
    container.list(container.settings.base, { limit: 1 }, signal).catch(error => {
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

/** Makes a folder and its parents. @throws ALREADY_EXISTS */
export async function makeDirectory(container: Container, key: string, signal?: AbortSignal): Promise<void> {
  const headers = { 'if-none-match': '*' }
  await container.call({ method: 'PUT', key, query: { resource: 'directory' }, headers, service }, signal)
}

/** Deletes a folder. Returns false for a missing one. @throws NOT_EMPTY unless `recursive` */
export async function removeDirectory(
  container: Container,
  key: string,
  recursive: boolean,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    await removeInSteps(container, key, recursive, signal)
    return true
  } catch (error) {
    if (hasCode(error, 'NOT_FOUND')) return false
    throw error
  }
}

/** A large folder is deleted in several steps. */
async function removeInSteps(
  container: Container,
  key: string,
  recursive: boolean,
  signal: AbortSignal,
): Promise<void> {
  for (let continuation: string | undefined; ; ) {
    const query = { recursive: String(recursive), ...(continuation && { continuation }) }
    const { headers } = await container.call({ method: 'DELETE', key, query, service, isSlow: true }, signal)
    continuation = headers['x-ms-continuation']?.toString()
    if (!continuation) return
  }
}

/** Moves a file or a folder, in one step. @throws NOT_FOUND, ALREADY_EXISTS */
export async function rename(container: Container, from: string, to: string, overwrite: boolean): Promise<void> {
  const { container: name } = container.settings
  const headers = {
    // With a shared access signature, the source needs it, too.
    'x-ms-rename-source': `/${name}/${encodeKey(from)}${container.urlOf(from).search}`,
    ...(!overwrite && { 'if-none-match': '*' }),
  }
  await container.call({ method: 'PUT', key: to, headers, service, isSlow: true })
}
