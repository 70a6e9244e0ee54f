import t, { type Test } from 'tap'
import { startApp } from '../support/app.ts'
import type { GraphqlError } from '../support/client.ts'

t.test('/graphql over HTTP', async t => {
  const app = await startApp(t)
  const { token } = await app.register('owner@example.org')

  interface Answer {
    status: number
    type: string | null
    headers: Headers
    body: { data?: unknown; errors?: GraphqlError[] }
  }
  const send = async (init: RequestInit & { token?: string }, search = ''): Promise<Answer> => {
    const response = await app.request(`/graphql${search}`, init)
    const body = (await response.json()) as Answer['body']
    return { status: response.status, type: response.headers.get('content-type'), headers: response.headers, body }
  }
  const post = (body: unknown, headers: Record<string, string> = {}, as?: string) =>
    send({
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: typeof body === 'string' || body instanceof Blob ? body : JSON.stringify(body),
      ...(as && { token: as }),
    })
  const get = (parameters: Record<string, string>, headers = {}) =>
    send({ headers, token }, `?${new URLSearchParams(parameters)}`)
  const refused = (t: Test, answer: Answer, status: number, reason: string) => {
    t.match(answer, {
      status,
      body: {
        errors: [{ message: /^\S.{10}/, extensions: { code: 'BAD_USER_INPUT', reason, requestId: /^[\w-]{8,}$/ } }],
      },
    })
    t.notOk('data' in answer.body, 'nothing was executed')
  }

  t.test('the response has the media type that the client prefers', async t => {
    const json = 'application/json; charset=utf-8'
    const response = 'application/graphql-response+json; charset=utf-8'
    const expected: [string, string][] = [
      ['*/*', json],
      ['text/html', json],
      ['application/json', json],
      ['application/graphql-response+json', response],
      ['APPLICATION/GraphQL-Response+JSON', response],
      ['application/graphql-response+json; charset=utf-8, application/json; charset=utf-8', response],
      ['application/json;q=0.9, application/graphql-response+json', response],
      ['application/json, application/graphql-response+json;q=0.9', json],
      ['application/graphql-response+json;q=0, */*', json],
    ]
    for (const [accept, type] of expected)
      t.equal((await post({ query: '{ __typename }' }, { accept })).type, type, accept)
  })

  t.test('a malformed request is an HTTP error', async t => {
    const bodies: [string, unknown][] = [
      ['empty', ''],
      ['no JSON', '{ "query'],
      ['not UTF-8', new Blob([Uint8Array.of(0x7b, 0x22, 0xff, 0x22, 0x7d)])],
      ['a list: batching is off', [{ query: '{ __typename }' }]],
      ['null', 'null'],
      ['a string', '"{ __typename }"'],
      ['no query', { variables: {} }],
      ['a query that is not a string', { query: 1 }],
      ['a document as JSON', { query: { kind: 'Document', definitions: [] } }],
      ['variables that are not a map', { query: '{ __typename }', variables: [] }],
      [
        'variables too deep for any stack',
        `{"query":"{ __typename }","variables":{"a":${'['.repeat(9e4)}${']'.repeat(9e4)}}}`,
      ],
      ['an operation name that is not a string', { query: '{ __typename }', operationName: 1 }],
      ['extensions that are not a map', { query: '{ __typename }', extensions: 'x' }],
    ]
    for (const [what, body] of bodies) {
      await t.test(what, async t => refused(t, await post(body), 400, 'INVALID_INPUT'))
    }
    await t.test('over 1 MiB', async t => {
      const just = JSON.stringify({ query: '{ __typename }', extensions: { pad: '' } })
      const pad = (bytes: number) => just.replace('""', `"${'x'.repeat(bytes - just.length)}"`)
      t.equal((await post(pad(1024 * 1024))).status, 200)
      refused(t, await post(pad(1024 * 1024 + 1)), 413, 'TOO_LARGE')
    })
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data',
      'application/graphql',
      '',
    ]) {
      await t.test(`the content type "${type}", which a form of another site could send`, async t => {
        refused(t, await post({ query: '{ __typename }' }, { 'content-type': type }), 415, 'UNSUPPORTED_MEDIA_TYPE')
      })
    }
    for (const method of ['PUT', 'PATCH', 'DELETE']) {
      await t.test(method, async t => {
        const answer = await send({ method })
        refused(t, answer, 405, 'METHOD_NOT_ALLOWED')
        t.match(answer.headers.get('allow'), /POST/)
      })
    }
  })

  t.test('a refused document or variables return 200 as application/json, else 400', async t => {
    const id = '00000000-0000-0000-0000-000000000000'
    const requests: [string, object, string][] = [
      ['syntax', { query: '{' }, 'INVALID_QUERY'],
      ['empty', { query: '' }, 'INVALID_QUERY'],
      ['a document as JSON text', { query: '{"kind":"Document","definitions":[]}' }, 'INVALID_QUERY'],
      ['JSON text of something else', { query: '1' }, 'INVALID_QUERY'],
      ['unknown field', { query: '{ nothing }' }, 'INVALID_QUERY'],
      ['unknown argument', { query: '{ users(last: 1) { nodes { id } } }' }, 'INVALID_QUERY'],
      ['a literal of the wrong type', { query: '{ users(first: "1") { nodes { id } } }' }, 'INVALID_QUERY'],
      [
        'an unknown enum value',
        { query: 'mutation { updateWorkspace(input: { registration: MAYBE }) { id } }' },
        'INVALID_QUERY',
      ],
      [
        'an invalid time',
        { query: 'mutation { createInvite(input: { role: NONE, expiresAt: "2026-02-30T00:00:00Z" }) { invite } }' },
        'INVALID_QUERY',
      ],
      [
        'a fragment that contains itself',
        { query: '{ ...A } fragment A on Query { ...B } fragment B on Query { ...A }' },
        'INVALID_QUERY',
      ],
      ['an unknown fragment', { query: '{ ...A }' }, 'INVALID_QUERY'],
      ['a subscription', { query: 'subscription { x }' }, 'INVALID_QUERY'],
      ['only a fragment', { query: 'fragment A on Query { __typename }' }, 'INVALID_QUERY'],
      ['unknown operation', { query: 'query A { __typename }', operationName: 'B' }, 'INVALID_INPUT'],
      ['operation not named', { query: 'query A { __typename } query B { __typename }' }, 'INVALID_INPUT'],
      ['missing variable', { query: 'query ($id: ID!) { provider(id: $id) { id } }' }, 'INVALID_INPUT'],
      [
        'a variable of the wrong type',
        { query: 'query ($n: Int) { users(first: $n) { nodes { id } } }', variables: { n: 'x' } },
        'INVALID_INPUT',
      ],
      [
        'a number that is too large',
        { query: 'query ($n: Int) { users(first: $n) { nodes { id } } }', variables: { n: 2 ** 31 } },
        'INVALID_INPUT',
      ],
      [
        'an unknown input field',
        {
          query: 'mutation ($i: DeleteInput!) { delete(input: $i) { deletedPath } }',
          variables: { i: { providerId: id, path: '/a', all: true } },
        },
        'INVALID_INPUT',
      ],
      [
        'an invalid time in a variable',
        {
          query: 'mutation ($at: DateTime) { createInvite(input: { role: NONE, expiresAt: $at }) { invite } }',
          variables: { at: 1 },
        },
        'INVALID_INPUT',
      ],
      [
        'too costly',
        {
          query:
            'query ($n: Int) { a: folder(providerId: "") { entries(first: $n) { nodes { ...on Folder { entries(first: $n) { nodes { id } } } } } } }',
          variables: { n: 1000 },
        },
        'QUERY_TOO_LARGE',
      ],
    ]
    for (const [what, body, reason] of requests) {
      await t.test(what, async t => {
        refused(t, await post(body, { accept: 'application/json' }, token), 200, reason)
        refused(t, await post(body, { accept: 'application/graphql-response+json' }, token), 400, reason)
      })
    }
    t.match(
      (await post({ query: '{\n  nothing\n}' })).body.errors,
      [{ message: 'Cannot query field "nothing" on type "Query".', locations: [{ line: 2, column: 3 }] }],
      'messages and locations of graphql-js are kept',
    )
    const invite = (expiresAt: string, variables = '') => `mutation ${variables} {
      createInvite(input: { role: NONE, expiresAt: ${expiresAt} }) { expiresAt }
    }`
    for (const at of ['2099-01-01', '2099-01-01T00:00:00', '2099-02-30T00:00:00Z', '', 4_000_000_000_000, [], true]) {
      const form = [{ message: /YYYY-MM-DDThh:mm:ssZ, or with an offset/, locations: [{ line: /\d/ }] }]
      t.match((await post({ query: invite('$at', '($at: DateTime)'), variables: { at } }, {}, token)).body.errors, form)
      t.match((await post({ query: invite(JSON.stringify(at)) }, {}, token)).body.errors, form)
    }
    for (const at of ['"2099-01-01t02:00:00+02:00"', '"2099-01-01T00:00:00.000999Z"'])
      t.strictSame((await post({ query: invite(at) }, {}, token)).body, {
        data: { createInvite: { expiresAt: '2099-01-01T00:00:00.000Z' } },
      })
    const unknown = Array.from({ length: 60 }, (_, n) => `nothing${n}`).join(' ')
    t.equal((await post({ query: `{ ${unknown} }` })).body.errors?.length, 50, 'a response has at most 50 errors')
  })

  t.test('an executed operation returns 200, even if it fails', async t => {
    const accept = 'application/graphql-response+json'
    const nobody = await post({ query: '{ me { id } }' }, { accept })
    t.match(nobody, {
      status: 200,
      body: {
        data: null,
        errors: [
          {
            path: ['me'],
            locations: [{ line: 1, column: 3 }],
            extensions: { code: 'UNAUTHENTICATED', reason: 'CREDENTIAL_REQUIRED' },
          },
        ],
      },
    })
    const query = 'query A { me { email } } query B { workspace { name } }'
    t.match(await post({ query, operationName: 'A' }, { accept }, token), { body: { data: { me: {} } } })
    t.match(await post({ query, operationName: 'B' }, { accept }, token), { body: { data: { workspace: {} } } })
    t.match(
      await post({ query, operationName: 'A' }, { accept }, token),
      { body: { data: { me: {} } } },
      'the cached document does not fix the operation',
    )
    t.match(
      await post(
        { query: 'query ($n: Int = 5) { users(first: $n) { nodes { id } } }', variables: { n: null } },
        {},
        token,
      ),
      { body: { data: { users: { nodes: [{}] } } } },
      'null means the default',
    )
    t.match(
      await post(
        { query: 'query ($p: String = "/") { folder(providerId: "x", path: $p) { id } }', variables: { p: null } },
        {},
        token,
      ),
      {
        status: 200,
        body: {
          data: null,
          errors: [{ path: ['folder'], extensions: { code: 'BAD_USER_INPUT', reason: 'INVALID_INPUT' } }],
        },
      },
      'null is refused where the type is not nullable',
    )
  })

  t.test('an invalid credential returns 401', async t => {
    for (const bad of ['nonsense', `stw_${'0'.repeat(40)}`, `${token}x`]) {
      const answer = await post({ query: '{ __typename }' }, {}, bad)
      t.match(answer, {
        status: 401,
        body: { errors: [{ extensions: { code: 'UNAUTHENTICATED', reason: 'INVALID_CREDENTIAL' } }] },
      })
    }
  })

  t.test('the server does not wait for an unread body after the response', async t => {
    const timers = () => process.getActiveResourcesInfo().filter(kind => kind === 'Timeout').length
    const before = timers()
    for (let n = 0; n < 10; n++) await post('x'.repeat(1_100_000))
    t.ok(timers() < before + 5, `${timers()} timers after ${before}`)
  })

  t.test('GET runs queries and refuses mutations', async t => {
    t.match(await get({ query: 'query ($n: Int) { users(first: $n) { nodes { email } } }', variables: '{"n":1}' }), {
      status: 200,
      body: { data: { users: { nodes: [{ email: 'owner@example.org' }] } } },
    })
    const query = 'query A { __typename } mutation B { updateWorkspace(input: { name: "changed" }) { name } }'
    t.match(await get({ query, operationName: 'A' }), { status: 200, body: { data: { __typename: 'Query' } } })
    const mutation = await get({ query, operationName: 'B' })
    refused(t, mutation, 405, 'METHOD_NOT_ALLOWED')
    t.match(mutation.headers.get('allow'), /POST/)
    t.match(await get({ query: '{ workspace { name } }' }), { body: { data: { workspace: { name: 'Stowage' } } } })
    refused(t, await get({}), 400, 'INVALID_INPUT')
    refused(t, await get({ query: '{ __typename }', variables: '[1' }), 400, 'INVALID_INPUT')
    refused(t, await send({}, '?query=%7B__typename%7D&query=%7B__typename%7D'), 400, 'INVALID_INPUT')
  })
})
