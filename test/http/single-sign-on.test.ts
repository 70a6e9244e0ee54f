/** Single sign-on with a real OpenID Connect issuer, and the attacks of RFC 9700 that apply. */
import type { ServerResponse } from 'node:http'
import t, { type Test } from 'tap'
import { startIssuer, TestBrowser } from '../servers/oidc.ts'
import { startApp } from '../support/app.ts'
import { atNight } from '../support/extent.ts'

const identities = '{ identities { id issuer email lastUsedAt } }'
const link = 'mutation ($ticket: String!) { linkIdentity(ticket: $ticket) { id issuer email } }'
const unlink = 'mutation ($id: ID!) { unlinkIdentity(id: $id) }'
const me = '{ me { id email } }'

async function setUp(t: Test, groupsClaim: string | null = null) {
  const from = await startIssuer(t)
  const { url, clientId, clientSecret } = from
  const app = await startApp(t, { settings: { oidc: { issuer: url, clientId, clientSecret, groupsClaim } } })
  from.register([`${app.url}/auth/oidc/callback`])
  const owner = await app.register('owner@example.org')
  const callback = `${app.url}/auth/oidc/callback`
  const isPage = ({ pathname }: URL) => pathname === '/files' || pathname.startsWith('/settings')
  const isCallback = ({ href }: URL) => href.startsWith(callback)
  return {
    app,
    issuer: from,
    owner,
    isCallback,
    /** Signs in and resolves with the address of the page, or with the status of the failure. */
    async signIn(browser: TestBrowser, query = '') {
      const { url, response } = await browser.open(`${app.url}/auth/oidc/start${query}`, isPage)
      return {
        page: response ? null : `${url.pathname}${url.hash}`,
        status: response?.status ?? null,
        text: (await response?.text()) ?? '',
      }
    },
    /** Sends a browser as far as the callback, and resolves with its address. */
    async untilCallback(browser: TestBrowser) {
      return (await browser.open(`${app.url}/auth/oidc/start`, isCallback)).url
    },
    sessionOf: (browser: TestBrowser) => browser.cookie(app.url, 'stowage_session'),
    /** Links the person of the issuer with an account. */
    async linkTo(token: string, browser = new TestBrowser()) {
      const { identityLinkUrl } = await app.ask('{ identityLinkUrl }', {}, token)
      const { url } = await browser.open(identityLinkUrl, isPage)
      return url.hash.replace('#link=', '')
    },
    reason: async (query: string, variables: object, token: string) =>
      (await app.graphql(query, { ...variables }, token)).errors[0]?.extensions.reason ?? 'OK',
  }
}

const ann = { id: 'ann', claims: { email: 'ann@id.example.org', email_verified: true, name: 'Ann' } }

t.test('a person links an identity while signed in, signs in with it, and unlinks it', async t => {
  const { app, issuer, owner, signIn, linkTo, sessionOf } = await setUp(t)
  t.same(await app.ask('{ installation { singleSignOn { name url } } }'), {
    installation: {
      singleSignOn: [{ name: new URL(issuer.url).host, url: `${app.url}/auth/oidc/start?issuer=settings` }],
    },
  })
  issuer.person = ann
  const stranger = new TestBrowser()
  const refused = await signIn(stranger)
  t.equal(refused.status, 401)
  t.match(refused.text, 'link it in your profile')
  t.equal(sessionOf(stranger), null)

  const ticket = await linkTo(owner.token)
  t.match(await app.ask(link, { ticket }, owner.token), {
    linkIdentity: { issuer: issuer.url, email: 'ann@id.example.org' },
  })
  const browser = new TestBrowser()
  t.same((await signIn(browser, '?next=/settings/profile')).page, '/settings/profile')
  const session = sessionOf(browser) ?? ''
  t.match(await app.ask(me, {}, session), { me: { id: owner.id, email: 'owner@example.org' } })
  const { identities: found } = await app.ask(identities, {}, session)
  t.match(found, [{ issuer: issuer.url, email: 'ann@id.example.org', lastUsedAt: /^20/ }])
  await app.app.services.audit.flush()
  const events =
    'query ($action: AuditAction) { auditEvents(filter: { action: $action }) { nodes { result userId details } } }'
  const eventsOf = async (action: string) => (await app.ask(events, { action }, owner.token)).auditEvents.nodes
  t.match(await eventsOf('LOGIN'), [{ result: 'OK', userId: owner.id, details: { issuer: issuer.url } }])
  t.match((await eventsOf('REGISTER'))[0], { result: 'NOT_LINKED', userId: null, details: { issuer: issuer.url } })

  await app.ask(unlink, { id: found[0].id }, owner.token)
  t.equal((await app.graphql(me, {}, session)).status, 401, 'its sessions end')
  t.equal((await app.graphql(me, {}, owner.token)).status, 200)
  t.equal((await signIn(new TestBrowser())).status, 401)
  t.notMatch(app.logged(), ticket)
})

