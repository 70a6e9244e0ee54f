/** A stored secret is only sent to the host that it was entered for, even if the configuration changes later. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { MemoryProvider } from '../../adapters/backends/memory/provider.ts'
import { type AdapterDefinition, StorageError } from '../../adapters/contract.ts'
import { builtInAdapters } from '../../adapters/index.ts'
import { startApp } from '../support/app.ts'
import { ConsentBrowser } from '../support/consent.ts'

const update = 'mutation ($input: UpdateProviderInput!) { updateProvider(input: $input) { status config } }'

/** Starts a server that records all requests. */
async function listener(t: Test) {
  const got: string[] = []
  const server = createServer(async (request, response) => {
    got.push(`${request.url} ${JSON.stringify(request.headers)} ${await text(request)}`)
    response.setHeader('content-type', 'application/json')
    response.end('{"access_token":"an access token","refresh_token":"the refresh token"}')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const address = server.address()
  return { url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`, got: () => got.join('\n') }
}

type Config = Record<'endpoint' | 'user' | 'password' | 'second' | 'folder', string>

/** An adapter whose author marked only `folder` as harmless for the secrets. */
const courier: AdapterDefinition<Config> = {
  type: 'courier',
  apiVersion: 1,
  title: 'Courier',
  configSchema: {
    type: 'object',
    properties: {
      endpoint: { type: 'string' },
      user: { type: 'string' },
      password: { type: 'string', writeOnly: true },
      second: { type: 'string', writeOnly: true },
      folder: { type: 'string', default: '/', keepsSecrets: true },
    },
    required: ['endpoint', 'password'],
  },
  async open({ endpoint, password, second }, host) {
    const headers = { authorization: password, ...(second && { 'x-second': second }) }
    await host.network.fetch(endpoint, { headers }).catch(cause => {
      throw new StorageError('UNAVAILABLE', 'The service does not respond.', { cause })
    })
    return new MemoryProvider(1000)
  },
}

t.test('a secret must be entered again if a change could send it to another host', async t => {
  const [own, other] = [await listener(t), await listener(t)]
  const app = await startApp(t, { adapters: [courier as unknown as AdapterDefinition] })
  const { token } = await app.register('owner@example.org')
  const password = 'the-stored-password'
  const given = { endpoint: own.url, user: 'me', password, second: 'the-second-secret' }
  const id = await app.connectProvider(token, 'courier', given)
  t.match(own.got(), password, 'the adapter sends it')
  const change = (config: object) => app.graphql(update, { input: { id, config } }, token)

  for (const config of [
    { endpoint: other.url },
    { endpoint: `${own.url}/` },
    { user: 'somebody' },
    { user: null },
    { endpoint: other.url, password: 'entered again' },
    { endpoint: other.url, folder: '/a', second: 'entered again' },
    { password: 'a new one' },
  ]) {
    const { errors } = await change(config)
    t.match(errors, [{ extensions: { code: 'BAD_USER_INPUT', reason: 'INVALID_CONFIG' } }], JSON.stringify(config))
  }
  t.equal(other.got(), '', 'nothing was sent to the other host')
  const { errors } = await change({ endpoint: other.url, second: null })
  t.match(errors, [
    { message: /"password" must be entered again.*"endpoint"/, extensions: { properties: ['password'] } },
  ])

  for (const config of [
    { folder: '/b' },
    { folder: null },
    { endpoint: own.url, user: 'me' },
    { password: 'a new one', second: 'the-second-secret' },
    { second: null, password: 'a newer one' },
    { user: null, password: 'the newest' },
  ]) {
    t.same((await change(config)).errors, [], JSON.stringify(config))
  }
  t.same((await change({ endpoint: other.url, password: 'for the other' })).errors, [])
  t.match(other.got(), 'for the other')
  t.notMatch(other.got(), new RegExp(`${password}|the newest|the-second-secret`))
  const named = await app.graphql(
    'mutation ($id: ID!) { updateProvider(input: { id: $id, name: "x" }) { name } }',
    { id },
    token,
  )
  t.same(named.errors, [], 'a rename needs no secret')
})

t.test('a consent ends if a change could send its tokens to another host', async t => {
  const [own, other] = [await listener(t), await listener(t)]
  const ask = async (url: string, network: { fetch: typeof fetch }, body: object) => {
    const response = await network.fetch(`${url}/token`, { method: 'POST', body: JSON.stringify(body) })
    const got = (await response.json()) as { access_token: string; refresh_token: string }
    // The token expires at once, so each use refreshes it.
    return { accessToken: got.access_token, refreshToken: got.refresh_token, expiresAt: new Date() }
  }
  type Consented = { vendor: string; folder: string }
  const adapter: AdapterDefinition<Consented> = {
    type: 'consented',
    apiVersion: 1,
    title: 'Consented',
    configSchema: {
      type: 'object',
      properties: { vendor: { type: 'string' }, folder: { type: 'string', keepsSecrets: true } },
      required: ['vendor'],
    },
    oauth: {
      authorizeUrl: ({ vendor }, { redirectUri, state }) =>
        new URL(`${vendor}/authorize?${new URLSearchParams({ redirect_uri: redirectUri, state })}`),
      exchange: ({ vendor }, query, network) => ask(vendor, network, query),
      refresh: ({ vendor }, refreshToken, network) => ask(vendor, network, { refreshToken }),
    },
    async open(_config, host) {
      const provider = new MemoryProvider(1000)
      const list = provider.list.bind(provider)
      provider.list = async (...args) => {
        await host.accessToken()
        return list(...args)
      }
      return provider
    },
  }
  const app = await startApp(t, { adapters: [adapter as AdapterDefinition] })
  const { token } = await app.register('owner@example.org')
  const { connectProvider } = await app.ask(
    'mutation ($input: ConnectProviderInput!) { connectProvider(input: $input) { authorizationUrl provider { id } } }',
    { input: { type: 'consented', name: 'Consented', config: { vendor: own.url } } },
    token,
  )
  const { id } = connectProvider.provider
  const consent = async (address: string) => {
    const browser = new ConsentBrowser()
    const { searchParams } = new URL(await browser.begin(address))
    return (await browser.open(`${searchParams.get('redirect_uri')}?code=c&state=${searchParams.get('state')}`)).status
  }
  t.equal(await consent(connectProvider.authorizationUrl), 200)
  const list = () =>
    app.graphql('query ($id: ID!) { folder(providerId: $id) { entries { nodes { name } } } }', { id }, token)
  t.same((await list()).errors, [])
  t.match(own.got(), 'the refresh token')

  const change = async (config: object) =>
    (await app.ask(update, { input: { id, config } }, token)).updateProvider.status
  t.equal(await change({ folder: 'a' }), 'CONNECTED')
  t.equal(await change({ vendor: other.url }), 'NEEDS_AUTHORIZATION')
  t.match((await list()).errors, [{ extensions: { reason: 'NEEDS_RECONNECT' } }])
  t.equal(other.got(), '', 'no token was sent to the other host')
  t.same(await app.db.selectFrom('provider_tokens').selectAll().execute(), [])
  t.equal(await change({ vendor: own.url }), 'NEEDS_AUTHORIZATION', 'and back')
  const { authorizeProvider } = await app.ask(
    'mutation ($id: ID!) { authorizeProvider(id: $id) { authorizationUrl } }',
    { id },
    token,
  )
  t.equal(await consent(authorizeProvider.authorizationUrl), 200)
  t.same((await list()).errors, [])
})

t.test('the built-in adapters name the properties that may change without their secrets', async t => {
  const kept = builtInAdapters({ localRoots: [], dataFolder: '/nowhere' }).map(({ type, configSchema }) => {
    const properties = Object.entries(configSchema.properties) as [string, { keepsSecrets?: boolean }][]
    return [type, properties.filter(([, { keepsSecrets }]) => keepsSecrets).map(([name]) => name)]
  })
  t.same(Object.fromEntries(kept), {
    local: [],
    // The endpoint or the region determines the host. The secret belongs to the access key ID.
    s3: ['bucket', 'prefix', 'forcePathStyle'],
    // The account and the endpoint determine the host, and the tokens belong to the directory and the application.
    'azure-blob': ['container', 'prefix'],
    // The hosts are always Google's. The secret and the consent belong to the client id.
    'google-drive': ['clientSecret', 'serviceAccountKey', 'driveId', 'rootFolderId'],
    // The hosts are always Dropbox's. The secret and the consent belong to the app key.
    dropbox: ['clientSecret', 'space', 'rootFolder'],
    // The hosts are always Microsoft's. The secret and the consent belong to the app and its tenant.
    onedrive: ['clientSecret', 'driveId', 'siteUrl', 'rootFolder'],
    // The address determines the server, and the secrets belong to the user.
    webdav: [],
    // The host and the port determine the server, and the secrets belong to the user.
    sftp: ['folder', 'connections'],
    ftp: ['folder', 'connections', 'continuesUploads'],
    memory: [],
  })
})
