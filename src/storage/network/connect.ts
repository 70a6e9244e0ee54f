import { connect as connectSocket, isIP, type LookupFunction, type Socket } from 'node:net'
import { connect as beginTls, type TLSSocket } from 'node:tls'
import type { Network, TlsOptions } from '../../../adapters/contract.ts'
import type { Guard } from './guard.ts'

/** Milliseconds of silence after which the system probes a connection. */
const keepAliveDelay = 30_000

/** Returns the part of the network for protocols other than HTTP. */
export function createConnect(guard: Guard): Pick<Network, 'connect' | 'startTls'> {
  return {
    async connect({ host, port, tls, signal }) {
      signal.throwIfAborted()
      const refusal = guard.refusal(host)
      if (refusal) throw refusal
      const plain = connectSocket({ host, port, lookup: guard.lookup as LookupFunction, noDelay: true })
      plain.setKeepAlive(true, keepAliveDelay).on('error', ignore)
      const onAbort = () => plain.destroy(signal.reason)
      signal.addEventListener('abort', onAbort, { once: true })
      try {
        await happens(plain, 'connect')
        if (!tls) return plain
        const secure = startTls(plain, { host, ...tls })
        await happens(secure, 'secureConnect')
        return secure
      } catch (error) {
        plain.destroy()
        throw signal.aborted ? signal.reason : error
      } finally {
        signal.removeEventListener('abort', onAbort)
      }
    },
    startTls,
  }
}

function startTls(socket: Socket, { fingerprint, ...options }: TlsOptions): TLSSocket {
  const { host, rejectUnauthorized = true } = options
  const named = { ...(host !== undefined && isIP(host) === 0 && { servername: host }), ...options, socket }
  // Node would reject the certificate without telling which one it is.
  const secure = beginTls({ ...named, rejectUnauthorized: false }).on('error', ignore)
  // This listener is the first one, so no other one sees a connection to another server.
  secure.once('secureConnect', () => {
    if (fingerprint === undefined) {
      if (rejectUnauthorized && !secure.authorized) secure.destroy(new UntrustedCertificate(secure))
      return
    }
    // The server proved its identity when the session began.
    if (secure.isSessionReused()) return
    const actual = fingerprintOf(secure)
    if (digitsOf(actual) !== digitsOf(fingerprint)) secure.destroy(new WrongCertificate(actual))
  })
  return secure
}

/** Without a listener, an error that nobody waits for would end the process. */
function ignore(): void {}

function digitsOf(fingerprint: string): string {
  return fingerprint.replaceAll(':', '').toLowerCase()
}

function fingerprintOf(socket: TLSSocket): string {
  return socket.getPeerX509Certificate()?.fingerprint256 ?? ''
}

class UntrustedCertificate extends Error {
  override name = 'UntrustedCertificate'
  /** Why, as Node names it: DEPTH_ZERO_SELF_SIGNED_CERT, CERT_HAS_EXPIRED, ... */
  readonly code: string
  readonly fingerprint: string

  constructor(socket: TLSSocket) {
    // Node's types are wrong here: this is the code of the error.
    const code = String(socket.authorizationError)
    super(`The certificate of the server is not trusted: ${code}`)
    this.code = code
    this.fingerprint = fingerprintOf(socket)
  }
}

class WrongCertificate extends Error {
  override name = 'WrongCertificate'
  readonly code = 'ERR_TLS_CERT_FINGERPRINT'

  constructor(fingerprint: string) {
    super(`The server has another certificate, with the SHA-256 fingerprint ${fingerprint}`)
  }
}

function happens(socket: Socket, event: 'connect' | 'secureConnect'): Promise<void> {
  return new Promise((resolve, reject) => {
    const onError = (error: Error) => end(() => reject(error))
    const onClose = () => onError(Object.assign(new Error('The server closed the connection'), { code: 'ECONNRESET' }))
    // The fingerprint is checked by an earlier listener of the same event.
    const onEvent = () => end(() => (socket.destroyed ? socket.once('error', reject) : resolve()))
    const end = (settle: () => void) => {
      socket.off(event, onEvent).off('error', onError).off('close', onClose)
      settle()
    }
    socket.once(event, onEvent).once('error', onError).once('close', onClose)
  })
}
