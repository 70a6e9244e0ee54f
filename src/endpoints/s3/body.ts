/**
 * Reads the bodies of requests, objects and XML, and compares them with the signatures, digests and checksums that the client
 * sends.
 */
import { createHash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { type Readable, Transform } from 'node:stream'
import { crc32 } from 'node:zlib'
import type { FastifyRequest } from 'fastify'
import { AppError } from '../../errors.ts'
import { parseContentLength } from '../../http/content/body-headers.ts'
import { parseDigests } from '../../http/content/digests.ts'
import { parseXml, type XmlElement } from '../../http/xml.ts'
import { settle } from '../../lib/settle.ts'
import type { Digests } from '../../services/files/index.ts'
import { detach } from '../../storage/body-streams.ts'
import { ChunkedBody, chunkedForm } from './chunked-body.ts'
import { S3Error } from './errors.ts'

interface ObjectBody {
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

/** Bytes: enough for 1,000 keys, or 10,000 parts with their checksums. */
export const maxXmlBytes = 4 * 1024 * 1024
/** Elements, and the texts in and between them. */
const maxElements = 200_000

/**
 * Passes the elements in the root of a body to `take`, after the body is compared with its signature and its digests.
 * @throws S3Error, and what `take` throws
 */
export async function readXml(
  { headers, body, signature }: FastifyRequest,
  root: string,
  take: (element: XmlElement) => void,
): Promise<void> {
  const bytes = body instanceof Uint8Array ? body : new Uint8Array()
  const payload = signature?.payload ?? 'UNSIGNED-PAYLOAD'
  const { md5, sha256 } = bodyDigests(headers)
  const expected = [
    ['sha256', payload === 'UNSIGNED-PAYLOAD' ? undefined : payload],
    ['sha256', sha256?.toString('hex')],
    ['md5', md5?.toString('hex')],
  ] as const
  for (const [algorithm, digest] of expected) {
    if (digest !== undefined && createHash(algorithm).update(bytes).digest('hex') !== digest) {
      throw new S3Error('BadDigest', 'The body does not match the digest that was sent with it.')
    }
  }
  const checksum = await ExpectedChecksum.of(Object.keys(headers))
  checksum?.update(bytes)
  await checksum?.verify(new Map(Object.entries(headers).map(([name, value]) => [name, String(value)])))
  const element = await parseXml(bytes, maxElements, take).catch(error => {
    if (error instanceof S3Error || !(error instanceof AppError) || error.reason !== 'INVALID_INPUT') throw error
    throw new S3Error('MalformedXML', error.message, error)
  })
  if (element.name !== root) throw new S3Error('MalformedXML', `The body must be a <${root}>.`)
}

/** Returns the digests that a body must have. @throws S3Error for a malformed one */
function bodyDigests(headers: IncomingHttpHeaders): Digests {
  try {
    return parseDigests(headers)
  } catch (error) {
    if (!(error instanceof AppError) || error.reason !== 'INVALID_INPUT') throw error
    throw new S3Error('InvalidDigest', error.message, error)
  }
}

interface RunningChecksum {
  update(bytes: Uint8Array): unknown
  digest(): Uint8Array | Promise<Uint8Array>
}

const prefix = 'x-amz-checksum-'

const algorithms = {
  crc32: async () => new Crc32(),
  crc32c: async () => new (await import('@aws-sdk/checksums/crc')).Crc32c(),
  crc64nvme: async () => new (await import('@aws-sdk/checksums/crc')).Crc64Nvme(),
  sha1: async () => createHash('sha1'),
  sha256: async () => createHash('sha256'),
} satisfies Record<string, () => Promise<RunningChecksum>>

type Algorithm = keyof typeof algorithms

class Crc32 implements RunningChecksum {
  #value = 0

  update(bytes: Uint8Array): void {
    this.#value = crc32(bytes, this.#value)
  }

  digest(): Uint8Array {
    const digest = Buffer.alloc(4)
    digest.writeUInt32BE(this.#value)
    return digest
  }
}

/** Computes the checksum that a request announces, and compares it at the end. */
class ExpectedChecksum {
  readonly #name: string
  readonly #running: RunningChecksum

  private constructor(name: string, running: RunningChecksum) {
    this.#name = name
    this.#running = running
  }

  /** Returns null if none of the names is one of a checksum. @throws S3Error for more than one, or an unknown algorithm */
  static async of(headerNames: readonly string[]): Promise<ExpectedChecksum | null> {
    const [name, ...more] = headerNames.filter(name => name.startsWith(prefix) && !isNote(name))
    if (name === undefined) return null
    if (more.length > 0) throw new S3Error('InvalidRequest', 'Send one checksum with a request.')
    const algorithm = name.slice(prefix.length)
    if (!isAlgorithm(algorithm)) {
      throw new S3Error('InvalidRequest', `The checksums of this server are ${Object.keys(algorithms).join(', ')}.`)
    }
    return new ExpectedChecksum(name, await algorithms[algorithm]())
  }

  update(bytes: Uint8Array): void {
    this.#running.update(bytes)
  }

  /** @param values the values by header name @returns the header with the value @throws S3Error if it differs */
  async verify(values: ReadonlyMap<string, string>): Promise<Record<string, string>> {
    const computed = Buffer.from(await this.#running.digest()).toString('base64')
    if (values.get(this.#name) !== computed) {
      throw new S3Error(
        'BadDigest',
        `The bytes do not match the ${this.#name} that was sent with them: nothing was stored.`,
      )
    }
    return { [this.#name]: computed }
  }
}

function isAlgorithm(name: string): name is Algorithm {
  return Object.hasOwn(algorithms, name)
}

/** Headers that say something about a checksum and have none. */
function isNote(name: string): boolean {
  return name === `${prefix}mode` || name === `${prefix}type` || name === `${prefix}algorithm`
}
