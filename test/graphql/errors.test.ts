import { once } from 'node:events'
import { chmod, mkdir, rm, writeFile } from 'node:fs/promises'
import { createConnection } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import t from 'tap'
import { reasons } from '../../src/errors.ts'
import { startApp } from '../support/app.ts'
import { extent } from '../support/extent.ts'

t.test('every error has the same shape', async t => {
  const app = await startApp(t)
  const { token } = await app.register('owner@example.org')
  await mkdir(join(app.folder, 'folder'))
  await writeFile(join(app.folder, 'file.txt'), 'text')
  const id = await app.connectProvider(token, 'local', { root: app.folder })
  const { key: reader } = await app.createKey(token, { name: 'reader', scopes: ['read'] })
  const restrictions = [{ providerId: id, basePath: '/folder' }]
  const { key: narrow } = await app.createKey(token, { name: 'n', scopes: ['admin'], providerAccess: { restrictions } })
  const nowhere = '00000000-0000-4000-8000-000000000000'

  const cases: [string, string, object, string | null][] = [
    ['CREDENTIAL_REQUIRED', '{ viewer { kind } }', {}, null],
    ['WRONG_EMAIL_OR_PASSWORD', 'mutation { login(input: { email: "x", password: "y" }) { token } }', {}, null],
    [
      'WRONG_EMAIL_OR_PASSWORD',
      'mutation { login(input: { email: "a\\u0000@example.org", password: "y" }) { token } }',
      {},
      null,
    ],
    ['SCOPE_REQUIRED', '{ users { nodes { id } } }', {}, reader],
    ['SESSION_REQUIRED', 'mutation { logout }', {}, reader],
    ['PROVIDER_NOT_ALLOWED', 'query ($id: ID!) { provider(id: $id) { id } }', { id: nowhere }, narrow],
    ['OUTSIDE_BASE_PATH', 'query ($id: ID!) { folder(providerId: $id) { id } }', { id }, narrow],
    ['NOT_FOUND', 'query ($id: ID!) { provider(id: $id) { id } }', { id: nowhere }, token],
    ['NOT_FOUND', 'query ($id: ID!) { file(providerId: $id, path: "/none") { id } }', { id }, token],
    ['INVALID_PATH', 'query ($id: ID!) { file(providerId: $id, path: "/../etc") { id } }', { id }, token],
    ['NOT_A_FILE', 'query ($id: ID!) { file(providerId: $id, path: "/folder") { id } }', { id }, token],
    ['NOT_A_FOLDER', 'query ($id: ID!) { folder(providerId: $id, path: "/file.txt") { id } }', { id }, token],
    [
      'INVALID_CURSOR',
      'query ($id: ID!) { folder(providerId: $id) { entries(after: "x") { nodes { id } } } }',
      { id },
      token,
    ],
    ['INVALID_CURSOR', '{ users(after: "x") { nodes { id } } }', {}, token],
    ['INVALID_CURSOR', '{ users(after: "") { nodes { id } } }', {}, token],
    ['INVALID_INPUT', '{ users(first: 0) { nodes { id } } }', {}, token],
    ['INVALID_INPUT', '{ users(first: 1000000) { nodes { id } } }', {}, token],
    [
      'INVALID_INPUT',
      'query ($id: ID!) { folder(providerId: $id) { entries(first: -1) { nodes { id } } } }',
      { id },
      token,
    ],
    [
      'INVALID_INPUT',
      'query ($id: ID!) { file(providerId: $id, path: "/file.txt") { downloadUrl(expiresIn: 0) } }',
      { id },
      token,
    ],
    [
      'INVALID_CONFIG',
      'mutation ($c: JSON!) { connectProvider(input: { type: "local", name: "x", config: $c }) { provider { id } } }',
      { c: [] },
      token,
    ],
    [
      'ALREADY_EXISTS',
      'mutation ($id: ID!) { createFolder(input: { providerId: $id, path: "/folder" }) { id } }',
      { id },
      token,
    ],
    [
      'ROOT_IS_FIXED',
      'mutation ($id: ID!) { delete(input: { providerId: $id, path: "/" }) { deletedPath } }',
      { id },
      token,
    ],
  ]
  for (const [reason, query, variables, credential] of cases) {
    const { status, data, errors } = await app.graphql(query, { ...variables }, credential)
    const { code, retryable } = reasons[reason as keyof typeof reasons]
    t.equal(status, 200)
    t.equal(data, null)
    t.match(
      errors,
      [{ path: [/./], locations: [{ line: 1 }], extensions: { code, reason, retryable, requestId: /^[\w-]+$/ } }],
      query,
    )
    t.equal(errors.length, 1)
    t.match(errors[0]?.message, /^\S.*\.$/s, 'a sentence')
  }
  t.notMatch(app.logged(), /"level":50/, 'no error is logged as a fault')

  await t.test('an error in a nullable field leaves the other fields intact', async t => {
    await rm(app.folder, { recursive: true })
    const { data, errors } = await app.graphql('{ me { email } providers { id quota { used } } }', {}, token)
    t.match(data, { me: { email: 'owner@example.org' }, providers: [{ id, quota: null }] })
    t.match(errors, [{ path: ['providers', 0, 'quota'], extensions: { code: 'INTERNAL_SERVER_ERROR' } }])
    await mkdir(app.folder)
    await chmod(app.folder, 0o755)
  })
})

