/** Sign-ins with the passwords of a real LDAP directory, and readings of it. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import tls from 'node:tls'
import { TOTP } from 'otpauth'
import t, { type Test } from 'tap'
import { syncDirectory } from '../../src/services/people/ldap/sync.ts'
import { base, branches, groupEntry, ldapSettings, personEntry, startSlapd } from '../servers/slapd.ts'
import { startApp, type TestApp, type TestAppOptions } from '../support/app.ts'
import { password } from '../support/client.ts'
import { atNight } from '../support/extent.ts'
import { freePort } from '../support/free-port.ts'

const login = 'mutation ($input: LoginInput!) { login(input: $input) { token user { id email name } } }'
const me = '{ me { id email name groups { name } effectiveRole } }'
const users = '{ users { nodes { email name deactivatedAt directory groups { name } issuedGroupIds } } }'
const people = (uid: string) => `uid=${uid},ou=people,${base}`
const groups = (cn: string) => `cn=${cn},ou=groups,${base}`

/** Passes on the first answer of each connection, which is that to the bind. Then it closes the connection, or says nothing more. */
async function startRelay(t: Test, port: number, then: 'close' | 'stall', onSecond = () => {}) {
  const open = new Set<Socket>()
  const relay = createServer(client => {
    const upstream = connect(port, '127.0.0.1')
    let answers = 0
    for (const socket of [client, upstream]) {
      open.add(socket)
      socket.on('error', () => {}).on('close', () => [client, upstream].map(each => each.destroy()))
    }
    client.on('data', chunk => upstream.write(chunk))
    upstream.on('data', chunk => {
      answers += 1
      if (answers > 1) onSecond()
      else if (then === 'close') client.end(chunk)
      else client.write(chunk)
    })
  }).listen(0, '127.0.0.1')
  await once(relay, 'listening')
  t.teardown(() => {
    for (const socket of open) socket.destroy()
    relay.close()
  })
  return (relay.address() as AddressInfo).port
}

async function setUp(t: Test, ldif: string, options: TestAppOptions = {}) {
  const server = await startSlapd(t, branches + ldif)
  const app = await startApp(t, { settings: ldapSettings(server), ...options })
  const owner = await app.register('owner@example.org')
  await app.ask('mutation { updateWorkspace(input: { registration: INVITE }) { id } }', {}, owner.token)
  return {
    server,
    app,
    owner,
    signIn: (email: string, password: string, at: TestApp = app) =>
      at.graphql(login, { input: { email, password } }).then(({ data, errors }) => ({
        reason: errors[0]?.extensions.reason ?? 'OK',
        message: errors[0]?.message ?? '',
        ...data?.login,
      })),
    group: async (name: string, role: string) =>
      (
        await app.ask(
          'mutation ($input: CreateGroupInput!) { createGroup(input: $input) { group { id } } }',
          { input: { name, role } },
          owner.token,
        )
      ).createGroup.group.id as string,
    sync: () => {
      const { audit, directory } = app.app.services
      if (!directory) throw new Error('There is no directory')
      return syncDirectory({ db: app.db, audit, directory }, new AbortController().signal)
    },
    listed: async () =>
      new Map((await app.ask(users, {}, owner.token)).users.nodes.map((node: { email: string }) => [node.email, node])),
  }
}

