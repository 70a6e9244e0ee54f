/** Sharing with people and groups of the workspace: who they can be, and what is shared with the viewer. */
import { isId } from '../../auth/id.ts'
import { nameOf } from '../../auth/path.ts'
import { requireScope, requireSession } from '../../auth/policy.ts'
import { SecretMismatch, type Secrets } from '../../auth/secrets.ts'
import type { ShareRecipient, Viewer } from '../../auth/viewer.ts'
import type { Database } from '../../db/client.ts'
import { findRecipients, type RecipientChanges, searchRecipients } from '../../db/shares/recipients.ts'
import { listReceivedShares, type ShareRecord } from '../../db/shares/shares.ts'
import { AppError } from '../../errors.ts'
import type { Storage } from '../../storage/index.ts'
import { parsePageSize } from '../input.ts'
import { encodeIdCursor, visiblePage } from '../paging.ts'
import type { Credentials } from '../people/credentials.ts'

/** The maximum number of people and groups of one share. */
export const maxShareRecipients = 100
export const maxReceivedPage = 100
/** The number of people and groups that a search finds. */
export const maxFoundRecipients = 20
/** UTF-16 code units. */
const maxSearch = 100

/** A share of somebody else, as one of its recipients sees it. */
export interface ReceivedShare {
  share: ShareRecord
  token: string
  /** The name of the shared file or folder; null for several. */
  name: string | null
  /** The name or the email of the person who made the share. */
  sharedBy: string
}

/**
 * Returns the people and groups with the given ids; null if none are given.
 * @throws INVALID_INPUT
 */
export async function parseShareRecipients(
  db: Database,
  workspaceId: string,
  given: { userIds?: readonly string[] | null | undefined; groupIds?: readonly string[] | null | undefined },
): Promise<ShareRecipient[] | null> {
  const userIds = [...new Set(given.userIds ?? [])]
  const groupIds = [...new Set(given.groupIds ?? [])]
  const ids = [...userIds, ...groupIds]
  if (ids.length === 0) return null
  if (ids.length > maxShareRecipients) throw tooManyRecipients()
  const found = ids.every(isId) ? await findRecipients(db, workspaceId, { userIds, groupIds }) : []
  if (found.length === ids.length) return found
  const message = 'Share with people and groups by the IDs that "shareRecipients" finds. Search again.'
  throw new AppError('INVALID_INPUT', message)
}

/** Undefined and null add or remove nobody. */
export interface RecipientChangesInput {
  addUserIds?: readonly string[] | null | undefined
  addGroupIds?: readonly string[] | null | undefined
  removeUserIds?: readonly string[] | null | undefined
  removeGroupIds?: readonly string[] | null | undefined
  /** Whether the people of `addUserIds` get the link by email. */
  emailUsers?: boolean | null | undefined
}

/**
 * Returns the changes of the recipients of a share; null if none are given.
 * @throws INVALID_INPUT
 */
export async function parseRecipientChanges(
  db: Database,
  { recipients, workspaceId }: ShareRecord,
  { addUserIds, addGroupIds, removeUserIds, removeGroupIds, emailUsers }: RecipientChangesInput,
): Promise<RecipientChanges | null> {
  const removed = { userIds: [...new Set(removeUserIds ?? [])], groupIds: [...new Set(removeGroupIds ?? [])] }
  const removedIds = [...removed.userIds, ...removed.groupIds]
  if (removedIds.length > maxShareRecipients) throw tooManyRecipients()
  if (!removedIds.every(isId)) {
    throw new AppError('INVALID_INPUT', '"removeUserIds" and "removeGroupIds" are IDs of people and groups.')
  }
  const added = await parseShareRecipients(db, workspaceId, { userIds: addUserIds, groupIds: addGroupIds })
  if (!added && emailUsers) {
    throw new AppError('INVALID_INPUT', '"emailUsers" is about the people of "addUserIds": give at least one.')
  }
  if (!added && removedIds.length === 0) return null
  if (recipients) return { added: added ?? [], removed }
  const message = 'Everybody who has the link can open this share: to share with people and groups, make another one.'
  throw new AppError('INVALID_INPUT', message)
}

