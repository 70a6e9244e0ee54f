import type { Client } from 'basic-ftp'
import { showCertificate } from '../../bases/plain/certificate.ts'
import { refusedFolder } from '../../bases/plain/errors.ts'
import { openPlainProvider } from '../../bases/plain/provider.ts'
import type { Host, StorageProvider } from '../../contract.ts'
import type { FtpSettings } from './config.ts'
import { connect } from './connect.ts'
import { toStorageError } from './errors.ts'
import { type Features, ftpFiles } from './files.ts'

/** @throws INVALID_CONFIG, UNAUTHORIZED, UNAVAILABLE */
export async function openProvider(settings: FtpSettings, host: Host): Promise<StorageProvider> {
  const pool = host.pool<Client>({
    max: settings.connections,
    open: ({ signal }) => connect(settings, host, signal),
    close: client => client.close(),
    isOpen: client => !client.closed,
    check: client => client.send('NOOP'),
    toError: error => toStorageError(error, settings),
  })
  try {
    const features = await pool.use(host, client => featuresOf(client, settings))
    return await openPlainProvider(ftpFiles(settings, features, pool), host)
  } catch (error) {
    pool.close()
    throw settings.fingerprint === undefined ? showCertificate(error, 'fingerprint', settings.host) : error
  }
}

/** Asks the server what it can do, and checks the folder. */
async function featuresOf(client: Client, settings: FtpSettings): Promise<Features> {
  const known = await client.features()
  const home = settings.folder.startsWith('/') ? '' : await client.pwd()
  const base = `${home}/${settings.folder}`.replace(/\/+/g, '/').replace(/\/$/, '')
  await client.cd(base || '/').catch(error => {
    throw refusedFolder(toStorageError(error, settings), base)
  })
  const hasFacts = known.has('MLST')
  return { base, hasFacts, setsTimes: hasFacts && known.has('MFMT'), restarts: known.has('REST') }
}
