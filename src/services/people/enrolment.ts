/** The second factors of an account: members add, rename and remove their own, and administrators remove those of others. */
import { type Factor, generateRecoveryCodes, generateTotp, hashRecoveryCode, stepOfTotp } from '../../auth/factors.ts'
import { isId } from '../../auth/id.ts'
import { creationOptions, type PasskeyOptions, type RelyingParty, verifyCreation } from '../../auth/passkeys.ts'
import {
  requireAnySession,
  requireMayAssign,
  requireRecent,
  requireSession,
  requireWorkspaceAdmin,
} from '../../auth/policy.ts'
import type { Secrets } from '../../auth/secrets.ts'
import { type Member, ownOrigin, type Viewer } from '../../auth/viewer.ts'
import { type Change, type Database, isUniqueViolation } from '../../db/client.ts'
import { deleteLinkInvite } from '../../db/link-invites.ts'
import { findMember, findMemberships, lockMember } from '../../db/members.ts'
import {
  deletePasskey,
  deletePasskeys,
  insertPasskey,
  listPasskeys,
  type Passkey,
  renamePasskey,
} from '../../db/passkeys.ts'
import {
  countRecoveryCodes,
  deleteRecoveryCodes,
  deleteTotp,
  putRecoveryCodes,
  putTotp,
} from '../../db/second-factors.ts'
import { forgetFactors, revokeSessionsOf, verifySession } from '../../db/sessions.ts'
import { findPasswordByEmail } from '../../db/users.ts'
import { findWorkspace } from '../../db/workspaces.ts'
import { AppError } from '../../errors.ts'
import type { Audit } from '../audit/index.ts'
import { parseName } from '../input.ts'
import type { Notify } from '../mail/notices.ts'
import { type FactorChecks, findFactors, type MemberFactors, methodsOf } from './factor-checks.ts'

/** The maximum number of passkeys of a member. */
const maxPasskeys = 20
/** Milliseconds from a new secret to the first code of the app. */
const setupTime = 15 * 60 * 1000

/** A secret for an authenticator app, which is not stored before the app has shown a code. */
export interface TotpSetup {
  /** Base32. */
  secret: string
  /** The content of the QR code. */
  uri: string
  ticket: string
}

