import { createHash } from 'node:crypto'
import type { FileEntry } from '../services/files/index.ts'

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

/** Returns the tag of a file, which in a list is never missing. */
export function listedTag({ etag, size, modifiedAt }: Pick<FileEntry, 'etag' | 'size' | 'modifiedAt'>): string {
  if (etag !== null) return tagOf(etag)
  return `${createHash('md5').update(`${size} ${modifiedAt?.getTime()}`).digest('hex')}-0`
}
