/** Passwords and sessions of people who have an account. */
import { isId } from '../../auth/id.ts'
import type { RelyingParty } from '../../auth/passkeys.ts'
import { checkPassword, enterPasswordQueue, hashPassword, verifyPassword } from '../../auth/passwords.ts'
import { requireAnySession, requireRecent, requireSession } from '../../auth/policy.ts'
import type { SessionTokens } from '../../auth/tokens.ts'
import type { Member, Origin, Viewer } from '../../auth/viewer.ts'
import type { Change, Database } from '../../db/client.ts'
import { findMember, findMemberships } from '../../db/members.ts'
import {
  deleteSessionsExpiredBefore,
  factorsOf,
  insertSession,
  type ListedSession,
  listSessions,
  revokeOtherSessions,
  revokeSession,
  revokeSessionOf,
  type SignInProof,
} from '../../db/sessions.ts'
import { findPassword, findPasswordByEmail, replacePassword, type UserPassword, updateUser } from '../../db/users.ts'
import { AppError } from '../../errors.ts'
import { cut, maxAddress } from '../audit/event.ts'
import type { Audit, Recording } from '../audit/index.ts'
import { parseKnownEmail, parseLanguage, parseName } from '../input.ts'
import type { SignIns } from '../limits/sign-ins.ts'
import type { Notify } from '../mail/notices.ts'
import { requirePasswordAllowed } from './password-policy.ts'
import { requireActive } from './usable-credentials.ts'

/** The maximum number of sessions in a list. Scripts that sign in on every run can create any number of sessions. */
const maxSessions = 200

export interface OpenSession extends ListedSession {
  /** Whether the request uses this session. */
  current: boolean
}

/**
 * Ends a sign-in of a member who has second factors with a challenge.
 * @param by the hash of the verified password, or the identity in the directory that has verified it
 * @throws SECOND_FACTOR_REQUIRED
 */
export type RequireNoSecondFactor = (
  member: Member,
  by: { passwordHash: string } | { identityId: string },
  party: RelyingParty,
  recording: Recording,
) => Promise<void>

/** Sign-ins with the password that somebody has in a directory. */
export interface DirectorySignIn {
  /** Returns whether the directory has the password of an account. */
  owns(userId: string): Promise<boolean>
  /**
   * Signs somebody in, or refuses as for an unknown account.
   * @param recording of the sign-in
   * @throws SECOND_FACTOR_REQUIRED, WRONG_EMAIL_OR_PASSWORD, NOT_LINKED, ACCOUNT_DEACTIVATED, RATE_LIMITED, UNAVAILABLE
   */
  signIn(
    input: { login: string; password: string },
    recording: Recording,
    origin: Origin,
    party: RelyingParty,
    signal?: AbortSignal,
  ): Promise<SignedIn>
}

