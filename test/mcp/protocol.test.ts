/** The requirements of the protocol and of HTTP, whichever tool is called. */
import t from 'tap'
import { hangUp, send as sendRequest } from '../matrix/api.ts'
import { startApp } from '../support/app.ts'
import { earlierMessage, type McpRequest, message, present, toolCall } from '../support/mcp.ts'

const app = await startApp(t)
t.teardown(hangUp)
const { token } = await app.register('owner@example.org')
const { key } = await app.createKey(token, { name: 'reader', scopes: ['read'] })

async function send(
  { path, ...init }: McpRequest,
  { headers = {}, by = key, to = app }: { headers?: Record<string, string>; by?: string | null; to?: typeof app } = {},
) {
  const response = await to.request(path, { ...init, headers: { ...init.headers, ...headers }, token: by })
  const text = await response.text()
  return { status: response.status, headers: response.headers, text, body: text === '' ? null : JSON.parse(text) }
}

/** Sends a body as it is. */
const raw = (body: string, headers: Record<string, string> = {}) => ({
  ...message('tools/list'),
  body,
  ...(Object.keys(headers).length > 0 && { headers }),
})

t.test('a message of the present version needs no handshake', async t => {
  const discovered = await send(message('server/discover'))
  t.match(discovered, { status: 200, body: { result: { supportedVersions: [present], capabilities: { tools: {} } } } })
  const listed = await send(message('tools/list'))
  t.match(listed, {
    status: 200,
    body: { id: 1, result: { ttlMs: 60_000, cacheScope: 'private', resultType: 'complete' } },
  })
  t.match(listed.headers.get('content-type'), /^application\/json/)
  t.equal(listed.headers.get('mcp-session-id'), null)
  t.equal(listed.headers.get('cache-control'), 'no-store')
  t.notOk('set-cookie' in Object.fromEntries(listed.headers))
  t.match(await send(message('ping')), { status: 404, body: { error: { code: -32601 } } })
})

t.test('earlier versions begin with a handshake and keep no session', async t => {
  for (const version of ['2025-11-25', '2025-06-18', '2025-03-26']) {
    const clientInfo = { name: 'test', version: '1' }
    const hello = await send(
      earlierMessage('initialize', { protocolVersion: version, capabilities: {}, clientInfo }, version),
    )
    t.match(hello, { status: 200, body: { result: { protocolVersion: version, serverInfo: { name: 'stowage' } } } })
    t.equal(hello.headers.get('mcp-session-id'), null)
    t.match(hello.headers.get('content-type'), /^application\/json/, 'no event stream')
    const { body, ...rest } = earlierMessage('notifications/initialized', {}, version)
    const { id: _, ...notification } = JSON.parse(body)
    t.match(await send({ ...rest, body: JSON.stringify(notification) }), { status: 202, text: '' })
    t.match(await send(earlierMessage('tools/list', {}, version)), { status: 200, body: { result: { tools: Array } } })
    t.match(await send(earlierMessage('ping', {}, version)), { status: 200, body: { result: {} } })
  }
})

t.test('an unknown version is refused with the known ones', async t => {
  const later = message('tools/list')
  const body = later.body.replaceAll(present, '2999-01-01')
  const refused = await send({ ...later, body, headers: { ...later.headers, 'mcp-protocol-version': '2999-01-01' } })
  t.match(refused, {
    status: 400,
    body: { error: { code: -32022, data: { supported: [present], requested: '2999-01-01' } } },
  })
  t.match(await send(earlierMessage('tools/list', {}, '1999-01-01')), {
    status: 400,
    body: { error: { message: /version/i } },
  })
  const clientInfo = { name: 'test', version: '1' }
  const old = earlierMessage('initialize', { protocolVersion: '1999-01-01', capabilities: {}, clientInfo })
  const { status, body: offered } = await send(old)
  t.equal(status, 200)
  t.equal(offered.result.protocolVersion, '2025-11-25', 'the handshake offers the last version that has one')
})

