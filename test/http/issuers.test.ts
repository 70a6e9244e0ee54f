/** Issuers that owners add: several at once, hostile ones among them, and what ends with them. */
import { once } from 'node:events'
import { createServer, type RequestListener, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type RawBuilder, sql } from 'kysely'
import t, { type Test } from 'tap'
import { callbackPathOf } from '../../src/services/people/issuer-registry.ts'
import { startIssuer, TestBrowser, type TestIssuer } from '../servers/oidc.ts'
import { startApp } from '../support/app.ts'
import { password } from '../support/client.ts'
import { atNight } from '../support/extent.ts'
import { freePort } from '../support/free-port.ts'
import { holdLocks } from '../support/held-locks.ts'
import { until } from '../support/until.ts'

const create = 'mutation ($input: CreateIssuerInput!) { createIssuer(input: $input) { id } }'
const update = 'mutation ($input: UpdateIssuerInput!) { updateIssuer(input: $input) { enabled } }'
const remove = 'mutation ($id: ID!) { deleteIssuer(id: $id) }'
const list =
  '{ issuers { id name issuer clientId groupsClaim domains enabled isFromSettings createdAt groups { name } } }'
const installation = '{ installation { singleSignOn { id name url } } }'
const linkUrl = 'query ($issuer: ID) { identityLinkUrl(issuer: $issuer) }'
const link = 'mutation ($ticket: String!) { linkIdentity(ticket: $ticket) { id } }'
const login = 'mutation ($input: LoginInput!) { login(input: $input) { token } }'
const me = '{ me { id email groups { name } } }'

const isPage = ({ pathname }: URL) => pathname === '/files' || pathname.startsWith('/settings')

async function setUp(t: Test, count = 1) {
  const queries: string[] = []
  const app = await startApp(t, { onQuery: ({ sql }) => queries.push(sql) })
  const { token, id } = await app.register('owner@example.org')
  const issuers: (TestIssuer & { id: string; name: string })[] = []
  const add = async (issuer: Pick<TestIssuer, 'url' | 'clientId' | 'clientSecret'>, more: object = {}) => {
    const { url, clientId, clientSecret } = issuer
    const input = { name: `Issuer ${url}`, issuer: url, clientId, clientSecret, ...more }
    return (await app.ask(create, { input }, token)).createIssuer.id as string
  }
  for (let index = 0; index < count; index++) {
    const issuer = await startIssuer(t)
    issuer.register([app.url + callbackPathOf(null, issuer.url)])
    const name = `Issuer ${index + 1}`
    issuers.push(Object.assign(issuer, { name, id: await add(issuer, { name, groupsClaim: 'groups' }) }))
  }
  const browse = async (browser: TestBrowser, address: string) => {
    const { url, response } = await browser.open(address, isPage)
    return response ? { status: response.status, text: await response.text() } : { status: 200, text: url.hash }
  }
  return {
    app,
    token,
    id,
    issuers,
    queries,
    add,
    signIn: (browser: TestBrowser, issuerId: string, more = '') =>
      browse(browser, `${app.url}/auth/oidc/start?issuer=${issuerId}${more}`),
    open: browse,
    sessionOf: (browser: TestBrowser) => browser.cookie(app.url, 'stowage_session') ?? '',
    async linkWith(issuer: { id: string }, as = token) {
      const { identityLinkUrl } = await app.ask(linkUrl, { issuer: issuer.id }, as)
      const { text } = await browse(new TestBrowser(), identityLinkUrl)
      await app.ask(link, { ticket: text.replace('#link=', '') }, as)
    },
    reason: async (query: string, variables: object, as = token) =>
      (await app.graphql(query, { ...variables }, as)).errors[0]?.extensions.reason ?? 'OK',
  }
}

const person = (id: string, claims: object = {}) => ({ id, claims: { email: `${id}@id.example.org`, ...claims } })

/** Starts a server of an issuer that does not follow the protocol. */
async function startHostile(t: Test, respond: (url: string) => RequestListener): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  server.on('request', respond(url))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return url
}

