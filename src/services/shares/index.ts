/** Share links as their creators see and change them. `shared-files.ts` has what their recipients can do. */
import { randomUUID } from 'node:crypto'
import { hashToken } from '../../auth/api-key.ts'
import { isId, timeOrderedIds } from '../../auth/id.ts'
import { authorizeShare } from '../../auth/needs.ts'
import { enterPasswordQueue, hashPassword } from '../../auth/passwords.ts'
import { formatPath, nameOf, parsePath } from '../../auth/path.ts'
import { type Grant, isOwn, isUnrestricted, owns, requireScope } from '../../auth/policy.ts'
import { includesScope } from '../../auth/scopes.ts'
import { SecretMismatch, type Secrets } from '../../auth/secrets.ts'
import { generateShareToken } from '../../auth/tokens.ts'
import { type ShareKind, type ShareRecipient, scopeOf, type Viewer } from '../../auth/viewer.ts'
import type { Database } from '../../db/client.ts'
import { returnLapsedClaims } from '../../db/shares/claims.ts'
import { insertInvitations } from '../../db/shares/emails.ts'
import { changeRecipients } from '../../db/shares/recipients.ts'
import {
  findShare,
  insertShare,
  listShares,
  revokeShare,
  type ShareRecord,
  type ShareSettings,
  updateShare,
} from '../../db/shares/shares.ts'
import { AppError } from '../../errors.ts'
import { mapAtMost } from '../../lib/limiter.ts'
import type { Storage } from '../../storage/index.ts'
import { namedSources } from '../audit/event.ts'
import type { Audit, AuditFacts, Recording } from '../audit/index.ts'
import { asCreator } from '../creator.ts'
import { parsePageSize, requireShortPaths } from '../input.ts'
import type { Invitations } from '../limits/index.ts'
import { encodeIdCursor, visiblePage } from '../paging.ts'
import {
  describedChanges,
  describedRecipients,
  emailsOf,
  maxShareRecipients,
  parseRecipientChanges,
  parseShareRecipients,
  type RecipientChangesInput,
  tooManyRecipients,
} from './recipients.ts'
import { noSettings, parseRecipients, parseSettings, type ShareSettingsInput } from './settings.ts'

/** The maximum number of shares of one member that are neither revoked nor expired. */
export const maxActiveShares = 1000
export const maxSharesPage = 100
/** The maximum number of files and folders in one share. */
export const maxSharedPaths = 100
/** Lookups at a back end that run at once. */
const lookupsAtOnce = 8

export interface NewShareInput extends ShareSettingsInput {
  kind: ShareKind
  providerId: string
  path: string
  /** Further files and folders of the provider, for a share of the kind VIEW. */
  morePaths?: readonly string[] | null | undefined
  /** People and groups of the workspace, who alone can open the share. It is then of the kind VIEW. */
  userIds?: readonly string[] | null | undefined
  groupIds?: readonly string[] | null | undefined
  /** Whether the people of `userIds` get the link by email. */
  emailUsers?: boolean | null | undefined
  /** The addresses that get the link by email. */
  recipients?: readonly string[] | null | undefined
}

/** Which shares to list. Undefined and null exclude none. */
export interface SharesQuery {
  ofUser?: string | null | undefined
  includeInactive: boolean
  providerId?: string | null | undefined
  /** The path of a shared entry of the provider. */
  path?: string | null | undefined
}

export type ShareState = 'active' | 'expired' | 'revoked' | 'used up'

export function shareState(
  { revokedAt, expiresAt, maxDownloads, downloads }: ShareRecord,
  now = new Date(),
): ShareState {
  if (revokedAt) return 'revoked'
  if (expiresAt && expiresAt <= now) return 'expired'
  return maxDownloads !== null && downloads >= maxDownloads ? 'used up' : 'active'
}

export type Shares = ReturnType<typeof createShares>

