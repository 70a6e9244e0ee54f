/** Requests for the largest responses: every list of the schema, with as many aliases as the limits allow. */
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  buildSchema,
  type GraphQLField,
  type GraphQLNamedType,
  type GraphQLOutputType,
  getNamedType,
  getNullableType,
  isInterfaceType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
} from 'graphql'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { maxResponse } from '../../src/endpoints/graphql/response-size.ts'
import { head, type Talk, talk } from '../http/socket.ts'
import { startApp, type TestApp } from '../support/app.ts'
import { atNight, extent, isNight } from '../support/extent.ts'

const schema = buildSchema(await readFile(new URL('../schema.graphql', import.meta.url), 'utf8'))
type Field = GraphQLField<unknown, unknown>

const isList = (type: GraphQLOutputType): boolean => isListType(getNullableType(type))

function fieldsOf(type: GraphQLNamedType): Field[] {
  return isObjectType(type) || isInterfaceType(type) ? Object.values(type.getFields()) : []
}

/** A list with its name, such as `Folder.entries.nodes`, and the fields that lead to it from the query. */
interface Way {
  name: string
  steps: readonly Field[]
  type: GraphQLNamedType
}

/** Finds the shortest path of fields to each list of objects. */
function waysToLists(): Way[] {
  const found = new Map<string, Way>()
  const queue: Way[] = [{ name: '', steps: [], type: schema.getQueryType() as GraphQLNamedType }]
  const seen = new Set<string>()
  for (let way = queue.shift(); way; way = queue.shift()) {
    const own = isInterfaceType(way.type) ? schema.getPossibleTypes(way.type) : [way.type]
    for (const type of own) {
      for (const field of fieldsOf(type)) {
        const name = `${type.name}.${field.name}`
        const inner = getNamedType(field.type)
        if (isLeafType(inner) || seen.has(name)) continue
        seen.add(name)
        const next = {
          name,
          steps: [...way.steps, { ...field, on: type } as Field & { on: GraphQLNamedType }],
          type: inner,
        }
        if (isList(field.type)) found.set(name, next)
        queue.push(next)
      }
    }
  }
  return [...found.values()]
}

/** Names every list of objects in the schema. */
function allLists(): string[] {
  return Object.values(schema.getTypeMap())
    .filter(type => isObjectType(type) && !type.name.startsWith('__'))
    .flatMap(type =>
      fieldsOf(type)
        .filter(field => isList(field.type) && !isLeafType(getNamedType(field.type)))
        .map(field => `${type.name}.${field.name}`),
    )
}

type Values = Record<string, string>

function call(field: Field, values: Values): string {
  const given = field.args.flatMap(({ name, type }) => {
    if (values[name] !== undefined) return [`${name}: ${values[name]}`]
    if (isNonNullType(type)) throw new Error(`The test knows no value for ${field.name}(${name})`)
    return []
  })
  return given.length > 0 ? `${field.name}(${given.join(', ')})` : field.name
}

/** Selects the leaf fields of a type in turn, under `count` aliases. */
function aliases(type: GraphQLNamedType, count: number): string {
  const leaves = fieldsOf(type).filter(field => isLeafType(getNamedType(field.type)))
  const own = leaves.length > 0 ? leaves.map(({ name }) => name) : ['__typename']
  return Array.from({ length: count }, (_, n) => `${'a'.repeat(90)}${n}: ${own[n % own.length]}`).join(' ')
}

function document({ steps, type }: Way, values: Values): string {
  let text = aliases(type, 90)
  for (const [index, step] of [...steps.entries()].toReversed()) {
    const on = (step as Field & { on: GraphQLNamedType }).on.name
    const inside = `${call(step, values)} { ${text} }`
    text = index === 0 ? inside : `... on ${on} { ${inside} }`
  }
  return `{ ${text} }`
}

const long = 'n'.repeat(200)

