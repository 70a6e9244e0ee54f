import type { IncomingMessage } from 'node:http'
import type { Fault } from './fault-proxy.ts'

/**
 * Adds a rule of Amazon S3 that Ceph 16 lacks: refuses a presigned request with an unsigned `x-amz-*` header.
 * https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html
 */
export function refuseUnsigned({ url = '', headers }: IncomingMessage): Fault | undefined {
  const signed = new URL(url, 'http://host').searchParams.get('X-Amz-SignedHeaders')?.split(';')
  const unsigned = Object.keys(headers).filter(name => name.startsWith('x-amz-') && !signed?.includes(name))
  if (!signed || unsigned.length === 0) return undefined
  const message = 'There were headers present in the request which were not signed'
  return { answer: { status: 403, body: `<Error><Code>AccessDenied</Code><Message>${message}</Message></Error>` } }
}
