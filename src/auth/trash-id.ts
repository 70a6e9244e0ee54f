/** The ids of entries in the trash. They name the place of the deletion, so that rights are decided before any lookup. */
import { AppError } from '../errors.ts'

export interface TrashPlace {
  id: string
  providerId: string
  /** The path before the deletion, which starts with "/". */
  path: string
}

export function formatTrashId({ id, providerId, path }: TrashPlace): string {
  return Buffer.from(JSON.stringify([id, providerId, path])).toString('base64url')
}

/** Nothing in the result is validated. @throws NOT_FOUND for a text that is no id */
export function parseTrashId(text: string): TrashPlace {
  try {
    const [id, providerId, path] = JSON.parse(Buffer.from(text, 'base64url').toString())
    if ([id, providerId, path].every(part => typeof part === 'string')) return { id, providerId, path }
  } catch {
    // It is not JSON, or not a list.
  }
  throw notInTrash()
}

export function notInTrash(): AppError {
  return new AppError('NOT_FOUND', 'This entry is not in the trash: it was restored, or deleted for good.')
}
