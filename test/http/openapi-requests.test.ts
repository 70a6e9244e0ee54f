/**
 * Requests that are generated from `/openapi.json`: the server returns only what the document declares, and accepts exactly
 * the values that its schemas allow.
 */
import { Agent } from 'node:http'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { startApp, type TestApp } from '../support/app.ts'
import { extent } from '../support/extent.ts'
import { makeShare } from '../support/shares.ts'
import {
  type Described,
  type DescribedCall,
  type Parameter,
  type RawCall,
  readCalls,
  type Schema,
  type Sent,
  sendRaw,
} from './openapi.ts'
import { metadataHeader, tus, tusPath } from './tus.ts'

t.setTimeout(600_000)

const isThorough = process.env.MATRIX === 'all'
/** Returns the number of requests for each parameter of an operation. */
function runsOf(operationId: string): number {
  // Uploads by share links are the same code as those of members.
  if (operationId.endsWith('ToShare')) return extent({ gate: 3, nightly: 5 })
  if (isThorough) return 1000
  // A download has too many kinds of responses for a few requests, and few requests to the others succeed.
  const gate = { download: 50, appendToUpload: 8, storeConsoleSession: 8 }[operationId] ?? 4
  return extent({ gate, nightly: 50 })
}
const ajv = new Ajv2020({ strict: false })
formats.default(ajv)

interface World {
  app: TestApp
  agent: Agent
  providerId: string
  /** Credentials as headers, by name. */
  credentials: Readonly<Record<string, Record<string, string>>>
  /** A link to a file. */
  ticket: string
  /** A ticket for an archive. */
  jobId: string
  archiveTicket: string
  etag: string
  next(): number
  /** Puts the token of a share link into the path of an endpoint. */
  withLink(path: string): string
  /** Begins an upload below this path, whose size is not known yet, and resolves with its ID. */
  begin(collection: string): Promise<string>
  /** Deletes an upload, because one person and one share link can have only 100. */
  end(collection: string, id: string | undefined): Promise<void>
}

async function start(t: Test): Promise<World> {
  const app = await startApp(t, { settings: { logLevel: 'error' } })
  const agent = new Agent({ keepAlive: true })
  t.teardown(() => agent.destroy())
  const { token } = await app.register('owner@example.org')
  const providerId = await app.connectProvider(token, 'memory', {})
  await app.upload(token, providerId, '/folder/new', 'content of another file')
  const stored = await app.upload(token, providerId, '/folder/file', 'content of the file')
  await app.upload(token, providerId, picture, '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>')
  const { key: reader } = await app.createKey(token, { name: 'reader', scopes: ['read'] })
  const { key: writer } = await app.createKey(token, { name: 'writer', scopes: ['write'] })
  const { file } = await app.ask(
    'query ($id: ID!) { file(providerId: $id, path: "/folder/file") { downloadUrl } }',
    { id: providerId },
    token,
  )
  const { archiveTicket } = await app.ask(
    'query ($input: ArchiveTicketInput!) { archiveTicket(input: $input) }',
    { input: { providerId, paths: ['/folder/file'] } },
    token,
  )
  const copies = await app.connectProvider(token, 'memory', {}, 'copies')
  const { createJob } = await app.ask(
    'mutation ($input: CreateJobInput!) { createJob(input: $input) { job { id } } }',
    { input: { kind: 'KEEP_COPIES', sources: [providerId, copies].map(id => ({ providerId: id, path: '/folder' })) } },
    token,
  )
  await app.ask('mutation ($logo: String!) { updateWorkspace(input: { logo: $logo }) { id } }', { logo }, token)
  const view = await makeShare(app, token, { providerId, path: '/' })
  const drop = await makeShare(app, token, { providerId, path: '/', kind: 'DROP' })
  let count = 0
  const next = () => ++count
  return {
    app,
    agent,
    providerId,
    credentials: {
      session: { authorization: `Bearer ${token}` },
      writer: { authorization: `Bearer ${writer}` },
      reader: { authorization: `Bearer ${reader}` },
      cookie: { cookie: `stowage_session=${token}`, 'x-stowage-console': '1' },
      invalid: { authorization: `Bearer stw_${'0'.repeat(40)}` },
      none: {},
    },
    ticket: new URL(file.downloadUrl).searchParams.get('ticket') ?? '',
    archiveTicket,
    jobId: createJob.job.id,
    etag: stored.headers.get('etag') ?? '',
    next,
    withLink: path => path.replace('{token}', isDrop(path) ? drop.link : view.link),
    async begin(collection) {
      const headers = {
        'upload-defer-length': '1',
        'upload-metadata': metadataHeader({ providerId, path: `/uploads/${next()}` }),
      }
      const created = await tus({ url: app.url, token }, 'POST', collection, headers)
      return idIn(collection, created.headers.get('location') ?? '')
    },
    async end(collection, id) {
      if (id) await tus({ url: app.url, token }, 'DELETE', `${collection}/${id}`)
    },
  }
}

