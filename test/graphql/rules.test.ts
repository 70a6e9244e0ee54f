/** The rule of a field is decided before its resolver runs, and its description states it. */
import { randomUUID } from 'node:crypto'
import {
  buildSchema,
  type GraphQLField,
  getIntrospectionQuery,
  graphql,
  isInterfaceType,
  isObjectType,
  parse,
  subscribe,
} from 'graphql'
import t from 'tap'
import { accessTo } from '../../src/auth/access.ts'
import { parsePath } from '../../src/auth/path.ts'
import { includesScope, type Scope } from '../../src/auth/scopes.ts'
import type { Viewer } from '../../src/auth/viewer.ts'
import { ResponseBudget } from '../../src/endpoints/graphql/response-size.ts'
import { requireLocationRules, ruleOf } from '../../src/endpoints/graphql/rules.ts'
import { schema } from '../../src/endpoints/graphql/schema.ts'
import { RequestMemory } from '../../src/http/memory.ts'
import { operation, type Schema } from '../matrix/api.ts'
import { fields } from '../matrix/fields.ts'
import { noIds, type Target } from '../matrix/row.ts'

const mine: string = randomUUID()
const other: string = randomUUID()

function viewer(scope: Scope | null, basePath: string): Viewer {
  const access = accessTo([[mine, parsePath(basePath)]])
  const [userId, workspaceId] = [randomUUID(), randomUUID()]
  const member = {
    userId,
    workspaceId,
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
    credentialId: randomUUID(),
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
    access,
  }
}

const { data: introspection } = await graphql({ schema, source: getIntrospectionQuery() })
const { types } = (introspection as unknown as { __schema: { types: { name: string }[] } }).__schema
const introspected = { types: new Map(types.map(type => [type.name, type])) } as unknown as Schema

/** Resolves with the reason of the error and, in `asked`, the properties of the context that a resolver used. */
async function run(row: string, by: Viewer | null, locations: Target['locations']) {
  const ids = noIds
  const call = operation(introspected, row, fields[row]?.args?.({ locations, n: 1, ids }) ?? {})
  const { query, variables } = JSON.parse(String(call.body))
  const asked: string[] = []
  const contextValue = new Proxy(
    { viewer: by, response: new ResponseBudget(new RequestMemory(by, '127.0.0.1')) },
    {
      get(target, name) {
        // Every resolver is wrapped to count the size of the response. Libraries store their own data under symbols.
        if (name in target || typeof name === 'symbol') return Reflect.get(target, name)
        asked.push(name)
        throw new Error(`The resolver of ${row} has asked for ${name}`)
      },
    },
  )
  const result = row.startsWith('Subscription.')
    ? await subscribe({ schema, document: parse(query), variableValues: variables, contextValue })
    : await graphql({ schema, source: query, variableValues: variables, contextValue })
  if (!('errors' in result)) throw new Error(`${row} returns no error`)
  const { errors = [] } = result
  const cause = errors[0]?.originalError as { reason?: string; message: string } | undefined
  return { reason: cause?.reason ?? cause?.message ?? errors[0]?.message, asked }
}

const rows = Object.entries(fields).filter(([, { needs }]) => ['paths', 'whole', 'every'].includes(needs.where ?? ''))
const inside = { provider: mine, path: '/team/a' }
const outside = { provider: mine, path: '/other/a' }
const elsewhere = { provider: other, path: '/team/a' }

t.test('a refusal at any of the locations comes before the resolver', async t => {
  t.ok(rows.length >= 14)
  for (const [row, { needs, takes = [] }] of rows) {
    const good = takes.map((_, index) => ({ ...inside, path: `/team/${'abc'[index]}` }))
    const scope = needs.scope ?? 'read'
    if (needs.where === 'every') {
      const kind = needs.who === 'session' ? 'SESSION' : 'API_KEY'
      t.same(
        await run(row, { ...viewer(scope, '/team'), kind }, []),
        { reason: 'PROVIDER_NOT_ALLOWED', asked: [] },
        row,
      )
      continue
    }
    for (const [index, purpose] of takes.entries()) {
      const at = (location: Target['locations'][number]) => good.with(index, location)
      const by = viewer(scope, '/team')
      if (purpose === 'same folder') {
        const locations = [{ provider: mine, path: '/team' }, outside]
        t.same(await run(row, viewer(scope, '/team'), locations), { reason: 'OUTSIDE_BASE_PATH', asked: [] }, row)
        t.same(await run(row, by, at({ ...inside, path: '/team/%2f' })), { reason: 'INVALID_PATH', asked: [] }, row)
        continue
      }
      t.same(await run(row, by, at(outside)), { reason: 'OUTSIDE_BASE_PATH', asked: [] }, `${row} ${index}`)
      t.same(await run(row, by, at(elsewhere)), { reason: 'PROVIDER_NOT_ALLOWED', asked: [] }, `${row} ${index}`)
      t.same(await run(row, null, at(outside)), { reason: 'CREDENTIAL_REQUIRED', asked: [] }, `${row} ${index}`)
      for (const lower of ([null, 'read', 'write'] as const).filter(lower => !includesScope(lower, scope))) {
        const refused = await run(row, viewer(lower, '/team'), at({ ...inside, path: 'no path' }))
        t.same(refused, { reason: 'SCOPE_REQUIRED', asked: [] }, `${row} ${index} with ${lower}`)
      }
      if (needs.where !== 'paths') continue
      const unspelled = await run(row, by, at({ ...inside, path: '/team/../other' }))
      t.same(unspelled, { reason: 'INVALID_PATH', asked: [] }, `${row} ${index}`)
    }
    const granted = await run(row, viewer(scope, needs.where === 'whole' ? '/' : '/team'), good)
    t.not(granted.asked.length, 0, `${row} is allowed inside the granted path`)
  }
})

