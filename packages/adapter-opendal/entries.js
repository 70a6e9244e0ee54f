// @ts-check
/** @import { Metadata } from 'opendal' */
/** @import { Entry } from 'stowage/adapter' */

/**
 * @param {string} name
 * @param {Metadata} metadata
 * @param {string} fileId
 * @returns {Entry}
 */
export function toEntry(name, metadata, fileId) {
  const modifiedAt = metadata.lastModified ? new Date(metadata.lastModified) : null
  if (metadata.isDirectory()) return folderEntry(name, fileId)
  const md5 = metadata.contentMd5 && Buffer.from(metadata.contentMd5, 'base64').toString('hex')
  return {
    name,
    kind: 'file',
    size: metadata.contentLength === null ? null : Number(metadata.contentLength),
    modifiedAt,
    etag: metadata.etag?.replace(/^W\//, '').replaceAll('"', '') || null,
    mimeType: metadata.contentType ?? null,
    fileId,
    ...(md5 && /^[0-9a-f]{32}$/.test(md5) && { checksums: { md5 } }),
  }
}

/** @param {string} name @param {string} fileId @returns {Entry} */
export function folderEntry(name, fileId) {
  return { name, kind: 'directory', size: null, modifiedAt: null, etag: null, mimeType: null, fileId }
}
