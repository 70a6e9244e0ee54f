/** Files that strangers send through a drop link. They are always new: a taken name is refused or numbered. */
import { authorize, needs } from '../../auth/needs.ts'
import { formatPath, nameOf, type StoragePath } from '../../auth/path.ts'
import type { Database } from '../../db/client.ts'
import type { ShareRecord } from '../../db/shares/record.ts'
import type { Files, UploadInput } from '../files/index.ts'
import type { NewResumableUpload, OpenUpload, ResumableUploads } from '../uploads/index.ts'
import type { OpenedShare } from './opened-share.ts'
import { realPath, shownPath } from './paths.ts'
import { requireFileType } from './settings.ts'
import { returnSpace, takeSpace } from './space.ts'

/** A file that was stored through a link. */
export interface DroppedFile {
  /** As the link shows it. */
  path: string
  name: string
  /** Bytes; null if unknown. */
  size: number | null
}

export type NewDrop = Omit<UploadInput, 'providerId' | 'condition' | 'modifiedAt'>
export type NewResumableDrop = Omit<NewResumableUpload, 'providerId'>

export function createDrops({ db, files, uploads }: { db: Database; files: Files; uploads: ResumableUploads }) {
  /** Returns the real location of a new file. @throws INVALID_PATH, FILE_TYPE_NOT_ALLOWED */
  function locate(share: ShareRecord, shown: string): { providerId: string; path: string } {
    const path = formatPath(realPath(share, shown) ?? ('' as StoragePath))
    requireFileType(share, shown)
    return { providerId: share.providerId, path }
  }

  /** An open upload whose paths are those that the link shows, and that keeps account of the space. */
  function opened(share: ShareRecord, upload: OpenUpload): OpenUpload {
    return {
      get record() {
        const { storedPath, ...record } = upload.record
        const shown = storedPath === null ? null : shownPath(share, storedPath as StoragePath).slice(1)
        return { ...record, storedPath: shown }
      },
      async setSize(size) {
        const isNew = upload.record.size === null
        if (isNew) await takeSpace(db, share, size)
        await upload.setSize(size)
      },
      write: (body, signal, checksum) => upload.write(body, signal, checksum),
      async remove() {
        const { storedPath, size } = upload.record
        await upload.remove()
        if (storedPath === null) await returnSpace(db, share.id, size)
      },
      [Symbol.asyncDispose]: () => upload[Symbol.asyncDispose](),
    }
  }

  return {
    /** Stores a file in one request. @throws as `Files.upload`; FILE_TYPE_NOT_ALLOWED, INVALID_INPUT */
    async upload(
      { viewer, share }: OpenedShare,
      { path, ...input }: NewDrop,
      signal: AbortSignal,
    ): Promise<DroppedFile> {
      const location = locate(share, path)
      const size = input.size ?? null
      // Refuses a link of the other kind before it counts anything.
      authorize(viewer, needs.add, location)
      await takeSpace(db, share, size)
      try {
        const stored = await files.upload(viewer, { ...input, ...location }, signal)
        if (size === null && stored.size !== null) await takeSpace(db, share, stored.size)
        return { path: shownPath(share, stored.path), name: nameOf(stored.path), size: stored.size }
      } catch (error) {
        await returnSpace(db, share.id, size)
        throw error
      }
    },

    /** Resumable uploads, with the interface of those of members. */
    resumable({ viewer, share }: OpenedShare) {
      return {
        maxBytes: uploads.maxBytes,
        async create({ path, ...input }: NewResumableDrop, signal: AbortSignal): Promise<OpenUpload> {
          const location = locate(share, path)
          authorize(viewer, needs.add, location)
          await takeSpace(db, share, input.size)
          try {
            return opened(share, await uploads.create(viewer, { ...input, ...location }, signal))
          } catch (error) {
            await returnSpace(db, share.id, input.size)
            throw error
          }
        },
        open: async (id: string, signal: AbortSignal): Promise<OpenUpload> =>
          opened(share, await uploads.open(viewer, id, signal)),
      }
    },
  }
}
