/** The worker thread of `startFlood`. A separate thread keeps busy clients from slowing down the server's thread. */
import { once } from 'node:events'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import type { Test } from 'tap'

interface FloodRequest {
  query: string
  input: object
  headers: Record<string, string>
}

interface Work {
  url: string
  clients: number
  requests: readonly FloodRequest[]
}

/**
 * Starts clients that each repeat one request: client n repeats the n-th of `requests`.
 * @returns a function that stops the clients and resolves with the number of responses by reason; `none` is a success
 */
export function startFlood(t: Test, work: Work): () => Promise<Record<string, number>> {
  const worker = new Worker(new URL(import.meta.url), { workerData: work })
  t.teardown(() => worker.terminate())
  return async () => {
    worker.postMessage('end')
    const [answers] = await once(worker, 'message')
    return answers
  }
}

async function flood({ url, clients, requests }: Work): Promise<void> {
  const answers: Record<string, number> = {}
  const end = new AbortController()
  parentPort?.once('message', () => end.abort())
  await Promise.all(
    Array.from({ length: clients }, async (_, client) => {
      const request = requests[client % requests.length]
      while (request && !end.signal.aborted) {
        const reason = await send(url, request)
        answers[reason] = (answers[reason] ?? 0) + 1
      }
    }),
  )
  parentPort?.postMessage(answers)
}

async function send(url: string, { query, input, headers }: FloodRequest): Promise<string> {
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ query, variables: { input } }),
  })
  const { errors } = (await response.json()) as { errors?: { extensions: { reason: string } }[] }
  return errors?.[0]?.extensions.reason ?? 'none'
}

if (!isMainThread) void flood(workerData)
