import { MIMEType } from 'node:util'
import type { Multipart } from '@fastify/multipart'
import type { FastifyRequest } from 'fastify'
import { AppError } from '../../errors.ts'
import { fromForm } from '../errors.ts'

export interface Parts {
  /** The next part; undefined at the end. @throws INCOMPLETE_BODY, INVALID_INPUT */
  take(): Promise<Multipart | undefined>
  /** Resolves once the part that was taken is known to have ended as it should. @throws as `take` */
  settle(): Promise<void>
}

export function formParts(request: FastifyRequest): Parts {
  const iterator = request.parts()
  let ahead: Promise<Multipart | undefined> | undefined
  let begun: (() => number) | undefined
  let given = 0
  const next = async () => {
    begun ??= countParts(request)
    const { value, done } = await iterator.next().catch(error => Promise.reject(fromForm(error)))
    if (!done) given += 1
    else if (begun() > given) throw unread()
    return done ? undefined : value
  }
  return {
    take() {
      const part = ahead ?? next()
      ahead = undefined
      return part
    },
    async settle() {
      ahead ??= next()
      await ahead
    },
  }
}

/**
 * Of all parts in the bytes that have come, counted by their delimiters (RFC 2046, section 5.1.1): the parser passes over
 * those that it cannot read and does not tell, and their files would be lost. To be called when the body begins to be read.
 */
function countParts({ raw }: FastifyRequest): () => number {
  const boundary = boundaryOf(raw.headers['content-type'])
  if (!boundary) return () => 0
  const delimiter = Buffer.from(`\r\n--${boundary}`)
  let count = 0
  let rest: Buffer = Buffer.from('\r\n')
  const search = (chunk: Buffer) => {
    const bytes = Buffer.concat([rest, chunk])
    let from = 0
    for (let at = bytes.indexOf(delimiter); at >= 0; at = bytes.indexOf(delimiter, from)) {
      const end = at + delimiter.length
      // Whether it is the last one, the next chunk says.
      if (end + 2 > bytes.length) break
      if (bytes.toString('latin1', end, end + 2) === '--') {
        raw.off('data', search)
        return
      }
      count += 1
      from = end
    }
    rest = Buffer.from(bytes.subarray(Math.max(from, bytes.length - delimiter.length - 1)))
  }
  raw.on('data', search)
  return () => count
}

/** Null where only the parser can make sense of it. */
function boundaryOf(contentType = ''): string | null {
  try {
    return new MIMEType(contentType).params.get('boundary')
  } catch {
    return null
  }
}

function unread(): AppError {
  const each = 'each part has "Content-Disposition: form-data" with a name, and no line break in a name or filename'
  return new AppError('INVALID_INPUT', `A part of the form cannot be read: ${each}.`)
}
