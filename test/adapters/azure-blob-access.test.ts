/** Credentials, links, and the errors of Azure. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { ContainerSASPermissions } from '@azure/storage-blob'
import t, { type Test } from 'tap'
import { type AzureBlobConfig, parseConfig } from '../../adapters/backends/azure-blob/config.ts'
import { azureBlobAdapter } from '../../adapters/backends/azure-blob/index.ts'
import { openProvider } from '../../adapters/backends/azure-blob/provider.ts'
import { conformanceCases } from '../../adapters/conformance/index.ts'
import { at, call, get, has, namesIn, pattern, put, rejectsWith } from '../../adapters/conformance/kit.ts'
import { StorageError, type StorageErrorCode } from '../../adapters/contract.ts'
import { azureServer } from '../servers/azurite.ts'
import { faultProxy } from '../servers/fault-proxy.ts'
import { atNight } from '../support/extent.ts'
import { azureConfigFor, openAzure, smallLimits } from './azure-provider.ts'
import { recordingHost, silentHost } from './host.ts'

const server = await azureServer(t)
const container = await server.newContainer()
const { containerName } = container
const pathname = new URL(server.endpoint).pathname
const soon = () => new Date(Date.now() + 3_600_000)
const sasFor = async (permissions: string, expiresOn = soon()) =>
  new URL(await container.generateSasUrl({ permissions: ContainerSASPermissions.parse(permissions), expiresOn })).search

async function serve(
  t: Test,
  answer: (request: IncomingMessage, response: ServerResponse) => unknown,
): Promise<string> {
  const http = createServer(answer)
  await once(http.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => {
    http.close()
    http.closeAllConnections()
  })
  return `http://127.0.0.1:${(http.address() as AddressInfo).port}`
}

t.test('a shared access signature gives the access that it says', async t => {
  const open = async (sas: string) => {
    const config = azureConfigFor(server, containerName, { access: 'sas', sas, prefix: 'sas' })
    return await openProvider(parseConfig(config), silentHost, { ...smallLimits, authority: '' })
  }
  const provider = await open(await sasFor('racwdl'))
  const bytes = pattern(900_000)
  await put(provider, 'folder/file', bytes)
  await has(provider, 'folder/file', bytes)
  await provider.copy(at('folder/file'), at('copy'), { ...call(), overwrite: false })
  await provider.deleteTree(at('folder'), call())
  t.same(await namesIn(provider, ''), ['copy'])
  t.equal(await provider.presign(at('copy'), { ...call(), method: 'GET', expiresIn: 60 }), null)
  const reader = await open(await sasFor('rl'))
  await has(reader, 'copy', bytes)
  await t.rejects(put(reader, 'new', 'x'), { code: 'PERMISSION_DENIED', message: /racwdl/ })
  const expired = await sasFor('racwdl', new Date(Date.now() - 60_000))
  // Azure itself says AuthenticationFailed.
  await t.rejects(open(expired), { code: 'PERMISSION_DENIED', message: /what the credentials allow/ })
})

/** A service that issues tokens, and Azure behind a proxy that accepts the latest one. */
async function entra(t: Test) {
  const sas = (await sasFor('racwdl')).slice(1)
  const state = {
    issued: 0,
    grants: [] as URLSearchParams[],
    /** Answers instead of a token. */
    refusal: undefined as { status: number; error: string } | undefined,
    valid: '',
    authority: '',
  }
  state.authority = `${await serve(t, async (incoming, response) => {
    t.equal(incoming.url, '/tenant/oauth2/v2.0/token')
    state.grants.push(new URLSearchParams(await text(incoming)))
    const { status = 200, error } = state.refusal ?? {}
    response.writeHead(status, { 'content-type': 'application/json', 'retry-after': '7' })
    state.valid = `token ${++state.issued}`
    const tokens = { access_token: state.valid, refresh_token: `refresh ${state.issued}`, expires_in: 3600 }
    response.end(JSON.stringify(error ? { error, error_description: 'secret details' } : tokens))
  })}/`
  const endpoint = await serve(t, (incoming, response) => {
    const { authorization, ...headers } = incoming.headers
    if (authorization !== `Bearer ${state.valid}`) {
      incoming.resume()
      response.writeHead(401, { 'x-ms-error-code': 'InvalidAuthenticationInfo' }).end()
      return
    }
    const path = `${incoming.url}${incoming.url?.includes('?') ? '&' : '?'}${sas}`
    const copySource = headers['x-ms-copy-source'] && { 'x-ms-copy-source': `${headers['x-ms-copy-source']}` }
    const upstream = request(server.endpoint, { path, method: incoming.method, headers: { ...headers, ...copySource } })
    upstream.on('response', answer => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    })
    incoming.pipe(upstream)
  })
  const config: AzureBlobConfig = {
    account: server.account,
    container: containerName,
    access: 'application',
    tenantId: 'tenant',
    clientId: 'client',
    clientSecret: 'the secret',
    prefix: 'entra',
  }
  const open = (changes: Partial<AzureBlobConfig> = {}, host = silentHost) => {
    const settings = { ...parseConfig({ ...config, ...changes }), endpoint: new URL(`${endpoint}${pathname}/`) }
    return openProvider(settings, host, { ...smallLimits, authority: state.authority })
  }
  return { state, config, open }
}

