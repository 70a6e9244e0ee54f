/**
 * Sign-in with OpenID Connect issuers. Accounts are known by issuer and subject. An email never finds an account, verified or
 * not: whoever controls an address at an issuer need not be the person with this address here.
 */
import { randomBytes } from 'node:crypto'
import { hashToken } from '../../auth/api-key.ts'
import { networkOf } from '../../auth/network.ts'
import type { Secrets } from '../../auth/secrets.ts'
import type { SessionTokens } from '../../auth/tokens.ts'
import type { Member, Origin, Viewer } from '../../auth/viewer.ts'
import type { Change, Database } from '../../db/client.ts'
import { deleteUsedSignInsBefore, findIdentity, touchIdentity, useSignInState } from '../../db/identities.ts'
import { findMember } from '../../db/members.ts'
import { noteIssued, type SignInProof } from '../../db/sessions.ts'
import { findTheWorkspace, lockWorkspace } from '../../db/workspaces.ts'
import { AppError } from '../../errors.ts'
import { Slots } from '../../lib/slots.ts'
import type { Audit, Recording } from '../audit/index.ts'
import type { SignIns } from '../limits/sign-ins.ts'
import { type SignedIn, startSession } from './accounts.ts'
import { createIssuedAccount, followIssuedGroups } from './issued-accounts.ts'
import type { ActiveIssuer, IssuerRegistry } from './issuer-registry.ts'
import type { IssuerTestInput, IssuerTestOutcome, IssuerTests, TestTicket } from './issuer-tests.ts'
import type { ExchangedIdentity, SignInChecks } from './oidc-issuer.ts'
import { createTickets, type LinkStart, type LinkTicket, signInLifetime } from './tickets.ts'

/** Sign-ins that wait for issuers at once in a server. Those of other networks and other issuers do not wait behind them. */
const maxWaiting = { network: 20, issuer: 40, all: 120 }
/** Characters of an invite, which a cookie has to hold. */
const maxInvite = 100

/** The purpose of a sign-in, which decides what happens when the person is back from the issuer. */
type SignInPurpose =
  /** `next` is the page of the console to open. With `invite`, a person without an account gets one. */
  | { kind: 'SIGN_IN'; next: string; invite: string | null }
  /** Somebody asks to link the identity. */
  | { kind: 'LINK'; linker: string }
  | { kind: 'TEST'; ticket: TestTicket }

/** A sign-in that has begun, which only its browser knows. */
interface PendingSignIn extends SignInChecks {
  /** Only its response completes the sign-in. Empty for a test. */
  issuerId: string
  redirectUri: string
  /** The path of `redirectUri` at this server: that of the issuer alone. */
  callbackPath: string
  /** Whether the person has to prove who they are again. */
  isFresh: boolean
  purpose: SignInPurpose
  /** Milliseconds since 1970. */
  expiresAt: number
}

/** The parameters of the address at which a browser begins a sign-in; null for those that it does not have. */
export interface StartedSignIn {
  baseUrl: string
  issuer: string | null
  next: string | null
  link: string | null
  invite: string | null
  test: string | null
  /** The token of the session in the browser, which a test needs. */
  session: string | null
  isFresh: boolean
}

export type CompletedSignIn =
  | { kind: 'SIGNED_IN'; session: SignedIn; next: string }
  | { kind: 'LINK'; ticket: string; isInvited: boolean }
  | { kind: 'TEST'; outcome: IssuerTestOutcome }

