/** Ends sessions when people sign out at an issuer: OpenID Connect Back-Channel Logout 1.0. */
import { createHash } from 'node:crypto'
import type { Origin } from '../../auth/viewer.ts'
import type { Database } from '../../db/client.ts'
import { findIdentity, useSignInState } from '../../db/identities.ts'
import { findMember } from '../../db/members.ts'
import { revokeIssuedSessions } from '../../db/sessions.ts'
import { AppError } from '../../errors.ts'
import type { Audit } from '../audit/index.ts'
import type { IssuerRegistry } from './issuer-registry.ts'
import { maxLogoutAge } from './oidc-issuer.ts'

export function createIssuerLogout({ db, audit, registry }: { db: Database; audit: Audit; registry: IssuerRegistry }) {
  return {
    /**
     * Ends sessions as an issuer says in a token. Each token works once.
     * @throws NOT_FOUND without an issuer, INVALID_INPUT, UNAVAILABLE
     */
    async byToken(token: string, origin: Origin): Promise<void> {
      const issuers = await registry.active()
      if (issuers.length === 0) throw new AppError('NOT_FOUND', 'This server has no single sign-on.')
      const named = await issuerIn(token)
      // The token is verified with the keys of the issuer that it names.
      const from = issuers.find(({ issuer }) => issuer === named)
      if (!from) throw new AppError('INVALID_INPUT', 'The logout token is invalid.')
      const logout = await from.open().verifyLogout(token)
      const { issuer, subject, issuerSession, id } = logout
      const hash = createHash('sha256')
        .update(JSON.stringify(['logout', issuer, id]))
        .digest()
      if (!(await useSignInState(db, hash, new Date(Date.now() + 2 * maxLogoutAge * 1000)))) {
        throw new AppError('INVALID_INPUT', 'The logout token was used already.')
      }
      const identity = subject === null ? null : await findIdentity(db, issuer, subject)
      const member = identity && (await findMember(db, identity.workspaceId, identity.userId))
      const facts = { details: { issuer, subject, issuerSession }, ...(member && { user: member }) }
      await audit.recorded({ origin }, 'LOGOUT', facts, recording =>
        recording.commit(change => revokeIssuedSessions(change, logout)),
      )
    },
  }
}

/** Returns the issuer that a token names, which is not verified yet; null for none. */
async function issuerIn(token: string): Promise<string | null> {
  const { decodeJwt } = await import('jose')
  try {
    return decodeJwt(token).iss ?? null
  } catch {
    return null
  }
}
