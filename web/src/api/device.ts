import { basePath, urlOf } from './client.ts'
import { forgetPushOf } from './push-device.ts'
import { sharedInfoOf } from './shared-bounds.ts'

/** What this browser keeps of an account on the device. Other consoles of the same origin have other paths. */
const prefix = `stowage.kept ${basePath}/ `

/** Browsers offer what is needed only over HTTPS, or on the same computer. */
export const canKeep = 'caches' in globalThis && 'serviceWorker' in navigator && 'locks' in navigator

/** Registers the service worker of the console, in the language of the page. */
export async function registerWorker(language: string): Promise<ServiceWorkerRegistration> {
  const worker = urlOf(`/service-worker.js?language=${language}`)
  return navigator.serviceWorker.register(worker, { scope: urlOf('/'), updateViaCache: 'none' })
}

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
    await Promise.all([forgetKept(userId), isOther && forgetShared(), forgetPushOf(userId)])
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

/** The files that another program has shared, until the server has stored them. The service worker puts them here. */
const sharedCache = `stowage.shared ${basePath}/`
/** The addresses in the cache of the files that this page has read. */
const sharedUrls = new WeakMap<File, string>()
/** The addresses of the files that this page uploads. */
const sentUrls = new Set<string>()

/** Returns the files that another program has shared, except those that this page uploads. */
export async function readShared(): Promise<File[]> {
  if (!canKeep || !(await caches.has(sharedCache))) return []
  const cache = await caches.open(sharedCache)
  const requests = (await cache.keys()).filter(({ url }) => !sentUrls.has(url))
  const files = requests.map(async ({ url }) => {
    const response = await cache.match(url)
    if (!response) return []
    const info = sharedInfoOf(response)
    if (!info) {
      await cache.delete(url)
      return []
    }
    const { name, type, at } = info
    const file = new File([await response.blob()], name, { type, lastModified: at })
    sharedUrls.set(file, url)
    return [file]
  })
  return (await Promise.all(files)).flat()
}

/** Keeps files that another program has shared, in case their upload is interrupted. `readShared` of this page leaves them out. */
export function keepUntilStored(files: readonly File[]): void {
  for (const file of files) {
    const url = sharedUrls.get(file)
    if (url !== undefined) sentUrls.add(url)
  }
}

/** Deletes the copies of files that another program has shared, because they are stored or not wanted. */
export async function forgetSharedFiles(files: readonly File[]): Promise<void> {
  const urls = files.flatMap(file => sharedUrls.get(file) ?? [])
  if (urls.length === 0) return
  const cache = await caches.open(sharedCache)
  await Promise.all(urls.map(url => cache.delete(url)))
}

async function forgetShared(): Promise<void> {
  if (canKeep) await caches.delete(sharedCache)
}
