/** Which files are kept, for menus. `kept-files.ts` stores them and loads on first use. */
import { urlOf } from '../../api/client.ts'
import { accountSignal } from '../../api/device.ts'
import type { StorageLocation } from '../../api/locations.ts'
import { Notifier, useNotified } from '../../lib/notifier.ts'

/** The address of a file in the cache, at which the server has nothing. */
export function keptUrl({ providerId, path }: StorageLocation): string {
  return `${location.origin}${urlOf('/kept')}/${providerId}/${encodeURIComponent(path)}`
}

/** The addresses of the files in a cache. */
interface Kept {
  cacheName: string
  urls: ReadonlySet<string>
}

let kept: Kept | null = null
const changes = new Notifier()

/** Reads again which files a cache has. */
export async function readKept(cacheName: string): Promise<void> {
  // Opening a cache would create it.
  const requests = (await caches.has(cacheName)) ? await (await caches.open(cacheName)).keys() : []
  kept = { cacheName, urls: new Set(requests.map(({ url }) => url)) }
  // The files leave with the account.
  accountSignal().addEventListener(
    'abort',
    () => {
      kept = null
      changes.notify()
    },
    { once: true },
  )
  changes.notify()
}

/** Returns what was read last; null before that. It is another object after each change. */
export function useKept(): Kept | null {
  return useNotified(changes, () => kept)
}