/** Returns the ID at the end of the address of an upload. */
const idIn = (collection: string, address: string) =>
  address.startsWith(`${collection}/`) ? address.slice(collection.length + 1) : ''

const reportPath = '/api/jobs/report'

/** A PNG image of one pixel. */
const logo = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

/** A file that has a thumbnail. */
const picture = '/folder/picture.svg'

const isTus = (path: string) => path.startsWith(tusPath) || path.includes('/uploads')
const isDrop = (path: string) => /\/(?:files|uploads)/.test(path)
/** The path below which an upload has its ID. */
const collectionOf = (path: string) => path.replace(/\/\{id\}.*$/, '').replace(/\?.*$/, '')

/** Repeats values that should be frequent. */
const often = (...values: string[]) => values.flatMap(value => [value, value, value, value])

const paths = [
  ...often('/folder/file', '/folder/new'),
  '/',
  '/folder',
  '/folder/file/below',
  '/missing/file',
  '/folder/../file',
  '/folder/#',
]

/** Values of parameters that only this server knows, or whose syntax is only in their description. */
function samples(world: World): Readonly<Record<string, readonly string[]>> {
  const { providerId, ticket, etag } = world
  const metadata = (path: string, more = {}) => metadataHeader({ providerId, path, ...more })
  const digest = 'sha-256=:LXEWQrcmsEQBYnypR6TP+kCVEcXHCbTnzqUBQ8Q2lpA=:'
  const etags = [etag, '"x"', '*', `W/${etag}, "y"`, 'malformed']
  const dates = ['Sun, 06 Nov 1994 08:49:37 GMT', 'Sat, 01 Jan 2050 00:00:00 GMT', 'today']
  return {
    providerId: [...often(providerId, providerId), '00000000-0000-4000-8000-000000000000', 'x'],
    path: paths,
    modifiedAt: [...often('2021-03-04T05:06:07.890Z'), '1969-12-31T23:59:59+01:00', '2021-13-01T00:00:00Z', 'today'],
    ticket: [ticket, 'unknown'],
    'Upload-Offset': [...often('0'), '3', '20000'],
    'Upload-Length': [...often('1', '7'), '0', '20000', '9007199254740991'],
    Range: [...often('bytes=0-3', 'bytes=100-'), 'bytes=2-', 'bytes=-4', 'bytes=0-1,4-5', 'bytes=x', 'lines=1-2'],
    'If-Range': [etag, ...dates],
    'If-Match': etags,
    'If-None-Match': etags,
    'If-Modified-Since': dates,
    'If-Unmodified-Since': dates,
    'Want-Content-Digest': ['sha-256=1', 'md5=3, sha-256=2', 'x'],
    'Want-Repr-Digest': ['sha-256=1', 'x'],
    'Content-Digest': [digest, 'sha-256=:AAAA:', 'x'],
    'Repr-Digest': [digest],
    'Upload-Metadata': [
      ...often(metadata('/uploads/new', { conflict: 'replace' }), metadata('/folder/file', { conflict: 'rename' })),
      metadata('/folder/file', { filetype: 'text/plain' }),
      metadata('relative'),
      'providerId',
      ',',
    ],
    'Upload-Checksum': ['sha1 EfatjsUqKYSRqv18O1FlA3hccPI=', 'sha1 AAAA', 'crc32 AAAA', 'x'],
    state: ['unknown'],
    code: ['x'],
  }
}

/** Text that is valid in a header. */
const headerText = fc.stringMatching(/^(?:[!-~](?:[ -~]{0,20}[!-~])?)?$/)

/** Generates values, most of which match the schema. */
function anyValue(
  { schema, name }: Parameter,
  known: Readonly<Record<string, readonly string[]>>,
): fc.Arbitrary<string> {
  return fc.oneof({ arbitrary: validValue(schema, known[name]), weight: 12 }, { arbitrary: headerText, weight: 1 })
}

