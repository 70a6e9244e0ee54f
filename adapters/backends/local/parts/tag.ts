import { StorageError } from '../../../contract.ts'
import { type UploadState, uploadId } from '../unfinished.ts'

export interface Part {
  number: number
  /** Bytes. */
  size: number
  /** The length of the slots in bytes; null for a part with its own file, whose name is `file`. */
  slot: number | null
  file: string
}

const tagPattern = /^(?:slot (\d+)|file) (\d+) (\d+) ([0-9a-f-]{36})$/

/** A tag has the id of the upload for a part in a slot, and the name of the file for another one. */
export function tagOf({ number, size, slot }: Omit<Part, 'file'>, id: string): string {
  return `${slot === null ? 'file' : `slot ${slot}`} ${number} ${size} ${id}`
}

/** @throws PRECONDITION_FAILED */
export function parseTag({ number, tag }: { number: number; tag: string }, state: UploadState): Part {
  const [, slot, numberText, size, id = ''] = tagPattern.exec(tag) ?? []
  const isOther = slot !== undefined && id !== uploadId(state)
  if (Number(numberText) !== number || isOther) throw partMissing()
  return { number, size: Number(size), slot: slot === undefined ? null : Number(slot), file: id }
}

export function partMissing(cause?: unknown): StorageError {
  return new StorageError('PRECONDITION_FAILED', 'A part is missing or was sent again: list the latest ones.', {
    cause,
  })
}
