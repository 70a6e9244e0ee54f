/** A local disk whose changes pass a gate, which can stop them. */
import { join } from 'node:path'
import { localAdapter } from '../../adapters/backends/local/index.ts'
import type { AdapterDefinition, StorageProvider } from '../../adapters/contract.ts'

export type Moment = 'before' | 'after'

interface Passage {
  pass(method: string, path: string, moment: Moment): Promise<void>
}

/** @param hasMove false for a back end that has to copy */
export function gated(folder: string, hasMove: boolean, gate?: Passage): AdapterDefinition {
  const definition = localAdapter({ localRoots: [folder], dataFolder: join(folder, 'data') }) as AdapterDefinition
  return {
    ...definition,
    async open(config, host) {
      const provider = await definition.open(config, host)
      return new Proxy<StorageProvider>(provider, {
        get(target, method) {
          const value: unknown = Reflect.get(target, method, target)
          if (method === 'move' && !hasMove) return undefined
          if (typeof method !== 'string' || typeof value !== 'function') return value
          const call = value.bind(target)
          if (!gate || !['move', 'copy', 'delete', 'deleteTree'].includes(method)) return call
          return async (path: string, ...rest: unknown[]) => {
            await gate.pass(method, path, 'before')
            const result = await call(path, ...rest)
            await gate.pass(method, path, 'after')
            return result
          }
        },
      })
    },
  }
}
