/** The SHA-256 of content, computed while it passes to a back end. */
import { createHash } from 'node:crypto'
import { LruMap } from '../lib/lru-map.ts'

/** The first bytes of a file, which are hashed even if that makes the write slower. */
const freeBytes = 32 * 1024 * 1024
/** The part of the time of a write that hashing may take beyond these bytes. */
const maxShare = 0.1
/** Milliseconds of a pause between two chunks that count as time of the write. */
const maxPause = 1000

/**
 * Computes the hash of a write, and gives up if that takes more than a tenth of its time. A processor hashes less than 2 GB/s, and a disk
 * can take more than 1 GB/s.
 */
export class ContentHash {
  readonly #hash = createHash('sha256')
  readonly #isRequired: boolean
  #bytes = 0
  #spent = 0
  #elapsed = 0
  #lastAt = performance.now()
  #isEnded = false

  /** @param options.isRequired whether the hash matters more than the time of the write */
  constructor({ isRequired = false }: { isRequired?: boolean } = {}) {
    this.#isRequired = isRequired
  }

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
    this.#isEnded = !this.#isRequired && this.#bytes > freeBytes && this.#spent > maxShare * this.#elapsed
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

/** The hashes of unfinished writes that the back end stores, each up to the last byte that the back end has taken. */
export class UnfinishedContents {
  /** The key is the SHA-256 of the state after those bytes, because a state may be long. */
  readonly #contents = new LruMap<string, ContentHash>(maxUploads)

  /** Returns the content up to an offset, to be continued; null if this process has not sent all of it in order. */
  take(state: string, offset: number): ContentHash | null {
    const key = keyOf(state)
    const content = this.#contents.get(key)
    // If the next write fails, it is unknown how many of its bytes the back end has.
    this.#contents.delete(key)
    if (offset === 0) return new ContentHash()
    return content?.bytes === offset ? content : null
  }

  keep(state: string, content: ContentHash): void {
    this.#contents.set(keyOf(state), content)
  }
}

function keyOf(state: string): string {
  return createHash('sha256').update(state).digest('base64')
}
