/** The built-in adapters open connections only with the network of the host. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { Readable } from 'node:stream'
import t, { type Test } from 'tap'
import { azureBlobAdapter } from '../../adapters/backends/azure-blob/index.ts'
import { ftpAdapter } from '../../adapters/backends/ftp/index.ts'
import { googleDriveAdapter } from '../../adapters/backends/google-drive/index.ts'
import { Bucket, defaultLimits } from '../../adapters/backends/s3/client.ts'
import { parseConfig } from '../../adapters/backends/s3/config.ts'
import { openProvider, providerOf } from '../../adapters/backends/s3/provider.ts'
import { sftpAdapter } from '../../adapters/backends/sftp/index.ts'
import { webdavAdapter } from '../../adapters/backends/webdav/index.ts'
import { at, call } from '../../adapters/conformance/kit.ts'
import type { Host, StorageProvider } from '../../adapters/contract.ts'
import { createNetwork, isClosedAddress } from '../../src/storage/network/index.ts'
import { startGoogleDrive } from '../servers/google-drive/index.ts'
import { endpointsOf } from './google-drive-world.ts'
import { recordingHost } from './host.ts'

const closed: Host = {
  ...recordingHost(),
  network: createNetwork({ deny: ['127.0.0.0/8', '::1'] }),
  accessToken: async () => 'a token',
}

/** Returns the number of sockets that this process opened while `work` ran. */
async function socketsDuring(work: () => Promise<void>): Promise<number> {
  let count = 0
  const onSocket = () => {
    count += 1
  }
  subscribe('net.client.socket', onSocket)
  try {
    await work()
    return count
  } finally {
    unsubscribe('net.client.socket', onSocket)
  }
}

const mib = 1024 * 1024

/** Calls each method, once for each way in which it can send requests. */
function callsOf(provider: StorageProvider): Record<string, () => Promise<unknown>> {
  const [from, to] = [at('folder/a'), at('folder/b')]
  const body = (bytes: number) => Readable.from([Buffer.alloc(bytes)], { objectMode: false })
  const calls: Record<string, () => Promise<unknown>> = {
    stat: () => provider.stat(from, call()),
    list: () => provider.list(at('folder'), { ...call(), limit: 10 }),
    read: () => provider.read(from, call()),
    'a range': () => provider.read(from, { ...call(), range: { offset: 1, length: 2 } }),
    'a short write': () => provider.write(from, body(1), { ...call(), size: 1, overwrite: false }),
    'a long write': () => provider.write(from, body(40 * mib), { ...call(), size: 40 * mib, overwrite: true }),
    delete: () => provider.delete(from, call()),
    mkdir: () => provider.mkdir(from, { ...call(), exclusive: false }),
  }
  const { resumable } = provider
  if (provider.deleteTree) calls.deleteTree = async () => provider.deleteTree?.(from, call())
  if (provider.copy) calls.copy = async () => provider.copy?.(from, to, { ...call(), overwrite: true })
  if (provider.move) calls.move = async () => provider.move?.(from, to, { ...call(), overwrite: true })
  if (provider.quota) calls.quota = async () => provider.quota?.(call())
  if (resumable) calls.begin = () => resumable.begin(from, call())
  return calls
}

async function refusesAll(t: Test, calls: Record<string, () => Promise<unknown>>): Promise<void> {
  for (const [name, run] of Object.entries(calls)) {
    const error = await run().then(
      () => undefined,
      error => error,
    )
    t.equal(error?.name, 'StorageError', `${name}: ${error}`)
    t.ok(isClosedAddress(error), `${name} fails with a cause that says why`)
  }
}

t.test('diagnostics see the sockets of all clients', async t => {
  const fake = await startGoogleDrive(t)
  const open = recordingHost().network
  t.equal(await socketsDuring(async () => void (await fetch(fake.url))), 1)
  t.equal(await socketsDuring(async () => void (await open.fetch(fake.url))), 1)
})

