/** A TCP client that sends exactly the given bytes. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { until } from '../support/until.ts'

export { eventually } from '../support/until.ts'

export interface Talk {
  socket: Socket
  send(data: string | Buffer): Promise<void>
  /** Everything received so far, as Latin-1. */
  received(): string
  /** Resolves when the received text matches. */
  until(pattern: RegExp): Promise<RegExpExecArray>
  /** Resolves when the server has closed its side, with true if the connection was reset. */
  ended: Promise<boolean>
}

export async function talk(port: number): Promise<Talk> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  await once(socket, 'connect')
  const chunks: Buffer[] = []
  let wasReset = false
  socket.on('data', chunk => chunks.push(chunk))
  socket.on('error', () => {
    wasReset = true
  })
  const end = Promise.withResolvers<boolean>()
  socket.once('end', () => end.resolve(wasReset)).once('close', () => end.resolve(wasReset))
  const received = () => Buffer.concat(chunks).toString('latin1')
  return {
    socket,
    received,
    send: data => new Promise((resolve, reject) => socket.write(data, error => (error ? reject(error) : resolve()))),
    async until(pattern) {
      await until(() => pattern.test(received()) || [String(pattern), received().slice(-500)], { every: 5 })
      return pattern.exec(received()) as RegExpExecArray
    },
    ended: end.promise,
  }
}

export function head(method: string, url: string, headers: Record<string, string | number> = {}): string {
  const { host, pathname, search } = new URL(url)
  const lines = Object.entries({ Host: host, ...headers }).map(([name, value]) => `${name}: ${value}`)
  return `${method} ${pathname}${search} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`
}
