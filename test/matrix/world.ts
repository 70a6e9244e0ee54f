/**
 * A server with members, keys and files for the matrix. Data that most credentials may not see has "canary" in its name, so
 * that a leak is visible in any response.
 */
import { randomBytes, randomUUID } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createSigner } from 'fast-jwt'
import { sql } from 'kysely'
import root, { type Test } from 'tap'
import { type Audience, signAccessToken } from '../../src/auth/access-tokens.ts'
import { deriveSecrets } from '../../src/auth/secrets.ts'
import { startApp, type TestApp, testSecret } from '../support/app.ts'
import { applicationOf } from '../support/applications.ts'
import { password } from '../support/client.ts'
import { extent } from '../support/extent.ts'
import { makeShare } from '../support/shares.ts'
import { hangUp } from './api.ts'
import { type Access, type Credential, type Member, type Role, roles, type Scope, scopes, withGroups } from './model.ts'

export type ProviderName = 'main' | 'hidden' | 'missing' | 'garbage'

/** A credential and how to send it. */
export interface Holder extends Credential {
  label: string
  /** The Authorization header, or null. */
  header: string | null
  /** Additional headers of each request, which carry the cookie of the console. */
  beside?: Readonly<Record<string, string>>
  userId: string | null
  email: string | null
  /** The role and access of the owner without their groups, if they have groups. */
  own?: Member
  /** The id, if it is a key. */
  keyId: string | null
  name: string
}

export interface World {
  app: TestApp
  url: string
  founder: Holder
  /** Provider ids. The id `missing` is well-formed and names no provider; `garbage` is malformed. */
  providers: Record<ProviderName, string>
  /** Root folders on disk, by provider id. */
  roots: ReadonlyMap<string, string>
  accesses: Record<AccessName, Access>
  /** The valid credentials: sessions and keys of every kind. */
  good: readonly Holder[]
  /** The same sessions as cookies of the console, and some valid headers combined with the founder's cookie. */
  inCookies: readonly Holder[]
  /** Invalid and expired credentials, and a request without one. */
  invalid: readonly Holder[]
  none: Holder
  /** Maps each owner to a key that is not used as a credential. */
  ownKeys: Map<string, string>
  /** A VIEWER of the base path that no cell changes. */
  bystander: { id: string } & Member
  /** A group with the role NONE, of which the bystander is a member. */
  group: string
  /** Open invites of every role and access that no cell uses, by id. The first grants the role NONE. */
  invites: ReadonlyMap<string, Member>
  next(): number
  /** Inserts a member directly, without the cost of a password hash. */
  insertMember(member: Member): Promise<string>
  /** Inserts a group with the role NONE. */
  insertGroup(userIds: readonly string[]): Promise<string>
  /** Deletes the groups that earlier cells have created, because their number is limited. */
  makeRoomForGroup(): Promise<void>
  /** Removes the service accounts that earlier cells have created, because their number is limited. */
  makeRoomForServiceAccount(): Promise<void>
  /** Inserts an invite of the founder whose token nobody knows. */
  insertInvite(gift: Member): Promise<string>
  /** Resolves with the id of a job that has one source and the same target. */
  insertJob(state: 'PAUSED' | 'FAILED', by: Holder, path: string, provider?: 'main' | 'hidden'): Promise<string>
  /** Resolves with the id of a schedule with an error and a job, which has one source and the same target. */
  insertSchedule(by: Holder, path: string, provider?: 'main' | 'hidden'): Promise<string>
  /** Deletes the schedules that earlier cells have created, because their number is limited. */
  makeRoomForSchedule(by: Holder): Promise<void>
  /** Resolves with the id of a webhook with an error and a delivery. */
  insertWebhook(by: Holder, path: string, provider?: 'main' | 'hidden'): Promise<string>
  /** Deletes the webhooks that earlier cells have created, because their number is limited. */
  makeRoomForWebhook(): Promise<void>
  /** Puts a file into the trash that was at a path. */
  putInTrash(provider: string, path: string, id: string): Promise<void>
  /** Stores a file with an earlier version. */
  putVersion(provider: string, path: string, id: string): Promise<void>
  /** Puts a file of each kind of base path into the trash. */
  fillTrash(provider: string): Promise<void>
  /** Inserts an unfinished upload of the founder. */
  insertUpload(provider: string, path: string, id: string): Promise<void>
  /** Resolves with the id of a share whose link nobody knows. */
  insertShare(by: Holder, path: string, provider?: 'main' | 'hidden'): Promise<string>
  /** Deletes the shares that earlier cells have created, because their number is limited. */
  makeRoomForShare(by: Holder): Promise<void>
  /** Jobs of the founder. */
  jobs: { id: string; provider: string; path: string }[]
  schedules: { id: string; provider: string; path: string }[]
  webhooks: { id: string; provider: string; path: string }[]
  shares: { id: string; provider: string; path: string }[]
  person(member: Member, email?: string): Promise<Holder>
  key(owner: Holder, key: { scopes: readonly Scope[]; access: Access }, label?: string): Promise<Holder>
  /** Connects an application. Its token works for all endpoints, for an hour. */
  connection(owner: Holder, key: { scopes: readonly Scope[]; access: Access }, audience?: Audience): Promise<Holder>
  connect(name: string): Promise<string>
}

