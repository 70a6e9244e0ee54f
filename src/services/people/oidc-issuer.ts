/** Speaks OpenID Connect with one issuer: https://openid.net/specs/openid-connect-core-1_0.html, the code flow with PKCE. */
import type { JWTVerifyGetKey } from 'jose'
import type { Configuration, CustomFetch } from 'openid-client'
import { AppError } from '../../errors.ts'
import { Limiter } from '../../lib/limiter.ts'
import { readAtMost } from '../../lib/read-at-most.ts'

export interface IssuerSettings {
  issuer: string
  clientId: string
  clientSecret: string
  /** The claim with the names of groups; null if groups do not follow the issuer. */
  groupsClaim: string | null
}

/** A person, as the issuer describes them. */
export interface IssuedIdentity {
  issuer: string
  /** Permanent at the issuer. */
  subject: string
  email: string | null
  name: string | null
  /** The session at the issuer; null if it names none. */
  issuerSession: string | null
  /** The names of their groups; null if groups do not follow the issuer. */
  groups: readonly string[] | null
}

/** Whose sessions end, according to the issuer: those of a person, of one of their sessions there, or both. */
export interface IssuedLogout {
  issuer: string
  subject: string | null
  issuerSession: string | null
  /** Each message has its own. */
  id: string
}

/** The secrets of one sign-in, which only its browser has. */
export interface SignInChecks {
  state: string
  nonce: string
  codeVerifier: string
}

/** Milliseconds for one response of the issuer. */
const timeout = 10_000
/** Bytes of a response: metadata, keys, and tokens of people in many groups. */
const maxResponse = 1024 * 1024
/** Milliseconds for which the metadata of the issuer are kept. Its keys are read again when a token has an unknown one. */
const metadataLifetime = 60 * 60 * 1000
/** Seconds by which the clocks may differ. */
const clockTolerance = 60
/** OpenID Connect Core, section 2: at most 255 ASCII characters. */
const subjectPattern = /^[\x20-\x7e]{1,255}$/
const maxText = 254
/** Seconds for which a logout token is valid. */
export const maxLogoutAge = 600
/** The maximum number of groups of a person at the issuer. */
const maxGroups = 1000

/** @param fetch connects to permitted addresses only */
export function createIssuer(
  { issuer, clientId, clientSecret, groupsClaim }: IssuerSettings,
  fetch: typeof globalThis.fetch,
) {
  const limiter = new Limiter(16)
  let known: { configuration: Configuration; until: number } | null = null
  let discovering: Promise<Configuration> | null = null
  let keys: JWTVerifyGetKey | null = null
  // The library is loaded with the first sign-in.
  const library = () => import('openid-client')

  const boundedFetch: CustomFetch = async (url, { signal, body, ...options }) => {
    const signals = [AbortSignal.timeout(timeout), ...(signal ? [signal] : [])]
    const init = { ...options, ...(body != null && { body: body as BodyInit }), signal: AbortSignal.any(signals) }
    const response = await fetch(url, init)
    const bytes = await readAtMost(response, maxResponse)
    const isEmpty = [101, 204, 205, 304].includes(response.status)
    return new Response(isEmpty ? null : bytes, { status: response.status, headers: response.headers })
  }

  async function discover(): Promise<Configuration> {
    const client = await library()
    const url = new URL(issuer)
    const configuration = await client.discovery(
      url,
      clientId,
      { [client.clockTolerance]: clockTolerance },
      client.ClientSecretBasic(clientSecret),
      {
        [client.customFetch]: boundedFetch,
        // The settings permit HTTP for issuers on this machine only.
        execute: url.protocol === 'http:' ? [client.allowInsecureRequests] : [],
      },
    )
    // TLS alone would do, but a signature also fails where a proxy reads and changes the traffic.
    client.enableNonRepudiationChecks(configuration)
    known = { configuration, until: performance.now() + metadataLifetime }
    return configuration
  }

  async function configured(): Promise<Configuration> {
    if (known && performance.now() < known.until) return known.configuration
    discovering ??= discover().finally(() => {
      discovering = null
    })
    return discovering
  }

  return {
    issuer,

    /** Returns the address of the issuer's page at which a person signs in. @throws UNAVAILABLE */
    async signInUrl({ state, nonce, codeVerifier }: SignInChecks, redirectUri: string): Promise<string> {
      const client = await library()
      const configuration = await configured().catch(cause => {
        throw unavailable(issuer, cause)
      })
      const url = client.buildAuthorizationUrl(configuration, {
        redirect_uri: redirectUri,
        scope: 'openid email profile',
        state,
        nonce,
        code_challenge: await client.calculatePKCECodeChallenge(codeVerifier),
        code_challenge_method: 'S256',
      })
      return url.href
    },

    /**
     * Exchanges the code in the address to which the issuer has sent the browser.
     * @throws SIGN_IN_REFUSED, UNAVAILABLE
     */
    async exchange(callback: URL, { state, nonce, codeVerifier }: SignInChecks): Promise<IssuedIdentity> {
      const client = await library()
      return limiter.run(async () => {
        try {
          const tokens = await client.authorizationCodeGrant(await configured(), callback, {
            expectedState: state,
            expectedNonce: nonce,
            pkceCodeVerifier: codeVerifier,
            idTokenExpected: true,
          })
          return identityOf(issuer, tokens.claims() ?? {}, groupsClaim)
        } catch (error) {
          throw toSignInError(issuer, error)
        }
      })
    },

    /**
     * Verifies a logout token: OpenID Connect Back-Channel Logout 1.0, section 2.6.
     * @throws INVALID_INPUT, UNAVAILABLE
     */
    async verifyLogout(token: string): Promise<IssuedLogout> {
      const jose = await import('jose')
      const configuration = await configured().catch(cause => {
        throw unavailable(issuer, cause)
      })
      keys ??= jose.createRemoteJWKSet(new URL(configuration.serverMetadata().jwks_uri ?? issuer), {
        [jose.customFetch]: (url, options) => boundedFetch(url, { ...options, body: null } as never),
        timeoutDuration: timeout,
      })
      const options = {
        issuer,
        audience: clientId,
        algorithms: ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'],
        clockTolerance,
        maxTokenAge: maxLogoutAge,
        requiredClaims: ['jti', 'events'],
      }
      const { payload } = await jose.jwtVerify(token, keys, options).catch(cause => {
        const isRefusal = cause instanceof jose.errors.JOSEError && !(cause instanceof jose.errors.JWKSTimeout)
        throw isRefusal
          ? new AppError('INVALID_INPUT', 'The logout token is invalid.', { cause })
          : unavailable(issuer, cause)
      })
      return logoutOf(issuer, payload)
    },
  }
}

