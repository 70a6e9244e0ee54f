import type { Readable } from 'node:stream'
import { type ByteRange, StorageError } from '../../contract.ts'
import { ObjectBody } from './body.ts'

/** A response that has begun. */
interface Opened {
  stream: Readable
  /** Bytes of the response. */
  length: number
  etag: string | null
}

interface ObjectSource<T extends Opened> {
  /** @param etag the only version to read; undefined or null for any */
  get(range: ByteRange | undefined, etag: string | null | undefined, signal: AbortSignal): Promise<T>
  /** As in `BodySource`. */
  idleTime: number
  unreachable(error: Error): StorageError
}

/** Opens an object, or a range of it. The body continues over new connections while the object has the same version. */
export async function openObject<T extends Opened>(
  { get, idleTime, unreachable }: ObjectSource<T>,
  { range, ifMatch, signal }: { range?: ByteRange | undefined; ifMatch?: string | undefined; signal: AbortSignal },
): Promise<{ opened: T; body: ObjectBody }> {
  const opened = await get(range, ifMatch, signal)
  const start = range?.offset ?? 0
  const end = start + opened.length
  const open = async (position: number, callSignal: AbortSignal) => {
    const rest = { offset: position, length: end - position }
    const again = await get(rest, opened.etag, callSignal).catch(error => {
      if (!['PRECONDITION_FAILED', 'NOT_FOUND', 'RANGE_NOT_SATISFIABLE'].includes(error?.code)) throw error
      throw new StorageError('UNAVAILABLE', 'The file changed while it was read: read it again.', { cause: error })
    })
    return again.stream
  }
  return { opened, body: new ObjectBody(opened.stream, { start, end }, { open, signal, idleTime, unreachable }) }
}

export function rangeHeader({ offset, length }: ByteRange): string {
  const end = length === undefined ? Number.POSITIVE_INFINITY : offset + length - 1
  return `bytes=${offset}-${end <= Number.MAX_SAFE_INTEGER ? end : ''}`
}

/**
 * Returns the bytes of the whole object.
 * @param length the bytes of the response
 * @param contentRange the header of that name
 * @throws UNAVAILABLE for a response that does not have the range
 */
export function sizeOf(range: ByteRange | undefined, length: number | undefined, contentRange: string): number {
  const [, first, total] = /^bytes (\d+)-\d+\/(\d+)$/.exec(contentRange) ?? []
  const size = range ? total : length
  const isRight = !range || (Number(first) === range.offset && range.offset < Number(size))
  if (length !== undefined && size !== undefined && isRight) return Number(size)
  throw new StorageError('UNAVAILABLE', 'The back end does not say which part of the file it sends.')
}
