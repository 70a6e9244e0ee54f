import {
  type AdapterDefinition,
  childOf,
  type Entry,
  type StoragePath,
  type StorageProvider,
} from '../../adapters/contract.ts'

/**
 * Replaces the `fileId` of all entries of an adapter. Without ids, its providers are as two mounts of one network file system.
 * With equal ids for equal paths, they are as two accounts at one address.
 * @param idOf returns undefined for no id
 */
export function withIds(
  adapter: AdapterDefinition,
  idOf: (path: StoragePath) => string | undefined,
): AdapterDefinition {
  const changed = (path: StoragePath, { fileId, ...entry }: Entry): Entry => {
    if (fileId === undefined) throw new Error('The adapter returns no fileId')
    const other = idOf(path)
    return { ...entry, ...(other !== undefined && { fileId: other }) }
  }
  return {
    ...adapter,
    async open(config, host) {
      const good = await adapter.open(config, host)
      const changes: Partial<StorageProvider> = {
        stat: async (path, options) => changed(path, await good.stat(path, options)),
        write: async (path, body, options) => changed(path, await good.write(path, body, options)),
        async list(path, options) {
          const page = await good.list(path, options)
          return { ...page, entries: page.entries.map(entry => changed(childOf(path, entry.name), entry)) }
        },
        async read(path, options) {
          const { body, entry } = await good.read(path, options)
          return { body, entry: changed(path, entry) }
        },
      }
      return new Proxy(good, {
        get(_, name) {
          const value = Reflect.get(changes, name) ?? Reflect.get(good, name)
          return typeof value === 'function' ? value.bind(good) : value
        },
      })
    },
  }
}
