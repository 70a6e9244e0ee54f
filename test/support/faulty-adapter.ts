import { MemoryProvider } from '../../adapters/backends/memory/provider.ts'
import type { AdapterDefinition, StorageProvider } from '../../adapters/contract.ts'

export interface AdapterCall {
  /** The name in the configuration of the provider. */
  provider: string
  method: string
  path: string
  /** Undefined unless the call lists a page that is not the first. */
  cursor: string | undefined
}

export interface FaultyAdapter extends AdapterDefinition<{ name: string }> {
  /** Runs before each call to a back end. It can throw, or wait. */
  before: (call: AdapterCall) => unknown
  /** Runs after each call that the back end has carried out. It can throw, as if the response were lost. */
  after: (call: AdapterCall) => unknown
  /** Returns the path that a call works on, so that a folder can contain itself. */
  resolve: (path: string) => string
  /** All calls to the back ends. */
  calls: AdapterCall[]
  /** The content of a provider. Calls to it do not fail. */
  files(provider: string): MemoryProvider
}

/** Memory providers whose calls fail, wait or lose their responses as a test says. They neither copy nor move in one step. */
export function faultyAdapter(): FaultyAdapter {
  const providers = new Map<string, MemoryProvider>()
  const adapter: FaultyAdapter = {
    type: 'faulty',
    apiVersion: 1,
    title: 'Memory with faults',
    configSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
    before: () => {},
    after: () => {},
    resolve: path => path,
    calls: [],
    files(name) {
      const files = providers.get(name) ?? new MemoryProvider(100_000_000)
      providers.set(name, files)
      return files
    },
    async open({ name }) {
      const files = adapter.files(name)
      return new Proxy(files as StorageProvider, {
        get(_, method: keyof StorageProvider) {
          const member = files[method as keyof MemoryProvider] as unknown
          if (method === 'copy' || method === 'move' || method === 'deleteTree' || method === 'close') return undefined
          if (typeof member !== 'function') return member
          return async (path: string, ...rest: unknown[]) => {
            const { cursor } = (rest[0] ?? {}) as { cursor?: string }
            const call = { provider: name, method, path, cursor }
            adapter.calls.push(call)
            await adapter.before(call)
            const result = await member.call(files, adapter.resolve(path), ...rest)
            await adapter.after(call)
            return result
          }
        },
      })
    },
  }
  return adapter
}
