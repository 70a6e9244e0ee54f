/**
 * Invites with which a member links an account at an issuer without signing in here, such as when only some owners may use passwords.
 * The server sends no mail: an administrator passes the link on.
 */
import { randomBytes } from 'node:crypto'
import { hashToken } from '../../auth/api-key.ts'
import { isId } from '../../auth/id.ts'
import { requireMayAssign, requireRecent, requireSession, requireWorkspaceAdmin } from '../../auth/policy.ts'
import type { Secrets } from '../../auth/secrets.ts'
import type { Member, Origin, Viewer } from '../../auth/viewer.ts'
import type { Database } from '../../db/client.ts'
import { findLinkInvite, type LinkInvite, putLinkInvite, takeLinkInvite } from '../../db/link-invites.ts'
import { findMember } from '../../db/members.ts'
import { lockWorkspace } from '../../db/workspaces.ts'
import { AppError } from '../../errors.ts'
import type { Audit } from '../audit/index.ts'
import type { Notify } from '../mail/notices.ts'
import type { IssuerRegistry } from './issuer-registry.ts'
import { insertLinked } from './linked-identities.ts'
import { memberOfLink } from './member-links.ts'
import { createTickets, type LinkStart, type LinkTicket, linkerOf, signInLifetime } from './tickets.ts'
import { requireActive } from './usable-credentials.ts'

/** Milliseconds: three days. */
const lifetime = 3 * 24 * 60 * 60 * 1000

/** Whom an invite is for, as whoever has it may know. */
export interface InvitedMember {
  email: string
  name: string | null
  expiresAt: Date
}

export function createLinkInvites(options: {
  db: Database
  secrets: Secrets
  audit: Audit
  registry: IssuerRegistry
  notify: Notify
}) {
  const { db, secrets, audit, registry, notify } = options
  const { sign, open } = createTickets(secrets)

  /** @throws INVALID_INVITE, ACCOUNT_DEACTIVATED */
  async function targetOf(at: Database, invite: LinkInvite | null, origin: Origin): Promise<Member> {
    const target = invite && (await memberOfLink(at, invite, origin))
    if (!target) throw new AppError('INVALID_INVITE')
    requireActive(target)
    return target
  }

  return {
    /**
     * Creates an invite for another member. `invite` cannot be read again, and ends an earlier one of the member. An API key cannot
     * create one, because the identity outlives the key.
     * @throws SESSION_REQUIRED, SCOPE_REQUIRED, PROVIDER_NOT_ALLOWED, CONFIRMATION_REQUIRED, EXCEEDS_OWN_REACH, OWN_MEMBERSHIP,
     *   INVALID_INPUT, NOT_FOUND
     */
    create(viewer: Viewer | null, userId: string): Promise<{ invite: string; expiresAt: Date }> {
      const subject = { kind: 'MEMBER', id: userId } as const
      return audit.recorded(viewer, 'LINK_INVITE_CREATE', { subject }, async recording => {
        const admin = requireWorkspaceAdmin(requireSession(viewer))
        requireRecent(admin)
        const { workspaceId, userId: createdBy } = admin.member
        const invite = randomBytes(24).toString('base64url')
        const expiresAt = new Date(Date.now() + lifetime)
        return recording.commit(async change => {
          const target = isId(userId) ? await findMember(change, workspaceId, userId) : null
          if (!target) throw new AppError('NOT_FOUND', 'There is no such member.')
          recording.add({ details: { email: target.email, expiresAt } })
          requireMayAssign(admin, target)
          if (target.isService) throw new AppError('INVALID_INPUT', 'A service account never signs in.')
          if (userId === createdBy) throw new AppError('OWN_MEMBERSHIP', 'Link your own account in your profile.')
          await putLinkInvite(change, { workspaceId, userId, createdBy, expiresAt, tokenHash: hashToken(invite) })
          return { invite, expiresAt }
        })
      })
    },

    /** Returns whom an invite is for. @throws INVALID_INVITE, ACCOUNT_DEACTIVATED */
    async find(invite: string, origin: Origin): Promise<InvitedMember> {
      const found = await findLinkInvite(db, hashToken(invite))
      const { email, name } = await targetOf(db, found, origin)
      return { email, name, expiresAt: found?.expiresAt ?? new Date() }
    },

    /**
     * Returns the `link` with which the browser of somebody who has an invite begins to link an identity of an issuer.
     * @param issuer null for the first one
     * @throws INVALID_INVITE, ACCOUNT_DEACTIVATED, NOT_FOUND
     */
    async start(invite: string, issuer: string | null, origin: Origin): Promise<{ link: string; issuerId: string }> {
      const inviteHash = hashToken(invite)
      await targetOf(db, await findLinkInvite(db, inviteHash), origin)
      const { id: issuerId } = await registry.find(issuer)
      const started: LinkStart = { linker: linkerOf({ inviteHash }), expiresAt: Date.now() + signInLifetime }
      return { link: sign('link', started), issuerId }
    },

    /**
     * Links the identity of a ticket with the member of an invite, which works once. The ticket alone is not enough: otherwise,
     * a link of somebody else would sign them in to the account of that person.
     * @throws INVALID_INVITE, INVALID_STATE, ACCOUNT_DEACTIVATED; as `insertLinked`
     */
    async accept({ invite, ticket }: { invite: string; ticket: string }, origin: Origin): Promise<void> {
      await audit.recorded({ origin }, 'IDENTITY_LINK', { details: { byInvite: true } }, async recording => {
        const inviteHash = hashToken(invite)
        const found = open<LinkTicket>('ticket', ticket)
        if (found?.linker !== linkerOf({ inviteHash })) {
          throw new AppError('INVALID_STATE', 'This sign-in has expired, or began elsewhere: open your invite again.')
        }
        const before = await targetOf(db, await findLinkInvite(db, inviteHash), origin)
        const { issuer, subject, email } = found
        recording.add({ user: before, subject: { kind: 'MEMBER', id: before.userId } })
        recording.add({ details: { issuer, subject, email } })
        await recording.commit(async change => {
          await lockWorkspace(change, before.workspaceId)
          const member = await targetOf(change, await takeLinkInvite(change, inviteHash), origin)
          await insertLinked(change, { member, ticket: found, origin }, { registry, notify })
        })
      })
    },
  }
}
