/** The OAuth 2.0 endpoints of a vendor (RFC 6749 with PKCE, RFC 7636), for the fake servers. */
import { createHash, randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { readBody, sendJson } from './http.ts'

export interface OAuthRules {
  clientId: string
  clientSecret: string
  /** The parameter of the consent that asks for a refresh token, such as `token_access_type=offline`. */
  isOffline(query: URLSearchParams): boolean
  /** Scopes that the app may request. */
  scopes: readonly string[]
  /** Seconds. */
  lifetime: number
  prefix: string
}

interface Code {
  redirectUri: string
  challenge: string | null
  isOffline: boolean
}

const randomToken = (prefix: string) => prefix + randomBytes(48).toString('base64url')

export class OAuthServer {
  readonly rules: OAuthRules
  /** The person's response on the consent screen. */
  consents = true
  /** The number of token requests by grant type. */
  readonly grants: Record<string, number> = {}
  readonly #codes = new Map<string, Code>()
  readonly #refreshTokens = new Set<string>()
  readonly #accessTokens = new Set<string>()
  readonly #expired = new Set<string>()

  constructor(rules: OAuthRules) {
    this.rules = rules
  }

  stateOf(request: IncomingMessage): 'valid' | 'expired' | 'unknown' {
    const token = /^Bearer (\S+)$/.exec(request.headers.authorization ?? '')?.[1] ?? ''
    if (this.#accessTokens.has(token)) return 'valid'
    return this.#expired.has(token) ? 'expired' : 'unknown'
  }

  issue(): string {
    const token = randomToken(this.rules.prefix)
    this.#accessTokens.add(token)
    return token
  }

  issueRefreshToken(): string {
    const token = randomToken('refresh-')
    this.#refreshTokens.add(token)
    return token
  }

  /** Expires all access tokens. Refresh tokens stay valid. */
  expireAccessTokens(): void {
    for (const token of this.#accessTokens) this.#expired.add(token)
    this.#accessTokens.clear()
  }

  /** Withdraws the consent, as a person does in the settings of their account. */
  withdraw(): void {
    this.#refreshTokens.clear()
    this.#accessTokens.clear()
    this.#codes.clear()
  }

  /** The consent screen, to which the person responds at once. */
  authorize(query: URLSearchParams, response: ServerResponse): void {
    const redirectUri = query.get('redirect_uri') ?? ''
    const method = query.get('code_challenge_method')
    const asked = (query.get('scope') ?? '').split(' ')
    const isAllowed =
      query.get('client_id') === this.rules.clientId &&
      query.get('response_type') === 'code' &&
      asked.every(scope => this.rules.scopes.includes(scope)) &&
      (!query.has('code_challenge') || method === 'S256')
    if (!isAllowed || !URL.canParse(redirectUri)) {
      response.writeHead(400, { 'content-type': 'text/html' }).end('This request is not valid.')
      return
    }
    const target = new URL(redirectUri)
    if (query.has('state')) target.searchParams.set('state', query.get('state') ?? '')
    if (this.consents) {
      const code = randomToken('')
      const challenge = query.get('code_challenge')
      this.#codes.set(code, { redirectUri, challenge, isOffline: this.rules.isOffline(query) })
      target.searchParams.set('code', code)
    } else {
      target.searchParams.set('error', 'access_denied')
    }
    response.writeHead(302, { location: target.href }).end()
  }

  /** @param query the parameters in the URL, which some SDKs use instead of a form */
  async token(request: IncomingMessage, query: URLSearchParams, response: ServerResponse): Promise<void> {
    const body = (await readBody(request)).toString()
    const form = new URLSearchParams(body || query)
    const refused = this.#refusal(form)
    if (refused) {
      sendJson(response, { error: refused, error_description: `${refused} (fake)` }, 400)
      return
    }
    const refresh = form.get('grant_type') === 'authorization_code' ? this.#redeem(form) : undefined
    sendJson(response, {
      access_token: this.issue(),
      token_type: 'bearer',
      expires_in: this.rules.lifetime,
      scope: this.rules.scopes.join(' '),
      ...(refresh !== undefined && { refresh_token: refresh }),
    })
  }

  #refusal(form: URLSearchParams): string | undefined {
    const type = form.get('grant_type') ?? ''
    this.grants[type] = (this.grants[type] ?? 0) + 1
    if (form.get('client_id') !== this.rules.clientId) return 'invalid_client'
    const secret = form.get('client_secret')
    if (secret !== null && secret !== this.rules.clientSecret) return 'invalid_client'
    if (type === 'refresh_token') {
      return this.#refreshTokens.has(form.get('refresh_token') ?? '') ? undefined : 'invalid_grant'
    }
    if (type !== 'authorization_code') return 'unsupported_grant_type'
    const code = this.#codes.get(form.get('code') ?? '')
    if (!code || code.redirectUri !== form.get('redirect_uri')) return 'invalid_grant'
    if (code.challenge === null) return secret === null ? 'invalid_client' : undefined
    const verifier = form.get('code_verifier') ?? ''
    return createHash('sha256').update(verifier).digest('base64url') === code.challenge ? undefined : 'invalid_grant'
  }

  /** A code works once. */
  #redeem(form: URLSearchParams): string | undefined {
    const code = this.#codes.get(form.get('code') ?? '')
    this.#codes.delete(form.get('code') ?? '')
    return code?.isOffline ? this.issueRefreshToken() : undefined
  }
}
