import type { StorageProvider } from '../contract.ts'
import { withNameRules } from '../name-rules.ts'
import type { Faults, Harness } from './harness.ts'

export interface WatchedCalls {
  /** The provider whose calls are watched. */
  provider: StorageProvider
  /** The harness, whose methods take the watched provider. */
  harness: Harness
  /** Names the calls that have not settled: `read of "folder/file"`. */
  underWay(): string[]
  /** Resolves when no call is under way. */
  settled(): Promise<void>
}

/**
 * Watches the calls of a case, because a failed case leaves those that it had started at once. As in the host, no path with a name
 * that the traits forbid reaches the adapter.
 */
export function watchCalls(original: StorageProvider, harness: Harness): WatchedCalls {
  const calls = new Map<Promise<unknown>, string>()
  const watched = <T extends object>(object: T, prefix: string): T =>
    new Proxy(object, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target)
        const isObject = name === 'resumable' || name === 'parts' || name === 'trash'
        if (isObject && value) return watched(value, `${prefix}${name}.`)
        if (typeof value !== 'function') return value
        return (...args: unknown[]) => {
          const result: unknown = value.apply(target, args)
          if (!(result instanceof Promise)) return result
          calls.set(result, `${prefix}${String(name)} of ${JSON.stringify(args[0])}`)
          const end = () => calls.delete(result)
          result.then(end, end)
          return result
        }
      },
    })
  const provider = watched(withNameRules(original), '')
  const { reopen, openFolder, faults } = harness
  const ofOriginal = ([name, fault]: [string, unknown]) => [
    name,
    (_: StorageProvider, options: unknown) =>
      (fault as (on: StorageProvider, options: unknown) => unknown).call(faults, original, options),
  ]
  return {
    provider,
    harness: {
      ...harness,
      ...(reopen && { reopen: async () => withNameRules(await reopen.call(harness, original)) }),
      ...(openFolder && {
        openFolder: async (_, path) => withNameRules(await openFolder.call(harness, original, path)),
      }),
      ...(faults && { faults: Object.fromEntries(Object.entries(faults).map(ofOriginal)) as Faults }),
    },
    underWay: () => [...calls.values()],
    settled: async () => void (await Promise.allSettled(calls.keys())),
  }
}
