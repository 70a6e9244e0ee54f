import type { TadaDocumentNode } from 'gql.tada'
import { urlOf } from './base-path.ts'
import { print } from './print.ts'
import { ApiError, networkError, send, toError } from './request.ts'

/** Milliseconds without a byte after which a connection counts as lost. The server sends at least a comment every 12 s. */
const silenceTimeout = 30_000

/**
 * Runs a subscription until the signal aborts, over server-sent events. `EventSource` cannot send the header that the session
 * cookie requires.
 * @throws ApiError when the stream ends for another reason
 */
export async function follow<Result, Variables>(
  document: TadaDocumentNode<Result, Variables>,
  variables: Variables,
  { signal, onOpen, onData }: { signal: AbortSignal; onOpen: () => void; onData: (data: Result) => void },
): Promise<void> {
  const silence = new AbortController()
  const response = await send(urlOf('/graphql'), {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Accept: 'text/event-stream' },
    body: JSON.stringify({ query: print(document), variables }),
    signal: AbortSignal.any([signal, silence.signal]),
  })
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream')
  if (!isStream || !response.body) throw toError(response, await response.json().catch(() => null))
  onOpen()
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  try {
    for (;;) {
      const timer = setTimeout(() => silence.abort(), silenceTimeout)
      const { value, done } = await reader.read().finally(() => clearTimeout(timer))
      if (done) break
      const parts = (rest + value).split('\n\n')
      rest = parts.pop() ?? ''
      for (const part of parts) {
        const data = /^event: next\ndata: (.*)$/.exec(part)?.[1]
        if (data === undefined) continue
        const payload = JSON.parse(data)
        if (payload.errors) throw toError(response, payload)
        onData(payload.data)
      }
    }
  } catch (error) {
    throw error instanceof ApiError ? error : networkError(error)
  }
  throw networkError(new Error('The server has ended the stream'))
}
