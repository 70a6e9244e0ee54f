/** `stowage apply`: as a program once, then in this process, because each start of a program takes seconds. */
import { randomBytes } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import t, { type Test } from 'tap'
import { readSettings } from '../src/settings/index.ts'
import type { Step } from '../src/start/apply/context.ts'
import { apply } from '../src/start/apply/index.ts'
import { testDatabase } from './servers/postgres.ts'
import { client } from './support/client.ts'
import { atNight, isNight } from './support/extent.ts'
import { main, runProgram, startProgram, temporaryFolder } from './support/program.ts'

// Each run of the program takes seconds of the processor.
t.setTimeout(300_000)

const secret = 'a secret that only this test has'
const password = 'correct horse battery staple'

async function setUp(t: Test) {
  const { connectionString } = await testDatabase(t)
  const folder = await temporaryFolder(t)
  await mkdir(join(folder, 'team/reports'), { recursive: true })
  const environment = {
    DATABASE_URL: connectionString,
    STOWAGE_SECRET: secret,
    STOWAGE_SETUP_CODE: 'a code of the setup',
    STOWAGE_DATA: join(folder, 'data'),
    STOWAGE_LOCAL_ROOTS: join(folder, 'team'),
    PORT: '0',
  }
  const secrets = {
    password,
    key: `stw_${randomBytes(20).toString('hex')}`,
    hook: `whsec_${randomBytes(32).toString('base64')}`,
    client: randomBytes(32).toString('base64url'),
  }
  for (const [name, value] of Object.entries(secrets)) await writeFile(join(folder, name), `${value}\n`)
  const file = join(folder, 'stowage.yaml')
  return {
    folder,
    environment,
    secrets,
    /** Runs the program. */
    async run(yaml: string, ...options: string[]) {
      await writeFile(file, yaml)
      const command = [process.execPath, main, 'apply', ...options, file]
      return runProgram({ environment, command: command as [string, ...string[]] })
    },
    /** Resolves with the lines that the program would print. */
    async apply(yaml: string, options: { planOnly?: boolean } = {}): Promise<string[]> {
      await writeFile(file, yaml)
      const lines: string[] = []
      await apply(readSettings(environment), file, {
        planOnly: options.planOnly ?? false,
        onPlan: steps => lines.push(...steps.map(line)),
        onDone: ({ subject }) => lines.push(`done: ${subject}`),
      })
      for (const value of Object.values(secrets)) t.notOk(lines.join().includes(value), 'no secret is printed')
      return lines
    },
  }
}

const plan = { planOnly: true }
const signs = { CREATE: '+', CHANGE: '~', DRIFT: '!' } as const
const line = ({ kind, subject, details }: Step) => `${signs[kind]} ${subject}: ${details}`

const declaration = (folder: string) => `
owner: { email: owner@example.org, passwordFile: ${folder}/password }
workspace: { name: Example, registration: OPEN, scannedUploads: [SESSIONS, DROP_LINKS] }
providers:
  - { name: Team disk, type: local, trashDays: 7, versionDays: 9, config: { root: ${folder}/team } }
access:
  reports: { Team disk: /reports }
  folders: { Team disk: [/reports, /plans] }
members:
  - { email: owner@example.org, role: OWNER }
  - { email: ann@example.org, role: EDITOR, access: folders }
keys:
  - { name: backup, owner: owner@example.org, scopes: [write], access: reports, file: ${folder}/key }
issuers:
  - { name: Work, issuer: https://id.example.org, clientId: stowage, secretFile: ${folder}/client, domains: [Example.org], prompt: LOGIN }
webhooks:
  - name: Index
    url: http://127.0.0.1:1/hook
    events: [FILE_UPLOADED]
    location: { provider: Team disk, path: /reports }
    secretFile: ${folder}/hook
`

