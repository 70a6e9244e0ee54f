import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Client } from 'basic-ftp'
import t from 'tap'
import type { FtpConfig } from '../../adapters/backends/ftp/config.ts'
import { ftpAdapter } from '../../adapters/backends/ftp/index.ts'
import { conformanceCases, type Harness } from '../../adapters/conformance/index.ts'
import { at, bodyOf, call, get, listAll, namesIn, put } from '../../adapters/conformance/kit.ts'
import type { Call, Host, StorageProvider } from '../../adapters/contract.ts'
import { type FtpServer, startProftpd } from '../servers/proftpd.ts'
import { atNight } from '../support/extent.ts'
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
runConformance(t, 'ftp', harness, [
  'hasCreateRaces in the harness',
  'parts of resumable writes',
  'the trait keepsReplaced',
  ...['copy', 'copySmall', 'deleteTree', 'openFile', 'readSmall', 'setModifiedAt', 'presign', 'quota', 'changes'].map(
    name => `the method ${name}`,
  ),
  ...faults,
])

atNight(t, 'implicit TLS', async t => {
  const implicit = await startProftpd(t, { security: 'implicit' })
  const provider = await ftpAdapter.open(configOf(implicit), impatientHost)
  await put(provider, 'folder/file', 'content')
  await put(provider, 'empty', '')
  t.equal((await get(provider, 'folder/file')).toString(), 'content')
  t.same((await listAll(provider, '')).map(({ name }) => name).sort(), ['empty', 'folder'])
  await provider.close?.()
})

atNight(t, 'a server without TLS and without facts in listings', async t => {
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

/** @param after called after each command that the server has carried out */
function observingHost(after: () => void): Host {
  return {
    ...impatientHost,
    pool: options =>
      impatientHost.pool({
        ...options,
        async open(call) {
          const connection = await options.open(call)
          const client = connection as Client
          const { send } = client
          client.send = async command => {
            const response = await send.call(client, command)
            after()
            return response
          }
          return connection
        },
      }),
  }
}

atNight(t, 'a server that does not rename over files', async t => {
  const careful = await startProftpd(t, { overwrites: false })
  const [root, staging] = [careful.root, join(careful.root, '.stowage-staging')]
  const open = (host: Host) => ftpAdapter.open({ ...configOf(careful), continuesUploads: false }, host)
  const changes: Record<string, (provider: StorageProvider, call: Call) => Promise<unknown>> = {
    write: (provider, { signal }) => provider.write(at('file'), bodyOf('new'), { signal, overwrite: true }),
    move: async (provider, { signal }) => await provider.move?.(at('source'), at('file'), { signal, overwrite: true }),
  }
  for (const [name, change] of Object.entries(changes)) {
    await t.test(`a ${name} that is aborted while the replaced file is missing brings it back`, async t => {
      await writeFile(join(root, 'file'), 'old')
      await writeFile(join(root, 'source'), 'new')
      const aborter = new AbortController()
      const host = observingHost(() => {
        if (!existsSync(join(root, 'file'))) aborter.abort()
      })
      const provider = await open(host)
      await t.rejects(change(provider, aborter), { name: 'AbortError' })
      t.equal(await readFile(join(root, 'file'), 'utf8'), 'old')
      t.equal(await readFile(join(root, 'source'), 'utf8'), 'new')
      t.same(await readdir(staging), [])
      await provider.close?.()
    })

    await t.test(`a ${name} replaces a file`, async t => {
      const provider = await open(impatientHost)
      await change(provider, call())
      t.equal((await get(provider, 'file')).toString(), 'new')
      t.same(await namesIn(provider, ''), name === 'move' ? ['file'] : ['file', 'source'])
      t.same(await readdir(staging), [])
      await provider.close?.()
    })
  }
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

atNight(t, 'a server that is down', async t => {
  await runFaultCases(t, harness, async () => {
    await server.stop()
    return () => server.start()
  })
})
