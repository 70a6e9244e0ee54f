import type { IncomingHttpHeaders } from 'node:http'
import { decodeUri } from '../../auth/sigv4/message.ts'
import { S3Error } from './failure.ts'
import { type ObjectPath, parseKey } from './keys.ts'

export interface ObjectName extends ObjectPath {
  bucket: string
}

/** Parses `x-amz-copy-source`, which is `/bucket/key`, percent-encoded. @throws S3Error */
export function parseCopySource(headers: IncomingHttpHeaders): ObjectName | null {
  const header = headers['x-amz-copy-source']
  if (header === undefined) return null
  const [path = '', version] = String(header).split('?', 2)
  if (version !== undefined) throw new S3Error('NotImplemented', 'This server keeps no versions of objects.')
  const [bucket = '', ...segments] = decodeUri(path.replaceAll('+', ' ')).replace(/^\//, '').split('/')
  const key = segments.join('/')
  if (bucket === '' || key === '') {
    throw new S3Error('InvalidArgument', 'x-amz-copy-source must have the form /bucket/key.')
  }
  return { bucket, ...parseKey(key) }
}

const rangePattern = /^bytes=(\d{1,15})-(\d{1,15})$/

/** Parses `x-amz-copy-source-range`; null is the whole object. @throws S3Error */
export function parseCopyRange(headers: IncomingHttpHeaders): { offset: number; length: number } | null {
  const header = headers['x-amz-copy-source-range']
  if (header === undefined) return null
  const [, first = '', last = ''] = rangePattern.exec(String(header)) ?? []
  const [offset, end] = [Number(first), Number(last)]
  if (first !== '' && end >= offset) return { offset, length: end - offset + 1 }
  throw new S3Error('InvalidArgument', 'x-amz-copy-source-range must have the form bytes=<first>-<last>.')
}
