import { randomBytes } from 'node:crypto'
import { request } from 'node:http'
import t from 'tap'
import { googleDriveAdapter } from '../../adapters/backends/google-drive/index.ts'
import { chunkSize } from '../../adapters/backends/google-drive/upload.ts'
import type { AdapterDefinition } from '../../adapters/contract.ts'
import { backoff, endpointsOf } from '../adapters/google-drive-world.ts'
import { startGoogleDrive } from '../servers/google-drive/index.ts'
import { startApp } from '../support/app.ts'
import { until } from '../support/until.ts'
import { digest, metadataHeader, send, type TusTarget, tus, tusPath } from './tus.ts'

t.test('an upload to Google Drive that was cut continues on another replica', async t => {
  const fake = await startGoogleDrive(t)
  const account = 'robot@fake.iam.gserviceaccount.com'
  const serviceAccountKey = fake.oauth.addServiceAccount(account)
  const rootFolderId = fake.addFolder(fake.store.rootOf(account), 'root', { owner: account }).id
  const adapters = [googleDriveAdapter({ endpoints: endpointsOf(fake), backoff }) as AdapterDefinition]
  const app = await startApp(t, { adapters })
  const replica = await app.replica()
  const { token } = await app.register('owner@example.org')
  const providerId = await app.connectProvider(token, 'google-drive', { serviceAccountKey, rootFolderId })
  const target: TusTarget = { url: app.url, token, metadata: { providerId, path: '/made/big.bin' } }
  const storedBytes = async () => {
    const rows = await app.db.selectFrom('upload_chunks').select('bytes').execute()
    return rows.reduce((sum, { bytes }) => sum + bytes.length, 0)
  }
  const begin = async (path: string, size: number) => {
    const metadata = metadataHeader({ ...target.metadata, path })
    const answer = await tus(target, 'POST', tusPath, { 'upload-length': `${size}`, 'upload-metadata': metadata })
    return answer.headers.get('location') ?? ''
  }
  const bytes = randomBytes(2 * chunkSize + 12_345)
  const path = await begin('/made/big.bin', bytes.length)
  const headers = {
    authorization: `Bearer ${token}`,
    'tus-resumable': '1.0.0',
    'upload-offset': '0',
    'content-type': 'application/offset+octet-stream',
    'content-length': bytes.length,
  }
  const sending = request(new URL(path, app.url), { method: 'PATCH', headers })
  sending.on('error', () => {})
  const sent = chunkSize + 1_000_000
  sending.write(bytes.subarray(0, sent))
  await until(() => fake.faults.count({ method: 'PUT', path: /upload_id/ }) >= 2)
  t.equal(await storedBytes(), 0, 'the database stores nothing while bytes arrive')
  sending.destroy()
  const other = { ...target, url: replica.url }
  const offset = Number((await tus(other, 'HEAD', path)).headers.get('upload-offset'))
  t.ok(offset >= chunkSize && offset <= sent, `offset ${offset}`)
  t.equal(await storedBytes(), offset - chunkSize, 'the database stores only the bytes after the last whole block')
  t.equal(fake.store.childrenOf(rootFolderId).length, 0, 'the file is not visible yet')

  // The responses are lost, so the client asks for the offset and continues.
  fake.faults.fail({ method: 'PUT', path: /upload_id/, reason: 'lost', executed: true, times: 8 })
  const done = await send(other, bytes, { uploadUrl: replica.url + path })
  t.equal(done.path, '/made/big.bin')
  t.equal(fake.faults.pending, 0, 'all planned responses were lost')
  const stored = await app.download(token, providerId, '/made/big.bin')
  t.equal(digest(Buffer.from(await stored.arrayBuffer())), digest(bytes))
  t.equal(await storedBytes(), 0)
  t.equal(fake.uploads.openSessions, 0)

  const terminated = await begin('/terminated.bin', bytes.length)
  const part = { 'upload-offset': '0' }
  t.equal((await tus(target, 'PATCH', terminated, part, bytes.subarray(0, chunkSize + 1))).status, 204)
  t.equal(fake.uploads.openSessions, 1)
  t.equal((await tus(target, 'DELETE', terminated)).status, 204)
  t.equal(fake.uploads.openSessions, 0, 'a terminated upload leaves no session')
  t.equal(fake.store.childrenOf(rootFolderId).length, 1)
})
