import { type Readable, Transform } from 'node:stream'
import type { FastifyRequest } from 'fastify'
import { ChunkedBody, chunkedForm } from '../../auth/sigv4/chunked-body.ts'
import { parseContentLength } from '../../http/content/body-headers.ts'
import type { Digests } from '../../services/files/index.ts'
import { settle } from '../../services/files/upload.ts'
import { detach } from '../../storage/pipe-body.ts'
import { ExpectedChecksum } from './checksums.ts'
import { bodyDigests } from './digests.ts'
import { S3Error } from './failure.ts'

export interface ObjectBody {
  body: Readable
  /** Bytes, if the client declares them. */
  size: number | undefined
  digests: Digests
  /** Returns the checksum that the body was compared with, once it has ended, as a header. */
  checksum(): Readonly<Record<string, string>>
}

const sha256Pattern = /^[0-9a-f]{64}$/
const lengthPattern = /^\d{1,16}$/

/**
 * Returns the body of an object: without the framing of its chunks, and compared with its signature and its digests.
 * @throws S3Error
 */
export async function objectBody({ raw, signature }: FastifyRequest): Promise<ObjectBody> {
  const { headers } = raw
  const payload = signature?.payload ?? String(headers['x-amz-content-sha256'] ?? 'UNSIGNED-PAYLOAD')
  const form = chunkedForm(payload)
  if (form && !signature) throw new S3Error('InvalidRequest', 'Only a signed request can have a body in chunks.')
  if (!form && payload !== 'UNSIGNED-PAYLOAD' && !sha256Pattern.test(payload)) {
    throw new S3Error('InvalidArgument', 'x-amz-content-sha256 must be a SHA-256 in hex or a form that S3 defines.')
  }
  const announced = form?.hasTrailer ? trailerNames(headers['x-amz-trailer']) : []
  const chunked = form && signature ? new ChunkedBody(form, signature, announced) : null
  const expected = await ExpectedChecksum.of([...Object.keys(headers), ...announced])
  const digests = bodyDigests(headers)
  if (sha256Pattern.test(payload)) digests.sha256 = Buffer.from(payload, 'hex')
  const size = chunked ? decodedLength(headers['x-amz-decoded-content-length']) : parseContentLength(headers)
  if (!chunked && !expected) return { body: raw, size, digests, checksum: () => ({}) }
  const given = new Map(Object.entries(headers).map(([name, value]) => [name, String(value)]))
  const decoder = new DecodedBody(chunked, expected, given)
  return { body: detach(raw, decoder), size, digests, checksum: () => decoder.checksum }
}

/**
 * Returns the body compared with the checksum that the fields of a form announce.
 * @param fields by their names in lowercase
 * @throws S3Error
 */
export async function withChecksum(body: Readable, fields: ReadonlyMap<string, string>): Promise<{ body: Readable }> {
  const expected = await ExpectedChecksum.of([...fields.keys()])
  return { body: expected ? detach(body, new DecodedBody(null, expected, fields)) : body }
}

class DecodedBody extends Transform {
  checksum: Readonly<Record<string, string>> = {}
  readonly #chunked: ChunkedBody | null
  readonly #expected: ExpectedChecksum | null
  readonly #given: ReadonlyMap<string, string>

  constructor(chunked: ChunkedBody | null, expected: ExpectedChecksum | null, given: ReadonlyMap<string, string>) {
    super()
    this.#chunked = chunked
    this.#expected = expected
    this.#given = given
  }

  override _transform(bytes: Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    try {
      for (const data of this.#chunked?.decode(bytes) ?? [bytes]) {
        this.#expected?.update(data)
        this.push(data)
      }
      done()
    } catch (error) {
      done(error as Error)
    }
  }

  override _flush(done: (error?: Error | null) => void): void {
    void settle(this.#end(), done)
  }

  async #end(): Promise<void> {
    this.#chunked?.end()
    const values = new Map([...this.#given, ...(this.#chunked?.trailers ?? [])])
    this.checksum = (await this.#expected?.verify(values)) ?? {}
  }
}

function trailerNames(header: string | string[] | undefined): string[] {
  const names = String(header ?? '')
    .split(',')
    .map(name => name.trim().toLowerCase())
  return names.filter(name => name !== '')
}

/** @throws S3Error */
function decodedLength(header: string | string[] | undefined): number {
  if (typeof header === 'string' && lengthPattern.test(header)) return Number(header)
  throw new S3Error('InvalidArgument', 'A body in chunks needs its length in x-amz-decoded-content-length.')
}
