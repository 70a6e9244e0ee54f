import { sql } from 'kysely'
import t from 'tap'
import { extent } from '../support/extent.ts'
import { makeShare } from '../support/shares.ts'
import { until } from '../support/until.ts'
import { fieldsOf, isLeaf, named, operation, readSchema, sendAs, walks } from './api.ts'
import { argumentsFor, makeCell, prepare, runAll, sample } from './cells.ts'
import { fields, nestedFields, workspaceAdmin } from './fields.ts'
import { basesIn, hasScope, judge, judgeGift, owns, reaches } from './model.ts'
import { base, canaryFile, createWorld, folders, type Holder, privateBase, type World } from './world.ts'

/** A text that only some credentials may see. */
interface Canary {
  text: string
  isFor(holder: Holder): boolean
}

/**
 * Fields without a value here: no provider on this server needs an authorization, stores checksums or creates links, no issuer signs
 * members in, no invite links an account, nothing is gone that could be restored, and the two paths of a usage are one file, which
 * has no folders.
 */
const unanswered = [
  'AddFactorPayload.passkey',
  'AddFactorPayload.recoveryCodes',
  'Approval.createdAt',
  'Approval.credentialName',
  'Approval.entryKind',
  'Approval.expiresAt',
  'Approval.from',
  'Approval.id',
  'Approval.isPermanent',
  'Approval.kind',
  'Approval.newLength',
  'Approval.owner',
  'Approval.path',
  'Approval.providerId',
  'Approval.size',
  'Approval.state',
  'Approval.tool',
  'ApproveConnectionPayload.apiKey',
  'ApproveConnectionPayload.returnUrl',
  'AuthorizeProviderPayload.authorizationUrl',
  'Checksum.algorithm',
  'Checksum.hex',
  'CommentEdge.cursor',
  'CommentEdge.node',
  'ConnectProviderPayload.authorizationUrl',
  'ConnectProviderPayload.provider',
  'ConsentRequest.audience',
  'ConsentRequest.destination',
  'ConsentRequest.host',
  'ConsentRequest.isOnMachine',
  'ConsentRequest.name',
  'ConsentRequest.refusalUrl',
  'ConsentRequest.scopes',
  'CopyFinding.from',
  'CopyFindingEdge.node',
  'CreateScimTokenPayload.scimToken',
  'CreateScimTokenPayload.token',
  'CreateScimTokenPayload.url',
  'EntryLock.expiresAt',
  'EntryLock.holder',
  'EntryLock.holderName',
  'EntryLock.id',
  'EntryLock.isDeep',
  'EntryLock.isExclusive',
  'EntryLock.path',
  'Hold.createdAt',
  'Hold.createdBy',
  'Hold.id',
  'Hold.isObjectLock',
  'Hold.path',
  'Hold.providerId',
  'Hold.reason',
  'Hold.releasedAt',
  'Hold.until',
  'HoldEdge.cursor',
  'HoldEdge.node',
  'HttpHeader.name',
  'HttpHeader.value',
  'Identity.createdAt',
  'Identity.email',
  'Identity.id',
  'Identity.issuer',
  'Identity.lastUsedAt',
  'IssuerLogout.name',
  'IssuerLogout.url',
  'LdapDirectory.error',
  'LdapDirectory.people',
  'LdapDirectory.readAt',
  'LdapDirectory.source',
  'LinkInvite.email',
  'LinkInvite.expiresAt',
  'LinkInvite.name',
  'Passkey.createdAt',
  'Passkey.id',
  'Passkey.isSynced',
  'Passkey.lastUsedAt',
  'Passkey.name',
  'ProviderEncryption.encoding',
  'ProviderEncryption.encryptFolderNames',
  'ProviderEncryption.names',
  'ProviderEncryption.suffix',
  'PushSubscription.createdAt',
  'PushSubscription.current',
  'PushSubscription.events',
  'PushSubscription.id',
  'PushSubscription.lastUsedAt',
  'PushSubscription.userAgent',
  'QuotaRuleEdge.cursor',
  'QuotaRuleEdge.node',
  'ScimDirectory.createdAt',
  'ScimDirectory.id',
  'ScimDirectory.issuer',
  'ScimDirectory.name',
  'ScimToken.createdAt',
  'ScimToken.directory',
  'ScimToken.displayPrefix',
  'ScimToken.id',
  'ScimToken.lastUsedAt',
  'ScimToken.name',
  'UsagePart.bytes',
  'UsagePart.files',
  'UsagePart.path',
  'UsagePart.provider',
]