t.test('owners add, change and remove issuers, in a session', async t => {
  const { app, token, issuers, queries, reason } = await setUp(t, 2)
  const [first, second] = issuers
  if (!first || !second) throw new Error('There are no issuers')
  const group = 'mutation { createGroup(input: { name: "Staff", role: VIEWER }) { group { id } } }'
  const groupId = (await app.ask(group, {}, token)).createGroup.group.id
  const changes = { name: 'Work', domains: ['Example.ORG', 'bücher.example'], groupIds: [groupId], groupsClaim: '' }
  await app.ask(update, { input: { id: first.id, ...changes, clientSecret: first.clientSecret } }, token)
  await app.ask(update, { input: { id: second.id, groupIds: [groupId] } }, token)
  queries.length = 0
  t.match((await app.ask(list, {}, token)).issuers, [
    { name: 'Issuer 2', groupsClaim: 'groups', enabled: true, groups: [{ name: 'Staff' }] },
    {
      name: 'Work',
      issuer: first.url,
      clientId: 'stowage',
      groupsClaim: null,
      domains: ['example.org', 'xn--bcher-kva.example'],
      groups: [{ name: 'Staff' }],
      isFromSettings: false,
    },
  ])
  t.equal(queries.filter(query => query.includes('from "groups"')).length, 1, 'one query for all issuers')
  t.match((await app.ask(installation)).installation.singleSignOn, [
    { name: 'Issuer 2' },
    { id: first.id, name: 'Work', url: `${app.url}/auth/oidc/start?issuer=${first.id}` },
  ])
  const good = { name: 'Other', issuer: 'https://id.example.org', clientId: 'x', clientSecret: 'y' }
  const wrong: [object, string][] = [
    [{ name: 'Work' }, 'ALREADY_EXISTS'],
    [{ issuer: first.url }, 'ALREADY_EXISTS'],
    [{ issuer: 'http://id.example.org' }, 'INVALID_INPUT'],
    [{ issuer: 'https://id.example.org?x' }, 'INVALID_INPUT'],
    [{ issuer: 'https://me@id.example.org' }, 'INVALID_INPUT'],
    [{ issuer: 'https://id.example.org/.well-known/openid-configuration' }, 'INVALID_INPUT'],
    [{ issuer: `https://id.example.org/${'x'.repeat(500)}` }, 'INVALID_INPUT'],
    [{ maxAgeMinutes: -1 }, 'INVALID_INPUT'],
    [{ clientId: '' }, 'INVALID_INPUT'],
    [{ clientSecret: 'ü' }, 'INVALID_INPUT'],
    [{ domains: ['@example.org'] }, 'INVALID_INPUT'],
    ...['x%2eorg', '127.1', '0x7f.1', 'example.org/x', 'example.org#x', 'example.org?x', 'example.org\\x', '[::1]'].map(
      (domain): [object, string] => [{ domains: [domain] }, 'INVALID_INPUT'],
    ),
    [{ domains: Array.from({ length: 21 }, (_, index) => `d${index}.example`) }, 'INVALID_INPUT'],
    [{ groupIds: [first.id] }, 'NOT_FOUND'],
  ]
  for (const [changed, expected] of wrong) {
    t.equal(await reason(create, { input: { ...good, ...changed } }), expected, JSON.stringify(changed).slice(0, 80))
  }
  t.equal(await reason(update, { input: { id: first.id } }), 'INVALID_INPUT', 'nothing to change')
  const { key } = await app.createKey(token, { name: 'key', scopes: ['admin'] })
  t.equal(await reason(create, { input: good }, key), 'SESSION_REQUIRED')
  t.equal(await reason(update, { input: { id: first.id, name: 'x' } }, key), 'SESSION_REQUIRED')
  t.equal(await reason(remove, { id: first.id }, key), 'SESSION_REQUIRED')
  t.equal(await reason(update, { input: { id: groupId, name: 'x' } }), 'NOT_FOUND')
  const replica = await app.replica()
  const many = await Promise.all(
    Array.from({ length: 24 }, async (_, index) => {
      const input = { ...good, name: `Issuer at ${index}`, issuer: `https://${index}.example` }
      const { errors } = await (index % 2 === 0 ? app : replica).graphql(create, { input }, token)
      return errors[0]?.extensions.reason ?? 'OK'
    }),
  )
  t.equal(many.filter(each => each === 'OK').length, 18, 'at most 20 over both servers')
  t.equal(many.filter(each => each === 'TOO_MANY_ISSUERS').length, 6)
  await app.app.services.audit.flush()
  const events = '{ auditEvents(filter: { action: ISSUER_UPDATE, result: "OK" }) { nodes { subjectId details } } }'
  const { nodes } = (await app.ask(events, {}, token)).auditEvents
  t.match(nodes, [
    { subjectId: second.id },
    { subjectId: first.id, details: { changes: { name: 'Work', clientSecret: 'changed' } } },
  ])
  const shown = JSON.stringify([nodes, await app.ask(list, {}, token), app.logged()])
  for (const { clientSecret } of issuers) t.notOk(shown.includes(clientSecret), 'no secret is shown')
})

