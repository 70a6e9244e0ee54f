/** Calls that wait until a person approves or refuses them. */
import { sql } from 'kysely'
import t from 'tap'
import { type Approval, Stowage } from '../../packages/client/src/index.ts'
import type { Data } from '../support/client.ts'
import { openEvents } from '../support/events.ts'
import { until } from '../support/until.ts'
import { startMcpWorld } from './clients.ts'

const world = await startMcpWorld(t)
const { app, token, providerId, tool } = world
const decideDocument =
  'mutation ($id: ID!, $isApproved: Boolean!) { decideApproval(id: $id, isApproved: $isApproved) { state } }'
const listDocument = `{ approvals { id kind tool path entryKind size from newLength isPermanent credentialName providerId } }`
const pending = async (by = token): Promise<Data[]> => (await app.ask(listDocument, {}, by)).approvals
const require = (approvals: string[]) =>
  app.ask(
    'mutation ($input: UpdateWorkspaceInput!) { updateWorkspace(input: $input) { approvals } }',
    { input: { approvals } },
    token,
  )
const put = (path: string, content = 'old') => app.upload(token, providerId, path, content, '&conflict=replace')
const read = async (path: string) => {
  const response = await app.download(token, providerId, path)
  return response.status === 200 ? response.text() : null
}
const remove = (path: string, by?: string) => tool('delete', { providerId, path, confirm: path }, by)
const write = (path: string, content: string) => tool('write_file', { providerId, path, content, conflict: 'REPLACE' })
const reason = ({ errors }: { errors: Data[] }) => errors[0]?.extensions.reason ?? 'OK'
/** Waits until a call for a path waits, and resolves with its id. */
const waiting = async (path: string, by = token): Promise<string> => {
  let id: string | undefined
  await until(async () => {
    id = (await pending(by)).find(each => each.path === path)?.id
    return id !== undefined
  })
  return id ?? ''
}
const decide = (id: string, isApproved: boolean, by = token) => app.graphql(decideDocument, { id, isApproved }, by)

t.test('without the setting, no call waits', async t => {
  await put('/free')
  t.equal(reason(await write('/free', 'new')), 'OK')
  t.equal(reason(await remove('/free')), 'OK')
  t.same(await pending(), [])
})

t.test('a call waits, and goes on when a person approves it at another replica', async t => {
  await require(['DELETION', 'OVERWRITE'])
  const other = await app.replica()
  await put('/a')
  const events = await openEvents(app.url, token, 'subscription { approvalsChanged { path } }')
  t.teardown(() => events.close())
  const call = remove('/a')
  const id = await waiting('/a')
  await events.first(({ data }: Data) => data?.approvalsChanged.some(({ path }: Data) => path === '/a'))
  t.match(await pending(), [
    {
      kind: 'DELETION',
      tool: 'delete',
      path: '/a',
      entryKind: 'FILE',
      size: 3,
      isPermanent: false,
      credentialName: 'writer',
    },
  ])
  t.equal(await read('/a'), 'old', 'nothing has happened')
  const { errors } = await other.graphql(decideDocument, { id, isApproved: true }, token)
  t.same(errors, [])
  t.equal(reason(await call), 'OK')
  t.equal(await read('/a'), null)
  t.same(await pending(), [])
  await put('/a')
  const again = remove('/a')
  t.equal((await decide(await waiting('/a'), false)).errors.length, 0)
  t.equal(reason(await again), 'APPROVAL_REFUSED', 'an approval permits one call')
  t.equal(await read('/a'), 'old')
  await app.app.services.audit.flush()
  const audit = '{ auditEvents(filter: { action: APPROVAL_DECIDE }) { nodes { path details userId } } }'
  t.match((await app.ask(audit, {}, token)).auditEvents.nodes, [
    { path: '/a', details: { isApproved: false, tool: 'delete' } },
    { path: '/a', details: { isApproved: true } },
  ])
})

t.test('the client shows what waits, and decides', async t => {
  const stowage = new Stowage({ url: app.url, credential: token })
  await require(['DELETION', 'OVERWRITE'])
  for (const path of ['/yes', '/no']) await put(path)
  const end = new AbortController()
  const calls = [remove('/yes'), write('/no', 'new')]
  const seen = new Map<string, Approval>()
  for await (const waits of stowage.approvals.follow({ signal: end.signal })) {
    for (const approval of waits) {
      if (seen.has(approval.path)) continue
      seen.set(approval.path, approval)
      await (approval.path === '/yes' ? stowage.approvals.approve(approval.id) : stowage.approvals.refuse(approval.id))
    }
    if (seen.size === 2 && waits.length === 0) break
  }
  t.match(seen.get('/yes'), { kind: 'DELETION', tool: 'delete', entryKind: 'FILE', size: 3, expiresAt: Date })
  t.match(seen.get('/no'), { kind: 'OVERWRITE', newLength: 3, credentialName: 'writer' })
  t.same((await Promise.all(calls)).map(reason), ['OK', 'APPROVAL_REFUSED'])
  t.same(await stowage.approvals.list(), [])
  const id = seen.get('/no')?.id ?? ''
  await t.rejects(stowage.approvals.approve(id), /does not wait any more/)
  const { key } = await app.createKey(token, { name: 'decider', scopes: ['admin'] })
  const byKey = new Stowage({ url: app.url, credential: key }).approvals.list()
  t.equal(await byKey.catch(({ reason }) => reason), 'SESSION_REQUIRED')
})

