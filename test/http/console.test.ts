import t from 'tap'
import { startApp } from '../support/app.ts'

const app = await startApp(t)
const owner = await app.register('owner@example.org')
const me = JSON.stringify({ query: '{ me { email } }' })

interface Call {
  method?: string
  headers?: Record<string, string>
  body?: string
}

const call = (path: string, { method = 'GET', headers = {}, body }: Call = {}) =>
  fetch(`${app.url}${path}`, { method, headers, redirect: 'manual', ...(body !== undefined && { body }) })
const graphql = (headers: Record<string, string>, body = me) =>
  call('/graphql', { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body })
const ownScript = { 'x-stowage-console': '1' }

async function cookieOf(token: string): Promise<{ cookie: string; line: string }> {
  const response = await call('/console/session', { method: 'POST', headers: { authorization: `Bearer ${token}` } })
  t.equal(response.status, 204)
  const line = response.headers.get('set-cookie') ?? ''
  return { cookie: line.split(';', 1)[0] ?? '', line }
}

t.test('a session in a cookie acts only for the console’s own scripts', async t => {
  const { cookie, line } = await cookieOf(owner.token)
  t.match(line, /; Path=\/; Expires=.*; HttpOnly; SameSite=Strict$/)
  t.match(await (await graphql({ cookie, ...ownScript })).json(), { data: { me: { email: 'owner@example.org' } } })
  t.match(await (await graphql({ cookie })).json(), { errors: [{ extensions: { reason: 'CREDENTIAL_REQUIRED' } }] })
  const form = { 'content-type': 'application/x-www-form-urlencoded', cookie }
  t.equal((await call('/graphql', { method: 'POST', headers: form, body: 'query={me{id}}' })).status, 415)
  const upload = '/api/upload/proxy?providerId=x&path=/x'
  t.equal((await call(upload, { method: 'POST', headers: form, body: 'x' })).status, 401)
  const preflight = { origin: 'https://elsewhere.example', 'access-control-request-headers': 'x-stowage-console' }
  const allowed = await call('/graphql', { method: 'OPTIONS', headers: preflight })
  t.equal(allowed.headers.get('access-control-allow-origin'), null, 'no other site may send the header')
})

t.test('a token in the header takes precedence over the cookie', async t => {
  const { cookie } = await cookieOf(owner.token)
  const other = await app.register('other@example.org')
  const response = await graphql({ cookie, ...ownScript, authorization: `Bearer ${other.token}` })
  t.match(await response.json(), { data: { me: { email: 'other@example.org' } } })
})

t.test('only a session token can become a cookie', async t => {
  const { key } = await app.createKey(owner.token, { name: 'key', scopes: ['admin'] })
  const post = (headers: Record<string, string>) => call('/console/session', { method: 'POST', headers })
  const byKey = await post({ authorization: `Bearer ${key}` })
  t.equal(byKey.status, 403)
  t.match(await byKey.json(), { errors: [{ extensions: { reason: 'SESSION_REQUIRED' } }] })
  t.equal((await post({})).status, 401)
  const { cookie } = await cookieOf(owner.token)
  const again = await post({ cookie, ...ownScript })
  t.equal(again.status, 403, 'a cookie cannot be exchanged for another cookie')
})

t.test('a session that has ended is refused, and its cookie can be dropped', async t => {
  const { token } = await app.register('leaving@example.org')
  const { cookie } = await cookieOf(token)
  await app.ask('mutation { logout }', {}, token)
  const headers = { cookie, ...ownScript }
  t.equal((await graphql(headers)).status, 401)
  const dropped = await call('/console/session', { method: 'DELETE', headers })
  t.equal(dropped.status, 204)
  t.match(dropped.headers.get('set-cookie'), /^stowage_session=; .*Expires=Thu, 01 Jan 1970/)
})

t.test('console pages and assets are served with safe headers', async t => {
  for (const path of ['/', '/sign-in', '/files/0/a/b%20c', '/settings/api-keys']) {
    const page = await call(path)
    t.equal(page.status, 200, path)
    t.match(page.headers.get('content-type'), 'text/html')
    t.match(page.headers.get('content-security-policy'), /^default-src 'none'; script-src 'self';/)
    t.notMatch(page.headers.get('content-security-policy'), /script-src[^;]*unsafe/)
    t.equal(page.headers.get('cache-control'), 'no-cache')
  }
  const html = await (await call('/')).text()
  const [script = ''] = /\/assets\/[\w-]+\.js/.exec(html) ?? []
  const asset = await call(script, { headers: { 'accept-encoding': 'br' } })
  t.equal(asset.status, 200)
  t.match(asset.headers.get('cache-control'), 'immutable')
  t.equal(asset.headers.get('content-encoding'), 'br')
  // A worker has the policy of its script.
  const policy = "default-src 'none'; connect-src 'self'; frame-ancestors 'none'"
  t.equal(asset.headers.get('content-security-policy'), policy)
  for (const path of ['/assets/none.js', '/assets/..%2Findex.html', '/assets/%00.js', '/files.js', '/index.html']) {
    const missing = await call(path)
    t.equal(missing.status, 404, path)
    t.match(await missing.json(), { errors: [{ extensions: { code: 'NOT_FOUND' } }] })
  }
})

t.test('the manifest installs the console with the look of the workspace, in the language of the page', async t => {
  const manifest = async (query = '') => (await call(`/manifest.webmanifest${query}`)).json()
  const plain = await call('/manifest.webmanifest')
  t.equal(plain.headers.get('content-type'), 'application/manifest+json; charset=utf-8')
  t.equal(plain.headers.get('cache-control'), 'no-cache')
  t.match(await plain.json(), { name: 'Stowage', start_url: '/files', scope: '/', display: 'standalone' })
  const branding = 'mutation ($input: UpdateWorkspaceInput!) { updateWorkspace(input: $input) { id } }'
  await app.ask(branding, { input: { brandColor: '#aa3300', brandText: 'Files of Mona' } }, owner.token)
  const { name, short_name, theme_color, lang, shortcuts, icons } = await manifest('?language=de')
  t.same(
    { name, short_name, theme_color, lang },
    { name: 'Files of Mona', short_name: 'Stowage', theme_color: '#aa3300', lang: 'de' },
  )
  t.ok(shortcuts.some(({ name }: { name: string }) => name === 'Suche'))
  for (const { src, type } of icons) {
    const icon = await call(src)
    t.same([icon.status, icon.headers.get('content-type')], [200, type], src)
  }
  await app.ask(branding, { input: { brandText: 'A sentence that says at length what people do here.' } }, owner.token)
  t.match(await manifest('?language=__proto__'), { name: 'Stowage', lang: 'en' })
  t.equal((await call('/manifest.webmanifest?language=de&x=1')).status, 400)
  t.match((await call('/')).headers.get('content-security-policy'), /manifest-src 'self'; worker-src 'self'/)
})