t.test('an application gets tokens with its secret, and new ones when Azure refuses them', async t => {
  const { state, open } = await entra(t)
  const provider = await open()
  await put(provider, 'file', 'content')
  t.equal(state.grants.length, 1, 'requests share a token')
  t.same(Object.fromEntries(state.grants[0] ?? []), {
    client_id: 'client',
    client_secret: 'the secret',
    grant_type: 'client_credentials',
    scope: 'https://storage.azure.com/.default',
  })
  state.valid = 'another'
  await Promise.all([has(provider, 'file', 'content'), namesIn(provider, '')])
  t.equal(state.grants.length, 2)
  state.valid = 'another'
  const refusals: [number, string, StorageErrorCode, RegExp][] = [
    [401, 'invalid_client', 'UNAUTHORIZED', /client secret/],
    [400, 'unauthorized_client', 'UNAUTHORIZED', /both IDs/],
    [400, 'invalid_grant', 'NEEDS_RECONNECT', /connect it again/],
    [429, 'too_many', 'RATE_LIMITED', /no more requests/],
    [503, 'down', 'UNAVAILABLE', /try again/],
  ]
  for (const [status, error, code, message] of refusals) {
    state.refusal = { status, error }
    const failure = await namesIn(provider, '').catch(error => error)
    t.match(failure, { code, message, ...(code === 'RATE_LIMITED' && { retryAfterMs: 7000 }) }, error)
    t.notMatch(`${failure.stack}${failure.cause}`, /secret details|the secret/)
  }
})

atNight(t, 'a person gives consent, and is asked again when it ends', async t => {
  const { state, config, open } = await entra(t)
  const adapter = azureBlobAdapter({ authority: state.authority })
  const person: AzureBlobConfig = { ...config, access: 'person' }
  t.equal(adapter.oauth?.isNeeded?.(person), true)
  t.equal(adapter.oauth?.isNeeded?.(config), false)
  const query = { redirectUri: 'https://stowage.example/webhook/callback', state: 's', codeChallenge: 'c' }
  const url = adapter.oauth?.authorizeUrl(person, query)
  t.match(url?.href, /^http:\/\/127.0.0.1:\d+\/tenant\/oauth2\/v2.0\/authorize\?client_id=client&/)
  t.match(url?.searchParams.get('scope'), /user_impersonation offline_access/)
  const { network } = silentHost
  const code = { redirectUri: query.redirectUri, code: 'code', codeVerifier: 'verifier' }
  const tokens = await adapter.oauth?.exchange(person, code, network)
  t.match(tokens, { accessToken: 'token 1', refreshToken: 'refresh 1' })
  t.match(Object.fromEntries(state.grants[0] ?? []), { code: 'code', code_verifier: 'verifier' })
  t.match(await adapter.oauth?.refresh(person, 'refresh 1', network), { accessToken: 'token 2' })

  const asked: (string | undefined)[] = []
  let hasConsent = true
  const host = {
    ...recordingHost(),
    async accessToken({ rejected }: { rejected?: string } = {}) {
      asked.push(rejected)
      if (!hasConsent) throw new StorageError('NEEDS_RECONNECT', 'Give consent again.')
      return rejected === undefined ? 'token 2' : state.valid
    },
  }
  const provider = await open({ access: 'person' }, host)
  await put(provider, 'file', 'content', true)
  state.valid = 'token 3'
  await has(provider, 'file', 'content')
  t.ok(asked.includes('token 2'), 'a refused token is replaced')
  hasConsent = false
  await rejectsWith('NEEDS_RECONNECT', namesIn(provider, ''))
  await rejectsWith('NEEDS_RECONNECT', open({ access: 'person' }, host))
  state.refusal = { status: 400, error: 'invalid_grant' }
  const refreshed = Promise.resolve(adapter.oauth?.refresh(person, 'refresh 1', network))
  await t.rejects(refreshed, { code: 'NEEDS_RECONNECT' })
})

