import type { Socket } from 'node:net'

/**
 * Lets all that is written to a socket in one turn of the event loop leave with one call of the system. `ssh2` writes each packet in
 * three parts. Begin after the login: a peer whose handshake fails would otherwise never get the last packets before the socket is
 * destroyed.
 */
export function joinWrites(socket: Socket): void {
  const write: (...parts: [Buffer]) => boolean = socket.write.bind(socket)
  socket.write = (...parts: unknown[]) => {
    if (socket.writableCorked === 0) {
      socket.cork()
      setImmediate(() => socket.uncork())
    }
    return write(...(parts as [Buffer]))
  }
}
