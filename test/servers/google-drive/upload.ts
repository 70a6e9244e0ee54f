/** Simple, multipart and resumable uploads (developers.google.com/workspace/drive/api/guides/manage-uploads). */
import { readBody } from '../cloud/http.ts'
import { ApiError, invalidValue } from './errors.ts'
import type { Files, Metadata } from './files.ts'
import { type Exchange, parseJson, readJson } from './http.ts'
import { contentOf, type Item, randomId, type Store } from './store.ts'

const unit = 256 * 1024
/** Milliseconds: a week. */
const sessionLifetime = 7 * 24 * 3_600_000

interface Session {
  id: string
  /** The request that began it, for its account and the parameters of the response. */
  begun: Exchange
  itemId: string | null
  metadata: Metadata
  type: string
  length: number | null
  chunks: Buffer[]
  received: number
  expires: number
  done: Item | null
}

export class Uploads {
  readonly #store: Store
  readonly #files: Files
  readonly #sessions = new Map<string, Session>()
  /** The connection of the next request is cut after this many bytes of its body. */
  dropAfter: number | undefined

  constructor(store: Store, files: Files) {
    this.#store = store
    this.#files = files
  }

  get openSessions(): number {
    return [...this.#sessions.values()].filter(session => !session.done).length
  }

  expireSessions(): void {
    for (const session of this.#sessions.values()) session.expires = 0
  }

  async begin(exchange: Exchange, itemId: string | null): Promise<void> {
    const { query } = exchange
    switch (query.get('uploadType')) {
      case 'media':
        return this.#finishOne(
          exchange,
          itemId,
          {},
          await readBody(exchange.request),
          exchange.request.headers['content-type'],
        )
      case 'multipart': {
        const { metadata, type, bytes } = await readMultipart(exchange)
        return this.#finishOne(exchange, itemId, metadata, bytes, type)
      }
      case 'resumable':
        return await this.#beginSession(exchange, itemId)
      default:
        throw invalidValue('uploadType')
    }
  }

  #finishOne(
    exchange: Exchange,
    itemId: string | null,
    metadata: Metadata,
    bytes: Buffer,
    type = 'application/octet-stream',
  ) {
    this.#files.send(exchange, this.#finish(exchange, itemId, metadata, [bytes], type))
  }

  #finish(
    exchange: Exchange,
    itemId: string | null,
    metadata: Metadata,
    chunks: readonly Buffer[],
    type: string,
  ): Item {
    const content = contentOf(chunks)
    if (itemId === null) return this.#files.insert(exchange, metadata, content, type)
    const item = this.#files.find(exchange, itemId)
    this.#store.checkQuota(exchange.account, content.size)
    this.#files.change(exchange, item, metadata)
    this.#store.setContent(item, content, typeof metadata.mimeType === 'string' ? metadata.mimeType : type)
    if (metadata.modifiedTime !== undefined) item.modifiedTime = Date.parse(String(metadata.modifiedTime))
    return item
  }

  async #beginSession(exchange: Exchange, itemId: string | null): Promise<void> {
    const { request, response } = exchange
    const metadata = await readJson(request)
    const length = request.headers['x-upload-content-length']
    if (itemId !== null) this.#store.checkWritable(exchange.account, this.#files.find(exchange, itemId))
    if (length !== undefined) this.#store.checkQuota(exchange.account, Number(length))
    const session: Session = {
      id: randomId('A', 48),
      begun: exchange,
      itemId,
      metadata,
      type: String(request.headers['x-upload-content-type'] ?? 'application/octet-stream'),
      length: length === undefined ? null : Number(length),
      chunks: [],
      received: 0,
      expires: Date.now() + sessionLifetime,
      done: null,
    }
    this.#sessions.set(session.id, session)
    const location = new URL(request.url ?? '', `http://${request.headers.host}`)
    location.searchParams.set('upload_id', session.id)
    response
      .writeHead(200, { location: location.href, 'x-guploader-uploadid': session.id, 'content-length': '0' })
      .end()
  }

  /** Handles PUT or DELETE on a session's address, which is itself the permission. */
  async resume(exchange: Exchange): Promise<void> {
    const { request, response, query, method } = exchange
    const session = this.#sessions.get(query.get('upload_id') ?? '')
    if (!session || session.expires < Date.now()) {
      request.resume()
      throw new ApiError(404, 'notFound', 'The upload session was not found or has expired.')
    }
    if (method === 'DELETE') {
      this.#sessions.delete(session.id)
      response.writeHead(499, { 'content-length': '0' }).end()
      return
    }
    const range = parseContentRange(
      request.headers['content-range'],
      Number(request.headers['content-length'] ?? 0),
      session,
    )
    if (session.done) {
      request.resume()
      return this.#answer(exchange, session, session.done)
    }
    if (range.total !== null && session.length !== null && range.total !== session.length) {
      throw new ApiError(400, 'badContent', 'The total size differs from the declared one.')
    }
    if (range.start !== null) await this.#take(exchange, session, range.start, range.end, range.total)
    if (response.destroyed) return
    if (range.total !== null && session.received === range.total) {
      session.done = this.#finish(session.begun, session.itemId, session.metadata, session.chunks, session.type)
      return this.#answer(exchange, session, session.done)
    }
    const stands = session.received > 0 ? { range: `bytes=0-${session.received - 1}` } : {}
    response.writeHead(308, { ...stands, 'content-length': '0' }).end()
  }

  async #take(
    { request }: Exchange,
    session: Session,
    start: number,
    end: number,
    total: number | null,
  ): Promise<void> {
    if (start > session.received) throw new ApiError(400, 'badRequest', 'The chunk begins beyond what was received.')
    const isLast = total !== null && end === total
    if (!isLast && (end - start) % unit !== 0) {
      throw new ApiError(400, 'badRequest', 'The size of every chunk but the last is a multiple of 256 KiB.')
    }
    const taken: Buffer[] = []
    let bytes = 0
    const limit = this.dropAfter
    this.dropAfter = undefined
    try {
      for await (const chunk of request) {
        taken.push(chunk)
        bytes += chunk.length
        if (limit !== undefined && bytes >= limit) {
          request.destroy()
          break
        }
      }
    } catch {
      // The connection broke. Keep the bytes that have arrived.
    }
    const isCut = limit !== undefined && bytes >= limit
    const whole = !isCut && bytes === end - start
    const usable = whole ? bytes : Math.floor(Math.min(bytes, limit ?? bytes) / unit) * unit
    // Skip bytes that have already arrived.
    const fresh = Buffer.concat(taken).subarray(session.received - start, Math.max(usable, session.received - start))
    session.chunks.push(fresh)
    session.received += fresh.length
    if (!whole) request.destroy()
  }

  #answer(exchange: Exchange, session: Session, item: Item): void {
    this.#files.send({ ...session.begun, response: exchange.response, request: exchange.request }, item)
  }
}

