/** Factors with which people prove who they are, apart from passwords: codes of authenticator apps, and recovery codes. */
import { randomBytes } from 'node:crypto'
import { hashToken } from './api-key.ts'

export const factors = ['PASSWORD', 'TOTP', 'RECOVERY_CODE', 'PASSKEY', 'ISSUER'] as const
export type Factor = (typeof factors)[number]

/** A passkey verifies its user, so it is two factors. The issuer of single sign-on asks for what its own policy requires. */
const secondFactors: ReadonlySet<Factor> = new Set(['TOTP', 'RECOVERY_CODE', 'PASSKEY', 'ISSUER'])

/** Returns whether the factors of a session are more than a password. */
export function hasSecondFactor(given: readonly Factor[]): boolean {
  return given.some(factor => secondFactors.has(factor))
}

/** RFC 6238: what authenticator apps support. Seconds. */
const period = 30
/** Bytes of a secret: RFC 4226, section 4. */
const secretBytes = 20
/** Steps by which the clock of the app may be wrong in each direction. */
const window = 1

/** Generates a secret for an authenticator app. @param account the email, which the app shows @returns the secret in base32, and its address for a QR code */
export async function generateTotp(account: string): Promise<{ secret: string; uri: string }> {
  const { Secret, TOTP } = await import('otpauth')
  const secret = new Secret({ size: secretBytes })
  return { secret: secret.base32, uri: new TOTP({ issuer: 'Stowage', label: account, secret, period }).toString() }
}

/** Returns the time step to which a code belongs, in steps since 1970; null for a wrong code. Compares in constant time. */
export async function stepOfTotp(secret: string, code: string, now = Date.now()): Promise<number | null> {
  const token = code.replaceAll(/\s/g, '')
  if (!/^\d{6}$/.test(token)) return null
  const { Secret, TOTP } = await import('otpauth')
  const delta = new TOTP({ secret: Secret.fromBase32(secret), period }).validate({ token, timestamp: now, window })
  return delta === null ? null : Math.floor(now / 1000 / period) + delta
}

/** The number of recovery codes that a member gets. */
export const recoveryCodes = 10
/** Without characters that look alike: Crockford's base32. */
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'

/** Generates recovery codes of 80 random bits, as `xxxx-xxxx-xxxx-xxxx`. */
export function generateRecoveryCodes(): string[] {
  return Array.from({ length: recoveryCodes }, () => {
    const text = [...randomBytes(16)].map(byte => alphabet[byte % alphabet.length]).join('')
    return text.replace(/(.{4})(?=.)/g, '$1-')
  })
}

/** Returns the hash of a recovery code, however it is written. */
export function hashRecoveryCode(code: string): Buffer {
  const typed = code
    .slice(0, 100)
    .toLowerCase()
    .replaceAll(/[^0-9a-z]/g, '')
  return hashToken(typed.replaceAll('o', '0').replaceAll(/[il]/g, '1'))
}
