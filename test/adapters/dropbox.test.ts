import t from 'tap'
import { dropboxAdapter } from '../../adapters/backends/dropbox/index.ts'
import type { Harness } from '../../adapters/conformance/index.ts'
import { Dropbox } from '../servers/dropbox/index.ts'
import { cloudFaults } from './cloud-faults.ts'
import { runConformance, runVersionCases } from './conformance.ts'
import { configOf, endpointsOf, oauthHost } from './dropbox-world.ts'

const fake = await new Dropbox().start()
t.teardown(() => fake.stop())

/** Longer delays fail the call, so the rate limit of the kit is returned at once. */
const backoff = { first: 20, longest: 1000, attempts: 4 }
const options = { endpoints: endpointsOf(fake), backoff }
const host = await oauthHost(fake, options)
const open = (rootFolder: string) => dropboxAdapter(options).open({ ...configOf(fake), rootFolder }, host)
let cases = 0

const harness: Harness = {
  inMemory: true,
  foldsCase: true,
  // Lower than the defaults, to save time. dropbox-files.test.ts writes files of several chunks.
  manyEntries: 500,
  largeFileSize: 80_000_000,
  faults: cloudFaults(fake, { rateLimit: 'too_many_requests', unavailable: 'server_error' }),
  async open() {
    cases += 1
    fake.files.tree.folder(`case ${cases}`)
    return await open(`/case ${cases}`)
  },
  reopen: () => open(`/case ${cases}`),
  openFolder: (_, name) => open(`/case ${cases}/${name}`),
  async cleanUp() {
    const folder = fake.files.tree.find(`case ${cases}`)
    if (folder) fake.files.tree.remove(folder)
    fake.faults.clear()
  },
}
runConformance(t, 'dropbox', harness, [
  // Dropbox deletes revisions only by itself.
  'the method versions.deleted',
  'the method versions.remove',
  'case-sensitive names',
  'hasCreateRaces in the harness',
  'parts of resumable writes',
  'this operation in one step (NOT_IN_ONE_STEP)',
  'the method copySmall',
  'the trait keepsReplaced',
  'the method openFile',
  'the method readSmall',
  'the method setModifiedAt',
  'the method presign',
])
runVersionCases(t, harness, 2)