function validValue(schema: Schema, known: readonly string[] | undefined): fc.Arbitrary<string> {
  if (known) return fc.constantFrom(...known)
  if (schema.const !== undefined) return fc.constant(String(schema.const))
  if (Array.isArray(schema.enum)) return fc.constantFrom(...schema.enum.map(String))
  if (schema.type === 'integer') return fc.oneof(fc.nat(5), fc.maxSafeNat()).map(String)
  if (typeof schema.pattern === 'string') return fc.stringMatching(new RegExp(schema.pattern))
  return headerText
}

const bodies = ['', 'x', 'content', 'x'.repeat(20_000)]

/** Bodies of types that have a structure. */
function structured({ providerId, archiveTicket }: World): Readonly<Record<string, readonly string[]>> {
  const selection = (...selected: unknown[]) => JSON.stringify({ providerId, paths: selected })
  return {
    'application/json': [
      ...often(selection('/folder/file', '/folder'), selection('/folder/file')),
      selection('/missing'),
      selection('relative'),
      selection(),
      selection(1),
      '{}',
      'null',
      '{',
    ],
    'application/x-www-form-urlencoded': [...often(`ticket=${archiveTicket}`), 'ticket=unknown', 'ticket=', ''],
  }
}

function form({ providerId }: World, name: string): string {
  const part = (head: string, body: string) => `--b\r\nContent-Disposition: form-data; ${head}\r\n\r\n${body}\r\n`
  const fields =
    part('name="providerId"', providerId) + part('name="path"', '/forms') + part('name="conflict"', 'rename')
  return `${fields}${part(`name="f"; filename="${name}"`, 'x')}--b--\r\n`
}

/** Generates requests of an operation. Required parameters are missing seldom, others often. */
function requests(world: World, { method, path, operation }: DescribedCall): fc.Arbitrary<RawCall & { who: string }> {
  const known = {
    ...samples(world),
    ...(path.endsWith('/thumbnail') && { path: [...often(picture, picture), ...paths] }),
    ...(path === reportPath && { id: [...often(world.jobId), 'x'] }),
  }
  const parameters = operation.parameters?.filter(parameter => parameter.in !== 'path') ?? []
  const given = parameters.map(parameter => {
    // Without an entry, most requests would end early.
    const isUsual = parameter.required || ['providerId', 'path'].includes(parameter.name)
    const value = { arbitrary: anyValue(parameter, known), weight: isUsual ? 30 : 1 }
    return fc.tuple(
      fc.constant(parameter),
      fc.oneof(value, { arbitrary: fc.constant(undefined), weight: isUsual ? 1 : 5 }),
    )
  })
  const types = Object.keys(operation.requestBody?.content ?? {}).flatMap(type =>
    type === '*/*' ? ['application/octet-stream', 'image/png', 'x'] : [type],
  )
  const isUpload = path.includes('{id}')
  return fc
    .record({
      given: fc.tuple(...given),
      who: fc.constantFrom(...Object.keys(world.credentials), ...Array(4).fill(['session', 'writer']).flat()),
      type: fc.constantFrom(undefined, ...often(...types)),
      pickedBody: fc.constantFrom(...bodies),
      pickedStructure: fc.nat(),
      name: fc.constantFrom('a', 'b/c', '..', ''),
      id: fc.constantFrom(...often('begun', 'begun'), 'unknown'),
    })
    .map(({ given, who, type, pickedBody, pickedStructure, name, id }) => {
      const known = type === undefined ? undefined : structured(world)[type]
      const body = known?.[pickedStructure % known.length] ?? pickedBody
      const of = (place: string) =>
        given.flatMap(([parameter, value]) =>
          parameter.in === place && value !== undefined ? [[parameter.name, value] as const] : [],
        )
      const isForm = type?.startsWith('multipart/form-data') ?? false
      const query = String(new URLSearchParams(of('query').map(([key, value]) => [key, value])))
      const address = world.withLink(path).replace('{id}', isUpload && id === 'begun' ? '{id}' : id)
      return {
        who,
        method,
        path: query === '' ? address : `${address}?${query}`,
        headers: {
          ...world.credentials[who],
          ...Object.fromEntries(of('header')),
          ...(type !== undefined && { 'content-type': isForm ? `${type}; boundary=b` : type }),
        },
        ...(operation.requestBody && { body: isForm ? form(world, name) : body }),
      }
    })
}

/** Headers that HTTP or `standard-headers.ts` adds to every response. */
const ofEvery = new Set(
  `access-control-expose-headers allow cache-control connection content-length content-security-policy content-type
  cross-origin-resource-policy date keep-alive referrer-policy transfer-encoding vary x-content-type-options`.split(
    /\s+/,
  ),
)

