/** Applications that describe themselves at an https address, and the addresses to which such an id could lead the server. */
import { createServer, type ServerOptions } from 'node:https'
import type { AddressInfo } from 'node:net'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import t from 'tap'
import { createClientDocuments } from '../../src/services/applications/client-documents.ts'
import { createNetwork, privateNetworks } from '../../src/storage/network/index.ts'
import { certificate } from '../servers/certificate.ts'
import { startApp } from '../support/app.ts'
import { applicationOf, approveDocument, callback } from '../support/applications.ts'

const { key, cert } = await certificate()
const before = getCACertificates('default')
setDefaultCACertificates([...before, cert])
t.teardown(() => setDefaultCACertificates(before))

/** Answers with what the path says. */
async function serve(options: ServerOptions = {}) {
  const visited: string[] = []
  const server = createServer({ key, cert, ...options }, (request, response) => {
    const path = request.url ?? ''
    visited.push(path)
    const { host } = request.headers
    const own = { client_id: `https://${host}${path}`, client_name: 'Described', redirect_uris: [callback] }
    const send = (body: object | string, type = 'application/json', status = 200) =>
      response.writeHead(status, { 'content-type': type }).end(typeof body === 'string' ? body : JSON.stringify(body))
    if (path === '/redirect') return response.writeHead(302, { location: '/app.json' }).end()
    if (path === '/other') return send({ ...own, client_id: `https://${host}/app.json` })
    if (path === '/secret') return send({ ...own, client_secret: 'x' })
    if (path === '/post') return send({ ...own, token_endpoint_auth_method: 'client_secret_post' })
    if (path === '/uri') return send({ ...own, redirect_uris: ['http://example.org/'] })
    if (path === '/html') return send(own, 'text/html')
    if (path === '/missing') return send(own, 'application/json', 404)
    if (path === '/list') return send('[]')
    if (path === '/rubbish') return send('{')
    if (path === '/long') return send({ ...own, padding: 'x'.repeat(40_000) })
    if (path.startsWith('/silent')) return undefined
    return send(own)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { port: (server.address() as AddressInfo).port, visited }
}

const { port, visited } = await serve()
const never = new AbortController().signal
const at = (path: string, host = '127.0.0.1') => `https://${host}:${port}${path}`

t.test('an application with a metadata document connects without a registration', async t => {
  const app = await startApp(t, { publicNetworks: {} })
  const { token } = await app.register('owner@example.org')
  const client = applicationOf(app)
  const clientId = at('/app.json')
  const { query } = client.request(clientId)
  const seen = await app.ask(
    'query ($query: String!) { consentRequest(query: $query) { name host destination } }',
    { query },
    token,
  )
  t.same(seen.consentRequest, { name: 'Described', host: `127.0.0.1:${port}`, destination: '127.0.0.1' })
  const code = await client.consent(token, clientId)
  t.match(await client.exchange(code), { status: 200 })
  t.same(visited, ['/app.json'], 'the document is read once')
  const changed = client.request(clientId, { redirect_uri: 'https://example.org/' })
  t.equal(await client.reason(approveDocument, { input: client.consentInput(changed.query) }, token), 'INVALID_INPUT')
  visited.length = 0
  const other = client.request(at('/unseen.json')).query
  await app.graphql('query ($query: String!) { consentRequest(query: $query) { name } }', { query: other })
  t.same(visited, [], 'nobody without an account makes the server read one')
})

t.test('other documents are refused', async t => {
  const documents = createClientDocuments(createNetwork().fetch)
  const reason = (id: string, signal = never) =>
    documents.find(id, 'member', signal).then(
      () => 'OK',
      error => error.error ?? error.reason ?? error.name,
    )
  t.equal(await reason(at('/app.json')), 'OK')
  for (const path of ['/other', '/secret', '/list', '/rubbish']) t.equal(await reason(at(path)), 'invalid_client', path)
  t.equal(await reason(at('/post')), 'invalid_client_metadata')
  t.equal(await reason(at('/uri')), 'invalid_redirect_uri')
  visited.length = 0
  for (const path of ['/redirect', '/html', '/missing', '/long']) t.equal(await reason(at(path)), 'UNAVAILABLE', path)
  t.notOk(visited.includes('/app.json'), 'no redirect is followed')
  t.equal(await reason(at('/silent'), AbortSignal.timeout(50)), 'TimeoutError')
  visited.length = 0
  for (const id of [
    at('/'),
    at('/app.json#x'),
    at('/a/../app.json'),
    at('/app.json', 'user:password@127.0.0.1'),
    `https://2130706433:${port}/app.json`,
    `HTTPS://127.0.0.1:${port}/app.json`,
    `http://127.0.0.1:${port}/app.json`,
    at(`/${'x'.repeat(1000)}`),
    'https://',
  ])
    t.equal(await reason(id), 'invalid_client', id)
  t.same(visited, [])
})

t.test('a member takes a few turns, and a failure is kept for some seconds', async t => {
  const documents = createClientDocuments(createNetwork().fetch)
  const client = new AbortController()
  visited.length = 0
  const find = (userId: string, path: string) =>
    documents.find(at(path), userId, client.signal).then(
      ({ name }) => name,
      error => error.reason ?? error.name,
    )
  const waiting = Array.from({ length: 8 }, (_, n) => find('one', `/silent?${n}`))
  t.equal(await find('one', '/silent?9'), 'RATE_LIMITED')
  t.equal(await find('another', '/app.json'), 'Described')
  t.equal(visited.filter(path => path.startsWith('/silent')).length, 2)
  client.abort()
  t.same(new Set(await Promise.all(waiting)), new Set(['AbortError']))
  const failing = createClientDocuments(createNetwork().fetch)
  visited.length = 0
  for (const _ of [1, 2]) {
    t.match(await failing.find(at('/missing'), 'one', never).catch(error => error.reason), 'UNAVAILABLE')
    t.match(await failing.find(at('/list'), 'one', never).catch(error => error.error), 'invalid_client')
  }
  t.same(visited, ['/missing', '/list'])
})

t.test('no address leads to a private network', async t => {
  const resolved = new Map<string, string>()
  const network = createNetwork({
    deny: privateNetworks,
    resolve: (name, _options, callback) => {
      const address = resolved.get(name) ?? '127.0.0.1'
      callback(null, [{ address, family: address.includes(':') ? 6 : 4 }])
    },
  })
  const documents = createClientDocuments(network.fetch)
  visited.length = 0
  const hosts = ['127.0.0.1', 'localhost', '[::1]', '[::ffff:127.0.0.1]', '10.0.0.1', '192.168.1.1', '169.254.169.254']
  for (const host of hosts) {
    const { href } = new URL(at('/app.json', host))
    t.match(await documents.find(href, 'member', never).catch(error => error.reason), 'UNAVAILABLE', host)
  }
  const addresses = [
    '127.0.0.1',
    '10.1.2.3',
    '172.31.0.1',
    '192.168.0.1',
    '100.64.0.1',
    '169.254.169.254',
    '0.0.0.0',
    '::1',
    '::ffff:10.0.0.1',
    '::127.0.0.1',
    'fd00::1',
    'fe80::1',
    '64:ff9b::10.0.0.1',
    '2002:7f00:1::',
  ]
  for (const [index, address] of addresses.entries()) {
    const name = `name-${index}.example.org`
    resolved.set(name, address)
    const error = await documents.find(at('/app.json', name), 'member', never).catch(error => error)
    t.equal(error.reason, 'UNAVAILABLE', address)
    const causes = [error.cause, error.cause?.cause, error.cause?.cause?.cause]
    t.ok(
      causes.some(cause => cause?.code === 'ERR_CLOSED_ADDRESS'),
      `${address} is closed`,
    )
  }
  t.same(visited, [])
})
