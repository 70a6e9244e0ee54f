/** Dropbox's content hash (www.dropbox.com/developers/reference/content-hash): the SHA-256 of the SHA-256 of each block. */
import { createHash, webcrypto } from 'node:crypto'

/** Bytes. */
export const blockSize = 4 * 1024 * 1024

/** Returns the hashes of all blocks, joined. Only the last piece of a file may have a size that is no multiple of a block. */
export async function hashBlocks(bytes: Uint8Array): Promise<Buffer> {
  const hashes: Promise<ArrayBuffer>[] = []
  for (let start = 0; start < bytes.length; start += blockSize) {
    const block = bytes.subarray(start, start + blockSize) as Uint8Array<ArrayBuffer>
    // Hashes in the thread pool: a block takes several milliseconds.
    hashes.push(webcrypto.subtle.digest('SHA-256', block))
  }
  return Buffer.concat((await Promise.all(hashes)).map(hash => Buffer.from(hash)))
}

/** @param blocks from `hashBlocks`; those of consecutive pieces can be passed one after the other */
export function contentHash(...blocks: Buffer[]): string {
  const hash = createHash('sha256')
  for (const block of blocks) hash.update(block)
  return hash.digest('hex')
}