t.test('people sign in with their name or address and the password of the directory', async t => {
  const ldif =
    ['ann', 'bob', 'owner']
      .map(uid => personEntry(uid, uid === 'owner' ? { mail: 'owner@example.org' } : {}))
      .join('') +
    // Staff contains Writers, which contains Ann, and Staff again.
    groupEntry('Writers', [people('ann'), groups('Staff')]) +
    groupEntry('Staff', [groups('Writers')]) +
    groupEntry('Admins', [people('bob')])
  const { app, owner, signIn, group } = await setUp(t, ldif)
  await group('staff', 'EDITOR')
  await group('Admins', 'ADMIN')

  const first = await signIn('ann', 'password of ann')
  t.match(first, { reason: 'OK', user: { email: 'ann@example.com', name: 'ann' } })
  t.match(await app.ask(me, {}, first.token), { me: { groups: [{ name: 'staff' }], effectiveRole: 'EDITOR' } })
  const second = await signIn('ANN@example.com', 'password of ann')
  t.equal(second.user.id, first.user.id, 'one account for both')

  for (const [email, password] of [
    ['ann', 'wrong'],
    ['ann', ''],
    ['nobody', 'password of ann'],
    ['', 'password of ann'],
    ['*', 'password of ann'],
    ['a*', 'password of ann'],
    ['ann)(uid=*', 'password of ann'],
    ['*)(objectClass=*', 'password of ann'],
    ['x)(|(uid=ann', 'password of ann'],
    ['ann\\00', 'password of ann'],
    ['ann\0', 'password of ann'],
    [people('ann'), 'password of ann'],
  ] as const) {
    t.equal((await signIn(email, password)).reason, 'WRONG_EMAIL_OR_PASSWORD', `${email} / ${password}`)
  }
  t.equal((await signIn('x'.repeat(10_000), 'password of ann')).reason, 'INVALID_INPUT')

  const { message, reason } = await signIn('owner', 'password of owner')
  t.equal(reason, 'NOT_LINKED', 'an address finds no account')
  t.match(message, 'belongs to another account')
  t.equal((await signIn('owner@example.org', 'password of owner')).reason, 'WRONG_EMAIL_OR_PASSWORD', 'only its own')
  t.equal((await signIn('owner@example.org', password)).reason, 'OK', 'a password of this server stays')

  const reset = 'mutation ($userId: ID!) { createPasswordReset(userId: $userId) { token } }'
  const { errors } = await app.graphql(reset, { userId: first.user.id }, owner.token)
  t.match(errors, [{ extensions: { reason: 'INVALID_INPUT' } }], 'no second password')
  await app.ask('mutation ($id: ID!) { deactivateMember(userId: $id) { id } }', { id: first.user.id }, owner.token)
  t.equal((await signIn('ann', 'password of ann')).reason, 'ACCOUNT_DEACTIVATED')
  await app.ask('mutation { updateWorkspace(input: { registration: CLOSED }) { id } }', {}, owner.token)
  t.equal((await signIn('bob', 'password of bob')).reason, 'NOT_LINKED', 'no new accounts')

  await app.app.services.audit.flush()
  const events = `{ auditEvents(filter: { action: LOGIN, result: "OK" }) { nodes { userEmail address details } } }`
  t.match(
    (await app.ask(events, {}, owner.token)).auditEvents.nodes.find(
      ({ userEmail }: { userEmail: string }) => userEmail === 'ann@example.com',
    ),
    { address: '127.0.0.1', details: { source: `ldap:${base}` } },
  )
  t.notMatch(app.logged(), /password of|admin,dc/)
})

atNight(t, 'names with special characters are data', async t => {
  const odd = 'Zoë, "R&D" (*) #1+\\'
  const entry = `dn:: ${Buffer.from(`uid=zoe,ou=people,${base}`).toString('base64')}
objectClass: inetOrgPerson
uid: zoe
cn:: ${Buffer.from(odd).toString('base64')}
sn: zoe
mail: zoe@example.com
userPassword: password of zoe

`
  const strange = `dn:: ${Buffer.from(`cn=Zo\\C3\\AB\\, (*) \\\\ \\#1,ou=people,${base}`).toString('base64')}
objectClass: inetOrgPerson
cn:: ${Buffer.from('Zoë, (*) \\ #1').toString('base64')}
sn: strange
uid: strange
mail: strange@example.com
userPassword: password of strange

`
  const { app, signIn, group } = await setUp(
    t,
    entry + strange + groupEntry('Odd', [`cn=Zo\\C3\\AB\\, (*) \\\\ \\#1,ou=people,${base}`]),
  )
  await group('Odd', 'VIEWER')
  t.match(await signIn('zoe', 'password of zoe'), { reason: 'OK', user: { name: odd } })
  const { token } = await signIn('strange', 'password of strange')
  t.match(await app.ask(me, {}, token), { me: { name: 'Zoë, (*) \\ #1', groups: [{ name: 'Odd' }] } })
})