export const base = '/team/backups'
/** Folders that contain a file and a folder. The content of each file names its path. */
export const folders = {
  inside: base,
  deep: `${base}/deep`,
  sibling: `${base}-old`,
  beside: '/team/canary-beside',
  outside: '/canary-documents',
} as const
/** The base path of another member. */
export const privateBase = '/canary-private'
export const seedFile = 'seed.txt'
export const seedFolder = 'kept'

type AccessName = 'all' | 'listed' | 'base' | 'other' | 'both' | 'wider' | 'apart' | 'several'
const memberAccesses = ['all', 'listed', 'base', 'other'] as const

export function accessInput(access: Access) {
  if (access === 'all') return { all: true }
  const restrictions = Object.entries(access).flatMap(([providerId, bases]) =>
    [bases].flat().map(basePath => ({ providerId, basePath })),
  )
  return { restrictions }
}

let shared: Promise<World> | undefined

/**
 * Returns the world with people that the tests of one process share, because making it takes seconds. They change none of its people,
 * groups and keys.
 */
export function sharedWorld(): Promise<World> {
  shared ??= createWorld(root, { people: true })
  return shared
}

/**
 * @param options.people false for only the founder
 * @param options.catalogues whether the server fills the catalogues of its storages, which a search needs
 */
export async function createWorld(t: Test, options: { people: boolean; catalogues?: boolean }): Promise<World> {
  const app = await startApp(t, { settings: { logLevel: 'error', ...(options.catalogues && { catalogueHours: 24 }) } })
  t.teardown(hangUp)
  let count = 0
  const next = () => {
    count += 1
    return count
  }
  const roots = new Map<string, string>()
  const { token, id } = await app.register('canary-founder@example.org')
  const founder: Holder = {
    label: 'founder',
    kind: 'session',
    faults: null,
    owner: { role: 'OWNER', access: 'all' },
    key: null,
    header: `Bearer ${token}`,
    userId: id,
    email: 'canary-founder@example.org',
    keyId: null,
    name: '',
  }
  const tokenOf = (holder: Holder) => holder.header?.slice('Bearer '.length) ?? null

  async function connect(name: string): Promise<string> {
    const root = join(app.folder, `canary-root-${next()}-`)
    await mkdir(root)
    const providerId = await app.connectProvider(token, 'local', { root }, name)
    // Addresses of WebDAV and S3 are made of slugs, and rows know ids.
    const update = 'mutation ($input: UpdateProviderInput!) { updateProvider(input: $input) { slug } }'
    await app.ask(update, { input: { id: providerId, slug: providerId } }, token)
    roots.set(providerId, root)
    return providerId
  }

  async function person(member: Member, email = `canary-person-${next()}@example.org`): Promise<Holder> {
    const input = { role: member.role, providerAccess: accessInput(member.access) }
    const query = 'mutation ($input: CreateInviteInput!) { createInvite(input: $input) { invite } }'
    const { createInvite } = await app.ask(query, { input }, token)
    const made = await app.register(email, createInvite)
    const label = `session of ${describe(member, providers)}`
    return { ...founder, label, owner: member, header: `Bearer ${made.token}`, userId: made.id, email }
  }

  async function key(
    owner: Holder,
    given: { scopes: readonly Scope[]; access: Access },
    name = `canary-key-${next()}-`,
  ) {
    const input = { name, scopes: given.scopes, providerAccess: accessInput(given.access) }
    const made = await app.createKey(tokenOf(owner) ?? '', input)
    const label = `${given.scopes} key for ${describeAccess(given.access, providers)} of ${describe(owner.owner, providers)}`
    return { ...owner, label, kind: 'key' as const, key: given, header: `Bearer ${made.key}`, keyId: made.id, name }
  }

  const applications = applicationOf(app)

  async function connection(
    owner: Holder,
    given: { scopes: readonly Scope[]; access: Access },
    audience: Audience = 'SERVER',
  ) {
    const name = `canary-key-${next()}-`
    const clientId = await applications.register({ client_name: name })
    const rights = { scopes: [...given.scopes], providerAccess: accessInput(given.access) }
    const { keyId } = await applications.consent(tokenOf(owner) ?? '', clientId, rights)
    const header = `Bearer ${accessTokenOf(keyId, { audience })}`
    const isMcpOnly = audience === 'MCP'
    const label = `${given.scopes} connection ${isMcpOnly ? 'with MCP alone ' : ''}for ${describeAccess(given.access, providers)} of ${describe(owner.owner, providers)}`
    return { ...owner, label, kind: 'key' as const, key: given, header, keyId, name, isMcpOnly }
  }

  const storedAccess = (access: Access) =>
    JSON.stringify(access === 'all' ? { all: true } : { all: false, ...accessInput(access) })

  async function insertMember(member: Member): Promise<string> {
    const email = `canary-inserted-${next()}@example.org`
    const { rows } = await sql<{ id: string }>`
      with person as (insert into users (email, email_key, password_hash) values (${email}, ${email}, 'none') returning id)
      insert into members (workspace_id, user_id, role, provider_access)
      select workspaces.id, person.id, ${member.role}, ${storedAccess(member.access)}::jsonb from workspaces, person
      returning user_id as id`.execute(app.db)
    return rows[0]?.id ?? ''
  }

  async function insertGroup(userIds: readonly string[]): Promise<string> {
    const name = `inserted ${next()}`
    const { rows } = await sql<{ id: string }>`
      insert into groups (workspace_id, name, name_key, role, provider_access)
      select id, ${name}, ${name}, 'NONE', '{"all": true}' from workspaces returning id`.execute(app.db)
    const id = rows[0]?.id ?? ''
    for (const userId of userIds) {
      await sql`insert into group_members (group_id, workspace_id, user_id) select ${id}, id, ${userId} from workspaces`.execute(
        app.db,
      )
    }
    return id
  }

  async function makeRoomForGroup() {
    await sql`delete from groups where id in (select id from groups where name like 'made %' or name like 'inserted %'
      order by created_at desc offset 20) and id <> ${world.group}`.execute(app.db)
    // A member can be in a limited number of groups.
    await sql`delete from group_members where user_id = ${world.bystander.id} and group_id <> ${world.group} and group_id in (
      select id from groups order by created_at desc offset 20)`.execute(app.db)
  }

  async function makeRoomForServiceAccount() {
    await sql`delete from users where id in (select id from users where is_service and name like 'made %'
      order by created_at desc offset 20)`.execute(app.db)
  }

  async function insertInvite(gift: Member): Promise<string> {
    const { rows } = await sql<{ id: string }>`
      insert into invites (workspace_id, token_hash, role, provider_access, created_by, expires_at)
      select id, ${randomBytes(32)}, ${gift.role}, ${storedAccess(gift.access)}::jsonb, ${founder.userId}, now() + interval '1 day'
      from workspaces returning id`.execute(app.db)
    return rows[0]?.id ?? ''
  }

  async function insertJob(state: 'PAUSED' | 'FAILED', by: Holder, path: string, provider: 'main' | 'hidden' = 'main') {
    const id = randomUUID()
    const at = { providerId: providers[provider], path }
    await sql`
      insert into jobs (id, workspace_id, user_id, credential_kind, credential_id, address, request_id, kind, state,
        sources, target, conflict, dry_run, total_files, total_bytes, started_at, ended_at, failed, error_reason, error_message,
        keeping)
      select ${id}, id, ${by.userId ?? founder.userId}, ${by.keyId ? 'API_KEY' : 'SESSION'}, ${by.keyId ?? randomUUID()}, '', '', 'COPY', ${state},
        ${JSON.stringify([at])}, ${JSON.stringify(at)}, 'SKIP', true, 1, 1, now(), now(), 1, 'UNAVAILABLE', '',
        ${JSON.stringify({ repair: false, recheckDays: 30 })}
      from workspaces`.execute(app.db)
    await sql`insert into job_entries (job_id, state, provider_id, path, target_path, depth, reason, message)
      values (${id}, 'SOURCE', ${at.providerId}, ${path}, ${path}, 0, 'NOT_FOUND', '')`.execute(app.db)
    return id
  }

  async function insertSchedule(by: Holder, path: string, provider: 'main' | 'hidden' = 'main') {
    const id = randomUUID()
    const at = { providerId: providers[provider], path }
    const job = { kind: 'COPY', sources: [at], target: at, conflict: 'SKIP', deleteExtra: false, dryRun: true }
    await sql`
      insert into schedules (id, workspace_id, user_id, credential_kind, credential_id, name, cron, time_zone, job,
        next_run_at, error_reason, error_message, last_job_id, last_skipped_at)
      select ${id}, id, ${by.userId ?? founder.userId}, ${by.keyId ? 'API_KEY' : 'SESSION'}, ${by.keyId ?? randomUUID()}, '', '0 0 1 1 *', 'UTC',
        ${JSON.stringify(job)}, '2099-01-01', 'UNAVAILABLE', '', ${await insertJob('FAILED', by, path, provider)}, now()
      from workspaces`.execute(app.db)
    return id
  }

  async function makeRoomForSchedule({ userId }: Holder) {
    await sql`delete from schedules where user_id = ${userId} and name = 'yearly'`.execute(app.db)
  }

  async function insertWebhook(by: Holder, path: string, provider: 'main' | 'hidden' = 'main') {
    const location = { providerId: providers[provider], path }
    const input = { name: 'inserted', url: 'http://127.0.0.1:9/', events: ['FILE_UPLOADED'], location }
    const query = 'mutation ($input: CreateWebhookInput!) { createWebhook(input: $input) { webhook { id } } }'
    const { id } = (await app.ask(query, { input }, token)).createWebhook.webhook
    await sql`update webhooks set user_id = ${by.userId ?? founder.userId}, error = 'an error',
      credential_kind = ${by.keyId ? 'API_KEY' : 'SESSION'}, credential_id = ${by.keyId ?? randomUUID()}
      where id = ${id}`.execute(app.db)
    await sql`insert into webhook_deliveries (webhook_id, id, action, event, state, status, error, ended_at)
      select ${id}, ${randomUUID()}, 'UPLOAD', '{"at": "2026-01-01T00:00:00Z", "details": {}}', 'FAILED', 500, 'an error', now()
      from webhooks where id = ${id}`.execute(app.db)
    return id
  }

  async function makeRoomForWebhook() {
    // Cells that run at the same time use the latest ones.
    await sql`delete from webhooks where id in (select id from webhooks where name in ('made', 'inserted', 'renamed')
      order by created_at desc offset 40)`.execute(app.db)
  }

  async function putInTrash(provider: string, path: string, id: string) {
    const folder = join(roots.get(provider) ?? '', '.stowage-trash')
    await mkdir(folder, { recursive: true })
    await writeFile(join(folder, id), contentOf(path))
    await sql`insert into trash_items (id, provider_id, path, kind, size, state, user_id, expires_at, due_at)
      values (${id}, ${provider}, ${path}, 'file', 1, 'TRASHED', ${founder.userId}, '2099-01-01', '2099-01-01')`.execute(
      app.db,
    )
  }

  async function putVersion(provider: string, path: string, id: string) {
    const root = roots.get(provider) ?? ''
    await mkdir(join(root, '.stowage-trash'), { recursive: true })
    await writeFile(join(root, '.stowage-trash', id), contentOf(path))
    await putFile(root, path)
    await sql`insert into file_versions (id, provider_id, path, size, modified_at, state, user_id, expires_at, due_at)
      values (${id}, ${provider}, ${`${path}/`}, 1, now(), 'KEPT', ${founder.userId}, '2099-01-01', '2099-01-01')`.execute(
      app.db,
    )
  }

  async function fillTrash(provider: string) {
    const paths = [base, folders.sibling, privateBase, '/public'].map(folder => `${folder}/trashed-${next()}`)
    await Promise.all(paths.map(path => putInTrash(provider, path, randomUUID())))
  }

  async function insertUpload(provider: string, path: string, id: string) {
    await sql`
      insert into uploads (id, workspace_id, user_id, credential_kind, credential_id, provider_id, path, conflict, reserves,
        metadata, block, expires_at)
      select ${id}, id, ${founder.userId}, 'API_KEY', ${randomUUID()}, ${provider}, ${path.slice(1)}, 'FAIL', true, '', 2,
        '2099-01-01'
      from workspaces`.execute(app.db)
  }

  async function insertShare(by: Holder, path: string, provider: 'main' | 'hidden' = 'main') {
    const id = randomUUID()
    await sql`
      insert into shares (id, workspace_id, user_id, credential_kind, credential_id, kind, provider_id, paths, is_folder,
        token_hash, token, note, file_types)
      select ${id}, id, ${by.userId ?? founder.userId}, ${by.keyId ? 'API_KEY' : 'SESSION'}, ${by.keyId ?? randomUUID()}, 'VIEW', ${providers[provider]},
        ${[path.slice(1)]}, true, ${randomBytes(32)}, '', 'inserted', '{}'
      from workspaces`.execute(app.db)
    return id
  }

  async function makeRoomForShare({ userId }: Holder) {
    await sql`delete from shares where user_id = ${userId} and note = ''`.execute(app.db)
  }

  const providers: World['providers'] = {
    main: await connect('main'),
    hidden: await connect('canary-name-hidden'),
    missing: '00000000-0000-4000-8000-000000000000',
    garbage: "no-id' OR '1'='1",
  }
  await Promise.all([...roots].map(([id, root]) => seed(id, root)))
  const { main, hidden } = providers
  const accesses: World['accesses'] = {
    all: 'all',
    listed: { [main]: '/' },
    base: { [main]: base },
    other: { [hidden]: '/' },
    both: { [main]: base, [hidden]: '/' },
    wider: { [main]: '/team' },
    apart: { [main]: folders.outside },
    several: { [main]: [base, folders.outside] },
  }
  const bystander = { role: 'VIEWER', access: accesses.base } as const
  const none: Holder = {
    ...founder,
    label: 'none',
    kind: 'none',
    owner: { role: 'NONE', access: {} },
    header: null,
    userId: null,
    email: null,
  }
  await insertMember({ role: 'VIEWER', access: { [main]: privateBase } })
  const ownKeys = new Map<string, string>()
  const invites = new Map<string, Member>()
  for (const role of roles) {
    for (const access of Object.values(accesses)) invites.set(await insertInvite({ role, access }), { role, access })
  }
  const jobs = [
    { id: await insertJob('FAILED', founder, base), provider: main, path: base },
    { id: await insertJob('FAILED', founder, folders.outside), provider: main, path: folders.outside },
    { id: await insertJob('FAILED', founder, base, 'hidden'), provider: hidden, path: base },
  ]
  for (const { id, provider, path } of jobs) {
    // As a dry run of a RESTORE leaves it, and a repair of a KEEP_COPIES.
    const step = { action: 'REPLACE', content: null, kind: 'file', size: 1, etag: null, modifiedAt: 1, until: 1 }
    const finding = { kind: 'DAMAGED', source: 0, from: 0, at: 1, sha256: null, seen: null }
    await sql`insert into job_entries (job_id, state, provider_id, path, depth, restores, finding)
      values (${id}, 'KEPT', ${provider}, ${path}, 0, ${JSON.stringify(step)}, ${JSON.stringify(finding)})`.execute(
      app.db,
    )
  }
  const schedules = [
    { id: await insertSchedule(founder, base), provider: main, path: base },
    { id: await insertSchedule(founder, folders.outside), provider: main, path: folders.outside },
    { id: await insertSchedule(founder, base, 'hidden'), provider: hidden, path: base },
  ]
  const webhooks = [
    { id: await insertWebhook(founder, base), provider: main, path: base },
    { id: await insertWebhook(founder, folders.outside), provider: main, path: folders.outside },
    { id: await insertWebhook(founder, base, 'hidden'), provider: hidden, path: base },
  ]
  await sql`update webhooks set name = 'kept'`.execute(app.db)
  const shares = [
    { id: await insertShare(founder, base), provider: main, path: base },
    { id: await insertShare(founder, folders.outside), provider: main, path: folders.outside },
    { id: await insertShare(founder, base, 'hidden'), provider: hidden, path: base },
  ]
  const bystanderId = await insertMember(bystander)
  const world: World = {
    app,
    url: app.url,
    founder,
    providers,
    roots,
    accesses,
    good: [],
    inCookies: [],
    invalid: [],
    none,
    ownKeys,
    bystander: { id: bystanderId, ...bystander },
    group: await insertGroup([bystanderId]),
    invites,
    next,
    insertMember,
    insertGroup,
    makeRoomForGroup,
    makeRoomForServiceAccount,
    insertInvite,
    insertJob,
    insertSchedule,
    makeRoomForSchedule,
    insertWebhook,
    makeRoomForWebhook,
    putInTrash,
    putVersion,
    fillTrash,
    insertUpload,
    insertShare,
    makeRoomForShare,
    jobs,
    schedules,
    webhooks,
    shares,
    person,
    key,
    connection,
    connect,
  }
  if (!options.people) return world
  const good = await people(world)
  const invalid = [none, ...(await invalidCredentials(world)), ...(await invalidCookies(world))]
  return { ...world, good, invalid, inCookies: await cookies(world, good) }
}

