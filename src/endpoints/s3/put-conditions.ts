import { parseUploadConditions } from '../../http/content/upload-conditions.ts'
import type { UploadInput } from '../../services/files/index.ts'
import { S3Error } from './failure.ts'
import type { ObjectCall } from './operation.ts'
import { tagOf } from './tags.ts'

/** Without conditions, S3 replaces an existing object. The condition throws an S3Error if the object is missing. */
export function parseConditions(
  headers: ObjectCall['request']['headers'],
): Pick<UploadInput, 'conflict' | 'condition'> & { isConditional: boolean } {
  const { condition, ...parsed } = parseUploadConditions(headers, undefined)
  if (!parsed.isConditional) return { conflict: 'REPLACE', isConditional: false }
  if (!condition) return parsed
  return {
    ...parsed,
    condition(etag) {
      if (etag === undefined && headers['if-match'] !== undefined) {
        throw new S3Error('NoSuchKey', 'There is no object with this key to replace.')
      }
      // Clients know the etags in the form of S3.
      return condition(etag ? tagOf(etag) : etag)
    },
  }
}
