/**
 * Sign-in with an OpenID Connect issuer. Accounts are known by issuer and subject. An email never finds an account, verified or
 * not: whoever controls an address at an issuer need not be the person with this address here.
 */
import { createHash, randomBytes } from 'node:crypto'
import { isId } from '../../auth/id.ts'
import { requireRecent, requireSession } from '../../auth/policy.ts'
import type { Secrets } from '../../auth/secrets.ts'
import type { SessionTokens } from '../../auth/tokens.ts'
import type { Origin, Viewer } from '../../auth/viewer.ts'
import { type Database, isUniqueViolation } from '../../db/client.ts'
import {
  deleteIdentity,
  deleteUsedSignInsBefore,
  findIdentity,
  type Identity,
  insertIdentity,
  listIdentities,
  touchIdentity,
  useSignInState,
} from '../../db/identities.ts'
import { findMember, lockMember } from '../../db/members.ts'
import { revokeIssuedSessions } from '../../db/sessions.ts'
import { findPassword } from '../../db/users.ts'
import { AppError } from '../../errors.ts'
import type { Audit } from '../audit/index.ts'
import type { SignIns } from '../limits/sign-ins.ts'
import { type SignedIn, startSession } from './accounts.ts'
import { createIssuedAccount, followIssuedGroups } from './issued-accounts.ts'
import {
  createIssuer,
  type IssuedIdentity,
  type IssuerSettings,
  maxLogoutAge,
  type SignInChecks,
} from './oidc-issuer.ts'

/** Milliseconds that a person has for the issuer's page, and then to confirm a link. */
const lifetime = 10 * 60 * 1000
/** The maximum number of identities of a member. */
const maxIdentities = 20
/** Characters of an invite, which a cookie has to hold. */
const maxInvite = 100

/** A sign-in that has begun, which only its browser knows. */
interface PendingSignIn extends SignInChecks {
  redirectUri: string
  /** The page of the console to open afterwards. */
  next: string
  /** The session in which the person wants to link the identity; null to sign in. */
  linkTo: string | null
  /** With which the person gets an account; null for none. */
  invite: string | null
  /** Milliseconds since 1970. */
  expiresAt: number
}

/** An identity that a session may link. */
interface LinkTicket {
  sessionId: string
  issuer: string
  subject: string
  email: string | null
  expiresAt: number
}

export type CompletedSignIn = { kind: 'SIGNED_IN'; session: SignedIn; next: string } | { kind: 'LINK'; ticket: string }

