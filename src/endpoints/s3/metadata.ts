/** The metadata of objects: of it, the back ends keep only the type and the modification time. */
import type { IncomingHttpHeaders } from 'node:http'
import { S3Error } from './errors.ts'

const prefix = 'x-amz-meta-'
const timeHeader = `${prefix}mtime`

/**
 * Metadata that clients attach to every object by themselves: rclone's digest of a multipart upload and birth time, s3cmd's
 * and s3fs' attributes of POSIX. They do without it, so it is not stored.
 */
const optional = new Set(
  ['atime', 'btime', 'ctime', 'gid', 'md5chksum', 'mode', 's3cmd-attrs', 'uid', 'xattr'].map(name => prefix + name),
)

/** Headers that promise something which this server cannot keep. */
const refused = [
  'content-encoding',
  'x-amz-server-side-encryption',
  'x-amz-server-side-encryption-aws-kms-key-id',
  'x-amz-server-side-encryption-customer-algorithm',
  'x-amz-tagging',
  'x-amz-website-redirect-location',
  'x-amz-write-offset-bytes',
]
const privateAcls = new Set(['private', 'bucket-owner-read', 'bucket-owner-full-control'])
const secondsPattern = /^\d{1,12}(?:\.\d{1,12})?$/

/** Returns the modification time at the client. @throws S3Error for metadata that would be lost */
export function parseModifiedAt(headers: IncomingHttpHeaders): Date | undefined {
  for (const name of Object.keys(headers)) {
    if (name.startsWith(prefix) && name !== timeHeader && !optional.has(name)) {
      throw notImplemented(`The storage keeps no user metadata except "mtime": send the object without ${name}.`)
    }
  }
  const seconds = headers[timeHeader]
  if (typeof seconds !== 'string' || !secondsPattern.test(seconds)) return undefined
  return new Date(Math.round(Number(seconds) * 1000))
}

/** @throws S3Error */
export function requireStorable(headers: IncomingHttpHeaders): void {
  const encoding = plainEncoding(headers['content-encoding'])
  const name = refused.find(name => (name === 'content-encoding' ? encoding !== '' : headers[name] !== undefined))
  if (name !== undefined) throw notImplemented(`This server does not support the header ${name}.`)
  const acl = headers['x-amz-acl']
  const grants = Object.keys(headers).some(name => name.startsWith('x-amz-grant-'))
  if (grants || (acl !== undefined && !privateAcls.has(String(acl)))) {
    throw notImplemented('This server has no access control lists: give people access in its console.')
  }
}

/** Returns the codings of the object itself, without that of the transfer. */
function plainEncoding(header = ''): string {
  const codings = header.split(',').map(coding => coding.trim().toLowerCase())
  return codings.filter(coding => coding !== '' && coding !== 'aws-chunked' && coding !== 'identity').join()
}

/** Returns the header with a modification time in seconds. */
export function timeMetadata(modifiedAt: Date | null): Record<string, string> {
  return modifiedAt ? { [timeHeader]: String(modifiedAt.getTime() / 1000) } : {}
}

function notImplemented(message: string): S3Error {
  return new S3Error('NotImplemented', message)
}
