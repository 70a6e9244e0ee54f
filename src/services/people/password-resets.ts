/** Links with which members who forgot their password set a new one: an administrator passes one on, or they ask for one by email. */
import { randomBytes } from 'node:crypto'
import { hashToken } from '../../auth/api-key.ts'
import { isId } from '../../auth/id.ts'
import { checkPassword, enterPasswordQueue, hashPassword } from '../../auth/passwords.ts'
import { requireMayAssign, requireRecent, requireSession, requireWorkspaceAdmin } from '../../auth/policy.ts'
import { type Origin, ownOrigin, type Viewer } from '../../auth/viewer.ts'
import type { Database } from '../../db/client.ts'
import { findMember, findMemberships } from '../../db/members.ts'
import {
  deleteMailedResetsBefore,
  deletePasswordResetsOf,
  hasPasswordReset,
  insertMailedReset,
  putPasswordReset,
  takePasswordReset,
} from '../../db/password-resets.ts'
import { deleteResetRequestsBefore, insertResetRequest, type ResetRequest } from '../../db/reset-requests.ts'
import { revokeSessionsOf } from '../../db/sessions.ts'
import { findPasswordByEmail, setPassword } from '../../db/users.ts'
import { findTheWorkspace, mayUsePassword } from '../../db/workspaces.ts'
import { AppError } from '../../errors.ts'
import { rarely } from '../../lib/rarely.ts'
import { maxAddress } from '../audit/event.ts'
import type { Audit } from '../audit/index.ts'
import { parseEmail } from '../input.ts'
import type { SignIns } from '../limits/sign-ins.ts'
import type { Notify } from '../mail/notices.ts'
import { type DirectorySignIn, emailIn } from './accounts.ts'
import { memberOfLink } from './member-links.ts'
import { requirePasswordAllowed } from './password-policy.ts'

/** Milliseconds: a day. */
const lifetime = 24 * 60 * 60 * 1000
/** Milliseconds: an hour. A request whose email cannot be sent for as long ends. */
export const mailedLifetime = 60 * 60 * 1000

/** A link for the email to one member. */
export interface MailedLink {
  token: string
  expiresAt: Date
  recipient: string
  /** The tag of the language of the member or, without one, of the workspace; null without either. */
  language: string | null
}

export function createPasswordResets(options: {
  db: Database
  audit: Audit
  limits: SignIns
  directory: DirectorySignIn | null
  notify: Notify
  /** Whether the server sends links by email. */
  sendsLinks: boolean
  /** Called when a request is dropped because too many wait, once a minute at most. */
  onLoss: () => void
}) {
  const { db, audit, limits, directory, notify, sendsLinks } = options
  const onLoss = rarely(options.onLoss)

  return {
    sendsLinks,

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
     * Asks for an email with a link. It looks nothing up, so that neither its result nor its time tells who has an account. The sender of
     * the emails does.
     * @throws INVALID_INPUT, RATE_LIMITED, UNAVAILABLE
     */
    async request(given: { email: string }, origin: Origin): Promise<void> {
      await audit.recorded({ origin }, 'PASSWORD_RESET_REQUEST', { details: emailIn(given) }, async recording => {
        if (!sendsLinks) {
          throw new AppError('INVALID_INPUT', 'This server sends no such email: ask an administrator for a link.')
        }
        const email = parseEmail(given.email)
        const address = origin.address.slice(0, maxAddress)
        if (!(await limits.countReset({ account: email, address: origin.address }))) {
          recording.add({ details: { isIgnored: true } })
          return
        }
        await recording.commit(async change => {
          if (await insertResetRequest(change, { email, address })) return
          recording.add({ details: { isIgnored: true } })
          onLoss()
        })
      })
    },

    /**
     * Makes the link for the person with the address of a request. Returns null for an address without an account, and for a person who
     * could not sign in with a password: without one, deactivated, of the directory, or while only single sign-on is allowed.
     */
    async linkFor({ email, address }: ResetRequest): Promise<MailedLink | null> {
      // The request may be from before the setting was changed.
      if (!sendsLinks) return null
      const account = await findPasswordByEmail(db, email)
      const [member] = account ? await findMemberships(db, account.userId) : []
      if (!account?.passwordHash || !member || member.deactivatedAt || member.isService) return null
      const { workspaceId, userId } = member
      if (!(await mayUsePassword(db, workspaceId, userId)) || (await directory?.owns(userId))) return null
      const token = randomBytes(24).toString('base64url')
      const expiresAt = new Date(Date.now() + mailedLifetime)
      const { passwordHash } = account
      const facts = {
        user: member,
        subject: { kind: 'MEMBER', id: userId },
        details: { email: member.email, expiresAt, byEmail: true },
      } as const
      await audit.recorded({ origin: { ...ownOrigin, address } }, 'PASSWORD_RESET_CREATE', facts, recording =>
        recording.commit(change =>
          insertMailedReset(change, {
            workspaceId,
            userId,
            email: member.email,
            passwordHash,
            tokenHash: hashToken(token),
            expiresAt,
          }),
        ),
      )
      const language = member.language ?? (await findTheWorkspace(db))?.language ?? null
      return { token, expiresAt, recipient: member.email, language }
    },

    /**
     * Sets the password of the member for whom the link was made, and ends all their sessions and other links. Their API keys and second
     * factors stay valid.
     * @throws INVALID_RESET, INVALID_INPUT, SINGLE_SIGN_ON_REQUIRED, RATE_LIMITED
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
          if (!reset) throw new AppError('INVALID_RESET')
          const { workspaceId, userId, createdBy } = reset
          const byEmail = createdBy === null
          if (byEmail && !sendsLinks) throw new AppError('INVALID_RESET')
          const target = byEmail
            ? await findMember(trx, workspaceId, userId)
            : await memberOfLink(trx, { workspaceId, userId, createdBy }, origin)
          if (!target || (byEmail && target.deactivatedAt)) throw new AppError('INVALID_RESET')
          recording.add({
            user: target,
            subject: { kind: 'MEMBER', id: userId },
            ...(byEmail && { details: { byEmail } }),
          })
          await requirePasswordAllowed(trx, target)
          await setPassword(trx, userId, passwordHash)
          await deletePasswordResetsOf(trx, userId)
          await revokeSessionsOf(trx, userId)
          const kind = byEmail ? 'PASSWORD_RESET_BY_EMAIL' : 'PASSWORD_RESET'
          await notify(trx, { userId, kind, address: origin.address })
        })
      })
    },

    /** Forgets links and requests that have expired. Call it once a day. */
    async sweep(): Promise<void> {
      await deleteMailedResetsBefore(db, new Date())
      await deleteResetRequestsBefore(db, new Date(Date.now() - mailedLifetime))
    },
  }
}
