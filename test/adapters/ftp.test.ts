import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { conformanceCases, type Harness } from '../../adapters/conformance/index.ts'
import { get, listAll, put } from '../../adapters/conformance/kit.ts'
import type { StorageProvider } from '../../adapters/contract.ts'
import type { FtpConfig } from '../../adapters/ftp/config.ts'
import { ftpAdapter } from '../../adapters/ftp/index.ts'
import { type FtpServer, startProftpd } from '../servers/proftpd.ts'
import { faults, runConformance, runFaultCases } from './conformance.ts'
import { impatientHost, sharingHost } from './host.ts'

// The server may need to be installed first.
t.setTimeout(300_000)

const server = await startProftpd(t, { more: 'AllowStoreRestart on' })
const folders = new Map<StorageProvider, string>()
const sharing = sharingHost(t)

function configOf({ host, port, user, password, fingerprint, security }: FtpServer): FtpConfig {
  const shared = { folder: '', connections: 8, continuesUploads: true }
  return { host, port, user, password, security, ...shared, ...(security !== 'none' && { fingerprint }) }
}

async function open(folder: string): Promise<StorageProvider> {
  const provider = await ftpAdapter.open({ ...configOf(server), folder }, sharing)
  folders.set(provider, folder)
  return provider
}

const harness: Harness = {
  async open() {
    const folder = `/p ${folders.size}`
    await mkdir(join(server.root, folder))
    return await open(folder)
  },
  reopen: provider => open(folders.get(provider) ?? ''),
  openFolder: (provider, path) => open(`${folders.get(provider)}/${path}`),
  manyEntries: 100,
  largeFileSize: 80_000_000,
}
runConformance('ftp', harness, [
  'hasCreateRaces in the harness',
  'parts of resumable writes',
  ...['copy', 'copySmall', 'deleteTree', 'openFile', 'readSmall', 'presign', 'quota'].map(name => `the method ${name}`),
  ...faults,
])

t.test('implicit TLS', async t => {
  const implicit = await startProftpd(t, { security: 'implicit' })
  const provider = await ftpAdapter.open(configOf(implicit), impatientHost)
  await put(provider, 'folder/file', 'content')
  await put(provider, 'empty', '')
  t.equal((await get(provider, 'folder/file')).toString(), 'content')
  t.same((await listAll(provider, '')).map(({ name }) => name).sort(), ['empty', 'folder'])
  await provider.close?.()
})

t.test('a server without TLS and without facts in listings', async t => {
  const plain = await startProftpd(t, { security: 'none', more: 'FactsAdvertise off' })
  const host = sharingHost(t)
  let count = 0
  const open = async () => {
    const folder = `/p ${count++}`
    await mkdir(join(plain.root, folder))
    return await ftpAdapter.open({ ...configOf(plain), folder, continuesUploads: false }, host)
  }
  const tried = /^(?:common file|odd file|listed entries|listing a|a missing path|a directory that|ranges|move: moves)/
  for (const { name, run } of conformanceCases({ open })) if (tried.test(name)) t.strictSame(await run(), {}, name)
})

t.test('a certificate that no authority has signed is shown, and another one is refused', async t => {
  const { fingerprint, ...config } = configOf(server)
  const shown = { code: 'INVALID_CONFIG', property: { name: 'fingerprint', suggestion: fingerprint } }
  await t.rejects(ftpAdapter.open(config, impatientHost), shown)
  await t.rejects(ftpAdapter.open({ ...config, fingerprint: '0'.repeat(64) }, impatientHost), {
    code: 'UNAVAILABLE',
    message: /another fingerprint/,
  })
})

t.test('wrong credentials and folders are told apart', async t => {
  const config = configOf(server)
  await t.rejects(ftpAdapter.open({ ...config, password: 'wrong' }, impatientHost), { code: 'UNAUTHORIZED' })
  const property = { name: 'folder' }
  await t.rejects(ftpAdapter.open({ ...config, folder: '/missing' }, impatientHost), {
    code: 'INVALID_CONFIG',
    property,
  })
  await t.rejects(ftpAdapter.open({ ...config, folder: '/../etc' }, impatientHost), {
    code: 'INVALID_CONFIG',
    property,
  })
})

t.test('a server that is down', async t => {
  await runFaultCases(t, harness, async () => {
    await server.stop()
    return () => server.start()
  })
})
