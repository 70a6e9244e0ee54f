/** The features that the back ends of providers support. */
import type { ProviderRecord } from '../../db/providers.ts'
import type { Storage } from '../../storage/index.ts'
import type { TrashTraits } from '../../storage/trash.ts'
import type { VersionTraits } from '../../storage/versions.ts'
import type { Capabilities } from './settings.ts'

export function createTraits(storage: Storage) {
  return {
    /** Returns what the provider supports; no capabilities if it cannot be opened now. */
    async capabilities(record: ProviderRecord): Promise<Capabilities> {
      const provider = await storage.provider(record).catch(() => null)
      return {
        serverSideCopy: provider?.copy !== undefined,
        serverSideMove: provider?.move !== undefined,
        emptyFolders: provider?.traits.emptyDirectories ?? false,
        resumableUpload: provider?.resumable !== undefined,
        maxFileSize: provider?.traits.maxFileSize ?? null,
      }
    },

    /** Returns how deleting works at the provider; without days if it cannot be opened now. */
    async trash(record: ProviderRecord): Promise<TrashTraits> {
      return storage
        .trashTraits(record)
        .catch(() => ({ days: record.trashDays ?? 0, isNative: false, isOneStep: false }))
    },

    /** Returns how the provider keeps versions; none if it cannot be opened now. */
    async versions(record: ProviderRecord): Promise<VersionTraits> {
      const closed = {
        count: record.versionCount ?? 0,
        days: record.versionDays ?? 0,
        isOneStep: false,
        isNative: false,
      }
      return storage.versionTraits(record).catch(() => closed)
    },
  }
}
