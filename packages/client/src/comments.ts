import type { Connection, Graphql, RequestOptions } from './graphql.ts'
import type { Location } from './list.ts'

/** A member who wrote a comment, or whom one mentions. */
export interface CommentPerson {
  id: string
  name: string
}

/** A comment on a file or folder. */
export interface Comment {
  id: string
  /** Null if the author is no longer a member. */
  author: CommentPerson | null
  /** Plain text with line breaks. A mention is `@[id]` with the id of a member. */
  text: string
  /** The people whom the text mentions. People who are no longer members are missing. */
  mentions: CommentPerson[]
  createdAt: Date
  /** Null for a comment that was never edited. */
  editedAt: Date | null
}

const commentFields = 'id author { id name } text mentions { id name } createdAt editedAt'

const commentsQuery = `query Comments($providerId: ID!, $path: String!, $after: String) {
  comments(providerId: $providerId, path: $path, first: 100, after: $after) {
    nodes { ${commentFields} } pageInfo { hasNextPage endCursor }
  }
}`
const createMutation = `mutation CreateComment($input: CreateCommentInput!) { createComment(input: $input) { ${commentFields} } }`
const updateMutation = `mutation UpdateComment($input: UpdateCommentInput!) { updateComment(input: $input) { ${commentFields} } }`
const deleteMutation = 'mutation DeleteComment($input: DeleteCommentInput!) { deleteComment(input: $input) }'

type CommentNode = Omit<Comment, 'createdAt' | 'editedAt'> & { createdAt: string; editedAt: string | null }

function toComment({ createdAt, editedAt, ...comment }: CommentNode): Comment {
  return { ...comment, createdAt: new Date(createdAt), editedAt: editedAt === null ? null : new Date(editedAt) }
}

/** Yields the comments on a file or folder, the newest first. @throws StowageError */
export async function* listComments(
  graphql: Graphql,
  { providerId, path }: Location,
  options?: RequestOptions,
): AsyncGenerator<Comment, void, undefined> {
  const connectionOf = ({ comments }: { comments: Connection<CommentNode> }) => comments
  for await (const node of graphql.nodes(commentsQuery, { providerId, path }, connectionOf, options)) {
    yield toComment(node)
  }
}

/** @throws StowageError */
export async function createComment(
  graphql: Graphql,
  { providerId, path }: Location,
  text: string,
  options?: RequestOptions,
): Promise<Comment> {
  const input = { providerId, path, text }
  const made = await graphql.run<{ createComment: CommentNode }, object>(createMutation, { input }, options)
  return toComment(made.createComment)
}

/** @throws StowageError */
export async function updateComment(
  graphql: Graphql,
  { providerId, path }: Location,
  { id, text }: { id: string; text: string },
  options?: RequestOptions,
): Promise<Comment> {
  const input = { providerId, path, id, text }
  const made = await graphql.run<{ updateComment: CommentNode }, object>(updateMutation, { input }, options)
  return toComment(made.updateComment)
}

/** @throws StowageError */
export async function deleteComment(
  graphql: Graphql,
  { providerId, path }: Location,
  id: string,
  options?: RequestOptions,
): Promise<void> {
  await graphql.run(deleteMutation, { input: { providerId, path, id } }, options)
}
