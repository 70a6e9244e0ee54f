/** Compares content with the digest that the server reports (RFC 9530). */
import { md5 } from '@noble/hashes/legacy.js'
import { sha256 } from '@noble/hashes/sha2.js'
import { StowageError } from './error.ts'

interface Digest {
  algorithm: 'sha-256' | 'md5'
  base64: string
}

/** A member of a dictionary whose value is a byte sequence (RFC 9651). */
const member = /^([a-z0-9-]+)=:([A-Za-z0-9+/=]*):$/

/** Reads the strongest digest of the whole file; null if the server sent none. */
export function digestOf(headers: Headers): Digest | null {
  const items = (headers.get('repr-digest') ?? '').split(',').map(item => member.exec(item.trim()))
  const sent = new Map(items.flatMap(item => (item ? [[item[1], item[2] ?? '']] : [])))
  for (const algorithm of ['sha-256', 'md5'] as const) {
    const base64 = sent.get(algorithm)
    if (base64 !== undefined) return { algorithm, base64 }
  }
  return null
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
