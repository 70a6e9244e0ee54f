import type { StorageLocation } from '../../api/locations.ts'

/** Sent by a page: what it shows now, or null. Repeated, because nothing tells that a page was closed. */
export interface Follow {
  /** The address of the server. */
  url: string
  folder: StorageLocation | null
}

/** Sent to the pages. `isRefused` says that the subscription was refused: the session may have ended, or the person may have lost access to one of the folders. */
export type Notice =
  | { change: StorageLocation & { kind: 'WRITTEN' | 'REMOVED' | 'TREE_CHANGED' }; isRefused?: undefined }
  | { change?: undefined; isRefused: true }

/** Milliseconds between two messages of a page. A browser delays those of hidden pages by up to a minute. */
export const followInterval = 30_000
