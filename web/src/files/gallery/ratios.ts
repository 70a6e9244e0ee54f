import { useMemo } from 'react'
import type { StorageLocation } from '../../api/locations.ts'
import { Notifier, useNotified } from '../../lib/notifier.ts'
import type { Entry } from '../operations.ts'

/** The ratios of width and height of the photos that this page has seen. The oldest go first. */
const ratios = new Map<string, number>()
const maxRatios = 20_000
const changes = new Notifier()

const keyOf = (folder: StorageLocation, { name, modifiedAt }: Entry) =>
  JSON.stringify([folder.providerId, folder.path, name, modifiedAt])

export function noteRatio(folder: StorageLocation, entry: Entry, { naturalWidth, naturalHeight }: HTMLImageElement) {
  const key = keyOf(folder, entry)
  const ratio = naturalWidth / Math.max(1, naturalHeight)
  if (ratios.get(key) === ratio || !(ratio > 0)) return
  ratios.set(key, ratio)
  const [oldest] = ratios.keys()
  if (ratios.size > maxRatios && oldest !== undefined) ratios.delete(oldest)
  // Many photos arrive together, and each moves the others.
  changes.notifySoon()
}

/** Returns the ratio of a photo in a folder; null if it is not known yet. The function is another one after each change. */
export function useRatios(folder: StorageLocation): (entry: Entry) => number | null {
  const version = useNotified(changes, changes.version)
  return useMemo(() => {
    void version
    return entry => ratios.get(keyOf(folder, entry)) ?? null
  }, [folder, version])
}
