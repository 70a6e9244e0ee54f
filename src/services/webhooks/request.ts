/** One HTTP request to the receiver of a webhook. */
import { isClosedAddress } from '../../storage/network/index.ts'

/** Milliseconds for the whole request. */
const timeout = 15_000
/** The maximum of `Retry-After`, in seconds. */
const maxRetryAfter = 24 * 60 * 60

export interface Response {
  /** Null without a response. */
  status: number | null
  /** Null if the receiver accepted the message. */
  error: string | null
  /** Seconds until the receiver wants the next attempt. */
  retryAfter: number | null
}

/** Sends a message. Only a status of 2xx is a success; a redirect is not followed. @throws if the signal aborts */
export async function post(
  fetch: typeof globalThis.fetch,
  { url, headers, body }: { url: string; headers: Record<string, string>; body: string },
  signal: AbortSignal,
): Promise<Response> {
  const deadline = AbortSignal.timeout(timeout)
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'user-agent': 'Stowage', ...headers },
      body,
      redirect: 'manual',
      signal: AbortSignal.any([signal, deadline]),
    })
    await response.body?.cancel()
    const { status } = response
    const error = response.ok ? null : `The receiver responded with the status ${status}.`
    return { status, error, retryAfter: secondsOf(response.headers.get('retry-after')) }
  } catch (error) {
    signal.throwIfAborted()
    return { status: null, error: deadline.aborted ? tooSlow : explain(error), retryAfter: null }
  }
}

const tooSlow = `The receiver did not respond within ${timeout / 1000} seconds.`

function explain(error: unknown): string {
  if (isClosedAddress(error)) return 'The address of the receiver is closed: see STOWAGE_ALLOW_NETWORKS.'
  const code = codeOf(error)
  return `The connection to the receiver failed${code ? ` (${code})` : ''}.`
}

function codeOf(error: unknown): string | null {
  if (!(error instanceof Error)) return null
  if ('code' in error && typeof error.code === 'string') return error.code
  return codeOf(error.cause)
}

/** Parses `Retry-After` (RFC 9110, section 10.2.3). */
function secondsOf(header: string | null): number | null {
  if (header === null || header.length > 40) return null
  const seconds = /^\d{1,9}$/.test(header) ? Number(header) : (Date.parse(header) - Date.now()) / 1000
  return Number.isNaN(seconds) ? null : Math.min(Math.max(seconds, 0), maxRetryAfter)
}
