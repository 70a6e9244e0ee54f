/** Readings of large directories, the DNs in them, and what wrong passwords count for. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { performance } from 'node:perf_hooks'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { networkOf } from '../../src/auth/network.ts'
import { keyOf, signInRules } from '../../src/services/limits/meters.ts'
import { maxGroupMembers } from '../../src/services/people/groups.ts'
import { dnKey } from '../../src/services/people/ldap/dn.ts'
import type { DirectoryPerson } from '../../src/services/people/ldap/entries.ts'
import { syncDirectory } from '../../src/services/people/ldap/sync.ts'
import { startRanged } from '../servers/ranged-ldap.ts'
import { base, branches, groupEntry, ldapSettings, personEntry, startSlapd } from '../servers/slapd.ts'
import { startApp, type TestApp } from '../support/app.ts'
import { atNight, extent } from '../support/extent.ts'

const people = (uid: string) => `uid=${uid},ou=people,${base}`
const groups = (cn: string) => `cn=${cn},ou=groups,${base}`
const never = new AbortController().signal

t.test('DNs are the same in all spellings', async t => {
  for (const [one, ...others] of [
    [
      'cn=Ann Other,ou=people,dc=x',
      'CN = Ann  Other , OU=People;DC=X',
      'cn=Ann\\20Other,ou=people,dc=x',
      'cn=Ann Other\\ ,ou=people,dc=x',
    ],
    ['cn=Zo\\C3\\AB,dc=x', 'cn=Zoë,dc=x', 'cn=Zoe\u0308,dc=x', 'cn=ZO\\c3\\8B,dc=x'],
    ['cn=a\\,b\\=c,dc=x', 'cn="a,b=c",dc=x', 'cn=a\\2Cb=c,dc=x'],
    ['cn=a+uid=b,dc=x', 'uid=b+cn=a,dc=x', 'UID=B + CN=A,dc=x'],
    ['cn=a\\\\,dc=x', 'cn=a\\5c,dc=x'],
    ['cn=\\#1,dc=x', 'cn=\\231,dc=x'],
  ] as const) {
    for (const other of others) t.equal(dnKey(other), dnKey(one), `${other} is ${one}`)
  }
  const different = [
    'cn=a,dc=b',
    'cn=a\\,dc=b',
    'cn=a',
    'dc=b',
    'cn=a+dc=b',
    'cn=a\\+dc=b',
    'cn=a,dc=b,',
    'cn=ab,dc=b',
    'cn=,dc=b',
    'cn=a b,dc=b',
  ]
  t.equal(new Set(different.map(dnKey)).size, different.length)
  t.equal(dnKey(`cn=${'x'.repeat(5000)}`), null)
})

t.test('a wrong password counts once for the network, and for the person under all of their logins', async t => {
  const server = await startSlapd(t, branches + personEntry('ann'))
  const app = await startApp(t, { settings: { ...ldapSettings(server), signInLimit: 20 } })
  await app.register('owner@example.org')
  const login = 'mutation ($input: LoginInput!) { login(input: $input) { token } }'
  const attempt = async (email: string, password: string) =>
    (await app.graphql(login, { input: { email, password } })).errors[0]?.extensions.reason ?? 'OK'
  const hits = async () => {
    const key = keyOf(signInRules(20).network, networkOf('127.0.0.1'))
    const { rows } = await sql<{ hits: number }>`select hits from rate_limits where key = ${key}`.execute(app.db)
    return rows[0]?.hits
  }
  t.equal(await attempt('ann', 'wrong'), 'WRONG_EMAIL_OR_PASSWORD')
  t.equal(await hits(), 1)
  t.equal(await attempt('ann', 'password of ann'), 'OK')
  t.equal(await hits(), 1, 'one that succeeds does not count')
  t.equal(await attempt('ann', 'wrong'), 'WRONG_EMAIL_OR_PASSWORD')
  t.equal(await attempt('ann@example.com', 'wrong'), 'WRONG_EMAIL_OR_PASSWORD')
  t.equal(await attempt('ann@example.com', 'password of ann'), 'RATE_LIMITED', 'two for one person at this address')
  t.equal(await hits(), 3)
})

/** Counts the requests to a directory. Each is one packet, because Stowage waits for its answer. */
async function startCounter(t: Test, port: number) {
  const counter = { port: 0, requests: 0 }
  const server = createServer(client => {
    const upstream = connect(port, '127.0.0.1')
    for (const socket of [client, upstream]) socket.on('error', () => {})
    client.on('data', () => {
      counter.requests += 1
    })
    client.pipe(upstream).pipe(client)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  counter.port = (server.address() as AddressInfo).port
  return counter
}

/** Makes everybody a member, as their first sign-ins do. */
async function insertMembers({ db }: TestApp, source: string, found: readonly DirectoryPerson[]): Promise<void> {
  const rows = JSON.stringify(found.map(({ subject, email, name }) => ({ subject, email, name })))
  await sql`
    with found as (select * from jsonb_to_recordset(${rows}::jsonb) as found(subject text, email text, name text)),
    added as (insert into users (email, email_key, name) select email, email, name from found returning id, email),
    joined as (
      insert into members (workspace_id, user_id, role, provider_access)
      select workspaces.id, added.id, 'NONE', owner.provider_access from added, workspaces, members as owner
      returning workspace_id, user_id)
    insert into identities (workspace_id, user_id, issuer, subject, email)
    select joined.workspace_id, joined.user_id, ${source}, found.subject, found.email
    from joined join added on added.id = joined.user_id join found on found.email = added.email`.execute(db)
}

/** Adds as many members to a group as it takes, those with the last names. */
async function fill({ db }: TestApp, name: string, source: string): Promise<void> {
  await sql`
    insert into group_members (workspace_id, group_id, user_id, issued_by)
    select groups.workspace_id, groups.id, identities.user_id, ${source}
    from groups, identities where groups.name = ${name}
    order by identities.email desc limit ${maxGroupMembers}`.execute(db)
}

atNight(t, 'a reading of many people searches for no groups of each of them', async t => {
  const count = extent({ gate: 300, nightly: 50_000 })
  const [ofTeam, ofPosix] = [100, 250]
  const uids = Array.from({ length: count }, (_, index) => `p${index}`)
  const teams = Array.from({ length: count / ofTeam }, (_, index) => `Team ${index}`)
  const teamOf = (index: number) => uids.slice(index * ofTeam, (index + 1) * ofTeam).map(people)
  const posix = `dn: ${groups('Posix')}
objectClass: posixGroup
cn: Posix
gidNumber: 1
${uids
  .slice(0, ofPosix)
  .map(uid => `memberUid: ${uid}\n`)
  .join('')}
`
  const server = await startSlapd(
    t,
    branches +
      uids.map(uid => personEntry(uid)).join('') +
      teams.map((team, index) => groupEntry(team, teamOf(index))).join('') +
      // Staff is also in itself.
      groupEntry('Staff', [...teams.map(team => groups(team.toUpperCase())), groups('Staff')]) +
      posix,
  )
  const counter = await startCounter(t, server.port)
  const groupFilter = '(|(objectClass=groupOfNames)(objectClass=posixGroup))'
  const app = await startApp(t, { settings: ldapSettings(server, { port: counter.port, groupFilter }) })
  const owner = await app.register('owner@example.org')
  const { audit, directory } = app.app.services
  if (!directory) throw new Error('There is no directory')
  const sync = () => syncDirectory({ db: app.db, audit, directory }, never)
  const create = 'mutation ($input: CreateGroupInput!) { createGroup(input: $input) { group { id } } }'
  const names = ['staff', 'team 1', 'posix', 'elsewhere']
  for (const name of names) await app.ask(create, { input: { name, role: 'VIEWER' } }, owner.token)

  const found: DirectoryPerson[] = []
  await directory.readAll(
    never,
    () => false,
    async page => void found.push(...page),
  )
  await insertMembers(app, directory.source, found)
  // By night, Staff is full before: everybody else stays out, without a transaction for each of them.
  if (count > maxGroupMembers) await fill(app, 'staff', directory.source)
  counter.requests = 0
  const begin = performance.now()
  t.equal(await sync(), count)
  t.comment(`${count} people in ${Math.round(performance.now() - begin)} ms, ${process.memoryUsage().rss >> 20} MB`)
  const pages = Math.ceil(count / 500) + Math.ceil((teams.length + 2) / 500)
  // A sign-in, two more requests where the last page is full, and the members of each of the groups.
  t.ok(counter.requests <= 3 + pages + teams.length + 2, `${counter.requests} requests for ${count} people`)
  const sizes = async () => {
    const { rows } = await sql<{ name: string; members: number }>`
      select groups.name, count(*)::int as members from group_members join groups on groups.id = group_members.group_id
      where group_members.issued_by = ${directory.source} group by groups.name`.execute(app.db)
    return Object.fromEntries(rows.map(({ name, members }) => [name, members]))
  }
  t.same(await sizes(), { staff: Math.min(count, maxGroupMembers), 'team 1': ofTeam, posix: ofPosix })

  await server.change(`dn: ${groups('Team 1')}
changetype: modify
delete: member
member: ${people('p101')}
member: ${people('p102')}
-
add: member
member: ${people('p0')}
`)
  const updates = async () => {
    await audit.flush()
    const { rows } = await sql<{ count: number }>`
      select count(*)::int from audit_events where action = 'MEMBER_UPDATE'`.execute(app.db)
    return rows[0]?.count ?? 0
  }
  const before = await updates()
  t.equal(await sync(), count)
  t.equal((await updates()) - before, 3, 'nobody else has changed')
  t.equal((await sizes())['team 1'], ofTeam - 1)
})

atNight(t, 'members of a group that the directory sends in ranges, as Active Directory does, are all read', async t => {
  const uids = Array.from({ length: 8 }, (_, index) => `p${index}`)
  const [inner = '', ...others] = uids
  const server = await startSlapd(
    t,
    branches +
      uids.map(uid => personEntry(uid)).join('') +
      // The group within it comes last, in the third range.
      groupEntry('Staff', [...others.map(people), groups('Inner')]) +
      groupEntry('Inner', [people(inner)]),
  )
  const ranged = await startRanged(t, server, 3)
  const app = await startApp(t, { settings: ldapSettings(server, { port: ranged.port }) })
  const owner = await app.register('owner@example.org')
  const { audit, directory } = app.app.services
  if (!directory) throw new Error('There is no directory')
  const create = 'mutation { createGroup(input: { name: "Staff", role: VIEWER }) { group { id } } }'
  await app.ask(create, {}, owner.token)
  const found: DirectoryPerson[] = []
  await directory.readAll(
    never,
    () => false,
    async page => void found.push(...page),
  )
  await insertMembers(app, directory.source, found)
  t.equal(await syncDirectory({ db: app.db, audit, directory }, never), uids.length)
  t.same(ranged.sent, ['member;range=0-2', 'member;range=3-5', 'member;range=6-*'])
  const { rows } = await sql<{ members: number }>`
    select count(*)::int as members from group_members where issued_by = ${directory.source}`.execute(app.db)
  t.same(rows, [{ members: uids.length }])
  const login = 'mutation ($input: LoginInput!) { login(input: $input) { user { groups { name } } } }'
  const input = { email: 'p7', password: 'password of p7' }
  t.same((await app.ask(login, { input })).login.user.groups, [{ name: 'Staff' }])
})
