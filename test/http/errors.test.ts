import fc from 'fast-check'
import t from 'tap'
import { AppError } from '../../src/errors.ts'
import { parseJsonBody } from '../../src/http/json.ts'
import { redactUrl } from '../../src/http/request-log.ts'
import { parseQuery } from '../../src/http/url.ts'
import { extent } from '../support/extent.ts'
import { startHttp } from './server.ts'

interface ErrorBody {
  errors: { message: string; extensions: { code: string; reason: string; retryable: boolean; requestId: string } }[]
}

t.test('every refusal has the error shape and the security headers', async t => {
  const server = await startHttp(t, {
    extend(app) {
      app.get('/below/*', async () => 'found')
      const body = { kind: 'parsed', maxBytes: 16 * 1024, type: 'application/json', authorize() {} } as const
      app.post<{ Body: Buffer | undefined }>('/test/echo', { config: { body } }, async request => {
        const value = await parseJsonBody(request.body ?? Buffer.alloc(0))
        if (value === undefined) throw new AppError('INVALID_INPUT', 'The body is not well-formed JSON.')
        return value
      })
      app.get('/test/fault', async () => {
        throw new Error('a secret of the database')
      })
      app.get('/test/wait', async () => {
        throw Object.assign(new Error('no'), { statusCode: 429 })
      })
    },
  })
  const auth = server.authorization
  const json = { 'content-type': 'application/json' }
  const cases: [string, RequestInit, number, string][] = [
    ['/nowhere', {}, 404, 'NOT_FOUND'],
    ['/nowhere', { method: 'POST', body: '{', headers: json }, 404, 'NOT_FOUND'],
    ['/healthz/', {}, 404, 'NOT_FOUND'],
    ['/%zz', {}, 400, 'INVALID_INPUT'],
    ['/%ff', {}, 400, 'INVALID_INPUT'],
    ['/healthz', { method: 'DELETE' }, 405, 'METHOD_NOT_ALLOWED'],
    ['/api/upload/proxy', {}, 405, 'METHOD_NOT_ALLOWED'],
    ['/api/upload/proxy', { method: 'PUT', body: 'x' }, 405, 'METHOD_NOT_ALLOWED'],
    ['/healthz', { headers: { authorization: 'Basic abc' } }, 401, 'INVALID_CREDENTIAL'],
    ['/nowhere', { headers: { authorization: `Bearer stw_${'0'.repeat(40)}` } }, 401, 'INVALID_CREDENTIAL'],
    ['/below/a/b', { method: 'POST', body: 'x' }, 405, 'METHOD_NOT_ALLOWED'],
    ['/api/upload/proxy', { method: 'POST', body: 'x' }, 401, 'CREDENTIAL_REQUIRED'],
    ['/test/echo', { method: 'POST', body: '{"a":', headers: json }, 400, 'INVALID_INPUT'],
    ['/test/echo', { method: 'POST', body: '', headers: { ...json, ...auth } }, 400, 'INVALID_INPUT'],
    ['/test/echo', { method: 'POST', body: `"${'x'.repeat(1_100_000)}"`, headers: json }, 413, 'TOO_LARGE'],
    [
      '/test/echo',
      { method: 'POST', body: '<a/>', headers: { 'content-type': 'text/xml' } },
      415,
      'UNSUPPORTED_MEDIA_TYPE',
    ],
    ['/test/fault', {}, 500, 'INTERNAL'],
    ['/test/wait', {}, 429, 'RATE_LIMITED'],
  ]
  for (const [path, init, status, reason] of cases) {
    const response = await fetch(server.url + path, init)
    const what = `${init.method ?? 'GET'} ${path}`
    const body = (await response.json()) as ErrorBody
    const id = response.headers.get('x-request-id') ?? 'none'
    t.equal(response.status, status, what)
    t.match(body, { errors: [{ message: /^[A-Z].*\.$/, extensions: { reason, requestId: id, code: String } }] }, what)
    t.same(Object.keys(body), ['errors'], what)
    t.equal(response.headers.get('content-type'), 'application/json; charset=utf-8', what)
    t.equal(response.headers.get('x-content-type-options'), 'nosniff', what)
    t.match(response.headers.get('content-security-policy'), "default-src 'none'", what)
    t.equal(response.headers.get('www-authenticate'), status === 401 ? 'Bearer' : null, what)
    t.equal(response.headers.has('retry-after'), status === 429 || status === 503, what)
    t.equal(response.headers.has('allow'), status === 405, what)
    if (status >= 500) {
      t.notMatch(JSON.stringify(body), 'secret')
      t.ok(server.logs.some(line => line.includes(id) && line.includes('a secret of the database')))
    }
  }
  t.equal((await fetch(`${server.url}/api/upload/proxy`)).headers.get('allow'), 'POST')
})

