import { MemoryProvider } from '../../adapters/backends/memory/provider.ts'
import type { AdapterDefinition, StoragePath, StorageProvider } from '../../adapters/contract.ts'

/** A memory adapter with case-insensitive names, like exFAT and many network drives. */
export function foldingAdapter(): AdapterDefinition & { mkdirs: string[] } {
  const mkdirs: string[] = []
  const fold = (path: string) => path.toLowerCase() as StoragePath
  return {
    type: 'folding',
    apiVersion: 1,
    title: 'Memory without case',
    configSchema: { type: 'object', properties: {} },
    mkdirs,
    async open(): Promise<StorageProvider> {
      const files = new MemoryProvider(1_000_000)
      return {
        traits: files.traits,
        stat: (path, options) => files.stat(fold(path), options),
        list: (path, options) => files.list(fold(path), options),
        read: (path, options) => files.read(fold(path), options),
        write: (path, body, options) => files.write(fold(path), body, options),
        delete: (path, options) => files.delete(fold(path), options),
        mkdir: (path, options) => {
          mkdirs.push(path)
          return files.mkdir(fold(path), options)
        },
      }
    },
  }
}
