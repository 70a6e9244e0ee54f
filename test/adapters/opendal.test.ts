/** The package for OpenDAL, installed like an operator does, with four services on real servers. */
import { randomUUID } from 'node:crypto'
import t from 'tap'
import type { Harness } from '../../adapters/conformance/index.ts'
import { namesIn, put } from '../../adapters/conformance/kit.ts'
import type { StorageProvider } from '../../adapters/contract.ts'
import { azureServer } from '../servers/azurite.ts'
import { s3Server } from '../servers/radosgw.ts'
import { startRclone } from '../servers/webdav.ts'
import { atNight } from '../support/extent.ts'
import { temporaryFolder } from '../support/program.ts'
import { faults, runChosenCases, runConformance } from './conformance.ts'
import { recordingHost, silentHost } from './host.ts'
import { installOpendal } from './opendal-package.ts'

// The servers may need to be installed first.
t.setTimeout(300_000)

const folder = await temporaryFolder(t)
const { adapter } = await installOpendal(folder)
process.env.OPENDAL_SERVICES = 'fs, webdav,azblob,s3'

/** @param options those of the service without the root; the harness adds a new one for each case */
function harnessFor(service: string, options: Record<string, string>, base = ''): Harness {
  const roots = new Map<StorageProvider, string>()
  const open = async (root: string) => {
    const provider = await adapter.open({ service, options: JSON.stringify({ ...options, root }) }, silentHost)
    roots.set(provider, root)
    return provider
  }
  return {
    open: () => open(`${base}/${randomUUID()}`),
    reopen: provider => open(roots.get(provider) ?? ''),
    openFolder: (provider, path) => open(`${roots.get(provider)}/${path}`),
    refuses: name => name !== name.trim(),
    manyEntries: 100,
    largeFileSize: 80_000_000,
  }
}

const lacks = ['openFile', 'readSmall', 'setModifiedAt', 'copySmall', 'move', 'quota', 'presign', 'changes'].map(
  name => `the method ${name}`,
)
const lacksOfDisk = [
  'hasCreateRaces in the harness',
  'partSize in the harness',
  'resumable writes',
  'the trait keepsModifiedAt',
  'the trait keepsReplaced',
  ...lacks,
  ...faults,
]
runConformance(t, null, harnessFor('fs', {}, folder), lacksOfDisk, 3)

/** Cases whose result depends on the service. */
const varied =
  /^(?:round trip of (?:0|1048577)|ranges|ifMatch|no two contents|listed|a walk that moves|common|odd|exactly|all of 20|a body that fails|a write |a missing|mkdir|fileId|modifiedAt|copy|deleteTree)\b/

atNight(t, 'the service webdav on rclone', async t => {
  const { url, user, password } = await startRclone(t)
  const harness = harnessFor('webdav', { endpoint: url, username: user, password })
  // rclone removes a file before it moves another one there.
  await runChosenCases(t, harness, varied, /readers see only whole files/)
  const provider = await harness.open()
  const maxFileSize = provider.traits.maxFileSize ?? Number.POSITIVE_INFINITY
  await put(provider, 'largest', Buffer.alloc(maxFileSize))
  await t.rejects(put(provider, 'larger', Buffer.alloc(maxFileSize + 1)), { code: 'QUOTA_EXCEEDED' })
  t.same(await namesIn(provider, ''), ['largest'])
})

atNight(t, 'the service azblob on Azurite', async t => {
  const { endpoint, account, accountKey, newContainer } = await azureServer(t)
  const { containerName } = await newContainer()
  const options = { endpoint, container: containerName, account_name: account, account_key: accountKey }
  // OpenDAL signs listings of folders wrongly whose name has a percent sign and two hexadecimal digits.
  await runChosenCases(t, harnessFor('azblob', options), varied, /^(?:common|odd)/)
})

atNight(t, 'the service s3 on radosgw', async t => {
  const { endpoint, region, accessKeyId, secretAccessKey, newBucket } = await s3Server(t)
  const options = { endpoint, region, access_key_id: accessKeyId, secret_access_key: secretAccessKey }
  await runChosenCases(t, harnessFor('s3', { ...options, bucket: await newBucket() }), varied)
})

t.test('only services that the operator allows are opened, with a warning about the network guard', async t => {
  const host = recordingHost()
  const options = JSON.stringify({ root: folder })
  await t.rejects(adapter.open({ service: 'memory', options }, host), {
    code: 'INVALID_CONFIG',
    message: /OPENDAL_SERVICES/,
  })
  t.same(host.warnings, [])
  await adapter.open({ service: 'fs', options }, host)
  t.match(host.warnings, [{ message: /do not pass the network guard/ }])
  for (const wrong of ['{', '[]', 'null']) {
    await t.rejects(adapter.open({ service: 'fs', options: wrong }, host), { code: 'INVALID_CONFIG' }, wrong)
  }
})
