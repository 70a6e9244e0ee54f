import type { StorageProvider } from '../contract.ts'

/**
 * Tells the kit how to open the adapter under test and which special properties its back end has. Only `open` is
 * required.
 */
export interface Harness {
  /** Opens a new, empty provider. Each case opens its own. */
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