export function tooManyRecipients(): AppError {
  const message = `Share with at most ${maxShareRecipients} people and groups, or with a group of them.`
  return new AppError('INVALID_INPUT', message)
}

/** Returns the addresses of the people among these. */
export function emailsOf(recipients: readonly ShareRecipient[]): string[] {
  return recipients.flatMap(({ email }) => email ?? [])
}

export function createReceivedShares({
  db,
  secrets,
  storage,
  credentials,
}: {
  db: Database
  secrets: Secrets
  storage: Storage
  credentials: Pick<Credentials, 'recall'>
}) {
  /** Returns null for a share that has ended, or whose creator lost access. */
  async function received(share: ShareRecord, { member, credentialId, origin }: Viewer): Promise<ReceivedShare | null> {
    const { id, providerId, workspaceId, paths, token } = share
    try {
      const openedBy = { sessionId: credentialId, userId: member.userId }
      const { member: creator } = await credentials.recall({ kind: 'SHARE', credentialId: id, openedBy, origin })
      const [first, ...others] = paths
      const only = first === undefined || others.length > 0 ? null : nameOf(first)
      const name = only === '' ? (await storage.record({ providerId, workspaceId })).name : only
      return { share, token: secrets.open('share', id, token), name, sharedBy: creator.name ?? creator.email }
    } catch (error) {
      if (error instanceof AppError || error instanceof SecretMismatch) return null
      throw error
    }
  }

  return {
    /**
     * Returns what others share with the person or their groups, the newest first.
     * @throws CREDENTIAL_REQUIRED, SESSION_REQUIRED, SECOND_FACTOR_REQUIRED, INVALID_INPUT, INVALID_CURSOR
     */
    async list(
      viewer: Viewer | null,
      page: { first: number; after?: string | null | undefined },
    ): Promise<{ items: { received: ReceivedShare; cursor: string }[]; hasNext: boolean; endCursor: string | null }> {
      const present = requireSession(viewer)
      const limit = parsePageSize(page.first, maxReceivedPage)
      const read = async (part: { limit: number; before: string | null }) => {
        const shares = await listReceivedShares(db, present.member, part)
        return Promise.all(shares.map(async share => ({ id: share.id, received: await received(share, present) })))
      }
      const { rows, ...found } = await visiblePage(read, row => row.received !== null, { limit, after: page.after })
      const items = rows.flatMap(({ id, received }) => (received ? [{ received, cursor: encodeIdCursor(id) }] : []))
      return { ...found, items }
    },

    /**
     * Finds people and groups of the workspace to share with, by a part of a name or an email.
     * @throws CREDENTIAL_REQUIRED, SCOPE_REQUIRED, INVALID_INPUT
     */
    async search(viewer: Viewer | null, text: string): Promise<ShareRecipient[]> {
      const { member } = requireScope(viewer, 'read')
      const wanted = text.trim()
      if (wanted.length > maxSearch || wanted.includes('\0') || !wanted.isWellFormed()) {
        throw new AppError(
          'INVALID_INPUT',
          `Search for a part of a name or an email, of at most ${maxSearch} characters.`,
        )
      }
      return searchRecipients(db, member, { text: wanted, limit: maxFoundRecipients })
    },
  }
}

/** Describes recipients for the audit log. */
export function describedRecipients(recipients: readonly ShareRecipient[] | null): Record<string, unknown> {
  if (!recipients) return {}
  return { userIds: idsOf(recipients, 'USER'), groupIds: idsOf(recipients, 'GROUP') }
}

/** Describes changes of recipients for the audit log. */
export function describedChanges({ added, removed }: RecipientChanges): Record<string, unknown> {
  return {
    addedUserIds: idsOf(added, 'USER'),
    addedGroupIds: idsOf(added, 'GROUP'),
    removedUserIds: removed.userIds,
    removedGroupIds: removed.groupIds,
  }
}

function idsOf(recipients: readonly ShareRecipient[], kind: ShareRecipient['kind']): string[] {
  return recipients.filter(each => each.kind === kind).map(({ id }) => id)
}
