/** An application that connects with OAuth, without a browser: the person consents over GraphQL. */
import { createHash, randomBytes } from 'node:crypto'
import type { TestApp } from './app.ts'
import type { Data, GraphqlError } from './client.ts'

export const callback = 'http://127.0.0.1:4711/callback'
const day = 24 * 60 * 60 * 1000

export interface OAuthAnswer {
  status: number
  headers: Headers
  body: Data
}

export interface Rights {
  scopes?: string[]
  providerAccess?: object | null
  expiresAt?: string
}

/** What an application has after a person has consented. */
export interface Code {
  code: string
  verifier: string
  clientId: string
  /** The id of the connection in the list of keys. */
  keyId: string
  /** The address that the browser went to. */
  returnUrl: URL
}

export const approveDocument = `mutation ($input: ApproveConnectionInput!) {
  approveConnection(input: $input) { returnUrl apiKey { id name displayPrefix scopes application { name clientId audience destination isConnected } } }
}`

export function applicationOf(app: TestApp) {
  const post = async (path: string, body: URLSearchParams | object): Promise<OAuthAnswer> => {
    const isForm = body instanceof URLSearchParams
    const type = isForm ? 'application/x-www-form-urlencoded' : 'application/json'
    const init = { method: 'POST', headers: { 'content-type': type }, body: isForm ? `${body}` : JSON.stringify(body) }
    const response = await app.request(path, init)
    const text = await response.text()
    return { status: response.status, headers: response.headers, body: text === '' ? null : JSON.parse(text) }
  }
  const form = (path: string, fields: Record<string, string>) => post(path, new URLSearchParams(fields))

  /** Returns the parameters of the address that an application opens, without those whose value is undefined. */
  function request(clientId: string, changes: Record<string, string | undefined> = {}) {
    const verifier = randomBytes(32).toString('base64url')
    const parameters: Record<string, string | undefined> = {
      response_type: 'code',
      client_id: clientId,
      redirect_uri: callback,
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
      state: 'a state',
      ...changes,
    }
    const given = Object.entries(parameters).filter((each): each is [string, string] => each[1] !== undefined)
    return { verifier, query: `${new URLSearchParams(given)}` }
  }

  const consentInput = (query: string, rights: Rights = {}) => ({
    query,
    scopes: ['write'],
    expiresAt: new Date(Date.now() + day).toISOString(),
    ...rights,
  })

  const self = {
    post,
    form,
    request,
    consentInput,
    async register(metadata: object = {}): Promise<string> {
      const { status, body } = await post('/oauth/register', {
        client_name: 'Test application',
        redirect_uris: [callback],
        ...metadata,
      })
      if (status !== 201) throw new Error(JSON.stringify(body))
      return body.client_id
    },
    /** Consents with a session. */
    async consent(
      token: string,
      clientId: string,
      { changes = {}, ...rights }: Rights & { changes?: Record<string, string | undefined> } = {},
    ): Promise<Code> {
      const { query, verifier } = request(clientId, changes)
      const { approveConnection } = await app.ask(approveDocument, { input: consentInput(query, rights) }, token)
      const returnUrl = new URL(approveConnection.returnUrl)
      const code = returnUrl.searchParams.get('code') ?? ''
      return { code, verifier, clientId, keyId: approveConnection.apiKey.id, returnUrl }
    },
    exchange: ({ code, verifier, clientId }: Code, changes: Record<string, string> = {}) =>
      form('/oauth/token', {
        grant_type: 'authorization_code',
        code,
        code_verifier: verifier,
        client_id: clientId,
        redirect_uri: callback,
        ...changes,
      }),
    refresh: (refreshToken: string, clientId: string, changes: Record<string, string> = {}) =>
      form('/oauth/token', {
        grant_type: 'refresh_token',
        refresh_token: refreshToken,
        client_id: clientId,
        ...changes,
      }),
    /** Registers, consents and gets the first tokens. */
    async connect(token: string, rights: Rights & { changes?: Record<string, string | undefined> } = {}) {
      const clientId = await self.register()
      const given = await self.consent(token, clientId, rights)
      const { body } = await self.exchange(given)
      return {
        clientId,
        keyId: given.keyId,
        access: body.access_token as string,
        refresh: body.refresh_token as string,
      }
    },
    /** Returns the reason for which a document fails with a credential, or OK. */
    async reason(query: string, variables: object, token: string): Promise<string> {
      const { errors } = await app.graphql(query, { ...variables }, token)
      return (errors[0] as GraphqlError | undefined)?.extensions.reason ?? 'OK'
    },
  }
  return self
}