t.test('an email never finds an account', async t => {
  const { app, issuer, owner, signIn, linkTo, reason } = await setUp(t)
  for (const email_verified of [true, false]) {
    issuer.person = { id: `eve ${email_verified}`, claims: { email: 'owner@example.org', email_verified } }
    t.equal((await signIn(new TestBrowser())).status, 401)
  }
  // Two accounts cannot have one identity.
  issuer.person = ann
  const other = await app.register('other@example.org')
  t.equal(await reason(link, { ticket: await linkTo(owner.token) }, owner.token), 'OK')
  t.equal(await reason(link, { ticket: await linkTo(other.token) }, other.token), 'ALREADY_EXISTS')
  t.equal(
    await reason(unlink, { id: (await app.ask(identities, {}, owner.token)).identities[0].id }, other.token),
    'NOT_FOUND',
  )
})

t.test('a ticket links only with the session that asked for it', async t => {
  const { app, issuer, owner, linkTo, reason, signIn } = await setUp(t)
  issuer.person = ann
  const mallory = await app.register('mallory@example.org')
  const ticket = await linkTo(mallory.token)
  t.equal(await reason(link, { ticket }, owner.token), 'INVALID_STATE', 'the victim, in the account of the attacker')
  const { key } = await app.createKey(owner.token, { name: 'key', scopes: ['admin'] })
  t.equal(await reason(link, { ticket }, key), 'SESSION_REQUIRED')
  t.equal(await reason('{ identityLinkUrl }', {}, key), 'SESSION_REQUIRED')
  const [payload = '', signature] = ticket.split('.')
  const forged = { ...JSON.parse(Buffer.from(payload, 'base64url').toString()), subject: 'owner' }
  const text = Buffer.from(JSON.stringify(forged)).toString('base64url')
  t.equal(await reason(link, { ticket: `${text}.${signature}` }, mallory.token), 'INVALID_STATE')
  t.equal(await reason(link, { ticket: `${payload}.` }, mallory.token), 'INVALID_STATE')
  t.equal((await signIn(new TestBrowser(), `?link=${ticket}`)).status, 400, 'a ticket is no link')
  t.equal(await reason(link, { ticket }, mallory.token), 'OK')
})

