/** Adversarial requests: they cost a bounded time, cause no internal error, and no other site can send them. */
import { readFile } from 'node:fs/promises'
import fc, { type GeneratorValue } from 'fast-check'
import {
  buildSchema,
  type GraphQLInputType,
  type GraphQLNamedType,
  getNamedType,
  isCompositeType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  isUnionType,
} from 'graphql'
import t from 'tap'
import { startApp, type TestApp } from '../support/app.ts'
import { extent, isNight } from '../support/extent.ts'
import { cost } from '../support/processor.ts'

const schema = buildSchema(await readFile(new URL('../schema.graphql', import.meta.url), 'utf8'))

/** The longest accepted time, in multiples of the largest valid request. Unbounded, these requests take 200 times as long or more. */
const maxSlowdown = 40

const repeat = (count: number, each: (n: number) => string) =>
  Array.from({ length: count }, (_, n) => each(n)).join(' ')

async function post(app: TestApp, body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}) {
  const response = await app.request('/graphql', {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
  })
  return { status: response.status, text: await response.text() }
}

const createKey = 'mutation ($input: CreateApiKeyInput!) { createApiKey(input: $input) { apiKey { name } } }'

/** Measures the cost of a valid request with the most values and bytes that are allowed. */
async function costOfLargestValid(app: TestApp, authorization: string): Promise<number> {
  const costs: number[] = []
  for (let n = 0; n < 5; n++) {
    const input = { name: 'k', scopes: Array(9900).fill('read') }
    const body = JSON.stringify({ query: createKey, variables: { input, unused: 'x'.repeat(900_000) } })
    const [{ text }, took] = await cost(() => post(app, body, { authorization }))
    if (JSON.parse(text).errors) throw new Error(text)
    costs.push(took)
  }
  return costs.toSorted((a, b) => a - b)[2] ?? 0
}