t.test('headers must agree with the message', async t => {
  const call = toolCall('stat', { providerId: 'x', path: '/' })
  for (const headers of [
    { 'mcp-method': 'tools/list' },
    { 'mcp-name': 'delete' },
    { 'mcp-protocol-version': '2025-11-25' },
  ])
    t.match(await send(call, { headers }), { status: 400, body: { error: { code: -32020 } } }, JSON.stringify(headers))
  const accepts = {
    ...earlierMessage('tools/list'),
    headers: { 'content-type': 'application/json', accept: 'text/html' },
  }
  t.match(await send(accepts), { status: 406, body: { error: { message: /accept/i } } })
})

t.test('only POST is served', async t => {
  for (const method of ['GET', 'DELETE', 'PUT', 'PATCH', 'HEAD']) {
    const response = await app.request('/mcp', { method, token: key, headers: { accept: 'text/event-stream' } })
    t.equal(response.status, 405, method)
    t.equal(response.headers.get('allow'), 'POST', method)
    await response.arrayBuffer()
  }
})

t.test('bodies that are not one message are refused', async t => {
  const json = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
  const depth = 150_000
  const deep = `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`
  const call = (args: string) =>
    `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"stat","arguments":${args}}}`
  const cases: Record<string, [string, number, number | null]> = {
    'no JSON': ['{', 400, -32700],
    'an empty body': ['', 400, -32700],
    'a text': ['"x"', 400, -32600],
    null: ['null', 400, -32600],
    'a number': ['7', 400, -32600],
    'an object': ['{}', 400, -32600],
    'another version of JSON-RPC': ['{"jsonrpc":"1.0","id":1,"method":"tools/list"}', 400, -32600],
    'a method that is not a text': ['{"jsonrpc":"2.0","id":1,"method":{}}', 400, -32600],
    'an id that is an object': ['{"jsonrpc":"2.0","id":{},"method":"tools/list"}', 400, -32600],
    'a batch': ['[{"jsonrpc":"2.0","id":1,"method":"tools/list"}]', 400, -32600],
    'an empty batch': ['[]', 400, -32600],
    'a name that is not a text': ['{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}', 200, -32602],
    'arguments that are a list': [call('[]'), 200, -32602],
    'no parameters': ['{"jsonrpc":"2.0","id":1,"method":"tools/call"}', 200, -32602],
    'an unknown method': ['{"jsonrpc":"2.0","id":1,"method":"resources/list"}', 200, -32601],
  }
  for (const [what, [body, status, code]] of Object.entries(cases)) {
    const sent = await send(raw(body, json))
    t.match(sent, { status, body: { error: { code } } }, `${what}: ${sent.status} ${sent.text.slice(0, 200)}`)
  }
  const tooLarge = {
    'a large batch': `[${Array(5000).fill('{"jsonrpc":"2.0","id":1,"method":"ping"}')}]`,
    'deep JSON': deep,
    'deep arguments': call(deep),
    'many values': call(`[${Array(20_001).fill(1)}]`),
  }
  for (const [what, body] of Object.entries(tooLarge)) {
    const sent = await send(raw(body, json))
    t.match(sent, { status: 400, body: { errors: [{ extensions: { reason: 'INVALID_INPUT' } }] } }, what)
  }
  const polluting = await send(raw(call('{"__proto__":{"providerId":"x","path":"/x"}}'), json))
  t.match(polluting.body.result.content[0].text, /^INVALID_INPUT: .*providerId/)
  const notUtf8 = await fetch(`${app.url}/mcp`, {
    method: 'POST',
    headers: { ...json, authorization: `Bearer ${key}` },
    body: Buffer.from('{"a":"\xff"}', 'latin1'),
  })
  t.match([notUtf8.status, await notUtf8.json()], [400, { error: { code: -32700 } }])
  const answer = '{"jsonrpc":"2.0","id":1,"result":{}}'
  t.match(await send(raw(answer, json)), { status: 202 }, 'a response of the client has no effect')
  for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x']) {
    const sent = await send(message('tools/list'), { headers: { 'content-type': type } })
    t.match(sent, { status: 415, body: { errors: [{ extensions: { reason: 'UNSUPPORTED_MEDIA_TYPE' } }] } }, type)
  }
  const large = await send(raw(' '.repeat(1024 * 1024 + 1), json))
  t.match(large, { status: 413, body: { errors: [{ extensions: { reason: 'TOO_LARGE' } }] } })
  t.notMatch(app.logged(), /"level":[56]0/)
})