t.test('a sign-in completes once, in the browser that began it', async t => {
  const { app, issuer, owner, linkTo, sessionOf, untilCallback } = await setUp(t)
  issuer.person = ann
  await app.ask(link, { ticket: await linkTo(owner.token) }, owner.token)
  const statusAt = async (browser: TestBrowser, url: URL | string) =>
    (await browser.open(String(url), ({ pathname }) => pathname === '/files')).response?.status ?? 'signed in'

  const browser = new TestBrowser()
  const url = await untilCallback(browser)
  const kept = browser.cookie(app.url, 'stowage_sign_in') ?? ''
  const other = new TestBrowser()
  t.equal(await statusAt(other, url), 400, 'injected into a browser without a sign-in')
  await untilCallback(other)
  t.equal(await statusAt(other, url), 400, 'injected into another sign-in')
  t.equal(sessionOf(other), null)
  t.equal(await statusAt(browser, url), 'signed in')
  t.equal(await statusAt(browser, url), 400, 'the address again')
  browser.setCookie(app.url, 'stowage_sign_in', kept)
  t.equal(await statusAt(browser, url), 400, 'the address and the cookie again')

  const fresh = new TestBrowser()
  const unused = await untilCallback(fresh)
  for (const change of [
    (query: URLSearchParams) => query.delete('state'),
    (query: URLSearchParams) => query.set('state', 'another'),
    (query: URLSearchParams) => query.append('state', 'another'),
  ]) {
    const changed = new URL(unused)
    change(changed.searchParams)
    const copy = new TestBrowser()
    await untilCallback(copy)
    copy.setCookie(app.url, 'stowage_sign_in', fresh.cookie(app.url, 'stowage_sign_in') ?? '')
    t.match(String(await statusAt(copy, changed)), /^40[01]$/)
  }
  const swapped = new TestBrowser()
  const theirs = await untilCallback(swapped)
  const injected = new URL(theirs)
  injected.searchParams.set('code', (await untilCallback(new TestBrowser())).searchParams.get('code') ?? '')
  t.equal(await statusAt(swapped, injected), 401, 'the code of another sign-in, which has another verifier')
  const mixed = new TestBrowser()
  const mixedUp = await untilCallback(mixed)
  mixedUp.searchParams.set('iss', 'https://attacker.example')
  t.equal(await statusAt(mixed, mixedUp), 401, 'the response of another issuer')
  issuer.person = null
  t.equal(await statusAt(new TestBrowser(), `${app.url}/auth/oidc/start`), 401, 'the issuer refused')
})

t.test('a sign-in confirms who somebody is only if the issuer has just asked them', async t => {
  const { app, issuer, owner, linkTo, signIn, sessionOf, reason } = await setUp(t)
  issuer.person = ann
  await app.ask(link, { ticket: await linkTo(owner.token) }, owner.token)
  const rename = 'mutation { updateWorkspace(input: { name: "Renamed" }) { id } }'
  const hourAgo = Math.floor(Date.now() / 1000) - 3600
  issuer.tamper = claims => issuer.sign({ ...claims, auth_time: hourAgo })
  const known = new TestBrowser()
  t.equal((await signIn(known)).page, '/files')
  t.equal(await reason(rename, {}, sessionOf(known) ?? ''), 'CONFIRMATION_REQUIRED', 'known there for an hour')
  t.equal((await signIn(known, '?fresh=true')).status, 401, 'the issuer has not asked')
  issuer.tamper = claims => issuer.sign({ ...claims, auth_time: undefined })
  t.equal((await signIn(new TestBrowser(), '?fresh=true')).status, 401, 'the issuer does not say when it has asked')
  issuer.tamper = null
  const asked = await known.open(`${app.url}/auth/oidc/start?fresh=true`, ({ href }) => href.startsWith(issuer.url))
  t.match(Object.fromEntries(asked.url.searchParams), { prompt: 'login', max_age: '0' })
  const fresh = new TestBrowser()
  t.equal((await signIn(fresh, '?fresh=true')).page, '/files')
  t.equal(await reason(rename, {}, sessionOf(fresh) ?? ''), 'OK')
  issuer.tamper = claims => issuer.sign({ ...claims, auth_time: hourAgo + 7200 })
  t.equal((await signIn(new TestBrowser())).page, '/files', 'a clock that is ahead')
})

t.test('tokens that the issuer has not made for this sign-in are refused', async t => {
  const { app, issuer, owner, linkTo, signIn } = await setUp(t)
  issuer.person = ann
  await app.ask(link, { ticket: await linkTo(owner.token) }, owner.token)
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const now = Math.floor(Date.now() / 1000)
  const attacks: Record<string, NonNullable<typeof issuer.tamper>> = {
    'another audience': claims => issuer.sign({ ...claims, aud: 'another client' }),
    'another authorized party': claims => issuer.sign({ ...claims, aud: ['stowage', 'another'], azp: 'another' }),
    'another issuer': claims => issuer.sign({ ...claims, iss: 'https://attacker.example' }),
    'another nonce': claims => issuer.sign({ ...claims, nonce: 'another' }),
    'no nonce': claims => issuer.sign({ ...claims, nonce: undefined }),
    expired: claims => issuer.sign({ ...claims, exp: now - 3600 }),
    'no algorithm': claims => `${encode({ alg: 'none' })}.${encode(claims)}.`,
    'another algorithm': claims => issuer.sign(claims, { alg: 'HS256' }),
    'an unknown key': claims => issuer.sign(claims, { kid: 'two' }),
    'a changed subject': (claims, token) => {
      const [header, , signature] = token.split('.')
      return `${header}.${encode({ ...claims, sub: 'owner' })}.${signature}`
    },
    'no subject': claims => issuer.sign({ ...claims, sub: undefined }),
    'a long subject': claims => issuer.sign({ ...claims, sub: 's'.repeat(256) }),
  }
  for (const [name, tamper] of Object.entries(attacks)) {
    issuer.tamper = tamper
    const { status, page } = await signIn(new TestBrowser())
    t.same([status, page], [401, null], name)
  }
  issuer.tamper = claims => issuer.sign({ ...claims, iat: now + 30 })
  t.equal((await signIn(new TestBrowser())).page, '/files', 'clocks may differ by a minute')
})

