/**
 * Bounds what `ssh2` leaves without a bound: it answers each packet at once, whether or not the client takes the answers, and counts
 * neither what a client sends beyond a window nor what waits for a key exchange. Its internals are used here alone.
 */
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { duplexPair } from 'node:stream'
import ssh2, { type Connection, type ServerChannel } from 'ssh2'

/** Answers to requests that are not of SFTP, and changes of windows, while the client takes nothing. Each needs about 300 bytes. */
const maxAnswers = 8192
/** Bytes. RFC 4253 requires every client to accept packets of 32 KiB. Each packet also has a header and a MAC, and packets of 0 bytes would never end. */
const minPacket = 1024
/** The reason of SSH for a channel that cannot be opened. */
const connectFailed = 2
/** Milliseconds. */
const checkTime = 10_000
const answered = ['GLOBAL_REQUEST', 'CHANNEL_OPEN', 'CHANNEL_REQUEST', 'CHANNEL_WINDOW_ADJUST'] as const

type Handler = (protocol: Protocol, ...fields: never[]) => void

interface Protocol {
  /** Set from the begin of a key exchange to its end. */
  _kexinit: Buffer | undefined
  _handlers: Record<(typeof answered)[number], Handler>
  channelOpenFail(channel: number, reason: number, text: string): void
  ping(): void
}

export class Transport {
  readonly #client: Connection
  readonly #socket: Socket
  readonly #protocol: Protocol
  /** Since the client took everything. */
  #answers = 0

  constructor(client: Connection) {
    const { socket, protocol } = internalsOf(client)
    this.#client = client
    this.#socket = socket
    this.#protocol = protocol
    const handlers = protocol._handlers
    for (const name of answered) {
      const handle = handlers[name]
      handlers[name] = (...packet) => {
        if (this.#mayAnswer()) handle(...packet)
      }
    }
    this.#refuseSmallPackets(handlers)
    socket.on('drain', () => {
      this.#answers = 0
    })
  }

  /** Bytes that the connection has not sent yet. During a key exchange, nothing is sent. */
  get unsent(): number {
    return this.#protocol._kexinit === undefined ? this.#socket.writableLength : Number.POSITIVE_INFINITY
  }

  /** Calls the function once when the connection has sent everything, or has exchanged its keys. */
  onDrain(resume: () => void): void {
    if (this.#protocol._kexinit === undefined) this.#socket.once('drain', resume)
    else this.#client.once('rekey', resume)
  }

  /** Asks the client for an answer, which says nothing. */
  ping(): void {
    if (this.unsent === 0) this.#protocol.ping()
  }

  /** Ends the connection if its client sends more than the window of the channel allows. */
  boundInput(channel: ServerChannel): void {
    const { incoming } = channel as ServerChannel & { incoming?: { window?: unknown } }
    if (typeof incoming?.window !== 'number') throw new DifferentInternals('the window of a channel')
    const push = channel.push.bind(channel)
    channel.push = (chunk, encoding) => {
      if (Number(incoming.window) >= 0) return push(chunk, encoding)
      this.#socket.destroy()
      return false
    }
  }

  #mayAnswer(): boolean {
    this.#answers = this.#socket.writableLength === 0 ? 0 : this.#answers + 1
    if (this.#answers > maxAnswers) this.#socket.destroy()
    return !this.#socket.destroyed
  }

  #refuseSmallPackets(handlers: Protocol['_handlers']): void {
    const open = handlers.CHANNEL_OPEN as (protocol: Protocol, info: { sender: number; packetSize: number }) => void
    handlers.CHANNEL_OPEN = (protocol: Protocol, info: { sender: number; packetSize: number }) => {
      if (info.packetSize >= minPacket) open(protocol, info)
      else protocol.channelOpenFail(info.sender, connectFailed, `Packets have to have at least ${minPacket} bytes`)
    }
  }
}

/** `ssh2` has the socket of a connection in this property alone. */
export function socketOf(client: Connection): Socket {
  return internalsOf(client).socket
}

/** Begins a connection in memory. @throws Error if this version of `ssh2` has internals that this file does not know */
export async function checkInternals(hostKeys: readonly string[]): Promise<void> {
  const server = new ssh2.Server({ hostKeys: [...hostKeys] })
  const [near, far] = duplexPair()
  try {
    const begun = once(server, 'connection', { signal: AbortSignal.timeout(checkTime) })
    server.injectSocket(far as Socket)
    near.write('SSH-2.0-check\r\n')
    const [client] = await begun
    client.on('error', () => {})
    internalsOf(client)
  } finally {
    near.destroy()
    far.destroy()
  }
}

/** @throws DifferentInternals */
export function internalsOf(client: Connection): { socket: Socket; protocol: Protocol } {
  const { _sock: socket, _protocol: protocol } = client as Connection & {
    _sock?: Socket
    _protocol?: Partial<Protocol>
  }
  if (!socket) throw new DifferentInternals('the socket of a connection')
  if (!protocol || !('_kexinit' in protocol)) throw new DifferentInternals('a key exchange that has begun')
  if (typeof protocol.channelOpenFail !== 'function') throw new DifferentInternals('a refusal of a channel')
  if (typeof protocol.ping !== 'function') throw new DifferentInternals('a sign of life')
  for (const name of answered) {
    if (typeof protocol._handlers?.[name] !== 'function') throw new DifferentInternals(`the handler of ${name}`)
  }
  return { socket, protocol: protocol as Protocol }
}

class DifferentInternals extends Error {
  constructor(what: string) {
    super(`This version of ssh2 has different internals: ${what} is not where it was`)
  }
}
