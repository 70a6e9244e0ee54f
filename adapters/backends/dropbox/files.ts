import { RequestFailure } from '../../bases/cloud/client.ts'
import { refuseTooLarge, toStorageError } from '../../bases/cloud/errors.ts'
import { folderEntry, hasCode } from '../../bases/errors.ts'
import { type Entry, nameOf, type Quota, StorageError, type StoragePath } from '../../contract.ts'
import type { DeletedMetadata, DropboxApi, Metadata } from './api.ts'
import { namespaceId, requireStorable, toEntry } from './entry.ts'
import { dropbox, isRefusedFor } from './errors.ts'

export interface FolderPage {
  entries: (Metadata | DeletedMetadata)[]
  cursor: string
  has_more: boolean
}

interface SpaceUsage {
  used: number
  allocation:
    | { '.tag': 'individual'; allocated: number }
    | {
        '.tag': 'team'
        used: number
        allocated: number
        /** 0 without a limit. */
        user_within_team_space_allocated: number
        user_within_team_space_used_cached: number
      }
    | { '.tag': 'other' }
}

/** The files of one provider by path. */
export class DropboxFiles {
  readonly api: DropboxApi
  readonly #root: string

  /** @param root the path of the root folder in Dropbox; the empty string for the whole space */
  constructor(api: DropboxApi, root: string) {
    this.api = api
    this.#root = root
  }

  /** Returns a path as Dropbox writes it. @throws INVALID_PATH */
  pathOf(path: StoragePath): string {
    requireStorable(path)
    return path === '' ? this.#root : `${this.#root}/${path}`
  }

  /** Returns undefined for a missing path. */
  async find(path: StoragePath, signal: AbortSignal): Promise<Metadata | undefined> {
    const where = this.pathOf(path)
    try {
      return await this.api.call<Metadata>('files/get_metadata', { path: where }, { signal })
    } catch (error) {
      if (isMissing(error)) return undefined
      throw error
    }
  }

  async entry(path: StoragePath, signal: AbortSignal): Promise<Entry | undefined> {
    // Dropbox has no metadata for the top of a space.
    if (path === '' && this.#root === '') {
      const fileId = namespaceId(await this.api.rootNamespace(signal))
      return folderEntry('', fileId)
    }
    const found = await this.find(path, signal)
    if (!found && path === '') throw missingRoot()
    return found && toEntry(nameOf(path), found)
  }

  /** Starts a listing. @throws RequestFailure for a missing folder or a file */
  async list(path: StoragePath, limit: number, signal: AbortSignal): Promise<FolderPage> {
    try {
      return await this.api.call<FolderPage>('files/list_folder', { path: this.pathOf(path), limit }, { signal })
    } catch (error) {
      throw path === '' && this.#root !== '' && isMissing(error) ? missingRoot() : error
    }
  }

  async listMore(cursor: string, signal: AbortSignal): Promise<FolderPage> {
    return await this.api.call<FolderPage>('files/list_folder/continue', { cursor }, { signal })
  }

  async isEmpty(path: StoragePath, signal: AbortSignal): Promise<boolean> {
    let page = await this.list(path, 1, signal)
    while (page.has_more && !page.entries.some(isPresent)) page = await this.listMore(page.cursor, signal)
    return !page.entries.some(isPresent)
  }

  /**
   * Deletes a file of this revision, or a folder with everything below it. Resolves for a missing path.
   * @throws RequestFailure if the file has another revision
   */
  async remove(path: StoragePath, rev: string | undefined, signal: AbortSignal): Promise<void> {
    const args = { path: this.pathOf(path), ...(rev !== undefined && { parent_rev: rev }) }
    try {
      await this.api.call('files/delete_v2', args, { signal })
    } catch (error) {
      if (!isMissing(error)) throw error
    }
  }

  /** Deletes a file or a folder that was just created. Never rejects. */
  async discard({ id, ...metadata }: Metadata): Promise<void> {
    const rev = 'rev' in metadata ? { parent_rev: metadata.rev } : {}
    // The caller needs the error that made the call fail, not this one.
    const signal = AbortSignal.timeout(30_000)
    await this.api.call('files/delete_v2', { path: id, ...rev }, { signal }).catch(() => {})
  }

  async quota(signal: AbortSignal): Promise<Quota> {
    const { used, allocation } = await this.api.call<SpaceUsage>('users/get_space_usage', null, { signal })
    if (allocation['.tag'] === 'individual') return { used, total: allocation.allocated }
    if (allocation['.tag'] !== 'team') return { used, total: null }
    const limit = allocation.user_within_team_space_allocated
    if (limit > 0) return { used: allocation.user_within_team_space_used_cached, total: limit }
    return { used: allocation.used, total: allocation.allocated }
  }

  /** @throws QUOTA_EXCEEDED */
  async refuseTooLarge(size: number, signal: AbortSignal): Promise<void> {
    const message = 'The Dropbox account has too little free space for this file: free some space or buy more.'
    refuseTooLarge(await this.quota(signal), size, message)
  }
}

export const isPresent = (entry: Metadata | DeletedMetadata): entry is Metadata => entry['.tag'] !== 'deleted'

const missingRoot = () =>
  new StorageError('PERMISSION_DENIED', 'The root folder does not exist in Dropbox: check its path (rootFolder).')

function isMissing(error: unknown): boolean {
  return error instanceof RequestFailure && isRefusedFor(error.failure, 'not_found', 'not_folder')
}

/** Returns true for a refusal with the same meaning as this code. */
export function means(error: unknown, ...codes: Parameters<typeof hasCode>[1][]): boolean {
  const meaning = error instanceof RequestFailure ? toStorageError(error.failure, dropbox) : error
  return codes.some(code => hasCode(meaning, code))
}
