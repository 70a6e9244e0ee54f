import { AppError } from '../errors.ts'

/** Dictionary members with byte sequences: RFC 9651, sections 3.2 and 3.3.5. */
const member = /^([a-z*][a-z0-9_\-.*]*)=:([A-Za-z0-9+/]*={0,2}):((?:;[ ]*[a-z*][a-z0-9_\-.*]*(?:=[^,;]*)?)*)$/
const sha256Bytes = 32

/**
 * The SHA-256 in a Content-Digest header (RFC 9530), or undefined: other algorithms are ignored. Of a repeated one, the
 * last counts.
 * @throws INVALID_INPUT where the header is malformed
 */
export function parseContentDigest(header: string | undefined): Buffer | undefined {
  if (header === undefined) return undefined
  let digest: Buffer | undefined
  for (const text of header.split(',')) {
    const [, algorithm, base64] = member.exec(text.replace(/^[ \t]+|[ \t]+$/g, '')) ?? []
    if (algorithm === undefined || base64 === undefined) throw malformed()
    if (algorithm !== 'sha-256') continue
    digest = Buffer.from(base64, 'base64')
    if (digest.length !== sha256Bytes) throw malformed()
  }
  return digest
}

function malformed(): AppError {
  return new AppError('INVALID_INPUT', 'The Content-Digest header reads "sha-256=:<44 characters of base64>:".')
}
