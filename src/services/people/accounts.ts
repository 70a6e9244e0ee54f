import { randomBytes } from 'node:crypto'
import { allProviders } from '../../auth/access.ts'
import { hashToken } from '../../auth/api-key.ts'
import { isId } from '../../auth/id.ts'
import { checkPassword, enterPasswordQueue, hashPassword, verifyPassword } from '../../auth/passwords.ts'
import { requireMayAssign, requireSession } from '../../auth/policy.ts'
import type { SessionTokens } from '../../auth/session-token.ts'
import { isSetupCode } from '../../auth/setup-code.ts'
import { type Member, memberViewer, type Origin, type Viewer } from '../../auth/viewer.ts'
import { findApiKey } from '../../db/api-keys.ts'
import { type Change, type Database, isUniqueViolation } from '../../db/client.ts'
import { redeemInvite } from '../../db/invites.ts'
import { findMember, findMemberships, insertMember } from '../../db/members.ts'
import {
  deleteSessionsExpiredBefore,
  insertSession,
  listSessions,
  revokeOtherSessions,
  revokeSession,
  revokeSessionOf,
} from '../../db/sessions.ts'
import { findPassword, findPasswordByEmail, insertUser, replacePassword } from '../../db/users.ts'
import { findTheWorkspace, insertWorkspace, lockFounding, type Workspace } from '../../db/workspaces.ts'
import { AppError } from '../../errors.ts'
import { cut } from '../audit/event.ts'
import type { Audit, Recording } from '../audit/index.ts'
import { parseEmail, parseKnownEmail, parseName } from '../input.ts'
import type { SignIns, Who } from '../limits/sign-ins.ts'
import { apiKeyState } from './api-keys.ts'

/** Milliseconds: a week. */
const sessionLifetime = 7 * 24 * 60 * 60 * 1000

/** The maximum number of sessions in a list. Scripts that sign in each time can leave any number. */
const maxSessions = 200

export interface RegistrationInput {
  email: string
  password: string
  name?: string | null | undefined
  invite?: string | null | undefined
  setupCode?: string | null | undefined
}

export interface OpenSession {
  id: string
  createdAt: Date
  expiresAt: Date
  /** Whether the request uses this session. */
  current: boolean
}

export interface SignedIn {
  token: string
  expiresAt: Date
  member: Member
}

export function createInviteToken(): { invite: string; hash: Buffer } {
  const invite = randomBytes(24).toString('base64url')
  return { invite, hash: hashToken(invite) }
}

