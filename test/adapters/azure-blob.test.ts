import t from 'tap'
import { parseConfig } from '../../adapters/backends/azure-blob/config.ts'
import { conformanceCases, type Harness } from '../../adapters/conformance/index.ts'
import type { StorageProvider } from '../../adapters/contract.ts'
import { azureServer } from '../servers/azurite.ts'
import { type Fault, faultProxy } from '../servers/fault-proxy.ts'
import { extent } from '../support/extent.ts'
import { azureConfigFor, openAzure } from './azure-provider.ts'
import { faults, runConformance } from './conformance.ts'

const server = await azureServer(t)
const { containerName } = await server.newContainer()
const prefixes = new Map<StorageProvider, string>()

async function open(account = server, prefix = `p ${prefixes.size}`): ReturnType<typeof openAzure> {
  const provider = await openAzure(account, containerName, { config: { prefix } })
  prefixes.set(provider, prefix)
  return provider
}

const harness: Harness = {
  open,
  reopen: provider => open(server, prefixes.get(provider) ?? ''),
  openFolder: (provider, path) => open(server, `${prefixes.get(provider)}/${path}`),
  // This number is enough for several pages, and the emulator is slow.
  manyEntries: extent({ gate: 100, nightly: 200 }),
  largeFileSize: 80_000_000,
}
runConformance(t, 'azure-blob', harness, [
  'hasCreateRaces in the harness',
  // Only Microsoft's own service asks for a signature of the source of a copy: see azure-blob-access.test.ts.
  'a PUT link, but presign returned null',
  'the trait keepsReplaced',
  ...['copySmall', 'move', 'openFile', 'readSmall', 'setModifiedAt', 'quota', 'changes'].map(
    name => `the method ${name}`,
  ),
  // The faults are tested below.
  ...faults,
])

t.test('fileId is the same for all spellings of an account', async t => {
  const idOf = (changes: object) => parseConfig(azureConfigFor(server, 'team', { ...changes })).storeId
  const azure = idOf({ account: 'files', endpoint: '' })
  t.equal(idOf({ account: 'files', endpoint: 'https://files.blob.core.windows.net/' }), azure)
  t.equal(idOf({ account: 'files', endpoint: 'https://FILES.dfs.core.windows.net' }), azure)
  t.not(idOf({ account: 'files', endpoint: 'https://files.blob.core.chinacloudapi.cn' }), azure)
  t.not(idOf({ account: 'other', endpoint: '' }), azure)
  t.not(idOf({ account: 'files', endpoint: '', container: 'other' }), azure)
})

t.test('the fault cases pass behind a proxy', async t => {
  const proxy = await faultProxy(t, server.endpoint)
  const begin = (fault: Fault) => {
    proxy.fault = () => fault
    return () => {
      proxy.fault = undefined
    }
  }
  const refusal = (status: number, code: string, headers = {}) =>
    begin({ answer: { status, headers: { 'x-ms-error-code': code, ...headers } } })
  const faults = {
    expireCredentials: async () => refusal(403, 'AuthenticationFailed', { date: new Date().toUTCString() }),
    rateLimit: async (_: StorageProvider, { retryAfterMs }: { retryAfterMs: number }) =>
      refusal(503, 'ServerBusy', { 'retry-after': String(retryAfterMs / 1000) }),
    unavailable: async () => refusal(500, 'InternalError'),
  }
  const endpoint = proxy.endpoint + new URL(server.endpoint).pathname
  const cases = conformanceCases({ open: () => open({ ...server, endpoint }), faults })
  const tried = extent({ gate: 'faults: a back end that is down', nightly: 'faults:' })
  for (const { name, run } of cases.filter(({ name }) => name.startsWith(tried))) {
    t.test(name, async t => t.strictSame(await run(), {}))
  }
})
