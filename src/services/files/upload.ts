import { createHash, type Hash } from 'node:crypto'
import { type Readable, Transform } from 'node:stream'
import { parseNewPath, root, type StoragePath } from '../../auth/path.ts'
import { grant } from '../../auth/policy.ts'
import type { Viewer } from '../../auth/viewer.ts'
import { AppError } from '../../errors.ts'
import type { Storage } from '../../storage/host.ts'
import type { WriteLocation } from '../../storage/location.ts'
import { type ConflictBehavior, candidates, nameTaken, type Reservations, statOrNull } from './conflict.ts'
import { entryAt, type FileEntry, type Place } from './entry.ts'

export interface Upload extends Place {
  conflict: ConflictBehavior
  body: Readable
  /** Bytes, where the client has told. */
  size?: number | undefined
  mimeType?: string | undefined
  /** Of the bytes, 32 bytes; nothing is stored where they have another. */
  sha256?: Buffer | undefined
}

export interface UploadContext {
  storage: Storage
  reservations: Reservations
  /** Bytes. */
  maxBytes: number
}

/**
 * Streams a file to the back end; it is visible once all of it is there.
 * @throws INVALID_PATH, SCOPE_REQUIRED, PROVIDER_NOT_ALLOWED, OUTSIDE_BASE_PATH, ROOT_IS_FIXED, ALREADY_EXISTS, TOO_LARGE,
 * DIGEST_MISMATCH, INCOMPLETE_BODY, ...
 */
export async function upload(
  context: UploadContext,
  viewer: Viewer | null,
  input: Upload,
  signal: AbortSignal,
): Promise<FileEntry> {
  const { providerId, conflict } = input
  const path = parseNewPath(input.path)
  if (path === root) throw new AppError('ROOT_IS_FIXED', 'Give the path of the file, its name included.')
  const at = (candidate: StoragePath) =>
    context.storage.writeAt(grant(viewer, { scope: 'write', providerId, path: candidate }))
  const first = await at(path)
  requireFits(input.size, Math.min(context.maxBytes, first.traits.maxFileSize ?? context.maxBytes))
  using target = await choose(context, first, conflict, at, signal)
  const { location } = target
  const body = checkedBody(input, Math.min(context.maxBytes, location.traits.maxFileSize ?? context.maxBytes))
  const stored = await location.write(signal, body, {
    overwrite: conflict === 'REPLACE',
    ...(input.size !== undefined && { size: input.size }),
    ...(input.mimeType !== undefined && { mimeType: input.mimeType }),
  })
  return entryAt(location, stored)
}

interface Target extends Disposable {
  location: WriteLocation
}

/** Decides before any byte is sent where the file goes; the back end's own atomic check follows at the end. */
async function choose(
  { reservations }: UploadContext,
  first: WriteLocation,
  conflict: ConflictBehavior,
  at: (path: StoragePath) => Promise<WriteLocation>,
  signal: AbortSignal,
): Promise<Target> {
  if (conflict === 'REPLACE') return { location: first, [Symbol.dispose]: () => {} }
  let isReserved = false
  for (const path of conflict === 'FAIL' ? [first.path] : candidates(first.path, 'file')) {
    const reservation = reservations.take(first.providerId, path)
    isReserved = !reservation
    if (!reservation) continue
    try {
      const location = path === first.path ? first : await at(path)
      if (!(await statOrNull(location, signal)))
        return { location, [Symbol.dispose]: () => reservation[Symbol.dispose]() }
    } catch (error) {
      reservation[Symbol.dispose]()
      throw error
    }
    reservation[Symbol.dispose]()
  }
  throw isReserved ? uploadUnderWay(first.path) : nameTaken(first.path)
}

function uploadUnderWay(path: StoragePath): AppError {
  return new AppError(
    'ALREADY_EXISTS',
    `Another upload to "/${path}" is under way: wait for it, or choose another name.`,
  )
}

function requireFits(size: number | undefined, maxBytes: number): void {
  if (size !== undefined && size > maxBytes) throw tooLarge(maxBytes)
}

function tooLarge(maxBytes: number): AppError {
  return new AppError('TOO_LARGE', `A file here has at most ${maxBytes} bytes.`)
}

/** Fails the write where the bytes are not what the client announced. Without an announcement nothing is looked at. */
function checkedBody({ body, size, sha256 }: Upload, maxBytes: number): Readable {
  const hash: Hash | null = sha256 ? createHash('sha256') : null
  let received = 0
  const check = new Transform({
    // A chunk of a socket: what waits beyond that is joined by copying for whoever iterates, a third of the time spent.
    highWaterMark: 64 * 1024,
    transform(chunk: Buffer, _encoding, done) {
      received += chunk.length
      hash?.update(chunk)
      done(received > maxBytes ? tooLarge(maxBytes) : null, chunk)
    },
    flush(done) {
      if (size !== undefined && received !== size) {
        done(new AppError('INCOMPLETE_BODY', `The body has ${received} bytes instead of ${size}.`))
      } else if (hash && sha256 && !hash.digest().equals(sha256)) {
        done(new AppError('DIGEST_MISMATCH', 'The bytes do not match the Content-Digest: nothing was stored.'))
      } else done()
    },
  })
  // It may fail before the back end has begun to read it, who then finds it failed; nobody listens until then.
  check.on('error', () => {})
  body.once('error', error => check.destroy(error))
  body.once('close', () => {
    if (!body.readableEnded) check.destroy(new AppError('INCOMPLETE_BODY'))
  })
  check.once('close', () => {
    if (!body.readableEnded) body.unpipe(check)
  })
  return body.pipe(check)
}
