/** The GraphQL operations of the trash. */

import { useQuery } from '@tanstack/react-query'
import { ask } from '../../api/client.ts'
import { graphql, type ResultOf } from '../../api/graphql.ts'
import { queryKeys } from '../../api/query-keys.ts'

const TrashTraitsQuery = graphql(`
  query TrashTraits($id: ID!) {
    provider(id: $id) { trash { days isOneStep } capabilities { serverSideMove } }
  }
`)

export const TrashQuery = graphql(`
  query Trash($providerId: ID!, $after: String) {
    trash(providerId: $providerId, first: 100, after: $after) {
      nodes { id kind name originalPath size deletedAt deletedBy { name email } expiresAt }
      pageInfo { hasNextPage endCursor }
    }
  }
`)

const TrashOfJobQuery = graphql(`
  query TrashOfJob($providerId: ID!, $jobId: ID!) {
    trash(providerId: $providerId, jobId: $jobId, first: 100) {
      nodes { id originalPath }
      pageInfo { hasNextPage }
    }
  }
`)

const RestoreMutation = graphql(`
  mutation Restore($input: RestoreInput!) {
    restore(input: $input) { path }
  }
`)

const EmptyTrashMutation = graphql(`
  mutation EmptyTrash($providerId: ID!) {
    emptyTrash(providerId: $providerId)
  }
`)

type TrashedByJob = ResultOf<typeof TrashOfJobQuery>['trash']['nodes'][number]
export type TrashedItem = ResultOf<typeof TrashQuery>['trash']['nodes'][number]
/** Says what happens to files that are deleted in a storage, and to folders that are moved within it. */
interface StorageTrash {
  days: number
  isOneStep: boolean
  movesInOneStep: boolean
}

/** @throws StowageError */
async function trashOf(providerId: string, signal: AbortSignal): Promise<StorageTrash> {
  const { trash, capabilities } = (await ask(TrashTraitsQuery, { id: providerId }, { signal })).provider
  return { ...trash, movesInOneStep: capabilities.serverSideMove }
}

/** Returns what a job has moved to the trash; nothing if it is more than a job of the console can delete. @throws StowageError */
export async function trashedBy(jobId: string, providerId: string): Promise<TrashedByJob[]> {
  const { nodes, pageInfo } = (await ask(TrashOfJobQuery, { jobId, providerId })).trash
  return pageInfo.hasNextPage ? [] : nodes
}

/** Moves an item to where it was, under another name if something else is there. Returns its path. @throws StowageError */
export async function restore(id: string): Promise<string> {
  return (await ask(RestoreMutation, { input: { id, conflict: 'RENAME' } })).restore.path
}

/** @throws StowageError */
export async function emptyTrash(providerId: string): Promise<void> {
  await ask(EmptyTrashMutation, { providerId })
}

/** Returns what happens to files that are deleted in a storage, and to folders that are moved within it. */
export function useStorageTrash(providerId: string) {
  return useQuery(trashTraits(providerId))
}

export function trashTraits(providerId: string) {
  return {
    queryKey: [...queryKeys.providers, 'trash', providerId] as const,
    queryFn: ({ signal }: { signal: AbortSignal }) => trashOf(providerId, signal),
  }
}
