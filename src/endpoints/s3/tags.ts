import { createHash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { formatTag } from '../../http/content/validators.ts'
import type { FileEntry } from '../../services/files/index.ts'

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
