import { useSyncExternalStore } from 'react'
import { nameOfPath, type StorageLocation } from '../../api/paths.ts'

/** The files that a person opened last in this browser. */
const storageKey = 'stowage.recent'
const maxFiles = 8

interface Stored {
  userId: string
  files: readonly StorageLocation[]
}

const listeners = new Set<() => void>()
let known: Stored | null = null
/** The text that `known` was read from. */
let knownText: string | null = null

function read(): Stored | null {
  const text = localStorage.getItem(storageKey)
  if (text === knownText) return known
  knownText = text
  try {
    known = JSON.parse(text ?? 'null')
  } catch {
    known = null
  }
  return known
}

const none: readonly StorageLocation[] = []

function filesOf(userId: string): readonly StorageLocation[] {
  try {
    const stored = read()
    return stored?.userId === userId ? stored.files : none
  } catch {
    return none
  }
}

export function noteOpened(userId: string, file: StorageLocation): void {
  const isSame = ({ providerId, path }: StorageLocation) => providerId === file.providerId && path === file.path
  const files = [file, ...filesOf(userId).filter(each => !isSame(each))].slice(0, maxFiles)
  try {
    localStorage.setItem(storageKey, JSON.stringify({ userId, files }))
  } catch {
    // Storage is full or not allowed.
  }
  for (const listener of listeners) listener()
}

/** Call this when a person signs out, because others may use the browser. */
export function forgetOpened(): void {
  localStorage.removeItem(storageKey)
}

/** Returns the files with their names, the last one first. */
export function useRecentFiles(userId: string): readonly (StorageLocation & { name: string })[] {
  const files = useSyncExternalStore(
    listener => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => filesOf(userId),
  )
  return files.map(file => ({ ...file, name: nameOfPath(file.path) }))
}