export type Issuer = ReturnType<typeof createIssuer>

/** Returns a claim, or null for what no account could have. */
function textOf(value: unknown): string | null {
  const isText = typeof value === 'string' && value !== '' && value.length <= maxText
  return isText && value.isWellFormed() && !value.includes('\0') ? value : null
}

/** The event of a logout token, and of no other token of an issuer. */
const logoutEvent = 'http://schemas.openid.net/event/backchannel-logout'

/** @throws INVALID_INPUT */
function logoutOf(issuer: string, { sub, sid, jti, events, nonce }: Record<string, unknown>): IssuedLogout {
  const isLogout = typeof events === 'object' && events !== null && Object.hasOwn(events, logoutEvent)
  const subject = textOf(sub)
  const issuerSession = textOf(sid)
  const id = textOf(jti)
  if (!isLogout || nonce !== undefined || id === null || (subject === null && issuerSession === null)) {
    throw new AppError('INVALID_INPUT', 'The token is no logout token.')
  }
  return { issuer, subject, issuerSession, id }
}

/** @throws AppError for claims that no account could have */
function identityOf(issuer: string, claims: Record<string, unknown>, groupsClaim: string | null): IssuedIdentity {
  const { sub, email, name, sid } = claims
  if (typeof sub !== 'string' || !subjectPattern.test(sub)) {
    throw new AppError('SIGN_IN_REFUSED', 'The issuer named no valid subject.')
  }
  return {
    issuer,
    subject: sub,
    email: textOf(email),
    name: textOf(name),
    issuerSession: textOf(sid),
    groups:
      groupsClaim === null
        ? null
        : [claims[groupsClaim] ?? []]
            .flat()
            .flatMap(group => textOf(group) ?? [])
            .slice(0, maxGroups),
  }
}

/** The codes of openid-client for failures of the network, and of an issuer that does not speak the protocol. */
const unavailableCodes = new Set(['OAUTH_TIMEOUT', 'OAUTH_ABORT', 'OAUTH_RESPONSE_IS_NOT_CONFORM'])

function toSignInError(issuer: string, error: unknown): AppError {
  if (error instanceof AppError) return error
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const isRefusal = error instanceof Error && 'error' in error
  // `fetch` throws a TypeError without a code if it cannot connect.
  const isNetwork = unavailableCodes.has(code) || (code === '' && !isRefusal)
  if (isNetwork) return unavailable(issuer, error)
  return new AppError('SIGN_IN_REFUSED', undefined, { cause: error })
}

function unavailable(issuer: string, cause: unknown): AppError {
  return new AppError(
    'UNAVAILABLE',
    `${new URL(issuer).host} does not respond as an OpenID Connect issuer: try again later.`,
    {
      cause,
    },
  )
}