atNight(t, 'a reading deactivates those who have gone, and follows names, addresses and groups', async t => {
  const uids = ['ann', 'bob', 'cid', 'dan', 'eve', 'fay']
  const ldif = uids.map(uid => personEntry(uid)).join('') + groupEntry('Writers', [people('ann'), people('bob')])
  const { app, owner, server, signIn, group, sync, listed } = await setUp(t, ldif)
  const writers = await group('Writers', 'EDITOR')
  const sessions = new Map<string, string>()
  for (const uid of uids) sessions.set(uid, (await signIn(uid, `password of ${uid}`)).token)
  const eve = await app.ask(me, {}, sessions.get('eve'))
  const promote = { userId: eve.me.id, role: 'OWNER' }
  await app.ask(
    'mutation ($input: UpdateMemberInput!) { updateMember(input: $input) { id } }',
    { input: promote },
    owner.token,
  )
  t.equal(await sync(), 6)
  t.match((await listed()).get('ann@example.com'), {
    directory: 'LDAP',
    deactivatedAt: null,
    issuedGroupIds: [writers],
  })

  await server.change(`dn: ${people('ann')}
changetype: modify
replace: cn
cn: Ann Other
-
replace: mail
mail: ann.other@example.com

dn: ${people('cid')}
changetype: modify
replace: mail
mail: owner@example.org

dn: ${groups('Writers')}
changetype: modify
replace: member
member: ${people('cid')}

dn: ${people('bob')}
changetype: delete

dn: ${people('eve')}
changetype: delete
`)
  t.equal(await sync(), 4)
  const after = await listed()
  t.match(after.get('ann.other@example.com'), { name: 'Ann Other', groups: [], deactivatedAt: null })
  t.match(
    after.get('cid@example.com'),
    { groups: [{ name: 'Writers' }] },
    'keeps its address, which another account has',
  )
  t.match(after.get('bob@example.com'), { deactivatedAt: String })
  t.match(after.get('eve@example.com'), { deactivatedAt: null }, 'an owner')
  t.equal((await app.graphql(me, {}, sessions.get('bob'))).status, 401)
  t.equal((await app.graphql(me, {}, sessions.get('ann'))).status, 200)
  t.equal((await signIn('bob', 'password of bob')).reason, 'WRONG_EMAIL_OR_PASSWORD')
  await app.app.services.audit.flush()
  const events = '{ auditEvents(filter: { action: MEMBER_DEACTIVATE }) { nodes { userId address details } } }'
  const found = (await app.ask(events, {}, owner.token)).auditEvents.nodes
  t.match(found, [{ userId: null, address: '', details: { source: `ldap:${base}`, email: 'bob@example.com' } }])

  // Too many are missing: a fault of the directory, and not their end.
  await server.change(['cid', 'dan', 'fay'].map(uid => `dn: ${people(uid)}\nchangetype: delete\n`).join('\n'))
  await t.rejects(sync(), /misses 3 of 4 members/)
  t.match((await listed()).get('dan@example.com'), { deactivatedAt: null })
  await server.change(`dn: ${people('ann')}\nchangetype: delete\n`)
  await t.rejects(sync(), /misses 4 of 4/)

  await server.stop()
  await t.rejects(sync(), { message: /does not respond/ })
  t.match((await listed()).get('dan@example.com'), { deactivatedAt: null })
  t.equal((await signIn('dan', 'password of dan')).reason, 'UNAVAILABLE')
  t.equal((await signIn('owner@example.org', password)).reason, 'OK', 'others sign in')
})

