/** A local disk that says between which steps of its changes it is. */
import { join } from 'node:path'
import { localAdapter } from '../../adapters/backends/local/index.ts'
import type { AdapterDefinition, KeepReplaced, StorageProvider } from '../../adapters/contract.ts'

const changes = new Set<PropertyKey>(['write', 'copy', 'move', 'delete'])

/**
 * @param copies whether the host has to copy what is replaced, because the back end does not keep it in the same step
 * @param step called before and after each step
 */
export function stepping(folder: string, copies: boolean, step: () => void = () => {}): AdapterDefinition {
  const definition = localAdapter({ localRoots: [folder], dataFolder: join(folder, 'data') }) as AdapterDefinition
  const between = async <T>(work: () => Promise<T>): Promise<T> => {
    step()
    const result = await work()
    step()
    return result
  }
  const withSteps =
    (keep: KeepReplaced): KeepReplaced =>
    preserve =>
      keep(to => between(() => preserve(to)))
  return {
    ...definition,
    async open(config, host) {
      const provider = await definition.open(config, host)
      return new Proxy<StorageProvider>(provider, {
        get(target, name) {
          const value: unknown = Reflect.get(target, name, target)
          if (name === 'traits') return { ...target.traits, ...(copies && { keepsReplaced: false }) }
          // A host that copies moves nothing in one step either.
          if (copies && name === 'move') return undefined
          if (typeof value !== 'function') return value
          if (!changes.has(name)) return value.bind(target)
          return (...args: unknown[]) => {
            const last = args.at(-1) as { keep?: KeepReplaced } | undefined
            const options = last?.keep ? { ...last, keep: withSteps(last.keep) } : last
            return between(() => value.apply(target, [...args.slice(0, -1), options]))
          }
        },
      })
    },
  }
}
