/**
 * The content of an encrypted file: a header with a random nonce, then blocks of 64 KiB, each with 16 bytes that authenticate it. The nonce
 * of a block is that of the file plus the number of the block, so a block that is damaged, or at another place, does not decrypt.
 */
import { nonceBytes, tagBytes } from './secretbox.ts'

/** Bytes of the content of a block. */
export const blockBytes = 64 * 1024
export const storedBlockBytes = tagBytes + blockBytes
const magic = Buffer.from('RCLONE\0\0')
export const headerBytes = magic.length + nonceBytes

export function headerOf(nonce: Uint8Array): Buffer {
  return Buffer.concat([magic, nonce])
}

/** Returns the nonce of a file, or null if the bytes are no header. */
export function nonceIn(header: Uint8Array): Buffer | null {
  const bytes = Buffer.from(header)
  if (bytes.length < headerBytes || !bytes.subarray(0, magic.length).equals(magic)) return null
  return bytes.subarray(magic.length, headerBytes)
}

/** Returns the size of a file as stored. */
export function storedSize(size: number): number {
  const rest = size % blockBytes
  return headerBytes + Math.floor(size / blockBytes) * storedBlockBytes + (rest === 0 ? 0 : tagBytes + rest)
}

/** Returns the size of the content of a stored file, or null if no file of this format has that size. */
export function contentSize(stored: number): number | null {
  const bytes = stored - headerBytes
  const rest = bytes % storedBlockBytes
  if (bytes < 0 || (rest > 0 && rest <= tagBytes)) return null
  return Math.floor(bytes / storedBlockBytes) * blockBytes + (rest === 0 ? 0 : rest - tagBytes)
}

/** Returns the size of the largest content that fits in so many stored bytes. */
export function largestContent(stored: number): number {
  const bytes = Math.max(0, stored - headerBytes)
  return Math.floor(bytes / storedBlockBytes) * blockBytes + Math.max(0, (bytes % storedBlockBytes) - tagBytes)
}

/** Returns the nonce of a block: that of the file plus the number of the block. The first byte is the least. */
export function nonceOfBlock(nonce: Uint8Array, number: number): Buffer {
  const sum = Buffer.from(nonce)
  let carry = number
  for (let index = 0; index < sum.length && carry > 0; index += 1) {
    const digit = (sum[index] ?? 0) + (carry % 256)
    sum[index] = digit % 256
    carry = Math.floor(carry / 256) + Math.floor(digit / 256)
  }
  return sum
}
