/**
 * The tokens of connected applications. A refresh token works once: with its second use, somebody else has it, too, and the connection
 * ends. There is no grace for a lost response, because the server cannot tell it from a theft; the person then connects again.
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import {
  type Audience,
  connectionOf,
  generateRefreshToken,
  isCode,
  openAccessToken,
  signAccessToken,
} from '../../auth/access-tokens.ts'
import { hashToken } from '../../auth/api-key.ts'
import type { Scope } from '../../auth/scopes.ts'
import type { Secrets } from '../../auth/secrets.ts'
import type { Origin } from '../../auth/viewer.ts'
import { revokeApiKey } from '../../db/api-keys.ts'
import type { Database } from '../../db/client.ts'
import { type ConnectionRecord, findConnection, rotateRefreshToken, useCode } from '../../db/connections.ts'
import { AppError } from '../../errors.ts'
import type { Audit } from '../audit/index.ts'
import type { RequestLimits } from '../limits/requests.ts'
import type { Credentials } from '../people/credentials.ts'
import { audienceOf, requireGiven } from './authorization-requests.ts'
import { OAuthError, required } from './oauth-error.ts'

/** Seconds for which an access token works. */
const accessLifetime = 15 * 60
/** RFC 7636, section 4.1. */
const verifierPattern = /^[\w.~-]{43,128}$/

export interface IssuedTokens {
  accessToken: string
  refreshToken: string
  scopes: readonly Scope[]
  /** Seconds. */
  expiresIn: number
}

/** Why a connection has ended, besides a revocation by the person. */
type EndCause = 'CODE_REUSED' | 'REFRESH_TOKEN_REUSED' | 'APPLICATION'

