/** What a notification says: only what its reader may read when it is sent, and in their language. */
import { includesPath } from '../../auth/access.ts'
import { formatPath, isWithin, nameOf, parsePath, root, type StoragePath, trashFolder } from '../../auth/path.ts'
import { includesScope } from '../../auth/scopes.ts'
import { type Member, memberPermissions } from '../../auth/viewer.ts'
import type { Database } from '../../db/client.ts'
import { findMailedComment, findPeople } from '../../db/entry-comments.ts'
import { findJob } from '../../db/jobs/jobs.ts'
import { findProviders } from '../../db/providers.ts'
import type { WaitingPush } from '../../db/push-messages.ts'
import { findShare } from '../../db/shares/shares.ts'
import { isRightToLeft } from '../../lib/languages.ts'
import { canBeMentioned } from '../entry-metadata/comments.ts'
import { mentionsIn, withNames } from '../entry-metadata/mentions.ts'
import { addressOf } from '../mail/mentions.ts'
import { oneLine } from '../mail/text.ts'
import { type MailTexts, mailTexts } from '../mail/texts.ts'

/** What the service worker of the console shows. */
export interface Notification {
  title: string
  body: string
  /** The page that a press opens, below the address of the console. */
  path: string
  /** A later notification with the same tag replaces this one. */
  tag: string
  language: string
  direction: 'ltr' | 'rtl'
}

interface Said {
  title: string
  body?: string
  path: string
}

/** Characters of the text of a comment. */
const maxComment = 300

/** Returns null for a person who should not get the message any more, and for one that says nothing any more. */
export async function notificationOf(
  db: Database,
  { event, subjectId, count }: WaitingPush,
  { member, language: usual }: { member: Member; language: string | null },
): Promise<Notification | null> {
  const texts = await mailTexts(member.language ?? usual)
  const said = await says[event](db, { member, subjectId, count, ...texts })
  if (!said) return null
  const { language } = texts
  const direction = isRightToLeft(language) ? 'rtl' : 'ltr'
  return {
    title: said.title,
    body: said.body ?? '',
    path: said.path,
    tag: `${event} ${subjectId}`,
    language,
    direction,
  }
}

interface Telling extends MailTexts {
  member: Member
  subjectId: string
  count: number
}

const says: Record<WaitingPush['event'], (db: Database, telling: Telling) => Promise<Said | null>> = {
  JOB_ENDED: sayJobEnded,
  FILES_RECEIVED: sayFilesReceived,
  SHARE_USED: sayShareUsed,
  MENTIONED: sayMentioned,
  TEST: async (_db, { text }) => ({ title: text('push.test'), path: '/settings/notifications' }),
}

async function sayJobEnded(db: Database, { member, subjectId, text }: Telling): Promise<Said | null> {
  const job = await findJob(db, member.workspaceId, subjectId)
  // Somebody waits for the end of an atomic job. A job that was retried tells its end later.
  if (!job || job.userId !== member.userId || job.endedAt === null || job.isAtomic) return null
  const { state, canceledBy, sources } = job
  if (state !== 'SUCCEEDED' && state !== 'FAILED' && (state !== 'CANCELED' || canceledBy === member.userId)) return null
  const [first] = sources
  const where = first && (await placeOf(db, member, { ...first, path: parsePath(first.path) }))
  return { title: text(`push.job.${state}`), ...(where && { body: where }), path: '/jobs' }
}

async function sayFilesReceived(db: Database, telling: Telling): Promise<Said | null> {
  const { member, subjectId, count, text } = telling
  const share = await findShare(db, member.workspaceId, subjectId)
  if (!share || share.userId !== member.userId || count === 0) return null
  const [path = root] = share.paths
  const { providerId } = share
  const where = await placeOf(db, member, { providerId, path })
  if (where === null) return null
  const title = text('arrivals.subject', { count, what: await nameOfShare(db, share, telling) })
  return { title, body: where, path: addressOf({ providerId, path, isFolder: true }) }
}

async function sayShareUsed(db: Database, telling: Telling): Promise<Said | null> {
  const { member, subjectId, count, text } = telling
  const share = await findShare(db, member.workspaceId, subjectId)
  if (!share || share.userId !== member.userId || count === 0) return null
  const [path = root] = share.paths
  const where = await placeOf(db, member, { providerId: share.providerId, path })
  if (where === null) return null
  return { title: text('push.used', { what: await nameOfShare(db, share, telling) }), body: where, path: '/shares' }
}

async function sayMentioned(db: Database, { member, subjectId, text }: Telling): Promise<Said | null> {
  const comment = await findMailedComment(db, subjectId)
  if (!comment || comment.author === null || comment.workspaceId !== member.workspaceId) return null
  const mentioned = mentionsIn(comment.text)
  if (!mentioned.includes(member.userId) || isWithin(comment.path, trashFolder)) return null
  if (!canBeMentioned(member, comment)) return null
  const people = await findPeople(db, member.workspaceId, mentioned)
  const names = new Map(people.map(({ id, name }) => [id, oneLine(name)]))
  const what = text('quoted', { name: oneLine(nameOf(comment.path) || comment.providerName) })
  return {
    title: text('mention.subject', { who: oneLine(comment.author), what }),
    body: withNames(comment.text, id => names.get(id) ?? null)
      .slice(0, maxComment)
      .toWellFormed(),
    path: addressOf(comment),
  }
}

interface Place {
  providerId: string
  path: StoragePath
}

/** Characters of a path. Its end is what the person knows. */
const maxPath = 80

/** Returns a storage and a path in it; null if the member may not read there. */
async function placeOf(db: Database, member: Member, { providerId, path }: Place): Promise<string | null> {
  const { scope, access } = memberPermissions(member)
  if (!includesScope(scope, 'read') || !includesPath(access, providerId, path)) return null
  const name = await providerName(db, member, providerId)
  if (name === null) return null
  const whole = formatPath(path)
  const shown = whole.length > maxPath ? `…${whole.slice(1 - maxPath)}` : whole
  return `${oneLine(name)}: ${oneLine(shown.toWellFormed())}`
}

/** Null for a provider that is not connected any more. */
async function providerName(db: Database, { workspaceId }: Member, id: string): Promise<string | null> {
  const [provider] = await findProviders(db, [id])
  return provider?.workspaceId === workspaceId ? provider.name : null
}

async function nameOfShare(
  db: Database,
  { providerId, paths }: { providerId: string; paths: readonly StoragePath[] },
  { member, text }: Telling,
): Promise<string> {
  const [first, ...others] = paths
  if (first === undefined || others.length > 0) return text('items', { count: paths.length })
  return text('quoted', { name: oneLine(nameOf(first) || ((await providerName(db, member, providerId)) ?? '')) })
}
