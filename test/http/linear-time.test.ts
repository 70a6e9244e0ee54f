/**
 * The cost of anonymous input grows linearly with its length: adversarial text that is eight times as long may take eight
 * times as long, not 64 times. `linear-front-ends.test.ts` does the same for the other front ends.
 */
import t from 'tap'
import { startApp } from '../support/app.ts'
import { inBody, inHeaders, inUrl, json, type RequestWith, requireLinear, type Sent, units } from './linear-time.ts'

const variable = (query: string, variables: (text: string) => object): RequestWith => {
  return text => ({
    method: 'POST',
    path: '/graphql',
    headers: json,
    body: JSON.stringify({ query, variables: variables(text) }),
  })
}

function bodies(): Record<string, RequestWith> {
  const login = 'mutation ($input: LoginInput!) { login(input: $input) { token } }'
  const register = 'mutation ($input: RegisterInput!) { register(input: $input) { token } }'
  const account = { email: 'somebody@example.org', password: 'short' }
  const raw = (body: (text: string) => string): RequestWith => {
    return text => ({ method: 'POST', path: '/graphql', headers: json, body: body(text) })
  }
  return {
    'email of login': variable(login, text => ({ input: { ...account, email: text } })),
    'email of login, with an @': variable(login, text => ({ input: { ...account, email: `@${text}` } })),
    'password of login': variable(login, text => ({ input: { ...account, password: text } })),
    'email of register': variable(register, text => ({ input: { ...account, email: text } })),
    'password of register': variable(register, text => ({ input: { ...account, password: text } })),
    'name of register': variable(register, text => ({ input: { ...account, name: text } })),
    'invite of register': variable(register, text => ({
      input: { email: 'other@example.org', password: 'too short', invite: text },
    })),
    'unknown field': variable(login, text => ({ input: { [text]: 1 } })),
    'wrong value': variable(login, text => ({ input: text })),
    id: variable('query ($v: ID!) { provider(id: $v) { id } }', v => ({ v })),
    path: variable('query ($v: String!) { file(providerId: "x", path: $v) { id } }', v => ({ v })),
    time: variable('query ($v: DateTime!) { auditEvents(since: $v) { nodes { id } } }', v => ({ v })),
    cursor: variable('query ($v: String!) { auditEvents(after: $v) { nodes { id } } }', v => ({ v })),
    enum: variable('query ($v: AuditAction!) { auditEvents(action: $v) { nodes { id } } }', v => ({ v })),
    'operation name': raw(operationName => JSON.stringify({ query: '{ __typename }', operationName })),
    document: raw(query => JSON.stringify({ query })),
    comment: raw(text => JSON.stringify({ query: `# ${text}` })),
    'string in a document': raw(text => JSON.stringify({ query: `{ file(providerId: "x", path: "${text}") { id } }` })),
    body: raw(text => text),
  }
}

function urls(): Record<string, RequestWith> {
  const query = (path: string, name: string, more = ''): RequestWith => {
    return text => ({ path: `${path}?${more}${name}=${inUrl(text)}` })
  }
  return {
    address: text => ({ path: `/${inUrl(text)}` }),
    'name of a parameter': text => ({ path: `/api/download/proxy?${inUrl(text)}` }),
    ticket: query('/api/download/proxy', 'ticket'),
    providerId: query('/api/download/proxy', 'providerId', 'path=/&'),
    path: query('/api/download/proxy', 'path', 'providerId=x&'),
    state: query('/webhook/callback', 'state', 'code=x&'),
    code: query('/webhook/callback', 'code', 'state=x&'),
    'error of a consent': query('/webhook/callback', 'error', 'state=x&'),
    'document in an address': query('/graphql', 'query'),
    'variables in an address': query('/graphql', 'variables', 'query={__typename}&'),
    'id of an upload': text => ({ method: 'HEAD', path: `/api/upload/resumable/${inUrl(text)}` }),
    'asset of the console': text => ({ path: `/assets/${inUrl(text)}` }),
  }
}