/** The number of fields on a way. With 11, every way is walked to its end. */
const depth = extent({ gate: 5, nightly: 11 })
const coverage = '{ search(input: { text: "content" }) { coverage { isContentComplete } nodes { snippet } } }'

t.setTimeout(3600_000)

t.test('no nested field reveals data outside the access of a credential', async t => {
  const world = await createWorld(t, { people: true, catalogues: true })
  const client = { issuer: 'https://id.example.org', clientId: 'stowage', clientSecret: 'a secret' }
  const rule = { groupsClaim: 'groups', domains: ['example.org'], groupIds: [world.group] }
  await world.app.ask(
    'mutation ($input: CreateIssuerInput!) { createIssuer(input: $input) { id } }',
    { input: { name: 'Work', ...client, ...rule } },
    world.founder.header?.slice('Bearer '.length),
  )
  await sql`update catalogues set mode = 'CONTENT', content_next = ''`.execute(world.app.db)
  await until(async () => {
    const { search } = await world.app.ask(coverage, {}, world.founder.header?.slice('Bearer '.length))
    const isRead = search.coverage.every(({ isContentComplete }: { isContentComplete: boolean }) => isContentComplete)
    return (isRead && search.nodes.every(({ snippet }: { snippet: string }) => snippet.includes('content'))) || search
  })
  await sql`insert into usage_days (provider_id, day, files, bytes) select id, current_date, 1, 1 from providers
    on conflict do nothing`.execute(world.app.db)
  await sql`insert into server_processes (id, host, version, node_version, started_at, renewed_at)
    values (gen_random_uuid(), 'server', '1.0.0', '24.0.0', now(), now())`.execute(world.app.db)
  await sql`insert into lost_emails default values`.execute(world.app.db)
  const mark = `mutation ($at: LocationInput!, $tagged: UpdateTagsInput!, $comment: CreateCommentInput!) {
    addStar(input: $at) updateTags(input: $tagged) createComment(input: $comment) { id } }`
  const at = { providerId: world.providers.main, path: base }
  const comment = { ...at, text: `For @[${world.founder.userId}].` }
  const marked = { at, tagged: { ...at, add: ['matrix'], remove: [] }, comment }
  await world.app.ask(mark, marked, world.founder.header?.slice('Bearer '.length))
  const set = 'mutation ($input: SetQuotaInput!) { setQuota(input: $input) { id } }'
  const limits = { bytes: 1e15, files: 1e12 }
  for (const subject of [{ providerId: world.providers.main }, { userId: world.founder.userId }])
    await world.app.ask(set, { input: { ...subject, ...limits } }, world.founder.header?.slice('Bearer '.length))
  const sharer = world.good.find(({ kind, owner, userId }) => {
    return kind === 'session' && owner.role === 'ADMIN' && owner.access === 'all' && userId !== world.founder.userId
  })
  const received = { providerId: world.providers.main, path: base, userIds: [world.founder.userId] }
  await makeShare(world.app, sharer?.header?.slice('Bearer '.length) ?? '', received)
  // The changes that this has made are listed from the first query on.
  await world.app.app.services.audit.flush()
  const schema = await readSchema(world.url)
  const canaries = canariesOf(world)
  const holders = [world.founder, ...world.good, ...world.inCookies].filter(({ kind, owner, key }) => {
    const isLimited = owner.access !== 'all' || (key && key.access !== 'all')
    return kind === 'session' || (isLimited && owner.role !== 'NONE' && key?.scopes[0] !== 'write')
  })
  const all = Object.keys(fields).map(row => {
    const [root = '', name = ''] = row.split('.')
    const field = fieldsOf(schema, root).find(field => field.name === name)
    return field && !isLeaf(schema, field)
      ? walks(schema, named(field.type), depth).map(select => ({ row, select }))
      : []
  })
  const ways = extent({ gate: withNewSteps(all), nightly: all })
  const seen = new Map<string, Set<string>>()
  const reached = new Set<string>()
  const chosen = ways.flatMap(some => {
    const row = some[0]?.row ?? ''
    const may = row && !fields[row]?.bounces ? holders.filter(holder => makeCell(world, row, holder).verdict.may) : []
    const each = Math.ceil(extent({ gate: 2, nightly: 100 }) / some.length)
    // The founder sees a value in every field that only reads.
    const founder = row.startsWith('Query.') ? may.slice(0, 1) : []
    // Others take each way, and in `npm test` every 24th way of those that the founder takes.
    const isForOthers = (index: number) => founder.length === 0 || index % extent({ gate: 24, nightly: 1 }) === 0
    const others = (index: number) =>
      Math.max(each - founder.length, isForOthers(index) ? extent({ gate: 1, nightly: 2 - founder.length }) : 0)
    const sampled = (index: number) => new Set([...founder, ...sample(may, others(index), index)])
    return some.flatMap((way, index) => [...sampled(index)].map(holder => ({ ...way, holder })))
  })
  let answered = 0

  const wrong = await runAll(chosen, async ({ row, select, holder: asked }) => {
    const cell = makeCell(world, row, asked)
    const { holder, ids } = await prepare(world, cell)
    const call = operation(schema, row, argumentsFor(cell, ids), select)
    let response = await sendAs(world.url, holder, call)
    // A member has a limited number of searches at once.
    const isBusy = () => response.errors.some(({ extensions }) => extensions?.reason === 'RATE_LIMITED')
    for (let attempt = 1; attempt < 500 && isBusy(); attempt++) {
      response = await sendAs(world.url, holder, call)
    }
    const where = `${[row, ...namesIn(select)].join('.')} with ${holder.label}`
    const isHarmless = response.errors.every(
      ({ extensions }) => extensions?.code === 'NOT_FOUND' || extensions?.reason === 'QUERY_TOO_LARGE',
    )
    if (response.errors.length > 0 && !isHarmless) return `${where}: ${JSON.stringify(response.errors)}`
    answered += response.errors.length === 0 ? 1 : 0
    note(response.body, reached)
    const text = response.text + decoded(response.text)
    // This row always signs in as the founder.
    const eyes = row === 'Mutation.login' ? world.founder : holder
    const visible = canaries.filter(canary => text.includes(canary.text))
    for (const canary of visible) seen.set(canary.text, (seen.get(canary.text) ?? new Set()).add(holder.label))
    const leaks = visible.filter(canary => !canary.isFor(eyes))
    return leaks.length > 0 ? `${where} tells ${leaks.map(({ text }) => text)}` : null
  })
  t.comment(
    `${ways.flat().length} ways, ${holders.length} credentials, ${chosen.length} tried, ${answered} succeeded, ${wrong.length} wrong`,
  )
  for (const line of wrong.slice(0, 20)) t.fail(line)
  t.equal(wrong.length, 0)
  const nested = Object.entries(nestedFields).flatMap(([type, known]) =>
    Object.keys(known).map(name => `${type}.${name}`),
  )
  const objects = nested.filter(name => !name.startsWith('Entry.'))
  t.same(
    objects.filter(name => !reached.has(name)).toSorted(),
    unanswered,
    'every nested field had a value for some credential',
  )
  t.ok(seen.size > 20, `${seen.size} canaries were seen by permitted credentials`)
  t.equal(world.app.logged(), '')
})

