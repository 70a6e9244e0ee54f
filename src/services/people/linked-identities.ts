/**
 * The identities at issuers with which members sign in. They link and remove their own, while they are signed in, and administrators
 * remove those of others, such as after an invite that somebody else has used.
 */
import { isId } from '../../auth/id.ts'
import { requireMayAssign, requireRecent, requireSession, requireWorkspaceAdmin } from '../../auth/policy.ts'
import type { Secrets } from '../../auth/secrets.ts'
import type { Member, Origin, Viewer } from '../../auth/viewer.ts'
import { type Change, type Database, isUniqueViolation } from '../../db/client.ts'
import { deleteIdentity, type Identity, insertIdentity, listIdentities } from '../../db/identities.ts'
import { findMember, lockMember } from '../../db/members.ts'
import { findPassword } from '../../db/users.ts'
import { lockWorkspace, mayUsePassword } from '../../db/workspaces.ts'
import { AppError } from '../../errors.ts'
import type { Audit } from '../audit/index.ts'
import type { Notify } from '../mail/notices.ts'
import type { IssuerRegistry } from './issuer-registry.ts'
import { createTickets, type LinkStart, type LinkTicket, linkerOf, signInLifetime } from './tickets.ts'

/** The maximum number of identities of a member. */
const maxIdentities = 20

export function createLinkedIdentities(options: {
  db: Database
  secrets: Secrets
  audit: Audit
  registry: IssuerRegistry
  notify: Notify
}) {
  const { db, secrets, audit, registry, notify } = options
  const { sign, open } = createTickets(secrets)

  return {
    /**
     * Returns the `link` with which the viewer's browser begins to link an identity of an issuer.
     * @param issuer null for the first one
     * @throws SESSION_REQUIRED, NOT_FOUND
     */
    async start(viewer: Viewer | null, issuer: string | null): Promise<{ link: string; issuerId: string }> {
      const { credentialId: sessionId } = requireSession(viewer)
      const { id: issuerId } = await registry.find(issuer)
      const started: LinkStart = { linker: linkerOf({ sessionId }), expiresAt: Date.now() + signInLifetime }
      return { link: sign('link', started), issuerId }
    },

    /**
     * Links the identity of a ticket with the viewer. Only the session that began it can: another person's link would sign
     * the viewer in to the account of that person.
     * @throws SESSION_REQUIRED, CONFIRMATION_REQUIRED, INVALID_STATE; as `insertLinked`
     */
    link(viewer: Viewer | null, ticket: string): Promise<Identity> {
      return audit.recorded(viewer, 'IDENTITY_LINK', {}, async recording => {
        const { member, credentialId: sessionId, origin } = requireSession(viewer)
        requireRecent(viewer)
        const found = open<LinkTicket>('ticket', ticket)
        if (found?.linker !== linkerOf({ sessionId })) {
          throw new AppError('INVALID_STATE', 'This sign-in has expired, or began in another session: begin again.')
        }
        const { issuer, subject, email } = found
        recording.add({ subject: { kind: 'MEMBER', id: member.userId }, details: { issuer, subject, email } })
        return recording.commit(async change => {
          await lockWorkspace(change, member.workspaceId)
          return insertLinked(change, { member, ticket: found, origin }, { registry, notify })
        })
      })
    },

    /** Returns the identities of a member. @throws SCOPE_REQUIRED, PROVIDER_NOT_ALLOWED, NOT_FOUND */
    async listOf(viewer: Viewer | null, userId: string): Promise<Identity[]> {
      const { workspaceId } = requireWorkspaceAdmin(viewer).member
      const target = isId(userId) ? await findMember(db, workspaceId, userId) : null
      if (!target) throw noMember()
      return listIdentities(db, userId)
    },

    /**
     * Removes an identity of another member and ends the sessions that began with it, even if it is the only way to sign in.
     * @throws SESSION_REQUIRED, SCOPE_REQUIRED, PROVIDER_NOT_ALLOWED, CONFIRMATION_REQUIRED, EXCEEDS_OWN_REACH, OWN_MEMBERSHIP,
     *   NOT_FOUND, INVALID_INPUT for an account of the directory
     */
    async remove(viewer: Viewer | null, userId: string, id: string): Promise<void> {
      const about = { kind: 'MEMBER', id: userId } as const
      await audit.recorded(viewer, 'IDENTITY_UNLINK', { subject: about }, async recording => {
        const admin = requireWorkspaceAdmin(requireSession(viewer))
        requireRecent(admin)
        const { workspaceId } = admin.member
        await recording.commit(async change => {
          await lockWorkspace(change, workspaceId)
          const target = isId(userId) ? await findMember(change, workspaceId, userId) : null
          if (!target) throw noMember()
          recording.add({ details: { member: target.email } })
          requireMayAssign(admin, target)
          if (userId === admin.member.userId) {
            throw new AppError('OWN_MEMBERSHIP', 'Remove your own identities in your profile.')
          }
          await lockMember(change, target)
          const identity = isId(id) ? (await listIdentities(change, userId)).find(each => each.id === id) : undefined
          if (!identity) throw new AppError('NOT_FOUND', 'The member has no such identity.')
          const { issuer, subject, email } = identity
          recording.add({ details: { issuer, subject, email } })
          requireRemovable(identity)
          await deleteIdentity(change, identity.id)
          const { address } = admin.origin
          await notify(change, { userId, kind: 'IDENTITY_UNLINKED', name: nameOf(identity), address })
        })
      })
    },

    /** Returns the viewer's identities. @throws SESSION_REQUIRED */
    async list(viewer: Viewer | null): Promise<Identity[]> {
      return listIdentities(db, requireSession(viewer).member.userId)
    },

    /**
     * Removes one of the viewer's identities and ends the sessions that began with it.
     * @throws SESSION_REQUIRED, CONFIRMATION_REQUIRED, NOT_FOUND, INVALID_INPUT for the only way to sign in
     */
    async unlink(viewer: Viewer | null, id: string): Promise<void> {
      await audit.recorded(viewer, 'IDENTITY_UNLINK', {}, async recording => {
        const { member, origin } = requireSession(viewer)
        requireRecent(viewer)
        const { userId } = member
        await recording.commit(async change => {
          // No other issuer ends meanwhile.
          await lockWorkspace(change, member.workspaceId)
          await lockMember(change, member)
          const identities = await listIdentities(change, userId)
          const identity = isId(id) ? identities.find(each => each.id === id) : undefined
          if (!identity) throw new AppError('NOT_FOUND', 'You have no such identity.')
          const { issuer, subject, email } = identity
          recording.add({ subject: { kind: 'MEMBER', id: userId }, details: { issuer, subject, email } })
          requireRemovable(identity)
          const active = await registry.active(change)
          const isUsable = (other: Identity) =>
            other.id !== id && (other.issuer.startsWith('ldap:') || active.some(each => each.issuer === other.issuer))
          const hasPassword = (await findPassword(change, userId))?.passwordHash != null
          const usesPassword = hasPassword && (await mayUsePassword(change, member.workspaceId, userId))
          if (!usesPassword && !identities.some(isUsable)) {
            throw new AppError('INVALID_INPUT', 'You have no password that works, so you could not sign in any more.')
          }
          await deleteIdentity(change, identity.id)
          await notify(change, { userId, kind: 'IDENTITY_UNLINKED', name: nameOf(identity), address: origin.address })
        })
      })
    },
  }
}