export function createShares(options: {
  db: Database
  secrets: Secrets
  audit: Audit
  storage: Storage
  limits: Pick<Invitations, 'countInvitations'>
  /** Whether the server sends email. */
  sendsEmail: boolean
}) {
  const { db, secrets, audit, storage, limits, sendsEmail } = options
  const nextId = timeOrderedIds()

  /** Returns whether the granted paths are one folder. @throws as `ReadLocation.stat`; INVALID_INPUT */
  async function requireShareable(kind: ShareKind, granted: readonly Grant[], signal: AbortSignal): Promise<boolean> {
    const entryKinds = await mapAtMost(
      lookupsAtOnce,
      granted,
      async each => (await (await storage.readAt(each)).stat(signal)).kind,
    )
    const isFolder = entryKinds.length === 1 && entryKinds[0] === 'directory'
    if (kind === 'DROP' && !isFolder) throw new AppError('INVALID_INPUT', 'A share of the kind DROP is one folder.')
    if (new Set(granted.map(({ path }) => nameOf(path))).size < granted.length) {
      throw new AppError('INVALID_INPUT', 'Two of the paths have the same name: share their folder, or each by itself.')
    }
    return isFolder
  }

  async function hashed(password: string, { origin }: Viewer, signal: AbortSignal): Promise<string> {
    using slot = enterPasswordQueue(origin.address, signal)
    return await hashPassword(slot, password)
  }

  /** Finds a share that the viewer owns. */
  async function findManaged(viewer: Viewer | null, id: string): Promise<ShareRecord> {
    const manager = requireScope(viewer, 'read')
    const share = isId(id) ? await findShare(db, manager.member.workspaceId, id) : null
    if (!share || !isVisible(manager, share)) throw new AppError('NOT_FOUND', 'There is no such share.')
    return share
  }

  function change<T>(
    viewer: Viewer | null,
    action: 'SHARE_UPDATE' | 'SHARE_REVOKE',
    id: string,
    work: (recording: Recording, share: ShareRecord, manager: Viewer) => Promise<T>,
  ): Promise<T> {
    return audit.recorded(viewer, action, { subject: { kind: 'SHARE', id } }, async recording => {
      const share = await findManaged(viewer, id)
      recording.add(factsOf(share.kind, share.providerId, share.paths.map(formatPath)))
      return work(recording, share, requireScope(viewer, scopeOf(share.kind)))
    })
  }

  /** @throws INVALID_INPUT */
  function requireEmail(): void {
    if (sendsEmail) return
    throw new AppError('INVALID_INPUT', 'This server sends no email: its operator has to set STOWAGE_SMTP_URL.')
  }

  return {
    /** Whether the server sends email about shares. */
    sendsEmail,

    /** Returns the bytes that killed servers had claimed in drop links. */
    sweep: () => returnLapsedClaims(db),

    /**
     * Creates a share, which ends with the rights of the viewer at its paths, and with their API key.
     * @throws SCOPE_REQUIRED, PROVIDER_NOT_ALLOWED, OUTSIDE_BASE_PATH, INVALID_PATH, NOT_FOUND, INVALID_INPUT, TOO_MANY_SHARES,
     *   RATE_LIMITED
     */
    create(
      viewer: Viewer | null,
      input: NewShareInput,
      signal: AbortSignal,
    ): Promise<{ share: ShareRecord; token: string }> {
      const { kind, providerId, path, morePaths } = input
      const facts = factsOf(kind, providerId, [path, ...(morePaths ?? []).slice(0, maxSharedPaths)])
      return audit.recorded(viewer, 'SHARE_CREATE', facts, async recording => {
        if ((morePaths?.length ?? 0) >= maxSharedPaths) {
          throw new AppError('INVALID_INPUT', `A share has at most ${maxSharedPaths} files and folders.`)
        }
        requireShortPaths([path, ...(morePaths ?? [])], 'share their folder, or create several shares')
        const granted = authorizeShare(viewer, input)
        const [{ viewer: creator }] = granted
        const settings = { ...noSettings, ...parseSettings(kind, input) }
        const members = await parseShareRecipients(db, creator.member.workspaceId, input)
        requireAudience(input, members)
        const emailed = input.emailUsers ? emailsOf(members ?? []) : []
        const recipients = members ? emailed : parseRecipients(input.recipients ?? [])
        if (recipients.length > 0 || input.notify) requireEmail()
        if (input.notify && creator.member.isService) {
          throw new AppError('INVALID_INPUT', 'A service account has no mailbox for notifications: leave out "notify".')
        }
        const isFolder = await requireShareable(kind, granted, signal)
        if (input.password != null) settings.passwordHash = await hashed(input.password, creator, signal)
        const token = generateShareToken()
        const id = nextId(new Date())
        const share = {
          id,
          ...asCreator(creator),
          kind,
          providerId,
          paths: granted.map(each => each.path),
          isFolder,
          recipients: members,
          token: secrets.seal('share', id, token),
          tokenHash: hashToken(token),
          ...settings,
        }
        recording.add({
          subject: { kind: 'SHARE', id },
          details: { ...described(settings), ...describedRecipients(members), recipients },
        })
        await limits.countInvitations(creator.member.userId, recipients.length)
        return recording.commit(async trx => {
          const created = await insertShare(trx, share, maxActiveShares)
          if (!created) throw tooManyShares()
          await insertInvitations(trx, invitationsTo(recipients, id))
          return { share: created, token }
        })
      })
    },

    /**
     * Changes the given settings of a share, adds and removes recipients, and keeps everything else. A new password ends the access of
     * those who have only the old one. Only people who are new get the link by email, and only from the creator.
     * @throws SCOPE_REQUIRED, NOT_FOUND, INVALID_INPUT, RATE_LIMITED
     */
    update(
      viewer: Viewer | null,
      { id, ...input }: ShareSettingsInput & RecipientChangesInput & { id: string },
      signal: AbortSignal,
    ): Promise<ShareRecord> {
      return change(viewer, 'SHARE_UPDATE', id, async (recording, share, manager) => {
        const changes = parseSettings(share.kind, input)
        const audience = await parseRecipientChanges(db, share, input)
        const newcomers = audience?.added.filter(({ id }) => !share.recipients?.some(each => each.id === id)) ?? []
        const emailed = input.emailUsers ? emailsOf(newcomers) : []
        if (input.notify || input.emailUsers) requireEmail()
        if (input.emailUsers && manager.member.userId !== share.userId) throw notTheSender()
        if (input.password != null) changes.passwordHash = await hashed(input.password, manager, signal)
        await limits.countInvitations(manager.member.userId, emailed.length)
        return recording.commit(async trx => {
          const updated = await updateShare(trx, share.id, changes)
          if (!updated) throw new AppError('NOT_FOUND', 'The share is revoked and can no longer be changed.')
          recording.add({ details: described(updated) })
          if (!audience) return updated
          const changed = await changeRecipients(trx, updated, audience)
          if (changed.recipients.length > maxShareRecipients) throw tooManyRecipients()
          // A simultaneous change may have added some of them. These people have their email already.
          const recipients = emailsOf(changed.added).filter(email => emailed.includes(email))
          await insertInvitations(trx, invitationsTo(recipients, share.id))
          recording.add({ details: { ...describedChanges(changed), recipients } })
          return { ...updated, recipients: changed.recipients }
        })
      })
    },

    /** Revokes a share immediately and permanently. @throws SCOPE_REQUIRED, NOT_FOUND */
    revoke(viewer: Viewer | null, id: string): Promise<ShareRecord> {
      return change(viewer, 'SHARE_REVOKE', id, (recording, share) =>
        recording.commit(async trx => {
          const revoked = await revokeShare(trx, share.id)
          if (!revoked) throw new AppError('NOT_FOUND', 'There is no such share.')
          return revoked
        }),
      )
    },

    /**
     * Returns shares, the newest first: those of `ofUser`, or all that the viewer owns; of one provider, or with one entry of it.
     * @throws SCOPE_REQUIRED, INVALID_INPUT, INVALID_PATH, INVALID_CURSOR
     */
    async list(
      viewer: Viewer | null,
      { ofUser, includeInactive, ...shared }: SharesQuery,
      page: { first: number; after?: string | null | undefined },
    ): Promise<{ items: { share: ShareRecord; cursor: string }[]; hasNext: boolean; endCursor: string | null }> {
      const manager = requireScope(viewer, 'read')
      const limit = parsePageSize(page.first, maxSharesPage)
      const { workspaceId, userId: own } = manager.member
      const userId = isUnrestricted(manager) ? (ofUser ?? null) : own
      if (userId !== null && !isId(userId)) throw new AppError('INVALID_INPUT', '"ofUser" is the ID of a member.')
      const filter = { workspaceId, userId, includeInactive, ...parseShared(shared) }
      const { rows, ...found } = await visiblePage(
        read => listShares(db, filter, read),
        share => isVisible(manager, share),
        { limit, after: page.after },
      )
      return { ...found, items: rows.map(share => ({ share, cursor: encodeIdCursor(share.id) })) }
    },

    /** Returns the token of the viewer's own share, if the viewer has the scope of the link; otherwise null. */
    tokenOf(viewer: Viewer | null, share: ShareRecord): string | null {
      const { id, kind, token } = share
      if (!viewer || !isOwn(viewer, share) || !includesScope(viewer.scope, scopeOf(kind))) return null
      try {
        return secrets.open('share', id, token)
      } catch (error) {
        if (error instanceof SecretMismatch) return null
        throw error
      }
    },
  }
}

