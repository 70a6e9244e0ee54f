/**
 * Files that recipients send through a drop link. They are always new, and a taken name is numbered. The link shows each file
 * under the name that was sent, so that nobody learns which names are taken.
 */
import { randomUUID } from 'node:crypto'
import { authorize, needs } from '../../auth/needs.ts'
import {
  childOf,
  formatPath,
  nameOf,
  parentOf,
  parsePath,
  root,
  type StoragePath,
  segmentsOf,
} from '../../auth/path.ts'
import { type Grant, grant } from '../../auth/policy.ts'
import type { Database } from '../../db/client.ts'
import {
  addBytes,
  claimBytes,
  claimSeconds,
  dropClaim,
  renewClaim,
  returnLapsedClaims,
  settleClaim,
} from '../../db/shares/claims.ts'
import type { ShareRecord } from '../../db/shares/shares.ts'
import { AppError, type Reason } from '../../errors.ts'
import { LeaseKeeper } from '../../lib/lease-keeper.ts'
import type { Storage } from '../../storage/index.ts'
import { candidates, isTaken, longestSuffix, nameTaken } from '../files/conflict.ts'
import type { Files, UploadInput } from '../files/index.ts'
import type { NewResumableUpload, NextBytes, OpenUpload, ResumableUploads } from '../uploads/index.ts'
import { type OpenedShare, realPath } from './opening.ts'
import { requireFileType } from './settings.ts'

/** Reasons why there is no entry at a path. The folder above it may be a file. */
const absent: ReadonlySet<Reason> = new Set(['NOT_FOUND', 'NOT_A_FOLDER'])
/** The numbers that are tried for each folder. They are few because a path can have many folders. */
const maxNumber = 3
/** Bytes of UTF-8. Every back end stores paths of this length. */
const shortPath = 200

/**
 * Returns the path for a dropped file with each folder numbered whose name a file has, so that the file can be stored and its
 * sender does not learn of the other one.
 * @throws INVALID_PATH if the path could become too long, whatever is taken
 */
async function freeFolder(
  storage: Storage,
  granted: Grant<'write'>,
  { paths: [top = root] }: Pick<ShareRecord, 'paths'>,
  signal: AbortSignal,
): Promise<StoragePath> {
  async function kindAt(path: StoragePath): Promise<'file' | 'directory' | null> {
    try {
      return (await (await storage.writeAt(grant(granted.viewer, { ...granted, path }))).stat(signal)).kind
    } catch (error) {
      if (error instanceof AppError && absent.has(error.reason)) return null
      throw error
    }
  }

  /** Returns the folder, or a numbered one that is no file. */
  async function free(folder: StoragePath): Promise<{ folder: StoragePath; isMissing: boolean }> {
    for (const candidate of candidates(folder, 'directory', { numbers: maxNumber })) {
      const kind = await kindAt(candidate)
      if (kind !== 'file') return { folder: candidate, isMissing: kind === null }
    }
    throw nameTaken(folder)
  }

  const names = segmentsOf(granted.path).slice(segmentsOf(top).length)
  const longest = names.reduce<StoragePath>((path, name) => childOf(path, name + longestSuffix), top)
  // The back end refuses a path that is too long for it.
  if (Buffer.byteLength(longest) > shortPath) await kindAt(longest)
  const parent = parentOf(granted.path)
  // Most files go to a folder that exists, which takes one lookup.
  if (parent === top || (await kindAt(parent)) === 'directory') return granted.path
  let found = { folder: top, isMissing: false }
  for (const name of names.slice(0, -1)) {
    const folder = childOf(found.folder, name)
    found = found.isMissing ? { folder, isMissing: true } : await free(folder)
  }
  return childOf(found.folder, nameOf(granted.path))
}

/** The number of names in a path that a recipient sends. Each missing folder of it costs a request to the back end. */
const maxNames = 100
/** Bytes of UTF-8 in a path that a recipient sends. */
const maxBytes = 1024
/** Bytes of UTF-8 in each of its names. Most back ends allow 255, which leaves room for the suffix of a taken name. */
const maxNameBytes = 240

/**
 * Requires a path well within the bounds of other paths, so that no suffix for a taken name makes it too long: the refusal would
 * reveal that the name is taken.
 * @throws INVALID_PATH
 */
function requireDropPath(sent: string): void {
  const path = parsePath(sent)
  const names = segmentsOf(path)
  if (names.length > maxNames) throw invalid(`at most ${maxNames} names: use fewer folders.`)
  if (Buffer.byteLength(path) >= maxBytes) throw invalid(`at most ${maxBytes} bytes: use shorter names.`)
  if (names.some(name => Buffer.byteLength(name) > maxNameBytes)) {
    throw invalid(`names of at most ${maxNameBytes} bytes: use shorter ones.`)
  }
}

function invalid(bound: string): AppError {
  return new AppError('INVALID_PATH', `A path through this link can have ${bound}`)
}

/** A file that was stored through a link. */
export interface DroppedFile {
  /** The path as the client sent it. */
  path: string
  name: string
  /** Bytes; null if unknown. */
  size: number | null
}

export type NewDrop = Omit<UploadInput, 'providerId' | 'conflict' | 'condition' | 'modifiedAt'>
export type NewResumableDrop = Omit<NewResumableUpload, 'providerId' | 'conflict'>

