/** Connections of adapters, and `fetch` over them, by addresses that are checked before anything is sent. */
import { connect as connectSocket, isIP, type LookupFunction, type Socket } from 'node:net'
import { connect as beginTls, type TLSSocket } from 'node:tls'
import type { Network, TlsOptions } from '../../../adapters/contract.ts'
import type { ClosedAddress, Guard } from './guard.ts'

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

interface Dispatcher {
  dispatch(options: { origin?: string | URL }, handler: unknown): boolean
}
type DispatcherClass = new (options: { connect: { lookup: Guard['lookup'] } }) => Dispatcher

/** The key under which undici, the implementation of Node's `fetch`, stores its global dispatcher. */
const shared = Symbol.for('undici.globalDispatcher.1')

/** Returns a `fetch` over guarded connections. Each redirect is checked, too. */
export function guardedFetch(guard: Guard): typeof fetch {
  let dispatcher: Promise<Dispatcher> | undefined
  return async (input, init) => {
    dispatcher ??= createDispatcher(guard)
    const options: RequestInit & { dispatcher: Dispatcher } = { ...init, dispatcher: await dispatcher }
    return await fetch(input, options)
  }
}

/** @throws Error if this version of Node stores the dispatcher elsewhere: an unguarded `fetch` must not run */
async function createDispatcher(guard: Guard): Promise<Dispatcher> {
  // Node loads undici with the first use of `fetch`.
  await fetch('data:,')
  const Agent = (Reflect.get(globalThis, shared) as Dispatcher | undefined)?.constructor as DispatcherClass | undefined
  if (!Agent) throw new Error('This version of Node does not show how its fetch connects.')

  class GuardedAgent extends Agent {
    override dispatch(options: { origin?: string | URL }, handler: unknown): boolean {
      const refusal = refusalOf(options.origin)
      if (refusal) throw refusal
      return super.dispatch(options, handler)
    }
  }
  return new GuardedAgent({ connect: { lookup: guard.lookup } })

  /** Checks hosts that are addresses: Node calls no `lookup` for them. */
  function refusalOf(origin: string | URL | undefined): ClosedAddress | null {
    const { hostname } = new URL(origin ?? '')
    return guard.refusal(hostname.replace(/^\[|\]$/g, ''))
  }
}