atNight(t, 'an account has identities of several issuers, and each gives and takes its own groups', async t => {
  const { app, token, id, issuers, signIn, sessionOf, linkWith, reason } = await setUp(t, 2)
  const [first, second] = issuers
  if (!first || !second) throw new Error('There are no issuers')
  for (const name of ['A', 'B', 'Both']) {
    const input = { name, role: 'VIEWER' }
    await app.ask(
      'mutation ($input: CreateGroupInput!) { createGroup(input: $input) { group { id } } }',
      { input },
      token,
    )
  }
  second.person = person('ann')
  t.match(await signIn(new TestBrowser(), second.id), { status: 401, text: /No account is linked/ })
  first.person = person('ann', { groups: ['A', 'Both'] })
  second.person = person('ann', { groups: ['B', 'Both'] })
  for (const issuer of issuers) await linkWith(issuer)
  const namesAfter = async (issuer: { id: string }) => {
    const browser = new TestBrowser()
    t.equal((await signIn(browser, issuer.id)).status, 200)
    const found = (await app.ask(me, {}, sessionOf(browser))).me
    t.equal(found.id, id)
    return found.groups.map(({ name }: { name: string }) => name)
  }
  t.same(await namesAfter(first), ['A', 'Both'])
  t.same(await namesAfter(second), ['A', 'B', 'Both'])
  second.person = person('ann', { groups: [] })
  t.same(await namesAfter(second), ['A', 'Both'], 'an issuer takes only what it has given')
  const [a] = (await app.ask('{ me { groups { id } } }', {}, token)).me.groups
  const take = 'mutation ($groupId: ID!, $userId: ID!) { removeGroupMember(groupId: $groupId, userId: $userId) { id } }'
  t.equal(await reason(take, { groupId: a.id, userId: id }), 'INVALID_INPUT', 'the issuer names the member')
  await app.ask(update, { input: { id: first.id, groupsClaim: '' } }, token)
  t.equal(await reason(take, { groupId: a.id, userId: id }), 'OK', 'the issuer names nobody')
  await app.ask(remove, { id: first.id }, token)
  t.same((await app.ask(me, {}, token)).me.groups, [], 'with an issuer, its memberships end')
})

t.test('a verified address in a domain of an issuer gives an account', async t => {
  const { app, token, issuers, signIn, sessionOf } = await setUp(t)
  const [issuer] = issuers
  if (!issuer) throw new Error('There is no issuer')
  const group = 'mutation { createGroup(input: { name: "Staff", role: VIEWER }) { group { id } } }'
  const groupIds = [(await app.ask(group, {}, token)).createGroup.group.id]
  await app.ask(update, { input: { id: issuer.id, domains: ['example.org'], groupIds } }, token)
  const refused = [
    { email: 'ann@example.org' },
    { email: 'ann@example.org', email_verified: false },
    { email: 'ann@sub.example.org', email_verified: true },
    { email: 'ann@notexample.org', email_verified: true },
    { email: '"ann@example.org"@evil.example', email_verified: true },
    ...['/x', '#x', '?x', '\\x', '%2fx', ':80'].map(end => ({ email: `ann@example.org${end}`, email_verified: true })),
    { email: 'ann@example%2eorg', email_verified: true },
    { email: null, email_verified: true },
  ]
  for (const claims of refused) {
    issuer.person = person('ann', claims)
    t.match(await signIn(new TestBrowser(), issuer.id), { status: 401 }, JSON.stringify(claims))
  }
  issuer.person = person('ann', { email: 'owner@example.org', email_verified: true })
  t.match(await signIn(new TestBrowser(), issuer.id), { status: 401, text: /belongs to another account/ })
  issuer.person = person('ann', { email: 'Ann@EXAMPLE.org', email_verified: true })
  const browser = new TestBrowser()
  t.equal((await signIn(browser, issuer.id)).status, 200)
  t.match((await app.ask(me, {}, sessionOf(browser))).me, { email: 'Ann@EXAMPLE.org', groups: [{ name: 'Staff' }] })
})

