/** A replica for the fault tests of the trash. It says when it begins to delete a path, and waits to be killed. */
import { buildApp } from '../../src/app.ts'
import { connect } from '../../src/db/client.ts'
import { createLog } from '../../src/log/logger.ts'
import { readSettings } from '../../src/settings/index.ts'
import { gated } from './gated-adapter.ts'

const { secret, connectionString, folder, prefix } = JSON.parse(process.env.TEST_TRASH_SERVER ?? '{}')
const settings = readSettings(process.env)
const db = connect({ connectionString }, { max: 4 })
const gate = {
  async pass(method: string, path: string) {
    if (method !== 'delete' || !path.startsWith(prefix)) return
    process.stdout.write(`stopped at ${prefix}\n`)
    await new Promise(() => {})
  },
}
const app = await buildApp({
  db,
  secret,
  settings,
  log: createLog('silent'),
  adapters: [gated(folder, false, gate)],
})
const url = await app.server.listen({ host: '127.0.0.1', port: 0 })
process.stdout.write(`Stowage is ready at ${url} (for a test)\n`)
