import { networkError } from './error.ts'

export interface ServerEvent {
  event: string
  data: string
}

/** The maximum length of one event, in UTF-16 code units. */
const maxEvent = 16 * 1024 * 1024
/** Milliseconds without a byte after which a connection counts as lost. The server sends at least a comment every 12 s. */
const silenceTimeout = 30_000

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
  let rest = ''
  try {
    for (;;) {
      const { done, value } = await readSoon(reader).catch(cause => {
        signal?.throwIfAborted()
        throw networkError('The connection of the subscription broke.', cause)
      })
      if (done) return
      rest += value
      if (rest.length > maxEvent) throw networkError('An event of the subscription is too long.')
      const blocks = rest.split(/\r?\n\r?\n/)
      rest = blocks.pop() ?? ''
      for (const block of blocks) {
        const event = parseEvent(block)
        if (event) yield event
      }
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

/** Returns null for a comment. */
function parseEvent(block: string): ServerEvent | null {
  let event = 'message'
  const data: string[] = []
  for (const line of block.split(/\r?\n/)) {
    const colon = line.indexOf(':')
    if (colon <= 0) continue
    const value = line.slice(colon + 1).replace(/^ /, '')
    if (line.slice(0, colon) === 'event') event = value
    else if (line.slice(0, colon) === 'data') data.push(value)
  }
  return data.length === 0 && event === 'message' ? null : { event, data: data.join('\n') }
}
