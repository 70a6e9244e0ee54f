/** Sends every hostile text to every input that takes a text. None may cause an internal error. */
import { readFile } from 'node:fs/promises'
import { request } from 'node:http'
import {
  buildSchema,
  type GraphQLArgument,
  type GraphQLInputField,
  type GraphQLInputType,
  getNamedType,
  isEnumType,
  isInputObjectType,
  isLeafType,
  isListType,
  isNonNullType,
} from 'graphql'
import { sql } from 'kysely'
import t from 'tap'
import { toAppError } from '../../src/errors.ts'
import { tusPath } from '../http/tus.ts'
import { runAll } from '../matrix/cells.ts'
import { startIssuer } from '../servers/oidc.ts'
import { startApp, type TestApp } from '../support/app.ts'
import { password } from '../support/client.ts'
import { openEvents } from '../support/events.ts'
import { extent } from '../support/extent.ts'
import { message, toolCall, toolOutcome } from '../support/mcp.ts'
import { makeShare } from '../support/shares.ts'
import { bytes, texts, triedAt } from './texts.ts'

t.setTimeout(300_000)

const schema = buildSchema(await readFile(new URL('../schema.graphql', import.meta.url), 'utf8'))
const textTypes = new Set(['String', 'ID', 'JSON'])

type Input = Pick<GraphQLArgument | GraphQLInputField, 'name' | 'type'>

/** The names that lead to a text, such as `input`, `providerAccess`, `restrictions`, `basePath`. */
type InputPath = readonly string[]

function pathsTo({ name, type }: Input, depth = 4): InputPath[] {
  const inner = getNamedType(type)
  if (textTypes.has(inner.name)) return [[name]]
  if (!isInputObjectType(inner) || depth === 0) return []
  return Object.values(inner.getFields()).flatMap(field => pathsTo(field, depth - 1).map(path => [name, ...path]))
}

interface World {
  app: TestApp
  token: string
  ids: Readonly<Record<string, string>>
  /** The tokens of share links, which have a password. */
  links: { view: string; drop: string }
  /** The token of a SCIM client, and a user of it. */
  scim: { token: string; user: string }
}

/** Returns a valid value for an input. */
function goodValue({ ids }: World, root: string, name: string): unknown {
  if (name === 'id' && /Group/.test(root)) return ids.group
  if (name === 'id') return /ApiKey|apiKey/.test(root) ? ids.key : /[pP]rovider/.test(root) ? ids.provider : ids.user
  const values: Record<string, unknown> = {
    providerId: ids.provider,
    toProviderId: ids.provider,
    userId: ids.member,
    groupId: ids.group,
    path: '/folder/file',
    paths: ['/folder/file'],
    toPath: '/folder/other',
    basePath: '/',
    name: 'a name',
    type: 'memory',
    config: {},
    email: 'nobody@example.org',
    password,
    currentPassword: password,
    newPassword: password,
    scopes: ['read'],
    role: 'VIEWER',
  }
  return values[name]
}

/** Builds an argument with a hostile text at `path` and valid values for the other required inputs. */
function filled(world: World, root: string, { name, type }: Input, path: InputPath | null, text: string): unknown {
  const wrap = (value: unknown) => (isList(type) && !Array.isArray(value) ? [value] : value)
  const inner = getNamedType(type)
  if (isInputObjectType(inner)) {
    const own = Object.values(inner.getFields()).flatMap(field => {
      const isHere = path?.[1] === field.name
      if (!isHere && !isNonNullType(field.type) && goodValue(world, root, field.name) === undefined) return []
      return [[field.name, filled(world, root, field, isHere ? (path?.slice(1) ?? null) : null, text)] as const]
    })
    return wrap(Object.fromEntries(own))
  }
  if (path) return wrap(inner.name === 'JSON' ? { [text]: text, root: text } : text)
  const good = goodValue(world, root, name)
  if (good !== undefined) return wrap(good)
  if (isEnumType(inner)) return wrap(inner.getValues()[0]?.name)
  return wrap(
    inner.name === 'DateTime' ? new Date(Date.now() + 3600_000).toISOString() : inner.name === 'Int' ? 1 : 'x',
  )
}