t.test('an internal error is masked and logged once with the request id', async t => {
  const app = await startApp(t)
  const { token } = await app.register('owner@example.org')
  await sql`alter table webhooks rename to secret_table`.execute(app.db)
  const { status, data, errors } = await app.graphql('{ webhooks { id } }', {}, token)
  t.equal(status, 200)
  t.equal(data, null)
  t.match(errors, [
    { path: ['webhooks'], extensions: { code: 'INTERNAL_SERVER_ERROR', reason: 'INTERNAL', retryable: false } },
  ])
  t.notMatch(JSON.stringify(errors), /secret_table|relation|select/)
  const lines = app
    .logged()
    .split('\n')
    .filter(line => line.includes('"level":50'))
  t.equal(lines.length, 1)
  t.match(lines[0], /relation/)
  t.match(JSON.parse(lines[0] ?? '{}'), {
    requestId: errors[0]?.extensions.requestId,
    path: 'webhooks',
    err: { stack: /./ },
  })
})

t.test('a request that its client aborted is not logged as an error', async t => {
  const app = await startApp(t)
  const { token } = await app.register('owner@example.org')
  const id = await app.connectProvider(token, 'memory', {})
  for (let n = 0; n < 20; n++) await app.upload(token, id, `/file-${n}`, 'x')
  const fields = Array.from({ length: 40 }, (_, n) => `a${n}: folder(providerId: "${id}") { entries { nodes { id } } }`)
  const body = JSON.stringify({ query: `{ ${fields.join(' ')} }` })
  const { hostname, port } = new URL(app.url)
  const timers = () => process.getActiveResourcesInfo().filter(resource => resource === 'Timeout').length
  const before = timers()
  for (let attempt = 0; attempt < 40; attempt += extent({ gate: 4, nightly: 1 })) {
    const socket = createConnection({ host: hostname, port: Number(port) })
    await once(socket, 'connect')
    const head = `POST /graphql HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`
    socket.write(head + body)
    await sleep(attempt / 4)
    socket.destroy()
  }
  await sleep(200)
  // A wait for a body would last 30 seconds; idle connections to the database close sooner.
  for (let second = 0; second < 20 && timers() > before + 2; second++) await sleep(1000)
  t.ok(timers() <= before + 2, 'nothing waits for a body that cannot arrive')
  t.equal((await app.graphql('{ __typename }')).status, 200)
  t.notMatch(app.logged(), /"level":[56]0/)
})
