/** Connected applications over HTTP: OAuth 2.1 as RFC 6749, 7591, 7636, 8414, 8707, 9207 and 9728 state it, and the attacks of RFC 9700. */
import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import t from 'tap'
import { signAccessToken } from '../../src/auth/access-tokens.ts'
import { deriveSecrets } from '../../src/auth/secrets.ts'
import { startApp, testSecret } from '../support/app.ts'
import { applicationOf, approveDocument, callback } from '../support/applications.ts'
import type { Data } from '../support/client.ts'
import { extent } from '../support/extent.ts'
import { message, toolCall, toolOutcome } from '../support/mcp.ts'

const app = await startApp(t)
const { token } = await app.register('owner@example.org')
const providerId = await app.connectProvider(token, 'memory', {})
await app.upload(token, providerId, '/inside/a.txt', 'content')
await app.upload(token, providerId, '/outside/b.txt', 'content')
const client = applicationOf(app)
const consentDocument = `query ($query: String!) {
  consentRequest(query: $query) { name host destination isOnMachine audience scopes refusalUrl }
}`
const revokeDocument = 'mutation ($id: ID!) { revokeApiKey(id: $id) { state } }'
const me = '{ me { id } }'
const inside = { restrictions: [{ providerId, basePath: '/inside' }] }

const callTool = async (name: string, args: object, by: string) => {
  const { path, ...init } = toolCall(name, args)
  const response = await app.request(path, { ...init, token: by })
  return { response, outcome: toolOutcome(response.status, await response.text()) }
}
const reasonOf = (by: string) => client.reason(me, {}, by)
const json = async (path: string) => (await app.request(path)).json()

t.test('metadata lead from the endpoint to the authorization server', async t => {
  const refused = await app.request('/mcp', { ...message('tools/list'), method: 'POST' })
  t.equal(refused.status, 401)
  const address = /resource_metadata="([^"]+)"/.exec(refused.headers.get('www-authenticate') ?? '')?.[1] ?? ''
  t.equal(address, `${app.url}/.well-known/oauth-protected-resource/mcp`)
  t.notMatch(refused.headers.get('www-authenticate'), 'error=', 'a request without a credential has no error')
  t.match(await json(new URL(address).pathname), { resource: `${app.url}/mcp`, authorization_servers: [app.url] })
  t.match(await json('/.well-known/oauth-protected-resource'), { resource: app.url })
  t.match(await json('/.well-known/oauth-authorization-server'), {
    issuer: app.url,
    authorization_endpoint: `${app.url}/oauth/authorize`,
    token_endpoint: `${app.url}/oauth/token`,
    registration_endpoint: `${app.url}/oauth/register`,
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: ['none'],
    client_id_metadata_document_supported: true,
    authorization_response_iss_parameter_supported: true,
  })
  for (const path of ['/.well-known/oauth-authorization-server/mcp', '/.well-known/oauth-protected-resource/other'])
    t.equal((await app.request(path)).status, 404, path)
  const below = await app.replica({
    settings: { publicUrl: 'https://files.example.org/stowage', basePath: '/stowage' },
  })
  const issuer = 'https://files.example.org/stowage'
  for (const path of [
    '/.well-known/oauth-authorization-server/stowage',
    '/stowage/.well-known/oauth-authorization-server',
  ])
    t.match(await (await below.request(path)).json(), { issuer }, path)
  const mcp = await below.request('/.well-known/oauth-protected-resource/stowage/mcp')
  t.match(await mcp.json(), { resource: `${issuer}/mcp`, authorization_servers: [issuer] })
})

