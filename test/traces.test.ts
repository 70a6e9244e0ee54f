/** Traces for OpenTelemetry: `OTEL_EXPORTER_OTLP_ENDPOINT`. */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { CompiledQuery } from 'kysely'
import t, { type Test } from 'tap'
import { startExport } from '../src/tracing/index.ts'
import { createObserveJob, createObserveQuery, observeBackEndRequests } from '../src/tracing/instruments.ts'
import { databaseSettings } from './servers/postgres.ts'
import { s3Server } from './servers/radosgw.ts'
import { client, password } from './support/client.ts'
import { atNight, extent, isNight } from './support/extent.ts'
import { freePort } from './support/free-port.ts'
import { mainOfSources, startProgram, temporaryFolder } from './support/program.ts'
import { until } from './support/until.ts'

// It starts many servers.
t.setTimeout(300_000)

/** https://github.com/open-telemetry/opentelemetry-proto/blob/main/opentelemetry/proto/trace/v1/trace.proto */
interface ReceivedSpan {
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  kind: number
  startTimeUnixNano: string
  endTimeUnixNano: string
  attributes: { key: string; value: { stringValue?: string; intValue?: number | string } }[]
  status: { code?: number }
}

interface Export {
  resourceSpans: {
    resource: Pick<ReceivedSpan, 'attributes'>
    scopeSpans: { spans: ReceivedSpan[] }[]
  }[]
}

const kinds = { server: 2, client: 3 }

/** Receives OTLP over HTTP in JSON, and responds with `respond`. */
async function startCollector(
  t: Test,
  respond: (response: ServerResponse) => unknown = response => response.end('{}'),
) {
  const bodies: string[] = []
  const exported: Export['resourceSpans'] = []
  const headers: IncomingHttpHeaders[] = []
  const server = createServer(async (request, response) => {
    if (request.method !== 'POST' || request.url !== '/v1/traces') {
      response.writeHead(404).end()
      return
    }
    headers.push(request.headers)
    const body = await text(request)
    bodies.push(body)
    exported.push(...(JSON.parse(body) as Export).resourceSpans)
    respond(response)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    headers,
    received: () => bodies.join('\n'),
    resources: () => exported.map(({ resource }) => attributesOf(resource)),
    spans: (traceId?: string) =>
      exported
        .flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans))
        .filter(span => traceId === undefined || span.traceId === traceId),
  }
}

function attributesOf({ attributes }: Pick<ReceivedSpan, 'attributes'>): Record<string, string | number | undefined> {
  const entries = attributes.map(({ key, value }) => [key, value.stringValue ?? Number(value.intValue)] as const)
  return Object.fromEntries(entries)
}

async function startTraced(t: Test, endpoint: string, more: Record<string, string> = {}) {
  const data = await temporaryFolder(t)
  await mkdir(join(data, 'files'))
  const database = await databaseSettings(t)
  const environment = { ...database, PORT: '0', STOWAGE_DATA: data, OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, ...more }
  const server = await startProgram(t, { environment })
  const api = client(server.url)
  const { token } = await api.register('owner@example.org')
  const providerId = await api.connectProvider(token, 'local', { root: join(data, 'files') })
  return { server, api, token, providerId, files: join(data, 'files') }
}

/** The span of a caller, and its header. */
function newCaller(flags = '01') {
  const traceId = randomBytes(16).toString('hex')
  const spanId = randomBytes(8).toString('hex')
  return { traceId, spanId, headers: { traceparent: `00-${traceId}-${spanId}-${flags}` } }
}

/** Returns the names of a span and those above it. */
function pathOf(spans: readonly ReceivedSpan[], { name, parentSpanId }: ReceivedSpan): string[] {
  const parent = spans.find(({ spanId }) => spanId === parentSpanId)
  return parent ? [...pathOf(spans, parent), name] : [name]
}

const callMe = (init: RequestInit, query: string): RequestInit => ({
  ...init,
  method: 'POST',
  headers: { ...init.headers, 'content-type': 'application/json' },
  body: JSON.stringify({ query }),
})

/** The server of the tests that need no other settings. The last of them stops it. */
const collector = await startCollector(t)
const ownHeader = { OTEL_EXPORTER_OTLP_HEADERS: 'x-collector-key=of%20the%20operator' }
const traced = await startTraced(t, collector.address, ownHeader)