/** @throws INVALID_INPUT, INVALID_PATH */
function parseShared({ providerId, path }: Pick<SharesQuery, 'providerId' | 'path'>) {
  if (path != null && providerId == null) {
    throw new AppError('INVALID_INPUT', '"path" needs a provider: give "providerId", too.')
  }
  if (providerId != null && !isId(providerId)) {
    throw new AppError('INVALID_INPUT', '"providerId" is the ID of a provider.')
  }
  return { providerId: providerId ?? null, path: path == null ? null : parsePath(path) }
}

/** @throws INVALID_INPUT for what does not fit a share with members, or one with everybody who has the link */
function requireAudience(
  { kind, recipients, emailUsers }: NewShareInput,
  members: readonly ShareRecipient[] | null,
): void {
  if (!members) {
    if (!emailUsers) return
    throw new AppError('INVALID_INPUT', '"emailUsers" is about the people of "userIds": give at least one.')
  }
  if (kind !== 'VIEW') {
    throw new AppError(
      'INVALID_INPUT',
      'A share with people and groups is of the kind VIEW: make a link to receive files.',
    )
  }
  if (recipients?.length) {
    const message =
      'Addresses get only links that everybody can open: leave out "recipients", or "userIds" and "groupIds".'
    throw new AppError('INVALID_INPUT', message)
  }
}

