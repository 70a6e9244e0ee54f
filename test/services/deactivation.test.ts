/** Members who are deactivated: what they own stays, and nothing of it works until they are reactivated. */
import t from 'tap'
import { startApp } from '../support/app.ts'
import { password } from '../support/client.ts'
import { makeShare, ask as openShare } from '../support/shares.ts'

const invite = 'mutation ($input: CreateInviteInput!) { createInvite(input: $input) { invite } }'
const deactivate = 'mutation ($id: ID!) { deactivateMember(userId: $id) { id deactivatedAt } }'
const reactivate = 'mutation ($id: ID!) { reactivateMember(userId: $id) { id deactivatedAt } }'
const update = 'mutation ($input: UpdateMemberInput!) { updateMember(input: $input) { id } }'
const login = 'mutation ($input: LoginInput!) { login(input: $input) { token } }'

t.test('deactivation', async t => {
  const app = await startApp(t)
  const owner = await app.register('owner@example.org')
  const providerId = await app.connectProvider(owner.token, 'local', { root: app.folder })
  const join = async (email: string, role: string) => {
    const { createInvite } = await app.ask(invite, { input: { role } }, owner.token)
    return app.register(email, { invite: createInvite.invite })
  }
  const reason = async (query: string, variables: object, token?: string) =>
    (await app.graphql(query, { ...variables }, token)).errors[0]?.extensions.reason ?? 'OK'
  const admin = await join('admin@example.org', 'ADMIN')

  await t.test('ends sessions, refuses keys, links and sign-ins, and keeps everything', async t => {
    const ann = await join('ann@example.org', 'EDITOR')
    const { key } = await app.createKey(ann.token, { name: 'key', scopes: ['read'] })
    await app.upload(ann.token, providerId, '/file', 'x')
    const { link } = await makeShare(app, ann.token, { providerId, path: '/file', kind: 'VIEW' })
    const before = await openShare(app, link)
    t.equal(before.status, 200)
    const input = { email: 'ann@example.org', password }
    t.match(await app.ask(deactivate, { id: ann.id }, admin.token), { deactivateMember: { deactivatedAt: String } })
    t.equal(await reason('{ me { id } }', {}, ann.token), 'SESSION_ENDED')
    t.equal((await app.download(key, providerId, '/file')).status, 401)
    t.equal((await openShare(app, link)).status, 401)
    t.equal(await reason(login, { input }), 'ACCOUNT_DEACTIVATED')
    t.equal(await reason(login, { input: { ...input, password: 'a wrong password' } }), 'WRONG_EMAIL_OR_PASSWORD')
    t.match(await app.ask('{ users { nodes { email deactivatedAt } } }', {}, owner.token), {
      users: {
        nodes: [{ deactivatedAt: null }, { deactivatedAt: null }, { email: 'ann@example.org', deactivatedAt: String }],
      },
    })
    await app.ask(reactivate, { id: ann.id }, admin.token)
    t.equal((await app.download(key, providerId, '/file')).status, 200)
    t.equal((await openShare(app, link)).status, 200)
    t.equal(await reason('{ me { id } }', {}, ann.token), 'SESSION_ENDED', 'sessions do not come back')
    t.equal(await reason(login, { input }), 'OK')
  })

  await t.test('an invite of somebody who is deactivated registers nobody', async t => {
    const maker = await join('maker@example.org', 'ADMIN')
    const { createInvite } = await app.ask(invite, { input: { role: 'VIEWER' } }, maker.token)
    await app.ask(deactivate, { id: maker.id }, owner.token)
    const register = 'mutation ($input: RegisterInput!) { register(input: $input) { token } }'
    const input = { email: 'guest@example.org', password, invite: createInvite.invite }
    t.equal(await reason(register, { input }), 'INVALID_INVITE')
  })

  await t.test('nobody deactivates themselves, an owner without being one, or the last owner', async t => {
    t.equal(await reason(deactivate, { id: owner.id }, owner.token), 'OWN_MEMBERSHIP')
    t.equal(await reason(deactivate, { id: owner.id }, admin.token), 'EXCEEDS_OWN_REACH')
    const second = await join('second@example.org', 'OWNER')
    await app.ask(deactivate, { id: second.id }, owner.token)
    t.equal(await reason(reactivate, { id: second.id }, admin.token), 'EXCEEDS_OWN_REACH', 'they remain an owner')
    const remove = 'mutation ($id: ID!) { removeMember(userId: $id) }'
    t.equal(await reason(remove, { id: owner.id }, owner.token), 'LAST_OWNER', 'an inactive owner does not count')
    const next = { userId: second.id, role: 'ADMIN' }
    t.equal(await reason(update, { input: next }, owner.token), 'OK', 'an inactive owner is not the last one')
  })
})
