/** The harness that a test gives to the kit, and the watch on the calls of a case. */
import type { StorageProvider } from '../contract.ts'
import { withNameRules } from '../name-rules.ts'

/**
 * Tells the kit how to open the adapter under test and which special properties its back end has. Only `open` is
 * required.
 */
export interface Harness {
  /** Opens a new, empty provider. Each case calls this. */
  open(): Promise<StorageProvider>

  /** Removes what `open` created. Runs after `provider.close`, even if the case failed. */
  cleanUp?(provider: StorageProvider): Promise<void>

  /**
   * Opens the back end of `provider` a second time, as another replica of the server does: same content, nothing shared in
   * memory. The kit closes the result. Without this method, it skips cases that need a second provider.
   */
  reopen?(provider: StorageProvider): Promise<StorageProvider>

  /**
   * Opens a folder of `provider` as another provider: a prefix of its bucket, a folder of its disk. The kit closes the
   * result. Without this method, it skips the case that compares their ids.
   */
  openFolder?(provider: StorageProvider, path: string): Promise<StorageProvider>

  /**
   * Returns true for a name that this back end cannot store, so that INVALID_PATH is correct. The kit asks only about
   * `commonNames`; an adapter may refuse any of `oddNames`. Leave out names that the traits forbid: the host refuses those. Default:
   * no other common name may be refused.
   */
  refuses?(name: string): boolean

  /** True where names are not case-sensitive. The kit then skips the case about such names. */
  foldsCase?: boolean

  /**
   * True where two writers with `overwrite: false`, or two calls of `mkdir` with `exclusive: true`, may both succeed, because
   * the adapter checks and then writes; 'files' where only the writers may. The kit then only requires that the whole file of
   * one of them is stored.
   */
  hasCreateRaces?: boolean | 'files'

  /**
   * Resolves when the entries of the files that were just written have their final etags, where the back end tells two
   * versions apart only after some time. Without it, the kit skips what needs an etag if a new file has none.
   */
  settle?(): Promise<void>

  /** Milliseconds for one case. Default: two minutes. */
  timeLimit?: number

  /** Milliseconds in which the back end reports a change to `changes`. Default: half a minute. */
  reportTime?: number

  /** Bytes of one part of an upload: the kit tests sizes around it. Default: `resumable.partSize`, if any. */
  partSize?: number

  /** The number of entries of the longest listings, at least 100. Lower it where each write is slow. Default: 10,000. */
  manyEntries?: number

  /** Bytes of the large file, at least 80,000,000. Default: 100,000,000. */
  largeFileSize?: number

  /** True where the back end keeps its content in the memory of this process, which raises the memory bound of writes. */
  inMemory?: boolean

  /** Faults that the test server can simulate. Each one adds a case. */
  faults?: Faults
}

/** Each method starts a fault for all requests of `provider` and resolves with a function that ends it. */
export interface Faults {
  /** Refuses the credentials or access token used until now (HTTP 401). */
  expireCredentials?(provider: StorageProvider): Promise<Undo>
  /** Responds with HTTP 429 and `Retry-After: retryAfterMs / 1000`; the kit passes whole seconds. */
  rateLimit?(provider: StorageProvider, options: { retryAfterMs: number }): Promise<Undo>
  /** Responds with HTTP 503 or refuses connections. */
  unavailable?(provider: StorageProvider): Promise<Undo>
}

export type Undo = () => Promise<void> | void

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
        const isObject = name === 'resumable' || name === 'parts' || name === 'trash' || name === 'versions'
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