/**
 * Links the identity of a ticket with a member. Call it after `lockWorkspace`.
 * @throws SIGN_IN_REFUSED, ALREADY_EXISTS, INVALID_INPUT
 */
export async function insertLinked(
  change: Change,
  { member, ticket, origin }: { member: Member; ticket: LinkTicket; origin: Origin },
  { registry, notify }: { registry: IssuerRegistry; notify: Notify },
): Promise<Identity> {
  const { userId, workspaceId } = member
  const { issuerId: id, version, issuer, subject, email } = ticket
  await registry.keepActive(change, { id, version })
  await lockMember(change, member)
  if ((await listIdentities(change, userId)).length >= maxIdentities) {
    throw new AppError('INVALID_INPUT', `An account has at most ${maxIdentities} identities: remove one first.`)
  }
  const identity = await insertIdentity(change, { workspaceId, userId, issuer, subject, email }).catch(error => {
    if (!isUniqueViolation(error)) throw error
    throw new AppError('ALREADY_EXISTS', 'This identity is linked already, with this account or another one.')
  })
  await notify(change, { userId, kind: 'IDENTITY_LINKED', name: nameOf(identity), address: origin.address })
  return identity
}

/** @throws INVALID_INPUT for an account of the directory */
function requireRemovable({ issuer }: Identity): void {
  if (issuer.startsWith('ldap:')) {
    throw new AppError('INVALID_INPUT', 'The directory manages this account: nobody can remove it here.')
  }
}

function noMember(): AppError {
  return new AppError('NOT_FOUND', 'There is no such member.')
}

/** The name by which the owner of an account recognizes an identity. */
function nameOf({ issuer, email }: Identity): string {
  const host = URL.parse(issuer)?.host ?? issuer
  return email === null ? host : `${email} (${host})`
}