t.test('an issuer asks what its settings say', async t => {
  const { app, token, issuers, signIn, linkWith } = await setUp(t)
  const [issuer] = issuers
  if (!issuer) throw new Error('There is no issuer')
  issuer.person = person('ann')
  await linkWith(issuer)
  const asked = async (more: string) => {
    const start = `${app.url}/auth/oidc/start?issuer=${issuer.id}${more}`
    const { url } = await new TestBrowser().open(start, ({ href }) => href.startsWith(issuer.url))
    return [url.searchParams.get('prompt'), url.searchParams.get('max_age')]
  }
  t.same(await asked(''), [null, `${365 * 24 * 60 * 60}`])
  const askedAt = (secondsAgo: number) => {
    const time = Math.floor(Date.now() / 1000) - secondsAgo
    issuer.tamper = claims => issuer.sign({ ...claims, auth_time: time })
    return signIn(new TestBrowser(), issuer.id)
  }
  t.equal((await askedAt(3600)).status, 200)
  await app.ask(update, { input: { id: issuer.id, prompt: 'LOGIN', maxAgeMinutes: 30 } }, token)
  t.same(await asked(''), ['login', '1800'])
  t.same(await asked('&fresh=true'), ['login', '0'])
  t.equal((await askedAt(600)).status, 200)
  t.equal((await askedAt(3600)).status, 401, 'the issuer has not asked for an hour')
})

