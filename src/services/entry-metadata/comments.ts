/**
 * Comments on files and folders. Members who may read an entry read them, and members who may change it write them. A comment can mention
 * members who may read the entry: they get an email and, on the devices where they want it, a notification.
 */
import { includesPath } from '../../auth/access.ts'
import { isId, timeOrderedIds } from '../../auth/id.ts'
import { type Asked, authorize, needs } from '../../auth/needs.ts'
import type { StoragePath } from '../../auth/path.ts'
import { requireAccount } from '../../auth/policy.ts'
import { includesScope } from '../../auth/scopes.ts'
import { type Member, memberPermissions, type Viewer } from '../../auth/viewer.ts'
import type { Change, Database } from '../../db/client.ts'
import { insertMentions } from '../../db/comment-notices.ts'
import {
  batchedCommentCounts,
  type CommentedAt,
  type CommentPerson,
  countComments,
  deleteComment,
  findComment,
  findPeople,
  insertComment,
  listComments,
  lockComments,
  type StoredComment,
  updateComment,
} from '../../db/entry-comments.ts'
import { batchedMembers, lockMember } from '../../db/members.ts'
import { insertPushMentions } from '../../db/push-messages.ts'
import { AppError } from '../../errors.ts'
import type { Storage } from '../../storage/index.ts'
import type { Audit } from '../audit/index.ts'
import { type AskedToRead, locationOf } from '../files/entry.ts'
import { parsePageSize } from '../input.ts'
import type { Invitations } from '../limits/index.ts'
import { decodeIdCursor, encodeIdCursor } from '../paging.ts'
import { mentionsIn } from './mentions.ts'

export type { CommentPerson } from '../../db/entry-comments.ts'

export interface Comment extends StoredComment {
  /** The mentioned people who are members. */
  mentions: CommentPerson[]
}

export interface CommentPage {
  items: { comment: Comment; cursor: string }[]
  hasNext: boolean
}

export const maxCommentsPage = 100
/** UTF-16 code units. */
export const maxCommentText = 2000
export const maxMentions = 20
export const maxCommentsOfEntry = 1000
const maxCommentsOfMember = 10_000

/** All control characters but line breaks and tabs. */
const controlCharacter = /[^\P{Cc}\n\t]/u

/** @throws INVALID_INPUT */
export function parseCommentText(given: string): string {
  // Longer text is not searched for line breaks.
  const text = given.length > maxCommentText * 2 ? given : given.replaceAll('\r\n', '\n').trim()
  if (text === '' || text.length > maxCommentText || controlCharacter.test(text) || !text.isWellFormed()) {
    const message = `A comment has 1 to ${maxCommentText} characters, and no control characters but line breaks and tabs.`
    throw new AppError('INVALID_INPUT', message)
  }
  return text
}

/** Returns whether a member may read an entry: then comments on it can mention them. Programs read no email. */
export function canBeMentioned(member: Member | null, { providerId, path }: { providerId: string; path: StoragePath }) {
  if (!member || member.isService) return false
  const { scope, access } = memberPermissions(member)
  return includesScope(scope, 'read') && includesPath(access, providerId, path)
}

function commentGone(): AppError {
  return new AppError('NOT_FOUND', 'The comment was deleted, or its entry was moved: list the comments again.')
}

/** The ids of people. */
interface Told {
  byEmail: readonly string[]
  onDevices: readonly string[]
}

type AskedToComment = Asked<typeof needs.comment>