t.test('a download and a GraphQL call are traced from the request to the database and the back end', async t => {
  const { api, token, providerId } = traced
  await api.upload(token, providerId, '/a.bin', 'content')

  const [downloading, asking] = [newCaller(), newCaller()]
  // The first use of a key asks the database. Later requests find its rights in memory.
  const { key } = await api.createKey(token, { name: 'script', scopes: ['read'] })
  await (await api.download(key, providerId, '/a.bin', downloading.headers)).arrayBuffer()
  const asked = await api.request('/graphql', { ...callMe(asking, '{ me { id } providers { id } }'), token })
  await asked.text()

  for (const [{ traceId, spanId }, route, method] of [
    [downloading, '/api/download/proxy', 'GET'],
    [asking, '/graphql', 'POST'],
  ] as const) {
    const isRequest = ({ kind }: ReceivedSpan) => kind === kinds.server
    await until(() => collector.spans(traceId).some(isRequest))
    const spans = collector.spans(traceId)
    const ids = new Set(spans.map(span => span.spanId))
    const [request, ...others] = spans.filter(span => !ids.has(span.parentSpanId ?? ''))
    t.same(others, [], 'all spans are connected')
    t.equal(request?.parentSpanId, spanId, 'to the span of the caller')
    if (!request) continue
    t.equal(request.name, `${method} ${route}`)
    t.match(attributesOf(request), {
      'http.request.method': method,
      'http.route': route,
      'http.response.status_code': 200,
      'stowage.request_id': /^[\da-f-]{36}$/,
    })
    for (const span of spans) {
      const [begin, end] = [BigInt(span.startTimeUnixNano), BigInt(span.endTimeUnixNano)]
      t.ok(
        begin <= end && begin <= BigInt(request.endTimeUnixNano),
        `${span.name}: work that is left behind is not traced`,
      )
      t.not(span.status.code, 2, span.name)
    }
    const paths = spans.map(span => pathOf(spans, span).join(' > '))
    t.comment(`\n${paths.join('\n')}`)
    const expected =
      method === 'GET'
        ? [/^GET \S+ > credentials\.authenticate > select \w+$/, /^GET \S+ > files\.download > local\.\w+$/]
        : [/^POST \S+ > query me, providers$/, /^POST \S+ > query me, providers > providers\.\w+(?: > \w+ \w+)?$/]
    for (const pattern of expected)
      t.ok(
        paths.some(path => pattern.test(path)),
        String(pattern),
      )
  }
  const query = collector.spans(downloading.traceId).find(({ name }) => name.startsWith('select '))
  t.match(query && attributesOf(query), { 'db.system.name': 'postgresql', 'db.query.text': /^select .*\$1/s })
  const call = collector.spans(downloading.traceId).find(({ name }) => name.startsWith('local.'))
  t.match(call && attributesOf(call), { 'stowage.provider.id': providerId, 'stowage.provider.type': 'local' })
  t.match(collector.resources()[0], { 'service.name': 'stowage' })
})

t.test('the requests to a back end are traced', async t => {
  const s3 = await s3Server(t)
  const { api, token } = traced
  const { endpoint, region, accessKeyId, secretAccessKey } = s3
  const config = { endpoint, region, accessKeyId, secretAccessKey, bucket: await s3.newBucket(), forcePathStyle: true }
  const id = await api.connectProvider(token, 's3', config)
  t.equal((await api.upload(token, id, '/a.bin', 'content')).status, 201)
  const caller = newCaller()
  t.equal(await (await api.download(token, id, '/a.bin', caller.headers)).text(), 'content')
  await until(() => collector.spans(caller.traceId).some(({ kind }) => kind === kinds.server))
  const spans = collector.spans(caller.traceId)
  const sent = spans.filter(({ name }) => name === 'GET')
  t.ok(sent.length > 0)
  for (const span of sent) {
    t.match(pathOf(spans, span).join(' > '), /^GET \S+ > files\.download > s3\.\w+ > GET$/)
    t.match(attributesOf(span), { 'server.address': new URL(endpoint).hostname, 'http.response.status_code': 200 })
  }
  t.notMatch(collector.received(), secretAccessKey)
  t.notMatch(collector.received(), /X-Amz-|a\.bin/)
})