t.test('links', async t => {
  const open = async (prefix = `links ${Math.random()}`) => {
    // As at Azure itself, where write links are possible.
    const settings = { ...parseConfig(azureConfigFor(server, containerName, { prefix })), isAzure: true }
    return await openProvider(settings, silentHost, { ...smallLimits, authority: '' })
  }
  for (const { name, run } of conformanceCases({ open: () => open() })) {
    if (name.startsWith('presign: a write')) await t.test(name, async t => t.strictSame(await run(), {}))
  }
  const provider = await open('links')
  await put(provider, 'file', 'kept')
  await put(provider, 'beside', 'kept')
  const link = await provider.presign(at('file'), { ...call(), method: 'PUT', expiresIn: 60 })
  if (!link) throw new Error('there is no link')
  const send = async (method: string, change: (url: URL) => void, headers = {}) => {
    const url = new URL(link.url)
    change(url)
    const response = await fetch(url, {
      method,
      headers: { ...link.headers, ...headers },
      ...(method === 'PUT' && { body: 'x' }),
    })
    await response.arrayBuffer()
    return response.status
  }
  const beside = (url: URL) => {
    url.pathname = url.pathname.replace('file', 'beside')
  }
  t.equal(await send('PUT', beside), 403)
  t.equal(await send('GET', () => {}), 403)
  t.equal(await send('DELETE', () => {}), 403)
  t.equal(await send('GET', url => url.searchParams.set('comp', 'blocklist')), 403)
  t.equal(await send('PUT', url => url.searchParams.set('sp', 'racwd')), 403)
  t.equal(await send('PUT', url => url.searchParams.set('se', '2099-01-01T00:00:00Z')), 403)
  await has(provider, 'file', 'kept')
  await has(provider, 'beside', 'kept')
  t.equal(await send('PUT', () => {}), 201)
  await has(provider, 'file', 'x')
})

t.test('each error of Azure has a code and a sentence', async t => {
  const proxy = await faultProxy(t, server.endpoint)
  const provider = await openAzure({ ...server, endpoint: proxy.endpoint + pathname }, containerName, {
    limits: { backoff: { first: 10, longest: 100, attempts: 1 } },
  })
  const codes: [number, string, StorageErrorCode][] = [
    [403, 'AuthenticationFailed', 'UNAUTHORIZED'],
    [401, 'NoAuthenticationInformation', 'UNAUTHORIZED'],
    [403, 'KeyBasedAuthenticationNotPermitted', 'UNAUTHORIZED'],
    [403, 'AuthorizationFailure', 'PERMISSION_DENIED'],
    [403, 'AuthorizationPermissionMismatch', 'PERMISSION_DENIED'],
    [403, 'InsufficientAccountPermissions', 'PERMISSION_DENIED'],
    [403, 'AccountIsDisabled', 'PERMISSION_DENIED'],
    [404, 'ContainerNotFound', 'UNAVAILABLE'],
    [409, 'ContainerBeingDeleted', 'UNAVAILABLE'],
    [409, 'BlobImmutableDueToPolicy', 'PERMISSION_DENIED'],
    [409, 'BlobArchived', 'PERMISSION_DENIED'],
    [409, 'PendingCopyOperation', 'UNAVAILABLE'],
    [412, 'LeaseIdMissing', 'IN_USE'],
    [412, 'ConditionNotMet', 'PRECONDITION_FAILED'],
    [400, 'InvalidResourceName', 'INVALID_PATH'],
    [400, 'OutOfRangeInput', 'INVALID_PATH'],
    [400, 'Md5Mismatch', 'UNAVAILABLE'],
    [413, 'RequestBodyTooLarge', 'QUOTA_EXCEEDED'],
    [409, 'DirectoryNotEmpty', 'NOT_EMPTY'],
    [503, 'ServerBusy', 'RATE_LIMITED'],
    [429, 'TooManyRequests', 'RATE_LIMITED'],
    [500, 'OperationTimedOut', 'UNAVAILABLE'],
    [500, 'InternalError', 'UNAVAILABLE'],
    [507, '', 'QUOTA_EXCEEDED'],
    [400, 'Unheard', 'UNAVAILABLE'],
    [200, '', 'UNAVAILABLE'],
  ]
  for (const [status, code, expected] of codes) {
    proxy.fault = () => ({
      answer: { status, headers: { 'x-ms-error-code': code, 'x-ms-request-id': 'id' }, body: '<' },
    })
    const failure = await namesIn(provider, '').catch(error => error)
    t.match(failure, { name: 'StorageError', code: expected, message: /^[A-Z1].*\.$/ }, `${status} ${code}`)
    if (status !== 200) t.match(failure.cause, { requestId: 'id', code })
  }
  proxy.fault = undefined
})

