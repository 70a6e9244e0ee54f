import type { PreviousUpload, UrlStorage } from 'tus-js-client'

/**
 * Remembers the addresses of unfinished uploads, so that they continue after a reload. An address alone grants nothing:
 * the server accepts bytes only from the session that started the upload.
 */

const prefix = 'stowage.upload.'
/** Milliseconds. The server keeps unfinished uploads for a day. */
const lifetime = 24 * 60 * 60 * 1000

interface Unfinished {
  key: string
  providerId: string
  path: string
  size: number
}

export function hasUnfinished(): boolean {
  return Object.keys(localStorage).some(key => key.startsWith(prefix))
}

/** Identifies a file, the path to upload it to, and the person. */
export function fingerprintOf(userId: string, providerId: string, path: string, file: File): string {
  return `${prefix}${userId}.${providerId}.${file.size}.${file.lastModified}.${path}`
}

/** Returns the unfinished uploads of one person, and deletes those that the server no longer keeps. */
export function unfinishedOf(userId: string): Unfinished[] {
  const found: Unfinished[] = []
  for (const key of Object.keys(localStorage)) {
    if (!key.startsWith(prefix)) continue
    const upload = read(key)
    if (!upload || Date.now() - Date.parse(upload.creationTime) > lifetime) {
      localStorage.removeItem(key)
      continue
    }
    const { providerId, path } = upload.metadata
    if (!key.startsWith(`${prefix}${userId}.`) || !providerId || !path || upload.size === null) continue
    found.push({ key, providerId, path, size: upload.size })
  }
  return found
}

/**
 * Returns the fingerprints of the uploads that any tab is working on. Without HTTPS the result is empty, because browsers
 * do not offer the Web Locks API (W3C) there.
 */
export async function lockedFingerprints(): Promise<ReadonlySet<string>> {
  const { held = [] } = (await navigator.locks?.query()) ?? {}
  return new Set(held.flatMap(({ name }) => name ?? []))
}

/** Locks a fingerprint until the returned function is called or the page closes. */
export function lockFingerprint(fingerprint: string): () => void {
  const { promise, resolve } = Promise.withResolvers<void>()
  void navigator.locks?.request(fingerprint, { ifAvailable: true }, lock => (lock ? promise : undefined))
  return resolve
}

export function forgetUnfinished(key: string): void {
  localStorage.removeItem(key)
}

/** Stores one upload for each fingerprint, with the fingerprint as the key. */
export const urlStorage: UrlStorage = {
  findAllUploads: async () => [],
  findUploadsByFingerprint: async fingerprint => {
    const upload = read(fingerprint)
    return upload ? [{ ...upload, urlStorageKey: fingerprint }] : []
  },
  removeUpload: async key => localStorage.removeItem(key),
  addUpload: async (fingerprint, upload) => {
    try {
      localStorage.setItem(fingerprint, JSON.stringify(upload))
    } catch {
      // Storage is full or not allowed. The upload continues, but cannot resume after a reload.
    }
    return fingerprint
  },
}

function read(key: string): PreviousUpload | null {
  try {
    return JSON.parse(localStorage.getItem(key) ?? 'null')
  } catch {
    return null
  }
}