t.test('an overwrite waits, and a new file does not', async t => {
  t.equal(reason(await write('/new', 'first')), 'OK')
  const call = write('/new', 'second')
  const id = await waiting('/new')
  t.match((await pending())[0], { kind: 'OVERWRITE', tool: 'write_file', newLength: 6, size: 5 })
  await decide(id, true)
  t.equal(reason(await call), 'OK')
  t.equal(await read('/new'), 'second')
  await put('/from', 'moved')
  const move = tool('move', { providerId, path: '/from', toPath: '/new', conflict: 'REPLACE' })
  await decide(await waiting('/new'), true)
  t.equal(reason(await move), 'OK')
  t.equal(await read('/new'), 'moved')
})

t.test('the person approves the version that they have seen, with the rights of that moment', async t => {
  await put('/changed', 'seen')
  const call = write('/changed', 'new')
  const id = await waiting('/changed')
  await put('/changed', 'changed meanwhile')
  await decide(id, true)
  t.equal(reason(await call), 'APPROVAL_PENDING')
  t.equal(await read('/changed'), 'changed meanwhile')

  const { key, id: keyId } = await app.createKey(token, { name: 'ending', scopes: ['write'] })
  await put('/kept')
  const late = remove('/kept', key)
  const lateId = await waiting('/kept')
  await app.ask('mutation ($id: ID!) { revokeApiKey(id: $id) { id } }', { id: keyId }, token)
  await decide(lateId, true)
  t.equal((await late).status, 401)
  t.equal(await read('/kept'), 'old')
})

t.test('only the session of the member decides', async t => {
  await put('/mine')
  const call = remove('/mine')
  const id = await waiting('/mine')
  const invite = 'mutation { createInvite(input: { role: ADMIN }) { invite } }'
  const admin = await app.register('admin@example.org', (await app.ask(invite, {}, token)).createInvite)
  const key = await app.createKey(token, { name: 'admin', scopes: ['admin'] })
  t.same(await pending(admin.token), [])
  for (const [by, expected] of [
    [admin.token, 'NOT_FOUND'],
    [key.key, 'SESSION_REQUIRED'],
    [world.key, 'SESSION_REQUIRED'],
  ] as const)
    t.equal(reason(await decide(id, true, by)), expected)
  await decide(id, false)
  t.equal(reason(await decide(id, true)), 'PRECONDITION_FAILED', 'a decision is final')
  t.equal(reason(await call), 'APPROVAL_REFUSED')

  const create = `mutation { createServiceAccount(input: { name: "robot", role: EDITOR }) { id } }`
  const made = await app.ask(create, {}, token)
  const ofUser = made.createServiceAccount.id
  const robot = await app.createKey(token, { name: 'of the robot', scopes: ['write'], ofUser })
  const robots = remove('/mine', robot.key)
  await decide(await waiting('/mine', admin.token), true, admin.token)
  t.equal(reason(await robots), 'OK', 'administrators decide for service accounts')
})

t.test('a call can come back later, and calls that wait are bounded', async t => {
  await put('/later')
  const hangUp = new AbortController()
  const body = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'delete', arguments: { providerId, path: '/later', confirm: '/later' } },
  })
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': '2025-11-25',
  }
  const left = app
    .request('/mcp', { method: 'POST', headers, body, token: world.key, signal: hangUp.signal })
    .catch(() => null)
  const id = await waiting('/later')
  hangUp.abort()
  await left
  await decide(id, true)
  t.equal(await read('/later'), 'old', 'nobody waits for the result')
  t.equal(reason(await remove('/later')), 'OK', 'the same call goes on at once')

  await put('/twice')
  const twice = Array.from({ length: 21 }, () => remove('/twice'))
  t.equal(reason(await Promise.race(twice)), 'APPROVAL_PENDING', 'the last one does not wait')
  await decide(await waiting('/twice'), false)
  const reasons = (await Promise.all(twice)).map(reason)
  t.equal(reasons.filter(each => each === 'APPROVAL_REFUSED').length, 20)

  await sql`
    insert into approvals (id, workspace_id, user_id, credential_kind, credential_id, kind, tool, call_hash, provider_id, path,
      details, expires_at)
    select gen_random_uuid(), m.workspace_id, m.user_id, 'API_KEY', gen_random_uuid(), 'DELETION', 'delete', sha256(n::text::bytea),
      ${providerId}, '/x', '{}', now() + interval '1 hour'
    from members m join users u on u.id = m.user_id, generate_series(1, 20) n where u.email = 'owner@example.org'`.execute(
    app.db,
  )
  await put('/more')
  t.equal(reason(await remove('/more')), 'TOO_MANY_APPROVALS')
  await sql`update approvals set expires_at = now() - interval '2 days'`.execute(app.db)
  t.same(await pending(), [], 'nobody decides about what has expired')
  await app.app.services.approvals.sweep()
  const { rows } = await sql`select 1 from approvals`.execute(app.db)
  t.same(rows, [])
})