export function createSingleSignOn(options: {
  db: Database
  secrets: Secrets
  tokens: SessionTokens
  limits: SignIns
  audit: Audit
  /** Connects to permitted addresses only. */
  fetch: typeof globalThis.fetch
  /** Null without an issuer. */
  oidc: IssuerSettings | null
}) {
  const { db, secrets, tokens, limits, audit, oidc } = options
  const issuer = oidc && createIssuer(oidc, options.fetch)

  function requireIssuer() {
    if (!issuer)
      throw new AppError('NOT_FOUND', 'This server has no single sign-on: its operator sets STOWAGE_OIDC_ISSUER.')
    return issuer
  }

  const sign = (what: string, value: object) => secrets.sign('sign-in', JSON.stringify(value), what)

  /** Returns a value that this server has signed and that has not expired; null otherwise. */
  function open<T extends { expiresAt: number }>(what: string, signed: string | null): T | null {
    const text = signed === null ? null : secrets.verify('sign-in', signed, what)
    const value = text === null ? null : (JSON.parse(text) as T)
    return value && value.expiresAt > Date.now() ? value : null
  }

  /** Signs in with an identity that is linked, or creates its account. */
  async function signIn(issued: IssuedIdentity, invite: string | null, origin: Origin): Promise<SignedIn> {
    const identity = await findIdentity(db, issued.issuer, issued.subject)
    const member = identity && (await findMember(db, identity.workspaceId, identity.userId))
    const { issuerSession, email, issuer } = issued
    const details = { issuer, email }
    if (identity && member) {
      return audit.recorded({ origin }, 'LOGIN', { details }, recording =>
        recording.commit(async change => {
          if (!(await touchIdentity(change, identity.id))) throw new AppError('NOT_LINKED')
          const followed = await followIssuedGroups(change, member, issued)
          if (followed.changes) recording.add({ details: { groups: followed.changes } })
          const by = { identityId: identity.id, issuerSession }
          return startSession(tokens, change, recording, followed.member, by, origin)
        }),
      )
    }
    const facts = { details: { ...details, byInvite: invite !== null } }
    return audit.recorded({ origin }, 'REGISTER', facts, async recording => {
      await limits.countRegistration({ account: email ?? issued.subject, address: origin.address })
      return recording.commit(async change => {
        const created = await createIssuedAccount(change, issued, invite, origin)
        const followed = await followIssuedGroups(change, created.member, issued)
        if (followed.changes) recording.add({ details: { groups: followed.changes } })
        const by = { identityId: created.identityId, issuerSession }
        return startSession(tokens, change, recording, followed.member, by, origin)
      })
    })
  }

  return {
    /** Returns the issuers with which people can sign in, by their hosts. */
    issuers(): { name: string }[] {
      return oidc ? [{ name: new URL(oidc.issuer).host }] : []
    },

    /**
     * Begins a sign-in. The browser goes to `url` and keeps `pending`, without which nobody can complete it.
     * @param link from `startLink`; null to sign in
     * @param invite with which a person without an account gets one
     * @throws NOT_FOUND without an issuer, INVALID_STATE, UNAVAILABLE
     */
    async begin(given: { baseUrl: string; next: string | null; link: string | null; invite: string | null }) {
      const from = requireIssuer()
      const link = given.link === null ? null : open<{ sessionId: string; expiresAt: number }>('link', given.link)
      if (given.link !== null && !link) throw new AppError('INVALID_STATE', 'This link has expired: begin again.')
      const secret = () => randomBytes(32).toString('base64url')
      const checks: SignInChecks = { state: secret(), nonce: secret(), codeVerifier: secret() }
      const redirectUri = `${given.baseUrl}/auth/oidc/callback`
      const pending: PendingSignIn = {
        ...checks,
        redirectUri,
        next: ownAddress(given.next),
        linkTo: link?.sessionId ?? null,
        invite: given.invite?.slice(0, maxInvite) ?? null,
        expiresAt: Date.now() + lifetime,
      }
      return { url: await from.signInUrl(checks, redirectUri), pending: sign('pending', pending) }
    },

    /**
     * Completes a sign-in with the address to which the issuer has sent the browser. Each works once, in the browser that began it.
     * @param query of that address
     * @param kept what the browser has kept of `begin`; null for nothing
     * @throws INVALID_STATE, SIGN_IN_REFUSED, NOT_LINKED, UNAVAILABLE
     */
    async complete(query: string, kept: string | null, origin: Origin): Promise<CompletedSignIn> {
      const from = requireIssuer()
      const pending = open<PendingSignIn>('pending', kept)
      const state = new URLSearchParams(query).get('state')
      if (!pending || state !== pending.state) throw new AppError('INVALID_STATE', strange)
      const stateHash = createHash('sha256').update(pending.state).digest()
      if (!(await useSignInState(db, stateHash, new Date(pending.expiresAt)))) {
        throw new AppError('INVALID_STATE', strange)
      }
      const issued = await from.exchange(new URL(`${pending.redirectUri}?${query}`), pending)
      if (pending.linkTo === null)
        return { kind: 'SIGNED_IN', session: await signIn(issued, pending.invite, origin), next: pending.next }
      const { issuer: name, subject, email } = issued
      const ticket: LinkTicket = {
        sessionId: pending.linkTo,
        issuer: name,
        subject,
        email,
        expiresAt: Date.now() + lifetime,
      }
      return { kind: 'LINK', ticket: sign('ticket', ticket) }
    },

    /** Returns the `link` with which the viewer's browser begins to link an identity. @throws SESSION_REQUIRED, NOT_FOUND */
    startLink(viewer: Viewer | null): string {
      const { credentialId: sessionId } = requireSession(viewer)
      requireIssuer()
      return sign('link', { sessionId, expiresAt: Date.now() + lifetime })
    },

    /**
     * Links the identity of a ticket with the viewer. Only the session that began it can: another person's link would sign
     * the viewer in to the account of that person.
     * @throws SESSION_REQUIRED, INVALID_STATE, ALREADY_EXISTS, INVALID_INPUT
     */
    link(viewer: Viewer | null, ticket: string): Promise<Identity> {
      return audit.recorded(viewer, 'IDENTITY_LINK', {}, async recording => {
        const { member, credentialId } = requireSession(viewer)
        requireRecent(viewer)
        const { userId, workspaceId } = member
        const found = open<LinkTicket>('ticket', ticket)
        if (!found || found.sessionId !== credentialId) {
          throw new AppError('INVALID_STATE', 'This sign-in has expired, or began in another session: begin again.')
        }
        const { issuer, subject, email } = found
        recording.add({ subject: { kind: 'MEMBER', id: userId }, details: { issuer, subject, email } })
        return recording.commit(async change => {
          await lockMember(change, member)
          if ((await listIdentities(change, userId)).length >= maxIdentities) {
            throw new AppError('INVALID_INPUT', `An account has at most ${maxIdentities} identities: remove one first.`)
          }
          return insertIdentity(change, { workspaceId, userId, issuer, subject, email }).catch(error => {
            if (!isUniqueViolation(error)) throw error
            throw new AppError('ALREADY_EXISTS', 'This identity is linked already, with your account or another one.')
          })
        })
      })
    },

    /** Returns the viewer's identities. @throws SESSION_REQUIRED */
    async identities(viewer: Viewer | null): Promise<Identity[]> {
      return listIdentities(db, requireSession(viewer).member.userId)
    },

    /**
     * Removes one of the viewer's identities and ends the sessions that began with it.
     * @throws SESSION_REQUIRED, NOT_FOUND, INVALID_INPUT for the only way to sign in
     */
    async unlink(viewer: Viewer | null, id: string): Promise<void> {
      await audit.recorded(viewer, 'IDENTITY_UNLINK', {}, async recording => {
        const { member } = requireSession(viewer)
        requireRecent(viewer)
        await recording.commit(async change => {
          await lockMember(change, member)
          const identities = await listIdentities(change, member.userId)
          const identity = isId(id) ? identities.find(each => each.id === id) : undefined
          if (!identity) throw new AppError('NOT_FOUND', 'You have no such identity.')
          const { issuer, subject, email } = identity
          recording.add({ subject: { kind: 'MEMBER', id: member.userId }, details: { issuer, subject, email } })
          if (issuer.startsWith('ldap:')) {
            throw new AppError('INVALID_INPUT', 'The directory manages your account: nobody can remove it here.')
          }
          const hasPassword = (await findPassword(change, member.userId))?.passwordHash != null
          if (!hasPassword && identities.length === 1) {
            throw new AppError('INVALID_INPUT', 'You have no password, so you could not sign in any more.')
          }
          await deleteIdentity(change, identity.id)
        })
      })
    },

    /**
     * Ends sessions as the issuer says. Each token works once.
     * @throws NOT_FOUND without an issuer, INVALID_INPUT, UNAVAILABLE
     */
    async logoutByIssuer(token: string, origin: Origin): Promise<void> {
      const logout = await requireIssuer().verifyLogout(token)
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

    /** Forgets sign-ins that have expired. Call it once a day. */
    async sweep(): Promise<void> {
      await deleteUsedSignInsBefore(db, new Date())
    },
  }
}

const strange = 'This sign-in has expired, was completed already, or began in another browser: begin again.'

/** Returns the address of a page of this server, so that a link cannot lead elsewhere. */
function ownAddress(next: string | null): string {
  return next?.startsWith('/') && !next.startsWith('//') && !/[\\\p{Cc}]/u.test(next) && next.length <= 2000
    ? next
    : '/files'
}