/** Returns the headers of a browser that has the session in its cookie. */
async function cookieOf({ app }: World, token: string): Promise<Record<string, string>> {
  const answer = await app.request('/console/session', { method: 'POST', token })
  const [cookie = ''] = (answer.headers.get('set-cookie') ?? '').split(';', 1)
  if (answer.status !== 204 || !cookie)
    throw new Error(`The server set no cookie: ${answer.status} ${await answer.text()}`)
  return carriedBy(cookie)
}

function carriedBy(cookie: string): Record<string, string> {
  return { cookie, 'x-stowage-console': '1' }
}

async function cookies(world: World, good: readonly Holder[]): Promise<Holder[]> {
  const sessions = good.filter(({ kind }) => kind === 'session')
  const inCookies = sessions.map(async session => {
    const beside = await cookieOf(world, tokenIn(session))
    return { ...session, header: null, beside, carrier: 'cookie' as const, label: `cookie of the ${session.label}` }
  })
  const ofFounder = await cookieOf(world, tokenIn(world.founder))
  const limited = good.filter(({ owner, key }) => owner.role === 'EDITOR' && (key?.access ?? 'all') !== 'all')
  const beside = [...sessions.filter(({ owner }) => owner.access !== 'all'), ...limited].map(holder => ({
    ...holder,
    beside: ofFounder,
    label: `${holder.label} beside the founder's cookie`,
  }))
  return [...(await Promise.all(inCookies)), ...beside]
}