/** @param file the path of a download link */
function headers(file: string, token: string, providerId: string): Record<string, RequestWith> {
  const header = (name: string, start = '', sent: Sent = { path: file }): [string, RequestWith] => [
    `${sent.method ?? 'GET'} with ${name}: ${start}`,
    text => ({ ...sent, headers: { ...sent.headers, [name]: start + text } }),
  ]
  const bearer = { authorization: `Bearer ${token}` }
  const upload = { method: 'POST', path: `/api/upload/proxy?providerId=${providerId}&path=/new`, body: 'x' }
  const uploadAs = { ...upload, headers: bearer }
  const tus = { method: 'POST', path: '/api/upload/resumable', headers: { ...bearer, 'tus-resumable': '1.0.0' } }
  const login = { method: 'POST', path: '/graphql', headers: json, body: '{"query":"{ __typename }"}' }
  const conditions = ['if-match', 'if-none-match'].flatMap(name => [
    header(name),
    header(name, '"a"'),
    header(name, '"'),
    header(name, '', uploadAs),
    header(name, '"a"', uploadAs),
  ])
  const digests = ['content-digest', 'repr-digest', 'content-md5', 'want-content-digest', 'want-repr-digest']
  return Object.fromEntries([
    ...conditions,
    ...digests.flatMap(name => [header(name), header(name, 'sha-256=:'), header(name, 'sha-256=:', uploadAs)]),
    header('range', 'bytes='),
    header('range', 'bytes=0-'),
    header('range'),
    header('if-range'),
    header('if-range', '"'),
    header('if-modified-since'),
    header('if-modified-since', 'Sun'),
    header('if-unmodified-since', 'Sunday, '),
    header('authorization', 'Bearer '),
    header('authorization'),
    header('authorization', 'Bearer eyJhbGciOiJIUzI1NiJ9.'),
    header('cookie', 'stowage_session=', { path: '/graphql?query={me{id}}', headers: { 'x-stowage-console': '1' } }),
    header('cookie', '', { path: '/graphql?query={me{id}}', headers: { 'x-stowage-console': '1' } }),
    header('accept', '', login),
    header('accept', 'application/json;', login),
    header('accept-language', '', { path: '/' }),
    header('accept-encoding', '', { path: '/' }),
    header('accept', '', { path: '/' }),
    header('content-type', '', upload),
    header('content-type', 'application/json;', login),
    header('content-type', 'multipart/form-data; boundary=', uploadAs),
    header('content-type', 'text/plain;', uploadAs),
    header('idempotency-key', '"', uploadAs),
    header('expect', '', upload),
    header('x-request-id'),
    header('x-forwarded-for'),
    header('x-forwarded-for', '10.0.0.1, '),
    header('x-forwarded-proto'),
    header('x-forwarded-host'),
    header('forwarded', 'for='),
    header('user-agent'),
    header('origin', '', login),
    header('x-stowage-console', '', login),
    ...[
      'upload-length',
      'upload-offset',
      'upload-metadata',
      'upload-checksum',
      'upload-concat',
      'upload-defer-length',
    ].map(name => header(name, '', tus)),
    header('upload-metadata', 'path ', tus),
    header('upload-checksum', 'sha1 ', tus),
    header('tus-resumable', '', { ...tus, headers: bearer }),
    header('upload-metadata', '', { ...tus, headers: {} }),
  ])
}

// The test sends thousands of requests.
t.setTimeout(600_000)

t.test('anonymous input takes time in proportion to its length', async t => {
  const app = await startApp(t, { settings: { trustedProxies: ['127.0.0.1'] } })
  const { token } = await app.register('owner@example.org')
  const id = await app.connectProvider(token, 'memory', {})
  await app.upload(token, id, '/file', 'content')
  const ask = 'query ($id: ID!) { file(providerId: $id, path: "/file") { downloadUrl } }'
  const { pathname, search } = new URL((await app.ask(ask, { id }, token)).file.downloadUrl)

  const kinds: [Record<string, RequestWith>, number][] = [
    [bodies(), inBody],
    [urls(), inHeaders],
    [headers(pathname + search, token, id), inHeaders],
  ]
  for (const [requests, length] of kinds) await requireLinear(t, app, requests, { length, units })
  t.notMatch(app.logged(), /"level":[56]0/, 'no request is logged as a fault')
})