atNight(
  t,
  'an issuer that is down, slow to agree, or too talkative ends no session, and people still sign in with passwords',
  async t => {
    const { app, issuer, owner, linkTo, signIn } = await setUp(t)
    issuer.person = ann
    await app.ask(link, { ticket: await linkTo(owner.token) }, owner.token)
    const faults: Record<string, (response: ServerResponse) => void> = {
      'an error': response => void response.writeHead(500).end('no'),
      'no JSON': response => void response.writeHead(200, { 'content-type': 'text/html' }).end('<html>'),
      'a hundred megabytes': response => {
        response.writeHead(200, { 'content-type': 'application/json' })
        const send = () => {
          while (!response.destroyed && response.write(Buffer.alloc(100_000, 32))) if (response.destroyed) return
          response.once('drain', send)
        }
        send()
      },
      'a redirect': response => void response.writeHead(302, { location: `${app.url}/graphql` }).end(),
      'a closed connection': response => void response.destroy(),
    }
    for (const [name, fault] of Object.entries(faults)) {
      issuer.respond = (request, response) => {
        if (request.url !== '/token') return false
        fault(response)
        return true
      }
      const { status } = await signIn(new TestBrowser())
      t.ok(status === 401 || status === 503, `${name}: ${status}`)
    }
    issuer.respond = null
    await issuer.close()
    const replica = await app.replica()
    const { response } = await new TestBrowser().open(`${replica.url}/auth/oidc/start`)
    t.equal(response?.status, 503)
    t.equal((await app.graphql(me, {}, owner.token)).status, 200)
    await app.register('another@example.org')
  },
)

