/** Shares with people and groups of the workspace, as their makers and their recipients use them. */
import { sql } from 'kysely'
import t from 'tap'
import { changeRights } from '../../src/db/rights.ts'
import { startApp } from '../support/app.ts'
import { password } from '../support/client.ts'
import { ask, list, makeShare, read, revokeShare } from '../support/shares.ts'

const received = `query ($first: Int, $after: String) { sharesWithMe(first: $first, after: $after) {
  nodes { id url name isFolder sharedBy note hasPassword expiresAt createdAt } pageInfo { hasNextPage endCursor } } }`

t.test('shares with people and groups', async t => {
  const app = await startApp(t)
  const owner = await app.register('owner@example.org')
  const providerId = await app.connectProvider(owner.token, 'memory', {})
  for (const path of ['/team/a.txt', '/team/sub/b.txt', '/other/c.txt']) {
    await app.upload(owner.token, providerId, path, `content of ${path}`)
  }
  const invite = async (email: string, role = 'NONE', basePath = '/elsewhere') => {
    const input = { role, providerAccess: { restrictions: [{ providerId, basePath }] } }
    const document = 'mutation ($input: CreateInviteInput!) { createInvite(input: $input) { invite } }'
    const { createInvite } = await app.ask(document, { input }, owner.token)
    return app.register(email, { invite: createInvite.invite })
  }
  const ann = await invite('ann@example.org')
  const bob = await invite('bob@example.org')
  const maker = await invite('maker@example.org', 'EDITOR', '/team')
  const {
    createGroup: { group },
  } = await app.ask(
    'mutation { createGroup(input: { name: "Readers", role: NONE }) { group { id } } }',
    {},
    owner.token,
  )
  const membership = (name: 'addGroupMember' | 'removeGroupMember', userId: string) =>
    app.ask(
      `mutation ($groupId: ID!, $userId: ID!) { ${name}(groupId: $groupId, userId: $userId) { id } }`,
      { groupId: group.id, userId },
      owner.token,
    )
  const as = ({ token }: { token: string }, more = {}) => ({ ...more, headers: { authorization: `Bearer ${token}` } })
  const reasonOf = async (input: object, token = maker.token) =>
    (
      await app.graphql(
        'mutation ($input: CreateShareInput!) { createShare(input: $input) { url } }',
        { input: { providerId, path: '/team', ...input } },
        token,
      )
    ).errors[0]?.extensions.reason ?? 'OK'
  const namesFor = async (person: { token: string }): Promise<string[]> =>
    (await app.ask(received, {}, person.token)).sharesWithMe.nodes.map(({ name }: { name: string }) => name)

  t.test('only the recipients open the share, when they are signed in', async t => {
    const { link, url, id } = await makeShare(app, maker.token, {
      providerId,
      path: '/team',
      userIds: [ann.id],
      note: 'Hi',
    })
    t.equal((await ask(app, link)).reason, 'SESSION_REQUIRED')
    t.equal((await list(app, link)).reason, 'SESSION_REQUIRED')
    t.equal((await read(app, link, '/a.txt')).reason, 'SESSION_REQUIRED')
    t.equal((await read(app, link, '/a.txt', as(bob))).reason, 'SHARE_ENDED')
    t.equal(
      (await read(app, link, '/a.txt', as(owner))).reason,
      'SHARE_ENDED',
      'not even an owner, who has the file anyway',
    )
    t.equal((await read(app, link, '/a.txt', as(ann))).text, 'content of /team/a.txt')
    t.equal((await read(app, link, '/a.txt', as(maker))).status, 200, 'the creator can try it')
    t.match((await list(app, link, '/', as(ann))).body.entries, [{ path: '/a.txt' }, { path: '/sub' }])
    t.equal((await read(app, link, '/../other/c.txt', as(ann))).reason, 'INVALID_PATH')
    const { key } = await app.createKey(owner.token, { name: 'a key', scopes: ['read'] })
    t.equal(
      (await read(app, link, '/a.txt', as({ token: key }))).reason,
      'INVALID_CREDENTIAL',
      'no key replaces a session',
    )
    t.equal(
      (
        await app.graphql(
          'query ($id: ID!) { file(providerId: $id, path: "/team/a.txt") { name } }',
          { id: providerId },
          ann.token,
        )
      ).errors[0]?.extensions.reason,
      'SCOPE_REQUIRED',
      'nothing changes elsewhere',
    )
    const { sharesWithMe } = await app.ask(received, { first: 1 }, ann.token)
    t.match(sharesWithMe, {
      nodes: [
        {
          id,
          url,
          name: 'team',
          isFolder: true,
          sharedBy: 'maker@example.org',
          note: 'Hi',
          hasPassword: false,
          expiresAt: null,
        },
      ],
      pageInfo: { hasNextPage: false },
    })
    t.same(await namesFor(bob), [])
    t.same(await namesFor(maker), [])
    const { shares } = await app.ask('{ shares { nodes { id recipients { kind id name email } } } }', {}, maker.token)
    t.same(shares.nodes[0].recipients, [
      { kind: 'USER', id: ann.id, name: 'ann@example.org', email: 'ann@example.org' },
    ])
    await app.app.services.audit.flush()
    const { auditEvents } = await app.ask(
      `query ($id: ID!) { auditEvents(filter: { credentialId: $id }) { nodes { action details } } }`,
      { id },
      owner.token,
    )
    const openers = auditEvents.nodes.map(({ details }: { details: { openedBy?: string } }) => details.openedBy)
    t.same([...new Set(openers)].toSorted(), [ann.id, maker.id].toSorted(), 'the log names who read it')
    await revokeShare(app, maker.token, id)
    t.equal((await read(app, link, '/a.txt', as(ann))).reason, 'SHARE_ENDED')
    t.same(await namesFor(ann), [])
  })

  t.test('a browser opens it with a cookie of this share, which ends with the session', async t => {
    const { link } = await makeShare(app, maker.token, {
      providerId,
      path: '/team',
      userIds: [ann.id],
      password: 'eight ch',
    })
    const { token } = (
      await app.ask(
        'mutation ($input: LoginInput!) { login(input: $input) { token } }',
        { input: { email: 'ann@example.org', password } },
        null,
      )
    ).login
    const unlock = (key?: string, who?: { token: string }) =>
      ask(app, link, 'unlock', { method: 'POST', ...(key && { password: key }), ...(who && as(who)) })
    t.equal((await unlock('eight ch')).reason, 'SESSION_REQUIRED')
    t.equal((await unlock(undefined, { token })).reason, 'SHARE_PASSWORD_REQUIRED')
    t.equal((await unlock('eight ch', bob)).reason, 'SHARE_ENDED')
    const unlocked = await unlock('eight ch', { token })
    t.equal(unlocked.status, 204)
    const cookie = unlocked.headers.get('set-cookie')?.split(';', 1)[0] ?? ''
    const got = await read(app, link, '/a.txt', { headers: { cookie } })
    t.equal(got.text, 'content of /team/a.txt')
    t.same(await namesFor(ann), ['team'])
    await app.ask('mutation { logout }', {}, token)
    t.equal((await read(app, link, '/a.txt', { headers: { cookie } })).reason, 'SESSION_ENDED')
    // The session cookie of the console counts only with the header of its scripts.
    const session = { cookie: `stowage_session=${ann.token}`, 'stowage-share-password': 'eight ch' }
    t.equal((await read(app, link, '/a.txt', { headers: session })).reason, 'SESSION_REQUIRED')
    t.equal((await read(app, link, '/a.txt', { headers: { ...session, 'x-stowage-console': '1' } })).status, 200)
  })

  t.test('a share with a group follows its members', async t => {
    const { link } = await makeShare(app, maker.token, { providerId, path: '/team/sub', groupIds: [group.id] })
    t.equal((await read(app, link, '/b.txt', as(bob))).reason, 'SHARE_ENDED')
    await membership('addGroupMember', bob.id)
    t.equal((await read(app, link, '/b.txt', as(bob))).status, 200)
    t.same(await namesFor(bob), ['sub'])
    await membership('removeGroupMember', bob.id)
    t.equal((await read(app, link, '/b.txt', as(bob))).reason, 'SHARE_ENDED')
    t.same(await namesFor(bob), [])
    await membership('addGroupMember', bob.id)
    await app.ask('mutation ($id: ID!) { deleteGroup(id: $id) { id } }', { id: group.id }, owner.token)
    t.equal((await read(app, link, '/b.txt', as(bob))).reason, 'SHARE_ENDED', 'without recipients, nobody opens it')
    t.equal((await read(app, link, '/b.txt')).reason, 'SESSION_REQUIRED')
  })

  t.test('it ends with the membership of a recipient, and with the access of its maker', async t => {
    const carl = await invite('carl@example.org')
    const { link } = await makeShare(app, maker.token, { providerId, path: '/team/a.txt', userIds: [carl.id, ann.id] })
    t.equal((await read(app, link, '/a.txt', as(carl))).status, 200)
    await app.ask('mutation ($id: ID!) { removeMember(userId: $id) }', { id: carl.id }, owner.token)
    t.equal((await read(app, link, '/a.txt', as(carl))).reason, 'SESSION_ENDED')
    const left = await app.db.selectFrom('share_recipients').select('user_id').where('user_id', '=', carl.id).execute()
    t.same(left, [])
    t.ok((await namesFor(ann)).includes('a.txt'))
    await changeRights(app.db, trx => sql`update members set role = 'NONE' where user_id = ${maker.id}`.execute(trx))
    t.equal((await read(app, link, '/a.txt', as(ann))).reason, 'SHARE_ENDED')
    t.same(await namesFor(ann), [])
    await changeRights(app.db, trx => sql`update members set role = 'EDITOR' where user_id = ${maker.id}`.execute(trx))
  })

  t.test('its creator and administrators add and remove people and groups', async t => {
    const dora = await invite('dora@example.org')
    const made = await app.ask(
      'mutation { createGroup(input: { name: "Late readers", role: NONE }) { group { id } } }',
      {},
      owner.token,
    )
    const late = made.createGroup.group.id as string
    await app.ask(
      'mutation ($groupId: ID!, $userId: ID!) { addGroupMember(groupId: $groupId, userId: $userId) { id } }',
      { groupId: late, userId: bob.id },
      owner.token,
    )
    const { id, link } = await makeShare(app, maker.token, { providerId, path: '/team/a.txt', userIds: [ann.id] })
    const document =
      'mutation ($input: UpdateShareInput!) { updateShare(input: $input) { recipients { id } expiresAt note } }'
    const change = async (input: object, { token }: { token: string } = maker, share = id) => {
      const { data, errors } = await app.graphql(document, { input: { id: share, ...input } }, token)
      return (
        errors[0]?.extensions.reason ?? data.updateShare.recipients.map((each: { id: string }) => each.id).toSorted()
      )
    }
    const opens = async (person: { token: string }) => (await read(app, link, '/a.txt', as(person))).reason ?? 'OK'
    t.equal(await opens(dora), 'SHARE_ENDED')
    t.same(
      await change({ addUserIds: [dora.id, ann.id], addGroupIds: [late], note: 'More' }),
      [ann.id, dora.id, late].toSorted(),
    )
    t.same([await opens(ann), await opens(dora), await opens(bob)], ['OK', 'OK', 'OK'])
    t.same(
      await change({ removeUserIds: [ann.id], removeGroupIds: [late] }, owner),
      [dora.id],
      'an owner changes it, too',
    )
    t.same([await opens(ann), await opens(dora), await opens(bob)], ['SHARE_ENDED', 'OK', 'SHARE_ENDED'])
    t.same(await change({ removeUserIds: [ann.id] }), [dora.id], 'a second time changes nothing')
    t.equal(await change({ addUserIds: [ann.id] }, dora), 'SCOPE_REQUIRED', 'a recipient does not pass it on')
    const editor = await invite('editor@example.org', 'EDITOR', '/team')
    t.equal(await change({ addUserIds: [editor.id] }, editor), 'NOT_FOUND', 'nor does another member')
    const wrong = [
      { addUserIds: ['no id'] },
      { removeUserIds: ['no id'] },
      { addUserIds: [late] },
      { addUserIds: [ann.id], emailUsers: true },
      { removeUserIds: [ann.id], emailUsers: true },
      { removeUserIds: Array.from({ length: 101 }, (_, n) => `3b241101-e2bb-4255-8caf-4136c566a${100 + n}`) },
    ]
    for (const input of wrong) t.equal(await change(input), 'INVALID_INPUT', JSON.stringify(input).slice(0, 100))
    const { errors } = await app.graphql(document, { input: { id, addUserIds: ['no id'] } }, maker.token)
    t.notMatch(errors[0]?.message, /"(?:userIds|groupIds)"/, 'the message names no field that was not sent')
    const open = await makeShare(app, maker.token, { providerId, path: '/team/a.txt' })
    t.equal(await change({ addUserIds: [ann.id] }, maker, open.id), 'INVALID_INPUT', 'a link stays one')
    t.same(await change({ removeUserIds: [dora.id] }), [])
    t.equal(await opens(dora), 'SHARE_ENDED')
    t.equal((await read(app, link, '/a.txt')).reason, 'SESSION_REQUIRED', 'it never becomes a link for everybody')
    await app.app.services.audit.flush()
    const { auditEvents } = await app.ask(
      'query { auditEvents(filter: { action: SHARE_UPDATE, result: "OK" }) { nodes { subjectId details } } }',
      {},
      owner.token,
    )
    const logged = auditEvents.nodes.filter(({ subjectId }: { subjectId: string }) => subjectId === id).toReversed()
    const changes = logged.map(({ details }: { details: Record<string, string[]> }) => {
      const { addedUserIds, addedGroupIds, removedUserIds, removedGroupIds } = details
      return [addedUserIds, addedGroupIds, removedUserIds, removedGroupIds]
    })
    t.same(
      changes,
      [
        [[dora.id], [late], [], []],
        [[], [], [ann.id], [late]],
        [[], [], [], []],
        [[], [], [dora.id], []],
      ],
      'the log has who was added and removed, and nobody else',
    )
    await revokeShare(app, maker.token, id)
    t.equal(await change({ addUserIds: [ann.id] }), 'NOT_FOUND')
  })

  t.test('inputs that do not fit are refused', async t => {
    const wrong = [
      { userIds: [ann.id], kind: 'DROP' },
      { userIds: [ann.id], recipients: ['eve@example.org'] },
      { userIds: ['no id'] },
      { userIds: ['3b241101-e2bb-4255-8caf-4136c566a962'] },
      { groupIds: [ann.id] },
      { userIds: [ann.id], emailUsers: true },
      { emailUsers: true },
      { userIds: Array.from({ length: 101 }, (_, n) => `3b241101-e2bb-4255-8caf-4136c566a${100 + n}`) },
    ]
    for (const input of wrong) t.equal(await reasonOf(input), 'INVALID_INPUT', JSON.stringify(input).slice(0, 100))
    t.equal(await reasonOf({ userIds: [ann.id], path: '/other' }), 'OUTSIDE_BASE_PATH')
    t.equal(await reasonOf({ userIds: [], groupIds: [] }), 'OK', 'without people and groups, it is a link')
  })

  t.test('a search finds people and groups, and no programs', async t => {
    await app.ask(
      'mutation { createServiceAccount(input: { name: "annual", role: NONE }) { __typename } }',
      {},
      owner.token,
    )
    await app.ask('mutation { createGroup(input: { name: "Annex_1", role: NONE }) { group { id } } }', {}, owner.token)
    const find = async (search: string, { token } = maker) =>
      (
        await app.ask(
          'query ($search: String!) { shareRecipients(search: $search) { kind name email } }',
          { search },
          token,
        )
      ).shareRecipients
    t.same(await find('ANN'), [
      { kind: 'USER', name: 'ann@example.org', email: 'ann@example.org' },
      { kind: 'GROUP', name: 'Annex_1', email: null },
    ])
    t.match(await find('x_1'), [{ name: 'Annex_1' }], 'a pattern is only text')
    t.same(await find('%nn%'), [])
    t.same(await find('maker@'), [], 'not the person who searches')
    await sql`update members set is_confirmed = false where user_id = ${bob.id}`.execute(app.db)
    t.same(await find('bob'), [], 'nor somebody whom no administrator knows')
    t.equal(await reasonOf({ userIds: [bob.id] }), 'INVALID_INPUT')
  })
})