/** A row, and the fields that its call selects. */
interface Way {
  row: string
  select: string
}

/** Returns the names of the fields that lead to the deepest objects of a selection. */
function namesIn(select: string): string[] {
  return [...select.matchAll(/\b([a-z]\w+)(?:\(.*?\))? \{/g)].map(([, name = '']) => name)
}

/**
 * Returns the ways that go from an object to the next one as at most one way before them does. The rule of a field knows the object that
 * has the field, and not how the call got there. On the first way, a value may be missing.
 */
function withNewSteps(ways: readonly (readonly Way[])[]): Way[][] {
  const taken = new Map<string, number>()
  const isNew = ({ row, select }: Way) => {
    const [root] = row.split('.')
    // The nodes of a page are one step, because pages of all types have the same fields.
    const names = [row, ...namesIn(select)].join('>').replaceAll('>edges>node', ' edges').replaceAll('>nodes', ' nodes')
    const steps = names.split('>').map((name, index, all) => `${root}: ${all[index - 1]} ${name}`)
    const isRare = steps.some(step => (taken.get(step) ?? 0) < 2)
    if (isRare) for (const step of steps) taken.set(step, (taken.get(step) ?? 0) + 1)
    return isRare
  }
  return ways.map(some => some.filter(isNew))
}

function canariesOf(world: World): Canary[] {
  const { providers, roots, founder, good, invites } = world
  const files = [...roots.keys()].flatMap(provider =>
    Object.entries(folders).map(([name, folder]) => ({
      text: canaryFile(provider, name),
      isFor: (holder: Holder) => reaches(holder, provider, folder),
    })),
  )
  const configs = [...roots].map(([provider, root]) => ({
    text: root.slice(root.lastIndexOf('/') + 1),
    isFor: (holder: Holder) => hasScope(holder, 'admin') && reaches(holder, provider, '/'),
  }))
  const people = [founder, ...good.filter(({ kind }) => kind === 'session')].map(({ email, userId }) => ({
    text: email ?? '',
    isFor: (holder: Holder) => holder.userId === userId || hasScope(holder, 'admin'),
  }))
  const keys = good
    .filter(({ kind }) => kind === 'key')
    .map(({ name, userId, owner }) => ({
      text: name,
      isFor: (holder: Holder) =>
        holder.userId === userId || (judge(holder, workspaceAdmin).may && judgeGift(holder, owner).may),
    }))
  const gifts = [...invites].map(([id, gift]) => ({
    text: id,
    isFor: (holder: Holder) => judge(holder, workspaceAdmin).may && judgeGift(holder, gift).may,
  }))
  const jobs = [...world.jobs, ...world.schedules, ...world.shares].map(({ id, provider, path }) => ({
    text: id,
    isFor: (holder: Holder) => hasScope(holder, 'read') && owns(holder, founder) && reaches(holder, provider, path),
  }))
  const webhooks = world.webhooks.map(({ id, provider, path }) => ({
    text: id,
    // The audit log has their ids.
    isFor: (holder: Holder) => hasScope(holder, 'admin') && reaches(holder, provider, path),
  }))
  const nobody = ['$argon2', 'password_hash', 'passwordHash', 'sealed'].map(text => ({ text, isFor: () => false }))
  return [
    ...files,
    ...configs,
    ...people,
    ...keys,
    ...gifts,
    ...jobs,
    ...webhooks,
    ...nobody,
    { text: 'canary-name-hidden', isFor: holder => basesIn(holder, providers.hidden).length > 0 },
    { text: providers.hidden, isFor: holder => basesIn(holder, providers.hidden).length > 0 },
    {
      text: folders.sibling,
      isFor: holder => reaches(holder, providers.main, folders.sibling) || basesIn(holder, providers.hidden).length > 0,
    },
    { text: privateBase, isFor: holder => reaches(holder, providers.main, privateBase) },
  ]
}

/** Decodes all base64 in a text, because ids, cursors and links are encoded. */
function decoded(text: string): string {
  return (text.match(/[\w-]{16,}/g) ?? []).map(part => Buffer.from(part, 'base64url').toString()).join('\n')
}

/** Records which fields of each type had a value. */
function note(value: unknown, reached: Set<string>): void {
  if (typeof value !== 'object' || value === null) return
  const type = '__typename' in value ? value.__typename : null
  for (const [name, inner] of Object.entries(value)) {
    if (type !== null && inner !== undefined) reached.add(`${type}.${name}`)
    note(inner, reached)
  }
}
