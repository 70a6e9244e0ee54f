/** Sends slow and large bodies to every registered route. New routes are included automatically. */
import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { parseRoutes } from '../matrix/api.ts'
import { startApp } from '../support/app.ts'
import { atNight, extent, isNight } from '../support/extent.ts'
import { makeShare, sharePath } from '../support/shares.ts'
import { until } from '../support/until.ts'
import { eventually, head, talk } from './socket.ts'

/** Milliseconds. */
const bodyTimeout = 1000
/** The time until the connection is then closed on a busy machine, in milliseconds. */
const slack = 60_000

/** Whether the route reads a file from its body. */
const uploads = ['POST /api/upload/proxy', 'POST /api/upload/resumable', 'POST /api/upload/resumable/:id']
const sending = ['PATCH /api/upload/resumable/:id', 'PUT /dav', 'PUT /dav/*', ...uploads].toSorted()
/** The same for drop links. */
const drops = [
  'PATCH /api/share/:token/uploads/:id',
  ...['files', 'uploads', 'uploads/:id'].map(path => `POST /api/share/:token/${path}`),
]
/** Routes that read more than others from their bodies. */
const larger = [
  ...['LOCK', 'PROPFIND', 'PROPPATCH'].flatMap(method => [`${method} /dav`, `${method} /dav/*`]),
  'POST /api/download/archive',
  'POST /api/share/:token/archive',
  'POST /auth/oidc/backchannel-logout',
  'POST /graphql',
  'POST /mcp',
  ...['Users', 'Groups'].flatMap(type => [
    `POST /scim/v2/${type}`,
    ...['PUT', 'PATCH'].map(method => `${method} /scim/v2/${type}/:id`),
  ]),
].toSorted()

t.test('only authorized uploads may send their body slowly', async t => {
  const app = await startApp(t, { bodyTimeout })
  const { token } = await app.register('owner@example.org')
  const providerId = await app.connectProvider(token, 'memory', {})
  const routes = parseRoutes(app.app.server.printRoutes()).concat('POST /nothing-here', 'PUT /graphql')
  t.ok(routes.length > 40, `${routes.length} routes`)
  const credentials = { none: {}, session: { Authorization: `Bearer ${token}` } }
  const lengths = { length: { 'Content-Length': 1000 }, chunked: { 'Transfer-Encoding': 'chunked' } }
  const types = [{}, { 'Content-Type': 'application/json' }]
  const cases = routes.flatMap(route =>
    Object.entries(credentials).flatMap(([who, credential]) =>
      Object.entries(lengths).flatMap(([how, length], index) =>
        extent({ gate: types.slice(index, index + 1), nightly: types }).map(type => ({
          route,
          what: `${route}, ${who}, ${how}`,
          headers: { ...credential, ...length, ...type },
          how,
        })),
      ),
    ),
  )
  const open: string[] = []
  const keptOpen = 'POST /api/upload/proxy, session'
  /** The connections that the server has to close. */
  let closing = cases.filter(({ what }) => !what.startsWith(keptOpen)).length
  await Promise.all(
    cases.map(async ({ route, what, headers, how }) => {
      const [method = '', path = ''] = route.split(' ')
      const client = await talk(Number(new URL(app.url).port))
      const query = new URLSearchParams({ providerId, path: `/${what}` })
      await client.send(head(method, `${app.url}${path.replace(/[:*].*/, 'x')}?${query}`, headers))
      let isOpen = true
      void client.ended.then(() => {
        isOpen = false
        if (!what.startsWith(keptOpen)) closing -= 1
      })
      const [earliest, latest] = [4 * bodyTimeout, bodyTimeout + slack].map(time => performance.now() + time)
      const isOver = (now: number) => now > (latest ?? 0) || (closing === 0 && now > (earliest ?? 0))
      while (isOpen && !isOver(performance.now())) {
        await client.send(how === 'length' ? 'x' : '1\r\nx\r\n').catch(() => {})
        await sleep(extent({ gate: 400, nightly: 100 }))
      }
      if (isOpen) open.push(what)
      client.socket.destroy()
    }),
  )
  const kept = [...new Set(open.map(what => what.split(',', 2).join(',')))]
  t.same(kept, [keptOpen], 'an upload continues while bytes arrive')
  t.same(
    app
      .logged()
      .split('\n')
      // The test breaks the connections of uploads that are still running.
      .filter(line => /"level":[456]0/.test(line) && !line.includes('/api/upload/proxy')),
    [],
  )
  await eventually(() => assert.equal(app.app.server.transfers.size, 0))
})

