/** Stores one file whose body arrives in order, and verifies its size, its digests and the condition of the request. */
import { createHash, type Hash } from 'node:crypto'
import { type Readable, Transform } from 'node:stream'
import { authorize, needs } from '../../auth/needs.ts'
import { root, type StoragePath } from '../../auth/path.ts'
import { grant } from '../../auth/policy.ts'
import type { Viewer } from '../../auth/viewer.ts'
import { AppError } from '../../errors.ts'
import { settle } from '../../lib/settle.ts'
import { detach } from '../../storage/body-streams.ts'
import type { Storage } from '../../storage/index.ts'
import { timeToKeep } from '../../storage/validate-entry.ts'
import type { WriteLocation } from '../../storage/write-location.ts'
import type { Recording } from '../audit/index.ts'
import type { UploadScans } from '../scans/index.ts'
import {
  type ConflictBehavior,
  candidates,
  nameTaken,
  type Reservations,
  statOrNull,
  taken,
  unlessTaken,
} from './conflict.ts'
import { requireStored } from './copying.ts'
import { entryAt, type FileEntry, type LocationInput } from './entry.ts'

export interface UploadInput extends LocationInput {
  conflict: ConflictBehavior
  body: Readable
  /** Bytes, if the client declared a size. */
  size?: number | undefined
  mimeType?: string | undefined
  /** The modification time for the file, which is ignored where the back end cannot store it. */
  modifiedAt?: Date | undefined
  digests?: Digests | undefined
  /** The condition on the entry at the path before the upload. If it is not met, nothing is stored. */
  condition?: WriteCondition | undefined
  /** True if the client sends the body only after the server has asked for it, so that a refusal saves sending it. */
  isAwaiting?: boolean | undefined
  /** Whether it may replace a locked object. See `WriteLocation.overLocked`. */
  overLocked?: boolean | undefined
}

interface UploadContext {
  storage: Storage
  reservations: Reservations
  scans: Pick<UploadScans, 'open'>
  /** Gets what the scan finds. */
  recording: Pick<Recording, 'add'>
  /** Bytes. */
  maxBytes: number
}

/** Bytes. The body of a small file arrives about as fast as the back end responds to a lookup. */
const smallBody = 1024 * 1024

/**
 * Streams a file to the back end. It becomes visible after its last byte, and after a scan if the workspace has chosen one.
 * @throws INVALID_PATH, SCOPE_REQUIRED, PROVIDER_NOT_ALLOWED, OUTSIDE_BASE_PATH, ROOT_IS_FIXED, ALREADY_EXISTS, TOO_LARGE,
 * DIGEST_MISMATCH, INCOMPLETE_BODY, PRECONDITION_FAILED, INFECTED, ...
 */
export async function upload(
  context: UploadContext,
  viewer: Viewer | null,
  input: UploadInput,
  signal: AbortSignal,
): Promise<FileEntry> {
  const { providerId, conflict } = input
  const isNew = conflict !== 'REPLACE'
  const [granted] = authorize(viewer, isNew ? needs.add : needs.create, input)
  if (granted.path === root) throw new AppError('ROOT_IS_FIXED', 'Give the path of the file, including its name.')
  const at = (candidate: StoragePath) =>
    context.storage.writeAt(grant(viewer, { scope: 'write', providerId, path: candidate, isNew }))
  const opened = await context.storage.writeAt(granted)
  const first = input.overLocked ? opened.overLocked : opened
  requireFits(input.size, Math.min(context.maxBytes, first.traits.maxFileSize ?? context.maxBytes))
  using reserved = await reserve(context, first, at, signal, input)
  const { location } = reserved
  const mayEnd = verifyCondition(location, input.condition, signal)
  await mayEnd?.()
  using scan = await context.scans.open(granted.viewer, signal, context.recording)
  const { body, hashes } = checkedBody(scan ? { ...input, body: scan.through(input.body) } : input, {
    maxBytes: Math.min(context.maxBytes, location.traits.maxFileSize ?? context.maxBytes),
    tooLarge,
    algorithm: location.traits.storedChecksum,
    mayEnd,
  })
  const modifiedAt = timeToKeep({ modifiedAt: input.modifiedAt ?? null })
  const stored = await unlessTaken(() =>
    location.write(signal, body, {
      overwrite: conflict === 'REPLACE',
      ...(input.size !== undefined && { size: input.size }),
      ...(input.mimeType !== undefined && { mimeType: input.mimeType }),
      ...(modifiedAt && { modifiedAt }),
      ...((input.digests?.sha256 || location.traits.storedChecksum === 'sha256') && {
        sha256: () => bytesOf(hashes().get('sha256')),
      }),
    }),
  )
  if (stored === taken) throw nameTaken(location.path)
  await requireStored(location, stored, hashes(), { isNew: conflict !== 'REPLACE' })
  return entryAt(location, stored)
}

function bytesOf(hex: string | undefined): Buffer | null {
  return hex === undefined ? null : Buffer.from(hex, 'hex')
}

interface ReservedLocation extends Disposable {
  location: WriteLocation
}

/**
 * Chooses and reserves the file's name, before any byte is sent if it is a large file. The back end repeats the check
 * atomically at the end, which suffices for a small one.
 */
