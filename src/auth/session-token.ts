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
