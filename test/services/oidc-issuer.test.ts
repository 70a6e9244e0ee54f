/** Issuers that are slow, endless or confused: each of their responses is bounded, and never trusted. */
import { once } from 'node:events'
import { createServer, type RequestListener, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { createIssuer, type SignInChecks } from '../../src/services/people/oidc-issuer.ts'
import { startIssuer } from '../servers/oidc.ts'

const checks: SignInChecks = { state: 'a state', nonce: 'a nonce', codeVerifier: 'v'.repeat(43) }
/** What the person sees. */
const unavailable = { message: /does not respond as an OpenID Connect issuer|calls itself/ }
const options = { redirectUri: 'https://files.example.org/auth/oidc/callback', isFresh: false }

async function start(t: Test, respond: RequestListener): Promise<string> {
  const server = createServer(respond).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const issuerAt = (issuer: string, timeout: number) =>
  createIssuer({ issuer, clientId: 'stowage', clientSecret: 'a secret', groupsClaim: null }, fetch, timeout)

/** Sends more and more until the client hangs up. Resolves with the number of bytes. */
function flood(response: ServerResponse, ended: (bytes: number) => void): void {
  let sent = 0
  response.writeHead(200, { 'content-type': 'application/json' })
  const send = () => {
    while (!response.destroyed) {
      sent += 100_000
      if (!response.write(Buffer.alloc(100_000, 32))) break
    }
    if (!response.destroyed) response.once('drain', send)
  }
  response.once('close', () => ended(sent))
  send()
}

t.test('a response that never comes, or never ends, fails in time', async t => {
  const silent = await start(t, () => {})
  await t.rejects(issuerAt(silent, 200).signInUrl(checks, options), unavailable)
  const slow = await start(t, (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    const timer = setInterval(() => response.write(' '), 20)
    response.once('close', () => clearInterval(timer))
  })
  await t.rejects(issuerAt(slow, 200).signInUrl(checks, options), unavailable)
  const { promise, resolve } = Promise.withResolvers<number>()
  const endless = await start(t, (_request, response) => flood(response, resolve))
  await t.rejects(issuerAt(endless, 10_000).signInUrl(checks, options), unavailable)
  // Besides a megabyte, buffers of the system are full.
  t.ok((await promise) < 30_000_000, 'the rest is not read')
})

t.test('metadata of somebody else, or with insecure addresses, are refused', async t => {
  const metadata = (url: string, more: object = {}) =>
    JSON.stringify({ issuer: url, authorization_endpoint: `${url}/auth`, token_endpoint: `${url}/token`, ...more })
  const answers: Record<string, (url: string) => string> = {
    'another issuer': () => metadata('https://id.example.org'),
    'another spelling': url => metadata(`${url}/`),
    'no issuer': () => '{}',
    'no JSON': () => '<html>',
    'a list': () => '[]',
  }
  for (const [name, answer] of Object.entries(answers)) {
    const url: string = await start(t, (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end(answer(url))
    })
    await t.rejects(issuerAt(url, 5000).signInUrl(checks, options), unavailable, name)
  }
  const elsewhere = await start(t, (_request, response) => {
    response.writeHead(302, { location: 'https://id.example.org' }).end()
  })
  await t.rejects(issuerAt(elsewhere, 5000).signInUrl(checks, options), unavailable, 'a redirect')
})

t.test('people sign out only at a page with a safe address', async t => {
  const pages: Record<string, string | undefined> = {
    none: undefined,
    'a script': 'javascript:alert(1)',
    'no address': 'x',
    'a file': 'file:///etc/passwd',
  }
  const metadata = (url: string, exit?: string) => ({
    issuer: url,
    authorization_endpoint: `${url}/auth`,
    token_endpoint: `${url}/token`,
    ...(exit !== undefined && { end_session_endpoint: exit }),
  })
  const issuerWith = async (exit?: string) => {
    const url: string = await start(t, (_request, response) => {
      const body = JSON.stringify(metadata(url, exit))
      response.writeHead(200, { 'content-type': 'application/json' }).end(body)
    })
    return issuerAt(url, 5000)
  }
  for (const [name, exit] of Object.entries(pages)) {
    await t.rejects(
      (await issuerWith(exit)).signOutUrl('', 'https://files.example.org/sign-in'),
      { message: /no page to sign out/ },
      name,
    )
  }
  const safe = await issuerWith('https://id.example.org/end?tenant=a')
  const url = new URL(await safe.signOutUrl('', 'https://files.example.org/sign-in'))
  t.match(Object.fromEntries(url.searchParams), { tenant: 'a', client_id: 'stowage', id_token_hint: undefined })
})

t.test('requests that arrive together read the metadata once', async t => {
  const issuer = await startIssuer(t)
  issuer.register([options.redirectUri])
  let requests = 0
  issuer.respond = ({ url }) => {
    if (url?.includes('.well-known')) requests += 1
    return false
  }
  const one = issuerAt(issuer.url, 10_000)
  const urls = await Promise.all(Array.from({ length: 20 }, () => one.signInUrl(checks, options)))
  await one.signInUrl(checks, options)
  t.equal(requests, 1)
  const [url = ''] = urls
  t.match(Object.fromEntries(new URL(url).searchParams), {
    client_id: 'stowage',
    response_type: 'code',
    scope: 'openid email profile',
    state: 'a state',
    nonce: 'a nonce',
    code_challenge_method: 'S256',
    code_challenge: /^[\w-]{43}$/,
  })
})
