/** quickXorHash (learn.microsoft.com/onedrive/developer/code-snippets/quickxorhash), as all kinds of OneDrive compute it. */
/** Bits by which each byte is shifted further than the previous byte. */
const shift = 11
/** Bits of the hash. The shifts repeat after as many bytes. */
const width = 160
const period = width

export class QuickXorHash {
  /** The XOR of all bytes whose shift is the same. */
  readonly #folded = new Uint8Array(period)
  #size = 0

  update(bytes: Uint8Array): void {
    const folded = this.#folded
    let position = this.#size % period
    let index = 0
    for (; index < bytes.length && position % 4 !== 0; index += 1) position = this.#add(position, bytes[index] ?? 0)
    if ((bytes.byteOffset + index) % 4 === 0) {
      const words = new Uint32Array(bytes.buffer, bytes.byteOffset + index, (bytes.length - index) >>> 2)
      const sums = new Uint32Array(folded.buffer)
      let at = position >>> 2
      for (const word of words) {
        sums[at] = (sums[at] ?? 0) ^ word
        at = at + 1 === sums.length ? 0 : at + 1
      }
      index += words.length * 4
      position = at * 4
    }
    for (; index < bytes.length; index += 1) position = this.#add(position, bytes[index] ?? 0)
    this.#size += bytes.length
  }

  /** Returns the hash in base64, as the API does. */
  digest(): string {
    const hash = Buffer.alloc(width / 8)
    for (const [index, byte] of this.#folded.entries()) {
      const bit = (index * shift) % width
      const [first, second] = [bit >>> 3, ((bit >>> 3) + 1) % hash.length]
      const shifted = byte << (bit % 8)
      hash[first] = (hash[first] ?? 0) ^ (shifted & 0xff)
      hash[second] = (hash[second] ?? 0) ^ (shifted >>> 8)
    }
    const length = Buffer.alloc(8)
    length.writeBigUInt64LE(BigInt(this.#size))
    for (const [index, byte] of length.entries()) {
      const at = hash.length - length.length + index
      hash[at] = (hash[at] ?? 0) ^ byte
    }
    return hash.toString('base64')
  }

  #add(position: number, byte: number): number {
    this.#folded[position] = (this.#folded[position] ?? 0) ^ byte
    return position + 1 === period ? 0 : position + 1
  }
}