/** Fills the workspace with the largest amount of data that the limits allow. */
async function fill(app: TestApp, token: string, folder: string): Promise<string> {
  const providerId = await app.connectProvider(token, 'memory', {})
  await Promise.all(
    Array.from({ length: 30 }, (_, n) => app.connectProvider(token, 'memory', {}, `${n}${long.slice(9)}`)),
  )
  for (let from = 0; from < 1000; from += 50) {
    await Promise.all(
      Array.from({ length: 50 }, async (_, n) => {
        const { status } = await app.upload(token, providerId, `${folder}/${from + n}`, 'x')
        if (status !== 201) throw new Error(`upload: ${status}`)
      }),
    )
  }
  // Later, these events would be sent to the webhooks below, which have no secrets.
  await app.app.services.audit.flush()
  await sql`with made as (insert into users (email, email_key, name, password_hash)
    select n || ${`@${'e'.repeat(200)}.org`}, n || 'x', ${long}, 'none' from generate_series(1, 200) n returning id)
    insert into members (workspace_id, user_id, role, provider_access)
    select workspaces.id, made.id, 'VIEWER', '{"all": true}' from workspaces, made`.execute(app.db)
  await sql`insert into api_keys (workspace_id, user_id, name, key_hash, display_prefix, scopes, provider_access)
    select m.workspace_id, m.user_id, ${long}, sha256(n::text::bytea), 'stw_00000000', '{read}', '{"all": true}'
    from generate_series(1, 300) n, members m where m.role = 'OWNER'`.execute(app.db)
  await sql`insert into invites (workspace_id, token_hash, role, provider_access, created_by, expires_at)
    select m.workspace_id, sha256(n::text::bytea), 'VIEWER', '{"all": true}', m.user_id, now() + interval '1 day'
    from generate_series(1, 300) n, members m where m.role = 'OWNER'`.execute(app.db)
  await sql`insert into sessions (workspace_id, user_id, expires_at) select m.workspace_id, m.user_id, now() + interval '1 day'
    from generate_series(1, 300) n, members m where m.role = 'OWNER'`.execute(app.db)
  await sql`insert into entry_stars (id, workspace_id, user_id, provider_id, path, is_folder)
    select gen_random_uuid(), workspace_id, user_id, ${providerId}, ${`${folder}/`} || n || '/', false
    from generate_series(0, 300) n, members where role = 'OWNER'`.execute(app.db)
  await sql`insert into entry_tags (id, workspace_id, provider_id, path, name, name_key, is_folder)
    select gen_random_uuid(), id, ${providerId}, ${`${folder}/`} || n || '/', 'x' || tag, 'x' || tag, false
    from generate_series(0, 300) n, generate_series(1, 20) tag, workspaces`.execute(app.db)
  await sql`insert into entry_comments (id, workspace_id, provider_id, path, is_folder, user_id, text)
    select gen_random_uuid(), workspace_id, ${providerId}, ${`${folder}/`}, true, user_id,
      (select string_agg('@[' || id || ']', '') from (select id from users limit 20) mentioned) || repeat(${'\t'}, 1200)
    from generate_series(1, 200), members where role = 'OWNER'`.execute(app.db)
  const at = { providerId, path: folder }
  await sql`insert into jobs (id, workspace_id, user_id, credential_kind, credential_id, address, request_id, kind, state,
      sources, target, conflict)
    select gen_random_uuid(), m.workspace_id, m.user_id, 'SESSION', gen_random_uuid(), '', '', 'COPY', 'FAILED',
      ${JSON.stringify(Array(100).fill(at))}, ${JSON.stringify({ ...at, name: 'n'.repeat(1024) })}, 'FAIL'
    from generate_series(1, 100) n, members m where m.role = 'OWNER'`.execute(app.db)
  const job = {
    kind: 'COPY',
    sources: Array(100).fill(at),
    target: { ...at, name: 'n'.repeat(1024) },
    conflict: 'FAIL',
    deleteExtra: false,
    dryRun: false,
    permanent: false,
  }
  await sql`insert into schedules (id, workspace_id, user_id, credential_kind, credential_id, name, cron, time_zone, job)
    select gen_random_uuid(), m.workspace_id, m.user_id, 'SESSION', gen_random_uuid(), ${long}, '* * * * *', 'UTC',
      ${JSON.stringify(job)}
    from generate_series(1, 100) n, members m where m.role = 'OWNER'`.execute(app.db)
  await sql`insert into webhooks (id, workspace_id, user_id, credential_kind, credential_id, name, url, actions, provider_id,
      path, secrets, error)
    select gen_random_uuid(), m.workspace_id, m.user_id, 'SESSION', gen_random_uuid(), ${long}, ${'u'.repeat(2000)},
      '{UPLOAD,FOLDER_CREATE,RENAME,MOVE,COPY,DELETE,JOB_END,PROVIDER_CONNECT,PROVIDER_UPDATE,PROVIDER_DISCONNECT}',
      ${providerId}, ${folder}, '', ${long}
    from generate_series(1, 100) n, members m where m.role = 'OWNER'`.execute(app.db)
  await sql`insert into webhook_deliveries (webhook_id, id, action, event, state, status, error, ended_at)
    select webhooks.id, gen_random_uuid(), 'UPLOAD', '{"at": "2026-01-01T00:00:00Z"}', 'FAILED', 500, ${long}, now()
    from generate_series(1, 100) n, webhooks`.execute(app.db)
  await sql`insert into shares (id, workspace_id, user_id, credential_kind, credential_id, kind, provider_id, paths, is_folder,
      token_hash, token, note, file_types)
    select gen_random_uuid(), m.workspace_id, m.user_id, 'SESSION', gen_random_uuid(), 'VIEW', ${providerId},
      array_fill(${folder.slice(1)}::text, '{100}'), false, sha256(n::text::bytea), '', ${'n'.repeat(2000)}, '{}'
    from generate_series(1, 100) n, members m where m.role = 'OWNER'`.execute(app.db)
  await sql`insert into approvals (id, workspace_id, user_id, credential_kind, credential_id, kind, tool, call_hash, provider_id, path,
      details, expires_at)
    select gen_random_uuid(), m.workspace_id, m.user_id, 'API_KEY', gen_random_uuid(), 'OVERWRITE', 'move', sha256('call'),
      ${providerId}, ${folder}, ${JSON.stringify({ entryKind: 'FILE', size: 1, from: folder, newLength: null, isPermanent: false })},
      now() + interval '1 hour'
    from generate_series(1, 200) n, members m where m.role = 'OWNER'`.execute(app.db)
  await sql`insert into job_entries (job_id, state, provider_id, path, depth, reason, message)
    select jobs.id, 'SOURCE', ${providerId}, ${folder}, 0, 'NOT_FOUND', ${long}
    from generate_series(1, 1000) n, (select id from jobs limit 1) jobs`.execute(app.db)
  await sql`insert into trash_items (id, provider_id, path, kind, state, user_id, expires_at, due_at)
    select gen_random_uuid(), ${providerId}, ${folder}, 'directory', 'TRASHED', m.user_id, '2099-01-01', '2099-01-01'
    from generate_series(1, 200) n, members m where m.role = 'OWNER'`.execute(app.db)
  await app.app.services.audit.flush()
  return providerId
}

