import { once } from 'node:events'
import { Client, type FTPContext, type FTPResponse } from 'basic-ftp'
import { closeOnAbort, showCertificate } from '../../bases/plain/connect.ts'
import { refusedFolder } from '../../bases/plain/errors.ts'
import { openPlainProvider } from '../../bases/plain/provider.ts'
import type { Host, Network, StorageProvider, TlsOptions } from '../../contract.ts'
import type { FtpSettings } from './config.ts'
import { type Features, ftpFiles, toStorageError } from './files.ts'

/** Milliseconds without a response. */
const timeout = 60_000
/** Milliseconds. */
const dataConnectTime = 30_000

/** Opens a connection and signs in. */
async function connect(settings: FtpSettings, { network }: Host, signal: AbortSignal): Promise<Client> {
  const { host, port, security, user, password, fingerprint } = settings
  const client = new Client(timeout)
  const tls: TlsOptions = { host, ...(fingerprint !== undefined && { fingerprint }) }
  using _closing = closeOnAbort(signal, () => client.close())
  try {
    client.ftp.socket = await network.connect({ host, port, signal, ...(security === 'implicit' && { tls }) })
    await client.ftp.handle(undefined, (response, task) =>
      response instanceof Error ? task.reject(response) : task.resolve(response),
    )
    if (security === 'explicit') {
      await client.send('AUTH TLS')
      const secure = network.startTls(client.ftp.socket, tls)
      await once(secure, 'secureConnect', { signal })
      if (secure.errored) throw secure.errored
      client.ftp.socket = secure
    }
    client.prepareTransfer = ftp => openDataConnection(ftp, network, tls)
    await client.sendIgnoringError('OPTS UTF8 ON')
    await client.login(user, password)
    await client.send('TYPE I')
    if (security !== 'none') for (const command of ['PBSZ 0', 'PROT P']) await client.send(command)
    await client.sendIgnoringError('OPTS MLST type;size;modify;')
    return client
  } catch (error) {
    client.close()
    throw error
  }
}

/** Connects to the address of the control connection, whatever address the server names. */
async function openDataConnection(ftp: FTPContext, network: Network, tls: TlsOptions): Promise<FTPResponse> {
  const response = await ftp.request('EPSV').catch(() => ftp.request('PASV'))
  const [, extended, high, low] = /\(\|\|\|(\d{1,5})\||,(\d{1,3}),(\d{1,3})\)/.exec(response.message) ?? []
  const port = extended === undefined ? Number(high) * 256 + Number(low) : Number(extended)
  const host = ftp.socket.remoteAddress ?? ''
  const data = await network.connect({ host, port, signal: AbortSignal.timeout(dataConnectTime) })
  if (!('getSession' in ftp.socket)) ftp.dataSocket = data
  else {
    // Servers require the session of the control connection, so that nobody else can use the port.
    const session = ftp.tlsSessionStore ?? ftp.socket.getSession()
    const secure = network.startTls(data, { ...tls, ...(session && { session }) })
    secure.on('session', next => {
      ftp.tlsSessionStore = next
    })
    ftp.dataSocket = secure
    // A server that refuses a transfer also resets its data connection. The refusal, which arrives next, says why.
    secure
      .removeAllListeners('error')
      .removeAllListeners('close')
      .on('error', () => {})
  }
  return response
}

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