t.test('excessive variables, directives, names and errors cost bounded time', async t => {
  const queries: string[] = []
  const app = await startApp(t, { onQuery: ({ sql }) => queries.push(sql) })
  const { token } = await app.register('owner@example.org')
  const id = await app.connectProvider(token, 'memory', {})
  const authorization = `Bearer ${token}`

  const numbered = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`field${n}`, n]))
  const nested = (levels: number) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`
  const key = (more: object) => JSON.stringify({ input: { name: 'k', scopes: ['read'], ...more } })
  const connect =
    'mutation ($config: JSON!) { connectProvider(input: { type: "memory", name: "m", config: $config }) { provider { id } } }'
  const config = (json: string) => `{"config":${json}}`
  const long = 'l'.repeat(40_000)
  /** Title, document, variables as JSON, and a pattern of the expected reasons, or `false` if the request succeeds. */
  const requests: [string, string, string, RegExp | false][] = [
    ['200,000 wrong values of a list', createKey, key({ scopes: Array(200_000).fill(1) }), /^INVALID_INPUT$/],
    ['9,000 wrong values of a list', createKey, key({ scopes: Array(9000).fill(1) }), /^INVALID_INPUT$/],
    ['90,000 values of a list', createKey, key({ scopes: Array(90_000).fill('read') }), /^INVALID_INPUT$/],
    ['9,000 values of a list', createKey, key({ scopes: Array(9000).fill('read') }), false],
    ['50,000 unknown fields of an input', createKey, key(numbered(50_000)), /^INVALID_INPUT$/],
    ['9,000 unknown fields of an input', createKey, key(numbered(9000)), /^INVALID_INPUT$/],
    ['a field of 900,000 letters', createKey, key({ ['x'.repeat(900_000)]: 1 }), /^INVALID_INPUT$/],
    [
      '3,000 providers',
      createKey,
      key({ providerAccess: { restrictions: Array(3000).fill({ providerId: id }) } }),
      /^INVALID_INPUT$/,
    ],
    ['a name of a million letters', createKey, key({ name: 'x'.repeat(1_000_000) }), /^INVALID_INPUT$/],
    ['a wrong value of a million letters', createKey, key({ scopes: ['x'.repeat(1_000_000)] }), /^INVALID_INPUT$/],
    [
      'a path of a million letters',
      `query ($p: String!) { file(providerId: "${id}", path: $p) { id } }`,
      JSON.stringify({ p: '/a'.repeat(500_000) }),
      /^INVALID_PATH$/,
    ],
    ['9,000 properties of a configuration', connect, config(JSON.stringify(numbered(9000))), /^INVALID_CONFIG$/],
    ['50,000 properties of a configuration', connect, config(JSON.stringify(numbered(50_000))), /^INVALID_INPUT$/],
    ['a property of 900,000 letters', connect, config(`{"${'x'.repeat(900_000)}":1}`), /^INVALID_CONFIG$/],
    ['a configuration 99 levels deep', connect, config(nested(99)), /^INVALID_CONFIG$/],
    ['a configuration 100 levels deep', connect, config(nested(100)), /^INVALID_INPUT$/],
    ['a configuration 150,000 levels deep', connect, config(nested(150_000)), /^INVALID_INPUT$/],
    ['50,000 undeclared variables', '{ __typename }', JSON.stringify(numbered(50_000)), /^INVALID_INPUT$/],
    [
      'an operation name of 900,000 letters',
      '{ __typename }',
      `{}, "operationName": "${'x'.repeat(900_000)}"`,
      /^INVALID_INPUT$/,
    ],
    ['200 directives on a field', `{ __typename ${repeat(200, () => '@include(if: true)')} }`, '{}', /^INVALID_QUERY$/],
    ['400 unknown directives', `{ __typename ${repeat(400, n => `@nothing${n}`)} }`, '{}', /^INVALID_QUERY$/],
    [
      'directives on every field',
      `query ($b: Boolean = true) { ${repeat(90, n => `a${n}: __typename @skip(if: $b) @include(if: $b)`)} }`,
      '{}',
      false,
    ],
    ['600 variables', `query (${repeat(600, n => `$v${n}: Int`)}) { __typename }`, '{}', /^QUERY_TOO_LARGE$/],
    ['250 variables', `query (${repeat(250, n => `$v${n}: Int!`)}) { __typename }`, '{}', /^INVALID_QUERY$/],
    [
      'unknown names near known ones',
      `{ ${repeat(50, n => `workspac${n} providerTyp${n}`)} }`,
      '{}',
      /^INVALID_QUERY$/,
    ],
    ['a field of 40,000 letters', `{ ${long} }`, '{}', /^QUERY_TOO_LARGE$/],
    ['an alias of 40,000 letters', `{ __schema { types { ${long}: name } } }`, '{}', /^QUERY_TOO_LARGE$/],
    [
      'an operation of 40,000 letters, whose variables are missing',
      `query ${long} { ${repeat(90, n => `a${n}: file(providerId: $v${n}, path: "/") { id }`)} }`,
      '{}',
      /^QUERY_TOO_LARGE$/,
    ],
    [
      'fields of one name that differ',
      `{ ${repeat(90, n => `a: file(providerId: "${n}", path: "/") { id }`)} }`,
      '{}',
      /^INVALID_QUERY$/,
    ],
    [
      'fields of one name that differ, in fragments',
      `{ ${repeat(45, n => `...F${n}`)} } ${repeat(45, n => `fragment F${n} on Query { a: file(providerId: "${n}", path: "/") { b: id } }`)}`,
      '{}',
      /^INVALID_QUERY$/,
    ],
    ['90 fields that fail', `{ ${repeat(90, n => `a${n}: provider(id: "${n}") { id }`)} }`, '{}', /^NOT_FOUND$/],
  ]
  const good = await costOfLargestValid(app, authorization)
  t.comment(`the largest valid request: ${Math.round(good)} ms`)
  for (const [what, query, variables, expected] of requests.filter((_, index) => isNight || index % 4 === 0)) {
    const body = `{"query":${JSON.stringify(query)},"variables":${variables}}`
    queries.length = 0
    const [{ status, text }, took] = await cost(() => post(app, body, { authorization }))
    const { data, errors = [] } = JSON.parse(text) as { data?: unknown; errors?: { extensions: { reason: string } }[] }
    t.comment(`${what}: ${Math.round(took)} ms, ${text.length} characters`)
    t.ok(took < good * maxSlowdown, `${what}: ${Math.round(took)} ms`)
    t.ok(status === 200 || status === 400, `${what}: ${status}`)
    t.ok(errors.length <= 50, `${what}: ${errors.length} errors`)
    t.ok(text.length < 100_000, `${what}: ${text.length} characters`)
    t.equal(errors.length > 0, expected !== false, what)
    for (const { extensions } of errors) if (expected) t.match(extensions.reason, expected, what)
    // Audit events of earlier requests may be written at the same time.
    if (data === undefined) t.notMatch(queries.join('\n'), /into "api_keys"|(from|into) "providers"/, what)
  }
  t.notMatch(app.logged(), /"level":[56]0/, 'no request is logged as a fault')
})

const text = fc.oneof(
  fc.constantFrom('/', '/a', '..', 'memory'),
  fc.string({ unit: 'binary', maxLength: 8 }),
  fc.uuid(),
)

/** Generates a document from the schema with random arguments and nesting. Most are valid; some are nonsense. */
function randomDocument(gen: GeneratorValue): string {
  const chance = (percent: number) => gen(fc.nat, 99) < percent
  const pick = <T>(items: readonly T[]): T => {
    const item = items[gen(fc.nat, items.length - 1)]
    if (item === undefined) throw new Error('The list of choices is empty')
    return item
  }
  const nonsense = () => pick(['null', '-1', '1e400', '[]', '{}', '""', 'read', '$v', '[[[1]]]', '9007199254740993'])

  function literal(type: GraphQLInputType, levels: number): string {
    if (chance(3)) return nonsense()
    if (isNonNullType(type)) return literal(type.ofType, levels)
    if (isListType(type)) return `[${gen(fc.nat, 3) > 0 ? literal(type.ofType, levels) : ''}]`
    if (isEnumType(type)) return pick(type.getValues()).name
    if (isInputObjectType(type)) {
      const fields = Object.values(type.getFields()).filter(
        field => isNonNullType(field.type) || (levels > 0 && chance(40)),
      )
      return `{ ${fields.map(({ name, type }) => `${name}: ${literal(type, levels - 1)}`).join(', ')} }`
    }
    if (type.name === 'Int' || type.name === 'SafeInt') return String(gen(fc.integer))
    if (type.name === 'Boolean') return String(gen(fc.boolean))
    if (type.name === 'JSON') return chance(50) ? '{ a: [1, { b: null }] }' : nonsense()
    return JSON.stringify(gen(() => text))
  }

  function selection(type: GraphQLNamedType, levels: number): string {
    if (!isCompositeType(type)) return ''
    if (levels === 0) return '{ __typename }'
    const chosen: string[] = ['__typename']
    if (!isUnionType(type)) {
      const fields = Object.values(type.getFields()).filter(
        ({ name }) => !['login', 'register', 'changePassword', 'logout'].includes(name),
      )
      for (let n = gen(fc.nat, 3); n >= 0; n--) {
        const field = pick(fields)
        const given = field.args.filter(({ type }) => isNonNullType(type) || chance(30))
        const args = given.map(({ name, type }) => `${name}: ${literal(type, 2)}`)
        const alias = chance(70) ? `a${n}: ` : ''
        const directive = chance(5) ? ' @include(if: true)' : ''
        const call = args.length > 0 ? `(${args.join(', ')})` : ''
        chosen.push(`${alias}${field.name}${call}${directive} ${selection(getNamedType(field.type), levels - 1)}`)
      }
    }
    if (type.name === 'Entry') chosen.push('... on Folder { entries(first: 2) { nodes { id } } }')
    return `{ ${chosen.join(' ')} }`
  }

  const isMutation = chance(30)
  const root = isMutation ? schema.getMutationType() : schema.getQueryType()
  const document = `${isMutation ? 'mutation' : 'query'} ${root ? selection(root, gen(fc.nat, 4) + 1) : ''}`
  // One in ten is cut at a random position and therefore invalid.
  return chance(10) ? document.slice(0, gen(fc.nat, document.length)) : document
}

const tokens = [
  '{',
  '}',
  '(',
  ')',
  '[',
  ']',
  ':',
  '...',
  '@',
  '$',
  '!',
  '=',
  '|',
  '&',
  '"',
  '"""',
  '#',
  '\\',
  '\u0000',
  '\ufeff',
  '\n',
  'query',
  'mutation',
  'fragment',
  'on',
  'me',
  'id',
  '__schema',
  '__typename',
  'null',
  '1',
  '-',
  '.',
]

t.test('random requests cause no internal error', async t => {
  const app = await startApp(t)
  const { token } = await app.register('owner@example.org')
  await app.connectProvider(token, 'memory', {})
  const { key } = await app.createKey(token, { name: 'of the test', scopes: ['admin'] })
  const authorization = { authorization: `Bearer ${key}` }
  const kinds = new Map<string, number>()
  let slowest = 0
  let executed = 0
  const check = async (body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}) => {
    const [{ status, text }, took] = await cost(() => post(app, body, { ...authorization, ...headers }))
    slowest = Math.max(slowest, took)
    const { data, errors } = JSON.parse(text)
    const kind = errors ? `${status} ${errors[0].extensions.reason}` : String(status)
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1)
    if (data !== undefined) executed += 1
    if (status >= 500) throw new Error(`${status}: ${text}`)
    if (data === undefined && errors?.[0]?.extensions.code !== 'BAD_USER_INPUT') throw new Error(text)
    const faults = (errors ?? []).filter(
      ({ extensions }: { extensions: { reason: string } }) => extensions.reason === 'INTERNAL',
    )
    if (faults.length > 0) throw new Error(JSON.stringify(faults))
  }
  const runs = { numRuns: extent({ gate: 20, nightly: 100 }), interruptAfterTimeLimit: 20_000 }
  await fc.assert(
    fc.asyncProperty(fc.gen(), gen => check(JSON.stringify({ query: randomDocument(gen) }))),
    { ...runs, numRuns: extent({ gate: 50, nightly: 200 }) },
  )
  const words = fc.array(fc.oneof(fc.constantFrom(...tokens), fc.string({ unit: 'binary', maxLength: 4 })), {
    maxLength: 60,
  })
  await fc.assert(
    fc.asyncProperty(words, list => check(JSON.stringify({ query: list.join(' ') }))),
    runs,
  )
  const parameters = fc.record(
    {
      query: fc.oneof(fc.constant('query ($v: Int) { __typename }'), fc.jsonValue()),
      variables: fc.jsonValue(),
      operationName: fc.jsonValue(),
      extensions: fc.jsonValue(),
    },
    { requiredKeys: [] },
  )
  await fc.assert(
    fc.asyncProperty(parameters, value => check(JSON.stringify(value))),
    runs,
  )
  await fc.assert(
    fc.asyncProperty(fc.jsonValue(), value => check(JSON.stringify(value))),
    runs,
  )
  const bytes = fc.uint8Array({ maxLength: 300 }).map(array => new Uint8Array(array))
  await fc.assert(
    fc.asyncProperty(bytes, body => check(body)),
    runs,
  )
  const types = fc.constantFrom(
    'application/json',
    'APPLICATION/JSON; charset=utf-16',
    'application/json;;',
    'text/plain',
    'multipart/form-data; boundary=',
    'application/x-www-form-urlencoded',
    '*/*',
    'x',
  )
  await fc.assert(
    fc.asyncProperty(types, bytes, (type, body) => check(body, { 'content-type': type })),
    runs,
  )
  t.comment(`the slowest took ${Math.round(slowest)} ms of CPU time`)
  t.comment([...kinds].map(([kind, count]) => `${kind}: ${count}`).join(', '))
  t.comment(`${executed} were executed`)
  t.ok(executed > extent({ gate: 6, nightly: 30 }), 'many were executed')
  t.ok(kinds.size > 5, 'the responses vary')
  t.notMatch(app.logged(), /"level":[56]0/)
  t.same(await app.ask('{ __typename }', {}, token), { __typename: 'Query' })
})

t.test('a page of another site cannot run a mutation with the credentials of the browser', async t => {
  const app = await startApp(t)
  const { token } = await app.register('owner@example.org')
  const kept = await app.request('/console/session', { method: 'POST', token })
  const cookie = kept.headers.get('set-cookie')?.split(';', 1)[0] ?? ''
  t.match(cookie, /^stowage_session=ey/)
  const query = 'mutation { updateWorkspace(input: { name: "taken" }) { name } }'
  const json = JSON.stringify({ query })
  const form = new URLSearchParams({ query })
  const parts = new FormData()
  parts.append('query', query)
  // Requests that a form, a link, an image, a beacon or a fetch without a preflight can send.
  const simple: [string, RequestInit][] = [
    ['application/x-www-form-urlencoded', { method: 'POST', body: form }],
    [
      'text/plain',
      { method: 'POST', body: `${json.slice(0, -1)},"x":"="}`, headers: { 'content-type': 'text/plain' } },
    ],
    [
      'text/plain with a parameter',
      { method: 'POST', body: json, headers: { 'content-type': 'text/plain; application/json' } },
    ],
    ['no type', { method: 'POST', body: new Blob([json]) }],
    [
      'multipart/form-data',
      {
        method: 'POST',
        body: parts,
      },
    ],
    ['a link', { method: 'GET' }],
    ['a link as HEAD', { method: 'HEAD' }],
  ]
  for (const credential of [
    { cookie },
    { cookie, origin: 'https://elsewhere.example', 'sec-fetch-site': 'cross-site' },
  ]) {
    for (const [what, init] of simple) {
      const search = init.body ? '' : `?${form}`
      const headers = { ...credential, ...Object.fromEntries(new Headers(init.headers)) }
      const { status } = await app.request(`/graphql${search}`, { ...init, headers })
      t.equal(status, init.body ? 415 : 405, what)
      // The media type alone causes the refusal, even if a page could send the header.
      const { status: own } = await app.request(`/graphql${search}`, {
        ...init,
        headers: { ...headers, 'x-stowage-console': '1' },
      })
      t.equal(own, init.body ? 415 : 405, what)
    }
    const preflight = { origin: 'https://elsewhere.example', 'access-control-request-method': 'POST' }
    for (const wanted of ['content-type', 'x-stowage-console', 'authorization']) {
      const headers = { ...credential, ...preflight, 'access-control-request-headers': wanted }
      const answer = await app.request('/graphql', { method: 'OPTIONS', headers })
      t.not(answer.ok, true, 'preflights are refused')
      for (const [name] of answer.headers) t.notMatch(name, /^access-control-/)
    }
  }
  const withCookie = await post(app, json, { cookie })
  t.match(JSON.parse(withCookie.text), { errors: [{ extensions: { reason: 'CREDENTIAL_REQUIRED' } }] })
  t.equal((await app.ask('{ workspace { name } }', {}, token)).workspace.name, 'Stowage')
  t.match(JSON.parse((await post(app, json, { cookie, 'x-stowage-console': '1' })).text), {
    data: { updateWorkspace: { name: 'taken' } },
  })
})
