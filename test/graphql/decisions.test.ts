/** The rule of a field decides once about each location, and its service uses the decision. */
import { Session } from 'node:inspector/promises'
import t, { type Test } from 'tap'
import { accessTo } from '../../src/auth/access.ts'
import { Authorized, authorize, needs } from '../../src/auth/needs.ts'
import { parsePath } from '../../src/auth/path.ts'
import { grant, grantReadBelow } from '../../src/auth/policy.ts'
import type { Scope } from '../../src/auth/scopes.ts'
import type { Viewer } from '../../src/auth/viewer.ts'
import { startApp } from '../support/app.ts'

/** Counts the calls of functions in `src/auth`, by name. */
async function countCalls(t: Test) {
  const session = new Session()
  session.connect()
  t.teardown(() => session.disconnect())
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  return async () => {
    const { result } = await session.post('Profiler.takePreciseCoverage')
    const functions = result.filter(({ url }) => /\/src\/auth\/\w+\.ts$/.test(url)).flatMap(script => script.functions)
    const callsOf = (name: string) =>
      functions
        .filter(each => each.functionName === name)
        .reduce((sum, { ranges: [whole] }) => sum + (whole?.count ?? 0), 0)
    return { decisions: callsOf('grant'), parsed: callsOf('parsePath') }
  }
}

t.test('each location is parsed and authorized once', async t => {
  const app = await startApp(t)
  const { token } = await app.register('owner@example.org')
  const provider = await app.connectProvider(token, 'memory', {})
  await app.upload(token, provider, '/a/b/file', 'x')
  const take = await countCalls(t)
  const costOf = async (document: string) => {
    await take()
    await app.ask(document, { provider }, token)
    return take()
  }
  const query = (fields: string) => `query ($provider: ID!) { folder(providerId: $provider, path: "/a") { ${fields} } }`
  t.same(await costOf(query('entries { nodes { name } }')), { decisions: 1, parsed: 1 })
  t.same(await costOf(query('usage { bytes } downloadUrl')), { decisions: 1, parsed: 1 })
  const nested = 'entries { nodes { ... on Folder { entries { nodes { ... on File { downloadUrl } } } } } }'
  t.same(await costOf(query(nested)), { decisions: 1, parsed: 1 }, 'entries below need no decision of their own')
  const twice = `query ($provider: ID!) { a: folder(providerId: $provider, path: "/a") { id } b: folder(providerId: $provider) { id } }`
  t.same(await costOf(twice), { decisions: 2, parsed: 2 }, 'another location is another decision')
  const create = (path: string) =>
    `mutation ($provider: ID!) { createFolder(input: { providerId: $provider, path: "${path}" }) { entries { nodes { name } } } }`
  t.same(await costOf(create('/new')), { decisions: 1, parsed: 1 }, 'who may write may read')
  const move = (path: string, toPath: string) =>
    `mutation ($provider: ID!) { move(input: { providerId: $provider, path: "${path}", toPath: "${toPath}" }) { path } }`
  const costs = [await costOf(move('/a/b/file', '/one')), await costOf(move('/one', '/two'))]
  // The server also decides again about work that is running when it looks, several times a second.
  const [least] = costs.toSorted((a, b) => a.decisions - b.decisions)
  t.same(least, { decisions: 2, parsed: 3 }, 'the audit log parses the path at which the file arrived')
})

const providerId = '00000000-0000-7000-8000-000000000001'

function viewer(scope: Scope | null): Viewer {
  const id = '00000000-0000-7000-8000-000000000002'
  const member = {
    userId: id,
    workspaceId: id,
    email: 'a@example.org',
    name: null,
    createdAt: new Date(),
    groups: [],
    language: null,
    getsMentions: true,
    isService: false,
    deactivatedAt: null,
  }
  return {
    kind: 'API_KEY',
    credentialId: id,
    outlivesSession: false,
    displayPrefix: 'stw_01234567',
    shared: null,
    member: { ...member, role: 'OWNER', access: { all: true }, own: { role: 'OWNER', access: { all: true } } },
    expiresAt: null,
    verifiedAt: null,
    lacksSecondFactor: false,
    confirmedAt: 0,
    origin: { address: '127.0.0.1', requestId: 'r' },
    scope,
    access: accessTo([[providerId, parsePath('/team')]]),
  }
}

t.test('a decision holds only for its viewer, its operation and its locations', async t => {
  const [one, another] = [viewer('write'), viewer('write')]
  const location = { providerId, path: '/team/a' }
  const authorized = Authorized.for(one, needs.read, location)
  t.equal(authorize(one, needs.read, { authorized })[0].path, 'team/a')
  t.throws(() => authorize(another, needs.read, { authorized }), /another viewer/)
  t.throws(() => authorize(null, needs.read, { authorized }), /another viewer/)
  t.throws(() => authorize(one, needs.delete, { authorized } as never), /another operation/)
  const forged = { ...location, path: '/other', authorized: { for: () => [], locations: [] } }
  t.throws(() => authorize(one, needs.read, forged), { reason: 'OUTSIDE_BASE_PATH' } as never)
})

t.test('an earlier grant covers reading at and below its path, as the policy would decide', async t => {
  const writer = viewer('write')
  const path = parsePath('/team/a')
  const earlier = grant(writer, { scope: 'write', providerId, path })
  for (const below of ['/team/a', '/team/a/b', '/team/a/b/c'].map(parsePath)) {
    t.same(
      { ...grantReadBelow(earlier, writer, below), isNew: undefined },
      grant(writer, { scope: 'read', providerId, path: below }),
    )
  }
  for (const other of ['/', '/team', '/team/ab', '/team/b', '/other'].map(parsePath)) {
    t.equal(grantReadBelow(earlier, writer, other), null, other)
  }
  t.equal(grantReadBelow(earlier, viewer('write'), path), null, 'a grant of another viewer')
  const adding = grant(writer, { scope: 'write', providerId, path, isNew: true })
  t.equal(grantReadBelow(adding, writer, path), null, 'a grant that only adds')
  const entry = { providerId: '00000000-0000-7000-8000-000000000003', path }
  t.throws(() => Authorized.toRead(writer, earlier, entry), { reason: 'PROVIDER_NOT_ALLOWED' } as never)
  t.throws(() => Authorized.toRead(viewer(null), earlier, { providerId, path }), { reason: 'SCOPE_REQUIRED' } as never)
})
