/** What has changed where the person may read. */
import { ask } from '../../api/client.ts'
import { graphql, type ResultOf } from '../../api/graphql.ts'
import { texts } from '../../texts/home.tsx'
import type { TeamChange } from './change-list.tsx'

const ActivityQuery = graphql(`
  query Activity($first: Int!, $after: String) {
    activity(first: $first, after: $after) {
      nodes {
        id at action userId userName isByShareLink isByJob fileCount
        location { providerId providerName path }
        destination { providerId providerName path }
      }
      pageInfo { hasNextPage endCursor }
    }
  }
`)

export type ActivityPage = ResultOf<typeof ActivityQuery>['activity']
export type Activity = ActivityPage['nodes'][number]

/** @throws StowageError */
export async function listActivity(
  { first, after }: { first: number; after: string | null },
  signal: AbortSignal,
): Promise<ActivityPage> {
  return (await ask(ActivityQuery, { first, after }, { signal })).activity
}

/** A change as a sentence names it: at its destination, where the entry is since then. */
export function toTeamChange(activity: Activity): TeamChange {
  const { id, at, action, userId, userName, isByShareLink, isByJob, fileCount, location, destination } = activity
  const shown = destination ?? location
  return {
    id,
    at,
    action,
    userId,
    who: isByShareLink ? texts.visitor : (userName ?? texts.server),
    providerId: shown?.providerId ?? null,
    providerName: shown?.providerName ?? null,
    path: shown?.path ?? null,
    // The destination of a job is the folder into which it has put its files.
    isFolder: isByJob && destination !== null,
    count: fileCount,
  }
}
