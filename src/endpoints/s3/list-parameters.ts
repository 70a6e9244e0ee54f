/** The parameters that all lists take. */
import { encodeUri } from '../../auth/sigv4/message.ts'
import type { S3Address } from './address.ts'
import { S3Error } from './failure.ts'

const maxItems = 1000

/** Returns the number of items of a page, 0 to 1,000. @throws S3Error */
export function parseLimit(query: S3Address['query'], name: string): number {
  const text = query.get(name) ?? String(maxItems)
  if (/^\d{1,10}$/.test(text)) return Math.min(Number(text), maxItems)
  throw new S3Error('InvalidArgument', `"${name}" is a number from 0 to 2147483647.`)
}

/** @throws S3Error */
export function parseDelimiter(query: S3Address['query']): '' | '/' {
  const delimiter = query.get('delimiter') ?? ''
  if (delimiter === '' || delimiter === '/') return delimiter
  throw new S3Error('NotImplemented', 'The only delimiter of this server is "/".')
}

/** Returns the function that encodes keys in the response. @throws S3Error */
export function encoderOf(query: S3Address['query']): (key: string) => string {
  const encoding = query.get('encoding-type')
  if (encoding === undefined) return key => key
  if (encoding === 'url') return key => encodeUri(key).replaceAll('%2F', '/')
  throw new S3Error('InvalidArgument', '"encoding-type" can only be "url".')
}
