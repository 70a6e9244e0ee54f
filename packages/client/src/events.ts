import { networkError } from './error.ts'

export interface ServerEvent {
  event: string
  data: string
}

/** The maximum length of one event, in UTF-16 code units. */
const maxEvent = 16 * 1024 * 1024
/** Milliseconds without a byte after which a connection counts as lost. The server sends at least a comment every 12 s. */
const silenceTimeout = 30_000
/** The number of pieces of a line that are joined into one. A piece of a few characters takes several times its length in memory. */
const maxPieces = 4096

/**
 * Parses server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html), except for ids and retry
 * times, which Stowage does not send.
 * @throws StowageError if the connection breaks, and the reason of the signal
 */
export async function* parseEvents(
  body: ReadableStream<Uint8Array>,
  signal?: AbortSignal,
): AsyncGenerator<ServerEvent, void, undefined> {
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader()
  const lines = new Lines()
  const event = new EventBuilder()
  try {
    for (;;) {
      const { done, value } = await readSoon(reader).catch(cause => {
        signal?.throwIfAborted()
        throw networkError('The connection of the subscription broke.', cause)
      })
      if (done) return
      for (const line of lines.endedBy(value)) {
        const ended = event.add(line)
        requireBounded(event.length)
        if (ended) yield ended
      }
      requireBounded(event.length + lines.length)
    }
  } finally {
    await reader.cancel().catch(() => {})
  }
}

/** @throws StowageError */
function requireBounded(length: number): void {
  if (length > maxEvent) throw networkError('An event of the subscription is too long.')
}

function readSoon(reader: ReadableStreamDefaultReader<string>): Promise<ReadableStreamReadResult<string>> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('The connection is silent.')), silenceTimeout)
    void reader
      .read()
      .then(resolve, reject)
      .finally(() => clearTimeout(timer))
  })
}

/** Splits chunks into lines, which end in LF or CRLF. It looks at each character once, however small the chunks are. */
class Lines {
  /** The beginning of a line whose end has not arrived: long pieces, and then short ones. */
  readonly #long: string[] = []
  #short: string[] = []
  #length = 0

  /** The length of the beginning. */
  get length(): number {
    return this.#length
  }

  /** Yields the lines that end in the chunk. */
  *endedBy(chunk: string): Generator<string, void, undefined> {
    let start = 0
    for (let end = chunk.indexOf('\n'); end >= 0; end = chunk.indexOf('\n', start)) {
      this.#add(chunk.slice(start, end))
      start = end + 1
      yield this.#take()
    }
    this.#add(chunk.slice(start))
  }

  #add(piece: string): void {
    this.#short.push(piece)
    this.#length += piece.length
    if (this.#short.length < maxPieces) return
    this.#long.push(this.#short.join(''))
    this.#short = []
  }

  #take(): string {
    const line = [...this.#long, ...this.#short].join('')
    this.#long.length = 0
    this.#short = []
    this.#length = 0
    // The CR can have arrived in an earlier chunk.
    return line.endsWith('\r') ? line.slice(0, -1) : line
  }
}

/** Collects the lines of an event until the empty line that ends it. */
class EventBuilder {
  #event = 'message'
  #data: string[] = []
  #length = 0

  /** The length of the lines so far. */
  get length(): number {
    return this.#length
  }

  /** Returns the event if the line ends one. Comments alone are no event. */
  add(line: string): ServerEvent | null {
    if (line === '') return this.#end()
    this.#length += line.length + 1
    const colon = line.indexOf(':')
    const field = line.slice(0, Math.max(0, colon))
    const value = line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1)
    if (field === 'event') this.#event = value
    else if (field === 'data') this.#data.push(value)
    return null
  }

  #end(): ServerEvent | null {
    const [event, data] = [this.#event, this.#data]
    this.#event = 'message'
    this.#data = []
    this.#length = 0
    return data.length === 0 && event === 'message' ? null : { event, data: data.join('\n') }
  }
}
