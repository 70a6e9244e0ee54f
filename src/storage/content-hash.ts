/** The SHA-256 of content, computed while it passes to a back end. */
import { createHash } from 'node:crypto'
import { LruMap } from '../lib/lru-map.ts'

/** Bytes that are hashed whatever it costs. */
const freeBytes = 128 * 1024 * 1024
/** The part of the time of a write that hashing may take beyond these bytes. */
const maxShare = 0.1
/** Milliseconds of a pause between two chunks that count as time of the write. */
const maxPause = 1000

/**
 * Ends without a result when it slows a write down by more than a tenth: a disk takes more than 1 GB/s, and a processor hashes less than
 * 2 GB/s.
 */
export class ContentHash {
  readonly #hash = createHash('sha256')
  #bytes = 0
  #spent = 0
  #elapsed = 0
  #lastAt = performance.now()
  #isEnded = false

  /** The number of bytes so far. */
  get bytes(): number {
    return this.#bytes
  }

  readonly update = (chunk: Uint8Array): void => {
    if (this.#isEnded) return
    const before = performance.now()
    this.#hash.update(chunk)
    const now = performance.now()
    this.#bytes += chunk.length
    this.#spent += now - before
    this.#elapsed += Math.min(now - this.#lastAt, maxPause)
    this.#lastAt = now
    this.#isEnded = this.#bytes > freeBytes && this.#spent > maxShare * this.#elapsed
  }

  /** Ends the computation. Returns null unless the content has as many bytes. */
  digest(size: number | null): Buffer | null {
    if (this.#isEnded || (size !== null && size !== this.#bytes)) return null
    this.#isEnded = true
    return this.#hash.digest()
  }
}

/** Uploads that are hashed at once. The contents of others are unknown. */
const maxUploads = 1000

/** The contents of unfinished writes that the back end keeps, up to the last bytes that it has taken. */
export class UnfinishedContents {
  /** By the state after those bytes. */
  readonly #contents = new LruMap<string, ContentHash>(maxUploads)

  /** Returns the content up to an offset, to be continued; null if this process has not sent all of it in order. */
  take(state: string, offset: number): ContentHash | null {
    const content = this.#contents.get(state)
    // If the next write fails, nobody knows how many of its bytes the back end has.
    this.#contents.delete(state)
    if (offset === 0) return new ContentHash()
    return content?.bytes === offset ? content : null
  }

  keep(state: string, content: ContentHash): void {
    this.#contents.set(state, content)
  }
}
