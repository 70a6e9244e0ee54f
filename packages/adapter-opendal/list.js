// @ts-check
/** @import { Entry, ListPage, StoragePath, StorageProvider } from 'stowage/adapter' */
/** @import { Service } from './service.js' */
import { orAborted, StorageError } from 'stowage/adapter'
import { translated } from './errors.js'
import { isStorable, refuseNames } from './service.js'

/** The number of requests at once for the entries of a page. */
const maxRequests = 16

/** @param {Service} service @param {StoragePath} path @param {Parameters<StorageProvider['list']>[1]} options @returns {Promise<ListPage>} */
export async function list(service, path, { signal, cursor = '', limit }) {
  signal.throwIfAborted()
  refuseNames(path)
  const names = await namesAfter(service, path, { signal, cursor, limit })
  if (names.length === 0 && cursor === '' && path !== '') {
    if ((await service.stat(path, signal)).kind === 'file') {
      throw new StorageError('NOT_A_DIRECTORY', 'There is a file at this path.')
    }
  }
  const page = names.sort().slice(0, limit)
  const paths = page.map(name => /** @type {StoragePath} */ (path === '' ? name : `${path}/${name}`))
  const entries = await entriesOf(service, paths, signal)
  const last = page.at(-1)
  return names.length > limit && last !== undefined ? { entries, cursor: last } : { entries }
}

/**
 * Returns all names after the cursor, or at least one more than `limit`.
 * @param {Service} service
 * @param {StoragePath} path
 * @param {{ signal: AbortSignal, cursor: string, limit: number }} options
 */
async function namesAfter({ operator, can }, path, { signal, cursor, limit }) {
  const folder = path === '' ? '/' : `${path}/`
  const skips = can.listWithStartAfter && cursor !== ''
  const lister = await orAborted(
    translated(operator.lister(folder, skips ? { startAfter: folder + cursor } : {})),
    signal,
  )
  /** @type {string[]} */
  const names = []
  // Without `startAfter`, the whole folder is read for each page.
  for (;;) {
    const entry = await orAborted(translated(lister.next()), signal)
    if (!entry || (can.listWithStartAfter && names.length > limit)) return names
    const name = (path === '' ? entry.path() : entry.path().slice(folder.length)).replace(/\/$/, '')
    if (isStorable(name) && name > cursor) names.push(name)
  }
}

/** Leaves out what has been deleted since. @param {Service} service @param {StoragePath[]} paths @param {AbortSignal} signal */
async function entriesOf(service, paths, signal) {
  /** @type {(Entry | undefined)[]} */
  const entries = []
  const rest = [...paths.entries()].values()
  const worker = async () => {
    for (const [i, path] of rest) entries[i] = await service.find(path, signal)
  }
  await Promise.all(Array.from({ length: maxRequests }, worker))
  return entries.filter(entry => entry !== undefined)
}