t.test('a client that sends its body too slowly gets an error', async t => {
  const app = await startApp(t, { bodyTimeout })
  const client = await talk(Number(new URL(app.url).port))
  await client.send(head('POST', `${app.url}/graphql`, { 'Content-Length': 100, 'Content-Type': 'application/json' }))
  await client.send('{')
  await client.ended
  t.match(client.received(), /^HTTP\/1\.1 400 [\s\S]*INCOMPLETE_BODY/)
  client.socket.destroy()
})

t.test('a connection that stays open keeps nothing of its earlier requests', async t => {
  const app = await startApp(t)
  const { token } = await app.register('owner@example.org')
  const providerId = await app.connectProvider(token, 'memory', {})
  const sockets: Socket[] = []
  app.app.server.server.on('connection', socket => sockets.push(socket))
  const client = await talk(Number(new URL(app.url).port))
  const query = new URLSearchParams({ providerId, path: '/file', conflict: 'replace' })
  const requests = {
    '/graphql': '{"query":"{ me { id } }"}',
    [`/api/upload/proxy?${query}`]: 'content',
    '/nothing-here': '{}',
  }
  const listeners = () => {
    const [socket] = sockets
    return socket?.eventNames().reduce((sum, name) => sum + socket.listenerCount(name), 0) ?? 0
  }
  const counts: number[] = []
  for (let sent = 0; sent < 30; ) {
    for (const [path, body] of Object.entries(requests)) {
      const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' }
      await client.send(head('POST', `${app.url}${path}`, { ...headers, 'Content-Length': body.length }) + body)
      sent += 1
      await until(() => client.received().match(/HTTP\/1\.1 \d+ /g)?.length === sent)
    }
    counts.push(listeners())
  }
  t.equal(sockets.length, 1)
  await until(() => listeners() < (counts[0] ?? 0) + 10 || counts)
  t.match(client.received(), /HTTP\/1\.1 200[\s\S]*HTTP\/1\.1 201[\s\S]*HTTP\/1\.1 404/)
  client.socket.destroy()
})