t.test('each job has a bounded trace of its own', async t => {
  const { server, api, token, providerId, files } = traced
  const [few, many] = [['a'], Array.from({ length: 500 }, (_, n) => `${n}`)]
  const create = 'mutation ($input: CreateJobInput!) { createJob(input: $input) { job { id } } }'
  for (const [name, folders] of Object.entries(extent({ gate: { few }, nightly: { few, many } }))) {
    await Promise.all(folders.map(folder => mkdir(join(files, name, folder), { recursive: true })))
    await Promise.all(folders.map(folder => writeFile(join(files, name, folder, 'file'), 'content')))
    const target = { providerId, path: `/copy of ${name}` }
    await mkdir(join(files, target.path))
    const input = { kind: 'COPY', sources: [{ providerId, path: `/${name}` }], target }
    const { id } = (await api.ask(create, { input }, token)).createJob.job
    const isRoot = (span: ReceivedSpan) => attributesOf(span)['stowage.job.id'] === id
    await until(() => collector.spans().some(isRoot))
    const root = collector.spans().find(isRoot)
    if (!root) continue
    t.match([root.name, root.parentSpanId ?? ''], ['job COPY', /^$/])
    t.match(attributesOf(root), { 'stowage.job.kind': 'COPY', 'stowage.job.state': 'SUCCEEDED' })
    const { 'stowage.request_id': requestId } = attributesOf(root)
    await until(() =>
      collector
        .spans()
        .some(span => span.kind === kinds.server && attributesOf(span)['stowage.request_id'] === requestId),
    )
    // A query can end after the job, so its span can arrive later.
    const count = () => collector.spans(root.traceId).length
    if (name === 'many') await until(() => count() >= 1001 || { spans: count(), output: server.output().slice(-2000) })
    const spans = collector.spans(root.traceId)
    const paths = spans.map(span => pathOf(spans, span).join(' > '))
    for (const pattern of [/^job COPY > local\.\w+/, /^job COPY > update \w+$/])
      t.ok(
        paths.some(path => pattern.test(path)),
        `${pattern}`,
      )
    t.same(
      paths.filter(path => !path.startsWith('job COPY')),
      [],
    )
    if (name === 'many') t.equal(spans.length, 1001)
  }
})

t.test('the requests that send spans are not part of a trace', async t => {
  const collector = await startCollector(t)
  const options = { endpoint: collector.address, ratio: 1, warn: (message: string) => t.fail(message) }
  const { tracer, close } = startExport(options)
  const stop = observeBackEndRequests(tracer)
  const observeQuery = createObserveQuery(tracer)
  const query = CompiledQuery.raw('select 1 from jobs')
  await createObserveJob(tracer)({ id: 'a', kind: 'COPY', requestId: null }, async () => {
    for (let sent = 0; sent < 600; sent++) observeQuery(query, 1)
    // The job itself has filled a batch, so it is sent within the job.
    await until(() => collector.spans().length >= 512)
    for (let sent = 0; sent < 600; sent++) observeQuery(query, 1)
    return 'SUCCEEDED'
  })
  await close()
  stop()
  t.equal(collector.spans().length, 1001)
})

t.test('spans contain no secrets, paths, tickets or content', async t => {
  // By day, the server of the other tests and all that it has sent.
  const named = isNight && (await startCollector(t))
  const { received, spans, headers, resources } = named || collector
  const more = { ...ownHeader, OTEL_SERVICE_NAME: 'files' }
  const { server, api, token, providerId } = named ? await startTraced(t, named.address, more) : traced
  const { key } = await api.createKey(token, { name: 'script', scopes: ['write'] })
  const path = '/folder-of-zebras/zebra-b.txt'
  await api.upload(key, providerId, path, 'content-of-the-zebra')
  await api.download(key, providerId, path)
  await api.download(key, providerId, '/missing-zebra.txt')
  await api.graphql('{ me { notAField } }', {}, token)
  await api.graphql('mutation { login(input: { email: "a@example.org", password: "a-guessed-password" }) { token } }')
  const { file } = await api.ask(
    'query ($id: ID!, $path: String!) { file(providerId: $id, path: $path) { downloadUrl } }',
    { id: providerId, path },
    token,
  )
  await (await fetch(file.downloadUrl)).arrayBuffer()
  await api.request('/files/folder-of-zebras')
  await api.request('/folder-of-zebras')
  const last = newCaller()
  await (await api.request('/healthz', { headers: last.headers })).text()
  await until(() => spans(last.traceId).length > 0)

  const ticket = new URL(file.downloadUrl).searchParams.get('ticket') ?? ''
  t.ok(ticket.length > 20)
  for (const secret of [token, key, ticket, password, 'a-guessed-password', 'zebra', 'example.org', 'notAField'])
    t.notOk(received().includes(secret), secret)
  const failed = spans().find(span => attributesOf(span)['error.type'] === 'NOT_FOUND')
  t.ok(failed, 'an error shows its reason')
  t.equal(headers[0]?.['x-collector-key'], 'of the operator')
  t.match(headers[0]?.['content-type'], 'application/json')
  if (!named) return
  t.match(resources()[0], { 'service.name': 'files' })
  t.equal(await server.stop(), 0)
})

