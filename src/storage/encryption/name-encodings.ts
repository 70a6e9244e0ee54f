/** How encrypted names are written as text. Each encoding is the one of rclone with the same name. */
import { base32hexnopad } from '@scure/base'
import { decode, encode } from 'base32768'
import type { NameEncoding } from '../../db/schema.ts'

export interface TextEncoding {
  encode(bytes: Buffer): string
  /** Returns null for a text that no bytes have. */
  decode(text: string): Buffer | null
}

export const nameEncodings: Record<NameEncoding, TextEncoding> = {
  BASE32: {
    encode: bytes => base32hexnopad.encode(bytes).toLowerCase(),
    decode: text => attempt(() => base32hexnopad.decode(text.toUpperCase())),
  },
  BASE64: {
    encode: bytes => bytes.toString('base64url'),
    // It skips other characters, which the caller notices.
    decode: text => Buffer.from(text, 'base64url'),
  },
  BASE32768: { encode: bytes => encode(bytes), decode: text => attempt(() => decode(text)) },
}

function attempt(decode: () => Uint8Array): Buffer | null {
  try {
    return Buffer.from(decode())
  } catch {
    return null
  }
}
