/** A piece of a file that can be sent again. */
export interface Chunk {
  bytes: Blob
  isLast: boolean
}

/** Bytes. A broken connection costs at most this much; a stream needs this much memory. */
const chunkSize = 8 * 1024 * 1024

/** Cuts a file into pieces. An empty file has one empty piece. */
export async function* chunksOf(
  body: Blob | ReadableStream<Uint8Array>,
  signal?: AbortSignal,
): AsyncGenerator<Chunk, void, undefined> {
  if (body instanceof Blob) yield* slicesOf(body)
  else yield* piecesOf(body, signal)
}

function* slicesOf(blob: Blob): Generator<Chunk, void, undefined> {
  let start = 0
  do {
    const end = Math.min(start + chunkSize, blob.size)
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
      if (length < chunkSize) continue
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
