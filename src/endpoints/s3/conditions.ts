/** ETags in the form of S3, and the conditions of requests that compare them. */
import { createHash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { authorize, needs } from '../../auth/needs.ts'
import { AppError } from '../../errors.ts'
import { parseUploadConditions } from '../../http/content/body-headers.ts'
import { formatTag, isNotModified } from '../../http/content/conditions.ts'
import type { FileEntry, LocationInput, UploadInput } from '../../services/files/index.ts'
import { explainBucket, S3Error } from './errors.ts'
import type { ObjectCall } from './operation.ts'

const md5 = /^[0-9a-f]{32}$/
/** The ETag of an empty object, such as a folder. */
export const emptyTag = 'd41d8cd98f00b204e9800998ecf8427e'

/**
 * Returns an etag in the form that clients expect of S3. They compare an ETag without a hyphen with the MD5 of the content, so
 * any other etag gets the ending of a multipart upload.
 */
export function tagOf(etag: string): string {
  return md5.test(etag) || etag.includes('-') ? etag : `${etag}-0`
}

/** The headers that contain ETags. */
const tagHeaders = ['if-match', 'if-none-match', 'x-amz-copy-source-if-match', 'x-amz-copy-source-if-none-match']
const bareTag = /^[\x21\x23-\x29\x2b\x2d-\x7e]{1,256}$/

/** Adds the quotation marks that S3 lets clients omit from an ETag. Returns any other text unchanged. */
export function quoteTag(text: string): string {
  return bareTag.test(text) ? formatTag(text) : text
}

export function quoteTags(headers: IncomingHttpHeaders): void {
  for (const name of tagHeaders) {
    const value = headers[name]
    if (typeof value === 'string') headers[name] = quoteTag(value)
  }
}

export type Tagged = Pick<FileEntry, 'etag' | 'size' | 'modifiedAt'>

/** Returns the tag of a file. Lists require one, so a file without an etag gets a tag that is derived from its size and time. */
export function listedTag({ etag, size, modifiedAt }: Tagged): string {
  if (etag !== null) return tagOf(etag)
  return `${createHash('md5').update(`${size} ${modifiedAt?.getTime()}`).digest('hex')}-0`
}

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

const conditions = ['if-match', 'if-none-match', 'if-modified-since', 'if-unmodified-since'] as const

/** Evaluates the conditions on the source of a copy, if there are any. @throws PRECONDITION_FAILED, as `authorize`, `Files.stat` */
export async function requireSource(
  call: ObjectCall,
  source: LocationInput,
  version?: string | undefined,
): Promise<void> {
  const { services, request, signal } = call
  authorize(request.viewer, needs.copy, { ...source, toProviderId: call.providerId, toPath: call.path })
  const headers = Object.fromEntries(
    conditions.flatMap(name => {
      const value = request.headers[`x-amz-copy-source-${name}`]
      return value === undefined ? [] : [[name, String(value)]]
    }),
  )
  if (Object.keys(headers).length === 0) return
  if (version !== undefined) {
    throw new S3Error('NotImplemented', 'This server copies versions without conditions on the source.')
  }
  const { etag, modifiedAt } = await services.files
    .stat(request.viewer, source, signal)
    .catch(error => Promise.reject(explainBucket(error, source.providerId)))
  if (isNotModified(headers, { etag: etag === null ? null : tagOf(etag), modifiedAt })) {
    throw new AppError('PRECONDITION_FAILED', 'The source is the version that the request excludes.')
  }
}
