import { invalidResponse } from './error.ts'
import type { Graphql } from './graphql.ts'
import type { Location } from './list.ts'
import { type SendOptions, uploadInChunks } from './resumable.ts'
import { withRetries } from './retry.ts'
import type { Transport } from './transport.ts'

/** The behavior if the name is taken: the upload fails, replaces the file, or gets a name such as `name (1).txt`. */
export type Conflict = 'fail' | 'replace' | 'rename'

export interface UploadOptions extends Location, SendOptions {
  /** Default: `fail`. */
  conflict?: Conflict
  /**
   * Whether to send the file directly to the back end, if it accepts that, so that it bypasses the server. Only for blobs.
   * In browsers, the back end must permit requests of the page's origin.
   */
  direct?: boolean
  /** Recognizes a small file that is sent again, by 1 to 255 printable ASCII characters without `"`. Default: a new one for each call. */
  idempotencyKey?: string
}

/** Bytes. Up to this size, a file is sent in one request, because a resumable upload needs at least two. */
const maxSingle = 8 * 1024 * 1024

/**
 * Uploads a file and resolves with its path. It sends a small blob in one request, and everything else as a resumable
 * upload, which continues after a lost connection or a restart of the server.
 * @throws StowageError
 */
export async function upload(transport: Transport, graphql: Graphql, options: UploadOptions): Promise<string> {
  const { providerId, path: target, conflict = 'fail', body, direct = false, onProgress } = options
  const resumable = { collection: '/api/upload/resumable', metadata: { providerId, path: target, conflict } }
  if (!(body instanceof Blob)) return uploadInChunks(transport, resumable, options)
  const path = direct ? await uploadDirectly(transport, graphql, options, body) : null
  if (path === null && body.size > maxSingle) return uploadInChunks(transport, resumable, options)
  const stored = path ?? (await uploadAtOnce(transport, options, body))
  onProgress?.(body.size, body.size)
  return stored
}

async function uploadAtOnce(transport: Transport, options: UploadOptions, body: Blob): Promise<string> {
  const { providerId, path, conflict, signal, idempotencyKey = randomKey() } = options
  const url = transport.urlOf('/api/upload/proxy', { providerId, path, conflict })
  const headers: Record<string, string> = {
    // The server stores the file once, even if a response is lost and the request is repeated.
    'idempotency-key': `"${idempotencyKey}"`,
    'content-type': typeOf(options, body),
  }
  const send = async () => {
    const init = { method: 'POST', headers, body, ...(signal && { signal }) }
    const response = await transport.request(url, init, onSentOf(options, body))
    const entry = (await response.json().catch(() => null)) as { path?: unknown } | null
    if (typeof entry?.path !== 'string') throw invalidResponse('The response to the upload has no path.', response)
    return entry.path
  }
  return withRetries(send, transport.retryOf(options))
}

/** Browsers offer `crypto.randomUUID` only over HTTPS. */
function randomKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), byte => byte.toString(16).padStart(2, '0')).join('')
}

/** Reports the progress of a blob that is sent in one request. */
function onSentOf({ onProgress }: UploadOptions, { size }: Blob) {
  return onProgress && ((sent: number) => onProgress(sent, size))
}

const ticketMutation = `mutation Ticket($input: CreateUploadTicketInput!) {
  createUploadTicket(input: $input) { isDirect method url headers { name value } path }
}`

interface Ticket {
  isDirect: boolean
  method: string
  url: string
  headers: { name: string; value: string }[]
  path: string
}

/** Returns null if the back end accepts no direct upload. */
async function uploadDirectly(
  transport: Transport,
  graphql: Graphql,
  options: UploadOptions,
  body: Blob,
): Promise<string | null> {
  const { providerId, path, conflict = 'fail', signal } = options
  const input = { providerId, path, conflict: conflict.toUpperCase(), size: body.size, mimeType: typeOf(options, body) }
  const { createUploadTicket: ticket } = await graphql.run<{ createUploadTicket: Ticket }, object>(
    ticketMutation,
    { input },
    signal && { signal },
  )
  if (!ticket.isDirect) return null
  const headers = ticket.headers.map(({ name, value }): [string, string] => [name, value])
  const init = { method: ticket.method, headers, body, ...(signal && { signal }) }
  const send = async () => {
    const response = await transport.request(ticket.url, init, onSentOf(options, body))
    await response.body?.cancel()
  }
  // If the response is lost, a repeated request finds the name taken.
  if (conflict === 'replace') await withRetries(send, transport.retryOf(options))
  else await send()
  return ticket.path
}

function typeOf({ type }: SendOptions, body: Blob): string {
  return type ?? (body.type === '' ? 'application/octet-stream' : body.type)
}
