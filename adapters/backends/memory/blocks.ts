/** Bytes. Each Buffer costs a hundred bytes in addition to its content, and a body may arrive in tiny chunks. */
const blockSize = 64 * 1024

/** Joins the chunks of a body to blocks. */
export class Blocks {
  readonly #full: Buffer[] = []
  #block: Buffer | undefined
  #used = 0

  add(piece: Uint8Array): void {
    for (let rest = piece; rest.length > 0; ) {
      this.#block ??= Buffer.allocUnsafeSlow(blockSize)
      const part = rest.subarray(0, blockSize - this.#used)
      this.#block.set(part, this.#used)
      this.#used += part.length
      rest = rest.subarray(part.length)
      if (this.#used === blockSize) this.#cut()
    }
  }

  /** Returns all blocks. Call this after the last chunk. */
  end(): Buffer[] {
    if (this.#used > 0) this.#cut()
    return this.#full
  }

  #cut(): void {
    if (!this.#block) return
    const isFull = this.#used === blockSize
    this.#full.push(isFull ? this.#block : copyOf(this.#block.subarray(0, this.#used)))
    this.#block = undefined
    this.#used = 0
  }
}

/** Copies without the pool of small Buffers, since a pooled copy would keep a whole slab in memory. */
function copyOf(bytes: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(bytes.length)
  copy.set(bytes)
  return copy
}
