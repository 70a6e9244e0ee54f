/** The commands for comments. */
import type { Comment } from '../../../client/src/index.ts'
import { command } from '../command.ts'
import { parseRemote } from '../operand.ts'

/** The fields of a comment that the command line prints. */
const commentFields = ['id', 'author', 'text', 'mentions', 'createdAt', 'editedAt'] as const

export const commentLs = command({
  name: 'comment ls',
  operands: '<path>',
  help: 'List the comments on a file or folder, the newest first.',
  options: {},
  json: { comment: commentFields },
  async run({ output, connect, signal }, { operands: [text = ''] }) {
    const operand = parseRemote(text)
    const server = await connect()
    for await (const comment of server.stowage.comments.list(await server.locate(operand), { signal })) {
      await output.result(recordOf(comment), ...linesOf(comment))
    }
  },
})

export const commentAdd = command({
  name: 'comment add',
  operands: '<path> <text>',
  help: 'Comment on a file or folder. `@[id]` in the text mentions the member with this ID, who gets an email.',
  options: {},
  json: { comment: commentFields },
  async run({ output, connect, signal }, { operands: [path = '', text = ''] }) {
    const operand = parseRemote(path)
    const server = await connect()
    const comment = await server.stowage.comments.create(await server.locate(operand), text, { signal })
    await output.summary(recordOf(comment), 'Added the comment.')
  },
})

export const commentRm = command({
  name: 'comment rm',
  operands: '<path> <id>',
  help: 'Delete a comment. Only its author and administrators may.',
  options: {},
  async run({ output, connect, signal }, { operands: [path = '', id = ''] }) {
    const operand = parseRemote(path)
    const server = await connect()
    await server.stowage.comments.delete(await server.locate(operand), id, { signal })
    output.note('Deleted the comment.')
  },
})

function recordOf({ id, author, text, mentions, createdAt, editedAt }: Comment) {
  return {
    id,
    author: author?.name ?? null,
    text,
    mentions: mentions.map(({ name }) => name),
    createdAt: createdAt.toISOString(),
    editedAt: editedAt?.toISOString() ?? null,
  } satisfies Record<(typeof commentFields)[number], unknown>
}

/** The time in UTC, the author and the ID, and below them the text with the names of those whom it mentions. */
function linesOf({ id, author, text, mentions, createdAt, editedAt }: Comment): string[] {
  const time = `${createdAt.toISOString().slice(0, 19)}Z`
  const head = [time, author?.name ?? '(former member)', id, ...(editedAt === null ? [] : ['edited'])]
  const named = mentions.reduce((shown, { id, name }) => shown.replaceAll(`@[${id}]`, () => `@${name}`), text)
  return [head.join('  '), ...named.split('\n').map(line => `  ${line}`)]
}