export function createEnrolment(options: {
  db: Database
  secrets: Secrets
  audit: Audit
  checks: FactorChecks
  notify: Notify
}) {
  const { db, secrets, audit, checks, notify } = options

  /** Notes that a session has a new factor. Returns recovery codes for a member who has none. */
  async function confirm(change: Change, viewer: Viewer, factor: Factor): Promise<string[]> {
    const { userId } = viewer.member
    await verifySession(change, viewer.credentialId, factor)
    await deleteLinkInvite(change, userId)
    return (await countRecoveryCodes(change, userId)) > 0 ? [] : newCodes(change, userId)
  }

  async function newCodes(change: Change, userId: string): Promise<string[]> {
    const codes = generateRecoveryCodes()
    await putRecoveryCodes(change, userId, codes.map(hashRecoveryCode))
    return codes
  }

  /** After the last second factor, removes what only makes sense with one. @throws INVALID_INPUT if the workspace requires one */
  async function settle(change: Change, { userId, workspaceId, role }: Member): Promise<void> {
    await deleteLinkInvite(change, userId)
    if (methodsOf(await findFactors(change, userId)).length > 0) return
    if ((await findWorkspace(change, workspaceId))?.secondFactorRoles.includes(role)) {
      throw new AppError('INVALID_INPUT', 'Your workspace requires a second factor: add another one first.')
    }
    await deleteRecoveryCodes(change, userId)
    await forgetFactors(change, userId)
  }

  const setupPurpose = ({ credentialId }: Viewer) => `totp-setup ${credentialId}`
  const creationPurpose = ({ credentialId }: Viewer) => `passkey-creation ${credentialId}`

  return {
    /** Returns the viewer's second factors. @throws SESSION_REQUIRED */
    list(viewer: Viewer | null): Promise<MemberFactors> {
      return findFactors(db, requireAnySession(viewer).member.userId)
    },

    /** Returns a secret for the viewer's authenticator app. @throws SESSION_REQUIRED */
    async setUpTotp(viewer: Viewer | null): Promise<TotpSetup> {
      const present = requireAnySession(viewer)
      const { secret, uri } = await generateTotp(present.member.email)
      const value = { secret, expiresAt: Date.now() + setupTime }
      return { secret, uri, ticket: secrets.sign('sign-in', JSON.stringify(value), setupPurpose(present)) }
    },

    /**
     * Adds the authenticator app of a setup, once it has shown a code. It replaces an earlier one.
     * @returns recovery codes, if the member had none
     * @throws SESSION_REQUIRED, CONFIRMATION_REQUIRED, INVALID_STATE, WRONG_CODE
     */
    addTotp(viewer: Viewer | null, { ticket, code }: { ticket: string; code: string }): Promise<string[]> {
      return audit.recorded(viewer, 'FACTOR_ADD', { details: { factor: 'TOTP' } }, async recording => {
        const present = requireAnySession(viewer)
        const { member } = present
        requireRecent(present)
        recording.add({ subject: { kind: 'MEMBER', id: member.userId } })
        const text = secrets.verify('sign-in', ticket, setupPurpose(present))
        const setup: { secret: string; expiresAt: number } | null = text === null ? null : JSON.parse(text)
        if (!setup || setup.expiresAt <= Date.now()) {
          throw new AppError('INVALID_STATE', 'This setup has expired, or began in another session: begin again.')
        }
        const step = await stepOfTotp(setup.secret, code)
        if (step === null)
          throw new AppError('WRONG_CODE', 'The code does not belong to this setup: type the latest one.')
        const { userId } = member
        return recording.commit(async change => {
          await lockMember(change, member)
          await putTotp(change, { userId, secret: secrets.seal('totp', userId, setup.secret), step })
          await notify(change, { userId, kind: 'TOTP_ADDED', address: present.origin.address })
          return confirm(change, present, 'TOTP')
        })
      })
    },

    /** Removes the viewer's authenticator app. @throws SESSION_REQUIRED, CONFIRMATION_REQUIRED, NOT_FOUND, INVALID_INPUT */
    async removeTotp(viewer: Viewer | null): Promise<void> {
      await audit.recorded(viewer, 'FACTOR_REMOVE', { details: { factor: 'TOTP' } }, async recording => {
        const { member, origin } = requireSession(viewer)
        requireRecent(viewer)
        recording.add({ subject: { kind: 'MEMBER', id: member.userId } })
        await recording.commit(async change => {
          await lockMember(change, member)
          if (!(await deleteTotp(change, member.userId))) {
            throw new AppError('NOT_FOUND', 'You have no authenticator app.')
          }
          await settle(change, member)
          await notify(change, { userId: member.userId, kind: 'TOTP_REMOVED', address: origin.address })
        })
      })
    },

    /** Returns the options with which the viewer's browser creates a passkey. @throws SESSION_REQUIRED */
    async creationOptions(viewer: Viewer | null, party: RelyingParty): Promise<PasskeyOptions> {
      const present = requireAnySession(viewer)
      const { userId: id, email, name } = present.member
      const challenge = checks.challenge(creationPurpose(present))
      return creationOptions({ party, challenge, user: { id, email, name }, known: await listPasskeys(db, id) })
    },

    /**
     * Adds a passkey that the viewer's browser has created.
     * @returns it and recovery codes, if the member had none
     * @throws SESSION_REQUIRED, CONFIRMATION_REQUIRED, WRONG_PASSKEY, INVALID_INPUT, ALREADY_EXISTS, TOO_MANY_PASSKEYS
     */
    addPasskey(
      viewer: Viewer | null,
      { name, answer }: { name: string; answer: unknown },
      party: RelyingParty,
    ): Promise<{ passkey: Passkey; recoveryCodes: string[] }> {
      return audit.recorded(viewer, 'FACTOR_ADD', { details: { factor: 'PASSKEY' } }, async recording => {
        const present = requireAnySession(viewer)
        const { member } = present
        requireRecent(present)
        const parsed = parseName(name, 'The name of a passkey')
        recording.add({ subject: { kind: 'MEMBER', id: member.userId }, details: { name: parsed } })
        const expected = checks.signedChallenge(creationPurpose(present))
        const created = await verifyCreation(answer, party, expected.isExpected)
        await expected.use()
        return recording.commit(async change => {
          await lockMember(change, member)
          if ((await listPasskeys(change, member.userId)).length >= maxPasskeys) {
            throw new AppError('TOO_MANY_PASSKEYS', `An account has at most ${maxPasskeys} passkeys: remove one first.`)
          }
          const values = { ...created, userId: member.userId, name: parsed }
          const passkey = await insertPasskey(change, values).catch(error => {
            if (!isUniqueViolation(error)) throw error
            throw new AppError('ALREADY_EXISTS', 'This passkey is known already.')
          })
          const { userId } = member
          await notify(change, { userId, kind: 'PASSKEY_ADDED', name: parsed, address: present.origin.address })
          return { passkey, recoveryCodes: await confirm(change, present, 'PASSKEY') }
        })
      })
    },

    /** @throws SESSION_REQUIRED, INVALID_INPUT, NOT_FOUND */
    renamePasskey(viewer: Viewer | null, id: string, name: string): Promise<Passkey> {
      return audit.recorded(viewer, 'FACTOR_UPDATE', { details: { factor: 'PASSKEY' } }, async recording => {
        const { userId } = requireSession(viewer).member
        const parsed = parseName(name, 'The name of a passkey')
        recording.add({ subject: { kind: 'MEMBER', id: userId }, details: { name: parsed } })
        return recording.commit(async change => {
          const passkey = isId(id) ? await renamePasskey(change, userId, id, parsed) : null
          return passkey ?? noPasskey()
        })
      })
    },

    /** Removes one of the viewer's passkeys. @throws SESSION_REQUIRED, CONFIRMATION_REQUIRED, NOT_FOUND, INVALID_INPUT */
    async removePasskey(viewer: Viewer | null, id: string): Promise<void> {
      await audit.recorded(viewer, 'FACTOR_REMOVE', { details: { factor: 'PASSKEY' } }, async recording => {
        const { member, origin } = requireSession(viewer)
        requireRecent(viewer)
        recording.add({ subject: { kind: 'MEMBER', id: member.userId } })
        await recording.commit(async change => {
          await lockMember(change, member)
          const { name } = (isId(id) ? await deletePasskey(change, member.userId, id) : null) ?? noPasskey()
          recording.add({ details: { name } })
          await settle(change, member)
          await notify(change, { userId: member.userId, kind: 'PASSKEY_REMOVED', name, address: origin.address })
        })
      })
    },

    /** Replaces the viewer's recovery codes. @throws SESSION_REQUIRED, CONFIRMATION_REQUIRED, INVALID_INPUT */
    createRecoveryCodes(viewer: Viewer | null): Promise<string[]> {
      return audit.recorded(viewer, 'RECOVERY_CODES_CREATE', {}, async recording => {
        const { member } = requireSession(viewer)
        requireRecent(viewer)
        recording.add({ subject: { kind: 'MEMBER', id: member.userId } })
        return recording.commit(async change => {
          await lockMember(change, member)
          if (methodsOf(await findFactors(change, member.userId)).length > 0) return newCodes(change, member.userId)
          throw new AppError('INVALID_INPUT', 'Add an authenticator app or a passkey first.')
        })
      })
    },

    /**
     * Removes all second factors of another member, who has lost them, and ends their sessions.
     * @throws SESSION_REQUIRED, SCOPE_REQUIRED, PROVIDER_NOT_ALLOWED, CONFIRMATION_REQUIRED, EXCEEDS_OWN_REACH, OWN_MEMBERSHIP,
     * NOT_FOUND
     */
    async removeAll(viewer: Viewer | null, userId: string): Promise<Member> {
      const subject = { kind: 'MEMBER', id: userId } as const
      return audit.recorded(viewer, 'FACTOR_REMOVE', { subject }, async recording => {
        const admin = requireWorkspaceAdmin(requireSession(viewer))
        requireRecent(admin)
        return recording.commit(async change => {
          const target = isId(userId) ? await findMember(change, admin.member.workspaceId, userId) : null
          if (!target) throw new AppError('NOT_FOUND', 'There is no such member.')
          recording.add({ details: { email: target.email, name: target.name } })
          requireMayAssign(admin, target)
          if (userId === admin.member.userId) {
            throw new AppError('OWN_MEMBERSHIP', 'Remove your own second factors in your profile.')
          }
          await removeFactors(change, target)
          await notify(change, { userId, kind: 'FACTORS_RESET', address: admin.origin.address })
          return target
        })
      })
    },

    /** Removes all second factors of a person for the operator, who needs no credential, and ends their sessions. @throws NOT_FOUND */
    removeForOperator(email: string): Promise<Member> {
      return audit.recorded({ origin: ownOrigin }, 'FACTOR_REMOVE', { details: { email } }, async recording => {
        const account = await findPasswordByEmail(db, email)
        const [target] = account ? await findMemberships(db, account.userId) : []
        if (!target) throw new AppError('NOT_FOUND', `Nobody has the email ${email}.`)
        recording.add({ user: target, subject: { kind: 'MEMBER', id: target.userId }, details: { byOperator: true } })
        await recording.commit(async change => {
          await removeFactors(change, target)
          await notify(change, { userId: target.userId, kind: 'FACTORS_RESET', address: '' })
        })
        return target
      })
    },
  }
}

/** Removes all second factors of a member and ends their sessions. */
async function removeFactors(change: Change, member: Member): Promise<void> {
  await lockMember(change, member)
  await deleteTotp(change, member.userId)
  await deletePasskeys(change, member.userId)
  await deleteRecoveryCodes(change, member.userId)
  await deleteLinkInvite(change, member.userId)
  await revokeSessionsOf(change, member.userId)
}

function noPasskey(): never {
  throw new AppError('NOT_FOUND', 'You have no such passkey.')
}