export function createSingleSignOn(options: {
  db: Database
  secrets: Secrets
  tokens: SessionTokens
  limits: SignIns
  audit: Audit
  registry: IssuerRegistry
  tests: IssuerTests
}) {
  const { db, secrets, tokens, limits, audit, registry, tests } = options

  const { sign, open } = createTickets(secrets)
  const slots = new Slots<'network' | 'issuer'>(maxWaiting)

  /** @throws RATE_LIMITED */
  function takeSlot(issuer: string, { address }: Origin): Disposable {
    return slots.take({ network: networkOf(address), issuer }, () => {
      const message = 'Too many people are waiting for the issuer: try again in some seconds.'
      return new AppError('RATE_LIMITED', message, { retryAfterMs: 5000 })
    })
  }

  /** @throws INVALID_STATE */
  function purposeOf({ next, link, invite }: Pick<StartedSignIn, 'next' | 'link' | 'invite'>): SignInPurpose {
    if (link === null) return { kind: 'SIGN_IN', next: ownAddress(next), invite: invite?.slice(0, maxInvite) ?? null }
    const opened = open<LinkStart>('link', link)
    if (!opened) throw new AppError('INVALID_STATE', 'This link has expired: begin again.')
    return { kind: 'LINK', linker: opened.linker }
  }

  /** Signs in with an identity that is linked, or creates its account. */
  async function signIn(
    from: ActiveIssuer,
    issued: ExchangedIdentity,
    invite: string | null,
    origin: Origin,
  ): Promise<SignedIn> {
    const identity = await findIdentity(db, issued.issuer, issued.subject)
    const member = identity && (await findMember(db, identity.workspaceId, identity.userId))
    const { issuerSession, email, issuer, authenticatedAt: verifiedAt, idToken } = issued
    const start = async (change: Change, recording: Recording, member: Member, by: SignInProof) => {
      const session = await startSession(tokens, change, recording, member, by, origin)
      const { sessionId } = session
      const sealed = idToken === null ? null : secrets.seal('session', sessionId, idToken)
      // The issuer may have known the person for hours, without asking who they are.
      await noteIssued(change, sessionId, { verifiedAt, idToken: sealed })
      return session
    }
    const details = { issuer, email }
    if (identity && member) {
      return audit.recorded({ origin }, 'LOGIN', { details }, recording =>
        recording.commit(async change => {
          await lockWorkspace(change, member.workspaceId)
          await registry.keepActive(change, from)
          // An administrator may have changed or removed the member meanwhile.
          const present = await findMember(change, member.workspaceId, member.userId)
          if (!present || !(await touchIdentity(change, identity.id))) throw new AppError('NOT_LINKED')
          const followed = await followIssuedGroups(change, present, issued)
          if (followed.changes) recording.add({ details: { groups: followed.changes } })
          const by = { identityId: identity.id, issuerSession }
          return start(change, recording, followed.member, by)
        }),
      )
    }
    const facts = { details: { ...details, byInvite: invite !== null } }
    return audit.recorded({ origin }, 'REGISTER', facts, async recording => {
      await limits.countRegistration({ account: email ?? issued.subject, address: origin.address })
      return recording.commit(async change => {
        const workspace = await findTheWorkspace(change)
        if (workspace) await lockWorkspace(change, workspace.id)
        await registry.keepActive(change, from)
        const created = await createIssuedAccount(change, issued, from.rule, invite, origin)
        const followed = await followIssuedGroups(change, created.member, issued)
        if (followed.changes) recording.add({ details: { groups: followed.changes } })
        const by = { identityId: created.identityId, issuerSession }
        return start(change, recording, followed.member, by)
      })
    })
  }

  return {
    /** Returns the issuers with which people can sign in. Connects to none. */
    issuers(): Promise<{ id: string; name: string }[]> {
      return registry.active()
    },

    /**
     * Begins a sign-in. The browser goes to `url` and keeps `pending`, without which nobody can complete it.
     * @param given.issuer null for the first one
     * @param given.link from `startLink`; null to sign in
     * @param given.invite with which a person without an account gets one
     * @param given.test from `startTest`; null for a real sign-in
     * @throws NOT_FOUND without the issuer, INVALID_STATE, UNAVAILABLE
     */
    async begin(
      { baseUrl, issuer, test, session, isFresh, ...given }: StartedSignIn,
      origin: Origin,
    ): Promise<{ url: string; pending: string }> {
      const checks = newChecks()
      const keep = (issuerId: string, callbackPath: string, purpose: SignInPurpose) => {
        const expiresAt = Date.now() + signInLifetime
        const at = { issuerId, redirectUri: baseUrl + callbackPath, callbackPath }
        const pending: PendingSignIn = { ...checks, ...at, isFresh, purpose, expiresAt }
        return sign('pending', pending)
      }
      if (test !== null) {
        const ticket = open<TestTicket>('test', test)
        if (!ticket) throw new AppError('INVALID_STATE', 'This test has expired: begin again.')
        await tests.requireSessionOf(ticket, session, origin)
        const path = await tests.callbackPathOf(ticket)
        const options = { redirectUri: baseUrl + path, isFresh }
        const url = await tests.connect(ticket, issuer => issuer.signInUrl(checks, options))
        return { url, pending: keep('', path, { kind: 'TEST', ticket }) }
      }
      const purpose = purposeOf(given)
      const from = await registry.find(issuer)
      const options = { redirectUri: baseUrl + from.callbackPath, isFresh }
      const url = await from.open().signInUrl(checks, options)
      return { url, pending: keep(from.id, from.callbackPath, purpose) }
    },

    /**
     * Completes a sign-in with the address to which the issuer has sent the browser. Each works once, in the browser that began it.
     * @param given.path of that address, which has to be that of the issuer: no other issuer gets a code
     * @param given.query of that address
     * @param given.kept what the browser has kept of `begin`; null for nothing
     * @throws INVALID_STATE, SIGN_IN_REFUSED, NOT_LINKED, INVALID_INVITE, RATE_LIMITED, UNAVAILABLE, the reason of the signal
     */
    async complete(
      { path, query, kept }: { path: string; query: string; kept: string | null },
      origin: Origin,
      signal?: AbortSignal,
    ): Promise<CompletedSignIn> {
      const pending = open<PendingSignIn>('pending', kept)
      const state = new URLSearchParams(query).get('state')
      if (!pending || state !== pending.state || path !== pending.callbackPath) {
        throw new AppError('INVALID_STATE', strange)
      }
      using _slot = takeSlot(pending.callbackPath, origin)
      if (!(await useSignInState(db, hashToken(pending.state), new Date(pending.expiresAt)))) {
        throw new AppError('INVALID_STATE', strange)
      }
      const { purpose } = pending
      const callback = new URL(`${pending.redirectUri}?${query}`)
      if (purpose.kind === 'TEST') {
        await tests.requireAdminOf(purpose.ticket, origin)
        const issued = await tests.connect(purpose.ticket, issuer =>
          issuer.exchange(callback, pending, pending.isFresh, signal),
        )
        return { kind: 'TEST', outcome: await tests.outcomeOf(purpose.ticket, issued) }
      }
      const from = await registry.find(pending.issuerId)
      const issued = await from.open().exchange(callback, pending, pending.isFresh, signal)
      if (purpose.kind === 'SIGN_IN') {
        const session = await signIn(from, issued, purpose.invite, origin)
        return { kind: 'SIGNED_IN', session, next: purpose.next }
      }
      const { linker } = purpose
      const { issuer, subject, email } = issued
      const expiresAt = Date.now() + signInLifetime
      const { id: issuerId, version } = from
      const ticket: LinkTicket = { linker, issuerId, version, issuer, subject, email, expiresAt }
      return { kind: 'LINK', ticket: sign('ticket', ticket), isInvited: linker.startsWith('invite ') }
    },

    /** Returns what a browser has begun, for the page of an error; null if nothing. */
    kindOf(kept: string | null): SignInPurpose['kind'] | null {
      return open<PendingSignIn>('pending', kept)?.purpose.kind ?? null
    },

    /** Returns the `test` with which the viewer's browser begins a test sign-in. @throws as `IssuerTests.start` */
    async startTest(viewer: Viewer | null, input: IssuerTestInput): Promise<string> {
      return sign('test', await tests.start(viewer, input))
    },

    /** Forgets sign-ins that have expired. Call it once a day. */
    async sweep(): Promise<void> {
      await deleteUsedSignInsBefore(db, new Date())
      await tests.sweep()
    },
  }
}

/** Returns new secrets for a sign-in. */
function newChecks(): SignInChecks {
  const secret = () => randomBytes(32).toString('base64url')
  return { state: secret(), nonce: secret(), codeVerifier: secret() }
}

const strange = 'This sign-in has expired, was completed already, or began in another browser: begin again.'

/** Returns the address of a page of this server, so that a link cannot lead elsewhere. */
function ownAddress(next: string | null): string {
  return next?.startsWith('/') && !next.startsWith('//') && !/[\\\p{Cc}]/u.test(next) && next.length <= 2000
    ? next
    : '/files'
}
