import t from 'tap'
import { googleDriveAdapter } from '../../adapters/backends/google-drive/index.ts'
import { chunkSize } from '../../adapters/backends/google-drive/upload.ts'
import type { Harness } from '../../adapters/conformance/index.ts'
import { GoogleDrive } from '../servers/google-drive/index.ts'
import { extent } from '../support/extent.ts'
import { cloudFaults } from './cloud-faults.ts'
import { runConformance, runVersionCases } from './conformance.ts'
import { endpointsOf, oauthHost } from './google-drive-world.ts'

const fake = await new GoogleDrive().start()
t.teardown(() => fake.stop())

/** Longer delays fail the call, so the rate limit of the kit is returned at once. */
const backoff = { first: 20, longest: 1000, attempts: 4 }
const options = { endpoints: endpointsOf(fake), backoff }
const host = await oauthHost(fake, options)
const { clientId, clientSecret } = fake.oauth
let folder = ''
const open = (rootFolderId: string) => googleDriveAdapter(options).open({ clientId, clientSecret, rootFolderId }, host)

const harness: Harness = {
  inMemory: true,
  hasCreateRaces: true,
  // google-drive-list.test.ts lists 10,000. Lower than the default, because writing each file takes four requests.
  manyEntries: extent({ gate: 200, nightly: 2000 }),
  partSize: chunkSize,
  faults: cloudFaults(fake, { rateLimit: 'userRateLimitExceeded', unavailable: 'backendError' }),
  async open() {
    folder = fake.addFolder(fake.rootId, 'case').id
    return await open(folder)
  },
  reopen: () => open(folder),
  openFolder: (_, name) => {
    const found = [...fake.store.items.values()].find(item => item.parent === folder && item.name === name)
    return open(found?.id ?? '')
  },
  async cleanUp() {
    const item = fake.store.items.get(folder)
    if (item) fake.store.remove(item)
    fake.faults.clear()
  },
}
runConformance(t, 'google-drive', harness, [
  // The host reads a revision and writes it again.
  'the method versions.deleted',
  'the method versions.restore',
  'an atomic create',
  'parts of resumable writes',
  'this operation in one step (NOT_IN_ONE_STEP)',
  'the method copySmall',
  'the trait keepsReplaced',
  'the method openFile',
  'the method readSmall',
  'the method setModifiedAt',
  'the method presign',
])
runVersionCases(t, harness, 0)
