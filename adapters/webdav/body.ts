import { createHash } from 'node:crypto'
import type { Readable } from 'node:stream'
import { type Call, orAborted, StorageError } from '../contract.ts'

/** Bytes of a body that is read whole before it is sent, so that it can be sent again. */
const smallBytes = 256 * 1024

interface PreparedBody {
  headers: Record<string, string>
  body: Buffer | AsyncIterable<Buffer>
}

/** @param size a hint, in bytes */
export async function prepareBody(body: Readable, { signal, size }: Call & { size?: number }): Promise<PreparedBody> {
  const chunks = body.iterator({ destroyOnReturn: false }) as AsyncIterator<Buffer>
  const gathered: Buffer[] = []
  let bytes = 0
  while (bytes <= smallBytes) {
    const { done, value } = await orAborted(chunks.next(), signal)
    if (done) {
      const whole = Buffer.concat(gathered)
      return { headers: { 'oc-checksum': `SHA1:${createHash('sha1').update(whole).digest('hex')}` }, body: whole }
    }
    gathered.push(value)
    bytes += value.length
  }
  // The hint can be wrong. A body that is cut there would be stored as a whole one.
  const length = size !== undefined && size >= bytes ? size : undefined
  const headers: Record<string, string> = length === undefined ? {} : { 'content-length': String(length) }
  return { headers, body: rest(gathered, chunks, length) }
}

/** Sends the last bytes only once the body has ended without an error, because they complete the file. */
async function* rest(
  gathered: readonly Buffer[],
  chunks: AsyncIterator<Buffer>,
  size: number | undefined,
): AsyncGenerator<Buffer> {
  let held: Buffer = Buffer.concat(gathered)
  let sent = 0
  for (;;) {
    const { done, value } = await chunks.next()
    const length = sent + held.length + (done ? 0 : value.length)
    if (size !== undefined && (done ? length !== size : length > size)) {
      throw new StorageError('UNAVAILABLE', `The body has another size than ${size} bytes: send it again.`)
    }
    yield held
    if (done) return
    sent += held.length
    held = value
  }
}
