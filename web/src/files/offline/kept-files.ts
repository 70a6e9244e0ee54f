import { StowageError, stowage } from '../../api/client.ts'
import { workConcurrently } from '../../api/concurrency.ts'
import { accountSignal } from '../../api/device.ts'
import { nameOfPath, type StorageLocation } from '../../api/locations.ts'
import { texts } from '../../texts/offline.ts'
import { notify } from '../../ui/toasts.tsx'
import { keptUrl, readKept } from './kept.ts'

/** The most files that a device keeps, and bytes. */
export const maxFiles = 200
export const maxBytes = 500_000_000
/** Files that are read at once, so that connections remain for the page. */
const atOnce = 3
/** Milliseconds between two comparisons with the server. */
const comparedFor = 60_000

export interface KeptFile extends StorageLocation {
  name: string
  size: number
  type: string | null
  /** Changes with the content; null if the back end tells neither an etag nor a time. */
  version: string | null
  keptAt: string
}

const header = 'x-stowage-kept'

/** Returns the files in a cache, by name. */
export async function listKept(cacheName: string): Promise<KeptFile[]> {
  if (!(await caches.has(cacheName))) return []
  const responses = await (await caches.open(cacheName)).matchAll()
  const files = responses.map(({ headers }): KeptFile => JSON.parse(decodeURIComponent(headers.get(header) ?? '')))
  return files.sort((a, b) => a.name.localeCompare(b.name))
}

/** Returns the content of a kept file; null if it was removed meanwhile. */
export async function readKeptFile(cacheName: string, file: StorageLocation): Promise<Blob | null> {
  return (await (await (await caches.open(cacheName)).match(keptUrl(file)))?.blob()) ?? null
}

/** Keeps files on this device. @throws StowageError, and Error if the bounds of the device are reached */
export async function keepAll(
  cacheName: string,
  files: readonly (StorageLocation & { size: number })[],
): Promise<void> {
  const signal = accountSignal()
  const chosen = new Set(files.map(keptUrl))
  const others = (await listKept(cacheName)).filter(file => !chosen.has(keptUrl(file)))
  requireRoom([...others, ...files])
  const { done, failures } = await workConcurrently(files, atOnce, file => keep(cacheName, file, signal), signal)
  await readKept(cacheName)
  const [failure] = failures
  if (done.length > 0) notify(texts.nowKept(done.length))
  if (failure) throw failure.error
}

export async function removeAll(cacheName: string, files: readonly StorageLocation[]): Promise<void> {
  const cache = await caches.open(cacheName)
  await Promise.all(files.map(file => cache.delete(keptUrl(file))))
  await readKept(cacheName)
  notify(texts.nowRemoved(files.length))
}

/** Calls `work` while no other page of this browser changes what is kept. */
const alone = <Result>(work: () => Promise<Result>): Promise<Result> => navigator.locks.request('stowage.kept', work)

async function keep(cacheName: string, file: StorageLocation, signal: AbortSignal): Promise<void> {
  const download = await stowage.files.download({ ...file, signal })
  const content = await new Response(download.body.pipeThrough(bounded())).blob()
  const { type, etag, modifiedAt } = download
  const info: KeptFile = {
    ...file,
    name: nameOfPath(file.path),
    size: content.size,
    type,
    version: etag ?? modifiedAt?.toUTCString() ?? null,
    keptAt: new Date().toISOString(),
  }
  await alone(async () => {
    const others = (await listKept(cacheName)).filter(each => keptUrl(each) !== keptUrl(file))
    requireRoom([...others, content])
    // The person may have signed out meanwhile.
    signal.throwIfAborted()
    const response = new Response(content, { headers: { [header]: encodeURIComponent(JSON.stringify(info)) } })
    await (await caches.open(cacheName)).put(keptUrl(file), response).catch(() => {
      throw new Error(texts.noRoom)
    })
    if (signal.aborted) await caches.delete(cacheName)
  })
}

/** @throws Error if a device does not keep as many files, or as large ones */
function requireRoom(files: readonly { size: number }[]): void {
  if (files.length > maxFiles) throw new Error(texts.tooMany(maxFiles))
  if (files.reduce((sum, { size }) => sum + size, 0) > maxBytes) throw tooLarge()
}

const tooLarge = () => new Error(texts.tooLarge(maxBytes))

/** Passes content on, up to the bytes that a device keeps. */
function bounded(): TransformStream<Uint8Array, Uint8Array> {
  let bytes = 0
  return new TransformStream({
    transform(chunk, controller) {
      bytes += chunk.length
      if (bytes > maxBytes) controller.error(tooLarge())
      else controller.enqueue(chunk)
    },
  })
}

let comparedAt = Number.NEGATIVE_INFINITY

/**
 * Compares the kept files with those of the server: reads again what has changed, and removes what is gone or what the person may no
 * longer read.
 */
export async function compareKept(cacheName: string): Promise<void> {
  const now = performance.now()
  if (now - comparedAt < comparedFor) return
  comparedAt = now
  const signal = accountSignal()
  const files = await listKept(cacheName)
  await workConcurrently(files, atOnce, file => compare(cacheName, file, signal), signal)
  await readKept(cacheName)
}

async function compare(cacheName: string, file: KeptFile, signal: AbortSignal): Promise<void> {
  const { providerId, path, version, size } = file
  const query = new URLSearchParams({ providerId, path })
  try {
    const { headers } = await stowage.request(`/api/download/proxy?${query}`, { method: 'HEAD', signal })
    const current = headers.get('etag') ?? headers.get('last-modified')
    const isSame = current === null ? Number(headers.get('content-length')) === size : current === version
    if (!isSame) await keep(cacheName, { providerId, path }, signal)
  } catch (error) {
    const isGone = error instanceof StowageError && [401, 403, 404].includes(error.status)
    if (isGone) await (await caches.open(cacheName)).delete(keptUrl(file))
  }
}