t.test('a test sign-in shows what would happen, and changes nothing', async t => {
  const { app, token, issuers, open, sessionOf, linkWith, reason } = await setUp(t)
  const [issuer] = issuers
  if (!issuer) throw new Error('There is no issuer')
  const start = 'mutation ($input: TestIssuerInput!) { testIssuer(input: $input) }'
  const test = async (input: object, browser = new TestBrowser()) => {
    const { testIssuer } = await app.ask(start, { input }, token)
    browser.setCookie(app.url, 'stowage_session', token)
    return open(browser, testIssuer)
  }
  const group = 'mutation { createGroup(input: { name: "Staff", role: VIEWER }) { group { id } } }'
  const groupIds = [(await app.ask(group, {}, token)).createGroup.group.id]
  const { url, clientId, clientSecret } = issuer
  const unsaved = { issuer: url, clientId, clientSecret, domains: ['id.example.org'], groupIds }
  issuer.person = person('ann', { email_verified: true, groups: ['Staff', '<b>'] })
  const browser = new TestBrowser()
  t.match(await test(unsaved, browser), { text: /domain of the issuer.*Groups in Stowage: <b>Staff<\/b>/s })
  const byGroup = await test({ id: issuer.id })
  t.match(byGroup.text, /because of a group that the issuer names/)
  t.match(byGroup.text, 'Staff, &#60;b&#62;')
  issuer.person = person('bob')
  t.match(await test({ id: issuer.id }), {
    text: /It would be refused, unless you have an invite: No account is linked/,
  })
  issuer.person = person('owner', { email: 'owner@example.org', groups: ['Staff'] })
  t.match(await test({ id: issuer.id }), { text: /belongs to another account/ })
  await linkWith(issuer)
  t.match(await test({ id: issuer.id }), { text: /sign you in to the account owner@example.org/ })
  t.equal(sessionOf(browser), token, 'the session stays')
  const counts = await app.db
    .selectFrom('users')
    .select(({ fn }) => fn.countAll().as('users'))
    .executeTakeFirst()
  t.match(counts, { users: '1' })

  t.comment('Errors in plain words')
  const failures: [object, RegExp][] = [
    [{ id: issuer.id, clientSecret: 'wrong' }, /rejects the client ID or the client secret/],
    [{ ...unsaved, issuer: `http://127.0.0.1:${await freePort()}` }, /Nothing listens at the address/],
    [{ ...unsaved, issuer: `${url}/` }, /calls itself/],
    [{ ...unsaved, issuer: app.url }, /its address may be wrong/],
    [{ ...unsaved, issuer: 'https://169.254.169.254' }, /network rules of this server/],
  ]
  for (const [input, text] of failures) t.match((await test(input)).text, text, String(text))
  issuer.person = null
  const refused = (await test({ id: issuer.id })).text
  t.match(refused, /did not let this person use the client.*Not today/s)
  t.match(refused, /<h1>The test sign-in failed<\/h1>.*You can close this page/s)
  issuer.person = person('ann')
  issuer.tamper = claims => issuer.sign({ ...claims, aud: 'another' })
  t.match((await test({ id: issuer.id })).text, /ID token is for another client/)
  issuer.tamper = null

  t.comment('Only the settings that were given')
  t.equal(await reason(start, { input: { ...unsaved, clientSecret: null } }), 'INVALID_INPUT')
  t.equal(await reason(start, { input: { id: groupIds[0] } }), 'NOT_FOUND')
  const { testIssuer: earlier } = await app.ask(start, { input: { id: issuer.id } }, token)
  await app.ask(start, { input: { id: issuer.id, issuer: 'http://127.0.0.1:1' } }, token)
  const own = new TestBrowser()
  own.setCookie(app.url, 'stowage_session', token)
  t.match(await open(own, earlier), { status: 400 }, 'a later test ends it')

  t.comment('Only in the browser of the administrator, while they are one')
  const { testIssuer: link } = await app.ask(start, { input: { id: issuer.id } }, token)
  t.match(await open(new TestBrowser(), link), { status: 400, text: /belongs to another session/ })
  const other = new TestBrowser()
  other.setCookie(app.url, 'stowage_session', (await app.register('mallory@example.org')).token)
  t.match(await open(other, link), { status: 400, text: /belongs to another session/ })
  const { key } = await app.createKey(token, { name: 'key', scopes: ['admin'] })
  t.equal(await reason(start, { input: { id: issuer.id } }, key), 'SESSION_REQUIRED')
  const second = (await app.ask(login, { input: { email: 'owner@example.org', password } })).login.token
  const { testIssuer: late } = await app.ask(start, { input: { id: issuer.id } }, second)
  own.setCookie(app.url, 'stowage_session', second)
  const back = await own.open(late, ({ pathname }) => pathname.startsWith('/auth/oidc/callback'))
  await app.ask('mutation { logout }', {}, second)
  t.match(await open(own, back.url.href), { status: 401 }, 'the session has ended meanwhile')
  const elsewhere = await test({ id: issuer.id, issuer: 'http://127.0.0.1:1' })
  t.match(elsewhere.text, url, 'a stored secret goes to its own issuer only')
  t.notOk(app.logged().includes(clientSecret))
})

