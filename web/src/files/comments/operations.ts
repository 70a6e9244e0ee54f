import { useMutation, useQueryClient } from '@tanstack/react-query'
import { ask } from '../../api/client.ts'
import { graphql, type ResultOf } from '../../api/graphql.ts'
import type { StorageLocation } from '../../api/locations.ts'
import { queryKeys } from '../../api/query-keys.ts'
import { usePages } from '../../ui/pages.tsx'

const CommentsQuery = graphql(`
  query Comments($providerId: ID!, $path: String!, $after: String) {
    comments(providerId: $providerId, path: $path, first: 20, after: $after) {
      nodes { id author { id name } text mentions { id name } createdAt editedAt }
      pageInfo { hasNextPage endCursor }
    }
    entry(providerId: $providerId, path: $path) { commentCount }
  }
`)

const CreateCommentMutation = graphql(`
  mutation CreateComment($input: CreateCommentInput!) { createComment(input: $input) { id } }
`)

const UpdateCommentMutation = graphql(`
  mutation UpdateComment($input: UpdateCommentInput!) { updateComment(input: $input) { id } }
`)

const DeleteCommentMutation = graphql(`
  mutation DeleteComment($input: DeleteCommentInput!) { deleteComment(input: $input) }
`)

export type Comment = ResultOf<typeof CommentsQuery>['comments']['nodes'][number]

/** The comments on an entry, the newest first. */
export function useComments({ providerId, path }: StorageLocation) {
  const { query, nodes } = usePages([...queryKeys.comments, providerId, path], async (after, signal) => {
    const { comments, entry } = await ask(CommentsQuery, { providerId, path, after }, { signal })
    return { ...comments, count: entry.commentCount }
  })
  return { query, comments: nodes, count: query.data?.pages[0]?.count ?? 0 }
}

/** Saves a text as a new comment or, with an id, as that of an earlier one. */
export function useSaveComment({ providerId, path }: StorageLocation) {
  const client = useQueryClient()
  return useMutation({
    mutationFn: async ({ id, text }: { id: string | null; text: string }) => {
      const at = { providerId, path, text }
      if (id === null) await ask(CreateCommentMutation, { input: at })
      else await ask(UpdateCommentMutation, { input: { ...at, id } })
      await client.invalidateQueries({ queryKey: queryKeys.comments })
    },
  })
}

/** @param onDeleted called before the comment leaves the list */
export function useDeleteComment({ providerId, path }: StorageLocation, onDeleted: () => void) {
  const client = useQueryClient()
  return async (id: string) => {
    await ask(DeleteCommentMutation, { input: { providerId, path, id } })
    onDeleted()
    await client.invalidateQueries({ queryKey: queryKeys.comments })
  }
}