atNight(t, 'who is found again is active again, unless an administrator has deactivated them', async t => {
  const { app, owner, server, signIn, sync, listed } = await setUp(
    t,
    ['ann', 'bob', 'cid'].map(uid => personEntry(uid)).join(''),
  )
  const ids = new Map<string, string>()
  for (const uid of ['ann', 'bob', 'cid']) ids.set(uid, (await signIn(uid, `password of ${uid}`)).user.id)
  // The filter of people does not find them for a while, and their entries and ids stay.
  const hide = (uid: string, isHidden: boolean) =>
    server.change(
      `dn: ${people(uid)}\nchangetype: modify\nreplace: uid\nuid: ${uid}\n-\n${isHidden ? `delete: mail` : `add: mail\nmail: ${uid}@example.com`}\n`,
    )
  const narrow = await app.replica({
    settings: ldapSettings(server, { filter: '(&(mail=*)(uid={login}))' }),
  })
  const { audit, directory } = narrow.app.services
  const syncNarrow = () =>
    syncDirectory({ db: app.db, audit, directory: directory as never }, new AbortController().signal)
  await app.ask('mutation ($id: ID!) { deactivateMember(userId: $id) { id } }', { id: ids.get('cid') }, owner.token)
  await hide('ann', true)
  await hide('bob', true)
  t.equal(await syncNarrow(), 1)
  t.match((await listed()).get('ann@example.com'), { deactivatedAt: String })
  t.equal(await sync(), 3)
  t.match((await listed()).get('ann@example.com'), { deactivatedAt: null })
  t.match((await listed()).get('cid@example.com'), { deactivatedAt: String }, 'by an administrator')
  t.equal(await syncNarrow(), 1)
  t.match(await signIn('ann', 'password of ann'), { reason: 'OK' }, 'a sign-in does the same')
})

atNight(t, 'a reading leaves alone who gets an account, or signs in, while it runs', async t => {
  const { app, server, signIn, listed } = await setUp(t, ['ann', 'bob', 'cid'].map(uid => personEntry(uid)).join(''))
  for (const uid of ['ann', 'bob', 'cid']) await signIn(uid, `password of ${uid}`)
  const { audit, directory } = app.app.services
  if (!directory) throw new Error('There is no directory')
  const later: typeof directory = {
    ...directory,
    async readAll(signal, isWanted, work) {
      await server.change(['bob', 'cid'].map(uid => `dn: ${people(uid)}\nchangetype: delete\n`).join('\n'))
      await directory.readAll(signal, isWanted, work)
      await server.change((personEntry('dan') + personEntry('bob')).replaceAll(/^dn: .*$/gm, '$&\nchangetype: add'))
      t.equal((await signIn('dan', 'password of dan')).reason, 'OK')
    },
  }
  await syncDirectory({ db: app.db, audit, directory: later }, new AbortController().signal)
  const found = await listed()
  t.match(found.get('dan@example.com'), { deactivatedAt: null }, 'an account that is made meanwhile')
  t.match(found.get('ann@example.com'), { deactivatedAt: null })
  t.match(found.get('cid@example.com'), { deactivatedAt: String }, 'who has gone')

  const { token } = await signIn('ann', 'password of ann')
  const { identities } = await app.ask('{ identities { id } }', {}, token)
  const { errors } = await app.graphql(
    'mutation ($id: ID!) { unlinkIdentity(id: $id) }',
    { id: identities[0].id },
    token,
  )
  t.match(errors, [{ message: /directory manages/ }], 'nobody escapes the directory')
})

atNight(t, 'an address that LDAP and SCIM claim stays with the account that has it', async t => {
  const { app, owner, server, signIn, sync, listed } = await setUp(
    t,
    ['ann', 'bob'].map(uid => personEntry(uid)).join(''),
  )
  const create = 'mutation { createScimToken(input: { name: "Entra" }) { token } }'
  const { token } = (await app.ask(create, {}, owner.token)).createScimToken
  const provision = async (userName: string) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/scim+json' }
    const body = JSON.stringify({ userName })
    const response = await app.request('/scim/v2/Users', { method: 'POST', headers, body })
    return { status: response.status, detail: (await response.json()).detail }
  }
  t.match(await provision('ann@example.com'), { status: 201 })
  const refused = await signIn('ann', 'password of ann')
  t.match(refused, { reason: 'NOT_LINKED', message: /belongs to an account of another directory/ })
  t.match(await signIn('bob', 'password of bob'), { reason: 'OK' })
  t.match(await provision('BOB@example.com'), { status: 409, detail: /of the LDAP directory: take this person out/ })

  t.comment('A reading does not take it either')
  await server.change(`dn: ${people('bob')}\nchangetype: modify\nreplace: mail\nmail: ann@example.com\n`)
  await sync()
  const after = await listed()
  t.match(after.get('bob@example.com'), { directory: 'LDAP' })
  t.match(after.get('ann@example.com'), { directory: 'SCIM' })
})

