import { maxParts, type UploadName } from '../../services/uploads/multipart/index.ts'
import { S3Error } from './failure.ts'
import type { ObjectCall } from './operation.ts'

export const partNumberPattern = /^[1-9]\d{0,4}$/

export function uploadOf({ providerId, path, query }: ObjectCall): UploadName {
  return { providerId, path, uploadId: query.get('uploadId') ?? '' }
}

/** @throws S3Error */
export function partNumber({ query }: ObjectCall): number {
  const text = query.get('partNumber') ?? ''
  if (partNumberPattern.test(text) && Number(text) <= maxParts) return Number(text)
  throw new S3Error('InvalidArgument', `A part number is a number from 1 to ${maxParts}.`)
}
