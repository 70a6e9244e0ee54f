/** Confirms who uses a session, before sensitive changes: others may have found it. */
import type { Factor } from '../../auth/factors.ts'
import { type PasskeyOptions, type RelyingParty, requestOptions } from '../../auth/passkeys.ts'
import { enterPasswordQueue, verifyPassword } from '../../auth/passwords.ts'
import { recentTime, requireAnySession } from '../../auth/policy.ts'
import type { Member, Viewer } from '../../auth/viewer.ts'
import type { Database } from '../../db/client.ts'
import { listIdentities } from '../../db/identities.ts'
import { verifySession } from '../../db/sessions.ts'
import { findPassword } from '../../db/users.ts'
import { mayUsePassword } from '../../db/workspaces.ts'
import { AppError } from '../../errors.ts'
import type { Audit } from '../audit/index.ts'
import type { SignIns } from '../limits/sign-ins.ts'
import { type FactorChecks, findFactors, type GivenFactor, methodsOf } from './factor-checks.ts'
import type { IssuerRegistry } from './issuer-registry.ts'
import { requirePasswordAllowed } from './password-policy.ts'

/** How the viewer can confirm who they are. */
export interface ConfirmationNeeds {
  /** Until when sensitive changes need no confirmation; null if they need one now. */
  confirmedUntil: Date | null
  methods: readonly Factor[]
  /** The ids of the issuers at which the viewer has an account. */
  issuerIds: readonly string[]
  /** For the browser, if the member has passkeys. */
  passkeyOptions: PasskeyOptions | null
}

export function createConfirmation(options: {
  db: Database
  limits: SignIns
  audit: Audit
  checks: FactorChecks
  registry: Pick<IssuerRegistry, 'active'>
}) {
  const { db, limits, audit, checks, registry } = options
  const purposeOf = ({ credentialId }: Viewer) => `passkey-confirmation ${credentialId}`

  return {
    /** Returns how the viewer can confirm who they are. @throws SESSION_REQUIRED */
    async needs(viewer: Viewer | null, party: RelyingParty): Promise<ConfirmationNeeds> {
      const present = requireAnySession(viewer)
      const { userId } = present.member
      const [found, identities, active] = await Promise.all([
        findFactors(db, userId),
        listIdentities(db, userId),
        registry.active(),
      ])
      const second = methodsOf(found)
      const { passkeys } = found
      const confirmedUntil = present.verifiedAt && new Date(present.verifiedAt.getTime() + recentTime)
      return {
        confirmedUntil: confirmedUntil && confirmedUntil > new Date() ? confirmedUntil : null,
        methods: second.length > 0 ? second : await firstFactors(db, present.member, identities.length > 0),
        issuerIds: active.flatMap(({ id, issuer }) => (identities.some(each => each.issuer === issuer) ? [id] : [])),
        passkeyOptions:
          passkeys.length === 0
            ? null
            : await requestOptions({ party, challenge: checks.challenge(purposeOf(present)), known: passkeys }),
      }
    },

    /**
     * Confirms who uses the session. Members with a second factor confirm with it: somebody who has found the session and the password
     * could not sign in.
     * @throws SESSION_REQUIRED, SECOND_FACTOR_REQUIRED, SINGLE_SIGN_ON_REQUIRED, WRONG_EMAIL_OR_PASSWORD, WRONG_CODE, WRONG_PASSKEY, INVALID_INPUT, RATE_LIMITED
     */
    async confirm(
      viewer: Viewer | null,
      { password, ...given }: GivenFactor & { password?: string | null | undefined },
      party: RelyingParty,
      signal?: AbortSignal,
    ): Promise<void> {
      await audit.recorded(viewer, 'IDENTITY_CONFIRM', {}, async recording => {
        const { member, credentialId, origin } = requireAnySession(viewer)
        const { userId } = member
        const { address } = origin
        const confirmWith = (factor: Factor) => recording.add({ details: { factor } })
        if (password == null) {
          const expected = checks.signedChallenge(purposeOf(requireAnySession(viewer)))
          const by = { member, address, party, expected, recording }
          return checks.withFactor(by, given, async (change, factor) => {
            confirmWith(factor)
            await verifySession(change, credentialId, factor)
          })
        }
        if (methodsOf(await findFactors(db, userId)).length > 0) {
          const message = 'Your account has a second factor: confirm with it instead of the password.'
          throw new AppError('SECOND_FACTOR_REQUIRED', message)
        }
        using slot = enterPasswordQueue(address, signal)
        await limits.tryPassword({ account: member.email, address }, async () => {
          const found = await findPassword(db, userId)
          if (await verifyPassword(slot, found?.passwordHash ?? null, password)) return
          throw new AppError('WRONG_EMAIL_OR_PASSWORD', 'The password is wrong.')
        })
        confirmWith('PASSWORD')
        await recording.commit(async change => {
          await requirePasswordAllowed(change, member)
          await verifySession(change, credentialId, 'PASSWORD')
        })
      })
    },
  }
}

/** Returns the ways to sign in of a member without a second factor. */
async function firstFactors(db: Database, { workspaceId, userId }: Member, hasIdentity: boolean): Promise<Factor[]> {
  const [account, mayUse] = await Promise.all([findPassword(db, userId), mayUsePassword(db, workspaceId, userId)])
  return [
    ...(account?.passwordHash && mayUse ? (['PASSWORD'] as const) : []),
    ...(hasIdentity ? (['ISSUER'] as const) : []),
  ]
}
