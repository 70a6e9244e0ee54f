/** Shares as their makers and administrators see and change them. */
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { changeRights } from '../../src/db/rights.ts'
import { startApp, type TestApp } from '../support/app.ts'
import { holdLocks } from '../support/held-locks.ts'
import { ask, list, makeShare, read, revokeShare } from '../support/shares.ts'
import { until } from '../support/until.ts'

const fields = `id kind providerId paths url hasPassword note expiresAt maxDownloads downloads maxBytes receivedBytes fileTypes
  state createdAt revokedAt lastUsedAt createdBy { email }`
const query = `query ($ofUser: ID, $includeInactive: Boolean, $first: Int, $after: String, $providerId: ID, $path: String) {
  shares(ofUser: $ofUser, includeInactive: $includeInactive, first: $first, after: $after, providerId: $providerId, path: $path) {
    nodes { ${fields} } pageInfo { hasNextPage endCursor } } }`
const update = `mutation ($input: UpdateShareInput!) { updateShare(input: $input) { ${fields} } }`

interface World {
  app: TestApp
  owner: { token: string; id: string }
  editor: { token: string; id: string }
  viewer: { token: string; id: string }
  providerId: string
  /** Returns the paths of the shares that a credential sees. */
  seen(token: string, variables?: object): Promise<string[]>
  reason(document: string, variables: object, token: string): Promise<string>
  create(input: object, token?: string): Promise<string>
}

async function setUp(t: Test): Promise<World> {
  const app = await startApp(t)
  const owner = await app.register('owner@example.org')
  const providerId = await app.connectProvider(owner.token, 'memory', {})
  for (const path of ['/team/a.txt', '/team/b.txt', '/team/sub/a.txt', '/other/a.txt']) {
    await app.upload(owner.token, providerId, path, `content of ${path}`)
  }
  const invite = async (role: string, email: string) => {
    const restrictions = [{ providerId, basePath: '/team' }]
    const input = { role, providerAccess: { restrictions } }
    const document = 'mutation ($input: CreateInviteInput!) { createInvite(input: $input) { invite } }'
    const { createInvite } = await app.ask(document, { input }, owner.token)
    return app.register(email, createInvite)
  }
  const reason: World['reason'] = async (document, variables, token) =>
    (await app.graphql(document, { ...variables }, token)).errors[0]?.extensions.reason ?? 'OK'
  return {
    app,
    owner,
    editor: await invite('EDITOR', 'editor@example.org'),
    viewer: await invite('VIEWER', 'viewer@example.org'),
    providerId,
    seen: async (token, variables = {}) =>
      (await app.ask(query, { ...variables }, token)).shares.nodes.flatMap(({ paths }: { paths: string[] }) => paths),
    reason,
    create: (input, token = owner.token) =>
      reason(
        'mutation ($input: CreateShareInput!) { createShare(input: $input) { url } }',
        { input: { providerId, ...input } },
        token,
      ),
  }
}

