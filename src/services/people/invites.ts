import { randomBytes } from 'node:crypto'
import { hashToken } from '../../auth/api-key.ts'
import { isId } from '../../auth/id.ts'
import { requireMayAssign, requireRecent, requireWorkspaceAdmin } from '../../auth/policy.ts'
import { includesRole, type Role, roles } from '../../auth/scopes.ts'
import type { Viewer } from '../../auth/viewer.ts'
import type { Database } from '../../db/client.ts'
import { deleteInvite, type Invite, insertInvite, listOpenInvites, lockOpenInvite } from '../../db/invites.ts'
import { AppError } from '../../errors.ts'
import type { Audit } from '../audit/index.ts'
import { parseFuture, parseName } from '../input.ts'
import { type AccessInput, given, parseAccess, requireProviders } from './access.ts'
import { requireEarlierExpiry } from './api-keys.ts'

/** The default lifetime of an invite in milliseconds: a week. */
const inviteLifetime = 7 * 24 * 60 * 60 * 1000

/** The maximum number of invites in a list. Scripts can create any number. */
export const maxInvites = 200

export function createInvites({ db, audit }: { db: Database; audit: Audit }) {
  return {
    /** Creates an invite. `invite` cannot be read again. An invite made by a key ends with the key. @throws SCOPE_REQUIRED, PROVIDER_NOT_ALLOWED, EXCEEDS_OWN_REACH, INVALID_INPUT, NOT_FOUND */
    create(
      viewer: Viewer | null,
      input: {
        role: Role
        providerAccess?: AccessInput | null | undefined
        expiresAt?: Date | null | undefined
        note?: string | null | undefined
      },
    ): Promise<{ invite: string; expiresAt: Date }> {
      return audit.recorded(viewer, 'INVITE_CREATE', { details: { role: input.role } }, async recording => {
        const admin = requireWorkspaceAdmin(viewer)
        requireRecent(admin)
        const note = input.note ? parseName(input.note, 'A note') : null
        const access = input.providerAccess ? parseAccess(input.providerAccess) : null
        const offer = { role: input.role, access: access ?? admin.access }
        requireMayAssign(admin, offer)
        const expiresAt = input.expiresAt
          ? parseFuture(input.expiresAt, 'The expiry of an invite')
          : new Date(Math.min(Date.now() + inviteLifetime, keyExpiry(admin)))
        requireEarlierExpiry(admin, expiresAt)
        const { workspaceId, userId } = admin.member
        if (access) await requireProviders(db, workspaceId, access)
        const invite = randomBytes(24).toString('base64url')
        const hash = hashToken(invite)
        const apiKeyId = admin.kind === 'API_KEY' ? admin.credentialId : null
        recording.add({ details: { gives: given(offer), expiresAt } })
        return recording.commit(async trx => {
          const values = { workspaceId, tokenHash: hash, ...offer, createdBy: userId, apiKeyId, expiresAt, note }
          recording.add({ subject: { kind: 'INVITE', id: await insertInvite(trx, values) } })
          return { invite, expiresAt }
        })
      })
    },

    /**
     * Returns the open invites that the viewer could have made, newest first, at most `maxInvites`.
     * @throws SCOPE_REQUIRED, PROVIDER_NOT_ALLOWED
     */
    async list(viewer: Viewer | null): Promise<Invite[]> {
      const admin = requireWorkspaceAdmin(viewer)
      const lower = roles.filter(role => includesRole(admin.member.role, role))
      return listOpenInvites(db, admin.member.workspaceId, { roles: lower, limit: maxInvites })
    },

    /** Revokes an invite immediately and permanently. @throws SCOPE_REQUIRED, PROVIDER_NOT_ALLOWED, EXCEEDS_OWN_REACH, NOT_FOUND */
    async revoke(viewer: Viewer | null, id: string): Promise<void> {
      await audit.recorded(viewer, 'INVITE_REVOKE', { subject: { kind: 'INVITE', id } }, async recording => {
        const admin = requireWorkspaceAdmin(viewer)
        await recording.commit(async trx => {
          const invite = isId(id) ? await lockOpenInvite(trx, admin.member.workspaceId, id) : null
          if (!invite) {
            throw new AppError('NOT_FOUND', 'There is no such invite: it was used or revoked already, or has expired.')
          }
          const { role, createdBy, expiresAt } = invite
          recording.add({ details: { role, gives: given(invite), createdBy, expiresAt } })
          requireMayAssign(admin, invite)
          await deleteInvite(trx, invite.id)
        })
      })
    },
  }
}

/** Returns when the viewer's key expires, in milliseconds. An invite made in a session may outlive the session. */
function keyExpiry({ kind, expiresAt }: Viewer): number {
  return kind === 'API_KEY' && expiresAt ? expiresAt.getTime() : Number.POSITIVE_INFINITY
}
