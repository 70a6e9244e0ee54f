/**
 * An answer that refuses a body which is still on its way. Closing at once would reset the connection, and the client
 * would never see why (RFC 9112, section 9.6); reading all of it could take gigabytes. So: answer, read on for a little.
 */
import type { IncomingMessage } from 'node:http'

const maxBytes = 1024 * 1024
/** Milliseconds. */
const maxTime = 1000

export function isBodyComing({ complete, headers }: IncomingMessage): boolean {
  const { 'content-length': length = '0', 'transfer-encoding': encoding } = headers
  return !complete && (encoding !== undefined || length !== '0')
}

/** Yields the answer, and ends once the rest of the request was read or is more than is worth it. */
export async function* lingering(answer: Buffer, request: IncomingMessage): AsyncGenerator<Buffer, void, undefined> {
  yield answer
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
