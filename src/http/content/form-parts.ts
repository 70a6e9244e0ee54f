import { MIMEType } from 'node:util'
import multipart, { type Multipart } from '@fastify/multipart'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { AppError } from '../../errors.ts'
import { fromForm } from '../errors.ts'

/** Limits of one form; `fieldSize` is in bytes. The service bounds the size of files. */
export interface FormLimits {
  parts: number
  fields: number
  fieldSize: number
  files?: number
}

/** Limits of every form. The headers of a part have at most `headerSize` bytes; a name of 1,024 bytes takes up to 3,072 of them. */
const commonLimits = { headerPairs: 20, headerSize: 16 * 1024, fileSize: Number.MAX_SAFE_INTEGER }

/** Registers the parser of forms in a scope, for `formParts`. */
export async function acceptForms(scope: FastifyInstance, limits: FormLimits): Promise<void> {
  await scope.register(multipart, { preservePath: true, limits: { ...limits, ...commonLimits } })
}

export interface Parts {
  /** Returns the next part, or undefined at the end. @throws INCOMPLETE_BODY, INVALID_INPUT */
  take(): Promise<Multipart | undefined>
  /** Resolves when the last part that `take` returned is complete. @throws as `take` */
  settle(): Promise<void>
}

export function formParts(request: FastifyRequest): Parts {
  const iterator = request.parts()
  let ahead: Promise<Multipart | undefined> | undefined
  let countDelimiters: (() => number) | undefined
  let taken = 0
  const next = async () => {
    countDelimiters ??= countParts(request)
    const { value, done } = await iterator.next().catch(error => Promise.reject(fromForm(error)))
    if (!done) taken += 1
    else if (countDelimiters() > taken) throw unreadablePart()
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

/** Ends after the part is known to be complete, because the stream of a truncated part ends without an error. */
export async function* wholePart(file: AsyncIterable<Buffer>, parts: Parts): AsyncGenerator<Buffer, void, undefined> {
  try {
    yield* file
  } catch (error) {
    throw fromForm(error)
  }
  await parts.settle()
}

/**
 * Counts the parts in the received bytes by their delimiters (RFC 2046, section 5.1.1). The parser silently skips parts that
 * it cannot read, so their files would be lost without an error. Call this before the body is read.
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
      // The next chunk shows whether this is the last delimiter.
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

/** Returns null if the header is malformed; the parser then decides. */
function boundaryOf(contentType = ''): string | null {
  try {
    return new MIMEType(contentType).params.get('boundary')
  } catch {
    return null
  }
}

function unreadablePart(): AppError {
  const each =
    'each part must have "Content-Disposition: form-data" with a name, and no line break in a name or filename'
  return new AppError('INVALID_INPUT', `A part of the form cannot be read: ${each}.`)
}