t.test('a subscription ends at once, because the server announces no changes', async t => {
  const started = performance.now()
  const sent = await app.request('/mcp', {
    ...message('subscriptions/listen', { notifications: { toolsListChanged: true } }),
    token: key,
  })
  t.match(await sent.text(), /subscriptions\/acknowledged/)
  t.ok(performance.now() - started < 60_000)
})

t.test('the endpoint requires a credential in the header', async t => {
  const challenge = async (by: string | null, headers: Record<string, string> = {}) => {
    const sent = await send(message('tools/list'), { by, headers })
    t.match(sent.headers.get('www-authenticate'), /^Bearer .*resource_metadata=/)
    return `${sent.status} ${sent.body.errors[0].extensions.reason}`
  }
  t.equal(await challenge(null), '401 CREDENTIAL_REQUIRED')
  t.equal(await challenge('stw_unknown'), '401 INVALID_CREDENTIAL')
  const signedIn = await app.request('/console/session', { method: 'POST', token })
  const [cookie = ''] = (signedIn.headers.get('set-cookie') ?? '').split(';', 1)
  t.ok(cookie)
  const ofConsole = { cookie, 'x-stowage-console': '1' }
  t.equal(await challenge(null, ofConsole), '401 CREDENTIAL_REQUIRED', "the console's cookie does not count")
  t.match(
    await send(message('tools/list'), { headers: ofConsole }),
    { status: 200 },
    'and does not matter beside a key',
  )
  t.match(await send(message('tools/list'), { by: token }), { status: 200 }, 'a session token is a credential')
})

t.test('pages of other origins are refused', async t => {
  const page = 'https://page.example'
  const own = await app.replica({ settings: { publicUrl: 'https://files.example/stowage', corsOrigins: [page] } })
  const open = await app.replica({ settings: { corsOrigins: '*' } })
  const statusOf = async (to: typeof app, origin: string) => {
    const sent = await send(message('tools/list'), { to, headers: { origin } })
    return sent.status === 200 ? 200 : `${sent.status} ${sent.body.errors[0].extensions.reason}`
  }
  const refused = '403 ORIGIN_NOT_ALLOWED'
  const rebound = `http://rebound.example:${new URL(app.url).port}`
  for (const origin of [rebound, app.url, 'null', '', page, 'http://localhost', 'https://files.example'])
    t.equal(await statusOf(app, origin), refused, origin)
  t.equal(await statusOf(own, 'https://files.example'), 200)
  t.equal(await statusOf(own, page), 200)
  for (const origin of ['http://files.example', 'https://files.example:444', 'https://page.example.org', 'null'])
    t.equal(await statusOf(own, origin), refused, origin)
  t.equal(await statusOf(open, rebound), 200)
  const asked = message('tools/list')
  const headers = { ...asked.headers, origin: rebound, host: new URL(rebound).host }
  const withHost = await sendRequest(app.url, `Bearer ${key}`, { ...asked, headers })
  t.equal(withHost.status, 403, 'a name that leads to the server does not make a page its own')
  const preflight = await own.request('/mcp', {
    method: 'OPTIONS',
    headers: {
      origin: page,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization,content-type,mcp-method,mcp-name,mcp-protocol-version',
    },
  })
  const allowed = preflight.headers.get('access-control-allow-headers')?.toLowerCase().split(', ') ?? []
  for (const name of ['authorization', 'content-type', 'mcp-method', 'mcp-name', 'mcp-protocol-version'])
    t.ok(allowed.includes(name), name)
})
