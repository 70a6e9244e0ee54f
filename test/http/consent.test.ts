/** An OAuth consent is valid only in the browser that showed who asks for it. */
import t, { type Test } from 'tap'
import { googleDriveAdapter } from '../../adapters/backends/google-drive/index.ts'
import type { AdapterDefinition } from '../../adapters/contract.ts'
import type { Settings } from '../../src/settings/index.ts'
import { backoff, endpointsOf } from '../adapters/google-drive-world.ts'
import { startGoogleDrive } from '../servers/google-drive/index.ts'
import { startApp } from '../support/app.ts'
import { ConsentBrowser } from '../support/consent.ts'

const connect = `mutation ($input: ConnectProviderInput!) {
  connectProvider(input: $input) { authorizationUrl provider { id } }
}`
const authorize = 'mutation ($id: ID!) { authorizeProvider(id: $id) { authorizationUrl } }'

async function start(t: Test, settings: Partial<Settings> = {}) {
  const fake = await startGoogleDrive(t)
  const { clientId, clientSecret } = fake.oauth
  const adapter = googleDriveAdapter({ endpoints: endpointsOf(fake), backoff })
  const app = await startApp(t, { adapters: [adapter as AdapterDefinition], settings })
  const owner = await app.register('mallory@example.org')
  await app.ask('mutation { updateWorkspace(input: { name: "A & <b>B" }) { id } }', {}, owner.token)
  const { connectProvider } = await app.ask(
    connect,
    { input: { type: 'google-drive', name: '"Team" <Drive>', config: { clientId, clientSecret } } },
    owner.token,
  )
  const { id } = connectProvider.provider
  const begin = async (): Promise<string> =>
    (await app.ask(authorize, { id }, owner.token)).authorizeProvider.authorizationUrl
  const status = async (): Promise<string> =>
    (await app.ask('query ($id: ID!) { provider(id: $id) { status } }', { id }, owner.token)).provider.status
  return { fake, app, owner, id, begin, status, first: connectProvider.authorizationUrl as string }
}

