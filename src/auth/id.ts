import { randomUUID } from 'node:crypto'
import { AppError } from '../errors.ts'

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** Returns whether the text is a UUID. Other text is never looked up. */
export function isId(text: string): boolean {
  return uuid.test(text)
}

/** The length of `bytesOfId`. */
export const idBytes = 16

export function bytesOfId(id: string): Buffer {
  if (!isId(id)) throw new Error('The text is not an id')
  return Buffer.from(id.replaceAll('-', ''), 'hex')
}

/** Returns the id that `bytesOfId` has made these bytes of. */
export function idOfBytes(bytes: Buffer): string {
  const hex = bytes.toString('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}

/** Creates a generator of ids that sort by time; ids of one process also sort within a millisecond (RFC 9562, sections 5.7 and 6.2). */
export function timeOrderedIds(): (at: Date) => string {
  let [last, count] = [0, 0]
  return at => {
    const time = at.getTime()
    count = time === last ? count + 1 : 0
    last = time
    // RFC 9562, section 6.2, method 1: a 12-bit counter, then random bits. Version 4 has its random bits at the same position.
    // randomUUID() reads random bytes for many UUIDs at once, which is faster than a system call for each id.
    return format(time, 0x7000 | Math.min(count, 0xfff), randomUUID().slice(tailStart))
  }
}

/** Returns the lowest id of a millisecond. */
export function firstIdAt(at: Date): string {
  return format(at.getTime(), 0x7000, '8000-000000000000')
}

/** The index in a UUID of its last two groups, with the variant and 62 bits. */
const tailStart = 19

function format(time: number, version: number, tail: string): string {
  const head = time.toString(16).padStart(12, '0')
  return `${head.slice(0, 8)}-${head.slice(8)}-${version.toString(16)}-${tail}`
}

/** The ids of entries in the trash and of versions name a location, so that rights are decided before any lookup. */
interface KeptPlace {
  id: string
  providerId: string
  /** The path before the deletion, or that of the file. It starts with "/". */
  path: string
}

export function formatKeptId({ id, providerId, path }: KeptPlace): string {
  return Buffer.from(JSON.stringify([id, providerId, path])).toString('base64url')
}

/** Nothing in the result is validated. @throws NOT_FOUND for a text that is no id */
export function parseTrashId(text: string): KeptPlace {
  return parseKeptId(text) ?? fail(notInTrash())
}

/** Nothing in the result is validated. @throws NOT_FOUND for a text that is no id */
export function parseVersionId(text: string): KeptPlace {
  return parseKeptId(text) ?? fail(noSuchVersion())
}

function fail(error: AppError): never {
  throw error
}

function parseKeptId(text: string): KeptPlace | null {
  try {
    const [id, providerId, path] = JSON.parse(Buffer.from(text, 'base64url').toString())
    if ([id, providerId, path].every(part => typeof part === 'string')) return { id, providerId, path }
  } catch {
    // The text is not JSON, or not a list.
  }
  return null
}

export function notInTrash(): AppError {
  return new AppError('NOT_FOUND', 'This entry is not in the trash: it was restored, or deleted for good.')
}

export function noSuchVersion(): AppError {
  return new AppError(
    'NOT_FOUND',
    'There is no such version of this file: it was restored or deleted, or its time is over.',
  )
}
