/**
 * EME (ECB-Mix-ECB), a cipher for blocks of any multiple of 16 bytes up to 2,048: each bit of the result depends on each bit of the input.
 * Halevi and Rogaway, "A Parallelizable Enciphering Mode" (https://eprint.iacr.org/2003/147), with the order of bytes of the draft EME-32
 * (IEEE P1619). The block cipher is AES-256.
 */
import { type Cipheriv, createCipheriv, createDecipheriv, type Decipheriv } from 'node:crypto'

/** Bytes. */
const blockSize = 16
/** The paper bounds the length by the bits of a block. */
const maxBlocks = 128

type BlockCipher = Pick<Cipheriv | Decipheriv, 'update'>

export class Eme {
  readonly #encrypt: BlockCipher
  readonly #decrypt: BlockCipher
  readonly #tweak: Buffer
  /** 2^i * L for each block i, where L is 2 * AES(0). */
  readonly #masks: Buffer

  /** @param key of 32 bytes @param tweak of 16 bytes */
  constructor(key: Buffer, tweak: Buffer) {
    // In this mode, neither has a state: each block stands by itself.
    this.#encrypt = createCipheriv('aes-256-ecb', key, null).setAutoPadding(false)
    this.#decrypt = createDecipheriv('aes-256-ecb', key, null).setAutoPadding(false)
    this.#tweak = tweak
    const mask = Buffer.from(this.#encrypt.update(Buffer.alloc(blockSize)))
    this.#masks = Buffer.alloc(maxBlocks * blockSize)
    for (let index = 0; index < maxBlocks; index += 1) {
      double(mask)
      mask.copy(this.#masks, index * blockSize)
    }
  }

  /** @param text whose length is a multiple of 16, from 16 to 2,048 bytes */
  encrypt(text: Buffer): Buffer {
    return this.#transform(this.#encrypt, text)
  }

  /** @param text as for `encrypt` */
  decrypt(text: Buffer): Buffer {
    return this.#transform(this.#decrypt, text)
  }

  /** The names are those of the paper, with `C` for each stage of a block. Both directions differ only in the block cipher. */
  #transform(cipher: BlockCipher, text: Buffer): Buffer {
    if (text.length === 0 || text.length % blockSize !== 0 || text.length > this.#masks.length) {
      throw new RangeError(`EME cannot work on ${text.length} bytes.`)
    }
    const masked = Buffer.from(text)
    xorInto(masked, this.#masks)
    const mixed = Buffer.from(cipher.update(masked))
    const first = mixed.subarray(0, blockSize)

    const sum = Buffer.from(this.#tweak)
    for (let at = 0; at < mixed.length; at += blockSize) xorInto(sum, mixed.subarray(at, at + blockSize))
    const mixedSum = Buffer.from(cipher.update(sum))
    const mask = Buffer.from(sum)
    xorInto(mask, mixedSum)

    mixedSum.copy(first)
    xorInto(first, this.#tweak)
    for (let at = blockSize; at < mixed.length; at += blockSize) {
      double(mask)
      const block = mixed.subarray(at, at + blockSize)
      xorInto(block, mask)
      xorInto(first, block)
    }
    const result = Buffer.from(cipher.update(mixed))
    xorInto(result, this.#masks)
    return result
  }
}

/** Replaces `target` by its exclusive or with as many bytes of `other`. */
function xorInto(target: Buffer, other: Buffer): void {
  for (let index = 0; index < target.length; index += 1) target[index] = (target[index] ?? 0) ^ (other[index] ?? 0)
}

/** Multiplies a block by 2 in GF(2^128), whose polynomial is x^128 + x^7 + x^2 + x + 1. The first byte is the lowest. */
function double(block: Buffer): void {
  let carry = 0
  for (let index = 0; index < block.length; index += 1) {
    const byte = block[index] ?? 0
    block[index] = (byte << 1) | carry
    carry = byte >> 7
  }
  if (carry === 1) block[0] = (block[0] ?? 0) ^ 0x87
}