t.test('a workspace is made from a file, and stays as it is declared', async t => {
  const { folder, environment, secrets, run, apply } = await setUp(t)
  const yaml = declaration(folder)
  if (isNight) {
    const first = await run(yaml, '--plan')
    t.match(first, { status: 3, stdout: /^\+ owner: owner@example\.org\n$/, stderr: '' })
  }
  const created = await run(yaml)
  t.match(created, { status: 0, stderr: '' })
  for (const value of Object.values(secrets)) t.notOk(created.stdout.includes(value), 'no secret is printed')
  for (const line of [
    /^\+ owner: owner@example\.org$/m,
    /^~ workspace: name -> "Example", uploads scanned of DROP_LINKS, SESSIONS$/m,
    /^\+ storage "Team disk": of the type local$/m,
    /^! member ann@example\.org: has no account/m,
    /^\+ key "backup" of owner@example\.org: with the scopes write$/m,
    /^\+ issuer "Work": at https:\/\/id\.example\.org$/m,
    /^\+ webhook "Index": to 127\.0\.0\.1:1$/m,
    /^done: webhook "Index"$/m,
  ])
    t.match(created.stdout, line)
  t.match(await apply(yaml, plan), [/^! member ann@example\.org: has no account/])

  const server = await startProgram(t, { environment })
  const api = client(server.url)
  const login = 'mutation ($input: LoginInput!) { login(input: $input) { token } }'
  const { token } = (await api.ask(login, { input: { email: 'owner@example.org', password } })).login
  const { providers, workspace, webhooks } = await api.ask(
    '{ providers { id name status trashDays versionCount versionDays } workspace { name scannedUploads } webhooks { id name location { path } } }',
    {},
    token,
  )
  t.match(
    { providers, workspace, webhooks },
    {
      providers: [{ name: 'Team disk', status: 'CONNECTED', trashDays: 7, versionCount: null, versionDays: 9 }],
      workspace: { name: 'Example', scannedUploads: ['DROP_LINKS', 'SESSIONS'] },
      webhooks: [{ name: 'Index', location: { path: '/reports' } }],
    },
  )
  const { viewer } = await api.ask(
    '{ viewer { scopes providerAccess { all restrictions { basePath } } } }',
    {},
    secrets.key,
  )
  t.same(viewer, {
    scopes: ['read', 'write'],
    providerAccess: { all: false, restrictions: [{ basePath: '/reports' }] },
  })

  await t.test('differences are found and corrected beside a running server', async t => {
    const ann = await api.register('ann@example.org')
    await api.connectProvider(token, 'memory', {}, 'Beside')
    const change = (name: string, input: object) =>
      api.ask(
        `mutation ($input: ${name[0]?.toUpperCase()}${name.slice(1)}Input!) { ${name}(input: $input) { __typename } }`,
        { input },
        token,
      )
    await change('updateWebhook', { id: webhooks[0].id, url: 'http://127.0.0.1:2/', events: ['ENTRY_DELETED'] })
    await api.ask('mutation ($id: ID!) { rotateWebhookSecret(id: $id) { secret } }', { id: webhooks[0].id }, token)
    const [issuer] = (await api.ask('{ issuers { id domains } }', {}, token)).issuers
    t.same(issuer.domains, ['example.org'])
    await change('updateIssuer', {
      id: issuer.id,
      clientId: 'other',
      clientSecret: 'other',
      prompt: 'DEFAULT',
      maxAgeMinutes: 5,
      enabled: false,
    })
    await change('updateWorkspace', { name: 'Renamed', registration: 'CLOSED' })
    const stranger = /^! member ann@example\.org: registered without an invite.*"updateMember"/m
    t.match((await apply(yaml, plan)).join('\n'), stranger)
    const keyOfStranger = `${yaml}`.replace('name: backup, owner: owner@', 'name: backup, owner: ann@')
    t.match((await apply(keyOfStranger, plan)).join('\n'), /^! key "backup" of ann.*: its owner registered without/m)
    await change('updateMember', { userId: ann.id, role: 'NONE' })
    const expected = [
      '~ workspace: name -> "Example", registration CLOSED -> OPEN',
      '! storage "Beside": is not declared',
      '~ member ann@example.org: role NONE -> EDITOR, access',
      '~ issuer "Work": clientId, secret, prompt, maxAgeMinutes, enabled',
      '~ webhook "Index": url, events',
      '~ webhook "Index": secret',
    ]
    t.same(await apply(yaml, plan), expected)
    t.equal((await apply(yaml)).filter(done => done.startsWith('done: ')).length, 5)
    // Each of the many runs that follow takes a second.
    t.same(await apply(yaml, plan), ['! storage "Beside": is not declared'])
    if (!isNight) return
    t.match(await run(yaml, '--plan'), { status: 0, stdout: '! storage "Beside": is not declared\n' })

    t.comment('A stored secret that cannot be decrypted any more is stored again')
    const database = new pg.Client({ connectionString: environment.DATABASE_URL })
    await database.connect()
    await database.query('update issuers set secret = $1', [Buffer.from('damaged')])
    await database.end()
    t.ok((await apply(yaml)).includes('done: issuer "Work"'))
    t.same(await apply(yaml, plan), ['! storage "Beside": is not declared'])
    const query = '{ viewer { scopes providerAccess { restrictions { basePath } } } }'
    t.match(await api.ask(query, {}, ann.token), {
      viewer: {
        scopes: ['read', 'write'],
        providerAccess: { restrictions: [{ basePath: '/plans' }, { basePath: '/reports' }] },
      },
    })
    const moved = yaml.replace(`root: ${folder}/team`, `root: ${folder}/team/reports`)
    t.ok((await apply(moved, plan)).includes('~ storage "Team disk": root'))
    const slugged = yaml.replace('type: local, trashDays: 7', 'slug: disk, type: local, trashDays: 0, versionCount: 5')
    t.ok((await apply(slugged)).includes('~ storage "Team disk": slug, trashDays, versionCount'))
    t.notMatch((await apply(slugged, plan)).join(), 'Team disk', 'a storage that is as declared')
    const { providers: stored } = await api.ask('{ providers { slug trashDays versionCount versionDays } }', {}, token)
    t.match(stored[0], { slug: 'disk', trashDays: 0, versionCount: 5, versionDays: 9 })
    const other = yaml.replace('scopes: [write]', 'scopes: [read]')
    t.match((await apply(other, plan)).join('\n'), /^! key "backup" .*: has other scopes: revoke it first$/m)
    const audit = '{ auditEvents(filter: { action: MEMBER_UPDATE }) { nodes { requestId userEmail } } }'
    t.match((await api.ask(audit, {}, token)).auditEvents.nodes[0], {
      requestId: 'apply',
      userEmail: 'owner@example.org',
    })

    const twin = `stw_${secrets.key.slice(4, 12)}${randomBytes(16).toString('hex')}`
    await writeFile(join(folder, 'key'), twin)
    t.match((await apply(yaml, plan)).join('\n'), /^! key "backup" .*: has another value: revoke it first$/m)
    await writeFile(join(folder, 'key'), secrets.key)
    await api.createKey(token, { name: 'backup', scopes: ['read'] })
    await t.rejects(apply(yaml, plan), { name: 'StartError', message: /Two keys of owner@.* have the name "backup"/ })
    await api.connectProvider(token, 'memory', {}, 'Team disk')
    for (const named of [yaml, yaml.replace(/^providers:\n.*\n/m, '')])
      await t.rejects(apply(named, plan), { name: 'StartError', message: /Two storages have the name "Team disk"/ })
  })
})