atNight(t, 'the caller decides whether a request is traced', async t => {
  const collector = await startCollector(t)
  const { server, api } = await startTraced(t, collector.address, { OTEL_TRACES_SAMPLER_ARG: '0' })
  const [wanted, unwanted] = [newCaller(), newCaller('00')]
  const ask = async (headers: Record<string, string>) => (await api.request('/readyz', { headers })).text()
  await ask(unwanted.headers)
  await ask({ traceparent: 'malformed' })
  await ask({})
  await ask(wanted.headers)
  await until(() => collector.spans().some(({ kind }) => kind === kinds.server))
  t.same([...new Set(collector.spans().map(({ traceId }) => traceId))], [wanted.traceId])
  t.equal(await server.stop(), 0)
  t.same([...new Set(collector.spans().map(({ traceId }) => traceId))], [wanted.traceId])
})

atNight(t, 'every process sends its traces', async t => {
  const collector = await startCollector(t)
  const { server } = await startTraced(t, collector.address, { STOWAGE_PROCESSES: '2' })
  const callers = Array.from({ length: 20 }, () => newCaller())
  await Promise.all(
    callers.map(async ({ headers }) => {
      const response = await fetch(`${server.url}/healthz`, { headers: { ...headers, connection: 'close' } })
      return response.text()
    }),
  )
  const found = () => callers.filter(({ traceId }) => collector.spans(traceId).length > 0).length
  await until(() => found() === 20 || found())
  t.equal(await server.stop(), 0)
})

t.test('the last traces are sent when the server stops', async t => {
  const { server, api } = traced
  const last = newCaller()
  await (await api.request('/healthz', { headers: last.headers })).text()
  t.equal(await server.stop(), 0)
  t.equal(collector.spans(last.traceId).length, 1)
})

atNight(t, 'requests do not wait for a collector', async t => {
  const unreachable = `http://127.0.0.1:${await freePort()}`
  const hanging = await startCollector(t, () => {})
  const failing = await startCollector(t, response => response.writeHead(400).end())
  const endpoints = [hanging.address, unreachable, failing.address]
  for (const endpoint of endpoints) {
    const { server, api, token } = await startTraced(t, endpoint)
    const calls = Array.from({ length: 500 }, () => api.graphql('{ me { id } }', {}, token))
    t.same([...new Set((await Promise.all(calls)).map(({ status }) => status))], [200])
    await until(() => /Traces could not be sent to OTEL_EXPORTER_OTLP_ENDPOINT/.test(server.output()))
    t.equal((await api.request('/healthz')).status, 200)
    t.equal(await server.stop(), 0)
  }
})

/** Prints the modules of OpenTelemetry that the program loads. */
const recorder = `data:text/javascript,${encodeURIComponent(`
import { registerHooks } from 'node:module'
registerHooks({
  resolve(specifier, context, next) {
    const found = next(specifier, context)
    if (found.url.includes('/@opentelemetry/')) process.stdout.write('LOADED ' + found.url + '\\n')
    return found
  },
})`)}`

atNight(t, 'the libraries are loaded only if a collector is set', async t => {
  const collector = await startCollector(t)
  for (const endpoint of ['', collector.address]) {
    const data = await temporaryFolder(t)
    await mkdir(join(data, 'files'))
    const database = await databaseSettings(t)
    const environment = { ...database, PORT: '0', STOWAGE_DATA: data, OTEL_EXPORTER_OTLP_ENDPOINT: endpoint }
    const server = await startProgram(t, {
      environment,
      command: [process.execPath, '--import', recorder, mainOfSources],
    })
    const api = client(server.url)
    const { token } = await api.register('owner@example.org')
    const providerId = await api.connectProvider(token, 'local', { root: join(data, 'files') })
    await api.upload(token, providerId, '/a.bin', 'content')
    await (await api.download(token, providerId, '/a.bin', newCaller().headers)).text()
    t.equal(await server.stop(), 0)
    t.equal(server.output().includes('LOADED '), endpoint !== '', endpoint)
  }
})
