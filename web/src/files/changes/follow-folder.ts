/** Follows the changes of a folder through the worker. Loaded after the folder is shown. */
import type { QueryClient } from '@tanstack/react-query'
import { basePath } from '../../api/client.ts'
import { isWithin, type StorageLocation } from '../../api/locations.ts'
import { queryKeys } from '../../api/query-keys.ts'
import { type Follow, followInterval, type Notice } from './messages.ts'

let port: Promise<MessagePort> | undefined

/** Connects to the worker, or to a hub in this page where browsers have no shared workers. */
async function connect(): Promise<MessagePort> {
  try {
    return new SharedWorker(new URL('./worker.ts', import.meta.url), { type: 'module' }).port
  } catch {
    // Some browsers have no shared workers, and some forbid them with the storage of sites.
  }
  const { Hub } = await import('./hub.ts')
  const { port1, port2 } = new MessageChannel()
  new Hub().add(port2)
  return port1
}

/**
 * Reads a folder again when anybody changes it.
 * @param options.interval milliseconds between two readings because of changes
 * @param options.signal ends it
 */
export function followFolder(
  client: QueryClient,
  { providerId, path }: StorageLocation,
  { interval, signal }: { interval: number; signal: AbortSignal },
): void {
  let timer: ReturnType<typeof setTimeout> | undefined
  const queryKey = queryKeys.listing({ providerId, path })
  const readSoon = () => {
    timer ??= setTimeout(() => {
      timer = undefined
      // A listing in progress may have missed the change. Starting it again at each change would never let it end.
      if (client.isFetching({ queryKey }) > 0) return readSoon()
      void client.invalidateQueries({ queryKey })
      void client.invalidateQueries({ queryKey: queryKeys.subfolders({ providerId, path }) })
    }, interval)
  }
  const onNotice = ({ data: { change, isRefused } }: MessageEvent<Notice>) => {
    if (isRefused) {
      // The page whose folder cannot be read any more no longer follows it, and the others get a new subscription.
      for (const key of [queryKeys.session, queryKey]) void client.invalidateQueries({ queryKey: key })
    } else if (change.providerId === providerId && isWithin(change.path, path)) {
      readSoon()
    }
  }
  port ??= connect()
  void port.then(port => {
    if (signal.aborted) return
    const follow = (folder: StorageLocation | null) =>
      port.postMessage({ url: location.origin + basePath, folder } satisfies Follow)
    port.addEventListener('message', onNotice, { signal })
    port.start()
    follow({ providerId, path })
    const repeating = setInterval(() => follow({ providerId, path }), followInterval)
    addEventListener('pagehide', () => follow(null), { signal })
    addEventListener('pageshow', () => follow({ providerId, path }), { signal })
    signal.addEventListener('abort', () => {
      clearInterval(repeating)
      clearTimeout(timer)
      follow(null)
    })
  })
}