atNight(t, 'quotas are set and corrected, and those that are not declared stay', async t => {
  const { folder, apply } = await setUp(t)
  const yaml = (quotas: string) => `
owner: { email: owner@example.org, passwordFile: ${folder}/password }
providers:
  - { name: Team disk, type: local, config: { root: ${folder}/team } }
quotas: ${quotas}
`
  const all =
    '[{ provider: Team disk, bytes: 100 }, { provider: Team disk, path: /reports, files: 5 }, { member: owner@example.org, bytes: 7 }]'
  t.match(await apply(yaml(all)), [
    '+ owner: owner@example.org',
    '+ storage "Team disk": of the type local',
    '+ quota of "Team disk:/": bytes -> 100',
    '+ quota of "Team disk:/reports": files -> 5',
    '+ quota of owner@example.org: bytes -> 7',
  ])
  t.same(await apply(yaml(all), plan), [])
  t.same(await apply(yaml('[{ provider: Team disk, files: 9 }, { member: ann@example.org, bytes: 1 }]'), plan), [
    '~ quota of "Team disk:/": bytes -> no limit, files -> 9',
    '! quota of ann@example.org: has no account',
    '! quota of owner@example.org: is not declared',
    '! quota of "Team disk:/reports": is not declared',
  ])
  for (const quota of ['{ provider: Team disk }', '{ member: a@b.org, path: /, bytes: 1 }', '{ bytes: 1 }']) {
    await t.rejects(apply(yaml(`[${quota}]`), plan), { name: 'StartError', message: /quotas\/0/ }, quota)
  }
})

