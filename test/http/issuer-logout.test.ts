/** Signing out at the issuer, from Stowage and from the page of the issuer: RP-Initiated Logout and Front-Channel Logout. */
import t, { type Test } from 'tap'
import { startIssuer, TestBrowser } from '../servers/oidc.ts'
import { startApp } from '../support/app.ts'

const me = '{ me { id } }'
const exit = '{ issuerLogout { name url } }'
const ann = { id: 'ann', claims: { email: 'ann@id.example.org' } }

async function setUp(t: Test, settings: object = {}) {
  const issuer = await startIssuer(t)
  const { url, clientId, clientSecret } = issuer
  const oidc = { issuer: url, clientId, clientSecret, groupsClaim: null }
  const app = await startApp(t, { settings: { oidc, ...settings } })
  issuer.register([`${app.url}/auth/oidc/callback`], [`${app.url}/sign-in`])
  issuer.person = ann
  const owner = await app.register('owner@example.org')
  const isPage = ({ pathname }: URL) => pathname === '/files' || pathname.startsWith('/settings')
  const { identityLinkUrl } = await app.ask('{ identityLinkUrl }', {}, owner.token)
  const linked = await new TestBrowser().open(identityLinkUrl, isPage)
  const ticket = linked.url.hash.replace('#link=', '')
  await app.ask('mutation ($ticket: String!) { linkIdentity(ticket: $ticket) { id } }', { ticket }, owner.token)
  return {
    app,
    issuer,
    owner,
    async signIn(sid = 'one', browser = new TestBrowser(), more: object = {}) {
      issuer.tamper = claims => issuer.sign({ ...claims, sid, ...more })
      await browser.open(`${app.url}/auth/oidc/start`, isPage)
      return browser.cookie(app.url, 'stowage_session') ?? ''
    },
  }
}

t.test('a person signs out of Stowage, and then at the issuer', async t => {
  const { app, issuer, owner, signIn } = await setUp(t)
  t.same(await app.ask(exit, {}, owner.token), { issuerLogout: null }, 'a session with a password')
  const browser = new TestBrowser()
  const session = await signIn('one', browser)
  const { issuerLogout } = await app.ask(exit, {}, session)
  t.equal(issuerLogout.name, new URL(issuer.url).host)
  await app.ask('mutation { logout }', {}, session)
  const sent = await browser.open(issuerLogout.url, ({ href }) => href.startsWith(issuer.url))
  t.match(Object.fromEntries(sent.url.searchParams), {
    client_id: 'stowage',
    post_logout_redirect_uri: `${app.url}/sign-in`,
    id_token_hint: /^[\w-]+\.[\w-]+\.[\w-]+$/,
  })
  const { response } = await browser.open(sent.url.href)
  const page = (await response?.text()) ?? ''
  t.equal(response?.status, 200, page)
  const xsrf = /name="xsrf" value="([^"]+)"/.exec(page)?.[1] ?? ''
  const form = new URLSearchParams({ xsrf, logout: 'yes' })
  const back = await browser.open(`${issuer.url}/session/end/confirm`, ({ href }) => href.startsWith(app.url), form)
  t.equal(back.url.href, `${app.url}/sign-in`, 'the issuer sends the browser back')
  t.notOk(app.logged().includes(sent.url.searchParams.get('id_token_hint') ?? '?'))

  t.comment('A token that is too long for an address')
  const large = await signIn('two', new TestBrowser(), { groups: Array.from({ length: 500 }, () => 'a group') })
  const { issuerLogout: plain } = await app.ask(exit, {}, large)
  const asked = await new TestBrowser().open(plain.url, ({ href }) => href.startsWith(issuer.url))
  t.match(Object.fromEntries(asked.url.searchParams), { client_id: 'stowage', id_token_hint: undefined })

  t.comment('Only with the ticket of a session')
  for (const ticket of ['', 'x', 'x.y', plain.url.replace(/.*ticket=/, '').slice(0, -2)]) {
    const { response } = await new TestBrowser().open(`${app.url}/auth/oidc/logout?ticket=${ticket}`)
    t.equal(response?.status, 400, ticket)
  }
  const { key } = await app.createKey(owner.token, { name: 'key', scopes: ['admin'] })
  t.equal((await app.graphql(exit, {}, key)).errors[0]?.extensions.reason, 'SESSION_REQUIRED')
})

t.test('the page of the issuer ends sessions in a frame', async t => {
  const { app, issuer, owner, signIn } = await setUp(t)
  const replica = await app.replica()
  const [one, two] = [await signIn('one'), await signIn('two')]
  const statusesOf = (...tokens: string[]) =>
    Promise.all(tokens.flatMap(token => [app, replica].map(async each => (await each.graphql(me, {}, token)).status)))
  const load = (query: Record<string, string>) =>
    app.request(`/auth/oidc/frontchannel-logout?${new URLSearchParams(query)}`)
  const iss = issuer.url
  for (const query of [
    {},
    { iss },
    { sid: 'one' },
    { iss: `${iss}/`, sid: 'one' },
    { iss, sid: '' },
    { iss, sid: 'x'.repeat(300) },
  ]) {
    t.equal((await load(query as Record<string, string>)).status, 400, JSON.stringify(query).slice(0, 80))
  }
  t.equal((await load({ iss, sid: 'unknown' })).status, 200)
  t.same(await statusesOf(one, two), [200, 200, 200, 200])
  const response = await load({ iss, sid: 'one' })
  t.equal(response.status, 200)
  t.match(response.headers.get('content-security-policy'), /frame-ancestors \*/)
  t.equal(response.headers.get('cache-control'), 'no-store')
  t.same(await statusesOf(one, two), [401, 401, 200, 200], 'on every replica, and no other session')
  t.equal((await load({ iss, sid: 'one' })).status, 200, 'again')
  t.equal((await app.graphql(me, {}, owner.token)).status, 200)
  await app.app.services.audit.flush()
  const events = '{ auditEvents(filter: { action: LOGOUT }) { nodes { details } } }'
  const { nodes } = (await app.ask(events, {}, owner.token)).auditEvents
  t.match(nodes, [{ details: { issuer: iss, issuerSession: 'one' } }])
  t.equal(nodes.length, 1, 'requests that end nothing leave no event')
})

t.test('nobody can guess many sessions of an issuer', async t => {
  const { app, issuer } = await setUp(t, { signInLimit: 10 })
  const load = async () =>
    (await app.request(`/auth/oidc/frontchannel-logout?iss=${encodeURIComponent(issuer.url)}&sid=x`)).status
  const statuses: number[] = []
  for (let index = 0; index < 31; index++) statuses.push(await load())
  t.same(statuses.slice(29), [200, 429])
})