/** Invalid cookies, and a valid one without the header that only the console's scripts send. */
async function invalidCookies(world: World): Promise<Holder[]> {
  const { app, founder, person, key, none } = world
  const { cookie = '' } = await cookieOf(world, tokenIn(founder))
  const loggedOut = await person({ role: 'OWNER', access: 'all' })
  const ended = await cookieOf(world, tokenIn(loggedOut))
  await app.ask('mutation { logout }', {}, tokenIn(loggedOut))
  const apiKey = await key(founder, { scopes: ['admin'], access: 'all' })
  const name = cookie.slice(0, cookie.indexOf('='))
  const invalid = (label: string, beside: Record<string, string>, ...faults: string[]): Holder => ({
    ...none,
    label,
    beside,
    carrier: 'cookie',
    faults: faults.length > 0 ? faults : null,
  })
  return [
    invalid('cookie without the header of the console', { cookie }),
    invalid('cookie of another name', carriedBy(`x${cookie}`)),
    invalid('cookie that is rubbish', carriedBy(`${name}=rubbish`), 'INVALID_CREDENTIAL'),
    invalid('cut cookie', carriedBy(cookie.slice(0, -2)), 'INVALID_CREDENTIAL'),
    invalid('cookie behind another', carriedBy(`${name}=rubbish; ${cookie}`), 'INVALID_CREDENTIAL'),
    invalid('key in a cookie', carriedBy(`${name}=${tokenIn(apiKey)}`), 'INVALID_CREDENTIAL'),
    invalid('cookie of a session that has ended', ended, 'SESSION_ENDED'),
  ]
}

