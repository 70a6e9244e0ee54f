/** Speaks OpenID Connect with one issuer: https://openid.net/specs/openid-connect-core-1_0.html, the code flow with PKCE. */
import type { JWTVerifyGetKey } from 'jose'
import type { Configuration, CustomFetch, ExportedJWKSCache, ServerMetadata } from 'openid-client'
import type { IssuerPrompt } from '../../db/schema.ts'
import { AppError } from '../../errors.ts'
import { Limiter } from '../../lib/limiter.ts'
import { readAtMost } from '../../lib/read-at-most.ts'
import { cut } from '../audit/event.ts'
import { type IssuedIdentity, type IssuedLogout, identityOf, logoutOf } from './oidc-claims.ts'
import { toSignInError, unavailable } from './oidc-errors.ts'

export interface IssuerSettings {
  issuer: string
  clientId: string
  clientSecret: string
  /** The claim with the names of groups; null if groups do not follow the issuer. */
  groupsClaim: string | null
  /** The default is that of the issuer. */
  prompt?: IssuerPrompt
  /** Minutes after which the issuer has to ask again who somebody is; 0 for no limit. */
  maxAgeMinutes?: number
}

/** The secrets of one sign-in, which only its browser has. */
export interface SignInChecks {
  state: string
  nonce: string
  codeVerifier: string
}

/** How a sign-in differs from a usual one. */
export interface SignInOptions {
  redirectUri: string
  /** Whether the issuer asks who the person is, although they are signed in there. */
  isFresh: boolean
}

/** A person who has signed in at the issuer. */
export interface ExchangedIdentity extends IssuedIdentity {
  /** The token in which the issuer says so, for a sign-out there; empty if it is too long, null if nobody can sign out there. */
  idToken: string | null
}

/** Milliseconds for one response of the issuer. */
const defaultTimeout = 10_000
/** Bytes of a response: metadata, keys, and tokens of people in many groups. */
const maxResponse = 1024 * 1024
/** Milliseconds for which the metadata of the issuer are kept. */
const metadataLifetime = 60 * 60 * 1000
/** Seconds for which its keys are kept. When a token has an unknown one, they are read again at once. */
const keysLifetime = 240
/** Seconds after which the library reads keys again for an unknown one. */
const keysAge = 60
/** Seconds by which the clocks may differ. */
const clockTolerance = 60
/** Seconds for which a logout token is valid. */
export const maxLogoutAge = 600
/** Seconds since the issuer has asked who somebody is, for a usual sign-in: a year. */
const longestAge = 365 * 24 * 60 * 60
/** Characters of an ID token in the address of a sign-out. */
const maxIdToken = 4000
/** Milliseconds between two readings of the keys for logout tokens, which anybody can send. */
const logoutKeysInterval = 5000

