/** The tokens of sessions and share links, and the code that protects the first registration. */
import { createHmac, hash, randomBytes, timingSafeEqual } from 'node:crypto'
import { createSigner, createVerifier } from 'fast-jwt'
import { isId } from './id.ts'
import type { Secrets } from './secrets.ts'

/** The claims of a session JWT (RFC 7519). `sub` is the user's id, `sid` the session's. */
interface Claims {
  sub: string
  sid: string
}

export interface SessionTokens {
  sign(claims: Claims, expiresAt: Date): string
  /** Returns the session's id, or null if the token is malformed, expired or from another server. */
  verify(token: string): string | null
}

const issuer = 'stowage'

export function sessionTokens(secrets: Secrets): SessionTokens {
  const keys = secrets.keys('session')
  const sign = createSigner({ key: keys[0], algorithm: 'HS256', iss: issuer })
  const verifiers = keys.map(key =>
    createVerifier({
      key,
      algorithms: ['HS256'],
      allowedIss: issuer,
      cache: 1000,
      // Failures are not cached: after a clock that ran ahead is corrected, a cached failure would last until that time.
      errorCacheTTL: () => Number.NEGATIVE_INFINITY,
      requiredClaims: ['exp'],
    }),
  )
  return {
    sign: (claims, expiresAt) => sign({ ...claims, exp: Math.floor(expiresAt.getTime() / 1000) }),
    verify(token) {
      for (const verify of verifiers) {
        try {
          const claims: Partial<Claims> = verify(token)
          return typeof claims.sid === 'string' && isId(claims.sid) ? claims.sid : null
        } catch {
          // The next key may have signed it.
        }
      }
      return null
    },
  }
}

/** Begins like an API key, so that the same pattern removes it from the log. */
const prefix = 'stw_share_'
const pattern = /^stw_share_[0-9a-f]{40}$/

/** Generates `stw_share_` followed by 160 random bits as 40 hexadecimal characters. */
export function generateShareToken(): string {
  return prefix + randomBytes(20).toString('hex')
}

export function isShareToken(text: string): boolean {
  return pattern.test(text)
}

const scimPrefix = 'stw_scim_'
const scimPattern = /^stw_scim_[0-9a-f]{40}$/

/** Generates the token of a SCIM client: `stw_scim_` followed by 160 random bits as 40 hexadecimal characters. */
export function generateScimToken(): string {
  return scimPrefix + randomBytes(20).toString('hex')
}

export function isScimToken(text: string): boolean {
  return scimPattern.test(text)
}

/** Compares in constant time. */
export function isSetupCode(text: string, setupCode: string): boolean {
  return timingSafeEqual(hash('sha256', text, 'buffer'), hash('sha256', setupCode, 'buffer'))
}

// The `state` of an OAuth consent (RFC 6749, section 10.12): a ticket for the person who begins the consent, and a MAC of it
// under a key that only their browser has. A state is valid only with that key, so neither the vendor's URL nor the
// callback works in another browser.

/** 256 random bits, base64url. */
const tokenPattern = /^[\w-]{43}$/

export const createTicket = randomToken
export const createBrowserKey = randomToken

export function isBrowserKey(text: string): boolean {
  return tokenPattern.test(text)
}

export function bindState(ticket: string, browserKey: string): string {
  return `${ticket}.${macOf(ticket, browserKey)}`
}

export function ticketOf(state: string): string {
  return state.split('.', 1)[0] ?? ''
}

/** @param browserKey null if the browser has none */
export function isBoundState(state: string, browserKey: string | null): boolean {
  if (browserKey === null) return false
  const expected = Buffer.from(bindState(ticketOf(state), browserKey))
  const actual = Buffer.from(state)
  return actual.length === expected.length && timingSafeEqual(actual, expected)
}

function macOf(ticket: string, browserKey: string): string {
  return createHmac('sha256', browserKey).update(ticket).digest('base64url')
}

function randomToken(): string {
  return randomBytes(32).toString('base64url')
}