t.test('an application gets the rights that the person chooses, and no more', async t => {
  const clientId = await client.register({ client_name: 'My agent' })
  const { query, verifier } = client.request(clientId, { resource: `${app.url}/mcp`, scope: 'read write' })
  t.same((await app.ask(consentDocument, { query }, token)).consentRequest, {
    name: 'My agent',
    host: null,
    destination: '127.0.0.1',
    isOnMachine: true,
    audience: 'MCP',
    scopes: ['read', 'write'],
    refusalUrl: `${callback}?error=access_denied&error_description=The+person+has+refused.&state=a+state&iss=${encodeURIComponent(app.url)}`,
  })
  const expiresAt = new Date(Date.now() + 60_000).toISOString()
  const input = client.consentInput(query, { scopes: ['read'], providerAccess: inside, expiresAt })
  const { approveConnection } = await app.ask(approveDocument, { input }, token)
  const { apiKey, returnUrl } = approveConnection
  t.match(apiKey, {
    name: 'My agent',
    scopes: ['read'],
    application: { name: 'My agent', clientId, audience: 'MCP', destination: '127.0.0.1', isConnected: false },
  })
  const at = new URL(returnUrl)
  t.equal(at.origin + at.pathname, callback)
  t.same([at.searchParams.get('state'), at.searchParams.get('iss')], ['a state', app.url])
  const code = { code: at.searchParams.get('code') ?? '', verifier, clientId, keyId: apiKey.id, returnUrl: at }
  const first = await client.exchange(code)
  t.match(first, { status: 200, body: { token_type: 'Bearer', scope: 'read' } })
  t.equal(first.headers.get('cache-control'), 'no-store')
  t.ok(first.body.expires_in <= 60, 'no token outlives the connection')
  t.ok(first.body.access_token.startsWith(apiKey.displayPrefix), 'the token names the connection')

  const listed = await callTool('list_folder', { providerId, path: '/inside' }, first.body.access_token)
  t.match(listed.outcome.output, { entries: [{ name: 'a.txt' }] })
  const outside = await callTool('list_folder', { providerId, path: '/outside' }, first.body.access_token)
  t.match(outside.outcome.errors, [{ extensions: { reason: 'OUTSIDE_BASE_PATH' } }])
  const write = { providerId, path: '/inside/c.txt', content: 'x' }
  const denied = await callTool('write_file', write, first.body.access_token)
  t.equal(denied.response.status, 403)
  t.match(denied.response.headers.get('www-authenticate'), /error="insufficient_scope", scope="read write", resource_m/)

  const keys = `{ apiKeys { nodes { id expiresAt scopes application { isConnected } providerAccess { restrictions { basePath } } } } }`
  const before = (await app.ask(keys, {}, token)).apiKeys.nodes
  const second = await client.refresh(first.body.refresh_token, clientId, { scope: 'read' })
  t.match(second, { status: 200, body: { scope: 'read' } })
  t.not(second.body.refresh_token, first.body.refresh_token)
  t.same((await app.ask(keys, {}, token)).apiKeys.nodes, before, 'refreshing changes nothing')
  t.match(before, [{ id: apiKey.id, expiresAt, application: { isConnected: true } }])
  const wider = await client.refresh(second.body.refresh_token, clientId, { scope: 'read write' })
  t.match(wider, { status: 400, body: { error: 'invalid_scope' } })
  await app.app.services.audit.flush()
  const events = '{ auditEvents(filter: { action: CONNECTION_CREATE }) { nodes { result subjectId details } } }'
  t.match((await app.ask(events, {}, token)).auditEvents.nodes[0], {
    result: 'OK',
    subjectId: apiKey.id,
    details: { application: 'My agent', scopes: ['read'], displayPrefix: apiKey.displayPrefix },
  })
})

t.test('a token is valid at its resource alone', async t => {
  const mcp = await client.connect(token, { changes: { resource: `${app.url}/mcp` } })
  t.equal((await app.request('/mcp', { ...message('tools/list'), token: mcp.access })).status, 200)
  t.equal(await reasonOf(mcp.access), 'INVALID_CREDENTIAL')
  t.equal((await app.download(mcp.access, providerId, '/inside/a.txt')).status, 401)
  t.equal((await app.request('/mcp', { token: mcp.access })).status, 405, 'there is no stream')
  t.match(await client.refresh(mcp.refresh, mcp.clientId, { resource: app.url }), { body: { error: 'invalid_target' } })

  const whole = await client.connect(token)
  t.equal(await reasonOf(whole.access), 'OK')
  t.equal((await app.download(whole.access, providerId, '/inside/a.txt')).status, 200)
  const part = await client.refresh(whole.refresh, whole.clientId, { resource: `${app.url}/mcp` })
  t.equal(await reasonOf(part.body.access_token), 'INVALID_CREDENTIAL')
  const clientId = await client.register()
  for (const resource of ['https://other.example.org/mcp', `${app.url}/mcp/other`, `${app.url}/mcp#x`]) {
    const { query } = client.request(clientId, { resource })
    const [error] = (await app.graphql(consentDocument, { query }, token)).errors
    t.match(new URL(String(error?.extensions.returnUrl)).searchParams.get('error'), 'invalid_target', resource)
  }
})