t.test('a clock that differs is corrected for', async t => {
  const proxy = await faultProxy(t, server.endpoint)
  const provider = await openAzure({ ...server, endpoint: proxy.endpoint + pathname }, containerName)
  const theirs = Date.now() + 3_600_000
  const dates: number[] = []
  proxy.fault = ({ headers }) => {
    dates.push(Math.round((Date.parse(String(headers['x-ms-date'])) - theirs) / 60_000))
    const answer = {
      status: 403,
      headers: { 'x-ms-error-code': 'AuthenticationFailed', date: new Date(theirs).toUTCString() },
    }
    return dates.length === 1 ? { answer } : undefined
  }
  await put(provider, 'file', 'content')
  await has(provider, 'file', 'content')
  t.equal(dates[0], -60)
  t.equal(dates.at(-1), 0)
})

t.test('a configuration that cannot work says what to change', async t => {
  const base = azureConfigFor(server, containerName)
  const wrong: [Partial<AzureBlobConfig>, RegExp][] = [
    [{ accountKey: '' }, /needs the account key/],
    [{ accountKey: 'not base64!' }, /key is not complete/],
    [{ access: 'sas' }, /needs the shared access signature/],
    [{ access: 'sas', sas: '?sv=2023-11-03' }, /signature is not complete/],
    [{ access: 'application' }, /needs the directory/],
    [{ access: 'person', tenantId: 't' }, /needs the application/],
    [{ access: 'person', tenantId: 't', clientId: 'c' }, /needs the client secret/],
    [{ access: 'application', tenantId: 't', clientId: 'c', clientSecret: 's' }, /https:/],
    [{ endpoint: 'http://user@host/' }, /endpoint is an address/],
    [{ endpoint: 'ftp://host/' }, /endpoint is an address/],
    [{ prefix: '../up' }, /folder in the container/],
    [{ prefix: 'dot./x' }, /folder in the container/],
    [{ prefix: 'back\\slash' }, /folder in the container/],
    [{ container: 'no-such-container' }, /no container "no-such-container"/],
  ]
  for (const [changes, message] of wrong) {
    const opened = azureBlobAdapter().open({ ...base, ...changes }, silentHost)
    await t.rejects(opened, { code: 'INVALID_CONFIG', message }, JSON.stringify(changes))
  }
  const other = azureBlobAdapter().open({ ...base, accountKey: Buffer.from('other').toString('base64') }, silentHost)
  await t.rejects(other, { code: 'PERMISSION_DENIED', message: /what the credentials allow/ })
  const down = openAzure({ ...server, endpoint: 'http://127.0.0.1:9/' }, containerName)
  await t.rejects(down, { code: 'UNAVAILABLE', message: /nothing listens there/ })
  const provider = await openAzure(server, containerName, { config: { prefix: '/sas/' } })
  t.equal((await get(provider, 'copy')).length, 900_000)
})
