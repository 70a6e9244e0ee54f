/** Uploads in several requests, for object stores that list the parts of an upload themselves. */
import type { Readable } from 'node:stream'
import { type Call, StorageError, type StoragePath } from '../../contract.ts'
import { BodyReader, type PartLimits, planFor, planParts } from './parts.ts'
import type { SendOptions } from './send.ts'

/** The state of an upload, which the host stores. The back end lists the parts; the state has only the next number. */
export interface State {
  path: StoragePath
  /** The id that the back end knows the upload by. */
  id: string
  /** Bytes per part. */
  part: number
  /** The number of the next part. */
  next: number
  /** Bytes received so far. */
  offset: number
  type?: string
  /** The modification time of the file, in milliseconds since 1970. */
  time?: number
}

interface Beginning {
  path: StoragePath
  id: string
  size: number | undefined
  mimeType: string | undefined
  modifiedAt: Date | undefined
}

export function beginState({ path, id, size, mimeType, modifiedAt }: Beginning, limits: PartLimits): string {
  const part = Math.ceil(planParts(size, limits).partBytes / limits.partBytes) * limits.partBytes
  const kept = { ...(mimeType && { type: mimeType }), ...(modifiedAt && { time: modifiedAt.getTime() }) }
  return JSON.stringify({ path, id, part, next: 1, offset: 0, ...kept } satisfies State)
}

/** @throws NOT_FOUND */
export function parseState(text: string): State {
  const state: Partial<State> = parseJson(text)
  if (typeof state.path === 'string' && typeof state.id === 'string' && Number.isSafeInteger(state.offset)) {
    return state as State
  }
  throw noUpload()
}

export function noUpload(): StorageError {
  return new StorageError('NOT_FOUND', 'There is no such upload: begin again.')
}

/** Returns what a text of this adapter contains; an empty object for any other text. */
export function parseJson(text: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(text))
  } catch {
    return {}
  }
}

/** Returns how the file is described that the upload becomes. */
export function fileOf({ type, time }: State): { mimeType: string | undefined; modifiedAt: Date | undefined } {
  return { mimeType: type, modifiedAt: time === undefined ? undefined : new Date(time) }
}

/**
 * Sends the body as the next parts and returns the new state. A repeated call sends the same numbers again and so replaces the
 * parts of the call before.
 */
export async function appendParts(
  text: string,
  body: Readable,
  { signal, offset, size }: Call & { offset: number; size: number },
  limits: PartLimits,
  send: (state: State, reader: BodyReader, options: SendOptions) => Promise<{ bytes: number; count: number }>,
): Promise<State> {
  return await whileReading(body, signal, async () => {
    const state = parseState(text)
    if (offset !== state.offset) {
      throw new StorageError('PRECONDITION_FAILED', `The upload has ${state.offset} bytes: continue from there.`)
    }
    const options = { first: state.next, partPlan: planFor(state.part, limits), size, signal }
    const { bytes, count } = await send(state, new BodyReader(body), options)
    requireBytes(bytes, size)
    return { ...state, next: state.next + count, offset: offset + size }
  })
}

/** @throws UNAVAILABLE where the body had another size than announced */
export function requireBytes(bytes: number, size: number): void {
  if (bytes !== size) throw new StorageError('UNAVAILABLE', `${bytes} of ${size} bytes arrived: send them again.`)
}

/** Runs work that reads a body, and destroys the body when the work fails or the signal aborts. @throws the signal's reason */
export async function whileReading<T>(body: Readable, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  const onAbort = () => body.destroy(signal.reason)
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    signal.throwIfAborted()
    return await work()
  } catch (error) {
    body.destroy()
    throw signal.aborted ? signal.reason : error
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}