t.test('a revocation that has returned is exact on every replica', async t => {
  const other = await app.replica()
  const { access, refresh, clientId, keyId } = await client.connect(token)
  for (const each of [app, other]) t.match(await each.ask(me, {}, access), { me: { id: String } })
  await app.ask(revokeDocument, { id: keyId }, token)
  const answers = await Promise.all([app, other].map(each => each.graphql(me, {}, access)))
  for (const { errors } of answers) t.match(errors, [{ extensions: { reason: 'KEY_REVOKED' } }])
  t.match(await client.refresh(refresh, clientId), { status: 400, body: { error: 'invalid_grant' } })
})

t.test('an application ends its own connection', async t => {
  for (const kind of ['access', 'refresh'] as const) {
    const connected = await client.connect(token)
    const { clientId: client_id } = connected
    const revoke = (fields: object) => client.form('/oauth/revoke', { token: connected[kind], ...fields })
    t.match((await revoke({ client_id: 'another' })).body, { error: 'invalid_client' })
    t.match((await revoke({})).body, { error: 'invalid_request' })
    t.equal(await reasonOf(connected.access), 'OK')
    t.equal((await revoke({ client_id })).status, 200)
    t.equal(await reasonOf(connected.access), 'KEY_REVOKED', kind)
  }
  t.equal((await client.form('/oauth/revoke', { token: 'unknown', client_id: 'x' })).status, 200)
  const { clientId: client_id, keyId, access } = await client.connect(token)
  const expired = signAccessToken(deriveSecrets(testSecret), { keyId, audience: 'SERVER', expiresAt: new Date() })
  t.equal((await client.form('/oauth/revoke', { token: expired, client_id })).status, 200)
  t.equal(await reasonOf(access), 'OK', 'an expired token ends nothing')
})

t.test('a refresh token that is used twice ends the connection', async t => {
  const { access, refresh, clientId } = await client.connect(token)
  const next = await client.refresh(refresh, clientId)
  t.equal(next.status, 200)
  t.match(await client.refresh(refresh, clientId), { status: 400, body: { error: 'invalid_grant' } })
  for (const each of [access, next.body.access_token]) t.equal(await reasonOf(each), 'KEY_REVOKED')
  t.match(await client.refresh(next.body.refresh_token, clientId), { body: { error: 'invalid_grant' } })
  const twice = await client.connect(token)
  const answers = await Promise.all([1, 2].map(() => client.refresh(twice.refresh, twice.clientId)))
  t.same(answers.map(({ status }) => status).toSorted(), [200, 400], 'also at the same time')
  t.equal(await reasonOf(twice.access), 'KEY_REVOKED')
  await app.app.services.audit.flush()
  const events = '{ auditEvents(filter: { action: CONNECTION_END }) { nodes { details } } }'
  t.match((await app.ask(events, {}, token)).auditEvents.nodes[0].details, { cause: 'REFRESH_TOKEN_REUSED' })
})

t.test('a connection also ends while its owner is deactivated', async t => {
  const invite = 'mutation { createInvite(input: { role: EDITOR }) { invite } }'
  const member = await app.register('away@example.org', (await app.ask(invite, {}, token)).createInvite)
  const clientId = await client.register()
  const connect = async () => {
    const code = await client.consent(member.token, clientId)
    const { body } = await client.exchange(code)
    return { code, access: body.access_token as string, refresh: body.refresh_token as string }
  }
  const [replayed, revoked, reused, kept] = [await connect(), await connect(), await connect(), await connect()]
  const next = await client.refresh(replayed.refresh, clientId)
  const setActive = (field: string) =>
    app.ask(`mutation ($id: ID!) { ${field}(userId: $id) { id } }`, { id: member.id }, token)
  await setActive('deactivateMember')
  const answers = [
    await client.refresh(replayed.refresh, clientId),
    await client.exchange(reused.code),
    await client.refresh(kept.refresh, clientId),
  ]
  for (const answer of answers) t.match(answer, { status: 400, body: { error: 'invalid_grant' } })
  t.equal((await client.form('/oauth/revoke', { token: revoked.refresh, client_id: clientId })).status, 200)
  await setActive('reactivateMember')
  t.same(await Promise.all([replayed, revoked, reused, kept].map(({ access }) => reasonOf(access))), [
    'KEY_REVOKED',
    'KEY_REVOKED',
    'KEY_REVOKED',
    'OK',
  ])
  for (const refresh of [next.body.refresh_token, revoked.refresh, reused.refresh])
    t.match(await client.refresh(refresh, clientId), { body: { error: 'invalid_grant' } })
  await app.app.services.audit.flush()
  const events = '{ auditEvents(filter: { action: CONNECTION_END }) { nodes { userEmail details } } }'
  t.match((await app.ask(events, {}, token)).auditEvents.nodes.slice(0, 3), [
    { userEmail: 'away@example.org', details: { cause: 'APPLICATION' } },
    { userEmail: 'away@example.org', details: { cause: 'CODE_REUSED' } },
    { userEmail: 'away@example.org', details: { cause: 'REFRESH_TOKEN_REUSED' } },
  ])
})

