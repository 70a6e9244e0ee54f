import { createParser } from 'eventsource-parser'
import { networkError } from './error.ts'

export interface ServerEvent {
  event: string
  data: string
}

/** The maximum length of one event, with the comments before it and the rest of its last chunk, in UTF-16 code units. */
const maxEvent = 16 * 1024 * 1024
/** Milliseconds without a byte after which a connection counts as lost. The server sends at least a comment every 12 s. */
const silenceTimeout = 30_000
/** UTF-16 code units. The parser keeps the pieces of a line apart, and a piece of a few characters takes several times its length. */
const minPiece = 4096

/**
 * Parses server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html), in linear time and bounded memory
 * however the stream is cut.
 * @throws StowageError if the connection breaks, and the reason of the signal
 */
export async function* parseEvents(
  body: ReadableStream<Uint8Array>,
  signal?: AbortSignal,
): AsyncGenerator<ServerEvent, void, undefined> {
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader()
  const events: ServerEvent[] = []
  const parser = createParser({ onEvent: ({ event = 'message', data }) => void events.push({ event, data }) })
  let piece = ''
  let length = 0
  let endsInReturn = false
  try {
    for (;;) {
      const { done, value } = await readSoon(reader).catch(cause => {
        signal?.throwIfAborted()
        throw networkError('The connection of the subscription broke.', cause)
      })
      if (done) return
      length += value.length
      if (length > maxEvent) throw networkError('An event of the subscription is too long.')
      const chunk = endsInReturn && value.startsWith('\n') ? value.slice(1) : value
      endsInReturn = value.endsWith('\r')
      // For each line, the parser searches the rest of the text for the other kinds of line ends.
      piece += chunk.replace(/\r\n?/g, '\n')
      if (piece.length < minPiece && !/[\r\n]/.test(chunk)) continue
      parser.feed(piece)
      piece = ''
      if (events.length > 0) length = 0
      yield* events.splice(0)
    }
  } finally {
    await reader.cancel().catch(() => {})
  }
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
