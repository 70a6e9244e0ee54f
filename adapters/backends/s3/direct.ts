/**
 * Sends small requests with the signer and the connections of the SDK, but without the rest of it, which takes most of the
 * processor time of a small request. A request is sent once. If it fails, the SDK takes over: it repeats requests,
 * adopts the clock of the server, and explains errors.
 */
import type { S3 } from '@aws-sdk/client-s3'
import { encodeKey, type Head } from './entry.ts'

/** Bytes. A larger body gains nothing. */
export const maxDirectBody = 1024 * 1024
/** Bytes of a response. */
const maxResponse = 64 * 1024
/** Failures, one after the other, after which all requests go to the SDK for a while. */
const maxFailures = 3
/** Milliseconds. */
const pause = 60_000

type HttpHeaders = Readonly<Record<string, string>>

interface DirectRequest {
  method: 'HEAD' | 'PUT' | 'DELETE'
  key: string
  /** By name, in lowercase. */
  headers: HttpHeaders
  body?: Uint8Array | undefined
  signal?: AbortSignal | undefined
}

interface DirectResponse {
  status: number
  headers: HttpHeaders
  text: string
}

/** `unsent` and `unknown` are left to the SDK. The back end may have carried out an `unknown` request. */
type Result<T> = { value: T } | 'unsent' | 'unknown'

export class DirectRequests {
  readonly #s3: S3
  readonly #endpoint: URL
  /** The path of the bucket, ending in `/`. */
  readonly #path: string
  #signer: ReturnType<S3['config']['signer']> | undefined
  #failures = 0
  /** As of `performance.now()`. */
  #pausedUntil = 0

  /** @param endpoint the server, which has its buckets in the path */
  constructor(s3: S3, endpoint: string, bucket: string) {
    this.#s3 = s3
    this.#endpoint = new URL(endpoint)
    this.#path = `${this.#endpoint.pathname.replace(/\/$/, '')}/${bucket}/`
  }

  /** The value is undefined for a missing key. @throws the reason of the signal */
  async head(
    key: string,
    { asksForChecksums, signal }: { asksForChecksums: boolean; signal: AbortSignal | undefined },
  ): Promise<Result<Head | undefined>> {
    const headers = asksForChecksums ? { 'x-amz-checksum-mode': 'ENABLED' } : {}
    const response = await this.#send({ method: 'HEAD', key, headers, signal })
    if (typeof response === 'string') return response
    const { status } = response
    if (status === 404) return this.#succeed(undefined)
    return status === 200 ? this.#succeed(toHead(response.headers)) : this.#fail('unsent')
  }

  /** Stores a file. */
  async put(key: string, headers: HttpHeaders, body: Uint8Array): Promise<Result<Head>> {
    const response = await this.#send({ method: 'PUT', key, headers, body })
    if (typeof response === 'string') return response
    const { status } = response
    if (status === 200 && response.headers.etag !== undefined) return this.#succeed(toHead(response.headers))
    // A file exists, or the SDK may repeat the request: it has not been carried out.
    return status === 412 ? 'unsent' : this.#fail(status >= 500 ? 'unknown' : 'unsent')
  }

  /** Deletes an object, whether it exists or not. Returns false if the SDK has to. @throws the reason of the signal */
  async remove(key: string, signal: AbortSignal): Promise<boolean> {
    const response = await this.#send({ method: 'DELETE', key, headers: {}, signal })
    if (typeof response === 'string') return false
    const isRemoved = response.status === 204 || response.status === 200
    if (isRemoved) this.#failures = 0
    else this.#fail('unknown')
    return isRemoved
  }

  /** Copies an object. @param source the value of `x-amz-copy-source` */
  async copy(
    key: string,
    { source, etag }: { source: string; etag: string | undefined },
  ): Promise<Result<Pick<Head, 'ETag' | 'LastModified' | 'ServerSideEncryption'>>> {
    const condition = etag === undefined ? {} : { 'x-amz-copy-source-if-match': etag }
    const response = await this.#send({ method: 'PUT', key, headers: { 'x-amz-copy-source': source, ...condition } })
    if (typeof response === 'string') return response
    const { status, text } = response
    // The response to a copy that failed late has the status 200, too.
    const [, tag] = /<ETag>([^<]{1,300})<\/ETag>/.exec(text) ?? []
    const [, time] = /<LastModified>([^<]{1,50})<\/LastModified>/.exec(text) ?? []
    const LastModified = new Date(time ?? '')
    const isCopied = status === 200 && text.includes('<CopyObjectResult') && !text.includes('<Error')
    if (!isCopied || tag === undefined || Number.isNaN(LastModified.getTime())) {
      return status === 412 || status === 404 ? 'unsent' : this.#fail('unknown')
    }
    const ETag = tag.replaceAll('&quot;', '"').replaceAll('&#34;', '"')
    const { ServerSideEncryption } = toHead(response.headers)
    return this.#succeed({ ETag, LastModified, ServerSideEncryption })
  }

  #succeed<T>(value: T): { value: T } {
    this.#failures = 0
    return { value }
  }

  #fail<R extends 'unsent' | 'unknown'>(result: R): R {
    this.#failures += 1
    if (this.#failures >= maxFailures) this.#pausedUntil = performance.now() + pause
    return result
  }

  async #send({ method, key, headers, body, signal }: DirectRequest): Promise<DirectResponse | 'unsent' | 'unknown'> {
    signal?.throwIfAborted()
    if (performance.now() < this.#pausedUntil) return 'unsent'
    const { config } = this.#s3
    const { protocol, hostname, port, host } = this.#endpoint
    const request = {
      method,
      protocol,
      hostname,
      ...(port !== '' && { port: Number(port) }),
      path: this.#path + encodeKey(key),
      headers: { ...headers, host, ...(body && { 'content-length': String(body.length) }) },
      body,
    }
    try {
      this.#signer ??= config.signer()
      const signer = await this.#signer
      const signed = await signer.sign(request, { signingDate: new Date(Date.now() + config.systemClockOffset) })
      const { response } = await config.requestHandler.handle(signed, signal ? { abortSignal: signal } : {})
      return { status: response.statusCode, headers: response.headers, text: await textOf(response.body) }
    } catch {
      signal?.throwIfAborted()
      return this.#fail('unknown')
    }
  }
}

/** @throws if the response is too long or breaks off */
async function textOf(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of body) {
    length += chunk.length
    if (length > maxResponse) throw new Error('The response is too long.')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

const metaPrefix = 'x-amz-meta-'

function toHead(headers: HttpHeaders): Head {
  const time = new Date(headers['last-modified'] ?? '')
  const meta = Object.entries(headers).filter(([name]) => name.startsWith(metaPrefix))
  return {
    ContentLength: Number(headers['content-length'] ?? 0),
    LastModified: Number.isNaN(time.getTime()) ? undefined : time,
    ETag: headers.etag,
    ContentType: headers['content-type'],
    ContentEncoding: headers['content-encoding'],
    ContentDisposition: headers['content-disposition'],
    ContentLanguage: headers['content-language'],
    CacheControl: headers['cache-control'],
    Metadata: Object.fromEntries(meta.map(([name, value]) => [name.slice(metaPrefix.length), value])),
    ServerSideEncryption: headers['x-amz-server-side-encryption'],
    ChecksumType: headers['x-amz-checksum-type'],
    ChecksumSHA1: headers['x-amz-checksum-sha1'],
    ChecksumSHA256: headers['x-amz-checksum-sha256'],
    ChecksumCRC32C: headers['x-amz-checksum-crc32c'],
  }
}
