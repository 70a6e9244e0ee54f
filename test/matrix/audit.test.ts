/** Generated from the schema and the routes: each call that changes or sends something leaves exactly one correct event. */
import { sql } from 'kysely'
import t from 'tap'
import { schema as built } from '../../src/endpoints/graphql/schema.ts'
import { type Data, password } from '../support/client.ts'
import { extent } from '../support/extent.ts'
import { lockInfo } from '../webdav/client.ts'
import { operation, readSchema, type Schema, send } from './api.ts'
import { areas, hostileAreas } from './areas.ts'
import { type Cell, makeCell, prepare } from './cells.ts'
import { fields } from './fields.ts'
import { isSpelled, type Location } from './model.ts'
import { copiedPart, routes } from './routes.ts'
import { createWorld, type Holder, putFile, type World } from './world.ts'

interface Event {
  action: string
  result: string
  user_id: string | null
  user_email: string | null
  credential_kind: string | null
  credential_id: string | null
  credential_prefix: string | null
  address: string
  provider_id: string | null
  provider_name: string | null
  path: string | null
  to_provider_id: string | null
  to_path: string | null
  bytes: string | null
}

const isMutation = (row: string) => row.startsWith('Mutation.')
/** Whether a call of the route is recorded, and not only its refusal. */
const hasEffect = (row: string) => /\/api\/upload\/|^GET \/api\/download/.test(row) || routes[row]?.audit !== undefined
/** A credential does not matter, so the event names the person of the input or nobody. */
const signsIn = (row: string) => ['Mutation.login', 'Mutation.register'].includes(row) || fails(row)
/** Each call without a credential fails alike. */
const fails = (row: string) =>
  [
    'Mutation.requestPasswordReset',
    'Mutation.resetPassword',
    'Mutation.linkInvitedIdentity',
    'Mutation.completeLogin',
    'Mutation.signInWithPasskey',
  ].includes(row)

function actionOf(row: string): string {
  const { audit } = routes[row] ?? {}
  if (audit) return audit
  if (row.includes('/api/upload/') || / as a part$| an upload$| with a lock$/.test(row)) return 'UPLOAD'
  if (/^PUT .* of the (?:retention|legal-hold)$/.test(row)) return 'HOLD_CREATE'
  if (row === 'PUT /s3/* of the object lock') return 'PROVIDER_UPDATE'
  if (row.includes('/api/download/') || row === 'HEAD /s3/*') return 'DOWNLOAD'
  const options = built.getMutationType()?.getFields()[row.replace('Mutation.', '')]?.extensions.pothosOptions
  return isMutation(row) ? (options as { audit: string }).audit : 'READ'
}

async function eventsOf(world: World, requestId: string): Promise<Event[]> {
  await world.app.app.services.audit.flush()
  return (await sql<Event>`select * from audit_events where request_id = ${requestId}`.execute(world.app.db)).rows
}

/** Returns the id of a credential: that of the key, or the `sid` of the session. */
function credentialOf({ kind, keyId, header }: Holder): string | null {
  if (kind === 'none') return null
  return kind === 'key' ? keyId : JSON.parse(Buffer.from(header?.split('.')[1] ?? '', 'base64url').toString()).sid
}

/** Returns the path as events store it. A malformed path appears only in the details. */
const storedPath = (location: Location) => (isSpelled({ ...location, makes: false }) ? location.path : null)