atNight(t, 'copies of folders are kept as declared, and those that are not declared stay', async t => {
  const { folder, apply } = await setUp(t)
  const yaml = (copies: string) => `
owner: { email: owner@example.org, passwordFile: ${folder}/password }
providers:
  - { name: Team disk, type: local, config: { root: ${folder}/team } }
  - { name: Archive, type: local, config: { root: ${folder}/team/archive } }
copies: [${copies}]
`
  await mkdir(join(folder, 'team/archive'))
  const contracts = (more = '') =>
    `{ name: Contracts, folder: { provider: Team disk, path: /contracts }, copies: [{ provider: Archive, path: /kept }], repair: true${more} }`
  const [, , , created] = await apply(yaml(contracts()))
  t.equal(created, '+ kept copies "Contracts": of "Team disk:/contracts" in "Archive:/kept"')
  t.same(await apply(yaml(contracts()), plan), [])
  t.same(await apply(yaml(contracts(', cron: 30 2 * * *, timeZone: Europe/Berlin'))), [
    '~ kept copies "Contracts": cron -> 30 2 * * *, time zone -> Europe/Berlin',
    'done: kept copies "Contracts"',
  ])
  t.same(await apply(yaml(contracts(', recheckDays: 7')), plan), [
    '! kept copies "Contracts": has other folders or options: delete it first',
  ])
  t.same(await apply(yaml(''), plan), ['! kept copies "Contracts": are not declared'])
  await t.rejects(apply(yaml(`${contracts()}, ${contracts()}`), plan), {
    message: /declares the schedule of kept copies/,
  })
  await t.rejects(apply(yaml('{ name: x }'), plan), { name: 'StartError', message: /copies\/0/ })
})

atNight(t, 'a file that cannot be applied says why in one sentence', async t => {
  const { folder, run, apply } = await setUp(t)
  const cases: [string, RegExp][] = [
    ['{', /is no valid YAML: /],
    ['provider: []', /the file must NOT have additional properties "provider"/],
    ['members: [{ email: a@b.org, role: KING }]', /\/members\/0\/role must be equal to one of/],
    ['webhooks: []\nmembers: []', /The workspace has no owner yet: declare "owner"/],
    [`owner: { email: a@b.org, passwordFile: ${folder}/nothing }`, /nothing cannot be read \(ENOENT\)/],
    ['providers: [{ name: a, type: local }, { name: a, type: local }]', /declares the storage "a" twice/],
    [
      'issuers: [{ name: a, issuer: https://a, clientId: c, secretFile: f }, { name: b, issuer: https://a, clientId: c, secretFile: f }]',
      /declares the address of an issuer "https:\/\/a" twice/,
    ],
    [
      'members: [{ email: a@b.org, role: ADMIN }, { email: A@b.org, role: NONE }]',
      /declares the member "a@b\.org" twice/,
    ],
  ]
  for (const [yaml, message] of cases) await t.rejects(apply(yaml), { name: 'StartError', message }, yaml)
  if (isNight) {
    const refused = await run('provider: []')
    t.same([refused.status, refused.stdout], [1, ''])
    t.match(refused.stderr, /^Stowage cannot apply the file: .+\n$/)
  }
  const owned = `owner: { email: a@b.org, passwordFile: ${folder}/password }`
  t.same(await apply(owned), ['+ owner: a@b.org', 'done: owner'])
  const later: [string, RegExp][] = [
    [
      'keys: [{ name: k, owner: a@b.org, scopes: [read], access: x, file: FOLDER/key }]',
      /"x" is not declared in "access"/,
    ],
    ['keys: [{ name: k, owner: a@b.org, scopes: [read], file: FOLDER/password }]', /password contains no API key/],
    ['access: { x: { Nowhere: / } }\nmembers: [{ email: a@b.org, role: OWNER, access: x }]', /no storage "Nowhere"/],
    ['providers: [{ name: p, type: local, config: { root: /nowhere } }]', /nowhere/],
  ]
  for (const [yaml, message] of later) {
    await t.rejects(apply(yaml.replace('FOLDER', folder)), { message }, yaml)
  }
})

