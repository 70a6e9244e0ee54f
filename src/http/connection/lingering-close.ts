/**
 * Sends a response that refuses a body while the client still sends it. Closing immediately would reset the connection, so
 * the client would not see the response (RFC 9112, section 9.6). Reading all of the body could take gigabytes. The server
 * therefore sends the response and reads a limited part of the body.
 */
import type { IncomingMessage } from 'node:http'

const maxBytes = 16 * 1024 * 1024
/** Milliseconds. */
const maxTime = 1000

export function isBodyComing({ complete, headers }: IncomingMessage): boolean {
  const { 'content-length': length = '0', 'transfer-encoding': encoding } = headers
  return !complete && (encoding !== undefined || length !== '0')
}

/** Yields the response, then ends when the rest of the body has been read or a limit is reached. */
export async function* lingering(response: Buffer, request: IncomingMessage): AsyncGenerator<Buffer, void, undefined> {
  yield response
  if (request.complete || request.destroyed) return
  request.unpipe()
  const { promise, resolve } = Promise.withResolvers<void>()
  let bytes = 0
  const onData = (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > maxBytes) resolve()
  }
  const timer = setTimeout(resolve, maxTime)
  request.on('data', onData).once('end', resolve).once('close', resolve)
  request.resume()
  await promise
  clearTimeout(timer)
  request.off('data', onData).pause()
}