const compiled = new Map<Schema, ValidateFunction>()

function matches(schema: Schema, value: unknown): boolean {
  const known = compiled.get(schema) ?? ajv.compile(schema)
  compiled.set(schema, known)
  return known(value)
}

/** Returns the value of a header in the type of its schema. */
function parsed({ type }: Schema, text: string): unknown {
  return type === 'integer' && /^\d+$/.test(text) ? Number(text) : text
}

/** Returns what is wrong with a response, or null. */
function faultOf(operation: Described, method: string, { status, headers, body }: Sent): string | null {
  const declared = operation.responses[status]
  if (status >= 500) return 'an internal error'
  if (!declared) return 'the status is not declared'
  const names = new Map(Object.entries(declared.headers).map(([name, { schema }]) => [name.toLowerCase(), schema]))
  for (const [name, text] of Object.entries(headers)) {
    const schema = names.get(name)
    if (!schema && !ofEvery.has(name)) return `the header ${name} is not declared`
    if (schema && !matches(schema, parsed(schema, text))) return `the header ${name} is ${text}`
  }
  if (method === 'HEAD' || body.length === 0) return null
  const type = headers['content-type']?.split(';', 1)[0] ?? ''
  const content = declared.content?.[type] ?? declared.content?.['*/*']
  if (!content) return `the type ${type} is not declared`
  if (type !== 'application/json' || !content.schema) return null
  const value = JSON.parse(String(body))
  if (!matches(content.schema, value)) return JSON.stringify(compiled.get(content.schema)?.errors)
  const reason: string | undefined = value.errors?.[0].extensions.reason
  return reason === undefined || declared.description.split(', ').includes(reason) ? null : `the reason is ${reason}`
}

t.test('every response is one that the document declares', async t => {
  const world = await start(t)
  for (const call of await readCalls(world.app.url)) {
    const { operationId } = call.operation
    const statuses = new Map<number, number>()
    const send = async (request: RawCall) => {
      const collection = collectionOf(request.path)
      const id = request.path.includes('{id}') ? await world.begin(collection) : ''
      const path = request.path.replace('{id}', id)
      const response = await sendRaw(world.agent, world.app.url, { ...request, path })
      await world.end(collection, id || idIn(collection, response.headers.location ?? ''))
      statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1)
      const fault = faultOf(call.operation, call.method, response)
      if (fault) throw new Error(`${response.status}, ${fault}: ${String(response.body).slice(0, 300)}`)
    }
    await t.resolves(
      fc.assert(fc.asyncProperty(requests(world, call), send), {
        numRuns: runsOf(operationId) * (1 + (call.operation.parameters?.length ?? 0)),
        seed: 7,
        endOnFailure: true,
      }),
      `${call.method} ${call.path}`,
    )
    t.comment(`${operationId}: ${JSON.stringify(Object.fromEntries(statuses))}`)
    if (operationId === 'download')
      for (const status of [200, 206, 304, 412, 416]) t.ok(statuses.has(status), `${status}`)
    const succeeded = [...statuses.keys()].filter(status => status < 400)
    // These need a vendor, an issuer or LibreOffice: see consent.test.ts, single-sign-on.test.ts and test/nightly/renditions.test.ts.
    const needsOthers =
      /(?:Consent|SingleSignOn|IssuedSessions|[rR]endition|RenditionOfShared|renditionOfShared)$/.test(operationId)
    if (!needsOthers) t.ok(succeeded.length > 0, `${operationId} succeeds sometimes`)
  }
  t.notMatch(world.app.logged(), /"level":[56]0/)
})

