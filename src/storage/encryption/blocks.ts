/**
 * The content of an encrypted file: a header with a random nonce, then blocks of 64 KiB, each with 16 bytes that authenticate it. The nonce
 * of a block is that of the file plus the number of the block, so a block that is damaged, or at another place, does not decrypt.
 */
import { xsalsa20poly1305 } from '@noble/ciphers/salsa.js'

/** Bytes of the content of a block. */
export const blockBytes = 64 * 1024
/** Bytes that authenticate a block. */
const tagBytes = 16
export const storedBlockBytes = tagBytes + blockBytes
const magic = Buffer.from('RCLONE\0\0')
export const nonceBytes = 24
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

/** Returns the nonce plus a number, as the least byte is the first. */
function addToNonce(nonce: Uint8Array, number: number): Uint8Array {
  const sum = Uint8Array.from(nonce)
  let carry = number
  for (let index = 0; index < sum.length && carry > 0; index += 1) {
    const digit = (sum[index] ?? 0) + (carry % 256)
    sum[index] = digit % 256
    carry = Math.floor(carry / 256) + Math.floor(digit / 256)
  }
  return sum
}

/** One or more blocks in a row. All but the last of a file are whole. */
export interface BlockJob {
  kind: 'seal' | 'open'
  key: Uint8Array
  /** Of the file. */
  nonce: Uint8Array
  /** The number of the first block. */
  first: number
  bytes: Uint8Array
}

/** Bytes that the cipher writes in front of a result, and later overwrites. */
const sealLead = 16
const openLead = 48

/** Encrypts or decrypts blocks. Returns null if one is damaged. */
export function runBlockJob({ kind, key, nonce, first, bytes }: BlockJob): Uint8Array<ArrayBuffer> | null {
  return kind === 'seal' ? seal(key, nonce, first, bytes) : open(key, nonce, first, bytes)
}

/** Works from the last block to the first, because the cipher overwrites some bytes in front of each result. */
function seal(key: Uint8Array, nonce: Uint8Array, first: number, bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const count = Math.ceil(bytes.length / blockBytes)
  const output = new Uint8Array(sealLead + bytes.length + count * tagBytes)
  for (let index = count - 1; index >= 0; index -= 1) {
    const block = bytes.subarray(index * blockBytes, (index + 1) * blockBytes)
    const start = index * storedBlockBytes
    const region = output.subarray(start, start + sealLead + tagBytes + block.length)
    xsalsa20poly1305(key, addToNonce(nonce, first + index)).encrypt(block, region)
  }
  return output.subarray(sealLead)
}

function open(key: Uint8Array, nonce: Uint8Array, first: number, bytes: Uint8Array): Uint8Array<ArrayBuffer> | null {
  const count = Math.ceil(bytes.length / storedBlockBytes)
  if (bytes.length <= (count - 1) * storedBlockBytes + tagBytes) return null
  const output = new Uint8Array(openLead + bytes.length - count * tagBytes)
  for (let index = count - 1; index >= 0; index -= 1) {
    const block = bytes.subarray(index * storedBlockBytes, (index + 1) * storedBlockBytes)
    const start = index * blockBytes
    const region = output.subarray(start, start + openLead - tagBytes + block.length)
    try {
      xsalsa20poly1305(key, addToNonce(nonce, first + index)).decrypt(block, region)
    } catch {
      return null
    }
  }
  return output.subarray(openLead)
}