/** Where a new file goes. */
interface DropLocation {
  providerId: string
  path: string
  conflict: 'RENAME'
}

export function createDrops({
  db,
  storage,
  files,
  uploads,
}: {
  db: Database
  storage: Storage
  files: Files
  uploads: ResumableUploads
}) {
  /** Returns the location of a new file. @throws INVALID_PATH, FILE_TYPE_NOT_ALLOWED, and as `authorize` */
  async function locate({ viewer, share }: OpenedShare, sent: string, signal: AbortSignal): Promise<DropLocation> {
    const { providerId } = share
    requireDropPath(sent)
    const path = formatPath(realPath(share, sent) ?? ('' as StoragePath))
    requireFileType(share, sent)
    // Refuses a link of the other kind before it looks anything up or counts anything.
    const [granted] = authorize(viewer, needs.add, { providerId, path })
    const free = await silent(() => freeFolder(storage, granted, share, signal))
    return { providerId, path: formatPath(free), conflict: 'RENAME' }
  }

  /** Counts the bytes of an upload towards the limit of the link. */
  function counting(share: ShareRecord, upload: OpenUpload): OpenUpload {
    return {
      get record() {
        return upload.record
      },
      async setSize(size) {
        const set = async () => {
          await upload.setSize(size)
          return { size }
        }
        await (upload.record.size === null ? withSpace(db, share, size, set) : set())
      },
      write: (body, signal, checksum) => silent(() => upload.write(body, signal, checksum)),
      remove: () => upload.remove(),
      [Symbol.asyncDispose]: () => upload[Symbol.asyncDispose](),
    }
  }

  return {
    /** Stores a file in one request. @throws as `Files.upload`; FILE_TYPE_NOT_ALLOWED, INVALID_INPUT */
    async upload(opened: OpenedShare, { path: sent, ...input }: NewDrop, signal: AbortSignal): Promise<DroppedFile> {
      const location = await locate(opened, sent, signal)
      const store = () => silent(() => files.upload(opened.viewer, { ...input, ...location }, signal))
      const { size } = await withSpace(db, opened.share, input.size ?? null, store)
      const path = parsePath(sent)
      return { path: formatPath(path), name: nameOf(path), size }
    },

    /** Resumable uploads, with the interface of those of members. */
    resumable: ({ viewer, share }: OpenedShare) => ({
      async create({ path, ...input }: NewResumableDrop, signal: AbortSignal): Promise<OpenUpload> {
        const location = await locate({ viewer, share }, path, signal)
        const { upload } = await withSpace(db, share, input.size, async () => {
          const upload = await silent(() => uploads.create(viewer, { ...input, ...location }, signal))
          return { upload, size: upload.record.size }
        })
        return counting(share, upload)
      },
      open: async (id: string, signal: AbortSignal, next?: NextBytes): Promise<OpenUpload> =>
        counting(share, await uploads.open(viewer, id, signal, next)),
    }),
  }
}

/** Runs `store`, whose error does not say that a name is taken. */
async function silent<T>(store: () => Promise<T>): Promise<T> {
  try {
    return await store()
  } catch (error) {
    if (!isTaken(error)) throw error
    throw new AppError('UNAVAILABLE', 'The file could not be stored under this name: send it again.', { cause: error })
  }
}

/** The bytes that a drop link accepts. They are claimed before a file is sent, and returned if it is not stored. */
type Limited = Pick<ShareRecord, 'id' | 'maxBytes'>

/**
 * Claims the space of a file for the duration of `store`, which returns the size of the stored file, or null if it is unknown.
 * @throws TOO_LARGE, INVALID_INPUT for an unknown size if the link has a limit, and what `store` throws
 */
async function withSpace<T extends { size: number | null }>(
  db: Database,
  share: Limited,
  size: number | null,
  store: () => Promise<T>,
): Promise<T> {
  if (size === null) {
    requireNoLimit(share)
    const stored = await store()
    if (stored.size !== null) await addBytes(db, share.id, stored.size)
    return stored
  }
  const claim = await take(db, share, size)
  const stored = await store()
    .catch(async error => {
      await dropClaim(db, claim.id)
      throw error
    })
    .finally(() => claim.lease[Symbol.dispose]())
  // The claim has lapsed if this server did not run for a while.
  if (!(await settleClaim(db, claim.id))) await addBytes(db, share.id, size)
  return stored
}

async function take(db: Database, share: Limited, bytes: number): Promise<{ id: string; lease: Disposable }> {
  const claim = { id: randomUUID(), shareId: share.id, bytes }
  const isTaken = (await claimBytes(db, claim)) || ((await returnLapsedClaims(db)) && (await claimBytes(db, claim)))
  if (!isTaken) {
    throw new AppError('TOO_LARGE', `All files that this link accepts can have ${share.maxBytes} bytes together.`)
  }
  const lease = new LeaseKeeper({ interval: (claimSeconds * 1000) / 3, renew: () => renewClaim(db, claim.id) })
  return { id: claim.id, lease }
}

/** @throws INVALID_INPUT */
function requireNoLimit({ maxBytes }: Limited): void {
  if (maxBytes === null) return
  throw new AppError('INVALID_INPUT', 'This link has a limit of bytes: send the size of the file before its content.')
}
