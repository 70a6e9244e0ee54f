/**
 * Ends sessions when people sign out at an issuer: OpenID Connect Back-Channel Logout 1.0 and Front-Channel Logout 1.0. Lets people
 * sign out there, too: RP-Initiated Logout 1.0.
 */
import { hashToken } from '../../auth/api-key.ts'
import { requireAnySession } from '../../auth/policy.ts'
import { SecretMismatch, type Secrets } from '../../auth/secrets.ts'
import type { Origin, Viewer } from '../../auth/viewer.ts'
import type { Database } from '../../db/client.ts'
import { findIdentity, useSignInState } from '../../db/identities.ts'
import { findMember } from '../../db/members.ts'
import { findIssuedMember, findIssuedSession, revokeIssuedSessions } from '../../db/sessions.ts'
import { AppError } from '../../errors.ts'
import type { Audit } from '../audit/index.ts'
import type { SignIns } from '../limits/sign-ins.ts'
import type { ActiveIssuer, IssuerRegistry } from './issuer-registry.ts'
import { type IssuedLogout, textOf } from './oidc-claims.ts'
import { maxLogoutAge } from './oidc-issuer.ts'
import { createTickets } from './tickets.ts'

/** Milliseconds for a person to sign out at the issuer, too. */
const lifetime = 10 * 60 * 1000

/** Where a person can also sign out. */
export interface IssuerExit {
  /** The name of the issuer. */
  name: string
  /** Names the session for `leave`. */
  ticket: string
}

/** A session whose person may sign out at its issuer. */
interface SignOutTicket {
  sessionId: string
  expiresAt: number
}

export function createIssuerLogout({
  db,
  secrets,
  audit,
  limits,
  registry,
}: {
  db: Database
  secrets: Secrets
  audit: Audit
  limits: SignIns
  registry: IssuerRegistry
}) {
  const { sign, open } = createTickets(secrets)

  /** Returns the issuer with this address. @throws NOT_FOUND without any issuer, INVALID_INPUT */
  async function requireIssuer(address: string | null, invalid: string): Promise<ActiveIssuer> {
    const issuers = await registry.active()
    if (issuers.length === 0) throw new AppError('NOT_FOUND', 'This server has no single sign-on.')
    const from = issuers.find(({ issuer }) => issuer === address)
    if (!from) throw new AppError('INVALID_INPUT', invalid)
    return from
  }

  /** Returns the ID token of a session; empty if it cannot be decrypted. */
  function openIdToken(sessionId: string, sealed: Buffer): string {
    try {
      return secrets.open('session', sessionId, sealed)
    } catch (error) {
      if (error instanceof SecretMismatch) return ''
      throw error
    }
  }

  /** @param owner whose sessions end; null for somebody who has no account here */
  async function endSessions(
    { issuer, subject, issuerSession }: Omit<IssuedLogout, 'id'>,
    owner: { workspaceId: string; userId: string } | null,
    origin: Origin,
  ): Promise<void> {
    const ended = { issuer, subject, issuerSession }
    const member = owner && (await findMember(db, owner.workspaceId, owner.userId))
    await audit.recorded({ origin }, 'LOGOUT', { details: ended, ...(member && { user: member }) }, recording =>
      recording.commit(change => revokeIssuedSessions(change, ended)),
    )
  }

  return {
    /**
     * Ends sessions as an issuer says in a token. Each token works once.
     * @throws NOT_FOUND without an issuer, INVALID_INPUT, UNAVAILABLE
     */
    async byToken(token: string, origin: Origin): Promise<void> {
      // The token is verified with the keys of the issuer that it names.
      const from = await requireIssuer(await issuerIn(token), 'The logout token is invalid.')
      const logout = await from.open().verifyLogout(token)
      const { issuer, subject, id } = logout
      const hash = hashToken(JSON.stringify(['logout', issuer, id]))
      if (!(await useSignInState(db, hash, new Date(Date.now() + 2 * maxLogoutAge * 1000)))) {
        throw new AppError('INVALID_INPUT', 'The logout token was used already.')
      }
      await endSessions(logout, subject === null ? null : await findIdentity(db, issuer, subject), origin)
    },

    /**
     * Ends the sessions that began with a session at an issuer, whose page asks for it in a frame. Only the issuer and its clients know
     * the name of that session. Unknown ones are no error, so that nobody learns which exist.
     * @throws NOT_FOUND without an issuer, INVALID_INPUT, RATE_LIMITED, UNAVAILABLE
     */
    async bySession(issuer: string | null, session: string | null, origin: Origin): Promise<void> {
      const from = await requireIssuer(issuer, 'The parameter "iss" must be the address of an issuer.')
      const issuerSession = textOf(session)
      if (issuerSession === null) {
        const message = 'The parameter "sid" is missing: let the issuer send the session with a front-channel logout.'
        throw new AppError('INVALID_INPUT', message)
      }
      await limits.countLogout(origin.address)
      const owner = await findIssuedMember(db, from.issuer, issuerSession)
      if (owner) await endSessions({ issuer: from.issuer, subject: null, issuerSession }, owner, origin)
    },

    /** Returns where the viewer can sign out, too; null if their session began otherwise, or its issuer has no page for it. @throws SESSION_REQUIRED */
    async exitOf(viewer: Viewer | null): Promise<IssuerExit | null> {
      const { credentialId: sessionId } = requireAnySession(viewer)
      const session = await findIssuedSession(db, sessionId)
      const from = session && (await registry.active()).find(({ issuer }) => issuer === session.issuer)
      if (!from) return null
      const ticket: SignOutTicket = { sessionId, expiresAt: Date.now() + lifetime }
      return { name: from.name, ticket: sign('sign-out', ticket) }
    },

    /**
     * Returns the address of the issuer's page at which the person of a session signs out.
     * @param ticket of `exitOf`
     * @param returnTo where the issuer then sends the browser
     * @throws INVALID_STATE, NOT_FOUND, UNAVAILABLE
     */
    async leave(ticket: string | null, returnTo: string): Promise<string> {
      const opened = open<SignOutTicket>('sign-out', ticket)
      const session = opened && (await findIssuedSession(db, opened.sessionId))
      if (!opened || !session) {
        throw new AppError('INVALID_STATE', 'This link has expired: sign out at the issuer itself.')
      }
      const from = await requireIssuer(session.issuer, 'People cannot sign in with this issuer any more.')
      return from.open().signOutUrl(openIdToken(opened.sessionId, session.idToken), returnTo)
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