t.test('a code works once, for its application and with its verifier', async t => {
  const clientId = await client.register()
  const given = await client.consent(token, clientId)
  const stranger = await client.register()
  const wrong = { ...given, verifier: 'x'.repeat(43) }
  const challenge = createHash('sha256').update(given.verifier).digest('base64url')
  for (const [what, answer] of Object.entries({
    'another application': await client.exchange({ ...given, clientId: stranger }),
    'another verifier': await client.exchange(wrong),
    'the challenge as a plain verifier': await client.exchange({ ...given, verifier: challenge }),
    'another redirect address': await client.exchange(given, { redirect_uri: 'https://example.org/' }),
    'an unknown code': await client.exchange({ ...given, code: `stwc_${'0'.repeat(40)}` }),
  }))
    t.match(answer, { status: 400, body: { error: 'invalid_grant' } }, what)
  const missing = await client.form('/oauth/token', { grant_type: 'authorization_code', code: given.code })
  t.match(missing.body, { error: 'invalid_request' })
  const used = await client.exchange(given)
  t.equal(used.status, 200)
  t.match(await client.exchange({ ...given, clientId: stranger }), { status: 400, body: { error: 'invalid_grant' } })
  t.equal(await reasonOf(used.body.access_token), 'OK', 'another application ends nothing')
  t.match(await client.exchange(wrong), { status: 400, body: { error: 'invalid_grant' } })
  t.equal(await reasonOf(used.body.access_token), 'KEY_REVOKED', 'the second use ends the connection')

  const late = await client.consent(token, clientId)
  await sql`update connections set code_expires_at = now() where key_id = ${late.keyId}`.execute(app.db)
  t.match(await client.exchange(late), { status: 400, body: { error: 'invalid_grant', error_description: /expired/ } })
  await sql`update connections set code_expires_at = now() - interval '1 hour' where key_id = ${late.keyId}`.execute(
    app.db,
  )
  await app.app.services.applications.sweep()
  const { errors } = await app.graphql('query ($id: ID!) { apiKey(id: $id) { id } }', { id: late.keyId }, token)
  t.match(errors, [{ extensions: { reason: 'NOT_FOUND' } }], 'it does not stay in the list')
})

t.test('the first tokens of a connection are audited', async t => {
  const clientId = await client.register()
  const given = await client.consent(token, clientId)
  t.equal((await client.exchange(given)).status, 200)
  await client.exchange(given)
  await app.app.services.audit.flush()
  const events = `{ auditEvents(filter: { action: CONNECTION_OPEN }) {
    nodes { result userEmail credentialKind credentialId address details }
  } }`
  const opened = (await app.ask(events, {}, token)).auditEvents.nodes.filter(
    ({ details }: Data) => details.clientId === clientId,
  )
  t.match(opened, [
    {
      result: 'OK',
      userEmail: 'owner@example.org',
      credentialKind: 'API_KEY',
      credentialId: given.keyId,
      address: '127.0.0.1',
      details: { application: 'Test application', audience: 'SERVER' },
    },
  ])
  t.equal(opened.length, 1, 'the second use ends the connection instead')
})