for (const [name, endpoint] of Object.entries({ http: 'http://127.0.0.1:9', https: 'https://127.0.0.1:9' })) {
  t.test(`s3 over ${name}: every method`, async t => {
    const credentials = { accessKeyId: 'id', secretAccessKey: 'secret' }
    const base = { bucket: 'bucket', region: 'us-east-1', forcePathStyle: true, prefix: '', endpoint, ...credentials }
    const count = await socketsDuring(async () => {
      const settings = parseConfig(base)
      await refusesAll(t, { open: () => openProvider(settings, closed, defaultLimits) })
      // As when the address is closed after the opening.
      const provider = providerOf(new Bucket(settings, closed, defaultLimits), closed, undefined, false)
      await refusesAll(t, callsOf(provider))
      await provider.close()
    })
    t.equal(count, 0)
  })
}

t.test('google-drive: every method, consent and service accounts', async t => {
  const fake = await startGoogleDrive(t)
  const serviceAccountKey = fake.oauth.addServiceAccount('robot@example.com')
  const backoff = { first: 1, longest: 10, attempts: 3 }
  const adapter = googleDriveAdapter({ endpoints: endpointsOf(fake), backoff, trust: 0 })
  const { clientId, clientSecret } = fake.oauth
  const config = { clientId, clientSecret }
  const count = await socketsDuring(async () => {
    const provider = await adapter.open(config, closed)
    const code = { redirectUri: 'http://127.0.0.1:1/', code: 'code', codeVerifier: 'verifier' }
    await refusesAll(t, {
      ...callsOf(provider),
      exchange: async () => adapter.oauth?.exchange(config, code, closed.network),
      refresh: async () => adapter.oauth?.refresh(config, 'token', closed.network),
      'service account': () => adapter.open({ serviceAccountKey }, closed),
    })
    await provider.close?.()
  })
  t.equal(count, 0)
})

t.test('ftp, sftp and webdav: a closed address is refused before anything is sent', async t => {
  const server = { host: '127.0.0.1', user: 'someone', password: 'a password', folder: '', continuesUploads: false }
  const opens = {
    'explicit TLS': () => ftpAdapter.open({ ...server, security: 'explicit', connections: 3 }, closed),
    'implicit TLS': () => ftpAdapter.open({ ...server, security: 'implicit', connections: 3 }, closed),
    'no TLS': () => ftpAdapter.open({ ...server, security: 'none', connections: 3 }, closed),
    sftp: () => sftpAdapter.open({ ...server, port: 22, connections: 1 }, closed),
    'WebDAV over HTTP': () => webdavAdapter.open({ url: 'http://127.0.0.1/' }, closed),
    'WebDAV over HTTPS': () => webdavAdapter.open({ url: 'https://127.0.0.1/' }, closed),
  }
  t.equal(await socketsDuring(() => refusesAll(t, opens)), 0)
})

for (const protocol of ['http', 'https']) {
  t.test(`azure-blob over ${protocol}: open, every way of access, and consent`, async t => {
    const client = { tenantId: 'tenant', clientId: 'client', clientSecret: 'secret' }
    const base = { account: 'account', container: 'container', prefix: '', endpoint: `${protocol}://127.0.0.1:9` }
    const adapter = azureBlobAdapter({ authority: `${protocol}://127.0.0.1:10/` })
    const isSecure = protocol === 'https'
    const code = { redirectUri: 'http://127.0.0.1:1/', code: 'code', codeVerifier: 'verifier' }
    const count = await socketsDuring(() =>
      refusesAll(t, {
        key: () => adapter.open({ ...base, access: 'key', accountKey: 'a2V5' }, closed),
        sas: () => adapter.open({ ...base, access: 'sas', sas: 'sv=1&sig=2' }, closed),
        ...(isSecure && {
          application: () => adapter.open({ ...base, ...client, access: 'application' }, closed),
          person: () => adapter.open({ ...base, ...client, access: 'person' }, closed),
        }),
        exchange: async () => adapter.oauth?.exchange({ ...base, ...client, access: 'person' }, code, closed.network),
        refresh: async () => adapter.oauth?.refresh({ ...base, ...client, access: 'person' }, 'token', closed.network),
      }),
    )
    t.equal(count, 0)
  })
}
