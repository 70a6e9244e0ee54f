import { basePath } from './client.ts'

/** What this browser keeps of an account on the device. Other consoles of the same origin have other paths. */
const prefix = `stowage.kept ${basePath}/ `

/** Browsers offer what is needed only over HTTPS, or on the same computer. */
export const canKeep = 'caches' in globalThis && 'serviceWorker' in navigator && 'locks' in navigator

let leaving = new AbortController()

/** Returns a signal that aborts when the account of this browser changes. */
export function accountSignal(): AbortSignal {
  return leaving.signal
}

/** Returns the name of the cache with the files that an account keeps. */
export function keptCacheOf(userId: string): string {
  return prefix + userId
}

/** Returns the caches of kept files of all accounts. There is at most one, except while people sign in. */
export async function keptCaches(): Promise<string[]> {
  return canKeep ? (await caches.keys()).filter(name => name.startsWith(prefix)) : []
}

/**
 * Deletes what this browser keeps on the device for others than `userId`; null for everybody.
 * @param previousId who was signed in on this page before
 */
export async function forgetOthers(userId: string | null, previousId?: string): Promise<void> {
  const isOther = userId === null || (previousId !== undefined && previousId !== userId)
  try {
    await Promise.all([forgetKept(userId), isOther && forgetShared()])
  } catch {
    // The storage of the browser is damaged or not allowed, which must not keep anybody out.
  }
}

async function forgetKept(userId: string | null): Promise<void> {
  const others = (await keptCaches()).filter(name => userId === null || name !== keptCacheOf(userId))
  if (userId === null || others.length > 0) {
    // A download that is not complete yet would come back.
    leaving.abort()
    leaving = new AbortController()
  }
  await Promise.all(others.map(name => caches.delete(name)))
}

/** The files that another program has shared, until the person chooses their folder. The service worker stores them. */
const sharedCache = `stowage.shared ${basePath}/`
/** Milliseconds. Files that nobody has uploaded by then are forgotten. */
const sharedFor = 60 * 60 * 1000

/** Returns the files that another program has shared. */
export async function readShared(): Promise<File[]> {
  if (!canKeep || !(await caches.has(sharedCache))) return []
  const responses = await (await caches.open(sharedCache)).matchAll()
  const files = responses.map(async response => {
    const { name, type, at } = JSON.parse(decodeURIComponent(response.headers.get('x-stowage-shared') ?? ''))
    return Date.now() - at < sharedFor ? [new File([await response.blob()], name, { type, lastModified: at })] : []
  })
  return (await Promise.all(files)).flat()
}

export async function forgetShared(): Promise<void> {
  if (canKeep) await caches.delete(sharedCache)
}