t.test('a subscription ends with its access token, and goes on with the next one', async t => {
  const { keyId, clientId, refresh } = await client.connect(token, { providerAccess: inside })
  const secrets = deriveSecrets(testSecret)
  const follow = async (query: string, by: string) => {
    const response = await app.request('/graphql', {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
      body: JSON.stringify({ query }),
      token: by,
    })
    t.equal(response.status, 200)
    return response.text()
  }
  for (const query of [
    'subscription { jobChanged { id } }',
    `subscription { entryChanged(providerId: "${providerId}", path: "/inside") { kind } }`,
  ]) {
    const access = signAccessToken(secrets, { keyId, audience: 'SERVER', expiresAt: new Date(Date.now() + 1500) })
    t.match(await follow(query, access), 'TOKEN_EXPIRED', query)
    t.equal(await reasonOf(access), 'TOKEN_EXPIRED')
  }
  const next = (await client.refresh(refresh, clientId)).body.access_token
  const stream = follow('subscription { jobChanged { id } }', next)
  await app.ask(revokeDocument, { id: keyId }, token)
  t.match(await stream, 'KEY_REVOKED', 'the next token subscribes again, until the connection ends')
})

t.test('a request without PKCE S256, and any other invalid request, is refused', async t => {
  const clientId = await client.register({ redirect_uris: [callback, 'https://example.org/cb?x=1'] })
  const refused: [Record<string, string | undefined>, string][] = [
    [{ code_challenge: undefined }, 'invalid_request'],
    [{ code_challenge_method: 'plain' }, 'invalid_request'],
    [{ code_challenge_method: undefined }, 'invalid_request'],
    [{ code_challenge: 'short' }, 'invalid_request'],
    [{ response_type: 'token' }, 'unsupported_response_type'],
    [{ response_mode: 'fragment' }, 'invalid_request'],
    [{ request_uri: 'https://example.org/' }, 'invalid_request'],
    [{ scope: 'admin' }, 'invalid_scope'],
  ]
  for (const [changes, error] of refused) {
    const { query } = client.request(clientId, { ...changes, redirect_uri: 'https://example.org/cb?x=1' })
    const input = client.consentInput(query)
    for (const answer of [
      await app.graphql(consentDocument, { query }, token),
      await app.graphql(approveDocument, { input }, token),
    ]) {
      const url = new URL(String(answer.errors[0]?.extensions.returnUrl))
      t.equal(url.host, 'example.org')
      t.same(
        ['x', 'error', 'state', 'iss', 'code'].map(name => url.searchParams.get(name)),
        ['1', error, 'a state', app.url, null],
        JSON.stringify(changes),
      )
    }
  }
  const { query } = client.request(clientId)
  const [error] = (await app.graphql(consentDocument, { query: `${query}&state=another` }, token)).errors
  t.match(error?.extensions, { reason: 'INVALID_INPUT', returnUrl: undefined }, 'a repeated parameter')
  for (const id of ['https://', 'https://:0/x', 'https://example.org'])
    t.equal(await client.reason(consentDocument, { query: client.request(id).query }, token), 'INVALID_INPUT', id)
})

t.test('only registered addresses get a code', async t => {
  const registered = [
    'https://app.example.org/cb',
    'http://127.0.0.1/cb',
    'com.example.app:/cb',
    'http://localhost:1/l',
  ]
  const clientId = await client.register({ redirect_uris: registered })
  const describe = ({ destination, isOnMachine }: Data) => `${destination}${isOnMachine ? ' here' : ''}`
  const tried = async (redirect_uri: string | undefined) => {
    const { query } = client.request(clientId, { redirect_uri })
    const { data, errors } = await app.graphql(consentDocument, { query }, token)
    return errors[0] ? (errors[0].extensions.returnUrl ?? null) : describe(data.consentRequest)
  }
  t.same(await Promise.all([...registered, 'http://127.0.0.1:50000/cb', 'http://localhost/l'].map(tried)), [
    'app.example.org',
    '127.0.0.1 here',
    'com.example.app here',
    'localhost here',
    '127.0.0.1 here',
    'localhost here',
  ])
  const tricks = [
    undefined,
    'https://app.example.org/cb/',
    'https://app.example.org/cb?x=1',
    'https://app.example.org/cb/../evil',
    'https://app.example.org:444/cb',
    'https://app.example.org.evil.org/cb',
    'https://app.example.org@evil.org/cb',
    'https://evil.org/#https://app.example.org/cb',
    'https://APP.example.org/cb',
    'https://app.example.org\\@evil.org/cb',
    'http://app.example.org/cb',
    'http://127.0.0.1:80@evil.org/cb',
    'http://127.0.0.1.evil.org/cb',
    'http://localhost/cb',
    'https://127.0.0.1/cb',
    'com.example.app:/other',
    '//app.example.org/cb',
    'javascript:alert(1)',
  ]
  for (const trick of tricks) t.equal(await tried(trick), null, `${trick} gets nothing, and no error either`)
  const { query } = client.request(await client.register(), { redirect_uri: undefined })
  const [missing] = (await app.graphql(consentDocument, { query }, token)).errors
  t.match(missing, { message: /redirect_uri/ }, 'also if only one is registered')
  for (const uri of [
    'javascript:alert(1)',
    'data:text/html,x',
    'file:///etc/passwd',
    'myapp://callback',
    'http://example.org/cb',
    'https://user:password@example.org/cb',
    'https://example.org/cb#fragment',
    'https://example.org/c b',
    'https://exämple.org/',
    '/relative',
    '',
  ]) {
    const { status, body } = await client.post('/oauth/register', { redirect_uris: [uri] })
    t.match({ status, body }, { status: 400, body: { error: 'invalid_redirect_uri' } }, uri)
  }
})