function invitationsTo(recipients: readonly string[], shareId: string) {
  return recipients.map(recipient => ({ id: randomUUID(), shareId, recipient }))
}

function isVisible(manager: Viewer, share: ShareRecord): boolean {
  const { providerId, paths } = share
  return owns(
    manager,
    share,
    paths.map(path => ({ providerId, path: formatPath(path) })),
  )
}

/** Describes a share for the audit log. The location of the event is the first path. */
function factsOf(kind: ShareKind, providerId: string, paths: readonly string[]): AuditFacts {
  const sources = paths.map(path => ({ providerId, path }))
  const [location] = sources
  return { ...(location && { location }), details: { kind, ...namedSources(sources) } }
}

function described({ passwordHash, expiresAt, maxDownloads, maxBytes, fileTypes, notify }: ShareSettings) {
  return { hasPassword: passwordHash !== null, expiresAt, maxDownloads, maxBytes, fileTypes, notify }
}

/** The email names the creator, who also gets the replies. */
function notTheSender(): AppError {
  const message = 'Only the person who made the share can send its link by email: leave out "emailUsers".'
  return new AppError('INVALID_INPUT', message)
}

function tooManyShares(): AppError {
  const message = `You have ${maxActiveShares} active shares, which is the limit: revoke one that is not needed any more.`
  return new AppError('TOO_MANY_SHARES', message)
}