/** @param fetch connects to permitted addresses only */
export function createIssuer(
  { issuer, clientId, clientSecret, groupsClaim, prompt = 'DEFAULT', maxAgeMinutes = 0 }: IssuerSettings,
  fetch: typeof globalThis.fetch,
  timeout = defaultTimeout,
) {
  const limiter = new Limiter(16)
  const isPlain = new URL(issuer).protocol === 'http:'
  let known: { metadata: ServerMetadata; until: number } | null = null
  let discovering: Promise<ServerMetadata> | null = null
  /** The keys for ID tokens, with the second in which they were read. */
  let keys: ExportedJWKSCache | null = null
  let logoutKeys: { address: string; get: JWTVerifyGetKey } | null = null
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

  async function discover(): Promise<ServerMetadata> {
    const client = await library()
    const found = await client.discovery(new URL(issuer), clientId, undefined, undefined, {
      [client.customFetch]: boundedFetch,
      // Issuers on this machine alone can be reached without TLS.
      execute: isPlain ? [client.allowInsecureRequests] : [],
    })
    const metadata = found.serverMetadata()
    // The library compares addresses, and tokens name the issuer as text.
    if (metadata.issuer !== issuer) {
      const named = cut(metadata.issuer)
      throw new AppError('UNAVAILABLE', `The issuer calls itself "${named}" in its metadata: use exactly this address.`)
    }
    known = { metadata, until: performance.now() + metadataLifetime }
    return metadata
  }

  async function readMetadata(): Promise<ServerMetadata> {
    if (known && performance.now() < known.until) return known.metadata
    discovering ??= discover().finally(() => {
      discovering = null
    })
    return discovering.catch(cause => {
      throw cause instanceof AppError ? cause : unavailable(issuer, cause)
    })
  }

  /** Returns a configuration of its own for each sign-in, because the library keeps the keys of each. Its requests end with the signal. */
  async function configured(signal?: AbortSignal): Promise<Configuration> {
    const client = await library()
    const metadata = await readMetadata()
    const [basic, post] = [client.ClientSecretBasic(clientSecret), client.ClientSecretPost(clientSecret)]
    // OpenID Connect Discovery, section 3: the default is `client_secret_basic`.
    const methods = metadata.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
    const isPost = !methods.includes('client_secret_basic') && methods.includes('client_secret_post')
    const options = { [client.clockTolerance]: clockTolerance }
    const configuration = new client.Configuration(metadata, clientId, options, isPost ? post : basic)
    configuration[client.customFetch] = (url, { signal: own, ...options }) => {
      const signals = [own, signal].filter(each => each !== undefined)
      return boundedFetch(url, { ...options, ...(signals.length > 0 && { signal: AbortSignal.any(signals) }) })
    }
    if (isPlain) client.allowInsecureRequests(configuration)
    // TLS alone would do, but a signature also fails where a proxy reads and changes the traffic.
    client.enableNonRepudiationChecks(configuration)
    const now = Math.floor(Date.now() / 1000)
    if (keys && now - keys.uat < keysLifetime) {
      client.setJwksCache(configuration, { jwks: keys.jwks, uat: Math.min(keys.uat, now - keysAge) })
    }
    return configuration
  }

  /** Whether an address is that of a page at which people sign out. */
  function isExit(address: string | undefined): boolean {
    const protocol = address === undefined ? null : URL.parse(address)?.protocol
    return protocol === 'https:' || (isPlain && protocol === 'http:')
  }

  async function exchange(
    callback: URL,
    checks: SignInChecks,
    isFresh: boolean,
    signal?: AbortSignal,
  ): Promise<ExchangedIdentity> {
    signal?.throwIfAborted()
    const client = await library()
    const configuration = await configured(signal)
    const before = client.getJwksCache(configuration)
    const tokens = await client.authorizationCodeGrant(configuration, callback, {
      expectedState: checks.state,
      expectedNonce: checks.nonce,
      pkceCodeVerifier: checks.codeVerifier,
      idTokenExpected: true,
      ...((isFresh || maxAgeMinutes > 0) && { maxAge: isFresh ? 0 : maxAgeMinutes * 60 }),
    })
    const { end_session_endpoint: exit, userinfo_endpoint: userInfo } = configuration.serverMetadata()
    const { id_token: token = '' } = tokens
    const idToken = isExit(exit) ? (token.length <= maxIdToken ? token : '') : null
    const after = client.getJwksCache(configuration)
    if (after && after.uat !== before?.uat) keys = after
    const claims = { ...tokens.claims() }
    const hasEmail = claims.email !== undefined && claims.email_verified !== undefined
    const isMissing = !hasEmail || (groupsClaim !== null && !Object.hasOwn(claims, groupsClaim))
    // OpenID Connect Core, section 5.4: the claims of a scope need not be in the ID token.
    if (isMissing && userInfo !== undefined) {
      const more = await client.fetchUserInfo(configuration, tokens.access_token, String(claims.sub))
      // An address and whether it is verified come from one answer.
      const { email, email_verified } = hasEmail || more.email === undefined ? claims : more
      const together = { ...more, ...claims, email, email_verified }
      return { ...identityOf(issuer, together, groupsClaim), idToken }
    }
    return { ...identityOf(issuer, claims, groupsClaim), idToken }
  }

  return {
    issuer,

    /** Returns the address of the issuer's page at which a person signs in. @throws UNAVAILABLE */
    async signInUrl({ state, nonce, codeVerifier }: SignInChecks, { redirectUri, isFresh }: SignInOptions) {
      const client = await library()
      const configuration = await configured()
      const { scopes_supported: scopes } = configuration.serverMetadata()
      // Some issuers have a scope for the claim with the groups.
      const groups = groupsClaim !== null && scopes?.includes('groups') ? ' groups' : ''
      const asked = isFresh ? 'LOGIN' : prompt
      const url = client.buildAuthorizationUrl(configuration, {
        redirect_uri: redirectUri,
        scope: `openid email profile${groups}`,
        state,
        nonce,
        code_challenge: await client.calculatePKCECodeChallenge(codeVerifier),
        code_challenge_method: 'S256',
        // With a maximum age, the issuer has to say when it has asked (OpenID Connect Core, section 2: `auth_time`).
        max_age: String(isFresh ? 0 : maxAgeMinutes * 60 || longestAge),
        ...(asked !== 'DEFAULT' && { prompt: asked.toLowerCase() }),
      })
      return url.href
    },

    /**
     * Exchanges the code in the address to which the issuer has sent the browser.
     * @param isFresh as in `signInUrl`: the issuer must say that the person has signed in just now
     * @throws SIGN_IN_REFUSED, UNAVAILABLE, the reason of the signal
     */
    exchange(callback: URL, checks: SignInChecks, isFresh: boolean, signal?: AbortSignal): Promise<ExchangedIdentity> {
      return limiter.run(() =>
        exchange(callback, checks, isFresh, signal).catch(error => {
          throw signal?.aborted ? signal.reason : toSignInError(issuer, error)
        }),
      )
    },

    /**
     * Returns the address of the issuer's page at which a person signs out: OpenID Connect RP-Initiated Logout 1.0.
     * @param idToken empty if nobody knows it
     * @param returnTo where the issuer then sends the browser, if Stowage is registered with it
     * @throws NOT_FOUND if it has none, UNAVAILABLE
     */
    async signOutUrl(idToken: string, returnTo: string): Promise<string> {
      const client = await library()
      const configuration = await configured()
      if (!isExit(configuration.serverMetadata().end_session_endpoint)) {
        throw new AppError('NOT_FOUND', 'The issuer has no page to sign out.')
      }
      const hint = idToken === '' ? {} : { id_token_hint: idToken }
      return client.buildEndSessionUrl(configuration, { post_logout_redirect_uri: returnTo, ...hint }).href
    },

    /**
     * Verifies a logout token: OpenID Connect Back-Channel Logout 1.0, section 2.6.
     * @throws INVALID_INPUT, UNAVAILABLE
     */
    async verifyLogout(token: string): Promise<IssuedLogout> {
      const jose = await import('jose')
      const { jwks_uri: address = issuer } = await readMetadata()
      if (logoutKeys?.address !== address) {
        const url = new URL(address)
        if (url.protocol !== 'https:' && !isPlain) throw unavailable(issuer, new Error('Its keys have no TLS'))
        const get = jose.createRemoteJWKSet(url, {
          [jose.customFetch]: (url, options) => boundedFetch(url, { ...options, body: null } as never),
          timeoutDuration: timeout,
          cooldownDuration: logoutKeysInterval,
        })
        logoutKeys = { address, get }
      }
      const options = {
        issuer,
        audience: clientId,
        algorithms: ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'],
        clockTolerance,
        maxTokenAge: maxLogoutAge,
        requiredClaims: ['jti', 'events'],
      }
      const { payload } = await jose.jwtVerify(token, logoutKeys.get, options).catch(cause => {
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
