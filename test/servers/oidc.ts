/** Starts a real OpenID Connect issuer (oidc-provider) at which everybody signs in as the person of the test, without pages. */
import { createSign, generateKeyPairSync, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import Provider from 'oidc-provider'
import type { Test } from 'tap'

interface Person {
  id: string
  claims?: Record<string, unknown>
}

export interface TestIssuer {
  url: string
  clientId: string
  clientSecret: string
  /** Who signs in next; null refuses. */
  person: Person | null
  /** Changes the ID tokens in responses, as an attacker between the server and the issuer would. */
  tamper: ((claims: Record<string, unknown>, token: string) => string) | null
  /** Whether it names itself in its responses, as RFC 9207 asks, and promises so in its metadata. */
  namesItself: boolean
  /** Replaces the responses to other requests, such as those for the metadata. */
  respond: ((request: IncomingMessage, response: ServerResponse) => boolean) | null
  /** Signs claims as the issuer does. */
  sign(claims: Record<string, unknown>, header?: Record<string, unknown>): string
  /** Registers Stowage with its addresses, before the first request. */
  register(redirectUris: string[], afterLogout?: string[]): void
  /** Replaces the key that signs, so that tokens of the former one are forged. */
  rotateKeys(): void
  /** The parameters of each request for a token. */
  readonly tokenRequests: URLSearchParams[]
  close(): Promise<void>
}

/** Starts the issuer, without a client. */
export async function startIssuer(t: Test): Promise<TestIssuer> {
  const makeKey = () => generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
  let [privateKey, kid] = [makeKey(), 'one']
  const server: Server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const clientId = 'stowage'
  const clientSecret = randomUUID()
  const people = new Map<string, Person>()
  const makeProvider = (redirectUris: string[], afterLogout: string[]) =>
    new Provider(url, {
      clients: [
        {
          client_id: clientId,
          client_secret: clientSecret,
          redirect_uris: redirectUris,
          post_logout_redirect_uris: afterLogout,
          grant_types: ['authorization_code'],
          response_types: ['code'],
        },
      ],
      jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), kid, alg: 'RS256', use: 'sig' }] } as never,
      cookies: { keys: ['a key of the test'] },
      claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name', 'groups'] },
      // Otherwise, only the endpoint for user information has these claims.
      conformIdTokenClaims: false,
      pkce: { required: () => true },
      features: { devInteractions: { enabled: false } },
      interactions: { url: (_ctx, { uid }) => `/interaction/${uid}` },
      findAccount: (_ctx, id) => ({
        accountId: id,
        claims: async () => ({ sub: id, ...people.get(id)?.claims }),
      }),
      async loadExistingGrant(ctx) {
        const { client, session } = ctx.oidc
        const grant = new ctx.oidc.provider.Grant({ clientId: client?.clientId, accountId: session?.accountId })
        grant.addOIDCScope('openid email profile')
        await grant.save()
        return grant
      },
    })
  let provider: Provider | null = null
  let registered: [string[], string[]] = [[], []]
  const tokenRequests: URLSearchParams[] = []
  const issuer: TestIssuer = {
    url,
    clientId,
    clientSecret,
    tokenRequests,
    register(redirectUris, afterLogout = []) {
      registered = [redirectUris, afterLogout]
      provider = makeProvider(...registered)
    },
    rotateKeys() {
      privateKey = makeKey()
      kid = randomUUID()
      provider = makeProvider(...registered)
    },
    person: null,
    tamper: null,
    namesItself: true,
    respond: null,
    sign(claims, header = {}) {
      const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
      const input = `${encode({ alg: 'RS256', kid, typ: 'JWT', ...header })}.${encode(claims)}`
      return `${input}.${createSign('RSA-SHA256').update(input).sign(privateKey, 'base64url')}`
    },
    async close() {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
  server.on('request', async (request: IncomingMessage, response: ServerResponse) => {
    if (issuer.respond?.(request, response)) return
    if (!provider) throw new Error('Nothing is registered')
    if (!issuer.namesItself) forgetName(request, response)
    if (request.url?.startsWith('/interaction/')) {
      const { person } = issuer
      if (person) people.set(person.id, person)
      const refusal = { error: 'access_denied', error_description: 'Not today' }
      const result = person ? { login: { accountId: person.id } } : refusal
      await provider.interactionFinished(request, response, result)
      return
    }
    if (request.url === '/token') {
      request.on('data', chunk => tokenRequests.push(new URLSearchParams(String(chunk))))
    }
    if (request.url === '/token' && issuer.tamper) tamperWith(response, issuer.tamper)
    provider.callback()(request, response)
  })
  t.teardown(() => issuer.close().catch(() => {}))
  return issuer
}

/** Replaces the ID token in the response. */
function tamperWith(response: ServerResponse, tamper: NonNullable<TestIssuer['tamper']>): void {
  changeBody(response, (body: { id_token?: string }) => {
    if (!body.id_token) return
    const claims = JSON.parse(Buffer.from(body.id_token.split('.')[1] ?? '', 'base64url').toString())
    body.id_token = tamper(claims, body.id_token)
  })
}

/** Removes the name of the issuer from the address to which it sends the browser, and the promise of it from its metadata. */
function forgetName(request: IncomingMessage, response: ServerResponse): void {
  if (request.url?.startsWith('/.well-known/')) {
    changeBody(response, (body: { authorization_response_iss_parameter_supported?: boolean }) => {
      delete body.authorization_response_iss_parameter_supported
    })
  }
  const setHeader = response.setHeader.bind(response)
  response.setHeader = (name, value) => {
    if (name.toLowerCase() !== 'location' || !URL.canParse(String(value))) return setHeader(name, value)
    const url = new URL(String(value))
    url.searchParams.delete('iss')
    return setHeader(name, url.href)
  }
}

/** Changes the JSON of the response. */
function changeBody<T extends object>(response: ServerResponse, change: (body: T) => void): void {
  const end = response.end.bind(response)
  response.end = ((chunk?: unknown) => {
    const body = JSON.parse(String(chunk)) as T
    change(body)
    const changed = JSON.stringify(body)
    response.setHeader('content-length', Buffer.byteLength(changed))
    return end(changed)
  }) as typeof response.end
}

/** A browser that keeps cookies for each origin and follows redirects. */
export class TestBrowser {
  readonly #cookies = new Map<string, Map<string, string>>()

  /**
   * Follows redirects until one leads to `stopAt`, or to a response. Returns the last address and the response.
   * @param form which the first request sends
   */
  async open(
    address: string,
    stopAt?: (url: URL) => boolean,
    form?: URLSearchParams,
  ): Promise<{ url: URL; response: Response | null }> {
    let url = new URL(address)
    for (let steps = 0; steps < 10; steps++) {
      if (stopAt?.(url)) return { url, response: null }
      const jar = this.#jarOf(url.origin)
      const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ')
      const sent = form && steps === 0 ? { method: 'POST', body: form } : {}
      const response = await fetch(url, { redirect: 'manual', headers: cookie ? { cookie } : {}, ...sent })
      for (const line of response.headers.getSetCookie()) {
        const [pair = ''] = line.split(';', 1)
        const name = pair.slice(0, pair.indexOf('='))
        const value = pair.slice(name.length + 1)
        if (value === '' || /expires=Thu, 01 Jan 1970/i.test(line)) jar.delete(name)
        else jar.set(name, value)
      }
      const location = response.headers.get('location')
      if (location === null) return { url, response }
      await response.body?.cancel()
      url = new URL(location, url)
    }
    throw new Error('Too many redirects')
  }

  cookie(origin: string, name: string): string | null {
    return this.#cookies.get(new URL(origin).origin)?.get(name) ?? null
  }

  setCookie(origin: string, name: string, value: string): void {
    this.#jarOf(new URL(origin).origin).set(name, value)
  }

  #jarOf(origin: string): Map<string, string> {
    const jar = this.#cookies.get(origin) ?? new Map<string, string>()
    this.#cookies.set(origin, jar)
    return jar
  }

  /** Signs out of an origin. */
  forget(origin: string): void {
    this.#cookies.delete(new URL(origin).origin)
  }
}
