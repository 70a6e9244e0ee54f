/** The changes that clients can follow as they happen. */
import { authorize, needs } from '../../auth/needs.ts'
import type { Viewer } from '../../auth/viewer.ts'
import type { Storage } from '../../storage/index.ts'
import type { LocationInput } from '../files/entry.ts'
import type { EntryFeed } from './entry-feed.ts'
import type { EntrySubscription } from './entry-subscription.ts'

export function createEvents({ storage, feed }: { storage: Pick<Storage, 'record'>; feed: EntryFeed }) {
  return {
    /**
     * Follows the changes of a file or folder and of everything below it. Fails when the signal aborts or the viewer loses
     * access. @throws as `Files.stat` except that the entry may be missing, TOO_MANY_SUBSCRIPTIONS, UNAVAILABLE
     */
    async followEntry(viewer: Viewer | null, input: LocationInput, signal: AbortSignal): Promise<EntrySubscription> {
      const [granted] = authorize(viewer, needs.read, input)
      await storage.record(granted)
      return feed.open(granted, signal)
    },
  }
}