t.test('only the session of a member can consent', async t => {
  const { query } = client.request(await client.register())
  const input = client.consentInput(query)
  const admin = await app.createKey(token, { name: 'admin', scopes: ['admin'] })
  const { access } = await client.connect(token)
  for (const by of [admin.key, access]) {
    t.equal(await client.reason(approveDocument, { input }, by), 'SESSION_REQUIRED')
    t.equal(await client.reason(consentDocument, { query }, by), 'SESSION_REQUIRED')
  }
  t.equal((await app.graphql(approveDocument, { input })).errors[0]?.extensions.reason, 'CREDENTIAL_REQUIRED')

  const invite = `mutation { createInvite(input: { role: VIEWER, providerAccess: { restrictions: [{ providerId: "${providerId}", basePath: "/inside" }] } }) { invite } }`
  const viewer = await app.register('viewer@example.org', (await app.ask(invite, {}, token)).createInvite)
  t.equal(await client.reason(approveDocument, { input }, viewer.token), 'EXCEEDS_OWN_REACH')
  const outside = { restrictions: [{ providerId, basePath: '/outside' }] }
  const wide = client.consentInput(query, { scopes: ['read'], providerAccess: outside })
  t.equal(await client.reason(approveDocument, { input: wide }, viewer.token), 'EXCEEDS_OWN_REACH')
  const admins = client.consentInput(query, { scopes: ['admin'] })
  t.equal(await client.reason(approveDocument, { input: admins }, token), 'INVALID_INPUT')
  const past = client.consentInput(query, { expiresAt: '2020-01-01T00:00:00Z' })
  t.equal(await client.reason(approveDocument, { input: past }, token), 'INVALID_INPUT')

  const connected = await client.connect(viewer.token, { scopes: ['read'] })
  t.equal(await reasonOf(connected.access), 'OK')
  await app.ask('mutation ($id: ID!) { removeMember(userId: $id) }', { id: viewer.id }, token)
  t.match(await reasonOf(connected.access), /INVALID_CREDENTIAL|KEY_REVOKED/)
  t.match(await client.refresh(connected.refresh, connected.clientId), { body: { error: 'invalid_grant' } })
})

t.test('connections have a limit of their own', async t => {
  const invite = 'mutation { createInvite(input: { role: EDITOR }) { invite } }'
  const member = await app.register('busy@example.org', (await app.ask(invite, {}, token)).createInvite)
  const clientId = await client.register()
  const input = () => client.consentInput(client.request(clientId).query)
  const { errors } = await app.graphql(approveDocument, { input: input() }, member.token)
  t.same(errors, [])
  await sql`
    insert into api_keys (workspace_id, user_id, name, key_hash, display_prefix, scopes, provider_access, is_connection)
    select workspace_id, user_id, 'n', sha256(n::text::bytea), 'stwo_', scopes, provider_access, true
    from api_keys, generate_series(1, 48) n where user_id = ${member.id}`.execute(app.db)
  const reasons = await Promise.all(
    [1, 2, 3].map(() => client.reason(approveDocument, { input: input() }, member.token)),
  )
  t.same(reasons.toSorted(), ['OK', 'TOO_MANY_KEYS', 'TOO_MANY_KEYS'])
  t.ok(await app.createKey(member.token, { name: 'a key', scopes: ['read'] }), 'keys do not count')
})

