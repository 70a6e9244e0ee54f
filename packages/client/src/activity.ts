import type { Connection, Graphql, RequestOptions } from './graphql.ts'
import type { Location } from './list.ts'
import type { ActivityAction } from './schema.ts'

/** Where something changed, with the name that the storage had at that time; null for one that was disconnected. */
export interface ActivityLocation extends Location {
  providerName: string | null
}

/** A change of a file or folder, or of the files of a job. */
export interface Activity {
  id: string
  at: Date
  action: ActivityAction
  /** Null for the server and for a visitor with a share link. */
  userId: string | null
  userName: string | null
  isByShareLink: boolean
  isByJob: boolean
  /** The number of files that a job has changed; null for other changes, and if the credential cannot access all of its sources. */
  fileCount: number | null
  /** Null if the credential cannot access it. */
  location: ActivityLocation | null
  /** Where a move, a copy or a new name has put it; for a job, the folder. Null for other actions, and as `location`. */
  destination: ActivityLocation | null
}

export interface ActivityOptions extends RequestOptions {
  /** Only the changes of these files and folders and below them, at most 50. The default is everything. */
  within?: readonly Location[]
}

const place = '{ providerId providerName path }'
const activityQuery = `query Activity($within: [LocationInput!], $after: String) {
  activity(within: $within, first: 100, after: $after) {
    nodes { id at action userId userName isByShareLink isByJob fileCount location ${place} destination ${place} }
    pageInfo { hasNextPage endCursor }
  }
}`

type ActivityNode = Omit<Activity, 'at'> & { at: string }

/** Yields the changes of the last 90 days, the newest first. @throws StowageError */
export async function* listActivity(
  graphql: Graphql,
  { within, signal }: ActivityOptions,
): AsyncGenerator<Activity, void, undefined> {
  const variables = within ? { within: within.map(({ providerId, path }) => ({ providerId, path })) } : {}
  const connectionOf = ({ activity }: { activity: Connection<ActivityNode> }) => activity
  for await (const { at, ...change } of graphql.nodes(activityQuery, variables, connectionOf, signal && { signal })) {
    yield { ...change, at: new Date(at) }
  }
}