t.test('changes that give lasting access need a recent confirmation in a session, and none with a key', async t => {
  const found = Object.values(schema.getMutationType()?.getFields() ?? {}).filter(({ extensions }) => {
    const { authScopes } = extensions.pothosOptions as { authScopes?: { recent?: boolean } }
    return authScopes?.recent
  })
  t.same(found.map(({ name }) => name).toSorted(), [
    'addGroupMember',
    'addPasskey',
    'addTotp',
    'approveConnection',
    'createApiKey',
    'createGroup',
    'createInvite',
    'createLinkInvite',
    'createPasswordReset',
    'createRecoveryCodes',
    'createScimToken',
    'createServiceAccount',
    'deactivateMember',
    'deleteGroup',
    'linkIdentity',
    'reactivateMember',
    'removeGroupMember',
    'removeMember',
    'removeMemberIdentity',
    'removePasskey',
    'removeSecondFactors',
    'removeTotp',
    'rotateWebhookSecret',
    'unlinkIdentity',
    'updateGroup',
    'updateMember',
    'updateWorkspace',
  ])
  const session = { ...viewer('admin', '/'), kind: 'SESSION', access: { all: true } } as const
  for (const { name } of found) {
    t.same(await run(`Mutation.${name}`, session, []), { reason: 'CONFIRMATION_REQUIRED', asked: [] }, name)
    const confirmed = await run(`Mutation.${name}`, { ...session, verifiedAt: new Date() }, [])
    t.not(confirmed.asked.length, 0, `${name} is allowed after a confirmation`)
  }
})

t.test('rules of entry fields apply at the path of the entry', async t => {
  const own = ['Entry', 'File', 'Folder', 'Version'].flatMap(name => {
    const type = schema.getType(name)
    return isObjectType(type) || isInterfaceType(type) ? Object.values(type.getFields()) : []
  })
  const reaching = own.filter(({ extensions }) => {
    const options = extensions.pothosOptions as { resolve?: (...args: unknown[]) => unknown }
    // The third parameter of a resolver is the context. Providers and people are not locations in an entry.
    return (options.resolve?.length ?? 0) > 2
  })
  const ofEntry = reaching.filter(({ name }) => !['provider', 'replacedBy'].includes(name))
  t.same(ofEntry.map(({ name }) => name).toSorted(), [
    'commentCount',
    'commentCount',
    'commentCount',
    'downloadUrl',
    'downloadUrl',
    'downloadUrl',
    'entries',
    'hold',
    'hold',
    'hold',
    'isStarred',
    'isStarred',
    'isStarred',
    'lock',
    'lock',
    'lock',
    'quotaRule',
    'tags',
    'tags',
    'tags',
    'thumbnailUrl',
    'usage',
    'versions',
  ])
  t.same(
    ofEntry.filter(field => ruleOf(field)?.namedBy !== 'parent').map(({ name }) => name),
    [],
  )
})

t.test('a field that takes a path cannot be defined without a rule', async t => {
  const unruled = (field: string, more = '') => buildSchema(`type Query { ${field}: Int } ${more}`)
  t.throws(() => requireLocationRules(unruled('f(path: String)')), /Query.f takes "path"/)
  t.throws(() => requireLocationRules(unruled('f(folderPaths: [String!]!)')), /takes "folderPaths"/)
  t.throws(
    () => requireLocationRules(unruled('f(input: I)', 'input I { deep: [J!] } input J { toPath: ID, more: [I] }')),
    /takes "input.deep.toPath"/,
  )
  t.doesNotThrow(() => requireLocationRules(unruled('f(name: String)')))
  const known = schema.getMutationType()?.getFields().createFolder as GraphQLField<unknown, unknown>
  t.ok(ruleOf(known))
  const another = buildSchema(
    'type Mutation { f(input: I): Int } input I { path: ID, toPath: ID } type Query { a: Int }',
  )
  const field = another.getMutationType()?.getFields().f
  if (field) field.extensions = known.extensions
  t.throws(
    () => requireLocationRules(another),
    /Mutation.f takes "input.toPath"/,
    'a rule about another path is not enough',
  )
})

t.test('the description of each field states its rule', async t => {
  const descriptionOf = (type: string, field: string) => {
    const found = schema.getType(type)
    return isObjectType(found) ? found.getFields()[field]?.description : null
  }
  t.match(descriptionOf('Query', 'folder'), / Requires the scope `read` at `path`\.$/)
  t.match(
    descriptionOf('Mutation', 'copy'),
    / Requires the scope `read` at `input.path`, and the scope `write` at `input.toPath`\.$/,
  )
  t.match(descriptionOf('Mutation', 'move'), / Requires the scope `write` at `input.path` and at `input.toPath`\.$/)
  t.match(
    descriptionOf('Mutation', 'rename'),
    / Requires the scope `write` at `input.path` and at the new `input.name`\.$/,
  )
  t.match(descriptionOf('Mutation', 'testProvider'), / Requires the scope `admin` on all of the provider `id`\.$/)
  t.match(descriptionOf('Folder', 'entries'), / Requires the scope `read` at the path of this entry\.$/)
  const roots = [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()].flatMap(type =>
    Object.values(type?.getFields() ?? {}),
  )
  t.same(
    roots.filter(({ description }) => !/ Requires .+\.$/.test(description ?? '')).map(({ name }) => name),
    [],
  )
  t.same(
    roots.filter(({ description }) => /\bNeeds\b/.test(description ?? '')).map(({ name }) => name),
    [],
    'no description states a rule by hand',
  )
})
