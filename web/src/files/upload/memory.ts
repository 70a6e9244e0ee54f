import type { PreviousUpload, UrlStorage } from 'tus-js-client'

/**
 * Where unfinished uploads are, so that they go on after a reload. An address opens nothing by itself: the server takes
 * bytes only from the session of whoever began.
 */

const prefix = 'stowage.upload.'
/** The server keeps what is unfinished for a day. */
const lifetime = 24 * 60 * 60 * 1000

export interface Unfinished {
  key: string
  providerId: string
  path: string
  size: number
}

export function hasUnfinished(): boolean {
  return Object.keys(localStorage).some(key => key.startsWith(prefix))
}

/** Which file goes where, for whom. */
export function fingerprintOf(userId: string, providerId: string, path: string, file: File): string {
  return `${prefix}${userId}.${providerId}.${file.size}.${file.lastModified}.${path}`
}

/** Of one person; what the server has forgotten is forgotten here, too. */
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
 * Fingerprints that a tab is at work on. None where browsers let no tab know of the others, as without HTTPS (W3C Web
 * Locks API).
 */
export async function heldFingerprints(): Promise<ReadonlySet<string>> {
  const { held = [] } = (await navigator.locks?.query()) ?? {}
  return new Set(held.flatMap(({ name }) => name ?? []))
}

/** Until the returned function is called, or the page goes. */
export function hold(fingerprint: string): () => void {
  const { promise, resolve } = Promise.withResolvers<void>()
  void navigator.locks?.request(fingerprint, { ifAvailable: true }, lock => (lock ? promise : undefined))
  return resolve
}

export function forgetUnfinished(key: string): void {
  localStorage.removeItem(key)
}

/** One entry for each fingerprint, which is its key. */
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
      // Full, or not allowed: then it does not outlive the page.
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
