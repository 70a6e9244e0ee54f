/** A piece of a file that can be sent again. */
export interface Chunk {
  bytes: Blob
  isLast: boolean
}

const mib = 1024 * 1024
/** Bytes of the first chunk of a file, and of each chunk of a stream, which needs this much memory. */
const firstSize = 8 * mib
/** Bytes. Each chunk costs two requests to storage and database, and many proxies refuse bodies of 100 MB. */
const maxSize = 64 * mib
/** Milliseconds. Chunks grow while one takes less, so that a proxy which holds them back loses little. */
const growTime = 5000

/** The size of the next request with bytes of a file: it grows while the line is stable, and shrinks after failures. */
export class ChunkSize {
  #max = maxSize
  #bytes = firstSize

  get bytes(): number {
    return this.#bytes
  }

  /** @param sent bytes that arrived in one request @param time milliseconds that it took */
  grow(sent: number, time: number): void {
    if (sent >= this.#bytes && time < growTime) this.#bytes = Math.min(this.#max, this.#bytes * 2)
  }

  shrink(): void {
    this.#bytes = Math.max(firstSize, this.#bytes / 2)
  }

  /** Never sends as many bytes again. Returns false if they were not more than the smallest chunk has. */
  forbid(sent: number): boolean {
    if (sent <= firstSize) return false
    this.#max = Math.max(firstSize, this.#bytes / 2)
    this.shrink()
    return true
  }
}

/** Cuts a file into pieces. An empty file has one empty piece. Pieces of a blob are on the disk until they are sent. */
export async function* chunksOf(
  body: Blob | ReadableStream<Uint8Array>,
  size: ChunkSize,
  signal?: AbortSignal,
): AsyncGenerator<Chunk, void, undefined> {
  if (body instanceof Blob) yield* slicesOf(body, size)
  else yield* piecesOf(body, signal)
}

function* slicesOf(blob: Blob, size: ChunkSize): Generator<Chunk, void, undefined> {
  let start = 0
  do {
    const end = Math.min(start + size.bytes, blob.size)
    yield { bytes: blob.slice(start, end), isLast: end === blob.size }
    start = end
  } while (start < blob.size)
}

async function* piecesOf(
  stream: ReadableStream<Uint8Array>,
  signal: AbortSignal | undefined,
): AsyncGenerator<Chunk, void, undefined> {
  const reader = stream.getReader()
  const onAbort = () => void reader.cancel(signal?.reason).catch(() => {})
  signal?.addEventListener('abort', onAbort, { once: true })
  try {
    let parts: Uint8Array<ArrayBuffer>[] = []
    let length = 0
    for (;;) {
      const { done, value } = await reader.read()
      signal?.throwIfAborted()
      if (done) break
      parts.push(Uint8Array.from(value))
      length += value.length
      if (length < firstSize) continue
      yield { bytes: new Blob(parts), isLast: false }
      parts = []
      length = 0
    }
    yield { bytes: new Blob(parts), isLast: true }
  } finally {
    signal?.removeEventListener('abort', onAbort)
    await reader.cancel().catch(() => {})
  }
}
