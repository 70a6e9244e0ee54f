/** A replica for the fault tests of the versions. It kills itself between two steps of a change. */
import { buildApp } from '../../src/app.ts'
import { connect } from '../../src/db/client.ts'
import { createLog } from '../../src/log/logger.ts'
import { readSettings } from '../../src/settings/index.ts'
import { stepping } from './stepping-adapter.ts'

const { secret, connectionString, folder, copies, steps } = JSON.parse(process.env.TEST_VERSION_SERVER ?? '{}')
const db = connect({ connectionString }, { max: 4 })
let left: number = steps
const app = await buildApp({
  db,
  secret,
  settings: readSettings(process.env),
  log: createLog('silent'),
  adapters: [
    stepping(folder, copies, () => {
      left -= 1
      if (left === 0) process.kill(process.pid, 'SIGKILL')
    }),
  ],
})
const url = await app.server.listen({ host: '127.0.0.1', port: 0 })
process.stdout.write(`Stowage is ready at ${url} (for a test)\n`)
