import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { build, type Rollup } from 'vite'
import { startApp } from '../support/app.ts'
import { atNight } from '../support/extent.ts'
import { startBrowser, visit } from './browser.ts'
import type { OtherOriginPage, PageRequest } from './other-origin-page.ts'

declare const page: OtherOriginPage

/** Serves the page of another application on a port, and therefore an origin, of its own. */
async function serveOtherApplication(t: Test): Promise<string> {
  const entry = fileURLToPath(new URL('other-origin-page.ts', import.meta.url))
  const built = await build({
    configFile: false,
    logLevel: 'warn',
    build: { write: false, lib: { entry, formats: ['iife'], name: 'application' } },
  })
  const [{ output }] = [built].flat() as [Rollup.RollupOutput]
  const server = createServer((request, response) => {
    const isScript = request.url === '/script.js'
    response.setHeader('Content-Type', isScript ? 'text/javascript' : 'text/html')
    response.end(isScript ? output[0].code : '<!doctype html><title>Other</title><script src="/script.js"></script>')
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

atNight(t, 'a browser application of an allowed origin calls the whole API with a key', async t => {
  const browser = await startBrowser(t)
  if (!browser) return
  const origin = await serveOtherApplication(t)
  const app = await startApp(t, { settings: { corsOrigins: [origin] } })
  const owner = await app.register('owner@example.org')
  const id = await app.connectProvider(owner.token, 'memory', {})
  const { key } = await app.createKey(owner.token, { name: 'browser', scopes: ['read', 'write'] })
  // The console's session is in the browser, too.
  const window = await visit(browser, app, { token: owner.token })
  await window.goto(origin)
  const server = app.url

  t.same(await window.evaluate(([server, key]) => page.query(server, key), [server, key] as const), {
    me: { email: 'owner@example.org' },
  })
  const uploaded = await window.evaluate(([server, key, id]) => page.upload(server, key, id), [
    server,
    key,
    id,
  ] as const)
  t.equal(uploaded, '/uploaded.txt')
  const url = `${server}/api/download/proxy?providerId=${id}&path=/uploaded.txt`
  const downloaded = await window.evaluate(([url, key]) => page.download(url, key), [url, key] as const)
  t.match(downloaded, { content: 'file', range: 'bytes 2-5/24', etag: /^"/ })

  const used = await window.evaluate(([server, key, id]) => page.useClient(server, key, id), [server, key, id] as const)
  t.same(used, {
    path: '/client/large.bin',
    isIncreasing: true,
    error: 'AbortError',
    byteLength: 9 * 1024 * 1024,
    state: 'SUCCEEDED',
    paths: ['/copied/client', '/copied/client/large.bin'],
  })

  await t.test('but not with the cookie of the console', async t => {
    const header = { 'x-stowage-console': '1' }
    const send = (init: PageRequest) => window.evaluate(([url, init]) => page.send(url, init), [url, init] as const)
    t.equal(await send({ headers: header, credentials: 'include' }), 'TypeError', 'its header is not allowed')
    t.equal(await send({ headers: header }), 'TypeError')
    t.equal(await send({ credentials: 'include' }), 'TypeError', 'a response to a request with cookies is not readable')
    t.equal(await send({}), 401)
    t.equal(await send({ headers: { authorization: 'Bearer wrong' } }), 401, 'an error is readable')
  })
})

t.test('no other origin can read a response or send a header', async t => {
  const browser = await startBrowser(t)
  if (!browser) return
  const origin = await serveOtherApplication(t)
  const window = await browser.newPage()
  await window.goto(origin)
  for (const corsOrigins of [[], ['https://app.example.org']]) {
    const { url } = await startApp(t, { settings: { corsOrigins } })
    const send = (init: PageRequest) =>
      window.evaluate(([url, init]) => page.send(url, init), [`${url}/healthz`, init] as const)
    t.equal(await send({}), 'TypeError')
    t.equal(await send({ headers: { authorization: 'Bearer stw_a' } }), 'TypeError')
  }
})

t.test('a preflight is answered without a credential and can be cached', async t => {
  const allowed = 'https://app.example.org'
  const { url } = await startApp(t, { settings: { corsOrigins: [allowed] } })
  const preflight = (origin: string, path: string, method = 'PATCH') =>
    fetch(url + path, { method: 'OPTIONS', headers: { origin, 'access-control-request-method': method } })
  for (const path of ['/graphql', '/api/upload', '/api/upload/resumable/an-id', '/api/download/proxy']) {
    const { status, headers } = await preflight(allowed, path)
    t.equal(status, 204, path)
    t.equal(headers.get('access-control-allow-origin'), allowed)
    t.equal(headers.get('access-control-max-age'), '7200')
    t.equal(headers.get('vary'), 'Origin')
    t.equal(headers.get('access-control-allow-credentials'), null)
    t.notMatch(headers.get('access-control-allow-headers'), /stowage-console|cookie/i)
  }
  for (const other of [
    'https://app.example.org.evil.test',
    'http://app.example.org',
    'null',
    'https://APP.example.org',
  ]) {
    const { headers } = await preflight(other, '/graphql')
    t.equal(headers.get('access-control-allow-origin'), null, other)
    t.equal(headers.get('access-control-allow-methods'), null, other)
  }
  const describing = await fetch(`${url}/api/upload/resumable`, { method: 'OPTIONS', headers: { origin: allowed } })
  t.match(describing.headers.get('tus-extension'), /creation/, 'OPTIONS that is no preflight reaches its endpoint')
})
