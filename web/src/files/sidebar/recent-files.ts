import { nameOfPath, type StorageLocation } from '../../api/locations.ts'
import { recall, remember } from '../../lib/local-storage.ts'
import { Notifier, useNotifier } from '../../lib/notifier.ts'

/** The files that a person opened last in this browser. */
const storageKey = 'stowage.recent'
const maxFiles = 8

const changes = new Notifier()

function filesOf(userId: string): readonly StorageLocation[] {
  try {
    const stored: { userId: string; files: readonly StorageLocation[] } | null = JSON.parse(
      recall(storageKey) ?? 'null',
    )
    return stored?.userId === userId ? stored.files : []
  } catch {
    return []
  }
}

export function rememberRecentFile(userId: string, file: StorageLocation): void {
  const isSame = ({ providerId, path }: StorageLocation) => providerId === file.providerId && path === file.path
  const files = [file, ...filesOf(userId).filter(each => !isSame(each))].slice(0, maxFiles)
  remember(storageKey, JSON.stringify({ userId, files }))
  changes.notify()
}

/** Call this when a person signs out, because others may use the browser. */
export function forgetRecentFiles(): void {
  localStorage.removeItem(storageKey)
}

/** Returns the files with their names, the last one first. */
export function useRecentFiles(userId: string): readonly (StorageLocation & { name: string })[] {
  useNotifier(changes)
  return filesOf(userId).map(file => ({ ...file, name: nameOfPath(file.path) }))
}
