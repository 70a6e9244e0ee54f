/** Parts that the back end keeps, in any order and at once. */
import type { UploadPart } from '../../../db/uploads/parts.ts'
import { AppError } from '../../../errors.ts'
import type { CheckedEntry } from '../../../storage/validate-entry.ts'
import { type ActiveUpload, missingUpload, openState } from '../active-upload.ts'

/** A part as the back end names it. */
export interface NativePart {
  number: number
  tag: string
}

/** Makes the file of these parts visible. Safe to repeat. @throws PART_MISSING, NOT_FOUND */
export async function completeNativeParts(
  { lease, secrets, location }: ActiveUpload,
  parts: readonly NativePart[],
  work: AbortSignal,
  options: { size: number; overwrite: boolean },
): Promise<CheckedEntry> {
  const { resumable } = location
  if (!resumable) throw missingUpload()
  try {
    return await resumable.completeParts(work, openState(secrets, lease.record), parts, options)
  } catch (error) {
    if (!(error instanceof AppError) || error.reason !== 'PRECONDITION_FAILED') throw error
    throw new AppError('PART_MISSING', undefined, { cause: error })
  }
}

/**
 * Returns the parts that the client lists, and their size in bytes together.
 * @param wanted each number with the MD5 that the client got for the part
 * @throws PART_MISSING, PART_TOO_SMALL
 */
export function selectNativeParts(
  stored: readonly UploadPart[],
  wanted: readonly { number: number; md5: string }[],
  minSize: number,
): { parts: NativePart[]; size: number } {
  const byNumber = new Map(stored.map(part => [part.number, part]))
  const parts: NativePart[] = []
  let size = 0
  for (const [index, { number, md5 }] of wanted.entries()) {
    const part = byNumber.get(number)
    if (!part || part.tag === null || part.md5.toString('hex') !== md5) throw missingPart(number)
    if (part.size < minSize && index < wanted.length - 1) {
      throw new AppError('PART_TOO_SMALL', `Part ${number} has ${part.size} bytes: all but the last need ${minSize}.`)
    }
    parts.push({ number, tag: part.tag })
    size += part.size
  }
  return { parts, size }
}

class EndedUpload extends AppError {}

export function endedUpload(): AppError {
  return new EndedUpload('NOT_FOUND', 'There is no such upload, or it has ended: begin a new one.')
}

/** Returns whether the error is about the upload, and not about the source of a copied part. */
export function isEndedUpload(error: unknown): boolean {
  return error instanceof EndedUpload
}

export function missingPart(number: number): AppError {
  return new AppError('PART_MISSING', `Part ${number} is missing or is another version: send it again.`)
}
