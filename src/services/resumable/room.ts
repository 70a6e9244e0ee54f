import type { Database } from '../../db/client.ts'
import { countUploads, type UploadRecord } from '../../db/uploads.ts'
import { AppError } from '../../errors.ts'
import { maxUserBytes, maxUserUploads } from './bounds.ts'

/**
 * Whether a user may have so many more.
 * @param bytes to be held in the database
 * @throws TOO_MANY_UPLOADS
 */
export async function requireRoom(
  db: Database,
  owner: Pick<UploadRecord, 'workspaceId' | 'userId'>,
  more: { uploads: number; bytes: number },
): Promise<void> {
  const { count, bytes } = await countUploads(db, owner)
  if (more.uploads > 0 && count + more.uploads > maxUserUploads) {
    throw new AppError(
      'TOO_MANY_UPLOADS',
      `You have ${count} uploads that are not complete: finish or delete some of them, or wait until they expire.`,
    )
  }
  if (bytes + more.bytes > maxUserBytes) {
    throw new AppError(
      'TOO_MANY_UPLOADS',
      'Your unfinished uploads hold too many bytes: finish or delete some of them.',
    )
  }
}