export function createTokens({
  db,
  secrets,
  audit,
  credentials,
  limits,
}: {
  db: Database
  secrets: Secrets
  audit: Audit
  credentials: Pick<Credentials, 'recall'>
  limits: Pick<RequestLimits, 'countGuess'>
}) {
  /** @throws OAuthError for a connection that has ended, or whose owner is deactivated */
  async function requireUsable({ keyId }: ConnectionRecord, origin: Origin): Promise<void> {
    try {
      await credentials.recall({ kind: 'API_KEY', credentialId: keyId, origin })
    } catch (error) {
      if (error instanceof AppError && error.code === 'UNAUTHENTICATED') throw ended(error)
      throw error
    }
  }

  /** Ends a connection for good, also while its owner is deactivated. */
  async function end(connection: ConnectionRecord, cause: EndCause, origin: Origin): Promise<void> {
    const { keyId, clientId, clientName: application, owner, revokedAt } = connection
    if (revokedAt) return
    const facts = {
      subject: { kind: 'API_KEY', id: keyId },
      user: owner,
      credential: { kind: 'API_KEY', id: keyId },
      details: { application, clientId, cause },
    } as const
    await audit.recorded({ origin }, 'CONNECTION_END', facts, recording =>
      recording.commit(change => revokeApiKey(change, keyId)),
    )
  }

  function issue(connection: ConnectionRecord, audience: Audience, refreshToken: string): IssuedTokens {
    const { keyId, scopes, expiresAt } = connection
    const end = Math.min(Date.now() + accessLifetime * 1000, expiresAt?.getTime() ?? Number.POSITIVE_INFINITY)
    const accessToken = signAccessToken(secrets, { keyId, audience, expiresAt: new Date(end) })
    return { accessToken, refreshToken, scopes, expiresIn: Math.max(0, Math.floor((end - Date.now()) / 1000)) }
  }

  /** Uses the code of a connection up. Returns false if it was used or has expired. */
  async function open(
    { keyId, clientId, clientName: application, owner: user }: ConnectionRecord,
    given: { codeHash: Buffer; refreshHash: Buffer; audience: Audience; origin: Origin },
  ): Promise<boolean> {
    const { codeHash, refreshHash, audience, origin } = given
    const key = { kind: 'API_KEY', id: keyId } as const
    const facts = { subject: key, user, credential: key, details: { application, clientId, audience } }
    let isUsed = false
    await audit
      .recorded({ origin }, 'CONNECTION_OPEN', facts, recording =>
        recording.commit(async change => {
          isUsed = !(await useCode(change, codeHash, refreshHash))
          if (isUsed) throw new OAuthError('invalid_grant', 'The code was used, or has expired: connect again.')
        }),
      )
      .catch(error => {
        if (!isUsed) throw error
      })
    return !isUsed
  }

  function unknown(what: string, origin: Origin): OAuthError {
    limits.countGuess(origin.address)
    return new OAuthError('invalid_grant', `${what} is unknown: connect again.`)
  }

  async function exchange(form: Form, baseUrl: string, origin: Origin): Promise<IssuedTokens> {
    const code = required(form, 'code')
    const verifier = required(form, 'code_verifier')
    const clientId = required(form, 'client_id')
    const codeHash = hashToken(code)
    const connection = isCode(code) ? await findConnection(db, 'code_hash', codeHash) : null
    if (connection?.clientId !== clientId) throw unknown('The code', origin)
    if (connection.refreshHash) return refuseReuse(connection, 'CODE_REUSED', origin)
    const redirectUri = form.get('redirect_uri')
    if (redirectUri !== undefined && redirectUri !== connection.redirectUri) {
      throw new OAuthError('invalid_grant', 'The redirect address differs from that of the authorization.')
    }
    if (!isVerified(verifier, connection.codeChallenge)) {
      throw new OAuthError('invalid_grant', 'The code verifier does not match the challenge.')
    }
    const audience = requestedAudience(form, connection, baseUrl)
    requireGiven(form.get('scope'), connection.scopes)
    await requireUsable(connection, origin)
    const refresh = generateRefreshToken(secrets, connection.keyId)
    if (await open(connection, { codeHash, refreshHash: refresh.hash, audience, origin })) {
      return issue(connection, audience, refresh.token)
    }
    if (connection.codeExpiresAt <= new Date()) {
      throw new OAuthError('invalid_grant', 'The code has expired: connect again.')
    }
    return refuseReuse(connection, 'CODE_REUSED', origin)
  }

  async function refresh(form: Form, baseUrl: string, origin: Origin): Promise<IssuedTokens> {
    const token = required(form, 'refresh_token')
    const clientId = required(form, 'client_id')
    const present = hashToken(token)
    const connection = await findByRefreshToken(token)
    if (connection?.clientId !== clientId) throw unknown('The refresh token', origin)
    if (!connection.refreshHash?.equals(present)) return refuseReuse(connection, 'REFRESH_TOKEN_REUSED', origin)
    const audience = requestedAudience(form, connection, baseUrl)
    requireGiven(form.get('scope'), connection.scopes)
    await requireUsable(connection, origin)
    const next = generateRefreshToken(secrets, connection.keyId)
    if (!(await rotateRefreshToken(db, { present, next: next.hash }))) {
      return refuseReuse(connection, 'REFRESH_TOKEN_REUSED', origin)
    }
    return issue(connection, audience, next.token)
  }

  /** Finds the connection that a refresh token is or was for. */
  function findByRefreshToken(token: string): Promise<ConnectionRecord | null> {
    const signedFor = connectionOf(secrets, token)
    // After a rotation of the secret, only the hash of the present token is left.
    return signedFor === null
      ? findConnection(db, 'refresh_hash', hashToken(token))
      : findConnection(db, 'key_id', signedFor)
  }

  /** Finds the connection of a token with which an application may end it: an expired token proves nothing any more. */
  async function findByToken(token: string): Promise<ConnectionRecord | null> {
    const claims = openAccessToken(secrets, token)
    if (!claims) return findByRefreshToken(token)
    return claims.expiresAt > new Date() ? findConnection(db, 'key_id', claims.keyId) : null
  }

  async function refuseReuse(connection: ConnectionRecord, cause: EndCause, origin: Origin): Promise<never> {
    await end(connection, cause, origin)
    throw new OAuthError(
      'invalid_grant',
      'The code or refresh token was used before, so the connection has ended: connect again.',
    )
  }

  return {
    /**
     * Issues tokens for a code or a refresh token: RFC 6749, sections 4.1.3 and 6.
     * @throws OAuthError, RATE_LIMITED
     */
    issue(form: Form, baseUrl: string, origin: Origin): Promise<IssuedTokens> {
      const grant = required(form, 'grant_type')
      if (grant === 'authorization_code') return exchange(form, baseUrl, origin)
      if (grant === 'refresh_token') return refresh(form, baseUrl, origin)
      throw new OAuthError('unsupported_grant_type', 'The grants are authorization_code and refresh_token.')
    },

    /**
     * Ends the connection of a token: RFC 7009. An unknown token is none to end.
     * @throws OAuthError, RATE_LIMITED
     */
    async revoke(form: Form, origin: Origin): Promise<void> {
      const token = required(form, 'token')
      const clientId = required(form, 'client_id')
      const connection = await findByToken(token)
      if (!connection) {
        limits.countGuess(origin.address)
        return
      }
      if (clientId !== connection.clientId) {
        throw new OAuthError('invalid_client', 'The token is for another application.')
      }
      await end(connection, 'APPLICATION', origin)
    },
  }
}

type Form = ReadonlyMap<string, string>

function ended(cause: AppError): OAuthError {
  return new OAuthError('invalid_grant', 'The connection has ended: connect again.', { cause })
}

/** Returns what the next token is for: a part of what the person has seen, or all of it. @throws OAuthError */
function requestedAudience(form: Form, { audience }: ConnectionRecord, baseUrl: string): Audience {
  const requested = audienceOf(form.get('resource') ?? null, baseUrl) ?? audience
  if (audience === 'SERVER' || requested === audience) return requested
  throw new OAuthError('invalid_target', 'The person has connected the application with the MCP endpoint alone.')
}

function isVerified(verifier: string, challenge: string): boolean {
  if (!verifierPattern.test(verifier)) return false
  const actual = Buffer.from(createHash('sha256').update(verifier).digest('base64url'))
  const expected = Buffer.from(challenge)
  return actual.length === expected.length && timingSafeEqual(actual, expected)
}
