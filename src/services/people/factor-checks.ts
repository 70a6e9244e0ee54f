/** Checks the factors that people give to sign in, or to confirm who they are. */
import { randomBytes } from 'node:crypto'
import { hashToken } from '../../auth/api-key.ts'
import { type Factor, hashRecoveryCode, stepOfTotp } from '../../auth/factors.ts'
import {
  type IsExpected,
  namedPasskey,
  passkeyTime,
  type RelyingParty,
  verifyPasskey,
  wrongPasskey,
} from '../../auth/passkeys.ts'
import type { Secrets } from '../../auth/secrets.ts'
import type { Member } from '../../auth/viewer.ts'
import type { Change, Database } from '../../db/client.ts'
import { useSignInState } from '../../db/identities.ts'
import { findPasskey, listPasskeys, type Passkey, usePasskey } from '../../db/passkeys.ts'
import { countRecoveryCodes, findTotp, useRecoveryCode, useTotpStep } from '../../db/second-factors.ts'
import { AppError } from '../../errors.ts'
import type { Recording } from '../audit/index.ts'
import type { SignIns } from '../limits/sign-ins.ts'

/** Exactly one of them. */
export interface GivenFactor {
  code?: string | null | undefined
  recoveryCode?: string | null | undefined
  /** The answer of the browser, in JSON. */
  passkey?: unknown
}

/** The second factors of a member. */
export interface MemberFactors {
  /** When the authenticator app was added; null without one. */
  totpAddedAt: Date | null
  passkeys: readonly Passkey[]
  recoveryCodes: number
}

export type FactorChecks = ReturnType<typeof createFactorChecks>

export async function findFactors(db: Database, userId: string): Promise<MemberFactors> {
  const [totp, passkeys, recoveryCodes] = await Promise.all([
    findTotp(db, userId),
    listPasskeys(db, userId),
    countRecoveryCodes(db, userId),
  ])
  return { totpAddedAt: totp?.createdAt ?? null, passkeys, recoveryCodes }
}

/** Returns the second factors that a member can give, none if a password is enough. */
export function methodsOf({ totpAddedAt, passkeys, recoveryCodes }: MemberFactors): Factor[] {
  if (!totpAddedAt && passkeys.length === 0) return []
  return [
    ...(totpAddedAt ? (['TOTP'] as const) : []),
    ...(passkeys.length > 0 ? (['PASSKEY'] as const) : []),
    ...(recoveryCodes > 0 ? (['RECOVERY_CODE'] as const) : []),
  ]
}

export function createFactorChecks({ db, secrets, limits }: { db: Database; secrets: Secrets; limits: SignIns }) {
  /** Uses up a code in the transaction of what it permits. @throws WRONG_CODE */
  async function useCode(change: Change, userId: string, { code, recoveryCode }: GivenFactor): Promise<Factor> {
    if (recoveryCode != null) {
      if (await useRecoveryCode(change, userId, hashRecoveryCode(recoveryCode))) return 'RECOVERY_CODE'
      throw new AppError('WRONG_CODE', 'The recovery code is wrong or was used already.')
    }
    const totp = await findTotp(change, userId)
    const step = totp && (await stepOfTotp(secrets.open('totp', userId, totp.secret), code ?? ''))
    if (step !== null && (await useTotpStep(change, userId, step))) return 'TOTP'
    throw new AppError('WRONG_CODE')
  }

  /** Makes each challenge work once: a signed challenge is valid for everybody until it is used. */
  function signedChallenge(what: string): { isExpected: IsExpected; use(): Promise<void> } {
    let used: { hash: Buffer; expiresAt: Date } | null = null
    return {
      isExpected(challenge) {
        const signed = Buffer.from(challenge, 'base64url').toString()
        const text = secrets.verify('sign-in', signed, what)
        const expiresAt = text === null ? 0 : Number(JSON.parse(text).expiresAt)
        if (expiresAt <= Date.now()) return false
        used = { hash: hashToken(signed), expiresAt: new Date(expiresAt) }
        return true
      },
      async use() {
        if (!used || !(await useSignInState(db, used.hash, used.expiresAt))) throw wrongPasskey()
      },
    }
  }

  /** Verifies the answer of a passkey. @param userId of the only member whose passkeys are valid; null for everybody's */
  async function verify(answer: unknown, userId: string | null, party: RelyingParty, isExpected: IsExpected) {
    const passkey = await findPasskey(db, namedPasskey(answer))
    if (!passkey || (userId !== null && passkey.userId !== userId)) throw wrongPasskey()
    return { passkey, counted: await verifyPasskey(answer, passkey, party, isExpected) }
  }

  return {
    /** Returns a challenge for passkeys that works once, for a few minutes. @param what binds it to its purpose, and to a session */
    challenge(what: string): Uint8Array<ArrayBuffer> {
      const value = { nonce: randomBytes(16).toString('base64url'), expiresAt: Date.now() + passkeyTime }
      return new Uint8Array(Buffer.from(secrets.sign('sign-in', JSON.stringify(value), what)))
    },

    signedChallenge,

    /**
     * Checks a factor of a member and, in one transaction, uses it up and does what it permits. Wrong codes count as guesses.
     * @throws WRONG_CODE, WRONG_PASSKEY, INVALID_INPUT, RATE_LIMITED, UNAVAILABLE, and what `work` throws
     */
    async withFactor<T>(
      by: {
        member: Pick<Member, 'userId'>
        address: string
        party: RelyingParty
        /** Which challenge the passkey has signed, and what makes it work once. */
        expected: { isExpected: IsExpected; use?(): Promise<void> }
        recording: Recording
      },
      given: GivenFactor,
      work: (change: Change, factor: Factor) => Promise<T>,
    ): Promise<T> {
      const { member, address, party, expected, recording } = by
      const { userId } = member
      const factors = [given.code, given.recoveryCode, given.passkey].filter(each => each != null)
      if (factors.length !== 1) throw new AppError('INVALID_INPUT', 'Give a code, a recovery code or a passkey.')
      if (given.passkey != null) {
        const { passkey, counted } = await verify(given.passkey, userId, party, expected.isExpected)
        await expected.use?.()
        return recording.commit(async change => {
          if (!(await usePasskey(change, passkey, counted))) throw wrongPasskey()
          return work(change, 'PASSKEY')
        })
      }
      return limits.tryPassword({ account: { codesOf: userId }, address }, () =>
        recording.commit(async change => work(change, await useCode(change, userId, given))),
      )
    },

    /** Verifies a passkey of any member, for a sign-in without a name. @throws WRONG_PASSKEY */
    async anyPasskey(answer: unknown, what: string, party: RelyingParty) {
      const expected = signedChallenge(what)
      const verified = await verify(answer, null, party, expected.isExpected)
      await expected.use()
      return verified
    },
  }
}
