/** The errors of a back end at a closed address, for those who connect it, use it or test it. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { type AdapterDefinition, StorageError, type StorageProvider } from '../../adapters/contract.ts'
import { builtInAdapters } from '../../adapters/index.ts'
import { startApp, type TestAppOptions } from '../support/app.ts'

const connect = 'mutation ($input: ConnectProviderInput!) { connectProvider(input: $input) { provider { id } } }'
const test = 'mutation ($id: ID!) { testProvider(id: $id) { status statusReason } }'

/** Connects to its address for each operation. */
const remote: AdapterDefinition<{ url: string }> = {
  type: 'remote',
  apiVersion: 1,
  title: 'Remote',
  configSchema: { type: 'object', properties: { url: { type: 'string' } }, required: ['url'] },
  async open({ url }, { network }) {
    const asked = async <T>(answer: T): Promise<T> => {
      await network.fetch(url).catch(cause => {
        throw new StorageError('UNAVAILABLE', 'The remote does not respond.', { cause })
      })
      return answer
    }
    const root = { name: '', kind: 'directory', size: null, modifiedAt: null, etag: null, mimeType: null } as const
    const never = async () => {
      throw new StorageError('PERMISSION_DENIED', 'The remote is only listed.')
    }
    const provider: StorageProvider = {
      traits: { emptyDirectories: true },
      stat: () => asked(root),
      list: () => asked({ entries: [] }),
      read: never,
      write: never,
      delete: never,
      mkdir: never,
    }
    return provider
  },
}

async function listen(t: Test): Promise<{ url: string; count: () => number }> {
  let count = 0
  const server = createServer((_, response) => {
    response.setHeader('connection', 'close').end()
  })
  server.on('connection', () => {
    count += 1
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => server.close())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, count: () => count }
}

t.test('a provider at a closed address cannot be connected', async t => {
  const app = await startApp(t, { settings: { deniedNetworks: ['127.0.0.0/8'] } })
  const { token } = await app.register('owner@example.org')
  const s3 = { bucket: 'bucket', region: 'us-east-1', accessKeyId: 'id', secretAccessKey: 'secret' }
  for (const endpoint of [
    'http://169.254.169.254/latest/meta-data',
    'https://0xa9fea9fe',
    'http://[::ffff:a9fe:aa02]',
    'http://2852039166:80/',
    'http://0.0.0.0:5432',
    app.url,
    `http://localhost:${new URL(app.url).port}`,
  ]) {
    const input = { type: 's3', name: endpoint, config: { ...s3, endpoint } }
    const { errors } = await app.graphql(connect, { input }, token)
    t.match(errors, [{ extensions: { code: 'BAD_USER_INPUT', reason: 'INVALID_CONFIG' } }], endpoint)
    t.match(errors[0]?.message, /closed to providers.*STOWAGE_ALLOW_NETWORKS/)
  }
  t.strictSame((await app.ask('{ providers { id } }', {}, token)).providers, [])
})

t.test('a connected provider whose address was closed later reports it only to administrators', async t => {
  const back = await listen(t)
  const options: TestAppOptions = {
    adapters: folder => [
      ...builtInAdapters({ localRoots: [folder], dataFolder: '/nowhere' }),
      remote as unknown as AdapterDefinition,
    ],
  }
  const before = await startApp(t, options)
  const { token } = await before.register('owner@example.org')
  const id = await before.connectProvider(token, 'remote', { url: back.url })
  const list = 'query ($id: ID!) { folder(providerId: $id, path: "/") { entries { nodes { name } } } }'
  t.strictSame((await before.ask(list, { id }, token)).folder.entries.nodes, [])
  options.settings = { deniedNetworks: ['127.0.0.0/8'] }
  const after = await before.replica()
  const reached = back.count()
  const { errors } = await after.graphql(list, { id }, token)
  t.match(errors, [{ extensions: { reason: 'UNAVAILABLE' } }])
  t.match(errors[0]?.message, /closed to providers: an administrator who tests it/)
  t.notMatch(errors[0]?.message, '127.0.0.1')
  t.match((await after.ask(test, { id }, token)).testProvider, {
    status: 'UNAVAILABLE',
    statusReason: /STOWAGE_ALLOW_NETWORKS/,
  })
  t.equal(back.count(), reached)
  t.match(after.logged(), '127.0.0.1 is closed to providers', 'the log names the address')
})
