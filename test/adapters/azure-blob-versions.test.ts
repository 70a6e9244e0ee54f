/** An account that keeps versions. Azurite keeps none, so a proxy in front of it does what Microsoft documents. */
import t from 'tap'
import { at, call, has, pattern, put } from '../../adapters/conformance/kit.ts'
import { azureServer } from '../servers/azurite.ts'
import { blobVersions } from '../servers/blob-versions.ts'
import { faultProxy } from '../servers/fault-proxy.ts'
import { startApp } from '../support/app.ts'
import { atNight } from '../support/extent.ts'
import { azureConfigFor, openAzure } from './azure-provider.ts'
import { runVersionCases } from './conformance.ts'

const server = await azureServer(t)
const container = await server.newContainer()
const { endpoint, versions } = await blobVersions(t, container)
const account = { ...server, endpoint }
let count = 0
const open = (prefix = `p ${count++}`) => openAzure(account, container.containerName, { config: { prefix } })

runVersionCases(t, { open }, 1)

t.test('an account without versions shows none, and the question leaves nothing behind', async t => {
  const other = await openAzure(server, container.containerName, { config: { prefix: 'none' } })
  t.equal(other.versions, undefined)
  const blobs = []
  for await (const { name } of container.listBlobsFlat({ prefix: 'none' })) blobs.push(name)
  t.same(blobs, [])
  await other.close?.()
})

atNight(t, 'an outage does not switch versions off: the provider opens after it', async t => {
  const proxy = await faultProxy(t, endpoint)
  const reopen = () =>
    openAzure({ ...account, endpoint: proxy.endpoint + new URL(endpoint).pathname }, container.containerName)
  for (const status of [429, 500, 503]) {
    proxy.fault = ({ method }) => (method === 'PUT' ? { answer: { status } } : undefined)
    await t.rejects(reopen(), { code: /UNAVAILABLE|RATE_LIMITED/ })
  }
  proxy.fault = ({ method }) => (method === 'PUT' ? { answer: { status: 403 } } : undefined)
  const readOnly = await reopen()
  t.equal(readOnly.versions, undefined, 'credentials that only read do not say it')
  proxy.fault = ({ method }) => (method === 'DELETE' ? { answer: { status: 503 } } : undefined)
  const cluttered = await reopen()
  t.ok(cluttered.versions, 'a test blob that could not be deleted changes nothing')
  await Promise.all([readOnly.close?.(), cluttered.close?.()])
})

atNight(t, 'a large file is one version, and its parts leave none', async t => {
  const provider = await open('large')
  const bytes = pattern(2_500_000)
  for (const content of [bytes, 'short']) await put(provider, 'file', content, true)
  const { versions: found = [] } = (await provider.versions?.list(at('file'), { ...call(), limit: 10 })) ?? {}
  t.match(found, [{ size: bytes.length }])
  t.same(
    Object.keys(versions()).filter(name => name.startsWith('large')),
    ['large/file'],
  )
  await provider.versions?.restore?.(at('file'), found[0]?.id ?? '', call())
  await has(provider, 'file', bytes)
  await provider.close?.()
})

atNight(t, 'people list, read, restore and delete the versions of the account', async t => {
  const app = await startApp(t)
  const { token } = await app.register('owner@example.org')
  const config = azureConfigFor(account, container.containerName, { prefix: 'app' })
  const providerId = await app.connectProvider(token, 'azure-blob', config, 'Container')
  const traits = '{ providers { versions { count isNative isOneStep } } }'
  t.same((await app.ask(traits, {}, token)).providers, [{ versions: { count: 0, isNative: true, isOneStep: false } }])
  for (const content of ['1', '22', '333']) await app.upload(token, providerId, '/a.txt', content, '&conflict=replace')
  const query = `query ($id: ID!) { versions(providerId: $id, path: "/a.txt") { nodes { id size downloadUrl } } }`
  const list = async () => (await app.ask(query, { id: providerId }, token)).versions.nodes
  const [newer, older] = await list()
  t.same([newer.size, older.size, await (await fetch(older.downloadUrl)).text()], [2, 1, '1'])
  await app.ask('mutation ($id: ID!) { restoreVersion(input: { id: $id }) { path } }', { id: older.id }, token)
  await app.ask('mutation ($id: ID!) { deleteVersion(id: $id) }', { id: newer.id }, token)
  t.same(
    (await list()).map(({ size }: { size: number }) => size),
    [3, 1],
    'what was restored and the content before it',
  )
})