t.test('groups follow the issuer, and give an account at the first sign-in', async t => {
  const { app, issuer, owner, signIn, sessionOf, reason } = await setUp(t, 'groups')
  const create = 'mutation ($input: CreateGroupInput!) { createGroup(input: $input) { group { id } } }'
  const add = 'mutation ($groupId: ID!, $userId: ID!) { addGroupMember(groupId: $groupId, userId: $userId) { id } }'
  const take = 'mutation ($groupId: ID!, $userId: ID!) { removeGroupMember(groupId: $groupId, userId: $userId) { id } }'
  const group = async (name: string, role: string): Promise<string> =>
    (await app.ask(create, { input: { name, role } }, owner.token)).createGroup.group.id
  const [writers, byHand] = [await group('Writers', 'EDITOR'), await group('By hand', 'VIEWER')]
  await group('Readers', 'VIEWER')
  await group('Nothing', 'NONE')
  const person = (groups: unknown) => ({ id: 'ann', claims: { email: 'ann@example.org', name: 'Ann', groups } })
  const seen = async (browser: TestBrowser) => {
    const viewer = '{ viewer { scopes user { id email name role groups { name } } } }'
    const { scopes, user } = (await app.ask(viewer, {}, sessionOf(browser) ?? '')).viewer
    return { ...user, scopes, groups: user.groups.map((each: { name: string }) => each.name) }
  }
  for (const groups of [undefined, [], ['unknown'], ['Nothing'], 5, { writers: true }, [['Writers'], null]]) {
    issuer.person = person(groups)
    t.equal((await signIn(new TestBrowser())).status, 401, JSON.stringify(groups))
  }
  issuer.person = { id: 'eve', claims: { email: 'owner@example.org', groups: ['Writers'] } }
  t.match(await signIn(new TestBrowser()), { status: 401, text: /belongs to another account/ })
  issuer.person = { id: 'eve', claims: { groups: ['Writers'] } }
  t.match(await signIn(new TestBrowser()), { status: 401, text: /does not name your email/ })

  issuer.person = person(['writers', 'unknown'])
  const first = new TestBrowser()
  t.equal((await signIn(first)).page, '/files')
  const ann = await seen(first)
  t.match(ann, { email: 'ann@example.org', name: 'Ann', role: 'NONE', groups: ['Writers'], scopes: ['read', 'write'] })
  t.equal(await reason(take, { groupId: writers, userId: ann.id }, owner.token), 'INVALID_INPUT', 'the issuer decides')
  await app.ask(add, { groupId: byHand, userId: ann.id }, owner.token)
  t.same(
    await reason(
      'mutation ($input: LoginInput!) { login(input: $input) { token } }',
      { input: { email: 'ann@example.org', password: '' } },
      '',
    ),
    'WRONG_EMAIL_OR_PASSWORD',
  )

  issuer.person = person(['READERS'])
  const second = new TestBrowser()
  await signIn(second)
  t.match(await seen(second), { id: ann.id, groups: ['By hand', 'Readers'], scopes: ['read'] })
  t.same((await seen(first)).groups, ['By hand', 'Readers'], 'in each session')
  issuer.person = person(undefined)
  // The issuer asks browsers without a session there who signs in.
  await signIn(new TestBrowser())
  t.same((await seen(second)).groups, ['By hand'], 'without the claim, no groups')
  const events = '{ auditEvents(filter: { action: LOGIN }) { nodes { details } } }'
  t.match((await app.ask(events, {}, owner.token)).auditEvents.nodes, [
    { details: { groups: { joined: [], left: ['Readers'] } } },
    { details: { groups: { joined: ['Readers'], left: ['Writers'] } } },
  ])
  const last = (await app.ask(identities, {}, sessionOf(second) ?? '')).identities[0].id
  t.equal(await reason(unlink, { id: last }, sessionOf(second) ?? ''), 'INVALID_INPUT', 'the only way to sign in')
  await app.ask('mutation { updateWorkspace(input: { registration: CLOSED }) { id } }', {}, owner.token)
  issuer.person = { id: 'bob', claims: { email: 'bob@example.org', groups: ['Writers'] } }
  t.equal((await signIn(new TestBrowser())).status, 401, 'a closed workspace takes nobody')
})

atNight(t, 'an invite gives an account, once', async t => {
  const { app, issuer, owner, signIn, sessionOf } = await setUp(t)
  const create = 'mutation { createInvite(input: { role: EDITOR }) { invite } }'
  const { invite } = (await app.ask(create, {}, owner.token)).createInvite
  issuer.person = { id: 'eve', claims: { email: 'owner@example.org' } }
  t.equal((await signIn(new TestBrowser(), `?invite=${invite}`)).status, 401, 'not for the email of another account')
  issuer.person = ann
  t.equal((await signIn(new TestBrowser(), '?invite=unknown')).status, 400)
  const browser = new TestBrowser()
  t.equal((await signIn(browser, `?invite=${invite}`)).page, '/files')
  const viewer = '{ viewer { user { email role isServiceAccount } } }'
  t.match(await app.ask(viewer, {}, sessionOf(browser) ?? ''), {
    viewer: { user: { email: 'ann@id.example.org', role: 'EDITOR' } },
  })
  issuer.person = { id: 'bob', claims: { email: 'bob@id.example.org' } }
  t.equal((await signIn(new TestBrowser(), `?invite=${invite}`)).status, 400, 'an invite works once')
})

