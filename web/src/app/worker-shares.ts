/** Files that other programs share with the service worker, for the page that asks for their folder: "share_target" of the manifest. */
import { maxShared, sharedInfoOf, sharedResponse } from '../api/shared-bounds.ts'

/**
 * Stores the files of a form. The form of another site can send files here, too, so all that wait are bounded, and only a press of the
 * person uploads them.
 * @param scope the address of the console, which ends with "/"
 */
export async function receiveShared(request: Request, scope: string): Promise<Response> {
  const bounds = { isExceeded: false }
  const cacheName = `stowage.shared ${new URL(scope).pathname}`
  try {
    const files = (await readForm(request, bounds)).getAll('files').filter(value => value instanceof File)
    // Two forms at once would each see room for all of their files.
    await navigator.locks.request(cacheName, async () => {
      const cache = await caches.open(cacheName)
      const waiting = await sizesOf(cache)
      const bytes = [...waiting, ...files.map(({ size }) => size)].reduce((sum, size) => sum + size, 0)
      bounds.isExceeded = waiting.length + files.length > maxShared.files || bytes > maxShared.bytes
      if (bounds.isExceeded) throw new Error('There are too many files.')
      await storeAll(cache, files, scope)
    })
    return Response.redirect(`${scope}upload`, 303)
  } catch {
    // Otherwise, the browser has no more room.
    return Response.redirect(`${scope}upload?failed=${bounds.isExceeded ? 'bounds' : 'room'}`, 303)
  }
}

/** Returns the bytes of each file that waits, and deletes those whose time is over. */
async function sizesOf(cache: Cache): Promise<number[]> {
  const sizes = (await cache.keys()).map(async request => {
    const response = await cache.match(request)
    const info = response && sharedInfoOf(response)
    if (info) return [info.size]
    await cache.delete(request)
    return []
  })
  return (await Promise.all(sizes)).flat()
}

/** Stores all files or none. @throws if the browser has no room */
async function storeAll(cache: Cache, files: readonly File[], scope: string): Promise<void> {
  const urls = files.map(() => `${scope}shared/${crypto.randomUUID()}`)
  const puts = files.map((file, index) => cache.put(urls[index] ?? '', sharedResponse(file)))
  const failed = (await Promise.allSettled(puts)).find(({ status }) => status === 'rejected')
  if (!failed) return
  await Promise.all(urls.map(url => cache.delete(url)))
  throw new Error('The browser has no room.')
}

/** Reads a form up to the bytes that programs may share. @throws if it is larger, which `bounds` then says */
async function readForm(request: Request, bounds: { isExceeded: boolean }): Promise<FormData> {
  // A browser without streams of requests offers no share target either.
  if (!request.body) return request.formData()
  let bytes = 0
  const counted = request.body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        bytes += chunk.length
        bounds.isExceeded = bytes > maxShared.bytes
        if (bounds.isExceeded) controller.error(new Error('The files are too large.'))
        else controller.enqueue(chunk)
      },
    }),
  )
  const type = request.headers.get('content-type') ?? ''
  return new Response(counted, { headers: { 'content-type': type } }).formData()
}
