/** Serves S3 for one test run: `node radosgw-host.ts <folder of the run> <identity of the run's process>`. */

import { requirePrograms } from './programs.ts'
import { RUN_PREFIX, type S3Account } from './radosgw.ts'
import { startCeph } from './radosgw-ceph.ts'
import { serveRun } from './run.ts'

async function start(folder: string): Promise<{ record: S3Account; stop: () => Promise<void> }> {
  const record = given()
  if (record) return { record, stop: async () => undefined }
  await requirePrograms({
    who: 'The tests of S3',
    programs: ['radosgw', 'ceph-mon', 'ceph-osd', 'ceph', 'ceph-authtool', 'monmaptool', 'radosgw-admin'],
    packages: ['radosgw', 'ceph-mon', 'ceph-osd', 'ceph-common'],
    instead:
      'put them on PATH, or name a server with TEST_S3_ENDPOINT, TEST_S3_ACCESS_KEY_ID and TEST_S3_SECRET_ACCESS_KEY',
  })
  const ceph = await startCeph(folder)
  return { record: ceph.account, stop: ceph.stop }
}

function given(): S3Account | undefined {
  const { TEST_S3_ENDPOINT, TEST_S3_ACCESS_KEY_ID, TEST_S3_SECRET_ACCESS_KEY, TEST_S3_REGION } = process.env
  if (!TEST_S3_ENDPOINT) return undefined
  if (!TEST_S3_ACCESS_KEY_ID || !TEST_S3_SECRET_ACCESS_KEY) {
    throw new Error('TEST_S3_ENDPOINT needs TEST_S3_ACCESS_KEY_ID and TEST_S3_SECRET_ACCESS_KEY to be set, too.')
  }
  return {
    endpoint: TEST_S3_ENDPOINT,
    accessKeyId: TEST_S3_ACCESS_KEY_ID,
    secretAccessKey: TEST_S3_SECRET_ACCESS_KEY,
    region: TEST_S3_REGION ?? 'us-east-1',
  }
}

await serveRun(RUN_PREFIX, start)
