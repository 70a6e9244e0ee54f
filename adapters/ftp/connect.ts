import type { Socket } from 'node:net'
import { Client, type FTPContext, type FTPResponse } from 'basic-ftp'
import type { Host, TlsOptions } from '../contract.ts'
import type { FtpSettings } from './config.ts'
import { toStorageError } from './errors.ts'

/** Milliseconds without a response. */
const timeout = 60_000
/** Milliseconds. */
const dataConnectTime = 30_000

/** Milliseconds. */
const reasonTime = 500

/**
 * Connections whose server does not accept the session of TLS again, because the data connection of a refused transfer ended
 * during its handshake.
 */
const worn = new WeakSet<Client>()

export function wearOut(client: Client): void {
  if (client.ftp.hasTLS) worn.add(client)
}

export function isUsable(client: Client): boolean {
  return !client.closed && !worn.has(client)
}

/** Opens a connection and signs in. */
export async function connect(settings: FtpSettings, { network }: Host, signal: AbortSignal): Promise<Client> {
  const { host, port, security, user, password, fingerprint } = settings
  const client = new Client(timeout)
  const tls: TlsOptions = { host, ...(fingerprint !== undefined && { fingerprint }) }
  const onAbort = () => client.close()
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    client.ftp.socket = await network.connect({ host, port, signal, ...(security === 'implicit' && { tls }) })
    await client.ftp.handle(undefined, (response, task) =>
      response instanceof Error ? task.reject(response) : task.resolve(response),
    )
    if (security === 'explicit') {
      await client.send('AUTH TLS')
      client.ftp.socket = await secured(network.startTls(client.ftp.socket, tls))
    }
    client.prepareTransfer = ftp => openDataConnection(ftp, network, tls)
    await client.sendIgnoringError('OPTS UTF8 ON')
    await client.login(user, password)
    await client.useDefaultSettings()
    return client
  } catch (error) {
    client.close()
    throw signal.aborted ? signal.reason : toStorageError(error, settings)
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

function secured(socket: Socket): Promise<Socket> {
  return new Promise((resolve, reject) => {
    socket.once('error', reject)
    socket.once('secureConnect', () => {
      socket.off('error', reject)
      if (socket.destroyed) socket.once('error', reject)
      else resolve(socket)
    })
  })
}

/** Connects to the address of the control connection, whatever address the server names. */
async function openDataConnection(ftp: FTPContext, network: Host['network'], tls: TlsOptions): Promise<FTPResponse> {
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
    waitForReason(ftp, secure)
  }
  return response
}

/**
 * A server that refuses a transfer also resets its data connection. The library closes the control connection after such an
 * error, so delay it: the refusal arrives next and says why.
 */
function waitForReason(ftp: FTPContext, data: Socket): void {
  data.removeAllListeners('error').removeAllListeners('close')
  data.on('error', error => {
    setTimeout(() => {
      if (ftp.dataSocket === data) ftp.closeWithError(error)
    }, reasonTime).unref()
  })
}