export function createAccounts(options: {
  db: Database
  tokens: SessionTokens
  limits: SignIns
  audit: Audit
  /** Null without a directory. */
  directory: DirectorySignIn | null
  hasSecondFactor: (member: Member) => Promise<boolean>
  requireNoSecondFactor: RequireNoSecondFactor
  notify: Notify
}) {
  const { db, tokens, limits, audit, directory, hasSecondFactor, requireNoSecondFactor, notify } = options

  /** Returns whether the directory is asked: for its own people, and for those without a password here. */
  async function isOfDirectory(account: UserPassword | null): Promise<boolean> {
    if (!directory) return false
    return !account?.passwordHash || (await directory.owns(account.userId))
  }

  return {
    /**
     * Signs in. An unknown email and a wrong password get the same error after the same time.
     * @throws SECOND_FACTOR_REQUIRED with a challenge for `SecondSteps.complete`, WRONG_EMAIL_OR_PASSWORD, ACCOUNT_DEACTIVATED,
     * INVALID_INPUT for an email that is too long, RATE_LIMITED
     */
    login(
      input: { email: string; password: string },
      origin: Origin,
      party: RelyingParty,
      signal?: AbortSignal,
    ): Promise<SignedIn> {
      return audit.recorded({ origin }, 'LOGIN', { details: emailIn(input) }, async recording => {
        const email = parseKnownEmail(input.email)
        using slot = enterPasswordQueue(origin.address, signal)
        return await limits.tryPassword({ account: email, address: origin.address }, async () => {
          // PostgreSQL cannot store NUL, so no account has such an email.
          const account = email.includes('\0') ? null : await findPasswordByEmail(db, email)
          if (directory && (await isOfDirectory(account))) {
            // Those who wait for a slow directory are in no queue with others.
            slot[Symbol.dispose]()
            return directory.signIn({ login: email, password: input.password }, recording, origin, party, signal)
          }
          const matches = await verifyPassword(slot, account?.passwordHash ?? null, input.password)
          const [member] = account && matches ? await findMemberships(db, account.userId) : []
          if (account && !member) recording.add({ subject: { kind: 'MEMBER', id: account.userId } })
          if (!account?.passwordHash || !member) throw wrongPassword()
          if (member.deactivatedAt) recording.add({ subject: { kind: 'MEMBER', id: member.userId } })
          const { passwordHash } = account
          if (!member.deactivatedAt) await requireNoSecondFactor(member, { passwordHash }, party, recording)
          return recording.commit(change => startSession(tokens, change, recording, member, { passwordHash }, origin))
        })
      })
    },

    /** @throws SESSION_REQUIRED */
    async logout(viewer: Viewer | null): Promise<void> {
      await audit.recorded(viewer, 'LOGOUT', {}, recording => {
        const { credentialId } = requireAnySession(viewer)
        return recording.commit(change => revokeSession(change, credentialId))
      })
    },

    /** Returns the viewer's active sessions, newest first. @throws SESSION_REQUIRED */
    async sessions(viewer: Viewer | null): Promise<OpenSession[]> {
      const { member, credentialId } = requireSession(viewer)
      const { userId, workspaceId } = member
      const found = await listSessions(db, { userId, workspaceId, limit: maxSessions })
      return found.map(session => ({ ...session, current: session.id === credentialId }))
    },

    /** Ends one of the viewer's sessions, immediately and on all servers. @throws SESSION_REQUIRED, NOT_FOUND */
    async revokeSession(viewer: Viewer | null, id: string): Promise<void> {
      const subject = { kind: 'SESSION', id } as const
      await audit.recorded(viewer, 'LOGOUT', { subject }, async recording => {
        const { userId } = requireSession(viewer).member
        await recording.commit(async change => {
          if (isId(id) && (await revokeSessionOf(change, userId, id))) return
          throw new AppError('NOT_FOUND', 'You have no such session.')
        })
      })
    },

    /**
     * Keeps the current session and ends all others of this user.
     * @throws SESSION_REQUIRED, CONFIRMATION_REQUIRED, WRONG_EMAIL_OR_PASSWORD, INVALID_INPUT, RATE_LIMITED
     */
    changePassword(
      viewer: Viewer | null,
      input: { currentPassword: string; newPassword: string },
      signal?: AbortSignal,
    ): Promise<SignedIn> {
      return audit.recorded(viewer, 'PASSWORD_CHANGE', {}, async recording => {
        const { member, credentialId, expiresAt, origin } = requireSession(viewer)
        // Without a second factor, the current password confirms who it is.
        if (await hasSecondFactor(member)) requireRecent(viewer)
        checkPassword(input.newPassword)
        using slot = enterPasswordQueue(origin.address, signal)
        // The limits of logins apply, so that a stolen session cannot be used to guess the password.
        const before = await limits.tryPassword({ account: member.email, address: origin.address }, async () => {
          const found = await findPassword(db, member.userId)
          const matches = await verifyPassword(slot, found?.passwordHash ?? null, input.currentPassword)
          if (found?.passwordHash && matches) return found.passwordHash
          throw new AppError('WRONG_EMAIL_OR_PASSWORD', 'The current password is wrong.')
        })
        const passwordHash = await hashPassword(slot, input.newPassword)
        await recording.commit(async trx => {
          await requirePasswordAllowed(trx, member)
          if (!(await replacePassword(trx, member.userId, before, passwordHash))) {
            throw new AppError('WRONG_EMAIL_OR_PASSWORD', 'The password was changed by somebody else meanwhile.')
          }
          await revokeOtherSessions(trx, member.userId, credentialId)
          await notify(trx, { userId: member.userId, kind: 'PASSWORD_CHANGED', address: origin.address })
        })
        const until = expiresAt ?? new Date()
        return { token: tokens.sign({ sub: member.userId, sid: credentialId }, until), expiresAt: until, member }
      })
    },

    /**
     * Changes the viewer's own name and language, and whether they get emails about mentions. Null or an empty text removes a name or a
     * language, and what is not given stays.
     * @throws SESSION_REQUIRED, INVALID_INPUT
     */
    updateProfile(
      viewer: Viewer | null,
      input: {
        name?: string | null | undefined
        language?: string | null | undefined
        getsMentions?: boolean | null | undefined
      },
    ): Promise<Member> {
      return audit.recorded(viewer, 'PROFILE_UPDATE', {}, async recording => {
        const { member } = requireSession(viewer)
        const changes = {
          ...(input.name !== undefined && { name: input.name ? parseName(input.name, 'A name') : null }),
          ...(input.language !== undefined && { language: parseLanguage(input.language ?? '') }),
          ...(input.getsMentions != null && { getsMentions: input.getsMentions }),
        }
        if (Object.keys(changes).length === 0) {
          throw new AppError('INVALID_INPUT', 'Give a name, a language or `getsMentions` to change.')
        }
        recording.add({
          subject: { kind: 'MEMBER', id: member.userId },
          details: {
            ...(changes.name !== undefined && { before: member.name, after: changes.name }),
            ...(changes.language !== undefined && { language: changes.language }),
            ...(changes.getsMentions !== undefined && { getsMentions: changes.getsMentions }),
          },
        })
        return recording.commit(async trx => {
          await updateUser(trx, member.userId, changes)
          return (await findMember(trx, member.workspaceId, member.userId)) ?? member
        })
      })
    },

    /** Deletes expired sessions. Call it once a day. */
    async sweep(): Promise<void> {
      await deleteSessionsExpiredBefore(db, new Date())
    },
  }
}

