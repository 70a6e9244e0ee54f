/** Creates accounts: the first one owns the workspace, and an invite or open registration admits the others. */
import { allProviders } from '../../auth/access.ts'
import { hashToken } from '../../auth/api-key.ts'
import { checkPassword, enterPasswordQueue, hashPassword } from '../../auth/passwords.ts'
import { requireMayAssign } from '../../auth/policy.ts'
import { isSetupCode, type SessionTokens } from '../../auth/tokens.ts'
import { type Member, memberViewer, type Origin, type Viewer } from '../../auth/viewer.ts'
import { findApiKey } from '../../db/api-keys.ts'
import { type Change, type Database, isUniqueViolation } from '../../db/client.ts'
import { redeemInvite } from '../../db/invites.ts'
import { findMember, insertMember } from '../../db/members.ts'
import { insertUser } from '../../db/users.ts'
import { findTheWorkspace, insertWorkspace, lockFounding, type Workspace } from '../../db/workspaces.ts'
import { AppError } from '../../errors.ts'
import type { Audit, Recording } from '../audit/index.ts'
import { parseEmail, parseName } from '../input.ts'
import type { SignIns, Who } from '../limits/sign-ins.ts'
import { emailIn, type SignedIn, startSession } from './accounts.ts'
import { apiKeyState } from './api-keys.ts'

export interface RegistrationInput {
  email: string
  password: string
  name?: string | null | undefined
  invite?: string | null | undefined
  setupCode?: string | null | undefined
}

export function createRegistration(options: {
  db: Database
  tokens: SessionTokens
  limits: SignIns
  audit: Audit
  /** The code that the first account requires; null requires none. */
  setupCode: string | null
}) {
  const { db, tokens, limits, audit, setupCode } = options

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

  /**
   * Returns the membership of a new account: the founder owns everything, an invite decides for the person who has one,
   * and others have no access yet.
   */
  async function admit(trx: Change, workspace: Workspace | null, input: RegistrationInput, origin: Origin) {
    const { invite } = input
    if (!workspace) {
      requireSetupCode(input)
      const founded = await insertWorkspace(trx, { name: 'Stowage' })
      return { workspaceId: founded.id, role: 'OWNER', access: allProviders, isConfirmed: true } as const
    }
    if (invite != null) return { ...(await acceptInvite(trx, invite, origin)), isConfirmed: true }
    if (workspace.registration !== 'OPEN') {
      throw new AppError(
        'REGISTRATION_CLOSED',
        'This workspace takes new members only with an invite: ask an administrator.',
      )
    }
    return { workspaceId: workspace.id, role: 'NONE', access: allProviders, isConfirmed: false } as const
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
    const who = { account: email, address: origin.address }
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
      const member = await insertMember(trx, { userId, ...membership })
      return startSession(tokens, trx, recording, member, { passwordHash }, origin)
    })
    await limits.noteSignedIn(who)
    return signedIn
  }

  return {
    /**
     * Creates an account. The first person founds the workspace and owns it. If several register at the same time, only
     * one of them does.
     * @throws INVALID_INPUT, INVALID_SETUP_CODE, INVALID_INVITE, REGISTRATION_CLOSED, ALREADY_EXISTS, RATE_LIMITED
     */
    register(input: RegistrationInput, origin: Origin, signal?: AbortSignal): Promise<SignedIn> {
      const given = { ...emailIn(input), byInvite: input.invite != null }
      return audit.recorded({ origin }, 'REGISTER', { details: given }, recording =>
        register(input, origin, recording, signal),
      )
    },
  }
}

/** Redeems an invite if the person or the key that made it could still make it. @throws INVALID_INVITE */
export async function acceptInvite(trx: Change, token: string, origin: Origin) {
  const invite = await redeemInvite(trx, hashToken(token))
  const creator = invite?.createdBy ? await findMember(trx, invite.workspaceId, invite.createdBy) : null
  if (!invite || !creator) throw new AppError('INVALID_INVITE')
  requireStillCovers(memberViewer(creator, creator.userId, origin), invite)
  // An invite made by a key is valid only while the key is.
  const key = invite.apiKeyId === null ? null : await findApiKey(trx, invite.workspaceId, invite.apiKeyId)
  if (key && apiKeyState(key) !== 'active') throw new AppError('INVALID_INVITE')
  return { workspaceId: invite.workspaceId, role: invite.role, access: invite.access }
}

/** Checks that the creator of an invite could still create it. @throws INVALID_INVITE */
function requireStillCovers(creator: Viewer, given: Pick<Member, 'role' | 'access'>): void {
  try {
    requireMayAssign(creator, given)
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
