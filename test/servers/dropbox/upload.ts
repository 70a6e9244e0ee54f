import type { Node } from '../cloud/tree.ts'
import { randomId } from '../cloud/tree.ts'
import { badRequest, type DropboxError, refused, uploadRefused } from './errors.ts'
import { contentHashOf, type Files } from './files.ts'

const block = 4 * 1024 * 1024
/** Bytes of one request. */
const maxRequest = 150 * 1024 * 1024

interface Session {
  isConcurrent: boolean
  /** The parts by their offset. */
  parts: Map<number, Buffer>
  size: number
  isClosed: boolean
}

type Args = Record<string, unknown>

/** `files/upload` and upload sessions. */
export class Uploads {
  readonly #files: Files
  readonly #sessions = new Map<string, Session>()

  constructor(files: Files) {
    this.#files = files
  }

  get openSessions(): number {
    return this.#sessions.size
  }

  expireSessions(): void {
    this.#sessions.clear()
  }

  upload(args: Args, body: Buffer, base: Node): object {
    if (body.length > maxRequest) throw refused('payload_too_large')
    this.#checkHash(args, body)
    return this.#commit(args, [body], base, uploadRefused)
  }

  start(args: Args, body: Buffer): object {
    const type = args.session_type
    const isConcurrent = type === 'concurrent' || Object(type)['.tag'] === 'concurrent'
    if (isConcurrent && body.length > 0) throw refused('concurrent_session_data_not_allowed')
    if (isConcurrent && args.close === true) throw refused('concurrent_session_close_not_allowed')
    this.#checkHash(args, body)
    const id = randomId('pid_upload_session:', 40)
    const parts = new Map(body.length > 0 ? [[0, body]] : [])
    this.#sessions.set(id, { isConcurrent, parts, size: body.length, isClosed: args.close === true })
    return { session_id: id }
  }

  append(args: Args, body: Buffer): void {
    this.#append(args, body, args.close === true, reason => reason)
  }

  finish(args: Args, body: Buffer, base: Node): object {
    const { session, offset, id } = this.#session(args, reason => `lookup_failed/${reason}`)
    if (session.isConcurrent) {
      if (body.length > 0) throw refused('concurrent_session_data_not_allowed')
      if (!session.isClosed) throw refused('concurrent_session_not_closed')
      const received = [...session.parts.values()].reduce((sum, part) => sum + part.length, 0)
      if (received !== session.size) throw refused('concurrent_session_missing_data')
      if (offset !== session.size) throw incorrectOffset(session, 'lookup_failed/')
    } else {
      this.#append(args, body, false, reason => `lookup_failed/${reason}`)
    }
    const chunks = [...session.parts].sort(([a], [b]) => a - b).map(([, part]) => part)
    const fail = (reason: string) => refused(`path/${reason}`)
    const stored = this.#commit(args.commit as Args, chunks, base, fail)
    this.#sessions.delete(id)
    return stored
  }

  #append(args: Args, body: Buffer, isLast: boolean, tag: (reason: string) => string): void {
    const { session, offset } = this.#session(args, tag)
    if (session.isClosed) throw refused(tag('closed'))
    if (body.length > maxRequest) throw refused(tag('payload_too_large'))
    this.#checkHash(args, body)
    if (session.isConcurrent) {
      if (offset % block !== 0) throw refused(tag('concurrent_session_invalid_offset'))
      if (body.length % block !== 0 && !isLast) throw refused(tag('concurrent_session_invalid_data_size'))
      session.parts.set(offset, body)
      session.size = Math.max(session.size, offset + body.length)
    } else {
      if (offset !== session.size) throw incorrectOffset(session, tag(''))
      if (body.length > 0) session.parts.set(offset, body)
      session.size += body.length
    }
    session.isClosed = isLast
  }

  #session(args: Args, tag: (reason: string) => string): { session: Session; offset: number; id: string } {
    const { session_id, offset } = Object(args.cursor)
    const session = this.#sessions.get(session_id)
    if (!session) throw refused(tag('not_found'))
    if (!Number.isSafeInteger(offset)) throw badRequest('cursor.offset')
    return { session, offset, id: session_id }
  }

  #checkHash({ content_hash: given }: Args, body: Buffer): void {
    if (given !== undefined && given !== contentHashOf([body])) throw refused('content_hash_mismatch')
  }

  #commit(args: Args, chunks: readonly Buffer[], base: Node, fail: (reason: string) => DropboxError): object {
    const path = String(args.path)
    const mode = Object(args.mode)['.tag'] ?? args.mode ?? 'add'
    const existing = this.#files.tree.find(path, base)
    if (existing?.children) throw fail('conflict/folder')
    const isSame = existing !== undefined && contentHashOf(existing.chunks) === contentHashOf(chunks)
    if (existing && isSame && args.strict_conflict !== true) return this.#files.metadata(existing, false)
    const isOurs = mode === 'update' && existing && Object(args.mode).update === this.#files.revOf(existing)
    if (existing && mode !== 'overwrite' && !isOurs) throw fail('conflict/file')
    const size = chunks.reduce((sum, { length }) => sum + length, 0)
    this.#files.checkSpace(size - (existing?.size ?? 0), () => fail('insufficient_space'))
    if (existing) this.#files.keepRevision(existing)
    const { parent, name } = this.#files.target(path, base, fail)
    const time = args.client_modified
    if (time !== undefined && !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(String(time)))
      throw badRequest('client_modified')
    const modified = time === undefined ? Date.now() : Date.parse(String(time))
    return this.#files.metadata(this.#files.tree.put(parent, name, chunks, modified), false)
  }
}

const incorrectOffset = ({ size }: Session, tag: string) => refused(`${tag}incorrect_offset`, { correct_offset: size })
