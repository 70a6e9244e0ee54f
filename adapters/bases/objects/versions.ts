/** The versions that an object store keeps of objects that were replaced or deleted. */
import type { ByteRange, Entry, NativeVersions, StoragePath } from '../../contract.ts'
import { nameOf } from '../../contract.ts'
import { noVersion } from '../errors.ts'
import type { ObjectDriver, ObjectVersions } from './driver.ts'
import { openObject } from './read.ts'

export function nativeVersions<Facts extends object>(
  driver: ObjectDriver<Facts>,
  versions: ObjectVersions<Facts>,
): NativeVersions {
  const { keys } = driver
  const entryOf = (path: StoragePath, facts: Facts): Entry => {
    const { fileId: _ofCurrent, ...entry } = driver.fileEntry(nameOf(path), keys.file(path), facts)
    return entry
  }
  const headOf = async (path: StoragePath, id: string, signal: AbortSignal): Promise<Facts> => {
    const facts = path === '' ? undefined : await versions.head(keys.file(path), id, signal)
    if (facts) return facts
    throw noVersion()
  }
  return {
    async list(path, { cursor, ...options }) {
      options.signal.throwIfAborted()
      return path === '' ? { versions: [] } : await versions.list(keys.file(path), { cursor, ...options })
    },
    async stat(path, id, { signal }) {
      signal.throwIfAborted()
      return entryOf(path, await headOf(path, id, signal))
    },
    async read(path, id, { range, signal }) {
      signal.throwIfAborted()
      if (path === '') throw noVersion()
      const source = {
        get: (part: ByteRange | undefined, _etag: unknown, callSignal: AbortSignal) =>
          versions.get(keys.file(path), id, part, callSignal),
        idleTime: driver.limits.idleTime,
        unreachable: (error: Error) => driver.unreachable(error),
      }
      const { opened, body } = await openObject(source, { range, signal })
      return { body, entry: entryOf(path, opened.facts) }
    },
    async restore(path, id, { signal }) {
      signal.throwIfAborted()
      const facts = await headOf(path, id, signal)
      await driver.prepare?.()
      const destination = { key: keys.file(path), name: nameOf(path), overwrite: true, signal }
      return await versions.restore(id, facts, destination, path)
    },
    async remove(path, id, { signal }) {
      signal.throwIfAborted()
      if (path !== '') await versions.remove(keys.file(path), id, signal)
    },
    async deleted(folder, { cursor, limit, signal }) {
      signal.throwIfAborted()
      const page = await versions.deleted(keys.folder(folder), { cursor, limit, signal })
      const paths = page.keys.map(key => key.slice(keys.base.length)).filter(path => isPath(driver, path))
      return { paths: paths as StoragePath[], ...(page.cursor !== undefined && { cursor: page.cursor }) }
    },
  }
}

/** Leaves out what other programs and this one have stored under names that no path has. */
function isPath<Facts extends object>(driver: ObjectDriver<Facts>, path: string): boolean {
  const [top = '', ...below] = path.split('/')
  return [top, ...below].every(name => driver.isName(name)) && !driver.isHidden(top, below.length > 0)
}
