import type { Readable } from 'node:stream'
import { DataStore, ERRORS, type Lock, type Locker, Server, Upload } from '@tus/server'
import type { Viewer } from '../../../auth/viewer.ts'
import { AppError, type Reason } from '../../../errors.ts'
import { tooLarge } from '../../../services/files/index.ts'
import type { OpenUpload, ResumableUploads, UploadRecord } from '../../../services/resumable/index.ts'
import { parseChecksum } from './checksum.ts'
import { parseMetadata } from './metadata.ts'

export const resumablePath = '/api/upload/resumable'

/** Milliseconds, for the library, whose word on expiry is neither asked for nor told: what counts is the time in the database. */
const lifetime = 24 * 60 * 60 * 1000

const extensions = [
  'creation',
  'creation-with-upload',
  'creation-defer-length',
  'termination',
  'checksum',
  'expiration',
]

/** What the library calls by a status. */
const reasonOf: Record<number, Reason> = {
  400: 'INVALID_INPUT',
  403: 'INVALID_INPUT',
  404: 'NOT_FOUND',
  409: 'OFFSET_MISMATCH',
  410: 'NOT_FOUND',
  412: 'PRECONDITION_FAILED',
  413: 'TOO_LARGE',
  501: 'INVALID_INPUT',
}

export interface TusRequest {
  method: string
  url: string
  headers: Headers
  /** Read by us: the library would copy each chunk through four streams. */
  body: Readable
  viewer: Viewer | null
  signal: AbortSignal
  maxBytes: number
}

export interface TusAnswer {
  status: number
  headers: Headers
  /** The upload as it stands after the request; null after a termination, and for OPTIONS. */
  record: UploadRecord | null
}

/** One request of the tus protocol, which the library speaks; what it asks of its store goes to the service. */
export async function exchange(uploads: ResumableUploads, request: TusRequest): Promise<TusAnswer> {
  const { method, url, headers, maxBytes } = request
  await using store = new RequestStore(uploads, request)
  let failure: unknown
  const server = new Server({
    path: resumablePath,
    datastore: store,
    locker: store,
    relativeLocation: true,
    namingFunction: () => 'made-by-the-service',
    maxSize: maxBytes < Number.MAX_SAFE_INTEGER ? maxBytes : 0,
    onResponseError(_request, error) {
      failure = error
      return undefined
    },
  })
  const answer = await server.handleWeb(new Request(url, { method, headers }))
  if (failure === ERRORS.ERR_MAX_SIZE_EXCEEDED) throw tooLarge(maxBytes)
  if (answer.status >= 400) throw told(failure, answer.status, (await answer.text()).trim())
  return { status: answer.status, headers: answer.headers, record: store.record }
}

function told(failure: unknown, status: number, text: string): unknown {
  if (failure instanceof Error && !('status_code' in failure)) return failure
  const reason = reasonOf[status]
  return new AppError(reason ?? 'INTERNAL', reason ? text || undefined : undefined, { cause: failure })
}

/** Store and lock of one request. */
class RequestStore extends DataStore implements Locker, AsyncDisposable {
  override extensions = extensions
  readonly #uploads: ResumableUploads
  readonly #request: TusRequest
  #open: OpenUpload | null = null
  record: UploadRecord | null = null

  constructor(uploads: ResumableUploads, request: TusRequest) {
    super()
    this.#uploads = uploads
    this.#request = request
  }

  newLock(id: string): Lock {
    const { viewer, signal, method } = this.#request
    return {
      lock: async () => {
        // One that is made is its maker's.
        if (method !== 'POST') this.#open = await this.#uploads.open(viewer, id, signal)
      },
      unlock: () => this[Symbol.asyncDispose](),
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const open = this.#open
    this.#open = null
    if (!open) return
    this.record ??= open.record
    await open[Symbol.asyncDispose]()
  }

  override async create(file: Upload): Promise<Upload> {
    const { viewer, headers, signal } = this.#request
    const input = { ...parseMetadata(headers.get('upload-metadata') ?? ''), size: file.size ?? null }
    this.#open = await this.#uploads.create(viewer, input, signal)
    file.id = this.#open.record.id
    return file
  }

  override async getUpload(): Promise<Upload> {
    const record = this.#open?.record ?? this.record
    if (!record) throw new AppError('NOT_FOUND')
    // Whoever is let in by the database has not expired: the library would look at the clock of this server.
    const created = new Date().toISOString()
    const size = record.size === null ? {} : { size: record.size }
    return new Upload({ id: record.id, offset: record.received, creation_date: created, ...size })
  }

  override async declareUploadLength(_id: string, size: number): Promise<void> {
    await this.#mine().setSize(size)
  }

  override async write(): Promise<number> {
    const { body, headers, signal } = this.#request
    const open = this.#mine()
    const checksum = headers.get('upload-checksum')
    try {
      return await open.write(body, signal, checksum === null ? null : parseChecksum(checksum))
    } finally {
      this.record = open.record
    }
  }

  override async remove(): Promise<void> {
    const open = this.#mine()
    await open.remove()
    this.#open = null
    await open[Symbol.asyncDispose]()
  }

  override getExpiration(): number {
    return lifetime
  }

  #mine(): OpenUpload {
    if (!this.#open) throw new AppError('NOT_FOUND')
    return this.#open
  }
}
