/** `/openapi.json` is valid, complete, public and constant. */
import { Validator } from '@seriousme/openapi-schema-validator'
import t from 'tap'
import { reasons } from '../../src/errors.ts'
import { parseRoutes } from '../matrix/api.ts'
import { startApp } from '../support/app.ts'
import { readCalls, readDocument } from './openapi.ts'

t.test('the document is valid OpenAPI 3.1', async t => {
  const app = await startApp(t)
  const document = await readDocument(app.url)
  const validator = new Validator()
  const { valid, errors } = await validator.validate({ ...document })
  t.ok(valid, JSON.stringify(errors)?.slice(0, 2000) ?? '')
  t.equal(validator.version, '3.1')
  const calls = await readCalls(app.url)
  const ids = calls.map(({ operation }) => operation.operationId)
  t.same(ids, [...new Set(ids)], 'each operation has an ID of its own')
  for (const { path, operation } of calls) {
    const inPath = operation.parameters?.filter(parameter => parameter.in === 'path').map(({ name }) => name) ?? []
    t.same(
      inPath,
      [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name),
      operation.operationId,
    )
  }
})

t.test('every REST route is in the document, and every operation has a route', async t => {
  const app = await startApp(t)
  const described = (await readCalls(app.url)).map(
    ({ method, path }) => `${method} ${path.replace(/\{(\w+)\}/g, ':$1')}`,
  )
  // GraphQL and MCP describe themselves, standards describe WebDAV, SCIM and OAuth, and Amazon describes S3.
  const others =
    /^[A-Z]+ \/(?:graphql|graphiql|mcp|oauth\/(?:authorize|token|register|revoke)|\.well-known\/[a-z-]+(?:\/\*)?|(?:dav|s3)(?:\/\*)?|scim\/v2\/.+)$/
  const console =
    /^(?:GET|HEAD) \/(?:icon\.svg|icon-[a-z\d]+\.png|apple-touch-icon\.png|manifest\.webmanifest|service-worker\.js|assets\/\*|(?:sign-in|register|reset-password|link-account|connect|activity|files|jobs|insight|offline|recent|search|settings|shared-with-me|shares|starred|trash|upload|s)?(?:\/\*)?)$/
  const live = parseRoutes(app.app.server.printRoutes()).filter(route => !others.test(route) && !console.test(route))
  t.ok(live.length > 15)
  t.same(described.toSorted(), live.toSorted())
})

t.test('every reason of an error has its status', async t => {
  const app = await startApp(t)
  for (const { operation } of await readCalls(app.url)) {
    for (const [status, { description }] of Object.entries(operation.responses)) {
      if (Number(status) < 400) continue
      const statuses = description.split(', ').map(name => reasons[name as keyof typeof reasons]?.status)
      t.same([...new Set(statuses)], [Number(status)], `${operation.operationId}: ${description}`)
    }
  }
})

t.test('the document is public, constant and cacheable, and needs no database', async t => {
  let queries = 0
  const app = await startApp(t, { onQuery: () => queries++, settings: { workers: 0 } })
  const replica = await app.replica()
  const address = '/openapi.json'
  const first = await app.request(address)
  const body = await first.text()
  t.equal(first.status, 200)
  t.equal(first.headers.get('content-type'), 'application/json; charset=utf-8')
  t.equal(first.headers.get('cache-control'), 'no-cache')
  t.ok(body.length < 400_000, `${body.length} bytes`)
  const etag = first.headers.get('etag') ?? 'none'
  t.match(etag, /^"[\da-f]{32}"$/)
  t.equal((await replica.request(address)).headers.get('etag'), etag, 'the same on every replica')
  for (const tag of [etag, `W/${etag}`, `"x", ${etag}`, '*']) {
    const again = await app.request(address, { headers: { 'if-none-match': tag } })
    t.same([again.status, await again.text(), again.headers.get('etag')], [304, '', etag], tag)
  }
  t.equal((await app.request(address, { headers: { 'if-none-match': '"x"' } })).status, 200)
  const head = await app.request(address, { method: 'HEAD' })
  t.same([head.status, await head.text(), head.headers.get('etag')], [200, '', etag])
  t.equal((await app.request(address, { method: 'POST' })).status, 405)
  t.equal((await app.request(address, { token: `stw_${'0'.repeat(40)}` })).status, 401)

  const before = queries
  for (let n = 0; n < 50; n++) await (await app.request(address)).arrayBuffer()
  t.ok(queries - before < 10, `${queries - before} queries of background work during 50 requests`)
})

t.test('the document contains the path of STOWAGE_PUBLIC_URL', async t => {
  for (const basePath of ['', '/stowage']) {
    const app = await startApp(t, { settings: { basePath } })
    const { servers } = await readDocument(`${app.url}${basePath}`)
    t.equal(
      new URL(servers[0]?.url ?? 'none', `${app.url}${basePath}/openapi.json`).href,
      `${app.url}${basePath || '/'}`,
    )
  }
})

t.test('the requests without a credential are limited', async t => {
  // One address can send a tenth of it.
  const app = await startApp(t, { settings: { rateLimit: 50 } })
  const statuses: number[] = []
  for (let n = 0; n < 8; n++) statuses.push((await app.request('/openapi.json')).status)
  t.ok(statuses.includes(429), String(statuses))
  t.equal(statuses[0], 200)
})

/** https://fetch.spec.whatwg.org/#cors-safelisted-response-header-name, and headers for which there are standards of their own. */
const readable = new Set(['cache-control', 'content-length', 'content-type', 'last-modified', 'set-cookie'])

t.test('browser applications of other origins can send and read every header of the document', async t => {
  const app = await startApp(t, { settings: { corsOrigins: '*' } })
  const headers = { origin: 'https://app.example.org', 'access-control-request-method': 'PUT' }
  const preflight = await app.request('/openapi.json', { method: 'OPTIONS', headers })
  const response = await app.request('/openapi.json', { headers })
  const listed = (from: Response, name: string) => new Set(from.headers.get(name)?.toLowerCase().split(', '))
  const allowed = listed(preflight, 'access-control-allow-headers')
  const exposed = listed(response, 'access-control-expose-headers')
  for (const { operation } of await readCalls(app.url)) {
    const sent = operation.parameters?.filter(parameter => parameter.in === 'header') ?? []
    for (const { name } of sent) t.ok(allowed.has(name.toLowerCase()), `${operation.operationId} sends ${name}`)
    const received = new Set(Object.values(operation.responses).flatMap(({ headers }) => Object.keys(headers)))
    for (const name of received) {
      const isReadable = exposed.has(name.toLowerCase()) || readable.has(name.toLowerCase())
      t.ok(isReadable, `${operation.operationId} returns ${name}`)
    }
  }
})