/** Resolves with the error found, and with the row if its event has the result OK. */
async function tryCell(world: World, schema: Schema, cell: Cell): Promise<{ wrong: string | null; done?: string }> {
  const row = fields[cell.row] ?? routes[cell.row]
  if (!row) throw new Error(`Unknown row ${cell.row}`)
  const { holder, ids } = await prepare(world, cell)
  const target = { locations: cell.locations, n: cell.n, ids }
  const args = 'args' in row ? (row.args?.(target) ?? {}) : {}
  const call = 'call' in row ? row.call(target) : operation(schema, cell.row, args)
  const requestId = `audit-test-${cell.n}`
  const response = await send(world.url, holder.header, {
    ...call,
    headers: { ...call.headers, 'x-request-id': requestId },
  })
  const events = await eventsOf(world, requestId)
  const isPermitted = cell.verdict.may
  const reason = response.errors[0]?.extensions?.reason ?? (response.status < 300 || call.method !== 'HEAD' ? 'OK' : '')
  const sends = cell.row.startsWith('GET /api/download')
  const isRecorded = isMutation(cell.row) || hasEffect(cell.row) || !isPermitted
  const isKnown = holder.kind !== 'none' || signsIn(cell.row)
  const report = (wrong: string | null) => ({
    wrong:
      wrong && `${cell.row} with ${holder.label}: ${wrong}: ${JSON.stringify(events)} ${response.text.slice(0, 300)}`,
  })
  if (!isRecorded || !isKnown) return report(events.length === 0 ? null : 'an event that should not exist')
  // Equal failures without a credential are one event, which counts them.
  if (fails(cell.row) && events.length === 0) return report(null)
  const [event] = events
  if (!event || events.length !== 1) return report(`${events.length} events instead of one`)
  const [at, to] = cell.locations
  const takesProvider = row.takes?.[0] === 'provider'
  const signedIn = signsIn(cell.row)
  const isReading = cell.row.startsWith('Query.')
  const expected: Partial<Event> = {
    action: actionOf(cell.row),
    ...(reason !== '' && { result: reason }),
    ...(!signedIn && {
      user_id: holder.userId,
      user_email: holder.email,
      credential_kind: holder.kind === 'key' ? 'API_KEY' : 'SESSION',
      credential_id: credentialOf(holder),
      credential_prefix:
        holder.kind === 'key' ? (holder.header?.slice('Bearer '.length, 'Bearer '.length + 12) ?? '') : null,
    }),
    address: '127.0.0.1',
    ...(at &&
      !(isReading && takesProvider) && { provider_id: at.provider, path: takesProvider ? null : storedPath(at) }),
    // The further folders of a subscription or a query are no targets.
    ...(to &&
      !isReading &&
      !cell.row.startsWith('Subscription.') && { to_provider_id: to.provider, to_path: storedPath(to) }),
  }
  // A form is not parsed if the scope is missing, so the event has no location.
  if (!isPermitted && cell.row.endsWith('as a form')) delete expected.path
  if (!isPermitted && cell.row.endsWith('as a form')) delete expected.provider_id
  // A list of keys is not parsed if the credential cannot write in the bucket at all.
  if (['SCOPE_REQUIRED', 'PROVIDER_NOT_ALLOWED'].includes(reason) && cell.row.endsWith('deleting many'))
    expected.path = null
  const differing = Object.entries(expected).filter(([name, value]) => event[name as keyof Event] !== value)
  if (differing.length > 0) return report(`expected ${JSON.stringify(Object.fromEntries(differing))}`)
  if (at && event.provider_id === at.provider && event.provider_name === null)
    return report('the name of the provider is missing')
  if (row.effect === 'sent' && isPermitted && event.bytes !== String(response.text.length))
    return report('wrong number of bytes')
  if (sends && isPermitted && !Number(event.bytes)) return report('no bytes')
  return event.result === 'OK' ? { wrong: null, done: cell.row } : { wrong: null }
}

