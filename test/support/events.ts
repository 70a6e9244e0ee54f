/** A client of GraphQL over SSE that reads the bytes of the stream itself. */
import type { Data, GraphqlError } from './client.ts'
import { until } from './until.ts'

export interface EventStream {
  status: number
  headers: Headers
  /** The payloads of all `next` events so far. */
  received: { data?: Data; errors?: GraphqlError[] }[]
  /** The stream as text. */
  text(): string
  /** Resolves with the first payload that matches, received before or after the call. */
  first(match: (payload: EventStream['received'][number]) => unknown): Promise<EventStream['received'][number]>
  /** Resolves when the stream has ended, with true after a `complete` event. */
  ended: Promise<boolean>
  /** Disconnects. */
  close(): void
}

export async function openEvents(
  url: string,
  token: string | null,
  query: string,
  variables: Record<string, unknown> = {},
): Promise<EventStream> {
  const controller = new AbortController()
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'text/event-stream',
      ...(token && { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify({ query, variables }),
    signal: controller.signal,
  })
  let text = ''
  let isComplete = false
  const received: EventStream['received'] = []

  async function read(): Promise<boolean> {
    const decoder = new TextDecoder()
    let rest = ''
    try {
      for await (const chunk of response.body ?? []) {
        const more = decoder.decode(chunk, { stream: true })
        text += more
        const parts = (rest + more).split('\n\n')
        rest = parts.pop() ?? ''
        for (const part of parts) {
          const [, event, data = ''] = /^event: (\w+)\ndata: ?(.*)$/.exec(part) ?? []
          if (event === 'next') received.push(JSON.parse(data))
          if (event === 'complete') isComplete = true
        }
      }
    } catch {
      // The connection broke, or the test closed it.
    }
    return isComplete
  }

  const ended = read()
  return {
    status: response.status,
    headers: response.headers,
    received,
    text: () => text,
    ended,
    close: () => controller.abort(),
    async first(match) {
      await until(() => received.some(match) || received)
      return received.find(match) as EventStream['received'][number]
    },
  }
}
