import t from 'tap'
import { parseConfig, type S3Config } from '../../adapters/backends/s3/config.ts'
import { conformanceCases, type Harness } from '../../adapters/conformance/index.ts'
import type { StorageProvider } from '../../adapters/contract.ts'
import { type Fault, faultProxy } from '../servers/fault-proxy.ts'
import { s3Server } from '../servers/radosgw.ts'
import { extent } from '../support/extent.ts'
import { faults, runConformance } from './conformance.ts'
import { configFor, openS3 } from './s3-provider.ts'

// The server may need to be installed first.
t.setTimeout(300_000)

const server = await s3Server(t)
const bucket = await server.newBucket()
const prefixes = new Map<StorageProvider, string>()

async function open(account = server, prefix = `p ${prefixes.size}`): ReturnType<typeof openS3> {
  const provider = await openS3(account, bucket, { config: { prefix } })
  prefixes.set(provider, prefix)
  return provider
}

const harness: Harness = {
  open,
  reopen: provider => open(server, prefixes.get(provider) ?? ''),
  openFolder: (provider, path) => open(server, `${prefixes.get(provider)}/${path}`),
  // s3-folders.test.ts lists more.
  manyEntries: extent({ gate: 200, nightly: 1100 }),
}
runConformance(t, 's3', harness, [
  'hasCreateRaces in the harness',
  // Ceph accepts headers that the signature does not cover: see s3-links.test.ts.
  'a PUT link, but presign returned null',
  // Listings do not have the time that a write was given.
  'the trait keepsModifiedAt',
  'the trait keepsReplaced',
  ...['copySmall', 'move', 'openFile', 'readSmall', 'setModifiedAt', 'quota', 'changes'].map(
    name => `the method ${name}`,
  ),
  // The faults are tested below.
  ...faults,
])

t.test('fileId has the same bucket for all endpoints of Amazon', async t => {
  const idOf = (changes: Partial<S3Config>) => parseConfig(configFor(server, 'bucket', changes)).storeId
  const amazon = idOf({ endpoint: '' })
  t.equal(idOf({ endpoint: 'https://s3.eu-central-1.amazonaws.com', region: 'eu-central-1' }), amazon)
  t.equal(idOf({ endpoint: 'https://s3.dualstack.us-east-1.amazonaws.com/', forcePathStyle: false }), amazon)
  t.not(idOf({ endpoint: '', region: 'cn-north-1' }), amazon, 'another partition has its own buckets')
  t.equal(idOf({ endpoint: 'http://Storage.Example:80/' }), idOf({ endpoint: 'http://storage.example' }))
  t.not(idOf({ endpoint: 'http://storage.example:8080' }), idOf({ endpoint: 'http://storage.example' }))
  t.not(idOf({ bucket: 'other' }), idOf({}))
  t.equal(idOf({ accessKeyId: 'other' }), idOf({}), 'an account can have several keys')
})

t.test('the fault cases pass behind a proxy', async t => {
  const proxy = await faultProxy(t, server.endpoint)
  const begin = (fault: Fault) => {
    proxy.fault = () => fault
    return () => {
      proxy.fault = undefined
    }
  }
  const xml = (code: string) => `<?xml version="1.0" encoding="UTF-8"?><Error><Code>${code}</Code></Error>`
  const faults = {
    expireCredentials: async () => begin({ answer: { status: 400, body: xml('ExpiredToken') } }),
    rateLimit: async (_: StorageProvider, { retryAfterMs }: { retryAfterMs: number }) =>
      begin({ answer: { status: 429, headers: { 'retry-after': String(retryAfterMs / 1000) } } }),
    unavailable: async () => begin({ answer: { status: 503, body: xml('ServiceUnavailable') } }),
  }
  const cases = conformanceCases({ open: () => open({ ...server, endpoint: proxy.endpoint }), faults })
  const tried = extent({ gate: 'faults: a back end that is down', nightly: 'faults:' })
  for (const { name, run } of cases.filter(({ name }) => name.startsWith(tried))) {
    t.test(name, async t => t.strictSame(await run(), {}))
  }
})
