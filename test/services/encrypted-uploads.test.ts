/** Uploads to encrypted storages that continue, over back ends that take parts: their sizes differ from those of the content. */
import { randomBytes } from 'node:crypto'
import t from 'tap'
import { googleDriveAdapter } from '../../adapters/backends/google-drive/index.ts'
import { s3Adapter } from '../../adapters/backends/s3/index.ts'
import type { AdapterDefinition } from '../../adapters/contract.ts'
import { backoff, endpointsOf } from '../adapters/google-drive-world.ts'
import { configFor } from '../adapters/s3-provider.ts'
import { digest, send } from '../http/tus.ts'
import { startGoogleDrive } from '../servers/google-drive/index.ts'
import { s3Server } from '../servers/radosgw.ts'
import { startApp } from '../support/app.ts'
import { extent } from '../support/extent.ts'

t.setTimeout(300_000)

const connecting = 'mutation ($input: ConnectProviderInput!) { connectProvider(input: $input) { provider { id } } }'

t.test('an upload in several requests arrives as it is', async t => {
  const [s3, drive] = await Promise.all([s3Server(t), startGoogleDrive(t)])
  const account = 'robot@fake.iam.gserviceaccount.com'
  const serviceAccountKey = drive.oauth.addServiceAccount(account)
  const rootFolderId = drive.addFolder(drive.store.rootOf(account), 'root', { owner: account }).id
  const adapters = [s3Adapter, googleDriveAdapter({ endpoints: endpointsOf(drive), backoff })] as AdapterDefinition[]
  const app = await startApp(t, { adapters })
  const { token } = await app.register('owner@example.org')
  const size = extent({ gate: 12_000_000, nightly: 40_000_000 })
  const bytes = randomBytes(size)
  const all = { s3: configFor(s3, await s3.newBucket()), 'google-drive': { serviceAccountKey, rootFolderId } }
  for (const [type, config] of Object.entries(extent<Record<string, object>>({ gate: { s3: all.s3 }, nightly: all }))) {
    const input = { type, name: type, config, encryption: { password: 'correct horse' } }
    const { connectProvider } = await app.ask(connecting, { input }, token)
    const providerId: string = connectProvider.provider.id
    const target = { url: app.url, token, metadata: { providerId, path: '/folder/film' } }
    const sent = await send(target, bytes, { chunkSize: (size * 3) / 4, retryDelays: [] })
    t.equal(sent.path, '/folder/film', type)
    const found = await app.download(token, providerId, '/folder/film')
    t.equal(digest(Buffer.from(await found.arrayBuffer())), digest(bytes), type)
  }
})
