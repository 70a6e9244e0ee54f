import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { conformanceCases, type Harness } from '../../adapters/conformance/index.ts'
import type { StorageProvider } from '../../adapters/contract.ts'
import { parseConfig } from '../../adapters/ftp/config.ts'
import { openProvider } from '../../adapters/ftp/open.ts'
import { startProftpd } from '../servers/proftpd.ts'
import { faults, runConformance } from './conformance.ts'
import { silentHost } from './host.ts'

// The server may need to be installed first.
t.setTimeout(300_000)

const server = await startProftpd(t)
const folders = new Map<StorageProvider, string>()

async function open(folder: string): Promise<StorageProvider> {
  const { host, port, user, password, fingerprint } = server
  const config = { host, port, user, password, fingerprint, security: 'explicit' as const, connections: 8 }
  const provider = await openProvider(parseConfig({ ...config, folder }), silentHost)
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
}
runConformance(harness, [
  'hasCreateRaces in the harness',
  'partSize in the harness',
  'resumable writes',
  ...['copy', 'copySmall', 'deleteTree', 'openFile', 'readSmall', 'presign', 'quota'].map(name => `the method ${name}`),
  ...faults,
])

t.test('a server that is down', async t => {
  const unavailable = async () => {
    await server.stop()
    return () => server.start()
  }
  const cases = conformanceCases({ open: harness.open, faults: { unavailable } })
  for (const name of ['faults: a back end that is down', 'faults: an abort ends the wait']) {
    const found = cases.find(each => each.name.startsWith(name))
    t.strictSame(await found?.run(), {}, name)
  }
})
