import type { StorageProvider } from '../contract.ts'

/** How the kit gets at the adapter under test, and what is particular about its back end. Only `open` is required. */
export interface Harness {
  /** A fresh provider with nothing in it; each case opens its own. */
  open(): Promise<StorageProvider>

  /** Takes away what `open` made. Runs after `provider.close`, whether or not the case passed. */
  cleanUp?(provider: StorageProvider): Promise<void>

  /**
   * Opens what `provider` has open a second time, as another replica of the server does: same back end, same content,
   * nothing shared in memory. The kit closes it. Without it, cases that need a second one are skipped.
   */
  reopen?(provider: StorageProvider): Promise<StorageProvider>

  /**
   * Opens a folder of what `provider` has open as a provider of its own: a bucket and a prefix in it, a disk and a folder
   * on it. The kit closes it. Without it, the case that compares their ids is skipped.
   */
  openFolder?(provider: StorageProvider, path: string): Promise<StorageProvider>

  /**
   * True for a name that this back end really cannot hold, so that INVALID_PATH is the honest answer. Asked about
   * `commonNames` only; any of the odder ones may be refused. Without it, none is.
   */
  refuses?(name: string): boolean

  /** True where the back end takes upper and lower case for the same. The case about such names is skipped then. */
  foldsCase?: boolean

  /**
   * True where two writers with `overwrite: false` may both succeed, as the adapter checks and then writes. The kit then
   * asks only that the file of one of them is there, whole.
   */
  hasCreateRaces?: boolean

  /** Bytes in which the adapter uploads; sizes around it are tried. Default: `resumable.partSize`, else none. */
  partSize?: number

  /** Entries of the case about long listings, at least 100; fewer where each takes its time. Default 10,000. */
  manyEntries?: number

  /** Bytes of the case about a large file, at least 80,000,000. Default 100,000,000. */
  largeFileSize?: number

  /** The back end is in this process and keeps its content in memory: the bound on writing is that much higher. */
  inMemory?: boolean

  /** What the server that the test talks to can be made to do. Each one that is there adds a case. */
  faults?: Faults
}

/** Each begins at once, for all requests of `provider`, and lasts until the function that it resolves with is called. */
export interface Faults {
  /** The credentials, or the access token, that it has used until now are refused (HTTP 401). */
  expireCredentials?(provider: StorageProvider): Promise<Undo>
  /** "Too many requests" (HTTP 429) with `Retry-After: retryAfterMs / 1000`; the kit gives whole seconds. */
  rateLimit?(provider: StorageProvider, options: { retryAfterMs: number }): Promise<Undo>
  /** "Service unavailable" (HTTP 503), or nobody listens. */
  unavailable?(provider: StorageProvider): Promise<Undo>
}

export type Undo = () => Promise<void> | void
