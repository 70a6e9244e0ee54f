/** The passwords of share links. Every request with a link is checked here, before anything else about the share is done. */
import { createHmac, hash, randomBytes } from 'node:crypto'
import { enterPasswordQueue, verifyPassword } from '../../auth/passwords.ts'
import type { Secrets } from '../../auth/secrets.ts'
import type { Origin } from '../../auth/viewer.ts'
import type { ShareRecord } from '../../db/shares/shares.ts'
import { AppError } from '../../errors.ts'
import { LruMap } from '../../lib/lru-map.ts'
import type { Audit } from '../audit/index.ts'
import type { SignIns } from '../limits/sign-ins.ts'

/** A request opens a link with its password, or with the proof that an earlier request got for the password. */
export interface ShareKey {
  password: string | null
  proof: string | null
}

/** Milliseconds. Browsers keep the proof in a cookie. */
const proofLifetime = 12 * 60 * 60 * 1000
/** Milliseconds for which a password that was right is not hashed again, so that a script can send it with each request. */
const rememberedTime = 5 * 60 * 1000
const maxRemembered = 1000

type Locked = Pick<ShareRecord, 'id' | 'passwordHash'>

export function createUnlocking({
  secrets,
  audit,
  limits,
}: {
  secrets: Secrets
  audit: Audit
  limits: Pick<SignIns, 'tryPassword'>
}) {
  const ownKey = randomBytes(32)
  /** Passwords that were right, and until when, in milliseconds of `performance.now()`. */
  const remembered = new LruMap<string, number>(maxRemembered)

  function isRemembered(key: string): boolean {
    return (remembered.get(key) ?? 0) > performance.now()
  }

  function remember(key: string): void {
    remembered.set(key, performance.now() + rememberedTime)
  }

  /** The proof ends with the password for which it was made. */
  function isProof(proof: string, { id, passwordHash }: Locked): boolean {
    const payload = secrets.verify('share', proof, id)
    if (payload === null) return false
    const [until, version] = JSON.parse(payload)
    return until > Date.now() && version === versionOf(passwordHash)
  }

  /** @throws WRONG_SHARE_PASSWORD, RATE_LIMITED, UNAVAILABLE */
  function requirePassword(
    { id, passwordHash }: Locked,
    password: string,
    origin: Origin,
    signal: AbortSignal,
  ): Promise<void> {
    return audit.recorded({ origin }, 'SHARE_UNLOCK', { subject: { kind: 'SHARE', id } }, async () => {
      using slot = enterPasswordQueue(origin.address, signal)
      await limits.tryPassword({ account: { share: id }, address: origin.address }, async () => {
        if (!(await verifyPassword(slot, passwordHash, password))) throw new AppError('WRONG_SHARE_PASSWORD')
      })
    })
  }

  return {
    /** @throws SHARE_PASSWORD_REQUIRED, WRONG_SHARE_PASSWORD, RATE_LIMITED, UNAVAILABLE */
    async require(share: Locked, { password, proof }: ShareKey, origin: Origin, signal: AbortSignal): Promise<void> {
      if (share.passwordHash === null) return
      if (proof !== null && isProof(proof, share)) return
      if (password === null) throw new AppError('SHARE_PASSWORD_REQUIRED')
      const key = createHmac('sha256', ownKey)
        .update(JSON.stringify([share.passwordHash, password]))
        .digest('hex')
      if (isRemembered(key)) return
      await requirePassword(share, password, origin, signal)
      remember(key)
    },

    /** Returns a proof for somebody who has sent the right password. */
    prove({ id, passwordHash }: Locked): { proof: string; expiresAt: Date } {
      const until = Date.now() + proofLifetime
      const proof = secrets.sign('share', JSON.stringify([until, versionOf(passwordHash)]), id)
      return { proof, expiresAt: new Date(until) }
    },
  }
}

function versionOf(passwordHash: string | null): string {
  return hash('sha256', passwordHash ?? '').slice(0, 16)
}
