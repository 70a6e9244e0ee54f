/** Google's OAuth 2.0 endpoints (developers.google.com/identity/protocols/oauth2). */
import { createHash, createPublicKey, generateKeyPairSync, randomUUID, verify } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { readBody, sendJson } from '../cloud/http.ts'
import { invalidCredentials } from './errors.ts'
import { randomId } from './store.ts'

const assertionGrant = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
const driveScope = 'https://www.googleapis.com/auth/drive'

interface Code {
  redirectUri: string
  challenge: string | null
  offline: boolean
  expires: number
}

class Refused extends Error {
  readonly error: string
  readonly status: number
  constructor(error: string, description: string, status = 400) {
    super(description)
    this.error = error
    this.status = status
  }
}

export class OAuth {
  readonly clientId = `${randomUUID().slice(0, 8)}.apps.googleusercontent.com`
  readonly clientSecret = `GOCSPX-${randomUUID()}`
  /** Milliseconds. */
  tokenLifetime = 3_600_000
  /** The person's response on the consent screen. */
  consents = true
  /** The number of token requests by grant type. */
  readonly grants: Record<string, number> = {}
  readonly #account: string
  readonly #codes = new Map<string, Code>()
  readonly #refreshTokens = new Set<string>()
  readonly #accessTokens = new Map<string, { account: string; expires: number }>()
  readonly #serviceAccounts = new Map<string, string>()

  constructor(account: string) {
    this.#account = account
  }

  /** @throws 401 authError */
  accountOf(request: IncomingMessage): string {
    const token = /^Bearer (\S+)$/.exec(request.headers.authorization ?? '')?.[1]
    const known = this.#accessTokens.get(token ?? '')
    if (!known || known.expires <= Date.now()) throw invalidCredentials()
    return known.account
  }

  issue(account = this.#account): string {
    const token = randomId('ya29.', 40)
    this.#accessTokens.set(token, { account, expires: Date.now() + this.tokenLifetime })
    return token
  }

  /** Expires all access tokens, as after one hour. Refresh tokens stay valid. */
  expireAccessTokens(): void {
    this.#accessTokens.clear()
  }

  /** Withdraws the consent, as a person does at myaccount.google.com/permissions. */
  withdraw(): void {
    this.#refreshTokens.clear()
    this.#accessTokens.clear()
    this.#codes.clear()
  }

  /** Returns the JSON key that the Cloud console creates. */
  addServiceAccount(email: string): string {
    const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    this.#serviceAccounts.set(email, publicKey.export({ type: 'spki', format: 'pem' }).toString())
    return JSON.stringify({
      type: 'service_account',
      project_id: 'fake',
      private_key_id: randomId('', 20),
      private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
      client_email: email,
      client_id: '1',
      token_uri: 'https://oauth2.googleapis.com/token',
    })
  }

  removeServiceAccount(email: string): void {
    this.#serviceAccounts.delete(email)
  }