function tokenIn({ header }: Holder): string {
  return header?.slice('Bearer '.length) ?? ''
}

const hour = 60 * 60 * 1000

function accessTokenOf(
  keyId: string,
  { expiresAt = new Date(Date.now() + hour), audience = 'SERVER' }: { expiresAt?: Date; audience?: Audience } = {},
): string {
  return signAccessToken(deriveSecrets(testSecret), { keyId, audience, expiresAt })
}

/** The connections of people, each of whom has the next one. */
const connections = [
  { scopes: ['write'], audience: 'SERVER' },
  { scopes: ['read'], audience: 'SERVER' },
  { scopes: ['write'], audience: 'MCP' },
] as const

/**
 * Creates a session and keys of every scope and access for every role and access; in `npm test`, a third of the keys for all but
 * owners. The keys are created before the role is reduced.
 */
async function people({
  person,
  key,
  connection,
  accesses,
  app,
  founder,
  ownKeys,
  providers,
}: World): Promise<Holder[]> {
  const { several, ...keyAccesses } = accesses
  const token = founder.header?.slice('Bearer '.length)
  const join = async (userId: string | null, { role, access }: Member, name: string) => {
    const create = 'mutation ($input: CreateGroupInput!) { createGroup(input: $input) { group { id } } }'
    const input = { name, role, providerAccess: accessInput(access) }
    const { createGroup } = await app.ask(create, { input }, token)
    const add = 'mutation ($groupId: ID!, $userId: ID!) { addGroupMember(groupId: $groupId, userId: $userId) { id } }'
    await app.ask(add, { groupId: createGroup.group.id, userId }, token)
  }
  let made = 0
  const make = async (own: Member, groups: readonly Member[] = []) => {
    const member = groups.length === 0 ? own : withGroups(own, groups)
    const session = await person({ role: own.role === 'OWNER' ? 'OWNER' : 'ADMIN', access: 'all' })
    ownKeys.set(session.userId ?? '', (await key(session, { scopes: ['read'], access: 'all' })).keyId ?? '')
    const turn = made++
    const all = scopes.flatMap(scope => Object.values(keyAccesses).map(access => ({ scopes: [scope], access })))
    const given = own.role === 'OWNER' ? all : extent({ gate: all.filter((_, n) => n % 3 === turn % 3), nightly: all })
    const keys = await Promise.all(given.map(one => key(session, one)))
    const { scopes: asked, audience } = connections[turn % connections.length] ?? connections[0]
    keys.push(await connection(session, { scopes: asked, access: keyAccesses.base }, audience))
    const input = { userId: session.userId, role: own.role, providerAccess: accessInput(own.access) }
    const query = 'mutation ($input: UpdateMemberInput!) { updateMember(input: $input) { id } }'
    await app.ask(query, { input }, token)
    for (const [index, group] of groups.entries()) await join(session.userId, group, `${session.email} ${index}`)
    const who = groups.length === 0 ? describe(member, providers) : `${describe(member, providers)} with groups`
    const named = keys.map(one => ({ ...one, label: one.label.replace(/ of .*/, ` of ${who}`), owner: member, own }))
    return [{ ...session, owner: member, own, label: `session of ${who}` }, ...named]
  }
  const members = roles.flatMap(role => memberAccesses.map(name => ({ role, access: accesses[name] })))
  const holders: Holder[][] = []
  // A few people at a time: on a busy machine, their requests would otherwise wait too long for a connection to the database.
  for (let first = 0; first < members.length; first += 4) {
    holders.push(...(await Promise.all(members.slice(first, first + 4).map(member => make(member)))))
  }
  // More people cannot sign in from one address at once.
  holders.push(...(await Promise.all((['EDITOR', 'ADMIN'] as const).map(role => make({ role, access: several })))))
  const { all, base, other } = accesses
  const grouped: [Member, Member[]][] = [
    // The role NONE takes its access with it.
    [{ role: 'NONE', access: all }, [{ role: 'EDITOR', access: base }]],
    [
      { role: 'VIEWER', access: base },
      [
        { role: 'EDITOR', access: other },
        { role: 'NONE', access: all },
      ],
    ],
    [
      { role: 'VIEWER', access: other },
      [
        { role: 'ADMIN', access: base },
        { role: 'VIEWER', access: all },
      ],
    ],
  ]
  holders.push(...(await Promise.all(grouped.map(([own, groups]) => make(own, groups)))))
  return holders.flat()
}

