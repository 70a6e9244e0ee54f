/** The resource that an S3 request names (nothing, a bucket, or an object in one) and its query. */
import type { IncomingMessage } from 'node:http'
import { decodeUri, parseSignedQuery, type Query } from '../auth/sigv4/message.ts'
import { s3Path } from '../http/s3-domain.ts'
import { splitUrl } from '../http/url.ts'
import { S3Error } from './failure.ts'

export interface S3Address {
  /** Null for the endpoint itself. */
  bucket: string | null
  /** Empty for the bucket itself. */
  key: string
  /** The parameters, without those that sign the request. */
  query: ReadonlyMap<string, string>
  /** All parameters, in the order of the URL. */
  parameters: Query
}

/** Parameters that say nothing about the operation. */
const ignored = /^(?:x-amz-|x-id$)/i

/** @throws SignatureError for a malformed URL; S3Error for a repeated parameter */
export function parseAddress({ url = '' }: Pick<IncomingMessage, 'url'>): S3Address {
  const [path, query] = splitUrl(url)
  const [bucket = '', ...key] = path.slice(`${s3Path}/`.length).split('/')
  const parameters = parseSignedQuery(query)
  return { bucket: decodeUri(bucket) || null, key: decodeUri(key.join('/')), query: relevant(parameters), parameters }
}

function relevant(parameters: Query): ReadonlyMap<string, string> {
  const query = new Map<string, string>()
  for (const [name, value] of parameters) {
    if (ignored.test(name)) continue
    if (query.has(name)) throw new S3Error('InvalidArgument', 'A query parameter appears more than once.')
    query.set(name, value)
  }
  return query
}
