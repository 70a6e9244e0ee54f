/** The changes that clients can follow as they happen. */
import { authorizeFollowing } from '../../auth/needs.ts'
import type { Viewer } from '../../auth/viewer.ts'
import { AppError } from '../../errors.ts'
import type { Storage } from '../../storage/index.ts'
import type { LocationInput } from '../files/entry.ts'
import type { EntryFeed } from './entry-feed.ts'
import type { EntrySubscription } from './entry-subscription.ts'

/** The locations of one subscription. Each change is compared with all of them. */
const maxLocations = 50

export function createEvents({ storage, feed }: { storage: Pick<Storage, 'record'>; feed: EntryFeed }) {
  return {
    /**
     * Follows the changes of files or folders and of everything below them. Fails when the signal aborts or the viewer loses
     * access to one of them. @throws as `Files.stat` except that the entries may be missing, TOO_MANY_SUBSCRIPTIONS, UNAVAILABLE
     */
    async followEntries(
      viewer: Viewer | null,
      input: LocationInput & { others?: readonly LocationInput[] | null | undefined },
      signal: AbortSignal,
    ): Promise<EntrySubscription> {
      if ((input.others ?? []).length >= maxLocations) {
        throw new AppError('INVALID_INPUT', `A subscription can follow at most ${maxLocations} locations.`)
      }
      const grants = authorizeFollowing(viewer, input)
      const providers = new Map(grants.map(granted => [granted.providerId, granted]))
      await Promise.all([...providers.values()].map(granted => storage.record(granted)))
      return feed.open(grants, signal)
    },
  }
}
