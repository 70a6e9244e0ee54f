/** A server in the place of clamd that breaks the protocol, waits, or answers what a test says. */
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import type { ScannerSettings } from '../../src/services/scans/index.ts'

export interface FakeClamd {
  scanner: ScannerSettings
  /** Called for each connection. The socket discards what it receives. */
  behave: (socket: Socket) => void
  /** The open connections. */
  open(): number
}

interface Scope {
  teardown(run: () => Promise<void>): unknown
}

export async function startFakeClamd(t: Scope): Promise<FakeClamd> {
  const sockets = new Set<Socket>()
  const server = createServer(socket => {
    sockets.add(socket)
    socket.on('error', () => {}).once('close', () => sockets.delete(socket))
    socket.resume()
    fake.behave(socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(async () => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const fake: FakeClamd = {
    scanner: { address: { host: '127.0.0.1', port }, acceptsUnscanned: false },
    behave: () => {},
    open: () => sockets.size,
  }
  return fake
}
