/** The GraphQL operations of the schedules. */

import { ask } from '../../api/client.ts'
import { graphql, type ResultOf } from '../../api/graphql.ts'
import { perRoot } from '../../api/locations.ts'
import { JobFields } from '../jobs.ts'

const SchedulesQuery = graphql(
  `
  query Schedules($after: String) {
    schedules(first: 25, after: $after) {
      nodes {
        id
        name
        cron
        timeZone
        enabled
        error { reason message }
        nextRunAt
        lastSkippedAt
        lastJob {
          ...JobFields
          copyReport {
            locations { providerId path readFiles readBytes copiedFiles copiedBytes damaged missing changed restored }
          }
        }
        job { kind dryRun deleteExtra sources { providerId path } target { providerId path } targetName }
      }
      pageInfo { hasNextPage endCursor }
    }
  }
`,
  [JobFields],
)

const FolderProvidersQuery = graphql(`
  query FolderProviders {
    providers { id name basePaths versions { count isNative } }
  }
`)

export const CreateScheduleMutation = graphql(`
  mutation CreateSchedule($input: CreateScheduleInput!) {
    createSchedule(input: $input) { schedule { id } }
  }
`)

export const UpdateScheduleMutation = graphql(`
  mutation UpdateSchedule($input: UpdateScheduleInput!) {
    updateSchedule(input: $input) { id }
  }
`)

export const RunScheduleMutation = graphql(`
  mutation RunSchedule($id: ID!) {
    runSchedule(id: $id) { id }
  }
`)

export const DeleteScheduleMutation = graphql(`
  mutation DeleteSchedule($id: ID!) {
    deleteSchedule(id: $id)
  }
`)

export type ListedSchedule = ResultOf<typeof SchedulesQuery>['schedules']['nodes'][number]

/** Returns a page of schedules, the newest first. @throws StowageError */
export async function listSchedules(after: string | null, signal: AbortSignal) {
  return (await ask(SchedulesQuery, { after }, { signal })).schedules
}

/** Returns one storage for each topmost folder that the viewer may see. @throws StowageError */
export async function folderProviders(signal: AbortSignal) {
  return perRoot((await ask(FolderProvidersQuery, {}, { signal })).providers)
}
