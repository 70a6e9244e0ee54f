/** Comments on entries. */
import { needs } from '../../../auth/needs.ts'
import {
  type Comment,
  type CommentPerson,
  maxCommentsOfEntry,
  maxCommentsPage,
  maxCommentText,
  maxMentions,
} from '../../../services/entry-metadata/comments.ts'
import { builder } from '../builder.ts'
import { backEndCost, connectionCost } from '../cost.ts'
import { EntryRef } from '../refs.ts'
import { at, atEntry, authorizedBy } from '../rules.ts'
import { definePage, toPage } from './page.ts'

/** The estimated cost of the mentions of a comment. Most comments have few. */
const mentionsCost = { field: 1, multiplier: 3 }

builder.interfaceFields(EntryRef, t => ({
  commentCount: t.int({
    description: 'The number of comments on the entry.',
    authScopes: atEntry,
    resolve: (_entry, args, context) =>
      context.services.entryComments.count(context.viewer, authorizedBy(context, args, needs.read)),
  }),
}))

const CommentPersonRef = builder.objectRef<CommentPerson>('CommentPerson').implement({
  description: 'A member who wrote a comment, or whom one mentions.',
  fields: t => ({
    id: t.exposeID('id', { description: 'The ID of the member.' }),
    name: t.exposeString('name', { description: 'The present name of the member or, without one, the email address.' }),
  }),
})

const CommentRef = builder.objectRef<Comment>('Comment').implement({
  description: 'A comment on an entry. Everybody who may read the entry can read it.',
  fields: t => ({
    id: t.exposeID('id', { description: 'The ID of the comment, which stays the same when its entry is moved.' }),
    author: t.field({
      type: CommentPersonRef,
      nullable: true,
      description: 'The member who wrote the comment; null for somebody who is no longer a member.',
      resolve: comment => comment.author,
    }),
    text: t.exposeString('text', {
      description:
        'Plain text with line breaks. A mention is `@[id]` with the ID of a member, whose name is in `mentions`.',
    }),
    mentions: t.field({
      type: [CommentPersonRef],
      description: 'The people whom the text mentions. People who are no longer members are missing.',
      complexity: mentionsCost,
      resolve: comment => comment.mentions,
    }),
    createdAt: t.field({
      type: 'DateTime',
      description: 'The time at which the comment was written.',
      resolve: comment => comment.createdAt,
    }),
    editedAt: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'The time of the last edit; null if there was none.',
      resolve: comment => comment.editedAt,
    }),
  }),
})

const CommentConnection = definePage<Comment>('Comment', CommentRef, 'comments')

builder.queryField('comments', t =>
  t.field({
    type: CommentConnection,
    description: 'Returns the comments on a file or folder, the newest first.',
    authScopes: at(needs.read),
    args: {
      providerId: t.arg.id({ required: true, description: 'The ID of the provider.' }),
      path: t.arg.string({ required: true, description: 'The path of the file or folder.' }),
      first: t.arg.int({ defaultValue: 50, description: `The maximum number of comments, 1 to ${maxCommentsPage}.` }),
      after: t.arg.string({ description: 'The cursor after which the page starts.' }),
    },
    complexity: ({ first }) => connectionCost(first, maxCommentsPage),
    resolve: async (_root, args, context) => {
      const { first, after } = args
      const location = authorizedBy(context, args, needs.read)
      const page = await context.services.entryComments.list(context.viewer, location, { first: first ?? 50, after })
      return toPage(page, after, ({ comment }) => comment)
    },
  }),
)

const textDescription = `The text, of at most ${maxCommentText} characters. \`@[id]\` mentions a member who may read the entry, at most ${maxMentions} of them.`

const CreateCommentInput = builder.inputType('CreateCommentInput', {
  description: 'The entry and the text of a new comment.',
  fields: t => ({
    providerId: t.id({ required: true, description: 'The ID of the provider.' }),
    path: t.string({ required: true, description: 'The path of the file or folder.' }),
    text: t.string({ required: true, description: textDescription }),
  }),
})

const UpdateCommentInput = builder.inputType('UpdateCommentInput', {
  description: 'A comment and its new text.',
  fields: t => ({
    providerId: t.id({ required: true, description: 'The ID of the provider.' }),
    path: t.string({ required: true, description: 'The present path of the file or folder.' }),
    id: t.id({ required: true, description: 'The ID of the comment.' }),
    text: t.string({ required: true, description: textDescription }),
  }),
})

const DeleteCommentInput = builder.inputType('DeleteCommentInput', {
  description: 'A comment.',
  fields: t => ({
    providerId: t.id({ required: true, description: 'The ID of the provider.' }),
    path: t.string({ required: true, description: 'The present path of the file or folder.' }),
    id: t.id({ required: true, description: 'The ID of the comment.' }),
  }),
})

builder.mutationFields(t => ({
  createComment: t.field({
    type: CommentRef,
    description: `Comments on a file or folder, which has at most ${maxCommentsOfEntry} comments. Those whom the comment mentions get an email, unless they have switched it off. Comments follow the entry when that is moved or renamed through Stowage, also to the trash and back.`,
    authScopes: at(needs.comment),
    audit: 'COMMENT_CREATE',
    complexity: backEndCost,
    args: { input: t.arg({ type: CreateCommentInput, required: true, description: 'The entry and the text.' }) },
    resolve: (_root, args, context) => {
      const input = { ...authorizedBy(context, args, needs.comment), text: args.input.text }
      return context.services.entryComments.create(context.viewer, input, context.signal)
    },
  }),
  updateComment: t.field({
    type: CommentRef,
    description:
      'Changes the text of a comment that you have written. Only those whom it did not mention before get an email.',
    authScopes: at(needs.comment),
    audit: 'COMMENT_UPDATE',
    args: { input: t.arg({ type: UpdateCommentInput, required: true, description: 'The comment and its new text.' }) },
    resolve: (_root, args, context) => {
      const { id, text } = args.input
      return context.services.entryComments.update(context.viewer, {
        ...authorizedBy(context, args, needs.comment),
        id,
        text,
      })
    },
  }),
  deleteComment: t.boolean({
    description:
      'Deletes a comment that you have written or, with the scope `admin`, one of somebody else. Returns true.',
    authScopes: at(needs.comment),
    audit: 'COMMENT_DELETE',
    args: { input: t.arg({ type: DeleteCommentInput, required: true, description: 'The comment.' }) },
    resolve: async (_root, args, context) => {
      const { id } = args.input
      await context.services.entryComments.remove(context.viewer, { ...authorizedBy(context, args, needs.comment), id })
      return true
    },
  }),
}))