t.test('shares', async t => {
  const world = await setUp(t)
  const { app, owner, editor, viewer, providerId, seen, reason, create } = world

  t.test('a share has the settings that its maker gives, and no setting that does not fit its kind', async t => {
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString()
    const made = await makeShare(app, owner.token, {
      providerId,
      path: '/team/a.txt',
      morePaths: ['/team/sub'],
      password: 'eight ch',
      note: ' Hello,\r\nthis is it. ',
      expiresAt,
      maxDownloads: 3,
    })
    t.match(made.url, new RegExp(`^${app.url}/s/stw_share_[0-9a-f]{40}$`))
    const { shares } = await app.ask(query, {}, owner.token)
    t.match(shares.nodes[0], {
      id: made.id,
      kind: 'VIEW',
      providerId,
      paths: ['/team/a.txt', '/team/sub'],
      url: made.url,
      hasPassword: true,
      note: 'Hello,\nthis is it.',
      expiresAt,
      maxDownloads: 3,
      downloads: 0,
      maxBytes: null,
      receivedBytes: 0,
      fileTypes: [],
      state: 'ACTIVE',
      revokedAt: null,
      lastUsedAt: null,
      createdBy: { email: 'owner@example.org' },
    })
    const sharedAt = (path: string) => seen(owner.token, { providerId, path })
    t.same(await sharedAt('/team/sub'), ['/team/a.txt', '/team/sub'], 'the list is narrowed to the shares of one entry')
    for (const path of ['/team', '/team/sub/a.txt', '/']) t.same(await sharedAt(path), [], path)
    t.same(await seen(owner.token, { providerId: owner.id }), [])
    for (const wrong of [{ path: '/team' }, { providerId: 'no id' }]) {
      t.equal(await reason(query, wrong, owner.token), 'INVALID_INPUT')
    }
    t.equal(await reason(query, { providerId, path: 'team' }, owner.token), 'INVALID_PATH')
    t.equal(await create({ path: '/team', kind: 'DROP', maxBytes: 10, fileTypes: ['.PDF', 'tar.gz'] }), 'INVALID_INPUT')
    t.equal(await create({ path: '/team', kind: 'DROP', maxBytes: 10, fileTypes: ['.PDF', 'pdf', 'jpg'] }), 'OK')
    const [dropped] = (await app.ask(query, {}, owner.token)).shares.nodes
    t.match(dropped, { kind: 'DROP', maxBytes: 10, fileTypes: ['pdf', 'jpg'] })
    const wrong: [string, object][] = [
      ['INVALID_INPUT', { path: '/team', password: 'short' }],
      ['INVALID_INPUT', { path: '/team', note: 'x'.repeat(2001) }],
      ['INVALID_INPUT', { path: '/team', note: 'a\u0007b' }],
      ['INVALID_INPUT', { path: '/team', expiresAt: '2020-01-01T00:00:00Z' }],
      ['INVALID_INPUT', { path: '/team', maxDownloads: 0 }],
      ['INVALID_INPUT', { path: '/team', maxBytes: 1 }],
      ['INVALID_INPUT', { path: '/team', fileTypes: ['pdf'] }],
      ['INVALID_INPUT', { path: '/team', kind: 'DROP', maxDownloads: 1 }],
      ['INVALID_INPUT', { path: '/team', kind: 'DROP', fileTypes: ['../x'] }],
      ['INVALID_INPUT', { path: '/team/a.txt', kind: 'DROP' }],
      ['INVALID_INPUT', { path: '/team', morePaths: ['/other'], kind: 'DROP' }],
      ['INVALID_INPUT', { path: '/team/a.txt', morePaths: ['/other/a.txt'] }],
      ['INVALID_INPUT', { path: '/team', morePaths: Array(100).fill('/other') }],
      ['INVALID_INPUT', { path: '/team', morePaths: Array(17).fill(`/${'x'.repeat(999)}`.repeat(4)) }],
      ['NOT_FOUND', { path: '/missing' }],
      ['NOT_FOUND', { path: '/team', morePaths: ['/missing'] }],
      ['INVALID_PATH', { path: '/team/../other' }],
    ]
    for (const [expected, input] of wrong) t.equal(await create(input), expected, JSON.stringify(input).slice(0, 100))
  })

  t.test('nobody shares more than they have', async t => {
    t.equal(await create({ path: '/team' }, viewer.token), 'OK')
    t.equal(await create({ path: '/team', kind: 'DROP' }, viewer.token), 'SCOPE_REQUIRED')
    t.equal(await create({ path: '/team', kind: 'DROP' }, editor.token), 'OK')
    t.equal(await create({ path: '/other' }, editor.token), 'OUTSIDE_BASE_PATH')
    t.equal(await create({ path: '/' }, editor.token), 'OUTSIDE_BASE_PATH')
    t.equal(await create({ path: '/team/a.txt', morePaths: ['/other/a.txt'] }, editor.token), 'OUTSIDE_BASE_PATH')
    const providerAccess = { restrictions: [{ providerId, basePath: '/team/sub' }] }
    const { key } = await app.createKey(editor.token, { name: 'narrow', scopes: ['read'], providerAccess })
    t.equal(await create({ path: '/team' }, key), 'OUTSIDE_BASE_PATH')
    t.equal(await create({ path: '/team/sub', kind: 'DROP' }, key), 'SCOPE_REQUIRED')
    t.equal(await create({ path: '/team/sub' }, key), 'OK')
  })

  t.test('everybody sees their own shares where they have access, and administrators see all', async t => {
    await sql`delete from shares`.execute(app.db)
    const { link } = await makeShare(app, owner.token, { providerId, path: '/other' })
    const mine = await makeShare(app, editor.token, { providerId, path: '/team/sub', kind: 'DROP' })
    await makeShare(app, editor.token, { providerId, path: '/team/b.txt' })
    t.same(await seen(owner.token), ['/team/b.txt', '/team/sub', '/other'])
    t.same(await seen(owner.token, { ofUser: owner.id }), ['/other'])
    t.same(await seen(owner.token, { ofUser: editor.id }), ['/team/b.txt', '/team/sub'])
    t.same(await seen(editor.token), ['/team/b.txt', '/team/sub'])
    t.same(await seen(editor.token, { ofUser: owner.id }), ['/team/b.txt', '/team/sub'])
    t.same(await seen(viewer.token), [])
    const providerAccess = { restrictions: [{ providerId, basePath: '/team/sub' }] }
    const { key } = await app.createKey(editor.token, { name: 'narrow', scopes: ['read'], providerAccess })
    t.same(await seen(key), [], 'a key does not see the shares of the session')
    const before = (await app.ask(query, {}, editor.token)).shares.nodes[1]
    t.match(before, { id: mine.id, url: mine.url })
    const demote = 'mutation ($input: UpdateMemberInput!) { updateMember(input: $input) { id } }'
    await app.ask(demote, { input: { userId: editor.id, role: 'VIEWER' } }, owner.token)
    const after = (await app.ask(query, {}, editor.token)).shares.nodes[1]
    t.match(after, { id: mine.id, url: null }, 'who only reads does not get a link that writes')
    await app.ask(demote, { input: { userId: editor.id, role: 'EDITOR' } }, owner.token)
    const [first] = (await app.ask(query, {}, owner.token)).shares.nodes
    t.equal(first.url, null, 'an administrator does not get the link of somebody else')
    t.equal((await list(app, link)).status, 200)
    const page = (await app.ask(query, { first: 1 }, owner.token)).shares
    t.equal(page.pageInfo.hasNextPage, true)
    t.same(await seen(owner.token, { first: 5, after: page.pageInfo.endCursor }), ['/team/sub', '/other'])
  })

  t.test('a share is changed and revoked by its maker and by administrators', async t => {
    await sql`delete from shares`.execute(app.db)
    const { id, link } = await makeShare(app, editor.token, { providerId, path: '/team', password: 'correct horse' })
    const revoke = 'mutation ($id: ID!) { revokeShare(id: $id) { id state revokedAt } }'
    t.equal(await reason(update, { input: { id, note: 'x' } }, viewer.token), 'NOT_FOUND')
    t.equal(await reason(revoke, { id }, viewer.token), 'NOT_FOUND')
    t.equal(await reason(revoke, { id: 'no id' }, owner.token), 'NOT_FOUND')
    const { updateShare } = await app.ask(update, { input: { id, note: 'new', maxDownloads: 2 } }, editor.token)
    t.match(updateShare, { note: 'new', maxDownloads: 2, hasPassword: true })
    const changes = { id, password: null, maxDownloads: null, note: null }
    t.match((await app.ask(update, { input: changes }, owner.token)).updateShare, {
      note: '',
      maxDownloads: null,
      hasPassword: false,
    })
    t.equal((await list(app, link)).status, 200)
    t.equal(await reason(update, { input: { id, maxBytes: 1 } }, editor.token), 'INVALID_INPUT')
    t.match((await app.ask(revoke, { id }, owner.token)).revokeShare, { id, state: 'REVOKED' })
    t.equal((await list(app, link)).reason, 'SHARE_ENDED')
    t.equal(await reason(update, { input: { id, note: 'x' } }, editor.token), 'NOT_FOUND')
    t.same(await seen(editor.token), [])
    t.same(await seen(editor.token, { includeInactive: true }), ['/team'])
    const drop = await makeShare(app, editor.token, { providerId, path: '/team', kind: 'DROP' })
    const { key } = await app.createKey(editor.token, { name: 'writer', scopes: ['write'] })
    t.equal(await reason(update, { input: { id: drop.id, password: null } }, key), 'NOT_FOUND')
    t.equal(await reason(revoke, { id: drop.id }, key), 'NOT_FOUND')
    const own = await makeShare(app, key, { providerId, path: '/team', kind: 'DROP' })
    const reduce = sql`update api_keys set scopes = '{read}' where user_id = ${editor.id}`
    await changeRights(app.db, change => reduce.execute(change))
    t.equal(await reason(update, { input: { id: own.id, password: null } }, key), 'SCOPE_REQUIRED')
    t.equal(await reason(revoke, { id: own.id }, key), 'SCOPE_REQUIRED')
  })

  t.test('a change keeps the settings that another change has made meanwhile', async t => {
    const { id, link } = await makeShare(app, editor.token, { providerId, path: '/team', note: 'before' })
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString()
    const held = await holdLocks(
      app.db,
      sql`update shares set password_hash = 'a hash', expires_at = ${expiresAt}, max_downloads = 7 where id = ${id}`,
    )
    const changing = app.ask(update, { input: { id, note: 'after' } }, owner.token)
    await held.blocks(1)
    await held.commit()
    t.match((await changing).updateShare, { hasPassword: true, note: 'after', expiresAt, maxDownloads: 7 })
    t.equal((await list(app, link)).reason, 'SHARE_PASSWORD_REQUIRED')
    const { updateShare } = await app.ask(update, { input: { id } }, owner.token)
    t.match(updateShare, { hasPassword: true, note: 'after', expiresAt }, 'an input without a setting changes nothing')
  })

  t.test('downloads are counted, and the states of a share follow', async t => {
    const limited = await makeShare(app, owner.token, { providerId, path: '/team', maxDownloads: 1 })
    const free = await makeShare(app, owner.token, { providerId, path: '/team' })
    const short = await makeShare(app, owner.token, { providerId, path: '/team' })
    for (const { link } of [limited, free]) t.equal((await read(app, link, '/a.txt')).status, 200)
    await app.request(`/api/share/${free.link}/content?path=/a.txt`, { method: 'HEAD' })
    await sql`update shares set expires_at = now() where id = ${short.id}`.execute(app.db)
    const stateOf = async (id: string) =>
      (await app.ask(query, { includeInactive: true }, owner.token)).shares.nodes.find(
        (share: { id: string }) => share.id === id,
      )
    t.match(await stateOf(limited.id), { state: 'USED_UP', downloads: 1 })
    t.equal((await stateOf(short.id)).state, 'EXPIRED')
    await until(async () => (await stateOf(free.id)).downloads === 1)
    t.equal((await stateOf(free.id)).state, 'ACTIVE')
  })

  t.test('the audit log and webhooks say who made, used and revoked a share', async t => {
    const { id, link } = await makeShare(app, owner.token, { providerId, path: '/team', morePaths: ['/other'] })
    await read(app, link, '/other/a.txt')
    const locked = await makeShare(app, owner.token, { providerId, path: '/team', password: 'correct horse' })
    await ask(app, locked.link, '', { password: 'wrong horse' })
    await revokeShare(app, owner.token, id)
    await app.app.services.audit.flush()
    const { rows } = await sql<
      Record<string, unknown>
    >`select action, result, credential_kind, credential_id, subject_kind,
      subject_id, path, user_email, details from audit_events where subject_id in (${id}, ${locked.id})
      or credential_id = ${id} order by id`.execute(app.db)
    const by = { credential_kind: 'SESSION', user_email: 'owner@example.org' }
    const expected = [
      {
        action: 'SHARE_CREATE',
        ...by,
        subject_kind: 'SHARE',
        path: '/team',
        details: { kind: 'VIEW', hasPassword: false, otherSources: [{ path: '/other', providerId }] },
      },
      { action: 'DOWNLOAD', credential_kind: 'SHARE', credential_id: id, path: '/other/a.txt' },
      { action: 'SHARE_CREATE', ...by, details: { hasPassword: true } },
      { action: 'SHARE_UNLOCK', result: 'WRONG_SHARE_PASSWORD', credential_kind: null, subject_id: locked.id },
      { action: 'SHARE_REVOKE', ...by, subject_id: id },
    ]
    t.equal(rows.length, expected.length)
    for (const event of expected)
      t.ok(
        rows.some(row => matches(row, event)),
        JSON.stringify(event),
      )
    t.notMatch(JSON.stringify(rows), /correct horse|wrong horse|stw_share_/)
  })

  t.test('a member can have a limited number of shares', async t => {
    await sql`insert into shares (id, workspace_id, user_id, credential_kind, credential_id, kind, provider_id, paths, is_folder,
        token_hash, token, note, file_types)
      select gen_random_uuid(), m.workspace_id, m.user_id, 'SESSION', gen_random_uuid(), 'VIEW', ${providerId}, '{team}', true,
        sha256(n::text::bytea), '', '', '{}'
      from generate_series(1, 1000) n, members m where m.user_id = ${viewer.id}`.execute(app.db)
    t.equal(await create({ path: '/team' }, viewer.token), 'TOO_MANY_SHARES')
    t.equal(await create({ path: '/team' }, editor.token), 'OK')
    await sql`update shares set expires_at = now() where user_id = ${viewer.id}`.execute(app.db)
    t.equal(await create({ path: '/team' }, viewer.token), 'OK')
  })
})

/** Whether an event has these values, also in its details. */
function matches(row: Record<string, unknown>, event: Record<string, unknown>): boolean {
  return Object.entries(event).every(([name, value]) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? matches(Object(row[name]), value as Record<string, unknown>)
      : JSON.stringify(row[name]) === JSON.stringify(value),
  )
}