t.test('service accounts and groups are made and corrected, and their members compared', async t => {
  const { folder, environment, secrets, apply } = await setUp(t)
  const owner = `owner: { email: owner@example.org, passwordFile: ${folder}/password }`
  const yaml = `${owner}
providers:
  - { name: Team disk, type: local, config: { root: ${folder}/team } }
access:
  reports: { Team disk: /reports }
serviceAccounts:
  - { name: Backup, role: EDITOR, access: reports }
groups:
  - { name: Readers, role: VIEWER, access: reports, members: [ann@example.org, Backup] }
  - { name: Others, role: NONE }
keys:
  - { name: nightly, owner: Backup, scopes: [write], file: ${folder}/key }
`
  t.same(await apply(yaml), [
    '+ owner: owner@example.org',
    '+ storage "Team disk": of the type local',
    '+ service account "Backup": with the role EDITOR',
    '+ group "Readers": with the role VIEWER',
    '! group "Readers": its member ann@example.org has no account',
    '+ group "Others": with the role NONE',
    '+ key "nightly" of Backup: with the scopes write',
    'done: owner',
    'done: storage "Team disk"',
    'done: service account "Backup"',
    'done: group "Readers"',
    'done: group "Others"',
    'done: key "nightly" of Backup',
  ])
  const waiting = ['! group "Readers": its member ann@example.org has no account']
  t.same(await apply(yaml, plan), waiting)
  if (!isNight) return
  const server = await startProgram(t, { environment })
  const api = client(server.url)
  const viewer = '{ viewer { scopes user { name groups { name } } } }'
  t.match(await api.ask(viewer, {}, secrets.key), {
    viewer: { scopes: ['read', 'write'], user: { name: 'Backup', groups: [{ name: 'Readers' }] } },
  })
  const login = 'mutation ($input: LoginInput!) { login(input: $input) { token } }'
  const { token } = (await api.ask(login, { input: { email: 'owner@example.org', password } })).login
  const ann = await api.register('ann@example.org')
  t.match(await apply(yaml, plan), [/^! group "Readers": its member ann@example.org registered without an invite/])
  const confirm = 'mutation ($input: UpdateMemberInput!) { updateMember(input: $input) { id } }'
  await api.ask(confirm, { input: { userId: ann.id, role: 'NONE' } }, token)
  t.same(await apply(yaml), ['~ group "Readers": adds ann@example.org', 'done: group "Readers"'])
  t.match(await api.ask(viewer, {}, ann.token), { viewer: { scopes: ['read'] } })
  const changed = yaml
    .replace(
      'name: Readers, role: VIEWER, access: reports, members: [ann@example.org, ',
      'name: readers, role: EDITOR, members: [',
    )
    .replace('name: Backup, role: EDITOR', 'name: Backup, role: VIEWER')
    .replace('  - { name: Others, role: NONE }\n', '')
  t.same(await apply(changed), [
    '~ service account "Backup": role EDITOR -> VIEWER',
    '~ group "readers": role VIEWER -> EDITOR, access',
    '~ group "readers": removes ann@example.org',
    '! group "Others": is not declared',
    'done: service account "Backup"',
    'done: group "readers"',
    'done: group "readers"',
  ])
  t.same(await apply(changed, plan), ['! group "Others": is not declared'])
  const twice = `${owner}\ngroups: [{ name: a, role: NONE }, { name: A, role: NONE }]`
  await t.rejects(apply(twice), { name: 'StartError', message: /declares the group "a" twice/ })
})