t.test('a request is refused before its body unless its URL and its headers permit it', async t => {
  const app = await startApp(t)
  const { port } = new URL(app.url)
  const { token: owner } = await app.register('owner@example.org')
  const { token: nobody } = await app.register('nobody@example.org')
  const providerId = await app.connectProvider(owner, 'memory', {})
  const { key: reader } = await app.createKey(owner, { name: 'reader', scopes: ['read'] })
  const { key: writer } = await app.createKey(owner, { name: 'writer', scopes: ['write'] })
  const { link } = await makeShare(app, owner, { kind: 'VIEW', providerId, path: '/' })
  const routes = parseRoutes(app.app.server.printRoutes()).flatMap(route =>
    route === 'POST /s3/*'
      ? ['POST /s3/memory?delete', 'POST /s3/memory/x?uploadId=x', 'POST /s3/other?delete']
      : [route],
  )
  /** Returns the routes that begin to read a large body from the holder of a credential. */
  const read = async (credential: Record<string, string>) => {
    const found = await Promise.all(
      routes.map(async route => {
        const [method = '', path = ''] = route.split(' ')
        const named = path.replace('/api/share/:token', sharePath(link)).replace('/dav/*', '/dav/memory/x')
        const client = await talk(Number(port))
        const headers = { 'Content-Type': 'application/json', Depth: '0', Expect: '100-continue', ...credential }
        const url = `${app.url}${named.replace(/[:*].*/, 'x')}`
        await client.send(head(method, url, { ...headers, 'Content-Length': 100 * 1024 }))
        const [, status] = await client.until(/^HTTP\/1\.1 (\d+)/)
        client.socket.destroy()
        return status === '100' ? [route] : []
      }),
    )
    return found.flat().toSorted()
  }
  const anybody = ['POST /api/share/:token/archive', 'POST /graphql']
  const by = (token: string) => read({ Authorization: `Bearer ${token}` })
  t.same(await read({}), anybody)
  if (isNight) {
    t.same(await read({ 'Content-Type': 'application/x-www-form-urlencoded' }), [
      'POST /api/download/archive',
      'POST /api/share/:token/archive',
    ])
    t.same(await by(nobody), anybody)
  }
  const reading = ['POST /api/download/archive', 'POST /mcp', 'PROPFIND /dav', 'PROPFIND /dav/*', ...anybody]
  t.same(await by(reader), reading.toSorted())
  const writing = [
    'LOCK /dav/*',
    'PROPPATCH /dav/*',
    'PUT /dav/*',
    'POST /s3/memory?delete',
    'POST /s3/memory/x?uploadId=x',
  ]
  t.same(
    (await by(writer)).filter(route => !route.includes('/s3/other')),
    [...reading, ...writing].toSorted(),
  )
})

t.test('the large bodies of clients without an account are bounded together', async t => {
  const app = await startApp(t, { settings: { trustedProxies: ['127.0.0.1'] } })
  const { token } = await app.register('owner@example.org')
  const providerId = await app.connectProvider(token, 'memory', {})
  const { link } = await makeShare(app, token, { kind: 'DROP', providerId, path: '/' })
  const { port } = new URL(app.url)
  const open: Socket[] = []
  /** Begins to send a large body. Resolves with the status, which is 100 if the server reads the body. */
  const begin = async (from: string, path: string, more: Record<string, string | number>) => {
    const client = await talk(Number(port))
    open.push(client.socket)
    const common = { 'X-Forwarded-For': from, 'Content-Type': 'application/json', Expect: '100-continue' }
    await client.send(head('POST', app.url + path, { ...common, ...more }))
    const [answer, status] = await client.until(/^HTTP\/1\.1 (\d+)[\s\S]*?\r\n\r\n/)
    if (status === '429') t.match(answer, /^retry-after: 5\r$/im)
    return Number(status)
  }
  const length = { 'Content-Length': 1024 * 1024 }
  const bodies: [path: string, headers: Record<string, string | number>][] = [
    ['/graphql', length],
    ['/graphql', { 'Transfer-Encoding': 'chunked' }],
    ['/api/download/archive', { ...length, 'Content-Type': 'application/x-www-form-urlencoded' }],
    [sharePath(link, 'archive'), length],
  ]
  /** Begins 20 large bodies. Resolves with their statuses. */
  const beginMany = async (from: string) => {
    const statuses: number[] = []
    for (let n = 0; n < 20; n++) statuses.push(await begin(from, ...(bodies[n % bodies.length] ?? ['', {}])))
    return statuses
  }
  const statuses = (first: number, count: number, then: number) =>
    Array.from({ length: 20 }, (_, n) => (n < count ? first : then))
  t.same(await beginMany('192.0.2.1'), statuses(100, 16, 429))
  const signIn = { query: '{ __typename }' }
  const headers = { 'content-type': 'application/json', 'x-forwarded-for': '192.0.2.1' }
  const small = () => app.request('/graphql', { method: 'POST', headers, body: JSON.stringify(signIn) })
  t.equal((await small()).status, 200, 'small bodies of the same network are read')
  t.equal(
    await begin('192.0.2.1', '/graphql', { ...length, Authorization: `Bearer ${token}` }),
    100,
    'and those of members',
  )
  for (const from of ['192.0.2.2', '192.0.2.3', '192.0.2.4'])
    t.same(await beginMany(from), statuses(100, 16, 429), from)
  t.same(await beginMany('192.0.2.5'), statuses(503, 20, 503), 'all networks together')
  t.equal((await small()).status, 200)
  for (const socket of open) socket.destroy()
  const large = JSON.stringify({ query: '{ __typename }', extensions: { pad: 'x'.repeat(1024 * 1024 - 100) } })
  const sendLarge = async () => (await app.request('/graphql', { method: 'POST', headers, body: large })).status
  await eventually(async () => assert.equal(await sendLarge(), 200))
  for (let n = 0; n < 20; n++) t.equal(await sendLarge(), 200, 'a body no longer counts once it has arrived')
})