t.test('an issuer cannot pass for another one', async t => {
  const { app, token, id, issuers, add, signIn, open, sessionOf, linkWith } = await setUp(t, 2)
  const [honest, other] = issuers
  if (!honest || !other) throw new Error('There are no issuers')
  honest.person = person('ann')
  honest.namesItself = false
  await linkWith(honest)
  const received: string[] = []
  // Its page sends the browser on to the honest issuer, with the secrets of the sign-in at the hostile one.
  const url = await startHostile(t, url => (request, response) => {
    const at = new URL(request.url ?? '', url)
    received.push(at.pathname)
    if (at.pathname === '/authorize') {
      at.searchParams.set('client_id', honest.clientId)
      at.searchParams.set('redirect_uri', app.url + callbackPathOf(null, honest.url))
      response.writeHead(302, { location: `${honest.url}/auth?${at.searchParams}` }).end()
      return
    }
    const endpoints = {
      authorization_endpoint: `${url}/authorize`,
      token_endpoint: `${url}/token`,
      jwks_uri: `${url}/jwks`,
    }
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ issuer: url, ...endpoints }))
  })
  const hostile = await add({ url, clientId: 'x', clientSecret: 'y' })
  const browser = new TestBrowser()
  t.match(await signIn(browser, hostile), { status: 400 }, 'the response of the honest issuer')
  t.equal(sessionOf(browser), '')
  t.notOk(received.includes('/token'), 'the hostile issuer gets no code')

  t.comment('The code is for the sign-in of somebody else')
  const ownPath = callbackPathOf(null, honest.url)
  const victim = new TestBrowser()
  const sent = await victim.open(`${app.url}/auth/oidc/start?issuer=${hostile}`, ({ href }) => href.startsWith(url))
  const attacker = new TestBrowser()
  const pending = await attacker.open(`${app.url}/auth/oidc/start?issuer=${honest.id}`, ({ href }) =>
    href.startsWith(honest.url),
  )
  // The code is for the attacker's verifier and nonce, and the state is that of the victim.
  const mixed = new URL(pending.url)
  mixed.searchParams.set('state', sent.url.searchParams.get('state') ?? '')
  const answered = await victim.open(mixed.href, ({ pathname }) => pathname.startsWith('/auth/oidc/callback'))
  t.equal(answered.url.pathname, ownPath, 'the issuer answers to its own address only')
  t.equal(answered.url.searchParams.get('iss'), null)
  received.length = 0
  t.match(await open(victim, answered.url.href), { status: 400 })
  t.same(received, [], 'the hostile issuer gets no code')
  mixed.searchParams.set('redirect_uri', app.url + callbackPathOf(null, url))
  t.match(await open(victim, mixed.href), { status: 400 }, 'the honest issuer has no other redirect URI')
  const usual = new TestBrowser()
  t.equal((await signIn(usual, honest.id)).status, 200)
  t.equal((await app.ask(me, {}, sessionOf(usual))).me.id, id)

  t.comment('One issuer signs for another one')
  other.person = person('eve')
  other.tamper = claims => other.sign({ ...claims, iss: honest.url, sub: 'ann' })
  t.match(await signIn(new TestBrowser(), other.id), { status: 401 })
  other.tamper = null
  const begun = new TestBrowser()
  const callback = await begun.open(`${app.url}/auth/oidc/start?issuer=${other.id}`, ({ href }) =>
    href.startsWith(`${app.url}/auth/oidc/callback`),
  )
  const theirs = new TestBrowser()
  await theirs.open(`${app.url}/auth/oidc/start?issuer=${honest.id}`, ({ href }) => href.startsWith(honest.url))
  t.match(await open(theirs, callback.url.href), { status: 400 }, 'a response to the sign-in at another issuer')

  t.comment('Logout tokens')
  const signedIn = new TestBrowser()
  t.equal((await signIn(signedIn, honest.id)).status, 200)
  const now = Math.floor(Date.now() / 1000)
  const claims = {
    iss: honest.url,
    aud: honest.clientId,
    iat: now,
    exp: now + 60,
    jti: 'one',
    sub: 'ann',
    events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
  }
  const send = async (token: string) => {
    const body = new URLSearchParams({ logout_token: token })
    return (await app.request('/auth/oidc/backchannel-logout', { method: 'POST', body })).status
  }
  t.equal(await send(other.sign(claims)), 400, 'signed by another issuer')
  t.equal(await send(other.sign({ ...claims, iss: other.url })), 200, 'about its own people')
  t.equal((await app.ask(me, {}, sessionOf(signedIn))).me.id, id)
  t.equal(await send(honest.sign(claims)), 200)
  t.equal((await app.graphql(me, {}, sessionOf(signedIn))).status, 401)
  t.equal((await app.ask(me, {}, token)).me.id, id)
})