/** A request that is accepted without the parameter to test, or with any valid value of it. */
function acceptable(world: World, { method, path, operation }: DescribedCall, name: string, id: string): RawCall {
  const { providerId } = world
  const isShare = path.startsWith('/api/share/')
  const query = new URLSearchParams(path.startsWith('/api/') && id === '' ? { providerId, path: '/folder/file' } : {})
  const headers: Record<string, string> = { ...world.credentials.session }
  if (isShare) query.delete('providerId')
  if (path === '/api/search') query.set('text', 'x')
  if (path === reportPath) {
    query.delete('providerId')
    query.delete('path')
    query.set('id', world.jobId)
  }
  if (path.endsWith('/entries')) query.set('path', '/folder')
  if (path.endsWith('{name}')) {
    query.delete('providerId')
    query.delete('path')
    query.set('ticket', world.ticket)
  }
  if (isTus(path)) {
    query.delete('providerId')
    query.delete('path')
    headers['tus-resumable'] = '1.0.0'
    headers['content-type'] = 'application/offset+octet-stream'
    headers['upload-metadata'] = metadataHeader({ providerId, path: `/exact/${world.next()}` })
    headers['x-http-method-override'] = 'PATCH'
    headers['upload-offset'] = '0'
    // A creation has either of the two.
    if (id === '' && name !== 'Upload-Length' && name !== 'Upload-Defer-Length') headers['upload-length'] = '1'
  } else if (operation.requestBody) {
    query.set('path', `/exact/${world.next()}`)
    headers['content-type'] = 'text/plain'
  }
  const body = operation.requestBody && !isTus(path) ? 'x' : operation.requestBody && ''
  return {
    method,
    path: `${world.withLink(path).replace('{id}', id)}${query.size > 0 ? `?${query}` : ''}`,
    headers,
    body,
  }
}

/** Whether a response refuses the value of this parameter for its form. */
function refuses({ status, body }: Sent, name: string): boolean {
  if (status < 400) return false
  const [error] = JSON.parse(String(body) || '{"errors":[]}').errors
  if (name === 'X-HTTP-Method-Override') return error?.extensions.reason === 'METHOD_NOT_ALLOWED'
  const isOfForm = ['INVALID_INPUT', 'PRECONDITION_FAILED'].includes(error?.extensions.reason)
  return isOfForm && error.message.includes(name) && / must | supports tus /.test(error.message)
}

const isExact = ({ const: only, enum: list, type, pattern }: Schema) =>
  only !== undefined || list !== undefined || type === 'integer' || /^\^.*\$$/.test(String(pattern ?? ''))

t.test('the server accepts exactly the values that a schema allows', async t => {
  const world = await start(t)
  const tested: string[] = []
  for (const call of await readCalls(world.app.url)) {
    for (const parameter of call.operation.parameters ?? []) {
      const { name, schema } = parameter
      // A response to HEAD does not say why.
      if (!isExact(schema) || call.method === 'HEAD') continue
      const near = validValue(schema, undefined).chain(value =>
        fc.constantFrom(value, `${value}x`, value.slice(1), value.slice(0, -1), `-${value}`, value.toUpperCase()),
      )
      const values = fc.oneof(validValue(schema, undefined), near, headerText).filter(value => value === value.trim())
      const send = async (value: string) => {
        const collection = collectionOf(world.withLink(call.path))
        const id = call.path.includes('{id}') ? await world.begin(collection) : ''
        const { headers, path, ...rest } = acceptable(world, call, name, id)
        const inQuery = `${path}${path.includes('?') ? '&' : '?'}${new URLSearchParams({ [name]: value })}`
        const sent = await sendRaw(world.agent, world.app.url, {
          ...rest,
          path: parameter.in === 'query' ? inQuery : path,
          headers: { ...headers, ...(parameter.in === 'header' && { [name.toLowerCase()]: value }) },
        })
        await world.end(collection, id || idIn(collection, sent.headers.location ?? ''))
        // The server reads the names of methods in any case.
        const read = name === 'X-HTTP-Method-Override' ? value.toUpperCase() : value
        const isAllowed = matches(schema, parsed(schema, read))
        if (refuses(sent, name) !== isAllowed) return
        throw new Error(`${JSON.stringify(value)} is ${isAllowed ? '' : 'not '}allowed: ${sent.status} ${sent.body}`)
      }
      const what = `${call.operation.operationId}: ${name}`
      tested.push(what)
      await t.resolves(
        fc.assert(fc.asyncProperty(values, send), {
          numRuns: runsOf(call.operation.operationId),
          seed: 8,
          endOnFailure: true,
        }),
        what,
      )
    }
  }
  t.ok(tested.length > 10, tested.join(', '))
})

t.test('the schema of a stored file names exactly what is returned', async t => {
  const world = await start(t)
  const calls = await readCalls(world.app.url)
  const { operation } = calls.find(({ operation }) => operation.operationId === 'upload') ?? {}
  const schema = operation?.responses[201]?.content?.['application/json']?.schema as { oneOf: Schema[] }
  const token = world.credentials.session?.authorization?.slice(7) ?? ''
  const stored = await (await world.app.upload(token, world.providerId, '/new', 'x')).json()
  t.same(Object.keys(schema.oneOf[0]?.properties ?? {}), Object.keys(stored))
})
