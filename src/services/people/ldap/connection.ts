/** Connections to an LDAP directory (RFC 4511). Each has a bound on its time and on the bytes of an answer. */
import type { Socket } from 'node:net'
import type { connect as connectTls } from 'node:tls'
import type { Client } from 'ldapts'
import { type Network, orAborted } from '../../../../adapters/contract.ts'
import { followSignal, startDeadline } from '../../../lib/timeout.ts'

export interface DirectoryServer {
  host: string
  port: number
  /** NONE is for this machine only. */
  security: 'LDAPS' | 'STARTTLS' | 'NONE'
}

/** Milliseconds for one answer. */
const timeout = 10_000
/** Bytes of one answer: a page of people, or the groups of a person. */
const maxAnswer = 16 * 1024 * 1024

/** A connection on which somebody has signed in. */
export interface DirectoryConnection {
  /** Runs one request at a time, which also ends with the connection. Its answer is bounded. */
  ask<T>(request: (client: Client) => Promise<T>): Promise<T>
}

/**
 * Opens a connection, signs in, and runs `work`.
 * @param network connects to permitted addresses only
 * @param milliseconds for all of it
 * @throws `InvalidCredentialsError` and other errors of ldapts, those of the network, the reason of the signal
 */
export async function withDirectory<T>(
  { server, network }: { server: DirectoryServer; network: Pick<Network, 'connect' | 'startTls'> },
  as: { dn: string; password: string },
  { milliseconds, signal }: { milliseconds: number; signal?: AbortSignal | undefined },
  work: (connection: DirectoryConnection) => Promise<T>,
): Promise<T> {
  // The library is loaded with the first sign-in.
  const { Client } = await import('ldapts')
  const { host, port, security } = server
  using deadline = startDeadline(milliseconds, () => new Error('The directory does not answer in time'), signal)
  const tls = { host }
  const socket = await network.connect({
    host,
    port,
    signal: startsWithin(deadline.signal),
    ...(security === 'LDAPS' && { tls }),
  })
  // The library waits forever for some answers of a connection that is closed.
  using end = followSignal(deadline.signal)
  const close = () => socket.destroy()
  end.signal.addEventListener('abort', close, { once: true })
  socket.once('close', () => end.abort(new Error('The directory has closed the connection')))
  let [bytes, isUsed] = [0, false]
  const count = (from: Socket) => {
    from.on('data', chunk => {
      bytes += chunk.length
      if (bytes > maxAnswer) from.destroy(new Error(`The directory sent more than ${maxAnswer} bytes`))
    })
    return from
  }
  const startTls = (options: { socket?: unknown }) => {
    const secure = network.startTls(options.socket as Socket, tls)
    secure.once('secureConnect', () => count(secure))
    return secure
  }
  // The socket is open, and encrypted where that comes first, so the library has nothing to connect.
  const client = new Client({
    url: `ldap://${host.includes(':') ? `[${host}]` : host}:${port}`,
    timeout,
    // The library connects again by itself, but then nobody has signed in on the connection.
    createConnection() {
      if (isUsed) throw new Error('The directory has closed the connection')
      isUsed = true
      return count(socket)
    },
    createSecureConnection: startTls as unknown as typeof connectTls,
  })
  const ask = async <Answer>(request: (client: Client) => Promise<Answer>): Promise<Answer> => {
    end.signal.throwIfAborted()
    bytes = 0
    return orAborted(request(client), end.signal)
  }
  try {
    if (security === 'STARTTLS') await ask(() => client.startTLS())
    await ask(() => client.bind(as.dn, as.password))
    return await work({ ask })
  } catch (error) {
    throw deadline.signal.aborted ? deadline.signal.reason : error
  } finally {
    end.signal.removeEventListener('abort', close)
    socket.destroy()
  }
}

/** Bounds the time until a connection is open. */
function startsWithin(signal: AbortSignal): AbortSignal {
  return AbortSignal.any([signal, AbortSignal.timeout(timeout)])
}

/** RFC 4515, section 3. The library writes other characters in UTF-8, and would read escapes of their bytes as characters. */
export function escapeFilter(value: string): string {
  return value
    .toWellFormed()
    .replace(/[\\*()\p{Cc}]/gu, character => `\\${character.charCodeAt(0).toString(16).padStart(2, '0')}`)
}