atNight(t, 'a large body no longer counts once its request has a response', async t => {
  const app = await startApp(t, { bodyTimeout })
  const { port } = new URL(app.url)
  const large = JSON.stringify({ query: '{ __typename }', extensions: { pad: 'x'.repeat(1024 * 1024 - 100) } })
  const headers = { 'content-type': 'application/json' }
  for (const [type, status] of [
    ['application/json', 400],
    ['application/x-unknown', 415],
  ] as const) {
    const clients = await Promise.all(Array.from({ length: 16 }, () => talk(Number(port))))
    for (const client of clients) {
      await client.send(head('POST', `${app.url}/graphql`, { 'Content-Type': type, 'Content-Length': 1024 * 1024 }))
    }
    for (const client of clients) {
      t.equal(Number((await client.until(/^HTTP\/1\.1 (\d+)/))[1]), status)
      await client.ended
      client.socket.destroy()
    }
    const sendLarge = async () => (await app.request('/graphql', { method: 'POST', headers, body: large })).status
    await eventually(async () => assert.equal(await sendLarge(), 200))
  }
})

t.test('only uploads, GraphQL, MCP, SCIM, WebDAV, S3 and lists of paths accept a large body', async t => {
  const app = await startApp(t)
  const { token } = await app.register('owner@example.org')
  const providerId = await app.connectProvider(token, 'memory', {})
  const { link } = await makeShare(app, token, { kind: 'DROP', providerId, path: '/' })
  const create = 'mutation { createScimToken(input: { name: "x" }) { token } }'
  const scimToken = (await app.ask(create, {}, token)).createScimToken.token
  const routes = parseRoutes(app.app.server.printRoutes())
  const limits = new Map<string, number>()
  const tryRoute = async (route: string) => {
    const [method = '', path = ''] = route.split(' ')
    const named = path.replace('/api/share/:token', sharePath(link)).replace('/dav/*', '/dav/memory/x')
    const url = `${app.url}${named.replace(/[:*].*/, 'x')}`
    for (const length of [16 * 1024 + 1, 1024 * 1024 + 1]) {
      const client = await talk(Number(new URL(app.url).port))
      const credential = { Authorization: `Bearer ${path.startsWith('/scim/') ? scimToken : token}`, Depth: '0' }
      const headers = { ...credential, 'Content-Length': length, 'Content-Type': 'application/json' }
      await client.send(head(method, url, { ...headers, Expect: '100-continue' }))
      const [answer, status] = await client.until(/^HTTP\/1\.1 (\d+)[\s\S]*?\r\n\r\n/)
      // S3 has another status for this.
      const isRefused = status === '413' || /x-stowage-reason: TOO_LARGE/i.test(answer)
      if (!isRefused) limits.set(route, length)
      client.socket.destroy()
    }
  }
  await Promise.all(routes.map(tryRoute))
  const lifted = [...limits].filter(([, length]) => length > 1024 * 1024).map(([route]) => route)
  t.same(lifted.toSorted(), [...sending, ...drops, 'POST /s3/*', 'PUT /s3/*'].toSorted())
  t.same([...limits.keys()].filter(route => !lifted.includes(route)).toSorted(), larger)
})