async function reserve(
  { reservations }: UploadContext,
  first: WriteLocation,
  at: (path: StoragePath) => Promise<WriteLocation>,
  signal: AbortSignal,
  { conflict, condition, size = Number.POSITIVE_INFINITY, isAwaiting }: UploadInput,
): Promise<ReservedLocation> {
  if (conflict === 'REPLACE' && condition) {
    // Only one of several concurrent requests may replace the same version.
    const reservation = reservations.take(first.providerId, first.path)
    if (!reservation) throw uploadUnderWay(first.path)
    return { location: first, [Symbol.dispose]: () => reservation[Symbol.dispose]() }
  }
  if (conflict === 'REPLACE') return { location: first, [Symbol.dispose]: () => {} }
  const looksFirst = conflict === 'RENAME' || isAwaiting || size > smallBody
  let isReserved = false
  for (const path of conflict === 'FAIL' ? [first.path] : candidates(first.path, 'file')) {
    const reservation = reservations.take(first.providerId, path)
    isReserved = !reservation
    if (!reservation) continue
    try {
      const location = path === first.path ? first : await at(path)
      if (!looksFirst || !(await statOrNull(location, signal)))
        return { location, [Symbol.dispose]: () => reservation[Symbol.dispose]() }
    } catch (error) {
      reservation[Symbol.dispose]()
      throw error
    }
    reservation[Symbol.dispose]()
  }
  throw isReserved ? uploadUnderWay(first.path) : nameTaken(first.path)
}

/** @param facts the facts about an upload that the client can take over */
export function uploadUnderWay(path: StoragePath, facts?: { upload: object }): AppError {
  const choices = facts ? 'wait for it, take it over, or choose another name' : 'wait for it, or choose another name'
  return new AppError('UPLOAD_UNDER_WAY', `Another upload to "/${path}" is under way: ${choices}.`, { facts })
}

/** @throws TOO_LARGE */
export function requireFits(size: number | undefined, maxBytes: number): void {
  if (size !== undefined && size > maxBytes) throw tooLarge(maxBytes)
}

export function tooLarge(maxBytes: number): AppError {
  return new AppError('TOO_LARGE', `A file here can have at most ${maxBytes} bytes.`, { facts: { maxBytes } })
}

/** The digests that a body must have. Nothing is stored if one differs. */
export interface Digests {
  md5?: Buffer
  sha1?: Buffer
  sha256?: Buffer
  sha512?: Buffer
}

export interface CheckedBody {
  body: Readable
  /** Returns the requested and announced hashes of the whole body, in lowercase hex. Empty until the body has ended. */
  hashes(): ReadonlyMap<string, string>
}

/**
 * Passes a body on and fails if its size or digests differ from what the client announced. Computes only the hashes that
 * are compared.
 */
export function checkedBody(
  { body, size, digests = {} }: { body: Readable; size?: number | undefined; digests?: Digests | undefined },
  options: {
    /** Bytes. */
    maxBytes: number
    tooLarge: (maxBytes: number) => AppError
    /** A hash to compute in addition. */
    algorithm?: string | undefined
    /** Called after the last byte and before the end is passed on. Rejects to fail the write. */
    mayEnd?: (() => Promise<void>) | undefined
  },
): CheckedBody {
  const { maxBytes, tooLarge, algorithm, mayEnd } = options
  const expected = Object.entries(digests) as [keyof Digests, Buffer][]
  const algorithms = new Set([...expected.map(([name]) => name), ...(algorithm ? [algorithm] : [])])
  const running = new Map<string, Hash>([...algorithms].map(name => [name, createHash(name)]))
  const hashes = new Map<string, string>()
  let received = 0
  const check = new Transform({
    // The size of a socket chunk. With a larger buffer, iterating joins chunks by copying, which takes a third of the time.
    highWaterMark: 64 * 1024,
    transform(chunk: Buffer, _encoding, done) {
      received += chunk.length
      for (const hash of running.values()) hash.update(chunk)
      done(received > maxBytes ? tooLarge(maxBytes) : null, chunk)
    },
    flush(done) {
      if (size !== undefined && received !== size) {
        return done(new AppError('INCOMPLETE_BODY', `The body has ${received} bytes instead of ${size}.`))
      }
      for (const [name, hash] of running) hashes.set(name, hash.digest('hex'))
      for (const [name, digest] of expected) {
        if (hashes.get(name) !== digest.toString('hex')) {
          const message = 'The bytes do not match the digest that was sent with them: nothing was stored.'
          return done(new AppError('DIGEST_MISMATCH', message))
        }
      }
      if (mayEnd) void settle(mayEnd(), done)
      else done()
    },
  })
  return { body: detach(body, check), hashes: () => hashes }
}

/** Returns whether the entry at a path has the etag that the client expects; undefined means there is no entry. */
export type WriteCondition = (etag: string | null | undefined) => boolean

export function conditionFailed(): AppError {
  return new AppError(
    'PRECONDITION_FAILED',
    'The existing entry does not match the condition of the request: nothing was changed.',
  )
}

/**
 * Returns a check to run before the first byte and again after the last, just before the file becomes visible. The check
 * and the write are not atomic: a write by another client between them is not detected.
 */
export function verifyCondition(
  location: WriteLocation,
  condition: WriteCondition | undefined,
  signal: AbortSignal,
): (() => Promise<void>) | undefined {
  if (!condition) return undefined
  return async () => {
    const current = await statOrNull(location, signal)
    if (!condition(current ? current.etag : undefined)) throw conditionFailed()
  }
}