t.test('forged and expired tokens are refused', async t => {
  const { access } = await client.connect(token)
  const changed = (at: number) => access.slice(0, at) + (access[at] === '0' ? '1' : '0') + access.slice(at + 1)
  for (const forged of [changed(6), changed(38), changed(44), changed(78), access.slice(0, -2), `${access}00`, 'stwo_'])
    t.equal(await reasonOf(forged), 'INVALID_CREDENTIAL')
  const foreign = await startApp(t, { secret: 'a secret that another server has' })
  const { errors } = await foreign.graphql(me, {}, access)
  t.match(errors, [{ extensions: { reason: 'INVALID_CREDENTIAL' } }])
  const rotated = await app.replica({
    secret: 'the next secret of these tests, long enough',
    previousSecret: testSecret,
  })
  t.match(await rotated.ask(me, {}, access), { me: { id: String } }, 'a rotation of the secret keeps tokens')
  const refused = await app.request('/mcp', { ...message('tools/list'), token: 'stwo_forged' })
  t.match(refused.headers.get('www-authenticate'), /^Bearer error="invalid_token"/)
})

t.test('registrations are bounded', async t => {
  const limited = await app.replica({ settings: { signInLimit: 50 } })
  const strict = applicationOf(limited)
  await sql`update rate_limits set hits = 1000`.execute(app.db)
  await strict.register()
  await sql`update rate_limits set hits = 1000`.execute(app.db)
  const refused = await strict.post('/oauth/register', { redirect_uris: [callback] })
  t.match(refused, { status: 429, body: { error: 'temporarily_unavailable' } })
  t.ok(Number(refused.headers.get('retry-after')) > 0)

  const used = await client.connect(token)
  await sql`
    insert into applications (name, redirect_uris, expires_at, used_at)
    select 'flood', '{}', now() + interval '1 day', now() from generate_series(1, ${extent({ gate: 20_000, nightly: 100_000 })}::int)`.execute(
    app.db,
  )
  const clientId = await client.register()
  const { rows } = await sql<{ n: number }>`select count(*)::int as n from applications`.execute(app.db)
  t.equal(rows[0]?.n, 10_000)
  const known = async (id: string) =>
    (await app.graphql(consentDocument, { query: client.request(id).query }, token)).errors
  t.same([await known(clientId), await known(used.clientId)], [[], []], 'the new one and those in use stay')
  await sql`update applications set expires_at = now() where used_at is null`.execute(app.db)
  t.match(await known(clientId), [{ extensions: { reason: 'INVALID_INPUT' } }])
  await app.app.services.applications.sweep()
  const left = await sql<{ n: number }>`select count(*)::int as n from applications where used_at is null`.execute(
    app.db,
  )
  t.equal(left.rows[0]?.n, 0)
})

t.test('other clients, grants and bodies are refused', async t => {
  const register = (metadata: object) => client.post('/oauth/register', { redirect_uris: [callback], ...metadata })
  t.match(await register({ token_endpoint_auth_method: 'client_secret_basic' }), {
    body: { error: 'invalid_client_metadata' },
  })
  t.match(await register({ grant_types: ['implicit'] }), { body: { error: 'invalid_client_metadata' } })
  t.match(await register({ client_name: 'a\u0000b' }), { body: { error: 'invalid_client_metadata' } })
  t.match(await register({ redirect_uris: Array(21).fill(callback) }), { body: { error: 'invalid_redirect_uri' } })
  t.match(await client.form('/oauth/token', { grant_type: 'password' }), { body: { error: 'unsupported_grant_type' } })
  const twice = new URLSearchParams('grant_type=refresh_token&refresh_token=a&refresh_token=b&client_id=c')
  t.match(await client.post('/oauth/token', twice), { status: 400, body: { error: 'invalid_request' } })
  t.equal((await client.post('/oauth/token', {})).status, 415)
  const long = new URLSearchParams({ grant_type: 'x'.repeat(40_000) })
  t.match(await client.post('/oauth/token', long), { status: 413, body: { error: 'invalid_request' } })
})