t.test('the issuer ends sessions, and nobody else does', async t => {
  const { app, issuer, owner, signIn, linkTo, sessionOf } = await setUp(t)
  const replica = await app.replica()
  issuer.person = ann
  await app.ask(link, { ticket: await linkTo(owner.token) }, owner.token)
  const now = Math.floor(Date.now() / 1000)
  let count = 0
  const claims = (more: object = {}) => {
    count += 1
    const events = { 'http://schemas.openid.net/event/backchannel-logout': {} }
    return {
      iss: issuer.url,
      aud: issuer.clientId,
      iat: now,
      exp: now + 120,
      jti: `token ${count}`,
      sub: 'ann',
      events,
      ...more,
    }
  }
  const send = async (token: string) =>
    (
      await app.request('/auth/oidc/backchannel-logout', {
        method: 'POST',
        body: new URLSearchParams({ logout_token: token }),
      })
    ).status
  const begin = async (sid: string) => {
    issuer.tamper = given => issuer.sign({ ...given, sid })
    const browser = new TestBrowser()
    await signIn(browser)
    return sessionOf(browser) ?? ''
  }
  const statusesOf = (...tokens: string[]) =>
    Promise.all(tokens.flatMap(token => [app, replica].map(async each => (await each.graphql(me, {}, token)).status)))
  const [one, two] = [await begin('one'), await begin('two')]
  t.same(await statusesOf(one, two), [200, 200, 200, 200])
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const forged: Record<string, string> = {
    'no token': 'x',
    'no algorithm': `${encode({ alg: 'none' })}.${encode(claims())}.`,
    'an unknown key': issuer.sign(claims(), { kid: 'two' }),
    'another algorithm': issuer.sign(claims(), { alg: 'HS256' }),
    'another audience': issuer.sign(claims({ aud: 'another' })),
    'another issuer': issuer.sign(claims({ iss: 'https://attacker.example' })),
    old: issuer.sign(claims({ iat: now - 7200, exp: now + 120 })),
    expired: issuer.sign(claims({ exp: now - 120 })),
    'an ID token': issuer.sign(claims({ events: undefined, nonce: 'x' })),
    'with a nonce': issuer.sign(claims({ nonce: 'x' })),
    'another event': issuer.sign(claims({ events: { other: {} } })),
    'of nobody': issuer.sign(claims({ sub: undefined })),
    'without a name': issuer.sign(claims({ jti: undefined })),
  }
  for (const [name, token] of Object.entries(forged)) t.equal(await send(token), 400, name)
  t.equal(await send(issuer.sign(claims({ sub: 'bob' }))), 200, 'somebody without a session')
  t.same(await statusesOf(one, two), [200, 200, 200, 200])
  const token = issuer.sign(claims({ sid: 'one' }))
  t.equal(await send(token), 200)
  t.same(await statusesOf(one, two), [401, 401, 200, 200], 'one session at the issuer')
  t.equal(await send(token), 400, 'a token works once')
  const three = await begin('three')
  t.equal(await send(issuer.sign(claims())), 200)
  t.same(await statusesOf(two, three), [401, 401, 401, 401], 'all sessions of the person')
  t.equal((await app.graphql(me, {}, owner.token)).status, 200, 'a session with a password')
})

t.test('after a sign-in, only pages of this server are opened', async t => {
  const { app, issuer, owner, linkTo } = await setUp(t)
  issuer.person = ann
  await app.ask(link, { ticket: await linkTo(owner.token) }, owner.token)
  for (const next of ['https://evil.example', '//evil.example', '/\\evil.example', '/\t/evil.example', 'x', '']) {
    const start = `${app.url}/auth/oidc/start?next=${encodeURIComponent(next)}`
    const { url } = await new TestBrowser().open(
      start,
      ({ pathname, host }) => pathname === '/files' || host.includes('evil'),
    )
    t.equal(url.href, `${app.url}/files`, JSON.stringify(next))
  }
})

t.test('without an issuer, there is no single sign-on', async t => {
  const app = await startApp(t)
  const { token } = await app.register('owner@example.org')
  t.same(await app.ask('{ installation { singleSignOn { name } } }'), { installation: { singleSignOn: [] } })
  t.equal((await app.request('/auth/oidc/start')).status, 404)
  t.equal((await app.request('/auth/oidc/callback?state=x&code=y')).status, 400)
  const body = new URLSearchParams({ logout_token: 'x' })
  t.equal((await app.request('/auth/oidc/backchannel-logout', { method: 'POST', body })).status, 404)
  t.equal((await app.graphql('{ identityLinkUrl }', {}, token)).errors[0]?.extensions.reason, 'NOT_FOUND')
})
