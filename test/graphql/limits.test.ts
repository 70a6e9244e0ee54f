import { getIntrospectionQuery } from 'graphql'
import t from 'tap'
import { startApp } from '../support/app.ts'
import { cost } from '../support/processor.ts'

/** The longest accepted time, in multiples of the costliest valid request. */
const maxSlowdown = 10

const repeat = (count: number, each: (n: number) => string) =>
  Array.from({ length: count }, (_, n) => each(n)).join(' ')

function nest(levels: number, first: string): string {
  const inner = levels === 1 ? 'id' : `... on Folder { ${nest(levels - 1, first)} }`
  return `entries(first: ${first}) { nodes { ${inner} } }`
}

t.test('limits hold before anything is executed', async t => {
  const app = await startApp(t)
  const { token } = await app.register('owner@example.org')
  const id = await app.connectProvider(token, 'memory', {})
  await app.upload(token, id, '/a/b/c/file.txt', 'x')
  const folder = (selection: string) => `{ folder(providerId: "${id}") { ${selection} } }`
  const everything =
    'id name path modifiedAt provider { id name } ... on File { size mimeType etag checksums { algorithm hex } downloadUrl }'

  const allowed: [string, string][] = [
    [
      'introspection',
      getIntrospectionQuery({ descriptions: true, specifiedByUrl: true, schemaDescription: true, oneOf: true }),
    ],
    [
      'introspection with all options',
      getIntrospectionQuery({ inputValueDeprecation: true, directiveIsRepeatable: true }),
    ],
    [
      '1,000 entries with every field',
      folder(`entries(first: 1000) { nodes { ${everything} } pageInfo { endCursor } }`),
    ],
    ['1,000 entries with cursors', folder('entries(first: 1000) { edges { cursor node { id path } } }')],
    [
      'two levels of default pages',
      folder('entries { nodes { id name ... on Folder { entries { nodes { id name } } } } }'),
    ],
    ['a tree in small pages', folder(nest(3, '10'))],
    ['100 aliases', `{ ${repeat(100, n => `a${n}: __typename`)} }`],
    [
      '50 folders at once',
      `mutation { ${repeat(50, n => `a${n}: createFolder(input: { providerId: "${id}", path: "/n${n}" }) { id }`)} }`,
    ],
    [
      'every page of people',
      '{ users(first: 200) { nodes { id email name role createdAt providerAccess { all restrictions { basePath } } } } }',
    ],
    [
      'every field of every key',
      '{ apiKeys(first: 100) { nodes { id name displayPrefix scopes state createdAt expiresAt lastUsedAt owner { email } providerAccess { all restrictions { basePath provider { id name } } } } } }',
    ],
  ]
  let good = 0
  for (const [what, query] of allowed) {
    const [{ errors }, took] = await cost(() => app.graphql(query, {}, token))
    t.same(errors, [], what)
    good = Math.max(good, took)
  }

  const fragments = (spreads: number, count: number) =>
    `${repeat(count, n => `fragment F${n} on Query { ${repeat(spreads, () => `...F${n + 1}`)} }`)} fragment F${count} on Query { __typename }`
  const refused: [string, string, string?][] = [
    ['three levels of default pages', folder(nest(3, '100'))],
    ['two levels of the largest pages', folder(nest(2, '1000'))],
    [
      '1,000 folders listed',
      folder('entries(first: 1000) { nodes { ... on Folder { entries(first: 1) { nodes { id } } } } }'),
    ],
    [
      'a hundred logins',
      `mutation { ${repeat(100, n => `a${n}: login(input: { email: "a", password: "b" }) { token }`)} }`,
    ],
    [
      'five passwords',
      `mutation { ${repeat(5, n => `a${n}: login(input: { email: "a", password: "b" }) { token }`)} }`,
    ],
    ['101 aliases', `{ ${repeat(101, n => `a${n}: __typename`)} }`],
    ['101 times the same field', `{ me { ${repeat(101, () => 'id')} } }`],
    ['101 aliases in fragments', `{ ${repeat(51, () => '...F')} } fragment F on Query { me { id } viewer { kind } }`],
    ['501 fields', `{ ${repeat(51, n => `a${n}: me { id email name role createdAt a: id b: id c: id d: id }`)} }`],
    ['too deep', folder(nest(6, '1'))],
    [
      'too deep in fragments',
      `${folder('...A')} fragment A on Folder { entries(first: 1) { nodes { ...B } } } fragment B on Folder { ${nest(5, '1')} }`,
    ],
    ['deeper than any stack', `{ ${'a { '.repeat(900)} b ${'}'.repeat(900)} }`],
    [
      'too many operations',
      `${repeat(60, n => `query Q${n} { me { a: id b: id c: id d: id e: id f: id g: id h: id } }`)}`,
    ],
    ['more tokens', `{ ${'me { id } '.repeat(20_000 / 10)} }`],
    ['more characters', `{ __typename } # ${'x'.repeat(50_000)}`],
    ['one long string', `{ folder(providerId: "${'x'.repeat(50_000)}") { id } }`],
    ['brackets', `{ me(a: ${'['.repeat(1_000)}${']'.repeat(1_000)}) { id } }`],
    ['fragments that double 30 times', `{ ...F0 } ${fragments(2, 30)}`],
    ['fragments that multiply by ten', `{ ...F0 } ${fragments(10, 50)}`],
    [
      'a mesh of fragments',
      `{ ...F0 } ${repeat(150, n => `fragment F${n} on Query { ...F${n + 1} ...F${n + 2} }`)} fragment F150 on Query { __typename } fragment F151 on Query { __typename }`,
    ],
    [
      'a circle of fragments',
      `{ ...F0 } ${repeat(150, n => `fragment F${n} on Query { ...F${(n + 1) % 150} ...F${(n * 7) % 150} }`)}`,
      'INVALID_QUERY',
    ],
    [
      'introspection of introspection',
      '{ __schema { types { fields { type { fields { type { fields { type { fields { name } } } } } } } } } }',
      'INVALID_QUERY',
    ],
    [
      'introspection that is broad on each level',
      `{ __schema { types { ${repeat(10, n => `a${n}: fields { type { ofType { ...F } } }`)} } } } fragment F on __Type { ${repeat(20, n => `b${n}: fields { name }`)} }`,
    ],
  ]
  for (const [what, query, reason = 'QUERY_TOO_LARGE'] of refused) {
    const [{ status, data, errors }, took] = await cost(() => app.graphql(query, {}, token))
    t.equal(status, 200, what)
    t.equal(data, null)
    t.match(errors, [{ message: /\d|itself|introspection/i, extensions: { code: 'BAD_USER_INPUT', reason } }], what)
    t.ok(took < good * maxSlowdown, `${what}: ${Math.round(took)} ms, the costliest valid request ${Math.round(good)}`)
  }
  t.equal((await app.ask('{ workspace { name } }', {}, token)).workspace.name, 'Stowage')

  await t.test('limits count the values of variables', async t => {
    const query = `query ($n: Int = 100, $id: ID!) { folder(providerId: $id) { ${nest(3, '$n')} } }`
    t.same((await app.graphql(query, { n: 5, id }, token)).errors, [])
    t.match((await app.graphql(query, { n: 100, id }, token)).errors, [{ extensions: { reason: 'QUERY_TOO_LARGE' } }])
    t.match((await app.graphql(query, { id }, token)).errors, [{ extensions: { reason: 'QUERY_TOO_LARGE' } }])
    t.same((await app.graphql(query, { n: 5, id }, token)).errors, [])
  })
})