export function createEntryComments({
  db,
  storage,
  audit,
  limits,
  sendsEmail,
}: {
  db: Database
  storage: Storage
  audit: Audit
  limits: Invitations
  sendsEmail: boolean
}) {
  const nextId = timeOrderedIds()
  const countOf = batchedCommentCounts(db)
  const memberOf = batchedMembers(db)

  async function withMentions(workspaceId: string, comments: readonly StoredComment[]): Promise<Comment[]> {
    const mentioned = comments.map(({ text }) => mentionsIn(text))
    const people = await findPeople(db, workspaceId, [...new Set(mentioned.flat())])
    const byId = new Map(people.map(person => [person.id, person]))
    return comments.map((comment, index) => {
      const mentions = mentioned[index]?.flatMap(id => byId.get(id) ?? []) ?? []
      return { ...comment, mentions }
    })
  }

  /** @throws NOT_FOUND */
  async function find(at: CommentedAt, id: string): Promise<StoredComment> {
    const found = isId(id) ? await findComment(db, at, id) : null
    if (found) return found
    throw commentGone()
  }

  /** @throws NOT_FOUND */
  async function shown(workspaceId: string, stored: StoredComment | null): Promise<Comment> {
    const [comment] = stored ? await withMentions(workspaceId, [stored]) : []
    if (comment) return comment
    throw commentGone()
  }

  /**
   * Returns the ids of those who are told of a text: by email, and on their devices. Whether a person exists who cannot read the entry is not revealed.
   * @throws INVALID_INPUT, RATE_LIMITED
   */
  async function notified(
    at: CommentedAt,
    { text, before }: { text: string; before: string },
    author: Member,
  ): Promise<Told> {
    const mentioned = mentionsIn(text)
    if (mentioned.length > maxMentions) {
      throw new AppError('INVALID_INPUT', `A comment mentions at most ${maxMentions} people.`)
    }
    const known = new Set(mentionsIn(before))
    const added = mentioned.filter(id => !known.has(id))
    const members = await Promise.all(added.map(id => memberOf(`${at.workspaceId}/${id}`)))
    if (!members.every(member => canBeMentioned(member, at))) {
      throw new AppError('INVALID_INPUT', 'Mention only people who can read the item: remove the others from the text.')
    }
    const others = members.flatMap(member => (member && member.userId !== author.userId ? member : []))
    const byEmail = sendsEmail ? others.filter(({ getsMentions }) => getsMentions) : []
    await limits.countInvitations(author.userId, others.length)
    return { byEmail: byEmail.map(({ userId }) => userId), onDevices: others.map(({ userId }) => userId) }
  }

  async function tell(change: Change, commentId: string, { workspaceId }: CommentedAt, told: Told): Promise<void> {
    await insertMentions(change, commentId, told.byEmail)
    await insertPushMentions(change, { workspaceId, commentId }, told.onDevices)
  }

  /** @throws TOO_MANY_COMMENTS */
  async function requireRoom(change: Change, at: CommentedAt, userId: string): Promise<void> {
    await lockMember(change, { workspaceId: at.workspaceId, userId })
    await lockComments(change, at)
    const { ofEntry, ofMember } = await countComments(change, at, userId)
    if (ofEntry >= maxCommentsOfEntry) {
      const message = `There are ${maxCommentsOfEntry} comments here already: delete some of them.`
      throw new AppError('TOO_MANY_COMMENTS', message)
    }
    if (ofMember >= maxCommentsOfMember) {
      const message = `You have written ${maxCommentsOfMember} comments already: delete some of them.`
      throw new AppError('TOO_MANY_COMMENTS', message)
    }
  }

  return {
    /** Returns the number of comments on an entry. The recipients of a share link see none. @throws as `authorize` */
    async count(viewer: Viewer | null, location: AskedToRead): Promise<number> {
      const [{ providerId, path, viewer: present }] = authorize(viewer, needs.read, location)
      return present.kind === 'SHARE' ? 0 : countOf({ providerId, path })
    },

    /**
     * Returns one page of the comments on an entry, which may be gone, the newest first. The recipients of a share link see none.
     * @throws as `authorize`, NOT_FOUND for a provider that does not exist, INVALID_INPUT, INVALID_CURSOR
     */
    async list(
      viewer: Viewer | null,
      location: AskedToRead,
      page: { first: number; after?: string | null | undefined },
    ): Promise<CommentPage> {
      const [granted] = authorize(viewer, needs.read, location)
      const limit = parsePageSize(page.first, maxCommentsPage)
      const before = page.after == null ? null : decodeIdCursor(page.after)
      if (granted.viewer.kind === 'SHARE') return { items: [], hasNext: false }
      await storage.record(granted)
      const found = await listComments(db, granted, { limit: limit + 1, before })
      const comments = await withMentions(granted.workspaceId, found.slice(0, limit))
      return {
        items: comments.map(comment => ({ comment, cursor: encodeIdCursor(comment.id) })),
        hasNext: found.length > limit,
      }
    },

    /** @throws as `Files.stat`, INVALID_INPUT, TOO_MANY_COMMENTS, RATE_LIMITED */
    create(viewer: Viewer | null, input: AskedToComment & { text: string }, signal: AbortSignal): Promise<Comment> {
      return audit.recorded(viewer, 'COMMENT_CREATE', { location: locationOf(input) }, async recording => {
        const [granted] = authorize(viewer, needs.comment, input)
        requireAccount(granted.viewer)
        const { member } = granted.viewer
        const text = parseCommentText(input.text)
        const { kind } = await (await storage.readAt(granted)).stat(signal)
        const told = await notified(granted, { text, before: '' }, member)
        const id = nextId(new Date())
        recording.add({ details: { commentId: id } })
        // Afterwards, somebody may move the entry with its comments.
        const stored = await recording.commit(async change => {
          await requireRoom(change, granted, member.userId)
          await insertComment(change, granted, { id, userId: member.userId, isFolder: kind === 'directory', text })
          await tell(change, id, granted, told)
          return findComment(change, granted, id)
        })
        return shown(granted.workspaceId, stored)
      })
    },

    /** Edits a comment, as its author. @throws as `authorize`, NOT_FOUND, SCOPE_REQUIRED, INVALID_INPUT, RATE_LIMITED */
    update(viewer: Viewer | null, input: AskedToComment & { id: string; text: string }): Promise<Comment> {
      return audit.recorded(viewer, 'COMMENT_UPDATE', { location: locationOf(input) }, async recording => {
        const [granted] = authorize(viewer, needs.comment, input)
        requireAccount(granted.viewer)
        const { member } = granted.viewer
        const text = parseCommentText(input.text)
        await storage.record(granted)
        const before = await find(granted, input.id)
        const { id } = before
        recording.add({ details: { commentId: id } })
        if (before.author?.id !== member.userId) {
          throw new AppError('SCOPE_REQUIRED', 'Only the person who wrote a comment edits it.')
        }
        const told = await notified(granted, { text, before: before.text }, member)
        const stored = await recording.commit(async change => {
          if (!(await updateComment(change, granted, { id, userId: member.userId, text }))) throw commentGone()
          await tell(change, id, granted, told)
          return findComment(change, granted, id)
        })
        return shown(granted.workspaceId, stored)
      })
    },

    /** Deletes a comment, as its author or as an administrator. @throws as `authorize`, NOT_FOUND, SCOPE_REQUIRED */
    remove(viewer: Viewer | null, input: AskedToComment & { id: string }): Promise<void> {
      return audit.recorded(viewer, 'COMMENT_DELETE', { location: locationOf(input) }, async recording => {
        const [granted] = authorize(viewer, needs.comment, input)
        requireAccount(granted.viewer)
        const { member, scope } = granted.viewer
        await storage.record(granted)
        const { id, author } = await find(granted, input.id)
        recording.add({ details: { commentId: id, ...(author && { authorId: author.id }) } })
        if (author?.id !== member.userId && !includesScope(scope, 'admin')) {
          const message = 'Only the person who wrote a comment deletes it, or an administrator.'
          throw new AppError('SCOPE_REQUIRED', message, { facts: { requiredScope: 'admin' } })
        }
        await recording.commit(async change => {
          if (!(await deleteComment(change, granted, id))) throw commentGone()
        })
      })
    },
  }
}