t.test('every mutation and every route with an effect leaves an event', async t => {
  const world = await createWorld(t, { people: false })
  const schema = await readSchema(world.url)
  const { founder, accesses, none } = world
  const refresh = async () => {
    const own = await world.key(founder, { scopes: ['read'], access: 'all' })
    world.ownKeys.set(founder.userId ?? '', own.keyId ?? '')
  }
  await refresh()
  const holders = [
    founder,
    await world.key(founder, { scopes: ['admin'], access: 'all' }),
    await world.key(founder, { scopes: ['write'], access: accesses.base }),
    await world.key(founder, { scopes: ['read'], access: accesses.apart }),
    none,
  ]
  const rows = [...Object.keys(fields), ...Object.keys(routes).filter(name => routes[name]?.takes)]
  // It disconnects the provider that the other rows need.
  const last = 'Mutation.disconnectProvider'
  const ordered = [...rows.filter(row => row !== last), last]
  t.ok(rows.filter(isMutation).length > 20)
  const done = new Set<string>()
  let count = 0
  const wrong: string[] = []
  // A refusal by the rule of a field, before a service is called, also leaves one event.
  const refusing = holders[2] as Holder
  const elsewhere = [
    ...areas.filter(({ name }) => name === 'outside'),
    ...hostileAreas.filter(({ path }) => path.startsWith('/')),
  ]
  const inPaths = rows.filter(row => isMutation(row) && row in fields && fields[row]?.needs.where === 'paths')
  for (const [index, row] of inPaths.entries()) {
    // In `npm test`, the areas take turns.
    for (const area of elsewhere.filter((_, n) => extent({ gate: n % 12 === index % 12, nightly: true }))) {
      const cell = makeCell(world, row, refusing, [area])
      if (cell.verdict.may) continue
      const found = await tryCell(world, schema, cell)
      count += 1
      if (found.wrong) wrong.push(found.wrong)
    }
  }
  for (const [index, row] of ordered.entries()) {
    // In `npm test`, the founder and one of the others, in turn.
    const other = 1 + (index % (holders.length - 1))
    const chosen = holders.filter((_, n) => extent({ gate: n === 0 || n === other, nightly: true }))
    for (const holder of chosen.toReversed()) {
      if (row === 'Mutation.revokeApiKey') await refresh()
      // Only one permitted credential can disconnect the provider.
      const cell = makeCell(world, row, holder, [areas[0] as (typeof areas)[number]])
      if (row === last && done.has(last) && cell.verdict.may) continue
      const found = await tryCell(world, schema, cell)
      count += 1
      if (found.wrong) wrong.push(found.wrong)
      if (found.done) done.add(found.done)
    }
  }
  t.comment(`${count} cells`)
  t.same(wrong, [])

  let held: Data = null
  const asFounder = (query: string, variables: object) =>
    world.app.ask(query, { ...variables }, founder.header?.slice('Bearer '.length))
  let issuerId = ''
  let commentId = ''
  const others: Record<string, () => Promise<unknown>> = {
    'PUT /s3/* as a copied part': async () => {
      const provider = await world.connect('parts')
      await putFile(world.roots.get(provider) ?? '', '/source')
      const begun = await send(world.url, founder.header, { method: 'POST', path: `/s3/${provider}/copy?uploads` })
      const [, uploadId = ''] = /<UploadId>([^<]+)</.exec(begun.text) ?? []
      const call = copiedPart({ provider, path: '/source' }, { provider, path: '/copy' }, uploadId)
      await send(world.url, founder.header, { method: 'PUT', ...call })
    },
    'Mutation.endLock': async () => {
      const providerId = await world.connect('locks')
      await putFile(world.roots.get(providerId) ?? '', '/locked')
      const token = founder.header?.slice('Bearer '.length)
      const { slug } = (
        await world.app.ask('query ($id: ID!) { provider(id: $id) { slug } }', { id: providerId }, token)
      ).provider
      const lock = { method: 'LOCK', headers: { depth: '0' }, body: lockInfo() }
      const { text } = await send(world.url, founder.header, { ...lock, path: `/dav/${slug}/locked` })
      const [, lockId] = /opaquelocktoken:([0-9a-f-]+)/.exec(text) ?? []
      const input = { providerId, path: '/locked', lockId }
      await world.app.ask('mutation ($input: EndLockInput!) { endLock(input: $input) { path } }', { input }, token)
    },
    'Mutation.createHold': async () => {
      held = await world.app.ask(
        'mutation ($input: CreateHoldInput!) { createHold(input: $input) { id } }',
        { input: { providerId: world.providers.hidden, path: '/', reason: 'Litigation' } },
        founder.header?.slice('Bearer '.length),
      )
    },
    'Mutation.setQuota': () =>
      asFounder('mutation ($input: SetQuotaInput!) { setQuota(input: $input) { id } }', {
        input: { providerId: world.providers.hidden, bytes: 1_000_000_000 },
      }),
    'Mutation.releaseHold': () =>
      world.app.ask(
        'mutation ($id: ID!) { releaseHold(id: $id) { id } }',
        { id: held?.createHold.id },
        founder.header?.slice('Bearer '.length),
      ),
    'Mutation.updateComment': async () => {
      const made = await asFounder('mutation ($input: CreateCommentInput!) { createComment(input: $input) { id } }', {
        input: { providerId: world.providers.hidden, path: '/', text: 'A comment.' },
      })
      commentId = made.createComment.id
      await asFounder('mutation ($input: UpdateCommentInput!) { updateComment(input: $input) { id } }', {
        input: { providerId: world.providers.hidden, path: '/', id: commentId, text: 'Another text.' },
      })
    },
    'Mutation.deleteComment': () =>
      asFounder('mutation ($input: DeleteCommentInput!) { deleteComment(input: $input) }', {
        input: { providerId: world.providers.hidden, path: '/', id: commentId },
      }),
    'Mutation.register': () => world.app.register('more@example.org'),
    'Mutation.connectProvider': () => world.connect('more'),
    'Mutation.approveConnection': () => world.connection(founder, { scopes: ['write'], access: 'all' }),
    'Mutation.decideApproval': async () => {
      const { rows } = await sql<{ id: string }>`
        insert into approvals (id, workspace_id, user_id, credential_kind, credential_id, kind, tool, call_hash, provider_id,
          path, details, expires_at)
        select gen_random_uuid(), id, ${founder.userId}, 'API_KEY', gen_random_uuid(), 'DELETION', 'delete', sha256('call'),
          (select id from providers limit 1), '/x', '{}', now() + interval '1 hour' from workspaces returning id`.execute(
        world.app.db,
      )
      const query = 'mutation ($id: ID!) { decideApproval(id: $id, isApproved: true) { state } }'
      await world.app.ask(query, { id: rows[0]?.id }, founder.header?.slice('Bearer '.length))
    },
    'Mutation.resetPassword': async () => {
      const { createPasswordReset } = await world.app.ask(
        'mutation ($userId: ID!) { createPasswordReset(userId: $userId) { token } }',
        { userId: world.bystander.id },
        founder.header?.slice('Bearer '.length),
      )
      await world.app.ask('mutation ($input: ResetPasswordInput!) { resetPassword(input: $input) }', {
        input: { token: createPasswordReset.token, newPassword: password },
      })
    },
    'Mutation.renameServiceAccount': async () => {
      const create = 'mutation { createServiceAccount(input: { name: "To rename", role: NONE }) { id } }'
      const userId = (await asFounder(create, {})).createServiceAccount.id
      const rename = 'mutation ($userId: ID!) { renameServiceAccount(userId: $userId, name: "Renamed") { id } }'
      await asFounder(rename, { userId })
    },
    'Mutation.createScimToken': () =>
      world.app.ask(
        'mutation { createScimToken(input: { name: "x" }) { token } }',
        {},
        founder.header?.slice('Bearer '.length),
      ),
    'Mutation.revokeScimToken': async () => {
      const token = founder.header?.slice('Bearer '.length)
      const [made] = (await world.app.ask('{ scimTokens { id } }', {}, token)).scimTokens
      await world.app.ask('mutation ($id: ID!) { revokeScimToken(id: $id) }', { id: made.id }, token)
    },
    'Mutation.createIssuer': async () => {
      const query = 'mutation ($input: CreateIssuerInput!) { createIssuer(input: $input) { id } }'
      const input = { name: 'Work', issuer: 'https://id.example.org', clientId: 'stowage', clientSecret: 'a secret' }
      issuerId = (await asFounder(query, { input })).createIssuer.id
    },
    'Mutation.updateIssuer': () => {
      const query = 'mutation ($input: UpdateIssuerInput!) { updateIssuer(input: $input) { id } }'
      return asFounder(query, { input: { id: issuerId, enabled: false } })
    },
    'Mutation.deleteIssuer': () => asFounder('mutation ($id: ID!) { deleteIssuer(id: $id) }', { id: issuerId }),
    'Mutation.changePassword': () =>
      world.app.ask(
        'mutation ($input: ChangePasswordInput!) { changePassword(input: $input) { expiresAt } }',
        { input: { currentPassword: password, newPassword: `${password} more` } },
        founder.header?.slice('Bearer '.length),
      ),
  }
  for (const [row, succeed] of Object.entries(others)) {
    const before = new Date()
    await succeed()
    await world.app.app.services.audit.flush()
    const { rows } = await sql`select 1 from audit_events where action = ${actionOf(row)} and result = 'OK'
      and at >= ${before} and user_id is not null
      and (credential_id is not null or action = 'PASSWORD_RESET')`.execute(world.app.db)
    t.equal(rows.length, 1, row)
    done.add(row)
  }
  const factors = [
    'Mutation.completeLogin',
    'Mutation.signInWithPasskey',
    'Mutation.confirmIdentity',
    'Mutation.addTotp',
    'Mutation.removeTotp',
    'Mutation.addPasskey',
    'Mutation.renamePasskey',
    'Mutation.removePasskey',
    'Mutation.createRecoveryCodes',
  ]
  // They need a second factor, a mail server, a push service, an issuer or a consent: see test/services/second-factors.test.ts, passkeys.test.ts,
  // mailed-resets.test.ts and push.test.ts there, test/http/*single-sign-on.test.ts and test/services/authorization.test.ts.
  const effects = rows.filter(row => isMutation(row) || hasEffect(row))
  t.same(
    effects.filter(row => !done.has(row)),
    [
      ...factors,
      'Mutation.createPushSubscription',
      'Mutation.updatePushSubscription',
      'Mutation.deletePushSubscription',
      'Mutation.testPushSubscription',
      'Mutation.linkIdentity',
      'Mutation.linkInvitedIdentity',
      'Mutation.unlinkIdentity',
      'Mutation.removeMemberIdentity',
      'Mutation.requestPasswordReset',
      'Mutation.authorizeProvider',
    ],
    'all others succeeded at least once',
  )
})