t.test('StartTLS and LDAPS require a trusted certificate', async t => {
  const server = await startSlapd(t, branches + personEntry('ann'))
  const secure = { starttls: { security: 'STARTTLS' }, ldaps: { security: 'LDAPS', port: server.tlsPort } } as const
  const app = await startApp(t, { settings: ldapSettings(server, secure.starttls) })
  const replica = await app.replica({ settings: ldapSettings(server, secure.ldaps) })
  await app.register('owner@example.org')
  const reasonAt = async (at: TestApp) =>
    (await at.graphql(login, { input: { email: 'ann', password: 'password of ann' } })).errors[0]?.extensions.reason
  t.same([await reasonAt(app), await reasonAt(replica)], ['UNAVAILABLE', 'UNAVAILABLE'])
  const before = tls.getCACertificates('default')
  t.teardown(() => tls.setDefaultCACertificates(before))
  tls.setDefaultCACertificates([...before, server.cert])
  t.same([await reasonAt(app), await reasonAt(replica)], [undefined, undefined])
  const closed = await app.replica({ settings: { ...ldapSettings(server), deniedNetworks: ['127.0.0.0/8'] } })
  t.equal(await reasonAt(closed), 'UNAVAILABLE', 'the network rules apply')
  const nowhere = await app.replica({ settings: ldapSettings(server, { port: await freePort() }) })
  t.equal(await reasonAt(nowhere), 'UNAVAILABLE')
})

atNight(t, 'the password of the directory is one factor of two', async t => {
  const { app, signIn } = await setUp(t, personEntry('ann'))
  const { token } = await signIn('ann', 'password of ann')
  const { totpSetup } = await app.ask('{ totpSetup { secret ticket } }', {}, token)
  const add = 'mutation ($input: AddTotpInput!) { addTotp(input: $input) { recoveryCodes } }'
  const code = new TOTP({ secret: totpSetup.secret }).generate()
  const { addTotp } = await app.ask(add, { input: { ticket: totpSetup.ticket, code } }, token)
  const { data, errors } = await app.graphql(login, { input: { email: 'ann', password: 'password of ann' } })
  t.equal(data, null)
  t.match(errors, [{ extensions: { reason: 'SECOND_FACTOR_REQUIRED', methods: ['TOTP', 'RECOVERY_CODE'] } }])
  const complete = 'mutation ($input: CompleteLoginInput!) { completeLogin(input: $input) { token } }'
  const input = { challenge: errors[0]?.extensions.challenge, recoveryCode: addTotp.recoveryCodes[0] }
  const { completeLogin } = await app.ask(complete, { input })
  t.match(await app.ask('{ sessions { factors } }', {}, completeLogin.token), {
    sessions: [{ factors: ['PASSWORD', 'RECOVERY_CODE'] }, { factors: ['PASSWORD', 'TOTP'] }],
  })
})

atNight(t, 'a directory that closes its connections, or says nothing more, keeps nobody waiting', async t => {
  const { app, server } = await setUp(t, personEntry('ann'))
  const at = async (port: number) => {
    const { app: replica, graphql } = await app.replica({ settings: ldapSettings(server, { port }) })
    const { audit, directory } = replica.services
    if (!directory) throw new Error('There is no directory')
    const sync = (signal: AbortSignal) => syncDirectory({ db: app.db, audit, directory }, signal)
    return { sync, graphql }
  }
  const never = new AbortController().signal
  const closing = await at(await startRelay(t, server.port, 'close'))
  await t.rejects(closing.sync(never), { message: /does not respond/ })
  const input = { email: 'ann', password: 'password of ann' }
  t.match((await closing.graphql(login, { input })).errors, [{ extensions: { reason: 'UNAVAILABLE' } }])

  const { promise: stalled, resolve } = Promise.withResolvers<void>()
  const silent = await at(await startRelay(t, server.port, 'stall', resolve))
  const stop = new AbortController()
  const sync = silent.sync(stop.signal)
  await Promise.race([stalled, sync])
  stop.abort(new Error('The server ends.'))
  await t.rejects(sync, { message: 'The server ends.' })
})