interface Filled {
  app: TestApp
  token: string
  userId: string
  providerId: string
  /** Has 1,000 entries, whose paths have 4,000 characters. */
  folder: string
}

const file: Test = t
let filling: Promise<Filled> | undefined

/** Returns the full workspace, which the tests share and do not change. */
function filled(): Promise<Filled> {
  filling ??= startApp(file).then(async app => {
    const { token, id: userId } = await app.register('owner@example.org')
    const folder = `/${Array.from({ length: 20 }, () => long.slice(0, 195)).join('/')}`
    return { app, token, userId, folder, providerId: await fill(app, token, folder) }
  })
  return filling
}

t.test('no list of the schema produces a response above the limit', async t => {
  const { app, token, userId, folder, providerId } = await filled()
  const failed = await sql<{ job_id: string }>`select job_id from job_entries limit 1`.execute(app.db)
  const keys = await app.ask('{ apiKeys { nodes { id } } }', {}, token)
  const { webhooks } = await app.ask('{ webhooks { id } }', {}, token)
  const ids: Record<string, string> = {
    providerId: JSON.stringify(providerId),
    path: JSON.stringify(folder),
    id: JSON.stringify(providerId),
    userId: JSON.stringify(userId),
    input: '{ text: "1" }',
    tag: '"x1"',
    rank: 'LARGEST',
    type: '"local"',
    search: '""',
  }
  const ways = waysToLists()
  const types = new Set(ways.map(({ name }) => name))
  // The lists in payloads of mutations and subscriptions have types that queries return too, or contain values of the input.
  const unreached = allLists().filter(name => !types.has(name))
  t.same(unreached, ['Subscription.approvalsChanged', 'UploadTicket.headers'], 'every list is tested')
  const seen: Record<string, number> = {}
  let largest = 0
  // `npm test` reads every ninth list.
  for (const way of ways.filter((_, index) => isNight || index % 9 === 0)) {
    const first = way.steps.find(({ args }) => args.some(({ name }) => name === 'first'))
    // Files, API keys and providers need an id of their own.
    const values = { ...ids }
    const root = way.steps[0]?.name
    if (root === 'job') values.id = JSON.stringify(failed.rows[0]?.job_id)
    if (root === 'webhook') values.id = JSON.stringify(webhooks[0].id)
    if (root === 'apiKey') values.id = JSON.stringify(keys.apiKeys.nodes[0].id)
    // The test server's adapters list the folders of a server only at their top.
    if (root === 'serverFolders') values.path = 'null'
    if (root === 'file') values.path = JSON.stringify(`${folder}/0`)
    // Ask for the largest page that the cost limit allows.
    const pages = first ? [1000, 200, 100, 10] : [0]
    let reason = ''
    for (const size of pages) {
      const query = document(way, size > 0 ? { ...values, first: String(size) } : values)
      const response = await app.request('/graphql', {
        method: 'POST',
        token,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ query }),
      })
      const text = await response.text()
      largest = Math.max(largest, text.length)
      t.ok(text.length <= maxResponse, `${way.name}: ${text.length} bytes`)
      const { errors } = JSON.parse(text)
      reason = errors?.[0]?.extensions.reason ?? 'OK'
      seen[reason] = (seen[reason] ?? 0) + 1
      t.match(reason, /^(OK|RESPONSE_TOO_LARGE|QUERY_TOO_LARGE|INVALID_INPUT)$/, `${way.name}: ${text.slice(0, 300)}`)
      if (!/^(QUERY_TOO_LARGE|INVALID_INPUT)$/.test(reason)) break
    }
    t.match(reason, /^(OK|RESPONSE_TOO_LARGE)$/, `${way.name} is executed`)
  }
  t.comment(JSON.stringify(seen), `the largest: ${largest} bytes`)
  t.ok((seen.RESPONSE_TOO_LARGE ?? 0) >= extent({ gate: 1, nightly: 2 }), 'some are refused because of their size')
  t.ok(largest > maxResponse / 8, 'large ones below the limit are sent')
  t.notMatch(app.logged(), /"level":[56]0/)
})

