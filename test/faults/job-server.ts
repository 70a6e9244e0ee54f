/** A replica for the fault tests of jobs: its adapters also reach a fake Google Drive and files that exist nowhere. */
import { type GoogleDriveOptions, googleDriveAdapter } from '../../adapters/backends/google-drive/index.ts'
import { localAdapter } from '../../adapters/backends/local/index.ts'
import { s3Adapter } from '../../adapters/backends/s3/index.ts'
import { buildApp } from '../../src/app.ts'
import { connect } from '../../src/db/client.ts'
import { createLog } from '../../src/log/logger.ts'
import { readSettings } from '../../src/settings/index.ts'
import { generatedAdapter } from './generated-adapter.ts'

const { connection, secret, drive } = JSON.parse(process.env.TEST_JOB_SERVER ?? '{}')
const settings = readSettings(process.env)
const log = createLog(settings.logLevel)
const db = connect(connection, { max: 6, onError: err => log.warn({ err }, 'A connection broke') })
const adapters = [
  localAdapter({ localRoots: settings.localRoots, dataFolder: settings.dataFolder }),
  s3Adapter,
  ...(drive ? [googleDriveAdapter(drive as GoogleDriveOptions)] : []),
  generatedAdapter,
]
const app = await buildApp({ db, secret, settings, log, adapters })
const url = await app.server.listen({ host: '127.0.0.1', port: 0 })
process.stdout.write(`Stowage is ready at ${url} (for a test)\n`)
process.once('SIGTERM', async () => {
  await app.close()
  await db.destroy()
  process.exit(0)
})