t.test('a request id from a proxy is used only if it is well formed', async t => {
  const server = await startHttp(t)
  const idOf = async (given: string) => {
    const response = await fetch(`${server.url}/healthz`, { headers: { 'x-request-id': given } })
    return response.headers.get('x-request-id')
  }
  t.equal(await idOf('0af7651916cd43dd8448eb211c80319c'), '0af7651916cd43dd8448eb211c80319c')
  for (const given of ['short', 'x'.repeat(65), 'has space', '"quoted-id"', '']) {
    t.match(await idOf(given), /^[0-9a-f]{8}-[0-9a-f-]{27}$/, given)
  }
})

t.test('the log contains no secret of a request', async t => {
  const server = await startHttp(t)
  await fetch(`${server.url}/api/download/proxy?ticket=secret-1&x=1`)
  await fetch(`${server.url}/api/download/proxy?%74icket=secret-1`)
  await fetch(`${server.url}/webhook/callback?code=secret-2&state=secret-3`)
  await fetch(`${server.url}/healthz`, { headers: { authorization: 'Bearer secret-4' } })
  await fetch(server.uploadUrl('/a'), { method: 'POST', body: 'secret-5', headers: server.authorization })
  const text = server.logs.join('')
  t.notMatch(text, /secret-\d/)
  t.notMatch(text, server.token.slice(-20))
  t.match(text, '/api/download/proxy?ticket=[redacted]&x=[redacted]')
  fc.assert(
    fc.property(fc.webQueryParameters(), query => {
      const url = `/x?${query}&ticket=hidden&state=hidden`
      const redacted = redactUrl(url)
      const count = Math.min(url.split('&').length, 33)
      return !/(?:ticket|state)=hidden/.test(redacted) && redacted.split('&').length === count
    }),
    { numRuns: extent({ gate: 8, nightly: 100 }) },
  )
  const many = redactUrl(`/x?${'&'.repeat(10_000)}state=hidden`)
  t.ok(many.length < 1000, 'a query of many parameters does not make a long line')
  t.notMatch(many, 'hidden')
})

t.test('queries are parsed as browsers write them, and a repeated parameter is refused', async t => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'grapheme' }), (a, b) => {
      const query = parseQuery(`/x?${new URLSearchParams({ a, b: b.toWellFormed() })}`, { a: null, b: null })
      return query.a === a.toWellFormed() && query.b === b.toWellFormed()
    }),
  )
  t.same(parseQuery('/x', { a: null }), {})
  t.same(parseQuery('/x?', { a: null }), {})
  t.same(parseQuery('/x?&&a&', { a: null }), { a: '' })
  t.same(parseQuery('/x?a=1=2', { a: null }), { a: '1=2' })
  for (const query of ['a=1&a=2', 'a=1&%61=2', 'b=1', 'A=1', 'a=%', 'a=%ff', 'a=%C0%80', 'a[]=1', '__proto__=1']) {
    t.equal(
      reasonOf(() => parseQuery(`/x?${query}`, { a: null })),
      'INVALID_INPUT',
      query,
    )
  }
})

t.test('health and readiness are reported separately', async t => {
  const server = await startHttp(t)
  const get = async (path: string) => {
    const response = await fetch(server.url + path)
    return [response.status, await response.json()]
  }
  t.same(await get('/healthz'), [200, { status: 'ok' }])
  t.same(await get('/readyz'), [200, { status: 'ok' }])
  server.breakReady('The database is not migrated yet.')
  t.match(await get('/readyz'), [503, { errors: [{ message: 'The database is not migrated yet.' }] }])
  t.same(await get('/healthz'), [200, { status: 'ok' }])
})

t.test('the callback page of an unknown consent shows no text from the query', async t => {
  const server = await startHttp(t)
  const said = `<script>alert(1)</script>${'x'.repeat(500)}`
  const query = new URLSearchParams({ error: 'access_denied', error_description: said })
  const response = await fetch(`${server.url}/webhook/callback?${query}`)
  const page = await response.text()
  t.equal(response.status, 400)
  t.equal(response.headers.get('content-type'), 'text/html; charset=utf-8')
  t.match(response.headers.get('content-security-policy'), "default-src 'none'")
  t.notMatch(page, /<script/i)
  t.notMatch(page, 'alert', 'the page shows nothing from the query')
  t.ok(page.length < 2000)
  t.match(
    await (await fetch(`${server.url}/webhook/callback?code=a&state=b`)).text(),
    'unknown, expired or already completed',
  )
})

function reasonOf(work: () => unknown): unknown {
  try {
    return work()
  } catch (error) {
    return error instanceof AppError ? error.reason : error
  }
}
