/** Tells people by email that a comment mentions them, if they may still read the entry when the email is sent. */
import { randomUUID } from 'node:crypto'
import { formatPath, isWithin, nameOf, parentOf, root, trashFolder } from '../../auth/path.ts'
import type { Database } from '../../db/client.ts'
import { claimMention, settleMention, type WaitingMention } from '../../db/comment-notices.ts'
import { findPeople } from '../../db/entry-comments.ts'
import { findMember } from '../../db/members.ts'
import { isAnyMessageDue } from '../../db/outbox.ts'
import { canBeMentioned } from '../entry-metadata/comments.ts'
import { mentionsIn, withNames } from '../entry-metadata/mentions.ts'
import { type OutboxContext, startMailOutbox } from './outbox.ts'
import { body, oneLine, quoted } from './text.ts'
import { mailTexts } from './texts.ts'
import type { OutgoingMail } from './transport.ts'

/** Returns a function that ends the search for messages. */
export function startMentionSender(context: OutboxContext): () => Promise<void> {
  const { db, send, publicUrl, onError, onFailure } = context
  return startMailOutbox<WaitingMention>({
    isAnyDue: () => isAnyMessageDue(db, 'comment_notices'),
    claim: () => claimMention(db, randomUUID()),
    messageOf: mention => messageOf(db, mention, publicUrl),
    settle: (mention, retrySeconds) => settleMention(db, mention, retrySeconds),
    send,
    onError,
    onFailure: (_mention, failure) => onFailure(failure),
  })
}

/** Returns null for somebody who should no longer get the message, and for a comment that was edited or whose entry was deleted. */
async function messageOf(db: Database, mention: WaitingMention, publicUrl: string): Promise<OutgoingMail | null> {
  const { id, userId, workspaceId, path, providerName, author, text: comment } = mention
  const mentioned = mentionsIn(comment)
  if (author === null || !mentioned.includes(userId) || isWithin(path, trashFolder)) return null
  const [member, people] = await Promise.all([
    findMember(db, workspaceId, userId),
    findPeople(db, workspaceId, mentioned),
  ])
  if (!member?.getsMentions || !canBeMentioned(member, mention)) return null
  const names = new Map(people.map(person => [person.id, oneLine(person.name)]))
  const { text, language } = await mailTexts(member.language ?? mention.workspaceLanguage)
  const values = { who: oneLine(author), what: text('quoted', { name: oneLine(nameOf(path) || providerName) }) }
  const subject = text('mention.subject', values)
  return {
    id,
    to: member.email,
    replyTo: null,
    language,
    subject,
    text: body([
      `${subject}:`,
      quoted(withNames(comment, each => names.get(each) ?? null)),
      `${oneLine(providerName)}: ${oneLine(formatPath(path))}`,
      text('mention.see', { url: `${publicUrl}${addressOf(mention)}` }),
      text('mention.change', { url: `${publicUrl}/settings/profile` }),
    ]),
  }
}

/** The address of a folder in the console, or of a file above its folder. */
export function addressOf({
  providerId,
  path,
  isFolder,
}: Pick<WaitingMention, 'providerId' | 'path' | 'isFolder'>): string {
  const folder = isFolder ? path : parentOf(path)
  const segments = folder === root ? [] : folder.split('/')
  const address = ['', 'files', providerId, ...segments.map(encodeURIComponent)].join('/')
  return isFolder ? address : `${address}?file=${encodeURIComponent(nameOf(path))}`
}
