import { createHash } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { AppError } from '../../errors.ts'
import { parseXml, type XmlElement } from '../../http/xml/parse.ts'
import { ExpectedChecksum } from './checksums.ts'
import { bodyDigests } from './digests.ts'
import { S3Error } from './failure.ts'

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