atNight(t, 'an issuer that is down or changes its keys does not concern the others', async t => {
  const { app, issuers, add, signIn, sessionOf, linkWith } = await setUp(t)
  const [issuer] = issuers
  if (!issuer) throw new Error('There is no issuer')
  issuer.person = person('ann')
  await linkWith(issuer)
  const down = await add({ url: 'http://127.0.0.1:1', clientId: 'x', clientSecret: 'y' })
  t.equal((await signIn(new TestBrowser(), down)).status, 503)
  t.equal((await app.ask(installation)).installation.singleSignOn.length, 2)
  const browser = new TestBrowser()
  t.equal((await signIn(browser, issuer.id)).status, 200)
  issuer.rotateKeys()
  t.equal((await signIn(new TestBrowser(), issuer.id)).status, 200, 'at once with the new key')
  t.equal((await app.graphql(me, {}, sessionOf(browser))).status, 200)
})

t.test('what changes while somebody is back from an issuer counts', async t => {
  const { app, token, issuers, signIn, sessionOf, linkWith, reason } = await setUp(t)
  const [issuer] = issuers
  if (!issuer) throw new Error('There is no issuer')
  const ann = await app.register('ann@example.org')
  issuer.person = person('ann')
  await linkWith(issuer, ann.token)
  const during = async (change: RawBuilder<unknown>) => {
    const browser = new TestBrowser()
    const held = await holdLocks(app.db, change)
    const signing = signIn(browser, issuer.id)
    await held.blocks(1)
    await held.commit()
    return { ...(await signing), session: sessionOf(browser) }
  }
  const changed = await during(sql`update issuers set version = version + 1`)
  t.match(changed, { status: 401, session: '', text: /changed, removed or disabled meanwhile/ })
  t.match(await during(sql`update issuers set is_enabled = false`), { status: 401, session: '' })
  await sql`update issuers set is_enabled = true`.execute(app.db)

  t.comment('A link')
  issuer.person = person('second')
  const { identityLinkUrl } = await app.ask(linkUrl, { issuer: issuer.id }, ann.token)
  const { url } = await new TestBrowser().open(identityLinkUrl, isPage)
  const held = await holdLocks(app.db, sql`update issuers set version = version + 1`)
  const linking = reason(link, { ticket: url.hash.replace('#link=', '') }, ann.token)
  await held.blocks(1)
  await held.commit()
  t.equal(await linking, 'SIGN_IN_REFUSED')
  issuer.person = person('ann')
  t.equal((await signIn(new TestBrowser(), issuer.id)).status, 200)

  t.comment('The member')
  const gone = await during(sql`
    with locked as (update workspaces set name = name returning id)
    update members set deactivated_at = now() from locked where user_id = ${ann.id}`)
  t.match(gone, { session: '', text: /deactivated/ })
  t.ok(gone.status >= 400)
  t.equal((await app.graphql(me, {}, token)).status, 200)
})

atNight(t, 'a bounded number of people wait for an issuer, until they leave', async t => {
  const { app, issuers, signIn, linkWith } = await setUp(t, 2)
  const [stuck, other] = issuers
  if (!stuck || !other) throw new Error('There are no issuers')
  for (const issuer of issuers) issuer.person = person('ann')
  await linkWith(other)
  const isCallback = ({ pathname }: URL) => pathname.startsWith('/auth/oidc/callback')
  /** Resolves with a request that is back from an issuer. */
  const backFrom = async ({ id }: { id: string }) => {
    const browser = new TestBrowser()
    const { url } = await browser.open(`${app.url}/auth/oidc/start?issuer=${id}`, isCallback)
    const headers = { cookie: `stowage_sign_in=${browser.cookie(app.url, 'stowage_sign_in')}` }
    return (signal?: AbortSignal) => fetch(url, { headers, redirect: 'manual', signal: signal ?? null })
  }
  const waiting = await Promise.all(Array.from({ length: 24 }, () => backFrom(stuck)))
  const late = await backFrom(other)
  const held: ServerResponse[] = []
  stuck.respond = (request, response) => request.url === '/token' && held.push(response) > 0
  const end = new AbortController()
  const refused: number[] = []
  const sent = waiting.map(async send => {
    const response = await send(end.signal).catch(() => null)
    if (response) refused.push(response.status)
  })
  // 20 wait, and 16 of them have been sent to the issuer.
  await until(() => (refused.length === 4 && held.length === 16) || [refused, held.length])
  t.same(refused, [429, 429, 429, 429])
  t.equal((await late()).status, 429, 'the same network')
  const closed = held.map(response => new Promise(resolve => response.once('close', resolve)))
  end.abort()
  await Promise.all([...closed, ...sent])
  await until(async () => (await late()).status !== 429)
  t.equal((await signIn(new TestBrowser(), other.id)).status, 200)
})