async function invalidCredentials({
  app,
  founder,
  key,
  connection,
  person,
  none,
  providers,
}: World): Promise<Holder[]> {
  const token = founder.header?.slice('Bearer '.length) ?? ''
  const everything = { scopes: ['admin'] as const, access: 'all' as const }
  const soon = { name: 'short', scopes: ['admin'], expiresAt: new Date(Date.now() + 1500).toISOString() }
  const expired = await app.createKey(token, soon)
  const revoked = await key(founder, everything)
  await app.ask('mutation ($id: ID!) { revokeApiKey(id: $id) { id } }', { id: revoked.keyId }, token)
  const ended = await connection(founder, { scopes: ['write'], access: 'all' })
  await app.ask('mutation ($id: ID!) { revokeApiKey(id: $id) { id } }', { id: ended.keyId }, token)
  const connected = await connection(founder, { scopes: ['write'], access: 'all' })
  const late = accessTokenOf(connected.keyId ?? '', { expiresAt: new Date(Date.now() - 1000) })
  const ofKey = accessTokenOf((await key(founder, everything)).keyId ?? '')
  const removed = await person({ role: 'ADMIN', access: 'all' })
  const removedKey = await key(removed, everything)
  await app.ask('mutation ($id: ID!) { removeMember(userId: $id) }', { id: removed.userId }, token)
  const out = await person({ role: 'OWNER', access: 'all' })
  await app.ask('mutation { logout }', {}, out.header?.slice('Bearer '.length))
  const changed = await person({ role: 'OWNER', access: 'all' })
  const login = 'mutation ($input: LoginInput!) { login(input: $input) { token } }'
  const { login: other } = await app.ask(login, { input: { email: changed.email, password } })
  const change = 'mutation ($input: ChangePasswordInput!) { changePassword(input: $input) { expiresAt } }'
  const input = { currentPassword: password, newPassword: `${password} again` }
  await app.ask(change, { input }, other.token)
  const links = await Promise.all(
    ['VIEW', 'DROP'].map(kind => makeShare(app, token, { providerId: providers.main, path: '/', kind })),
  )
  await sleep(Math.max(0, Date.parse(soon.expiresAt) - Date.now() + 1))

  const invalid = (label: string, header: string, ...faults: string[]): Holder => ({ ...none, label, header, faults })
  const [head = '', claims = '', signature = ''] = token.split('.')
  const unsigned = Buffer.from('{"alg":"none","typ":"JWT"}').toString('base64url')
  const { exp: _, ...payload } = JSON.parse(Buffer.from(claims, 'base64url').toString())
  const foreign = createSigner({ key: 'a secret of somebody else entirely', expiresIn: 60_000 })(payload)
  const good = (await key(founder, everything)).header ?? ''
  return [
    invalid('no scheme', token, 'INVALID_CREDENTIAL'),
    invalid('basic', 'Basic YTpi', 'INVALID_CREDENTIAL'),
    invalid('scheme alone', 'Bearer', 'INVALID_CREDENTIAL'),
    invalid('two tokens', `${good} ${token}`, 'INVALID_CREDENTIAL'),
    invalid('two in a list', `${good}, ${good}`, 'INVALID_CREDENTIAL'),
    invalid('rubbish', 'Bearer rubbish', 'INVALID_CREDENTIAL'),
    invalid('unknown key', `Bearer stw_${'0'.repeat(40)}`, 'INVALID_CREDENTIAL'),
    invalid('cut key', good.slice(0, -1), 'INVALID_CREDENTIAL'),
    invalid('long key', `${good}0`, 'INVALID_CREDENTIAL'),
    invalid('display prefix', good.slice(0, 'Bearer '.length + 12), 'INVALID_CREDENTIAL'),
    invalid('key in upper case', good.toUpperCase(), 'INVALID_CREDENTIAL'),
    invalid('unsigned session', `Bearer ${unsigned}.${claims}.`, 'INVALID_CREDENTIAL'),
    invalid('cut session', `Bearer ${head}.${claims}.${signature.slice(0, -2)}`, 'INVALID_CREDENTIAL'),
    invalid('session of another server', `Bearer ${foreign}`, 'INVALID_CREDENTIAL'),
    ...links.map(({ link }) => invalid('a share link', `Bearer ${link}`, 'INVALID_CREDENTIAL')),
    invalid('cut access token', connected.header?.slice(0, -2) ?? '', 'INVALID_CREDENTIAL'),
    invalid('expired access token', `Bearer ${late}`, 'TOKEN_EXPIRED'),
    invalid('access token of a key', `Bearer ${ofKey}`, 'INVALID_CREDENTIAL'),
    invalid('access token of a connection that has ended', ended.header ?? '', 'KEY_REVOKED'),
    invalid('expired key', `Bearer ${expired.key}`, 'KEY_EXPIRED'),
    invalid('revoked key', revoked.header ?? '', 'KEY_REVOKED'),
    invalid('session of a removed member', removed.header ?? '', 'SESSION_ENDED', 'INVALID_CREDENTIAL'),
    invalid('key of a removed member', removedKey.header ?? '', 'KEY_REVOKED', 'INVALID_CREDENTIAL'),
    invalid('logged out session', out.header ?? '', 'SESSION_ENDED'),
    invalid('session from before a password change', changed.header ?? '', 'SESSION_ENDED'),
  ]
}

