/** Implements `stowage reset-factors`: lets somebody sign in who has lost all second factors, such as the only owner. */
import { openDatabase } from '../db/migrate.ts'
import { createLog } from '../log/logger.ts'
import type { Settings } from '../settings/index.ts'
import { makeDataFolder, readSecrets } from './data-folder.ts'
import { connectionTo, withServices } from './offline-app.ts'

/**
 * Removes all second factors of a person, and ends their sessions. The server may be running.
 * @returns the email of the account
 * @throws AppError if nobody has the email, StartError
 */
export async function resetFactors(settings: Settings, email: string): Promise<string> {
  await makeDataFolder(settings)
  await using cleanup = new AsyncDisposableStack()
  const db = await openDatabase(await connectionTo(settings, cleanup), createLog('silent'))
  cleanup.defer(() => db.destroy())
  const { secret, previous } = await readSecrets(settings)
  // Without "await", the database would be closed before the work.
  const member = await withServices({ db, settings, secret, previousSecret: previous }, services =>
    services.enrolment.removeForOperator(email),
  )
  return member.email
}
