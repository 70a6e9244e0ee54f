/** Lists what has changed lately where a member may read, from the audit log. */
import { type Asked, authorizeSearch, type needs } from '../../auth/needs.ts'
import { requireAccount } from '../../auth/policy.ts'
import type { Viewer } from '../../auth/viewer.ts'
import { type ChangedEntry, type FoundActivity, listActivity } from '../../db/activity.ts'
import type { Database } from '../../db/client.ts'
import { AppError } from '../../errors.ts'
import { FairQueue } from '../../lib/fair-queue.ts'
import { throwTooSlow } from '../catalogue/scope.ts'
import { parsePageSize } from '../input.ts'
import { decodeIdCursor, encodeIdCursor } from '../paging.ts'
import { hasVisibleSources } from './event.ts'

export type { ActivityLocation } from '../../db/activity.ts'

export const maxActivityPage = 100
/** Files and folders of one list. */
export const maxActivityWithin = 50
export const activityDays = 90
const day = 24 * 60 * 60 * 1000

export interface Activity extends ChangedEntry {
  /** Whether a job did it. */
  isByJob: boolean
  /** The number of files that a job has changed. Null for other changes, and for a viewer who may not access all sources of the job. */
  fileCount: number | null
}

export interface ActivityPage {
  items: { activity: Activity; cursor: string }[]
  hasNext: boolean
}

/** One list can occupy a connection to the database for seconds. */
const bounds = {
  running: 3,
  runningOfOwner: 2,
  slots: 100,
  slotsOfOwner: 10,
  refusals: {
    owner: 'You have too many lists of changes at once',
    all: 'The server has too many lists of changes at once',
  },
}

export function createActivity({ db }: { db: Database }) {
  const queue = new FairQueue(bounds)

  return {
    /**
     * Lists the changes at some files and folders and below them or, without any, everywhere that the viewer may read. The newest come first.
     * @throws as `authorize`, SESSION_REQUIRED, INVALID_INPUT, INVALID_CURSOR, RATE_LIMITED, UNAVAILABLE
     */
    async list(
      viewer: Viewer | null,
      input: Asked<typeof needs.search>,
      page: { first: number; after?: string | null | undefined },
      signal: AbortSignal,
    ): Promise<ActivityPage> {
      const granted = authorizeSearch(viewer, input)
      requireAccount(granted.viewer)
      const limit = parsePageSize(page.first, maxActivityPage)
      if (!granted.access.all && granted.isNamed && countOf(granted.access) > maxActivityWithin) {
        throw new AppError('INVALID_INPUT', `"within" has at most ${maxActivityWithin} files and folders.`)
      }
      const before = page.after == null ? null : decodeIdCursor(page.after)
      const since = new Date(Date.now() - activityDays * day)
      const found = await queue.run(granted.viewer.member.userId, signal, () =>
        listActivity(db, granted, { limit: limit + 1, before, since }).catch(error =>
          throwTooSlow(error, 'name a file or folder in "within"'),
        ),
      )
      const items = found.slice(0, limit).map(each => ({
        activity: withCount(each, granted.viewer),
        cursor: encodeIdCursor(each.id),
      }))
      return { items, hasNext: found.length > limit }
    },
  }
}

function withCount({ job, ...activity }: FoundActivity, { access }: Viewer): Activity {
  const isCounted = job && hasVisibleSources({ action: 'JOB_END', details: job }, access)
  return { ...activity, isByJob: job !== null, fileCount: isCounted ? Number(job.changed) : null }
}

function countOf({ basePaths }: { basePaths: ReadonlyMap<string, readonly unknown[]> }): number {
  return [...basePaths.values()].reduce((count, paths) => count + paths.length, 0)
}