async function seed(provider: string, root: string): Promise<void> {
  await Promise.all(
    Object.entries(folders).map(async ([name, folder]) => {
      await mkdir(join(root, folder, seedFolder), { recursive: true })
      await putFile(root, `${folder}/${seedFile}`)
      await putFile(root, `${folder}/${canaryFile(provider, name)}`)
    }),
  )
}

/** The name of a file that exists once. */
export function canaryFile(provider: string, folder: string): string {
  return `canary-file-${folder}-${provider}`
}

/** Writes a file whose content names its path. */
export async function putFile(root: string, path: string): Promise<void> {
  await mkdir(dirname(join(root, path)), { recursive: true })
  await writeFile(join(root, path), contentOf(path))
}

export function contentOf(path: string): string {
  return `canary-content of ${path}`
}

function describe({ role, access }: Member, providers: World['providers']): string {
  return `${role} for ${describeAccess(access, providers)}`
}

export function describeAccess(access: Access, providers: World['providers']): string {
  if (access === 'all') return 'all'
  const name = (id: string) => Object.entries(providers).find(([, known]) => known === id)?.[0] ?? 'another'
  return Object.entries(access)
    .map(([id, bases]) => `${name(id)}:${[bases].flat().join(',')}`)
    .join('+')
}

export type { Role }