  /** The consent screen, to which the person responds at once. */
  authorize(query: URLSearchParams, response: ServerResponse): void {
    const redirectUri = query.get('redirect_uri') ?? ''
    const method = query.get('code_challenge_method')
    const problem =
      query.get('client_id') !== this.clientId
        ? 'invalid_client'
        : query.get('response_type') !== 'code' ||
            (query.has('code_challenge') && method !== 'S256' && method !== 'plain')
          ? 'invalid_request'
          : query.get('scope') !== driveScope
            ? 'invalid_scope'
            : null
    if (problem || !URL.canParse(redirectUri)) {
      response.writeHead(400, { 'content-type': 'text/html' }).end(`Error 400: ${problem ?? 'redirect_uri_mismatch'}`)
      return
    }
    const target = new URL(redirectUri)
    if (query.has('state')) target.searchParams.set('state', query.get('state') ?? '')
    if (this.consents) {
      const code = randomId('4/', 32)
      this.#codes.set(code, {
        redirectUri,
        challenge: query.get('code_challenge'),
        offline: query.get('access_type') === 'offline',
        expires: Date.now() + 600_000,
      })
      target.searchParams.set('code', code)
      target.searchParams.set('scope', driveScope)
    } else {
      target.searchParams.set('error', 'access_denied')
    }
    response.writeHead(302, { location: target.href }).end()
  }

  async token(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const form = new URLSearchParams((await readBody(request)).toString())
    try {
      sendJson(response, this.#grant(form))
    } catch (error) {
      if (!(error instanceof Refused)) throw error
      sendJson(response, { error: error.error, error_description: error.message }, error.status)
    }
  }

  async revoke(request: IncomingMessage, query: URLSearchParams, response: ServerResponse): Promise<void> {
    const form = new URLSearchParams((await readBody(request)).toString())
    const token = query.get('token') ?? form.get('token') ?? ''
    if (!this.#refreshTokens.has(token) && !this.#accessTokens.has(token)) {
      sendJson(response, { error: 'invalid_token', error_description: 'Token expired or revoked' }, 400)
      return
    }
    this.withdraw()
    sendJson(response, {})
  }

  #grant(form: URLSearchParams): object {
    const type = form.get('grant_type') ?? ''
    this.grants[type] = (this.grants[type] ?? 0) + 1
    const bearer = { expires_in: Math.floor(this.tokenLifetime / 1000), token_type: 'Bearer', scope: driveScope }
    if (type === assertionGrant)
      return { access_token: this.issue(this.#assert(form.get('assertion') ?? '')), ...bearer }
    if (form.get('client_id') !== this.clientId || form.get('client_secret') !== this.clientSecret) {
      throw new Refused('invalid_client', 'Unauthorized', 401)
    }
    if (type === 'authorization_code') return { ...bearer, ...this.#redeem(form), access_token: this.issue() }
    if (type !== 'refresh_token') throw new Refused('unsupported_grant_type', `Invalid grant_type: ${type}`)
    if (!this.#refreshTokens.has(form.get('refresh_token') ?? '')) {
      throw new Refused('invalid_grant', 'Token has been expired or revoked.')
    }
    return { access_token: this.issue(), ...bearer }
  }

  #redeem(form: URLSearchParams): object {
    const code = this.#codes.get(form.get('code') ?? '')
    // A code works once, even if the request fails.
    this.#codes.delete(form.get('code') ?? '')
    if (!code || code.expires < Date.now()) throw new Refused('invalid_grant', 'Malformed auth code.')
    if (code.redirectUri !== form.get('redirect_uri')) throw new Refused('redirect_uri_mismatch', 'Bad Request')
    const verifier = form.get('code_verifier')
    if (code.challenge !== null) {
      if (verifier === null) throw new Refused('invalid_grant', 'Missing code verifier.')
      if (createHash('sha256').update(verifier).digest('base64url') !== code.challenge) {
        throw new Refused('invalid_grant', 'Invalid code verifier.')
      }
    }
    if (!code.offline) return {}
    const token = randomId('1//', 40)
    this.#refreshTokens.add(token)
    return { refresh_token: token }
  }

  /** Checks an assertion (RFC 7523 with RS256) and returns its account. */
  #assert(assertion: string): string {
    const [head = '', body = '', signature = ''] = assertion.split('.')
    const refuse = () => new Refused('invalid_grant', 'Invalid JWT Signature.')
    try {
      const header = JSON.parse(Buffer.from(head, 'base64url').toString())
      const claims = JSON.parse(Buffer.from(body, 'base64url').toString())
      const key = this.#serviceAccounts.get(claims.iss)
      if (header.alg !== 'RS256' || !key) throw refuse()
      const good = verify(
        'RSA-SHA256',
        Buffer.from(`${head}.${body}`),
        createPublicKey(key),
        Buffer.from(signature, 'base64url'),
      )
      const now = Date.now() / 1000
      if (!good || claims.exp < now || claims.iat > now + 60 || claims.exp - claims.iat > 3600) throw refuse()
      if (claims.aud !== 'https://oauth2.googleapis.com/token') throw new Refused('invalid_grant', 'Invalid JWT: aud.')
      if (claims.scope !== driveScope) throw new Refused('invalid_scope', 'Invalid OAuth scope.')
      return claims.iss
    } catch (error) {
      if (error instanceof Refused) throw error
      throw refuse()
    }
  }
}
