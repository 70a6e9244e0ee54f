/** Bytes. A body may come byte by byte, and a Buffer costs a hundred on top of what it holds. */
const blockSize = 64 * 1024

/** Gathers the pieces of a body into blocks of its own, which hold nothing but its bytes. */
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

  /** No piece follows. */
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

/** Not from the pool of small Buffers, which would keep its whole slab. */
function copyOf(bytes: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(bytes.length)
  copy.set(bytes)
  return copy
}
