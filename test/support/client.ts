/** A client of the API. */

export interface GraphqlError {
  message: string
  path?: (string | number)[]
  extensions: { code: string; reason: string; retryable: boolean; requestId: string; [fact: string]: unknown }
}

// biome-ignore lint/suspicious/noExplicitAny: each test asserts the shape of its response
export type Data = any

export interface GraphqlResult {
  status: number
  data: Data
  errors: GraphqlError[]
}

export interface Client {
  /** Sends a document and resolves even if the response has errors. */
  graphql(query: string, variables?: Record<string, unknown>, token?: string | null): Promise<GraphqlResult>
  /** Sends a document and resolves with its data. @throws if the response has errors */
  ask(query: string, variables?: Record<string, unknown>, token?: string | null): Promise<Data>
  /** Sends a request to any route with the token as a Bearer credential. */
  request(path: string, init?: RequestInit & { token?: string | null; duplex?: 'half' }): Promise<Response>
  /** Registers somebody and resolves with their token and id. */
  register(email: string, options?: { password?: string; invite?: string }): Promise<{ token: string; id: string }>
  /** Connects a provider and resolves with its id. */
  connectProvider(token: string, type: string, config: object, name?: string): Promise<string>
  /** Creates a key and resolves with it and its id. */
  createKey(token: string, input: object): Promise<{ key: string; id: string }>
  upload(
    token: string,
    providerId: string,
    path: string,
    body: NonNullable<RequestInit['body']>,
    query?: string,
  ): Promise<Response>
  download(token: string | null, providerId: string, path: string, headers?: RequestInit['headers']): Promise<Response>
}

export const password = 'correct horse battery staple'

export function client(url: string): Client {
  const bearer = (token: string | null | undefined): Record<string, string> =>
    token ? { authorization: `Bearer ${token}` } : {}

  const graphql: Client['graphql'] = async (query, variables = {}, token) => {
    const response = await fetch(`${url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...bearer(token) },
      body: JSON.stringify({ query, variables }),
    })
    const body = (await response.json()) as { data?: Data; errors?: GraphqlError[] }
    return { status: response.status, data: body.data ?? null, errors: body.errors ?? [] }
  }

  const ask: Client['ask'] = async (query, variables, token) => {
    const { data, errors } = await graphql(query, variables, token)
    if (errors.length > 0) throw new Error(`${query}: ${JSON.stringify(errors)}`)
    return data
  }

  const request: Client['request'] = (path, { token, headers, ...init } = {}) =>
    fetch(url + path, { ...init, headers: { ...bearer(token), ...Object.fromEntries(new Headers(headers ?? {})) } })

  return {
    graphql,
    ask,
    request,
    async register(email, options = {}) {
      const input = { email, password, ...options }
      const data = await ask('mutation ($input: RegisterInput!) { register(input: $input) { token user { id } } }', {
        input,
      })
      return { token: data.register.token, id: data.register.user.id }
    },
    async connectProvider(token, type, config, name = type) {
      const data = await ask(
        'mutation ($input: ConnectProviderInput!) { connectProvider(input: $input) { provider { id } } }',
        { input: { type, name, config } },
        token,
      )
      return data.connectProvider.provider.id
    },
    async createKey(token, input) {
      const data = await ask(
        'mutation ($input: CreateApiKeyInput!) { createApiKey(input: $input) { key apiKey { id } } }',
        { input },
        token,
      )
      return { key: data.createApiKey.key, id: data.createApiKey.apiKey.id }
    },
    upload(token, providerId, path, body, query = '') {
      const search = new URLSearchParams({ providerId, path })
      return request(`/api/upload/proxy?${search}${query}`, { method: 'POST', token, body, duplex: 'half' })
    },
    download(token, providerId, path, headers = {}) {
      return request(`/api/download/proxy?${new URLSearchParams({ providerId, path })}`, { token, headers })
    },
  }
}
