/**
 * Files that strangers send through a drop link. They are always new, and a taken name is numbered. The link shows each file
 * under the name that was sent, so that nobody learns which names are taken.
 */
import { authorize, needs } from '../../auth/needs.ts'
import { formatPath, nameOf, parsePath, type StoragePath } from '../../auth/path.ts'
import type { Database } from '../../db/client.ts'
import type { ShareRecord } from '../../db/shares/record.ts'
import { AppError } from '../../errors.ts'
import type { Storage } from '../../storage/index.ts'
import { isTaken } from '../files/conflict.ts'
import type { Files, UploadInput } from '../files/index.ts'
import type { NewResumableUpload, OpenUpload, ResumableUploads } from '../uploads/index.ts'
import { requireDropPath } from './drop-path.ts'
import { freeFolder } from './free-folder.ts'
import type { OpenedShare } from './opened-share.ts'
import { realPath } from './paths.ts'
import { requireFileType } from './settings.ts'
import { withSpace } from './space.ts'

/** A file that was stored through a link. */
export interface DroppedFile {
  /** As it was sent. */
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

  /** An open upload that keeps account of the space. */
  function opened(share: ShareRecord, upload: OpenUpload): OpenUpload {
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
        return opened(share, upload)
      },
      open: async (id: string, signal: AbortSignal): Promise<OpenUpload> =>
        opened(share, await uploads.open(viewer, id, signal)),
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
