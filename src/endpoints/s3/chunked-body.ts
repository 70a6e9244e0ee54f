/**
 * Decodes bodies with the content coding `aws-chunked`: chunks that carry their size and, if they are signed, a signature that
 * depends on the previous one, followed by optional trailing headers.
 * https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-streaming-trailers.html
 */
import { createHash, type Hash } from 'node:crypto'
import { SignatureError } from './errors.ts'
import { hmac, isEqualHex, scopeText, type VerifiedSignature } from './verify-signature.ts'

/** The values of `x-amz-content-sha256` for a body in chunks. */
export const chunkedForms = {
  'STREAMING-AWS4-HMAC-SHA256-PAYLOAD': { isSigned: true, hasTrailer: false },
  'STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER': { isSigned: true, hasTrailer: true },
  'STREAMING-UNSIGNED-PAYLOAD-TRAILER': { isSigned: false, hasTrailer: true },
} as const

interface ChunkedForm {
  isSigned: boolean
  hasTrailer: boolean
}

export function chunkedForm(payload: string): ChunkedForm | null {
  return Object.hasOwn(chunkedForms, payload) ? chunkedForms[payload as keyof typeof chunkedForms] : null
}

/** The longest line is a trailing header or the size of a chunk with its signature. */
const maxLineLength = 1024
const maxTrailers = 10
/** 16 TiB. */
const maxChunkBytes = 2 ** 44
const chunkLine = /^([0-9a-fA-F]{1,11})(?:;chunk-signature=([0-9a-f]{64}))?$/
const emptyHash = createHash('sha256').digest('hex')

type DecoderState = 'size' | 'data' | 'end of data' | 'trailer' | 'done'

export class ChunkedBody {
  readonly #form: ChunkedForm
  readonly #signature: VerifiedSignature
  /** The trailing headers that the body must have. */
  readonly #announced: ReadonlySet<string>
  readonly #trailers = new Map<string, string>()
  #state: DecoderState = 'size'
  #line = ''
  /** Bytes of the current chunk that are still missing. */
  #missing = 0
  #previous: string
  #chunkSignature = ''
  #hash: Hash | null = null

  /** @param announced the lowercase names in the header `x-amz-trailer` */
  constructor(form: ChunkedForm, signature: VerifiedSignature, announced: readonly string[]) {
    this.#form = form
    this.#signature = signature
    this.#announced = new Set(announced)
    this.#previous = signature.value
  }

  /** The trailing headers by lowercase name, once the body has ended. */
  get trailers(): ReadonlyMap<string, string> {
    return this.#trailers
  }

  get #hasSignedTrailer(): boolean {
    return this.#form.isSigned && this.#form.hasTrailer
  }

  /** Returns the data in the next bytes of the body. @throws SignatureError */
  *decode(bytes: Buffer): Generator<Buffer, void, undefined> {
    let at = 0
    while (at < bytes.length) {
      if (this.#state === 'data') {
        const data = bytes.subarray(at, at + this.#missing)
        at += data.length
        this.#missing -= data.length
        this.#hash?.update(data)
        if (this.#missing === 0) this.#endChunk()
        yield data
        continue
      }
      const end = bytes.indexOf(0x0a, at)
      const stop = end < 0 ? bytes.length : end + 1
      this.#line += bytes.toString('latin1', at, stop)
      at = stop
      if (this.#line.length > maxLineLength) throw malformed()
      if (end < 0) return
      const line = this.#endedLine()
      this.#line = ''
      this.#read(line)
    }
  }

  /** Call this after the last byte. @throws SignatureError if the body is incomplete */
  end(): void {
    // Some clients leave out the empty line after the last chunk.
    const isWhole = this.#state === 'done' || (this.#state === 'trailer' && !this.#form.hasTrailer && this.#line === '')
    if (!isWhole) throw new SignatureError('IncompleteBody', 'The body ended before its last chunk was complete.')
    for (const name of this.#announced) if (!this.#trailers.has(name)) throw malformed()
  }

  #endedLine(): string {
    if (this.#line.endsWith('\r\n')) return this.#line.slice(0, -2)
    // minio-go ends trailing headers with a line feed alone.
    if (this.#state === 'trailer') return this.#line.slice(0, -1)
    throw malformed()
  }

  #read(line: string): void {
    if (this.#state === 'size') this.#beginChunk(line)
    else if (this.#state === 'end of data' && line === '') this.#state = 'size'
    else if (this.#state === 'trailer') this.#readTrailer(line)
    // minio-go sends two empty lines at the end.
    else if (this.#state !== 'done' || line !== '') throw malformed()
  }

  #beginChunk(line: string): void {
    const [, size = '', signature = ''] = chunkLine.exec(line) ?? []
    this.#missing = Number.parseInt(size, 16)
    if (Number.isNaN(this.#missing) || this.#missing > maxChunkBytes || this.#form.isSigned !== (signature !== '')) {
      throw malformed()
    }
    this.#chunkSignature = signature
    if (this.#form.isSigned) this.#hash = createHash('sha256')
    this.#state = 'data'
    if (this.#missing > 0) return
    this.#endChunk()
    this.#state = 'trailer'
  }

  #endChunk(): void {
    if (this.#hash) {
      const parts = [this.#previous, emptyHash, this.#hash.digest('hex')]
      this.#requireSignature('AWS4-HMAC-SHA256-PAYLOAD', parts, this.#chunkSignature)
      this.#previous = this.#chunkSignature
    }
    this.#state = 'end of data'
  }

  #readTrailer(line: string): void {
    if (line === '') {
      // minio-go sends an empty line before the signature, too.
      if (!this.#hasSignedTrailer || this.#trailers.has(trailerSignature)) this.#endTrailers()
      return
    }
    const colon = line.indexOf(':')
    const name = line.slice(0, Math.max(0, colon)).trim().toLowerCase()
    if (!this.#form.hasTrailer || name === '' || this.#trailers.has(name) || this.#trailers.size >= maxTrailers) {
      throw malformed()
    }
    this.#trailers.set(name, line.slice(colon + 1).trim())
  }

  #endTrailers(): void {
    const signature = this.#trailers.get(trailerSignature)
    this.#trailers.delete(trailerSignature)
    if (this.#hasSignedTrailer) {
      const text = [...this.#trailers].map(([name, value]) => `${name}:${value}\n`).join('')
      const hash = createHash('sha256').update(text, 'latin1').digest('hex')
      this.#requireSignature('AWS4-HMAC-SHA256-TRAILER', [this.#previous, hash], signature ?? '')
    }
    this.#state = 'done'
  }

  #requireSignature(algorithm: string, parts: readonly string[], given: string): void {
    const { timestamp, signingKey } = this.#signature
    const text = [algorithm, timestamp, scopeText(this.#signature), ...parts].join('\n')
    if (isEqualHex(given, hmac(signingKey, text))) return
    throw new SignatureError('SignatureDoesNotMatch', 'A chunk of the body does not match its signature.')
  }
}

const trailerSignature = 'x-amz-trailer-signature'

function malformed(): SignatureError {
  return new SignatureError('IncompleteBody', 'The body must consist of chunks in the form of aws-chunked.')
}
