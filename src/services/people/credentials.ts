/** People: accounts, groups, sign-ins, issuers and keys. Credentials and parsed input enter, and viewers and sessions leave. */
import { type Audience, isAccessToken, openAccessToken } from '../../auth/access-tokens.ts'
import { apiKeyIdOf, hashOfKey, hashToken, isApiKey, secretAccessKeys } from '../../auth/api-key.ts'
import type { Secrets } from '../../auth/secrets.ts'
import { isShareToken, type SessionTokens } from '../../auth/tokens.ts'
import {
  freshness,
  keyPermissions,
  memberPermissions,
  memberViewer,
  type Origin,
  type ProviderName,
  type Viewer,
} from '../../auth/viewer.ts'
import { type OwnedApiKey, prepareOwnedApiKeys } from '../../db/api-keys.ts'
import type { Database } from '../../db/client.ts'
import { batchedMembers } from '../../db/members.ts'
import { prepareSessions } from '../../db/sessions.ts'
import type { OwnedShare, ShareRecord } from '../../db/shares/shares.ts'
import { emailKey } from '../../db/users.ts'
import { AppError } from '../../errors.ts'
import type { RequestLimits } from '../limits/requests.ts'
import type { KeyUsage } from './key-usage.ts'
import { type RightsMemory, rememberedLookups } from './rights-memory.ts'
import { asRecipient, createShareLookups, shareViewer, unknownShare } from './share-credentials.ts'
import { keyRevoked, requireActive, requireUnexpired, requireUsable, sessionViewer } from './usable-credentials.ts'

/** The public key of a client of SSH, and the email of the account that it names. */
export interface PublicKeyLogin {
  publicKey: Buffer
  email: string
}

/** Characters. */
const maxEmail = 1024

export interface Credentials {
  /**
   * Returns the viewer of a bearer token and counts a request. Every replica rejects a credential as soon as its revocation has
   * returned: see `RightsMemory`.
   * @param provider a provider whose version the same query reads, for `namedProvider` and `seenProvider`; it does not change the result otherwise
   * @param audience the part of the server that the request is for. Access tokens of applications can be for one part alone. Default: SERVER
   * @throws INVALID_CREDENTIAL, KEY_EXPIRED, KEY_REVOKED, SESSION_ENDED, TOKEN_EXPIRED, RATE_LIMITED
   */
  authenticate(token: string, origin: Origin, provider?: ProviderName | null, audience?: Audience): Promise<Viewer>
  /**
   * Returns the viewer of a request that an API key has signed.
   * @param verify verifies the signature and returns it. It may skip deriving the secret access keys if it remembers the signing keys
   * @throws as `authenticate` and `verify`
   */
  authenticateSigned<T>(
    accessKeyId: string,
    verify: (secretAccessKeys: () => readonly string[]) => T,
    origin: Origin,
    provider: ProviderName | null,
  ): Promise<{ viewer: Viewer; signature: T }>
  /**
   * Returns the viewer of the API key of a member that has a public key of SSH, and counts a request. Anybody can register the public key of
   * somebody else, so the client names the member by their email: it never gets the rights of another one.
   * @param isSigned resolves with whether the client has signed; null if the client only asks whether the key is known: then the result is
   * null, and nothing counts as a use
   * @throws as `authenticate`
   */
  authenticatePublicKey(
    login: PublicKeyLogin,
    isSigned: (() => Promise<boolean>) | null,
    origin: Origin,
  ): Promise<Viewer | null>
  /**
   * Returns the viewer of a share link, and the share. Only the endpoints for share links call this, so the token is no credential anywhere else.
   * @param unlock verifies the password of the share, if it has one, and returns the id of the session that has opened the share before
   * @param session the token of a session, for a share that has recipients
   * @throws SHARE_ENDED, INVALID_CREDENTIAL, RATE_LIMITED, and what `unlock` throws; SESSION_REQUIRED, and as `authenticate` for a share that
   *   has recipients
   */
  authenticateShare(
    token: string,
    by: { unlock: (share: ShareRecord) => Promise<string | null>; session: string | null },
    origin: Origin,
  ): Promise<{ viewer: Viewer; share: ShareRecord }>
  /** Authenticates a session token only; API keys fail. @throws as `authenticate` */
  authenticateSession(token: string, origin: Origin, provider?: ProviderName | null): Promise<Viewer>
  /**
   * Authenticates a viewer again if the last check is more than a second old. Call this before late steps of a request.
   * @throws as `authenticate`
   */
  confirm(viewer: Viewer): Promise<Viewer>
  /** Authenticates an earlier credential by its id, without counting a request. @param provider as of `authenticate` @throws as `authenticate` */
  recall(
    credential: Pick<Viewer, 'kind' | 'credentialId' | 'openedBy' | 'origin'>,
    provider?: ProviderName | null,
  ): Promise<Viewer>
  /** Returns a viewer that acts as the member even after their session has ended. @throws INVALID_CREDENTIAL */
  recallMember(of: { workspaceId: string; userId: string; sessionId: string; origin: Origin }): Promise<Viewer>
  /** Authenticates the credential or the member behind a viewer again. @param provider as of `authenticate` @throws as `authenticate` */
  recallViewer(viewer: Viewer, provider?: ProviderName | null): Promise<Viewer>
}