t.test('a consent counts only in the browser that showed who asks for it', async t => {
  const { fake, app, owner, begin, status, first } = await start(t)

  await t.test('the address opens a page of this server that says who asks for what', async t => {
    t.equal(new URL(first).origin, app.url)
    const page = await new ConsentBrowser().open(first)
    t.equal(page.status, 200)
    t.equal(page.headers.get('content-type'), 'text/html; charset=utf-8')
    t.match(page.text, 'mallory@example.org')
    t.match(page.text, 'Google Drive')
    t.match(page.text, 'A &#38; &#60;b&#62;B', 'the workspace, escaped')
    t.match(page.text, '&#34;Team&#34; &#60;Drive&#62;', 'the provider, escaped')
    t.notMatch(page.text, /<script/i)
    const policy = page.headers.get('content-security-policy') ?? ''
    t.match(policy, "default-src 'none'")
    t.match(policy, "frame-ancestors 'none'")
    t.notMatch(policy, 'script-src')
    t.equal(page.headers.get('referrer-policy'), 'no-referrer')
    t.equal(page.headers.get('cache-control'), 'no-store')
    const [cookie = ''] = page.headers.getSetCookie()
    t.match(cookie, /; Path=\//)
    t.match(cookie, /; HttpOnly/)
    t.match(cookie, /; SameSite=Lax/)
    t.notMatch(cookie, /Domain/i, 'this host only')
  })

  await t.test("an attacker who forwards the vendor's address does not get the victim's files", async t => {
    const attacker = new ConsentBrowser()
    const sent = await attacker.begin(await begin())
    const victim = new ConsentBrowser()
    const callback = await victim.consentAtVendor(sent)
    const stolen = await victim.open(callback)
    t.equal(stolen.status, 400)
    t.match(stolen.text, 'another browser')
    t.equal(await status(), 'NEEDS_AUTHORIZATION')
    t.equal(fake.oauth.grants.authorization_code ?? 0, 0, 'the code was not exchanged')
    t.equal((await attacker.open(callback)).status, 400, 'the state is used up')
    t.equal(await status(), 'NEEDS_AUTHORIZATION')
  })

  await t.test('the cookie of another consent or an invented cookie is refused', async t => {
    const attacker = new ConsentBrowser()
    const sent = await attacker.begin(await begin())
    const victim = new ConsentBrowser()
    await victim.begin(await begin())
    t.equal((await victim.open(await victim.consentAtVendor(sent))).status, 400)
    const other = await attacker.begin(await begin())
    const [name = ''] = attacker.cookies.keys()
    for (const value of ['', 'x', 'é', 'x'.repeat(4000)]) {
      const forged = new ConsentBrowser()
      forged.cookies.set(name, encodeURIComponent(value))
      t.equal((await forged.open(await forged.consentAtVendor(other))).status, 400, JSON.stringify(value.slice(0, 10)))
    }
    t.equal(await status(), 'NEEDS_AUTHORIZATION')
  })

  await t.test("an attacker's code cannot be planted in another person's browser", async t => {
    const attacker = new ConsentBrowser()
    const callback = await attacker.consentAtVendor(await attacker.begin(await begin()))
    const victim = new ConsentBrowser()
    await victim.begin(await begin())
    t.equal((await victim.open(callback)).status, 400)
    const state = new URL(callback).searchParams.get('state') ?? ''
    const own = new URL(await victim.consentAtVendor(await victim.begin(await begin())))
    const [ticket = ''] = (own.searchParams.get('state') ?? '').split('.')
    own.searchParams.set('state', state.replace(/^[^.]*/, ticket))
    t.equal((await victim.open(own.href)).status, 400, 'the parts of two states cannot be combined')
    t.equal(await status(), 'NEEDS_AUTHORIZATION')
  })

  await t.test('malformed states are refused', async t => {
    const browser = new ConsentBrowser()
    const ticket = new URL(await begin()).searchParams.get('ticket') ?? ''
    await browser.begin(await begin())
    for (const state of ['', '.', ticket, `${ticket}.`, `${ticket}.x`, `.${ticket}`, `${ticket}.${ticket}`]) {
      const { status, text } = await browser.open(`${app.url}/webhook/callback?code=x&state=${state}`)
      t.equal(status, 400, state)
      t.match(text, 'Authorization not completed')
    }
  })

  await t.test('the same browser completes the consent, once', async t => {
    const browser = new ConsentBrowser()
    const [one, two] = [await begin(), await begin()]
    const vendor = await browser.begin(one)
    await browser.begin(two)
    await browser.begin(one)
    const callback = await browser.consentAtVendor(vendor)
    t.equal((await browser.open(callback)).status, 200, 'with other tabs open')
    t.equal(await status(), 'CONNECTED')
    t.equal((await browser.open(callback)).status, 400, 'a replay')
    t.equal((await browser.open(one)).status, 400, 'the page cannot be used again')
    t.equal((await browser.consent(await begin())).status, 200, 'again')
  })

  await t.test('the audit log records attempts from another browser', async t => {
    await app.app.services.audit.flush()
    const events = `{ auditEvents(first: 50, filter: { action: PROVIDER_CONSENT, result: "INVALID_STATE" }) {
      nodes { result userEmail providerId count }
    } }`
    const { auditEvents } = await app.ask(events, {}, owner.token)
    t.match(auditEvents.nodes[0], { result: 'INVALID_STATE', userEmail: 'mallory@example.org' })
  })
})

t.test('the page opens only for an authorization that can still be completed', async t => {
  const { app, owner, id, begin, first } = await start(t)
  const open = async (address: string) => {
    const page = await new ConsentBrowser().open(address)
    return { status: page.status, text: page.text, cookies: page.headers.getSetCookie().length }
  }
  for (const ticket of ['', 'made-up', 'é%00']) {
    t.match(await open(`${app.url}/oauth/start?ticket=${ticket}`), { status: 400, cookies: 0 })
  }
  t.match(await open(`${app.url}/oauth/start`), { status: 400 })
  t.equal((await fetch(first, { method: 'POST' })).status, 405)

  const key = await app.createKey(owner.token, { name: 'k', scopes: ['admin'] })
  const withKey = (await app.ask(authorize, { id }, key.key)).authorizeProvider.authorizationUrl
  t.match(await open(withKey), { status: 200 })
  await app.ask('mutation ($id: ID!) { revokeApiKey(id: $id) { id } }', { id: key.id }, owner.token)
  t.match(await open(withKey), { status: 401, cookies: 0 }, 'started with a key that was revoked')

  const expired = await begin()
  await app.db
    .updateTable('oauth_states')
    .set({ expires_at: new Date(Date.now() - 1) })
    .execute()
  t.match(await open(expired), { status: 400 })
  t.notMatch(app.logged(), new URL(expired).searchParams.get('ticket') ?? 'no ticket')
})

t.test('a consent is void after the configuration changes', async t => {
  const { app, owner, id, begin, status } = await start(t)
  const browser = new ConsentBrowser()
  const callback = await browser.consentAtVendor(await browser.begin(await begin()))
  const update = 'mutation ($input: UpdateProviderInput!) { updateProvider(input: $input) { status } }'
  await app.ask(update, { input: { id, config: { rootFolderId: 'elsewhere' } } }, owner.token)
  const late = await browser.open(callback)
  t.equal(late.status, 400)
  t.match(late.text, 'changed')
  t.equal(await status(), 'NEEDS_AUTHORIZATION')
})

t.test('behind TLS another host of the domain cannot plant the cookie', async t => {
  const { app, begin, status } = await start(t, { trustedProxies: ['127.0.0.1'] })
  const https = { 'x-forwarded-proto': 'https' }
  const plain = new ConsentBrowser()
  const callback = await plain.consentAtVendor(await plain.begin(await begin()))
  const planted = new ConsentBrowser(https)
  for (const [name, value] of plain.cookies) planted.cookies.set(name, value)
  t.equal((await planted.open(callback)).status, 400, 'under a name that another host of the domain could set')
  t.equal(await status(), 'NEEDS_AUTHORIZATION')

  const browser = new ConsentBrowser(https)
  const address = await begin()
  const [cookie] = (await browser.open(address)).headers.getSetCookie()
  t.match(cookie, /^__Host-.*; Path=\/; .*Secure/)
  t.equal((await browser.consent(address)).status, 200)
  t.notMatch(app.logged(), [...browser.cookies.values()][0] ?? 'no cookie')
})
