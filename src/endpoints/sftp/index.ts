/**
 * SFTP over SSH at an address of its own. `ssh2` does the transport and the authentication; the protocol on its channel is this
 * folder's, because the SFTP of `ssh2` cannot announce extensions. The start loads this module only if it is switched on.
 */
import { randomUUID } from 'node:crypto'
import { createServer, type Server, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Connection } from 'ssh2'
import ssh2 from 'ssh2'
import { joinWrites } from '../../../adapters/join-writes.ts'
import { networkOf } from '../../auth/network.ts'
import { type AppError, toAppError } from '../../errors.ts'
import type { IsProxy } from '../../http/connection/proxies.ts'
import { Slots } from '../../lib/slots.ts'
import type { Services } from '../../services/index.ts'
import { type SftpConnection, serveConnection } from './connection.ts'
import type { ObserveSftpRequest } from './session.ts'
import { checkInternals, socketOf } from './transport.ts'

const defaultLoginTime = 30_000
/** Milliseconds for what runs when the server stops, and then for what ends. */
const drainTime = 4000
const endTime = 2000
/** Connections that have not authenticated, of one network and of all. Beyond the second, the oldest ends. */
const unknownOfNetwork = 100
const unknownOfAll = 1000
/** All connections, as a multiple of the limit for one network. */
const totalShare = 10
/** Bytes that a client sends before it has authenticated: a handshake, and a key or password that is tried several times. */
const unknownBytes = 256 * 1024
/** Bytes of the name that a client gives itself. */
const maxSoftware = 255

/** No SHA-1, no CBC, no finite fields and no compression. A client picks the first of its own list that is here. */
const algorithms = {
  kex: [
    'curve25519-sha256',
    'curve25519-sha256@libssh.org',
    'ecdh-sha2-nistp256',
    'ecdh-sha2-nistp384',
    'ecdh-sha2-nistp521',
  ],
  cipher: ['aes128-gcm@openssh.com', 'aes256-gcm@openssh.com', 'aes256-ctr'],
  hmac: ['hmac-sha2-256-etm@openssh.com', 'hmac-sha2-512-etm@openssh.com', 'hmac-sha2-256', 'hmac-sha2-512'],
  compress: ['none'],
} as const

export interface SftpOptions {
  services: Services
  address: { host: string; port: number }
  /** Connections of one network; 0 for no limit. */
  connectionLimit: number
  onFault: (error: AppError, requestId: string) => void
  /** Says whether an address is that of a trusted proxy, whose connections are those of many networks. */
  isProxy?: IsProxy
  /** Milliseconds from the connection to a valid credential. Default: half a minute. */
  loginTime?: number
  observe?: ObserveSftpRequest
}

export interface SftpServer {
  /** The port that it listens on. */
  port: number
  load(): SftpLoad
  /** Lets transfers finish for some seconds, and ends all connections. */
  close(): Promise<void>
}

/** The load from the clients of a server. */
export interface SftpLoad {
  connections: number
  sessions: number
  /** Bytes since the start, those of SSH included. */
  received: number
  sent: number
}

/** @throws Error if the address cannot be used */
export async function startSftp({
  services,
  address,
  connectionLimit,
  onFault,
  isProxy = () => false,
  loginTime = defaultLoginTime,
  observe = () => {},
}: SftpOptions): Promise<SftpServer> {
  const hostKeys = await services.hostKeys.privateKeys()
  await checkInternals(hostKeys)
  const limit = connectionLimit || Number.POSITIVE_INFINITY
  const slots = new Slots<'network'>({ network: limit, all: limit * totalShare })
  const unknown = new Slots<'network'>({ network: unknownOfNetwork, all: Number.POSITIVE_INFINITY })
  /** In the order in which they were opened. */
  const unauthenticated = new Set<Socket>()
  const sockets = new Set<Socket>()
  /** Those that have begun a handshake. */
  const connections = new Set<SftpConnection>()
  /** The bytes of connections that have ended. */
  const past = { received: 0, sent: 0 }
  /** The functions to call when the clients of the sockets have authenticated. */
  const readyCalls = new WeakMap<Socket, () => void>()
  // `ssh2` takes a fixed list of algorithms, but its types do not allow one that is read-only.
  const ssh = new ssh2.Server({ hostKeys: [...hostKeys], ident: 'Stowage', algorithms: { ...algorithms } as never })
  ssh.on('connection', (client: Connection, { header }) => {
    const socket = socketOf(client)
    const onReady = readyCalls.get(socket) ?? (() => {})
    const software = header.versions.software.slice(0, maxSoftware)
    const connection = serveConnection(client, { services, socket, software, onReady, onFault, observe })
    connections.add(connection)
    socket.once('close', () => connections.delete(connection))
  })

  const server = createServer({ noDelay: true, keepAlive: true }, socket => {
    const peer = socket.remoteAddress ?? ''
    const owners = isProxy(peer) ? {} : { network: networkOf(peer) }
    const slot = slots.tryTake(owners)
    const unknownSlot = slot && unknown.tryTake(owners)
    if (!slot || !unknownSlot) {
      slot?.[Symbol.dispose]()
      socket.destroy()
      return
    }
    sockets.add(socket)
    unauthenticated.add(socket)
    endOldest(unauthenticated)
    const deadline = setTimeout(() => socket.destroy(), loginTime).unref()
    const bound = () => {
      if (socket.bytesRead > unknownBytes) socket.destroy()
    }
    const onReady = () => {
      socket.off('data', bound)
      unauthenticated.delete(socket)
      clearTimeout(deadline)
      unknownSlot[Symbol.dispose]()
    }
    socket.once('close', () => {
      sockets.delete(socket)
      past.received += socket.bytesRead
      past.sent += socket.bytesWritten
      onReady()
      slot[Symbol.dispose]()
    })
    readyCalls.set(socket, () => {
      onReady()
      joinWrites(socket)
    })
    ssh.injectSocket(socket)
    // `ssh2` has paused the socket, so that this begins to read nothing.
    socket.on('data', bound)
  })
  await listen(server, address)
  // An error of `accept`, such as too many open files.
  server.on('error', error => onFault(toAppError(error), randomUUID()))
  const bound = server.address()
  return {
    port: typeof bound === 'object' && bound ? bound.port : address.port,
    load() {
      const all = [...sockets]
      return {
        connections: all.length,
        sessions: [...connections].reduce((sum, { sessions }) => sum + sessions, 0),
        received: all.reduce((sum, { bytesRead }) => sum + bytesRead, past.received),
        sent: all.reduce((sum, { bytesWritten }) => sum + bytesWritten, past.sent),
      }
    },
    async close() {
      const closed = new Promise(resolve => server.close(resolve))
      for (const socket of unauthenticated) socket.destroy()
      const drained = Promise.all([...connections].map(connection => connection.drain()))
      await Promise.race([drained, sleep(drainTime, undefined, { ref: false })])
      for (const connection of connections) connection.end()
      await Promise.race([Promise.all([closed, drained]), sleep(endTime, undefined, { ref: false })])
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}

/** Refusing the newest instead would let a few networks keep everybody out. */
function endOldest(unauthenticated: Set<Socket>): void {
  const [oldest] = unauthenticated
  if (!oldest || unauthenticated.size <= unknownOfAll) return
  unauthenticated.delete(oldest)
  oldest.destroy()
}

function listen(server: Server, { host, port }: { host: string; port: number }): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      resolve()
    })
  })
}