export function createCredentials({
  db,
  secrets,
  tokens,
  usage,
  limits,
  memory,
}: {
  db: Database
  secrets: Secrets
  tokens: SessionTokens
  usage: KeyUsage
  limits: RequestLimits
  memory: RightsMemory
}): Credentials {
  const findSessions = prepareSessions(db)
  const findKeysByHash = prepareOwnedApiKeys(db, 'key_hash')
  const findKeysById = prepareOwnedApiKeys(db, 'id')
  const findKeysByPublicKey = prepareOwnedApiKeys(db, 'public_key')
  const accessOfKey = ({ owner, key }: OwnedApiKey) => keyPermissions(owner, key).access
  const sessionById = rememberedLookups({
    memory,
    kind: 'session',
    find: findSessions,
    valueOf: id => id,
    textOf: ({ id }) => id,
    accessOf: ({ member }) => memberPermissions(member).access,
  })
  const keyByHash = rememberedLookups({
    memory,
    kind: 'key by hash',
    find: findKeysByHash,
    valueOf: hash => Buffer.from(hash, 'hex'),
    textOf: ({ hash }) => hash.toString('hex'),
    accessOf: accessOfKey,
  })
  const keyById = rememberedLookups({
    memory,
    kind: 'key by id',
    find: findKeysById,
    valueOf: id => id,
    textOf: ({ key }) => key.id,
    accessOf: accessOfKey,
  })
  const keyByPublicKey = rememberedLookups({
    memory,
    kind: 'key by public key',
    find: findKeysByPublicKey,
    valueOf: text => Buffer.from(text.slice(text.indexOf('.') + 1), 'base64'),
    textOf: ({ key, owner }) => textOfLogin({ publicKey: key.publicKey ?? Buffer.alloc(0), email: owner.email }),
    accessOf: accessOfKey,
  })
  const shares = createShareLookups(db, memory)
  const memberOf = batchedMembers(db)

  function keyViewer(found: OwnedApiKey | null, origin: Origin, namedProvider: ProviderName | null): Viewer {
    if (!found) throw new AppError('INVALID_CREDENTIAL', 'This API key is unknown.')
    const { key, owner, seenProvider } = found
    const now = new Date()
    const { isConnection } = key
    if (key.revokedAt) throw keyRevoked(isConnection)
    requireActive(owner)
    const viewer: Viewer = {
      kind: 'API_KEY',
      credentialId: key.id,
      outlivesSession: false,
      displayPrefix: key.displayPrefix,
      isConnection,
      shared: null,
      member: owner,
      expiresAt: key.expiresAt,
      verifiedAt: null,
      lacksSecondFactor: false,
      confirmedAt: performance.now(),
      namedProvider,
      seenProvider,
      origin,
      ...keyPermissions(owner, key),
    }
    requireUnexpired(viewer, now)
    usage.note(key, now)
    return viewer
  }

  async function byKey(key: string, origin: Origin, provider: ProviderName | null): Promise<Viewer> {
    const hash = hashOfKey(key, origin.connection)
    using _trial = await limits.tryKey(hash, origin)
    const viewer = await counted(keyByHash(hash, provider), found => keyViewer(found, origin, provider), origin)
    limits.countKey(hash)
    limits.countMember(viewer)
    return viewer
  }

  async function byPublicKey(
    login: PublicKeyLogin,
    isSigned: (() => Promise<boolean>) | null,
    origin: Origin,
  ): Promise<Viewer | null> {
    const text = textOfLogin(login)
    // A public key is no secret, and clients offer all that they have, so an unknown one is no guess.
    const lookup = await keyByPublicKey(text, null)
    if (!lookup) limits.countAnonymous(origin.address)
    const found = requireUsable(lookup)
    if (!isSigned) return null
    const isProven = await isSigned()
    const viewer = await counted(
      Promise.resolve(isProven ? found : null),
      each => keyViewer(each, origin, null),
      origin,
    )
    limits.countKey(text)
    limits.countKey(found.hash.toString('hex'))
    limits.countMember(viewer)
    return viewer
  }

  async function byAccessToken(
    token: string,
    origin: Origin,
    provider: ProviderName | null,
    audience: Audience,
  ): Promise<Viewer> {
    const claims = openAccessToken(secrets, token)
    if (!claims) {
      limits.countGuess(origin.address)
      throw new AppError('INVALID_CREDENTIAL', 'This access token is malformed or not from this server.')
    }
    if (claims.audience !== 'SERVER' && claims.audience !== audience) {
      throw new AppError('INVALID_CREDENTIAL', 'This access token is for the MCP endpoint alone.')
    }
    if (claims.expiresAt <= new Date()) throw new AppError('TOKEN_EXPIRED')
    limits.countSession(claims.keyId)
    const viewer = await counted(
      keyById(claims.keyId, provider),
      found => keyViewer(found?.key.isConnection ? found : null, origin, provider),
      origin,
    )
    limits.countMember(viewer)
    return { ...viewer, tokenExpiresAt: claims.expiresAt }
  }

  async function bySignature<T>(
    accessKeyId: string,
    verify: (secretAccessKeys: () => readonly string[]) => T,
    origin: Origin,
    provider: ProviderName | null,
  ): Promise<{ viewer: Viewer; signature: T }> {
    const id = apiKeyIdOf(accessKeyId)
    if (id === null) {
      limits.countGuess(origin.address)
      throw unknownAccessKey()
    }
    using _trial = await limits.tryKey(accessKeyId, origin)
    const finding = keyById(id, provider)
    const authenticated = await counted(finding, found => verifyKey(found, verify, origin, provider), origin)
    limits.countKey(accessKeyId)
    limits.countKey(authenticated.hash)
    limits.countMember(authenticated.viewer)
    return authenticated
  }

  function verifyKey<T>(
    found: OwnedApiKey | null,
    verify: (secretAccessKeys: () => readonly string[]) => T,
    origin: Origin,
    provider: ProviderName | null,
  ): { viewer: Viewer; signature: T; hash: string } {
    if (!found || found.key.isConnection) throw unknownAccessKey()
    const { key, hash } = found
    // Only a client that knows the secret learns whether the key was revoked.
    const signature = verify(() => secretAccessKeys(secrets, { id: key.id, hash }))
    return { viewer: keyViewer(found, origin, provider), signature, hash: hash.toString('hex') }
  }

  async function bySession(token: string, origin: Origin, provider: ProviderName | null = null): Promise<Viewer> {
    const id = tokens.verify(token)
    if (id === null) {
      limits.countGuess(origin.address)
      throw new AppError(
        'INVALID_CREDENTIAL',
        'This token is malformed, expired or not from this server: sign in again.',
      )
    }
    limits.countSession(id)
    const viewer = await counted(sessionById(id, provider), found => sessionViewer(found, origin, provider), origin)
    limits.countMember(viewer)
    return viewer
  }

  function liveViewer(found: OwnedShare | null, origin: Origin): Viewer {
    const viewer = shareViewer(found, origin)
    requireUnexpired(viewer)
    return viewer
  }

  async function sessionOf(id: string | null | undefined, origin: Origin): Promise<Viewer | null> {
    return id == null ? null : sessionViewer(await sessionById(id, null), origin, null)
  }

  async function byShare(
    token: string,
    { unlock, session }: Parameters<Credentials['authenticateShare']>[1],
    origin: Origin,
  ): Promise<{ viewer: Viewer; share: ShareRecord }> {
    if (!isShareToken(token)) {
      limits.countGuess(origin.address)
      throw unknownShare()
    }
    const hash = hashToken(token).toString('hex')
    using _trial = await limits.tryKey(hash, origin)
    const authenticated = (found: OwnedShare | null) => {
      if (!found) throw unknownShare()
      return { share: found.share, viewer: liveViewer(found, origin) }
    }
    const found = await counted(shares.byHash(hash), authenticated, origin)
    limits.countKey(hash)
    limits.countMember(found.viewer)
    const sessionId = await unlock(found.share)
    if (!found.share.recipients) return found
    const opener = session === null ? await sessionOf(sessionId, origin) : await bySession(session, origin)
    return { share: found.share, viewer: asRecipient(found.viewer, opener) }
  }

  async function counted<Found, Result>(
    finding: Promise<Found>,
    viewerOf: (found: Found) => Result,
    { address }: Origin,
  ): Promise<Result> {
    const found = await finding
    try {
      return viewerOf(found)
    } catch (error) {
      if (error instanceof AppError && error.code === 'UNAUTHENTICATED') limits.countBad(address)
      throw error
    }
  }

  /** The latest check of each viewer, so that long work checks at most once a second. */
  const latest = new WeakMap<Viewer, Viewer>()

  async function recall(
    { kind, credentialId, openedBy, origin }: Parameters<Credentials['recall']>[0],
    provider: ProviderName | null = null,
  ): Promise<Viewer> {
    if (kind === 'API_KEY') return keyViewer(await keyById(credentialId, provider), origin, provider)
    if (kind === 'SESSION') return sessionViewer(await sessionById(credentialId, provider), origin, provider)
    const viewer = liveViewer(await shares.byId(credentialId), origin)
    return asRecipient(viewer, await sessionOf(openedBy?.sessionId, origin))
  }

  async function recallMember({
    workspaceId,
    userId,
    sessionId,
    origin,
  }: Parameters<Credentials['recallMember']>[0]): Promise<Viewer> {
    const member = await memberOf(`${workspaceId}/${userId}`)
    if (!member) throw new AppError('INVALID_CREDENTIAL', 'The person who created this is no longer a member.')
    requireActive(member)
    return memberViewer(member, sessionId, origin)
  }

  function recallViewer(viewer: Viewer, provider: ProviderName | null = null): Promise<Viewer> {
    const { credentialId: sessionId, member, origin } = viewer
    return viewer.outlivesSession ? recallMember({ ...member, sessionId, origin }) : recall(viewer, provider)
  }

  return {
    authenticate(token, origin, provider = null, audience = 'SERVER') {
      if (isApiKey(token)) return byKey(token, origin, provider)
      if (isAccessToken(token)) return byAccessToken(token, origin, provider, audience)
      return bySession(token, origin, provider)
    },
    authenticateSigned: bySignature,
    authenticatePublicKey: byPublicKey,
    authenticateShare: byShare,
    authenticateSession: bySession,
    async confirm(viewer) {
      const known = latest.get(viewer) ?? viewer
      if (performance.now() - known.confirmedAt < freshness) return known
      const now = await recallViewer(viewer)
      latest.set(viewer, now)
      return now
    },
    recall,
    recallMember,
    recallViewer,
  }
}

/** Returns the text of a lookup, without spaces. */
function textOfLogin({ publicKey, email }: PublicKeyLogin): string {
  // No account has a longer email.
  const account = Buffer.from(emailKey(email.slice(0, maxEmail)))
  return `${account.toString('base64url')}.${publicKey.toString('base64')}`
}

function unknownAccessKey(): AppError {
  return new AppError('INVALID_CREDENTIAL', 'This access key ID is unknown: use the one shown with the API key.')
}
