/** The GraphQL operations of the trash. */
import { graphql, type ResultOf } from '../../api/graphql.ts'
import { ask } from '../../api/request.ts'

const TrashTraitsQuery = graphql(`
  query TrashTraits($id: ID!) {
    provider(id: $id) { trash { days isOneStep } }
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

export type TrashedItem = ResultOf<typeof TrashQuery>['trash']['nodes'][number]
export type StorageTrash = ResultOf<typeof TrashTraitsQuery>['provider']['trash']

/** Returns what happens to files that are deleted in a storage. @throws StowageError */
export async function trashOf(providerId: string, signal: AbortSignal): Promise<StorageTrash> {
  return (await ask(TrashTraitsQuery, { id: providerId }, { signal })).provider.trash
}

/** Moves an item to where it was, under another name if something else is there. Returns its path. @throws StowageError */
export async function restore(id: string): Promise<string> {
  return (await ask(RestoreMutation, { input: { id, conflict: 'RENAME' } })).restore.path
}

/** @throws StowageError */
export async function emptyTrash(providerId: string): Promise<void> {
  await ask(EmptyTrashMutation, { providerId })
}