const isList = (type: GraphQLInputType): boolean => isListType(isNonNullType(type) ? type.ofType : type)

interface Case {
  what: string
  query: string
  variables: Record<string, unknown>
}

function cases(world: World): Case[] {
  let inputs = 0
  return [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()].flatMap(type =>
    Object.values(type?.getFields() ?? {}).flatMap(field =>
      field.args.flatMap(arg =>
        pathsTo(arg).flatMap(path =>
          triedAt(inputs++, texts).map(text => {
            const given = field.args.filter(each => each === arg || isNonNullType(each.type))
            const variables = Object.fromEntries(
              given.map(each => [each.name, filled(world, field.name, each, each === arg ? path : null, text)]),
            )
            const declared = given.map(({ name, type }) => `$${name}: ${type}`).join(', ')
            const passed = given.map(({ name }) => `${name}: $${name}`).join(', ')
            const leaf = isLeafType(getNamedType(field.type)) ? '' : '{ __typename }'
            const query = `${type?.name.toLowerCase()} (${declared}) { ${field.name}(${passed}) ${leaf} }`
            return { what: `${type?.name}.${[field.name, ...path].join('.')} ${describe(text)}`, query, variables }
          }),
        ),
      ),
    ),
  )
}

const describe = (text: string) => `${JSON.stringify(text.slice(0, 20))} (${text.length})`