t.test('what an issuer began ends with it, and an owner can always sign in', async t => {
  const { app, token, issuers, signIn, sessionOf, linkWith, reason } = await setUp(t, 2)
  const [issuer, other] = issuers
  if (!issuer || !other) throw new Error('There are no issuers')
  const replica = await app.replica()
  issuer.person = person('ann')
  await linkWith(issuer)
  const statusesOf = (session: string) =>
    Promise.all([app, replica].map(async each => (await each.graphql(me, {}, session)).status))
  const browser = new TestBrowser()
  await signIn(browser, issuer.id)
  t.same(await statusesOf(sessionOf(browser)), [200, 200])
  await app.ask(update, { input: { id: issuer.id, enabled: false } }, token)
  t.same(await statusesOf(sessionOf(browser)), [401, 401], 'disabled')
  t.equal((await signIn(new TestBrowser(), issuer.id)).status, 404)
  t.equal((await app.ask(installation)).installation.singleSignOn.length, 1)
  await app.ask(update, { input: { id: issuer.id, enabled: true } }, token)
  const again = new TestBrowser()
  t.equal((await signIn(again, issuer.id)).status, 200, 'the identity stays')

  await app.db.updateTable('users').set({ password_hash: null }).execute()
  t.equal(await reason(update, { input: { id: issuer.id, enabled: false } }), 'LAST_OWNER')
  t.equal(await reason(remove, { id: issuer.id }), 'LAST_OWNER')
  t.same(await statusesOf(sessionOf(again)), [200, 200])
  other.person = person('ann')
  await linkWith(other)
  const scim = 'mutation ($input: CreateScimTokenInput!) { createScimToken(input: $input) { scimToken { id } } }'
  await app.ask(scim, { input: { name: 'Okta', issuer: issuer.url } }, token)
  await app.ask(remove, { id: issuer.id }, token)
  t.match((await app.ask('{ scimDirectories { issuer } }', {}, token)).scimDirectories, [{ issuer: null }])
  t.same(await statusesOf(sessionOf(again)), [401, 401])
  const identities = '{ identities { issuer } }'
  t.same((await app.ask(identities, {}, token)).identities, [{ issuer: other.url }])
})

t.test('the issuer of the settings comes first, and administrators cannot change it', async t => {
  const issuer = await startIssuer(t)
  const { url, clientId, clientSecret } = issuer
  const app = await startApp(t, { settings: { oidc: { issuer: url, clientId, clientSecret, groupsClaim: null } } })
  const { token } = await app.register('owner@example.org')
  const own = { id: 'settings', name: new URL(url).host, issuer: url, isFromSettings: true, createdAt: null }
  const found = await app.ask(list, {}, token)
  t.match(found.issuers, [own])
  t.notOk(JSON.stringify(found).includes(clientSecret))
  const reason = async (query: string, variables: object) =>
    (await app.graphql(query, { ...variables }, token)).errors[0]?.extensions.reason
  const input = { name: 'A', issuer: url, clientId, clientSecret }
  t.equal(await reason(create, { input }), 'ALREADY_EXISTS')
  t.equal(await reason(update, { input: { id: 'settings', enabled: false } }), 'INVALID_INPUT')
  t.equal(await reason(remove, { id: 'settings' }), 'INVALID_INPUT')
  await app.ask(create, { input: { ...input, name: 'A', issuer: 'https://id.example.org' } }, token)
  const { singleSignOn } = (await app.ask(installation)).installation
  t.match(singleSignOn, [{ id: 'settings' }, { name: 'A' }])

  t.comment('The operator sets an issuer that an owner has added')
  await app.db.updateTable('issuers').set({ issuer: url }).execute()
  const replaced = '{ issuers { id isReplaced } }'
  t.match((await app.ask(replaced, {}, token)).issuers, [{ id: 'settings', isReplaced: false }, { isReplaced: true }])
  t.match((await app.ask(installation)).installation.singleSignOn, [{ id: 'settings' }])
})
