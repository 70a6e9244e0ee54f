import t from 'tap'
import { oneDriveAdapter } from '../../adapters/backends/onedrive/index.ts'
import type { Harness } from '../../adapters/conformance/index.ts'
import { OneDrive } from '../servers/onedrive/index.ts'
import { cloudFaults } from './cloud-faults.ts'
import { runConformance, runVersionCases } from './conformance.ts'
import { configOf, endpointsOf, oauthHost } from './onedrive-world.ts'

const fake = await new OneDrive().start()
t.teardown(() => fake.stop())

/** Longer delays fail the call, so the rate limit of the kit is returned at once. */
const backoff = { first: 20, longest: 1000, attempts: 4 }
const options = { endpoints: endpointsOf(fake), backoff, copyInterval: 5 }
const host = await oauthHost(fake, options)
const open = (rootFolder: string) => oneDriveAdapter(options).open({ ...configOf(fake), rootFolder }, host)
let cases = 0

const harness: Harness = {
  inMemory: true,
  foldsCase: true,
  refuses: name => /^\s|^~\$/.test(name),
  // Lower than the defaults, to save time. onedrive-files.test.ts writes files of several chunks.
  manyEntries: 500,
  largeFileSize: 80_000_000,
  faults: cloudFaults(fake, { rateLimit: 'activityLimitReached', unavailable: 'serviceNotAvailable' }),
  async open() {
    cases += 1
    fake.drive.tree.folder(`case ${cases}`)
    return await open(`/case ${cases}`)
  },
  reopen: () => open(`/case ${cases}`),
  openFolder: (_, name) => open(`/case ${cases}/${name}`),
  async cleanUp() {
    const folder = fake.drive.tree.find(`case ${cases}`)
    if (folder) fake.drive.tree.remove(folder)
    fake.faults.clear()
  },
}
runConformance(t, 'onedrive', harness, [
  // OneDrive deletes versions only by itself.
  'the method versions.deleted',
  'the method versions.remove',
  'case-sensitive names',
  'hasCreateRaces in the harness',
  'partSize in the harness',
  'resumable writes',
  'this operation in one step (NOT_IN_ONE_STEP)',
  'the method copySmall',
  'the trait keepsReplaced',
  'the method openFile',
  'the method readSmall',
  'the method setModifiedAt',
  'the method presign',
])
runVersionCases(t, harness, 1)
