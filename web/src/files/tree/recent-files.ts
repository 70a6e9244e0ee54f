import { nameOfPath, type StorageLocation } from '../../api/locations.ts'
import { RecentList } from '../../lib/recent-list.ts'

/** The files that a person opened last. */
const files = new RecentList<StorageLocation>(
  'stowage.recent',
  8,
  (a, b) => a.providerId === b.providerId && a.path === b.path,
)

export function rememberRecentFile(userId: string, file: StorageLocation): void {
  files.add(userId, file)
}

/** Call this when a person signs out, because others may use the browser. */
export function forgetRecentFiles(): void {
  files.forget()
}

/** Returns the files with their names, the last one first. */
export function useRecentFiles(userId: string): readonly (StorageLocation & { name: string })[] {
  return files.useItems(userId).map(file => ({ ...file, name: nameOfPath(file.path) }))
}