interface ContentRange {
  /** Null asks how many bytes have arrived. */
  start: number | null
  /** The end of the range, exclusive. */
  end: number
  total: number | null
}

function parseContentRange(header: string | undefined, length: number, session: Session): ContentRange {
  if (header === undefined)
    return { start: session.received, end: session.received + length, total: session.received + length }
  const match = /^bytes (?:\*|(\d+)-(\d+))\/(\*|\d+)$/.exec(header)
  if (!match) throw new ApiError(400, 'badRequest', 'Failed to parse Content-Range header.')
  const total = match[3] === '*' ? null : Number(match[3])
  if (match[1] === undefined) return { start: null, end: 0, total }
  const [start, end] = [Number(match[1]), Number(match[2]) + 1]
  if (end <= start || end - start !== length || (total !== null && end > total)) {
    throw new ApiError(400, 'badRequest', 'Content-Range and Content-Length do not match.')
  }
  return { start, end, total }
}

/** `multipart/related` of two parts: the metadata, then the bytes (RFC 2387). */
async function readMultipart({
  request,
}: Exchange): Promise<{ metadata: Metadata; type: string | undefined; bytes: Buffer }> {
  const boundary = /boundary=(?:"([^"]+)"|([^;\s]+))/.exec(request.headers['content-type'] ?? '')
  if (!boundary) throw new ApiError(400, 'badContent', 'Missing multipart boundary.')
  const mark = Buffer.from(`--${boundary[1] ?? boundary[2]}`)
  const body = await readBody(request)
  const first = body.indexOf(mark)
  const second = body.indexOf(Buffer.concat([Buffer.from('\r\n'), mark]), first)
  const last = body.lastIndexOf(Buffer.concat([Buffer.from('\r\n'), mark, Buffer.from('--')]))
  if (first < 0 || second < 0 || last <= second) throw new ApiError(400, 'badContent', 'Malformed multipart body.')
  const metadata = partOf(body.subarray(first + mark.length + 2, second))
  const media = partOf(body.subarray(second + 2 + mark.length + 2, last))
  return { metadata: parseJson(metadata.bytes), type: media.type, bytes: media.bytes }
}

function partOf(part: Buffer): { type: string | undefined; bytes: Buffer } {
  const end = part.indexOf('\r\n\r\n')
  const type = /^content-type:\s*(.+)$/im.exec(part.subarray(0, end).toString())?.[1]?.trim()
  return { type, bytes: part.subarray(end + 4) }
}
