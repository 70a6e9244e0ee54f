/**
 * Remembers the addresses of unfinished uploads, so that they continue after a reload. An address alone grants nothing:
 * the server accepts bytes only from the session that started the upload.
 */
import { recall, remember } from '../../lib/local-storage.ts'

const prefix = 'stowage.upload.'
/** Milliseconds. The server keeps unfinished uploads for a day. */
const lifetime = 24 * 60 * 60 * 1000

/** A file and the path to upload it to. */
interface Upload {
  providerId: string
  path: string
  file: File
}

interface Unfinished {
  url: string
  providerId: string
  path: string
  size: number
  /** Milliseconds since 1970. */
  startedAt: number
}

export function hasUnfinished(): boolean {
  return Object.keys(localStorage).some(key => key.startsWith(prefix))
}

/** Identifies a file, the path to upload it to, and the person. */
export function fingerprintOf({ userId, providerId, path, file }: Upload & { userId: string }): string {
  return `${prefix}${userId}.${providerId}.${file.size}.${file.lastModified}.${path}`
}

/** Returns the unfinished uploads of one person, and deletes those that the server no longer keeps. */
export function unfinishedOf(userId: string): (Unfinished & { key: string })[] {
  const found: (Unfinished & { key: string })[] = []
  for (const key of Object.keys(localStorage)) {
    if (!key.startsWith(prefix)) continue
    const upload = read(key)
    if (!upload) localStorage.removeItem(key)
    else if (key.startsWith(`${prefix}${userId}.`)) found.push({ ...upload, key })
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

/** Returns the address of an unfinished upload. */
export function urlOfUnfinished(fingerprint: string): string | undefined {
  return read(fingerprint)?.url
}

export function rememberUnfinished(fingerprint: string, url: string, { providerId, path, file }: Upload): void {
  const upload: Unfinished = { url, providerId, path, size: file.size, startedAt: Date.now() }
  // Without room for it, the upload continues, but cannot resume after a reload.
  remember(fingerprint, JSON.stringify(upload))
}

export function forgetUnfinished(fingerprint: string): void {
  localStorage.removeItem(fingerprint)
}

/** Returns null if there is no such upload, or the server no longer keeps it. */
function read(key: string): Unfinished | null {
  try {
    const upload: Unfinished | null = JSON.parse(recall(key) ?? 'null')
    return upload && Date.now() - upload.startedAt < lifetime ? upload : null
  } catch {
    return null
  }
}
