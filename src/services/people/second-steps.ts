/** The steps of a sign-in that need no password: the second factor after one, and a passkey instead of one. */
import { randomBytes } from 'node:crypto'
import { hashToken } from '../../auth/api-key.ts'
import type { Factor } from '../../auth/factors.ts'
import { type PasskeyOptions, type RelyingParty, requestOptions, wrongPasskey } from '../../auth/passkeys.ts'
import type { SessionTokens } from '../../auth/tokens.ts'
import type { Member, Origin } from '../../auth/viewer.ts'
import type { Change, Database } from '../../db/client.ts'
import { touchIdentity } from '../../db/identities.ts'
import {
  deleteLoginChallengesBefore,
  insertLoginChallenge,
  type LoginChallenge,
  takeLoginChallenge,
  tryLoginChallenge,
} from '../../db/login-challenges.ts'
import { findMember, findMemberships } from '../../db/members.ts'
import { usePasskey } from '../../db/passkeys.ts'
import type { SignInProof } from '../../db/sessions.ts'
import { findPassword } from '../../db/users.ts'
import { AppError } from '../../errors.ts'
import type { Audit, Recording } from '../audit/index.ts'
import type { SignIns } from '../limits/sign-ins.ts'
import { type SignedIn, startSession } from './accounts.ts'
import { type FactorChecks, findFactors, type GivenFactor, methodsOf } from './factor-checks.ts'

/** Milliseconds from the password to the second factor. */
const lifetime = 5 * 60 * 1000
/** Tries for each right password. */
const maxTries = 5
/** The purpose of challenges for a sign-in without a name. */
const signInPurpose = 'passkey-sign-in'

export type SecondSteps = ReturnType<typeof createSecondSteps>

export function createSecondSteps(options: {
  db: Database
  tokens: SessionTokens
  limits: SignIns
  audit: Audit
  checks: FactorChecks
}) {
  const { db, tokens, limits, audit, checks } = options

  return {
    async isEnrolled({ userId }: Member): Promise<boolean> {
      return methodsOf(await findFactors(db, userId)).length > 0
    },

    /**
     * Ends a sign-in whose password was right with a challenge, if the account has second factors.
     * @param by the hash of the password, or the identity in the directory that has verified it
     * @throws SECOND_FACTOR_REQUIRED
     */
    async requireNone(
      member: Member,
      by: { passwordHash: string } | { identityId: string },
      party: RelyingParty,
      recording: Recording,
    ): Promise<void> {
      const { userId, workspaceId } = member
      const found = await findFactors(db, userId)
      const methods = methodsOf(found)
      if (methods.length === 0) return
      recording.add({ user: member })
      const token = randomBytes(32)
      const expiresAt = new Date(Date.now() + lifetime)
      await insertLoginChallenge(db, {
        workspaceId,
        userId,
        passwordDigest: 'passwordHash' in by ? hashToken(by.passwordHash) : null,
        identityId: 'identityId' in by ? by.identityId : null,
        tokenHash: hashToken(token.toString('base64url')),
        expiresAt,
      })
      const { passkeys } = found
      const passkeyOptions =
        passkeys.length === 0
          ? null
          : await requestOptions({ party, challenge: new Uint8Array(token), known: passkeys })
      const facts = {
        challenge: token.toString('base64url'),
        methods,
        expiresAt: expiresAt.toISOString(),
        passkeyOptions,
      }
      const message = 'The password is right. Complete the sign-in with "completeLogin" and a second factor.'
      throw new AppError('SECOND_FACTOR_REQUIRED', message, { facts })
    },

    /**
     * Completes a sign-in with a second factor. A challenge works once, and has a few tries.
     * @throws INVALID_STATE, WRONG_CODE, WRONG_PASSKEY, INVALID_INPUT, RATE_LIMITED
     */
    complete(
      { challenge: token, ...given }: GivenFactor & { challenge: string },
      party: RelyingParty,
      origin: Origin,
    ): Promise<SignedIn> {
      return audit.recorded({ origin }, 'LOGIN', {}, async recording => {
        const tokenHash = hashToken(token)
        const challenge = await tryLoginChallenge(db, tokenHash, maxTries)
        const member = challenge && (await findMember(db, challenge.workspaceId, challenge.userId))
        if (!member) throw ended()
        recording.add({ user: member })
        const expected = { isExpected: (signed: string) => signed === token }
        const by = { member, address: origin.address, party, expected, recording }
        const signedIn = await checks.withFactor(by, given, async (change, second) => {
          const proof = await proofOf(change, challenge, second)
          if (!(await takeLoginChallenge(change, tokenHash))) throw ended()
          return startSession(tokens, change, recording, member, proof, origin)
        })
        await limits.noteSignedIn({ account: member.email, address: origin.address })
        return signedIn
      })
    },

    /** Returns the options with which a browser asks for a passkey of this site, to sign in without a name. */
    passkeyOptions(party: RelyingParty): Promise<PasskeyOptions> {
      return requestOptions({ party, challenge: checks.challenge(signInPurpose), known: [] })
    },

    /** Signs in with a passkey alone, which has verified its user. @throws WRONG_PASSKEY */
    signIn(answer: unknown, party: RelyingParty, origin: Origin): Promise<SignedIn> {
      return audit.recorded({ origin }, 'LOGIN', {}, async recording => {
        const { passkey, counted } = await checks.anyPasskey(answer, signInPurpose, party)
        const [member] = await findMemberships(db, passkey.userId)
        if (!member) throw wrongPasskey()
        recording.add({ user: member, details: { passkey: passkey.name } })
        return recording.commit(async change => {
          if (!(await usePasskey(change, passkey, counted))) throw wrongPasskey()
          return startSession(tokens, change, recording, member, { passkeyId: passkey.id }, origin)
        })
      })
    },

    /** Forgets challenges that have expired. Call it once a day. */
    async sweep(): Promise<void> {
      await deleteLoginChallengesBefore(db, new Date())
    },
  }
}

/** Returns what a challenge and its second factor prove. @throws INVALID_STATE if the password or the identity has changed meanwhile */
async function proofOf(change: Change, challenge: LoginChallenge, second: Factor): Promise<SignInProof> {
  const { userId, passwordDigest, identityId } = challenge
  if (identityId !== null) {
    if (!(await touchIdentity(change, identityId))) throw ended()
    return { identityId, issuerSession: null, isDirectory: true, second }
  }
  const { passwordHash } = (await findPassword(change, userId)) ?? { passwordHash: null }
  if (passwordHash === null || !passwordDigest?.equals(hashToken(passwordHash))) throw ended()
  return { passwordHash, second }
}

function ended(): AppError {
  return new AppError(
    'INVALID_STATE',
    'This sign-in has expired, or had too many tries: begin again with the password.',
  )
}