export function createAccounts(options: {
  db: Database
  tokens: SessionTokens
  limits: SignIns
  audit: Audit
  /** The code that the first account requires; null requires none. */
  setupCode: string | null
}) {
  const { db, tokens, limits, audit, setupCode } = options

  /** @param passwordHash of the verified password @throws WRONG_EMAIL_OR_PASSWORD if it was changed meanwhile */
  async function signIn(change: Change, recording: Recording, member: Member, passwordHash: string): Promise<SignedIn> {
    const { userId, workspaceId } = member
    const expiresAt = wholeSecond(Date.now() + sessionLifetime)
    const sid = await insertSession(change, { workspaceId, userId, passwordHash, expiresAt })
    if (sid === null) throw wrongPassword()
    recording.add({ user: member, credential: { kind: 'SESSION', id: sid } })
    return { token: tokens.sign({ sub: userId, sid }, expiresAt), expiresAt, member }
  }

  /** @throws INVALID_SETUP_CODE */
  function requireSetupCode(input: RegistrationInput): void {
    if (setupCode !== null && !isSetupCode(input.setupCode ?? '', setupCode)) throw new AppError('INVALID_SETUP_CODE')
  }

  /** Counts a registration before the expensive hashing of the password. @throws RATE_LIMITED, INVALID_SETUP_CODE */
  async function countRegistration(input: RegistrationInput, who: Who): Promise<void> {
    if (await findTheWorkspace(db)) return limits.countRegistration(who)
    if (setupCode !== null) await limits.countSetupCode(who.address)
    requireSetupCode(input)
    // The first account is exempt, so that earlier attempts by others cannot lock the operator out.
    await limits.countRegistration(who).catch(error => {
      if (!(error instanceof AppError) || error.reason !== 'RATE_LIMITED') throw error
    })
  }

  /** Returns the membership of a new account: the founder owns everything, an invite decides, and others get nothing yet. */
  async function admit(trx: Change, workspace: Workspace | null, input: RegistrationInput, origin: Origin) {
    const { invite } = input
    if (!workspace) {
      requireSetupCode(input)
      const founded = await insertWorkspace(trx, { name: 'Stowage' })
      return { workspaceId: founded.id, role: 'OWNER', access: allProviders } as const
    }
    if (invite != null) return acceptInvite(trx, invite, origin)
    if (workspace.registration !== 'OPEN') {
      throw new AppError(
        'REGISTRATION_CLOSED',
        'This workspace takes new members only with an invite: ask an administrator.',
      )
    }
    return { workspaceId: workspace.id, role: 'NONE', access: allProviders } as const
  }

  async function register(
    input: RegistrationInput,
    origin: Origin,
    recording: Recording,
    signal?: AbortSignal,
  ): Promise<SignedIn> {
    const email = parseEmail(input.email)
    const name = input.name ? parseName(input.name, 'A name') : null
    checkPassword(input.password)
    using slot = enterPasswordQueue(origin.address, signal)
    const who = { email, address: origin.address }
    await countRegistration(input, who)
    const passwordHash = await hashPassword(slot, input.password)
    const signedIn = await recording.commit(async trx => {
      let workspace = await findTheWorkspace(trx)
      if (!workspace) {
        await lockFounding(trx)
        workspace = await findTheWorkspace(trx)
      }
      if (workspace?.registration === 'CLOSED') {
        throw new AppError('REGISTRATION_CLOSED', 'This workspace takes no new members.')
      }
      const membership = await admit(trx, workspace, input, origin)
      const userId = await insertUser(trx, { email, name, passwordHash }).catch(error => {
        if (!isUniqueViolation(error)) throw error
        throw new AppError('ALREADY_EXISTS', 'An account with this email exists: log in instead.')
      })
      await insertMember(trx, { userId, ...membership })
      const member = await findMember(trx, membership.workspaceId, userId)
      if (!member) throw new Error('A member that was just inserted is missing')
      return signIn(trx, recording, member, passwordHash)
    })
    await limits.noteRegistered(who)
    return signedIn
  }

  return {
    /**
     * Creates an account. The first one founds the workspace and owns it; of two concurrent ones, only one does.
     * @throws INVALID_INPUT, INVALID_SETUP_CODE, INVALID_INVITE, REGISTRATION_CLOSED, ALREADY_EXISTS, RATE_LIMITED
     */
    register(input: RegistrationInput, origin: Origin, signal?: AbortSignal): Promise<SignedIn> {
      const given = { ...emailIn(input), byInvite: input.invite != null }
      return audit.recorded({ origin }, 'REGISTER', { details: given }, recording =>
        register(input, origin, recording, signal),
      )
    },

    /**
     * Signs in. An unknown email and a wrong password get the same error after the same time.
     * @throws WRONG_EMAIL_OR_PASSWORD, INVALID_INPUT for an email that is too long, RATE_LIMITED
     */
    login(input: { email: string; password: string }, origin: Origin, signal?: AbortSignal): Promise<SignedIn> {
      return audit.recorded({ origin }, 'LOGIN', { details: emailIn(input) }, async recording => {
        const email = parseKnownEmail(input.email)
        using slot = enterPasswordQueue(origin.address, signal)
        return await limits.tryPassword({ email, address: origin.address }, async () => {
          // PostgreSQL cannot store NUL, so no account has such an email.
          const account = email.includes('\0') ? null : await findPasswordByEmail(db, email)
          const matches = await verifyPassword(slot, account?.passwordHash ?? null, input.password)
          const [member] = account && matches ? await findMemberships(db, account.userId) : []
          if (account && !member) recording.add({ subject: { kind: 'MEMBER', id: account.userId } })
          if (!account || !member) throw wrongPassword()
          return recording.commit(change => signIn(change, recording, member, account.passwordHash))
        })
      })
    },

    /** @throws SESSION_REQUIRED */
    async logout(viewer: Viewer | null): Promise<void> {
      await audit.recorded(viewer, 'LOGOUT', {}, recording => {
        const { credentialId } = requireSession(viewer)
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
     * @throws SESSION_REQUIRED, WRONG_EMAIL_OR_PASSWORD, INVALID_INPUT, RATE_LIMITED
     */
    changePassword(
      viewer: Viewer | null,
      input: { currentPassword: string; newPassword: string },
      signal?: AbortSignal,
    ): Promise<SignedIn> {
      return audit.recorded(viewer, 'PASSWORD_CHANGE', {}, async recording => {
        const { member, credentialId, expiresAt, origin } = requireSession(viewer)
        checkPassword(input.newPassword)
        using slot = enterPasswordQueue(origin.address, signal)
        // The limits of logins apply, so that a stolen session cannot be used to guess the password.
        const account = await limits.tryPassword({ email: member.email, address: origin.address }, async () => {
          const found = await findPassword(db, member.userId)
          if (found && (await verifyPassword(slot, found.passwordHash, input.currentPassword))) return found
          throw new AppError('WRONG_EMAIL_OR_PASSWORD', 'The current password is wrong.')
        })
        const passwordHash = await hashPassword(slot, input.newPassword)
        await recording.commit(async trx => {
          if (!(await replacePassword(trx, member.userId, account.passwordHash, passwordHash))) {
            throw new AppError('WRONG_EMAIL_OR_PASSWORD', 'The password was changed by somebody else meanwhile.')
          }
          await revokeOtherSessions(trx, member.userId, credentialId)
        })
        const until = expiresAt ?? new Date()
        return { token: tokens.sign({ sub: member.userId, sid: credentialId }, until), expiresAt: until, member }
      })
    },

    /** Deletes expired sessions. Call it once a day. */
    async sweep(): Promise<void> {
      await deleteSessionsExpiredBefore(db, new Date())
    },
  }
}

/** @throws INVALID_INVITE */
async function acceptInvite(trx: Change, token: string, origin: Origin) {
  const invite = await redeemInvite(trx, hashToken(token))
  const maker = invite?.createdBy ? await findMember(trx, invite.workspaceId, invite.createdBy) : null
  if (!invite || !maker) throw new AppError('INVALID_INVITE')
  requireStillCovers(memberViewer(maker, origin), invite)
  // An invite made by a key is valid only while the key is.
  const key = invite.apiKeyId === null ? null : await findApiKey(trx, invite.workspaceId, invite.apiKeyId)
  if (key && apiKeyState(key) !== 'active') throw new AppError('INVALID_INVITE')
  return { workspaceId: invite.workspaceId, role: invite.role, access: invite.access }
}

/** Checks that the maker of an invite could still make it. @throws INVALID_INVITE */
function requireStillCovers(maker: Viewer, given: Pick<Member, 'role' | 'access'>): void {
  try {
    requireMayAssign(maker, given)
  } catch (cause) {
    throw new AppError(
      'INVALID_INVITE',
      'The person who made this invite may no longer give this access: ask for a new invite.',
      {
        cause,
      },
    )
  }
}

function wrongPassword(): AppError {
  return new AppError('WRONG_EMAIL_OR_PASSWORD', 'The email or the password is wrong.')
}

/** JWT times are whole seconds. */
function wholeSecond(time: number): Date {
  return new Date(Math.ceil(time / 1000) * 1000)
}

/** Omits text without "@", which could be a password typed into the wrong field. */
function emailIn({ email }: { email: string }): { email?: string } {
  return email.includes('@') ? { email: cut(email) } : {}
}