async function start(t: Parameters<typeof startApp>[0]): Promise<World> {
  const issuer = await startIssuer(t)
  const oidc = { issuer: issuer.url, clientId: issuer.clientId, clientSecret: issuer.clientSecret, groupsClaim: null }
  const app = await startApp(t, { settings: { logLevel: 'warn', oidc } })
  issuer.register([`${app.url}/auth/oidc/callback`])
  const { token, id } = await app.register('owner@example.org')
  const provider = await app.connectProvider(token, 'memory', {})
  await app.upload(token, provider, '/folder/file', 'seed')
  const key = await app.createKey(token, { name: 'of the test', scopes: ['admin'] })
  const { createInvite } = await app.ask('mutation { createInvite(input: { role: EDITOR }) { invite } }', {}, token)
  const member = await app.register('member@example.org', createInvite)
  const group = 'mutation { createGroup(input: { name: "a group", role: VIEWER }) { group { id } } }'
  const { createGroup } = await app.ask(group, {}, token)
  const share = (kind: string) => makeShare(app, token, { providerId: provider, path: '/folder', kind, password })
  const [view, drop] = [await share('VIEW'), await share('DROP')]
  const links = { view: view.link, drop: drop.link }
  const { createScimToken } = await app.ask('mutation { createScimToken(input: { name: "x" }) { token } }', {}, token)
  const created = await app.request('/scim/v2/Users', {
    method: 'POST',
    headers: { authorization: `Bearer ${createScimToken.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ userName: 'scim@example.org' }),
  })
  const scim = { token: createScimToken.token, user: ((await created.json()) as { id: string }).id }
  return {
    app,
    token,
    scim,
    ids: { user: id, provider, key: key.id, member: member.id, group: createGroup.group.id },
    links,
  }
}

/** Resolves with the errors of a subscription, if it is refused. */
async function refusalOf(url: string, token: string, query: string, variables: Record<string, unknown>) {
  const stream = await openEvents(url, token, query, variables)
  await Promise.race([stream.ended, stream.first(() => true)])
  stream.close()
  return { status: stream.status, errors: stream.received.flatMap(({ errors = [] }) => errors) }
}

t.test('no text input of the GraphQL schema causes an internal error', async t => {
  const world = await start(t)
  const { app, token } = world
  const all = cases(world)
  t.ok(all.length > extent({ gate: 200, nightly: 1000 }), `${all.length} requests`)
  const reasons = new Map<string, number>()
  const wrong = await runAll(all, async ({ what, query, variables }) => {
    const { status, errors } = query.startsWith('subscription')
      ? await refusalOf(app.url, token, query, variables)
      : await app.graphql(query, variables, token)
    for (const { extensions } of errors) reasons.set(extensions.reason, (reasons.get(extensions.reason) ?? 0) + 1)
    if (errors.length === 0) reasons.set('OK', (reasons.get('OK') ?? 0) + 1)
    const fault = errors.find(({ extensions }) => extensions.code === 'INTERNAL_SERVER_ERROR')
    return fault || status >= 500 ? `${what}: ${status} ${JSON.stringify(fault)}` : null
  })
  t.comment(JSON.stringify(Object.fromEntries(reasons)))
  t.same(wrong.slice(0, 20), [])
  t.ok((reasons.get('OK') ?? 0) > 20, 'some requests were executed')
  t.notOk(reasons.has('INVALID_QUERY'), 'all documents were valid')
  await app.app.services.audit.flush()
  t.equal(app.logged(), '', 'all audit events were written')
})

/** Builds a REST request that contains these bytes in one input. */
interface Call {
  method: string
  path: string
  headers?: Record<string, string>
  body?: Buffer
}

const encoded = (text: Buffer) => [...text].map(byte => `%${byte.toString(16).padStart(2, '0')}`).join('')
/** Encodes bytes for a header: as Latin-1, without control characters. */
const headerText = (text: Buffer) =>
  text
    .toString('latin1')
    .replace(/[^\t\x20-\x7e\x80-\xff]/g, '?')
    .slice(0, 8192)

function restCalls({ ids, links, scim }: World): Record<string, (text: Buffer) => Call> {
  const type = { 'content-type': 'application/octet-stream' }
  const at = (more = '') => `providerId=${ids.provider}&path=/folder/file${more}`
  const upload = (query: string, headers: Record<string, string> = {}): Call => {
    return {
      method: 'POST',
      path: `/api/upload/proxy?${query}`,
      headers: { ...type, ...headers },
      body: Buffer.from('x'),
    }
  }
  const scimCall = (method: string, path: string, value?: object): Call => ({
    method,
    path: `/scim/v2${path}`,
    headers: { authorization: `Bearer ${scim.token}`, 'content-type': 'application/scim+json' },
    ...(value && { body: Buffer.from(JSON.stringify(value)) }),
  })
  const download = (headers: Record<string, string>): Call => ({
    method: 'GET',
    path: `/api/download/proxy?${at()}`,
    headers,
  })
  const tus = (more: Record<string, Buffer>, headers: Record<string, string> = {}): Call => {
    const good = { providerId: Buffer.from(ids.provider ?? ''), path: Buffer.from('/folder/new') }
    const pairs = Object.entries({ ...good, ...more }).map(([name, value]) => `${name} ${value.toString('base64')}`)
    const body = Buffer.from('x')
    const own = { 'tus-resumable': '1.0.0', 'upload-length': '1', 'content-type': 'application/offset+octet-stream' }
    return { method: 'POST', path: tusPath, headers: { ...own, 'upload-metadata': pairs.join(','), ...headers }, body }
  }
  const form = (parts: readonly (readonly [head: Buffer, body: Buffer])[]): Call => {
    const lines = parts.flatMap(([head, body]) => [
      '--b\r\nContent-Disposition: form-data; ',
      head,
      '\r\n\r\n',
      body,
      '\r\n',
    ])
    const body = Buffer.concat([...lines, '--b--\r\n'].map(each => Buffer.from(each as string)))
    return {
      method: 'POST',
      path: '/api/upload/proxy',
      headers: { 'content-type': 'multipart/form-data; boundary=b' },
      body,
    }
  }
  const withBody = ({ body, ...call }: ReturnType<typeof message>, more: Record<string, string>): Call => {
    return { ...call, headers: { ...call.headers, ...more }, body: Buffer.from(body) }
  }
  const shared = (
    method: string,
    link: string,
    endpoint: string,
    query = '',
    more: Record<string, string> = {},
  ): Call => ({
    method,
    path: `/api/share/${link}/${endpoint}?${query}`.replace(/\/\?/, '?'),
    headers: { 'stowage-share-password': password, ...more },
    ...(method === 'POST' && { body: Buffer.from('x') }),
  })
  const field = (name: string, value: Buffer) => [Buffer.from(`name="${name}"`), value] as const
  const fields = (over: Record<string, Buffer> = {}) =>
    Object.entries({
      providerId: Buffer.from(ids.provider ?? ''),
      path: Buffer.from('/folder'),
      conflict: Buffer.from('rename'),
      ...over,
    }).map(([name, value]) => field(name, value))
  const file = [Buffer.from('name="f"; filename="new"'), Buffer.from('x')] as const
  const named = (before: string, text: Buffer, after: string) =>
    Buffer.concat([Buffer.from(before), text, Buffer.from(after)])
  const archive = (body: Buffer, type = 'application/json'): Call => {
    return { method: 'POST', path: '/api/download/archive', headers: { 'content-type': type }, body }
  }
  const codeFields = { code: `stwc_${'0'.repeat(40)}`, code_verifier: 'x'.repeat(43), client_id: 'x' }
  const oauthForm = (endpoint: string, fields: Record<string, string | Buffer>): Call => ({
    method: 'POST',
    path: `/oauth/${endpoint}`,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: Buffer.from(
      Object.entries(fields)
        .map(([name, value]) => `${name}=${encoded(Buffer.from(value as string))}`)
        .join('&'),
    ),
  })
  const registration = (body: Buffer): Call => {
    return { method: 'POST', path: '/oauth/register', headers: { 'content-type': 'application/json' }, body }
  }
  const withHeader = (name: string) => ({
    [`download, header ${name}`]: (text: Buffer) => download({ [name]: headerText(text) }),
    [`upload, header ${name}`]: (text: Buffer) => upload(at('&conflict=rename'), { [name]: headerText(text) }),
    [`tus, header ${name}`]: (text: Buffer) => tus({}, { [name]: headerText(text) }),
  })
  const headers = `
    authorization cookie content-type content-encoding content-range content-digest repr-digest content-md5
    want-content-digest want-repr-digest if-match if-none-match if-modified-since if-unmodified-since if-range range
    idempotency-key x-request-id x-forwarded-for accept expect upload-checksum upload-length upload-offset upload-metadata
    upload-defer-length tus-resumable x-http-method-override accept-encoding x-stowage-console`
    .trim()
    .split(/\s+/)
  return {
    'download providerId': text => ({
      method: 'GET',
      path: `/api/download/proxy?path=/folder&providerId=${encoded(text)}`,
    }),
    'download path': text => ({
      method: 'GET',
      path: `/api/download/proxy?providerId=${ids.provider}&path=${encoded(text)}`,
    }),
    'download disposition': text => ({
      method: 'GET',
      path: `/api/download/proxy?${at()}&disposition=${encoded(text)}`,
    }),
    'download version': text => ({
      method: 'GET',
      path: `/api/download/proxy?${at()}&version=${encoded(text)}`,
    }),
    'download ticket': text => ({ method: 'GET', path: `/api/download/proxy?ticket=${encoded(text)}` }),
    'thumbnail providerId': text => ({
      method: 'GET',
      path: `/api/thumbnail?path=/folder&providerId=${encoded(text)}`,
    }),
    'thumbnail path': text => ({
      method: 'GET',
      path: `/api/thumbnail?providerId=${ids.provider}&path=${encoded(text)}`,
    }),
    'thumbnail size': text => ({ method: 'GET', path: `/api/thumbnail?${at()}&size=${encoded(text)}` }),
    'rendition providerId': text => ({
      method: 'GET',
      path: `/api/rendition?path=/folder&providerId=${encoded(text)}`,
    }),
    'rendition path': text => ({
      method: 'GET',
      path: `/api/rendition?providerId=${ids.provider}&path=${encoded(text)}`,
    }),
    'manifest language': text => ({ method: 'GET', path: `/manifest.webmanifest?language=${encoded(text)}` }),
    'logo version': text => ({ method: 'GET', path: `/api/logo?version=${encoded(text)}` }),
    'thumbnail ticket': text => ({ method: 'GET', path: `/api/thumbnail?ticket=${encoded(text)}` }),
    ...Object.fromEntries(
      'text providerId path kind type minSize maxSize modifiedAfter modifiedBefore tag content first after'
        .split(' ')
        .map(name => [
          `search ${name}`,
          (text: Buffer): Call => {
            const others = name === 'text' ? {} : { text: 'x', ...(name === 'path' && { providerId: ids.provider }) }
            const query = Object.entries(others).map(([other, value]) => `${other}=${value}&`)
            return { method: 'GET', path: `/api/search?${query.join('')}${name}=${encoded(text)}` }
          },
        ]),
    ),
    'report id': text => ({ method: 'GET', path: `/api/jobs/report?id=${encoded(text)}` }),
    'report format': text => ({ method: 'GET', path: `/api/jobs/report?id=x&format=${encoded(text)}` }),
    'archive body': text => archive(text),
    'archive providerId': text => archive(named('{"paths":["/folder"],"providerId":"', text, '"}')),
    'archive paths': text => archive(named(`{"providerId":"${ids.provider}","paths":["/folder","`, text, '"]}')),
    'archive form': text => archive(text, 'application/x-www-form-urlencoded'),
    'archive ticket': text => archive(Buffer.from(`ticket=${encoded(text)}`), 'application/x-www-form-urlencoded'),
    'a query parameter': text => ({ method: 'GET', path: `/api/download/proxy?${encoded(text)}=1` }),
    'upload providerId': text => upload(`path=/folder/new&providerId=${encoded(text)}`),
    'upload path': text => upload(`providerId=${ids.provider}&path=${encoded(text)}`),
    'upload conflict': text => upload(at(`&conflict=${encoded(text)}`)),
    'upload modifiedAt': text => upload(at(`&conflict=rename&modifiedAt=${encoded(text)}`)),
    'form providerId': text => form([...fields({ providerId: text }), file]),
    'form path': text => form([...fields({ path: text }), file]),
    'form conflict': text => form([...fields({ conflict: text }), file]),
    'form modifiedAt': text => form([...fields({ modifiedAt: text }), file]),
    'form field name': text => form([...fields(), [named('name="', text, '"'), Buffer.from('x')], file]),
    'form file name': text => form([...fields(), [named('name="f"; filename="', text, '"'), Buffer.from('x')]]),
    'form encoded file name': text =>
      form([...fields(), [named('name="f"; filename*=UTF-8\'\'', Buffer.from(encoded(text)), ''), Buffer.from('x')]]),
    'form part type': text =>
      form([...fields(), [named('name="f"; filename="n"\r\nContent-Type: ', text, ''), Buffer.from('x')]]),
    'form part type of an image': text =>
      form([...fields(), [named('name="f"; filename="n"\r\nContent-Type: image/', text, ''), Buffer.from('x')]]),
    'tus providerId': text => tus({ providerId: text }),
    'tus path': text => tus({ path: text }),
    'tus path in a folder': text => tus({ path: named('/folder/', text, '') }),
    'tus conflict': text => tus({ conflict: text }),
    'tus modifiedAt': text => tus({ modifiedAt: text }),
    'tus filetype': text => tus({ filetype: text }),
    'tus filetype of an image': text => tus({ filetype: named('image/', text, '') }),
    'tus filetype with a parameter': text => tus({ filetype: named('text/plain; charset="', text, '"') }),
    'tus filename': text => tus({ filename: text }),
    'tus id': text => ({ method: 'HEAD', path: `${tusPath}/${encoded(text)}`, headers: { 'tus-resumable': '1.0.0' } }),
    'graphql over GET': text => ({ method: 'GET', path: `/graphql?query=${encoded(text)}&variables=${encoded(text)}` }),
    'graphql operation': text => ({
      method: 'GET',
      path: `/graphql?query=%7B__typename%7D&operationName=${encoded(text)}`,
    }),
    'graphql body': text => ({
      method: 'POST',
      path: '/graphql',
      headers: { 'content-type': 'application/json' },
      body: text,
    }),
    'mcp body': text => ({ ...message('tools/list'), body: text }),
    'mcp tool': text => withBody(toolCall(text.toString('latin1'), {}), { 'mcp-name': headerText(text) }),
    'mcp method': text => withBody(message(text.toString('latin1')), { 'mcp-method': headerText(text) }),
    'mcp header method': text => withBody(message('tools/list'), { 'mcp-method': headerText(text) }),
    'mcp header version': text => withBody(message('tools/list'), { 'mcp-protocol-version': headerText(text) }),
    'mcp header accept': text => withBody(message('tools/list'), { accept: headerText(text) }),
    'mcp header origin': text => withBody(message('tools/list'), { origin: headerText(text) }),
    'share token': text => ({ method: 'GET', path: `/api/share/${encoded(text)}` }),
    'share password': text => shared('GET', links.view, '', '', { 'stowage-share-password': headerText(text) }),
    'share cookie': text => shared('GET', links.view, '', '', { cookie: `stowage_share=${headerText(text)}` }),
    'share list path': text => shared('GET', links.view, 'entries', `path=${encoded(text)}`),
    'share list first': text => shared('GET', links.view, 'entries', `first=${encoded(text)}`),
    'share list after': text => shared('GET', links.view, 'entries', `after=${encoded(text)}`),
    'share content path': text => shared('GET', links.view, 'content', `path=${encoded(text)}`),
    'share disposition': text => shared('GET', links.view, 'content', `path=/file&disposition=${encoded(text)}`),
    'share drop path': text => shared('POST', links.drop, 'files', `path=${encoded(text)}`),
    'share tus path': text =>
      shared('POST', links.drop, 'uploads', '', {
        'tus-resumable': '1.0.0',
        'upload-length': '1',
        'upload-metadata': `path ${text.toString('base64')}`,
      }),
    'share tus id': text => shared('HEAD', links.drop, `uploads/${encoded(text)}`, '', { 'tus-resumable': '1.0.0' }),
    'callback code': text => ({ method: 'GET', path: `/webhook/callback?state=x&code=${encoded(text)}` }),
    'callback state': text => ({ method: 'GET', path: `/webhook/callback?code=x&state=${encoded(text)}` }),
    'callback error': text => ({
      method: 'GET',
      path: `/webhook/callback?state=x&error=${encoded(text)}&error_description=${encoded(text)}`,
    }),
    'single sign-on issuer': text => ({ method: 'GET', path: `/auth/oidc/start?issuer=${encoded(text)}` }),
    'single sign-on fresh': text => ({ method: 'GET', path: `/auth/oidc/start?fresh=${encoded(text)}` }),
    'single sign-on test': text => ({ method: 'GET', path: `/auth/oidc/start?test=${encoded(text)}` }),
    'single sign-on next': text => ({ method: 'GET', path: `/auth/oidc/start?next=${encoded(text)}` }),
    'single sign-on link': text => ({ method: 'GET', path: `/auth/oidc/start?link=${encoded(text)}` }),
    'single sign-on invite': text => ({ method: 'GET', path: `/auth/oidc/start?invite=${encoded(text)}` }),
    'logout issuer': text => ({ method: 'GET', path: `/auth/oidc/frontchannel-logout?sid=x&iss=${encoded(text)}` }),
    'logout session': text => ({
      method: 'GET',
      path: `/auth/oidc/frontchannel-logout?iss=https://id.example.org&sid=${encoded(text)}`,
    }),
    'logout ticket': text => ({ method: 'GET', path: `/auth/oidc/logout?ticket=${encoded(text)}` }),
    'logout token': text => ({
      method: 'POST',
      path: '/auth/oidc/backchannel-logout',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: Buffer.from(`logout_token=${encoded(text)}`),
    }),
    ...Object.fromEntries(
      ['grant_type', 'code', 'code_verifier', 'client_id', 'redirect_uri', 'resource', 'scope'].map(name => [
        `oauth ${name}`,
        (text: Buffer) => oauthForm('token', { grant_type: 'authorization_code', ...codeFields, [name]: text }),
      ]),
    ),
    'oauth refresh token': text =>
      oauthForm('token', { grant_type: 'refresh_token', client_id: 'x', refresh_token: text }),
    'oauth revoked token': text => oauthForm('revoke', { token: text }),
    'oauth registration': text => registration(text),
    'oauth application name': text =>
      registration(named('{"redirect_uris":["https://example.org/"],"client_name":"', text, '"}')),
    'oauth redirect address': text => registration(named('{"redirect_uris":["https://example.org/', text, '"]}')),
    'oauth metadata': text => ({ method: 'GET', path: `/.well-known/oauth-protected-resource/${encoded(text)}` }),
    'single sign-on issuer in the path': text => ({
      method: 'GET',
      path: `/auth/oidc/callback/${encoded(text)}?code=x&state=y`,
    }),
    'single sign-on state': text => ({ method: 'GET', path: `/auth/oidc/callback?code=x&state=${encoded(text)}` }),
    'single sign-on cookie': text => ({
      method: 'GET',
      path: '/auth/oidc/callback?code=x&state=y',
      headers: { cookie: `stowage_sign_in=${headerText(text)}` },
    }),
    'scim filter': text => scimCall('GET', `/Users?filter=userName+eq+%22${encoded(text)}%22`),
    'scim whole filter': text => scimCall('GET', `/Groups?filter=${encoded(text)}&startIndex=1`),
    'scim id': text => scimCall('GET', `/Users/${encoded(text)}`),
    'scim userName': text =>
      scimCall('POST', '/Users', { userName: text.toString(), emails: [{ value: 'x@example.org' }] }),
    'scim email': text => scimCall('POST', '/Users', { userName: 'x', emails: [{ value: text.toString() }] }),
    'scim path': text =>
      scimCall('PATCH', `/Users/${scim.user}`, { Operations: [{ op: 'add', path: text.toString(), value: 'x' }] }),
    'scim value': text =>
      scimCall('PATCH', `/Users/${scim.user}`, {
        Operations: [{ op: 'add', value: { externalId: text.toString(), 'name.givenName': text.toString() } }],
      }),
    'scim group': text => scimCall('POST', '/Groups', { displayName: text.toString(), externalId: text.toString() }),
    'scim bytes': text => ({ ...scimCall('POST', '/Users'), body: text }),
    'document, header if-none-match': text => ({
      method: 'GET',
      path: '/openapi.json',
      headers: { 'if-none-match': headerText(text) },
    }),
    'a part of an address': text => ({ method: 'GET', path: `/assets/${encoded(text)}` }),
    ...Object.assign({}, ...headers.map(withHeader)),
  }
}

function send({ app, token }: World, { method, path, headers, body }: Call): Promise<{ status: number; text: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; text: string }>()
  const length = body ? { 'content-length': String(body.length) } : {}
  const all = { authorization: `Bearer ${token}`, ...length, ...headers }
  const sent = request(app.url + path, { method, headers: all }, response => {
    let text = ''
    response.on('data', chunk => (text += chunk)).on('error', reject)
    response.on('end', () => resolve({ status: response.statusCode ?? 0, text }))
  })
  sent.on('error', reject)
  sent.end(body)
  return promise
}

t.test('no text input of the REST routes causes an internal error', async t => {
  const world = await start(t)
  const all = Object.entries(restCalls(world)).flatMap(([what, call], index) =>
    triedAt(index, bytes).map(text => ({ what, text, call })),
  )
  const statuses = new Map<number, number>()
  const wrong = await runAll(all, async ({ what, text, call }) => {
    const { status, text: body } = await send(world, call(text)).catch(error => ({ status: 599, text: String(error) }))
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
    return status >= 500 ? `${what} ${describe(text.toString('latin1'))}: ${status} ${body.slice(0, 200)}` : null
  })
  t.comment(`${all.length} requests: ${JSON.stringify(Object.fromEntries(statuses))}`)
  t.same(wrong.slice(0, 20), [])
  t.ok((statuses.get(201) ?? 0) > extent({ gate: 25, nightly: 100 }), 'uploads with a harmless text are stored')
  await world.app.app.services.audit.flush()
  // The log may warn once about a header of a proxy.
  t.notMatch(world.app.logged(), /"level":[56]0/)
  for (const type of ['a\0b', 'image/\0', 'image', `image/${'x'.repeat(300)}`]) {
    const answer = await send(world, restCalls(world)['tus filetype']?.(Buffer.from(type)) as Call)
    t.equal(answer.status, 400)
    t.match(answer.text, /type of a file must be a media type/)
  }
})

t.test('no text argument of a tool causes an internal error', async t => {
  const world = await start(t)
  const { app, token, ids } = world
  const ask = async ({ path, ...call }: ReturnType<typeof message>) => {
    const response = await app.request(path, { ...call, token })
    return { status: response.status, text: await response.text() }
  }
  const { tools } = JSON.parse((await ask(message('tools/list'))).text).result
  const good: Record<string, string> = {
    providerId: ids.provider ?? '',
    toProviderId: ids.provider ?? '',
    path: '/folder/file',
    toPath: '/folder/other',
    jobId: ids.user ?? '',
    name: 'file',
    content: 'x',
    confirm: '/folder/file',
    conflict: 'RENAME',
  }
  interface Listed {
    name: string
    inputSchema: { properties: Record<string, { type?: string }>; required?: string[] }
  }
  const all = (tools as Listed[]).flatMap(({ name, inputSchema: { properties, required = [] } }) =>
    Object.keys(properties)
      .filter(argument => properties[argument]?.type === 'string')
      .flatMap((argument, index) => {
        const others = Object.fromEntries(required.map(each => [each, good[each]]))
        return triedAt(index, texts).map(text => ({ name, argument, args: { ...others, [argument]: text } }))
      }),
  )
  t.ok(all.length > extent({ gate: 45, nightly: 500 }), `${all.length} calls`)
  const wrong = await runAll(all, async ({ name, argument, args }) => {
    const { status, text } = await ask(toolCall(name, args))
    const { status: told } = toolOutcome(status, text)
    return status >= 500 || told >= 500 ? `${name} ${argument}: ${status} ${text.slice(0, 200)}` : null
  })
  t.same(wrong.slice(0, 20), [])
  await app.app.services.audit.flush()
  t.equal(app.logged(), '', 'all audit events were written')
})

t.test('a text that the database cannot store is an input error', async t => {
  const { app } = await start(t)
  for (const query of [sql`select ${'a\0b'}::text`, sql`select ${'"\\u0000"'}::jsonb ->> 0`]) {
    const error = await query.execute(app.db).catch(thrown => thrown)
    t.equal(toAppError(error).reason, 'INVALID_INPUT')
  }
})