/** Milliseconds: a week. */
const sessionLifetime = 7 * 24 * 60 * 60 * 1000
const maxUserAgent = 255

export interface SignedIn {
  token: string
  expiresAt: Date
  member: Member
}

/**
 * Starts a session in the transaction of `recording`.
 * @throws ACCOUNT_DEACTIVATED, WRONG_EMAIL_OR_PASSWORD if the password was changed meanwhile, SINGLE_SIGN_ON_REQUIRED without an
 *   identity
 */
export async function startSession(
  tokens: SessionTokens,
  change: Change,
  recording: Recording,
  member: Member,
  by: SignInProof,
  { address, userAgent }: Origin,
): Promise<SignedIn & { sessionId: string }> {
  const { userId, workspaceId } = member
  requireActive(member)
  if (!('identityId' in by)) await requirePasswordAllowed(change, member)
  const expiresAt = wholeSecond(Date.now() + sessionLifetime)
  const seen = {
    address: address.slice(0, maxAddress),
    userAgent: userAgent ? cut(userAgent.slice(0, maxUserAgent)) : null,
  }
  const sid = await insertSession(change, { workspaceId, userId, by, expiresAt, ...seen })
  if (sid === null) throw wrongPassword()
  recording.add({ user: member, credential: { kind: 'SESSION', id: sid }, details: { factors: factorsOf(by) } })
  return { token: tokens.sign({ sub: userId, sid }, expiresAt), expiresAt, member, sessionId: sid }
}

function wrongPassword(): AppError {
  return new AppError('WRONG_EMAIL_OR_PASSWORD', 'The email or the password is wrong.')
}

/** JWT times are whole seconds. */
function wholeSecond(time: number): Date {
  return new Date(Math.ceil(time / 1000) * 1000)
}

/** Omits text without "@", which could be a password typed into the wrong field. */
export function emailIn({ email }: { email: string }): { email?: string } {
  return email.includes('@') ? { email: cut(email) } : {}
}
