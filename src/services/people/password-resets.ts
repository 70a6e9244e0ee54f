/** Links with which members who forgot their password set a new one. The server sends no mail: an administrator passes the link on. */
import { randomBytes } from 'node:crypto'
import { hashToken } from '../../auth/api-key.ts'
import { isId } from '../../auth/id.ts'
import { checkPassword, enterPasswordQueue, hashPassword } from '../../auth/passwords.ts'
import { requireMayAssign, requireRecent, requireSession, requireWorkspaceAdmin } from '../../auth/policy.ts'
import type { Origin, Viewer } from '../../auth/viewer.ts'
import type { Database } from '../../db/client.ts'
import { findMember } from '../../db/members.ts'
import { revokeSessionsOf } from '../../db/sessions.ts'
import { hasPasswordReset, putPasswordReset, setPassword, takePasswordReset } from '../../db/users.ts'
import { AppError } from '../../errors.ts'
import type { Audit } from '../audit/index.ts'
import type { Notify } from '../mail/notices.ts'
import type { DirectorySignIn } from './accounts.ts'
import { memberOfLink } from './member-links.ts'
import { requirePasswordAllowed } from './password-policy.ts'

/** Milliseconds: a day. */
const lifetime = 24 * 60 * 60 * 1000

export function createPasswordResets({
  db,
  audit,
  directory,
  notify,
}: {
  db: Database
  audit: Audit
  directory: DirectorySignIn | null
  notify: Notify
}) {
  return {
    /**
     * Creates a link for another member. `token` cannot be read again, and ends an earlier one of the member. An API key cannot
     * create one, because the link outlives the key.
     * @throws SESSION_REQUIRED, SCOPE_REQUIRED, PROVIDER_NOT_ALLOWED, EXCEEDS_OWN_REACH, OWN_MEMBERSHIP, INVALID_INPUT, NOT_FOUND
     */
    create(viewer: Viewer | null, userId: string): Promise<{ token: string; expiresAt: Date }> {
      const subject = { kind: 'MEMBER', id: userId } as const
      return audit.recorded(viewer, 'PASSWORD_RESET_CREATE', { subject }, async recording => {
        const admin = requireWorkspaceAdmin(requireSession(viewer))
        requireRecent(admin)
        const { workspaceId } = admin.member
        const token = randomBytes(24).toString('base64url')
        const expiresAt = new Date(Date.now() + lifetime)
        return recording.commit(async trx => {
          const target = isId(userId) ? await findMember(trx, workspaceId, userId) : null
          if (!target) throw new AppError('NOT_FOUND', 'There is no such member.')
          recording.add({ details: { email: target.email, expiresAt } })
          if (target.isService) {
            throw new AppError('INVALID_INPUT', 'A service account has no password: create an API key for it.')
          }
          if (await directory?.owns(userId)) {
            throw new AppError('INVALID_INPUT', 'The directory has the password of this member: change it there.')
          }
          requireMayAssign(admin, target)
          await requirePasswordAllowed(trx, target)
          // A stolen session must not replace the password without knowing it.
          if (userId === admin.member.userId) {
            throw new AppError('OWN_MEMBERSHIP', 'Change your own password with "changePassword".')
          }
          const createdBy = admin.member.userId
          await putPasswordReset(trx, { workspaceId, userId, createdBy, tokenHash: hashToken(token), expiresAt })
          return { token, expiresAt }
        })
      })
    },

    /**
     * Sets the password of the member for whom the link was made, and ends all their sessions. Their API keys stay valid.
     * @throws INVALID_RESET, INVALID_INPUT, RATE_LIMITED
     */
    async redeem(input: { token: string; newPassword: string }, origin: Origin, signal?: AbortSignal): Promise<void> {
      await audit.recorded({ origin }, 'PASSWORD_RESET', {}, async recording => {
        checkPassword(input.newPassword)
        const tokenHash = hashToken(input.token)
        // Only the holder of a valid link makes the server hash a password.
        if (!(await hasPasswordReset(db, tokenHash))) throw new AppError('INVALID_RESET')
        using slot = enterPasswordQueue(origin.address, signal)
        const passwordHash = await hashPassword(slot, input.newPassword)
        await recording.commit(async trx => {
          const reset = await takePasswordReset(trx, tokenHash)
          const target = reset && (await memberOfLink(trx, reset, origin))
          if (!target) throw new AppError('INVALID_RESET')
          recording.add({ user: target, subject: { kind: 'MEMBER', id: target.userId } })
          await requirePasswordAllowed(trx, target)
          await setPassword(trx, target.userId, passwordHash)
          await revokeSessionsOf(trx, target.userId)
          await notify(trx, { userId: target.userId, kind: 'PASSWORD_RESET', address: origin.address })
        })
      })
    },
  }
}