/** Asks for the long paths of the folder under `count` aliases. */
function longPaths({ providerId, folder }: Filled, count: number): string {
  const fields = Array.from({ length: count }, (_, n) => `a${n}: path`).join(' ')
  return `{ folder(providerId: "${providerId}", path: "${folder}") { entries(first: 1000) { nodes { ${fields} } } } }`
}

atNight(t, 'a response stops growing at the limit and says what to do', async t => {
  const world = await filled()
  const { app, token } = world
  const begin = process.memoryUsage.rss()
  const { status, data, errors } = await app.graphql(longPaths(world, 90), {}, token)
  const grown = (process.memoryUsage.rss() - begin) / 1024 / 1024
  t.comment(`memory grew by ${Math.round(grown)} MiB`)
  t.same([status, data, errors.length], [200, null, 1])
  t.match(errors[0], {
    message: /8 MiB: ask for fewer fields or a smaller page/,
    extensions: { code: 'BAD_USER_INPUT' },
  })
  t.equal(errors[0]?.extensions.reason, 'RESPONSE_TOO_LARGE')
  t.ok(grown < 150, `memory grew by ${Math.round(grown)} MiB`)
  const { folder } = await app.ask(longPaths(world, 1), {}, token)
  t.equal(folder.entries.nodes.length, 1000, 'a response below the limit is complete')
})

t.test('unread large responses share a memory limit, and small ones are still sent', async t => {
  const world = await filled()
  const { app, token } = world
  const clients: Talk[] = []
  const hangUp = () => {
    for (const { socket } of clients.splice(0)) socket.destroy()
  }
  t.teardown(hangUp)
  // Each has about 8 MB, which is more than the system buffers for a connection that nobody reads.
  const body = JSON.stringify({ query: longPaths(world, 2) })
  const headers = {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(body),
    Authorization: `Bearer ${token}`,
  }
  const ask = async () => {
    const client = await talk(Number(new URL(app.url).port))
    clients.push(client)
    const begun = once(client.socket, 'data')
    await client.send(head('POST', `${app.url}/graphql`, headers) + body)
    await begun
    client.socket.pause()
    return Number(client.received().slice(9, 12))
  }
  const statuses: number[] = []
  for (let n = 0; n < extent({ gate: 14, nightly: 24 }); n++) statuses.push(await ask())
  const sent = statuses.filter(status => status === 200).length
  t.ok(sent >= 3 && sent <= 12, `${sent} were sent`)
  t.same(new Set(statuses), new Set([200, 429]))
  const { me } = await app.ask('{ me { email } }', {}, token)
  t.equal(me.email, 'owner@example.org')
  hangUp()
  let status = 0
  for (let n = 0; n < 100 && status !== 200; n++) {
    status = await ask()
    if (status !== 200) await sleep(50)
  }
  t.equal(status, 200, 'large responses are sent again once the unread ones are closed')
})

atNight(t, 'direct links count towards the cost of a query', async t => {
  const app = await startApp(t)
  const { token } = await app.register('owner@example.org')
  const id = await app.connectProvider(token, 'memory', {})
  const links = (first: number, value: string) =>
    `query ${value === '$direct' ? '($direct: Boolean)' : ''} { folder(providerId: "${id}") { entries(first: ${first}) { nodes { ... on File { downloadUrl(direct: ${value}) } } } } }`
  const reasonOf = async (query: string, variables = {}) =>
    (await app.graphql(query, variables, token)).errors[0]?.extensions.reason ?? 'OK'
  t.equal(await reasonOf(links(1000, 'true')), 'QUERY_TOO_LARGE')
  t.equal(await reasonOf(links(1000, '$direct'), { direct: true }), 'QUERY_TOO_LARGE')
  t.equal(await reasonOf(links(1000, '$direct'), { direct: false }), 'OK')
  t.equal(await reasonOf(links(1000, 'false')), 'OK')
  t.equal(await reasonOf(links(500, 'true')), 'OK')
})
