/** Compares content with its digest. It is loaded only for downloads that have one, because it contains the hash functions. */
import { md5 } from '@noble/hashes/legacy.js'
import { sha256 } from '@noble/hashes/sha2.js'
import { StowageError } from './error.ts'

/** A digest of content (RFC 9530). */
export interface Digest {
  algorithm: 'sha-256' | 'md5'
  base64: string
}

/** Passes the content on, and fails at its end if the digest differs. */
export function verifying(
  { algorithm, base64 }: Digest,
  { status, headers }: Response,
): TransformStream<Uint8Array, Uint8Array> {
  const hash = (algorithm === 'md5' ? md5 : sha256).create()
  return new TransformStream({
    transform(chunk, controller) {
      hash.update(chunk)
      controller.enqueue(chunk)
    },
    flush() {
      if (btoa(String.fromCharCode(...hash.digest())) === base64) return
      const requestId = headers.get('x-request-id')
      const details = { code: 'CHECKSUM_MISMATCH', reason: 'CHECKSUM_MISMATCH', status, retryable: true, requestId }
      throw new StowageError('The content differs from its checksum: download it again.', details)
    },
  })
}
