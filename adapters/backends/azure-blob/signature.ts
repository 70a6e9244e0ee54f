/** Signatures of requests and of links, which the key of an account makes. */
import { createHmac } from 'node:crypto'
import type { HttpHeaders } from '../../bases/stream-http.ts'
import type { LinkHeaders } from '../../contract.ts'

/** The version of the REST API: https://learn.microsoft.com/rest/api/storageservices/versioning-for-the-azure-storage-services */
export const apiVersion = '2023-11-03'

interface Account {
  account: string
  key: Buffer
}

/** The signed headers without the prefix `x-ms-`, in order. */
const signedHeaders = [
  'content-encoding',
  'content-language',
  'content-length',
  'content-md5',
  'content-type',
  'date',
  'if-modified-since',
  'if-match',
  'if-none-match',
  'if-unmodified-since',
  'range',
]

/**
 * Returns the header `authorization` of a request: https://learn.microsoft.com/rest/api/storageservices/authorize-with-shared-key
 * @param query parameters before encoding
 */
export function sharedKey(
  { account, key }: Account,
  { method, path, query, headers }: { method: string; path: string; query: HttpHeaders; headers: HttpHeaders },
): string {
  const values = signedHeaders.map(name => (name === 'content-length' && headers[name] === '0' ? '' : headers[name]))
  const own = Object.keys(headers).filter(name => name.startsWith('x-ms-'))
  const parameters = Object.keys(query)
    .toSorted()
    .map(name => `${name.toLowerCase()}:${bytesOf(query[name] ?? '')}`)
  const text = [
    method,
    ...values,
    ...own.toSorted().map(name => `${name}:${headers[name]?.trim()}`),
    [`/${account}${path}`, ...parameters].join('\n'),
  ].join('\n')
  // Node's headers are in Latin-1.
  return `SharedKey ${account}:${createHmac('sha256', key).update(text, 'latin1').digest('base64')}`
}

/** Returns the bytes of a text in UTF-8 as characters of Latin-1. */
function bytesOf(text: string): string {
  return Buffer.from(text).toString('latin1')
}

export interface BlobLink {
  container: string
  /** The name of the blob. */
  key: string
  /** `r` to read, `cw` to create and replace. */
  permissions: 'r' | 'cw'
  expiresAt: Date
  /** True to refuse the link over plain HTTP. */
  isSecure: boolean
  headers?: LinkHeaders | undefined
}

/** Returns the query of a link: https://learn.microsoft.com/rest/api/storageservices/create-service-sas */
export function serviceSas({ account, key: secret }: Account, link: BlobLink): HttpHeaders {
  const { container, key, permissions, expiresAt, isSecure, headers } = link
  // Without fractions, rounded up.
  const expiry = `${new Date(Math.ceil(expiresAt.getTime() / 1000) * 1000).toISOString().slice(0, 19)}Z`
  const protocol = isSecure ? 'https' : ''
  const { contentType = '', contentDisposition = '' } = headers ?? {}
  const text = [
    permissions,
    // The start.
    '',
    expiry,
    `/blob/${account}/${container}/${key}`,
    // A stored policy and a range of addresses.
    '',
    '',
    protocol,
    apiVersion,
    'b',
    // A snapshot, an encryption scope and Cache-Control.
    '',
    '',
    '',
    contentDisposition,
    // Content-Encoding and Content-Language.
    '',
    '',
    contentType,
  ].join('\n')
  return {
    sv: apiVersion,
    ...(protocol && { spr: protocol }),
    se: expiry,
    sr: 'b',
    sp: permissions,
    ...(contentDisposition && { rscd: contentDisposition }),
    ...(contentType && { rsct: contentType }),
    sig: createHmac('sha256', secret).update(text).digest('base64'),
  }
}
