/** One bucket, with the SDK's client: connections, retries, and the errors of requests. */
import { S3, type S3ClientConfig } from '@aws-sdk/client-s3'
import type { KeyPage, ObjectLimits } from '../../bases/objects/driver.ts'
import type { Backoff } from '../../bases/retry.ts'
import type { Exclusive, Host, Network } from '../../contract.ts'
import type { S3Settings } from './config.ts'
import { DirectRequests } from './direct.ts'
import { decodeKey, type Head } from './entry.ts'
import { isSkewed, isUnexplained, statusOf, toStorageError, type Where } from './errors.ts'

/** Limits, which tests set to lower values. */
export interface Limits extends ObjectLimits {
  /** Bytes above which a file is copied in parts: the limit of CopyObject. */
  copyBytes: number
  copyPartBytes: number
  /** For attempts to abort an upload that the host has no record of. Each request also has its own retries. */
  abortBackoff: Backoff
  /** A test object (probe.ts) that is older than this many milliseconds belongs to a killed server. */
  staleProbeAge: number
}

const mib = 1024 * 1024

export const defaultLimits: Limits = {
  partBytes: 8 * mib,
  memoryBytes: 32 * mib,
  memoryTime: 60_000,
  copyBytes: 5 * 1024 * mib,
  copyPartBytes: 128 * mib,
  idleTime: 60_000,
  graceTime: 4_000,
  abortBackoff: { first: 3_000, longest: 15_000, attempts: 4 },
  staleProbeAge: 60 * 60_000,
}

/** The maximum number of connections. Downloads use separate ones, because slow readers can occupy these for long. */
const callSockets = 64
const bodySockets = 1024

/** Milliseconds without a byte in a slow call: Ceph needs minutes to join the parts of a large file. */
const slowCallTime = 10 * 60_000

/** Milliseconds until a connection is established. */
const connectTime = 10_000

/** The requests that can make a file visible: PutObject, CompleteMultipartUpload and CopyObject. */
export type Step = 'put' | 'complete' | 'copy'

/**
 * True for each step that honors `If-None-Match: *` and so never replaces a file. Ceph 16 ignores it except in
 * PutObject.
 */
export type Conditions = Readonly<Record<Step, boolean>>

export const allConditions: Conditions = { put: true, complete: true, copy: true }
export const noConditions: Conditions = { put: false, complete: false, copy: false }

type CallOptions = { abortSignal?: AbortSignal }
type Work<T> = (s3: S3, options: CallOptions) => Promise<T>

/** One bucket. Retries its requests and throws only StorageErrors and the reason of an abort. */
export class Bucket {
  readonly settings: S3Settings
  readonly limits: Limits
  readonly #calls: S3
  readonly #bodies: S3
  readonly #slow: S3
  readonly #exclusively: Exclusive
  /** Those of the server, once they are tested: see probe.ts. */
  conditions: Conditions = noConditions
  /** False once the server has refused to be asked for checksums, as Backblaze B2 does. */
  #hasChecksums = true
  /** Undefined where only the SDK knows the addresses of objects. */
  readonly direct: DirectRequests | undefined
  /** Sends presigned requests. */
  readonly fetch: Network['fetch']

  constructor(settings: S3Settings, { network, exclusively }: Pick<Host, 'network' | 'exclusively'>, limits: Limits) {
    this.settings = settings
    this.#exclusively = exclusively
    this.fetch = network.fetch
    this.limits = limits
    // Amazon checks uploads itself; older servers store the SDK's checksums as part of the file.
    const checksums = settings.isAmazon ? 'WHEN_SUPPORTED' : 'WHEN_REQUIRED'
    this.#calls = client(settings, network, callSockets, checksums, { socketTimeout: limits.idleTime })
    // An idle connection may belong to a reader that pauses, so only the start of the response has a timeout.
    this.#bodies = client(settings, network, bodySockets, 'WHEN_REQUIRED', {
      requestTimeout: limits.idleTime,
      throwOnRequestTimeout: true,
    })
    this.#slow = client(settings, network, bodySockets, checksums, { socketTimeout: slowCallTime })
    const { endpoint, forcePathStyle, isAmazon, bucket } = settings
    if (endpoint !== undefined && forcePathStyle && !isAmazon) {
      this.direct = new DirectRequests(this.#calls, endpoint, bucket)
    }
  }

  get name(): string {
    return this.settings.bucket
  }

  get where(): Where {
    return this.settings
  }

  /** @param key the key of a file, or the prefix of a folder: empty for the whole bucket, otherwise ending in `/` */
  fileId(key: string): string {
    return this.settings.storeId + key
  }

  /** Omit the signal for requests that must not be interrupted. */
  call<T>(signal: AbortSignal | undefined, work: Work<T>): Promise<T> {
    return this.#run(this.#calls, signal, work)
  }

  /** Sends a request whose response body is streamed. */
  stream<T>(signal: AbortSignal, work: Work<T>): Promise<T> {
    return this.#run(this.#bodies, signal, work)
  }

  /** Sends a part as slowly as the client sends it. It cannot be repeated, so this adopts a known clock difference first. */
  sendUnbuffered<T>(signal: AbortSignal, work: Work<T>): Promise<T> {
    this.#slow.config.systemClockOffset = this.#calls.config.systemClockOffset
    return this.#run(this.#slow, signal, work)
  }

  /** Sends a request that keeps the server busy for minutes without a byte on the connection. */
  slowCall<T>(signal: AbortSignal | undefined, work: Work<T>): Promise<T> {
    return this.#run(this.#slow, signal, work)
  }

  /** Milliseconds since 1970 by the clock of the server, within five minutes. */
  clock(): number {
    return Date.now() + this.#calls.config.systemClockOffset
  }

  /** Signs links. The other client would sign the checksum of an empty body into each link. */
  get signer(): S3 {
    this.#bodies.config.systemClockOffset = this.#calls.config.systemClockOffset
    return this.#bodies
  }

  /** The SDK's client, which throws its own errors. */
  get raw(): S3 {
    return this.#calls
  }

  /** Runs `work` while no other call for this key runs on any replica. The signal cancels only the wait. */
  exclusively<T>(Key: string, signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
    const { endpoint = 'amazon', bucket } = this.settings
    return this.#exclusively(`s3:${endpoint} ${bucket} ${Key}`, signal ? { signal } : {}, work)
  }

  /** Returns undefined for a missing key. */
  async head(Key: string, signal?: AbortSignal): Promise<Head | undefined> {
    const found = await this.direct?.head(Key, { asksForChecksums: this.#hasChecksums, signal })
    if (typeof found === 'object') return found.value
    return this.call(signal, async (s3, options) => {
      const head = async (checksums: { ChecksumMode?: 'ENABLED' }) => {
        try {
          return await s3.headObject({ Bucket: this.name, Key, ...checksums }, options)
        } catch (error) {
          if (statusOf(error) === 404) return undefined
          throw error
        }
      }
      if (!this.#hasChecksums) return await head({})
      try {
        return await head({ ChecksumMode: 'ENABLED' })
      } catch (error) {
        if (statusOf(error) !== 400) throw error
        // The response to HEAD has no body, so only a second request shows whether the header was the reason.
        const found = await head({})
        this.#hasChecksums = false
        return found
      }
    })
  }

  /** Returns keys with this prefix, or after a name in it, in the order of their bytes. */
  async list(
    Prefix: string,
    {
      limit,
      delimiter,
      startAfter,
      token,
    }: { limit: number; delimiter?: '/' | undefined; startAfter?: string | undefined; token?: string | undefined },
    signal?: AbortSignal,
  ): Promise<KeyPage<Head>> {
    const {
      Contents = [],
      CommonPrefixes = [],
      ...page
    } = await this.call(signal, (s3, options) =>
      s3.listObjectsV2(
        {
          Bucket: this.name,
          Prefix,
          MaxKeys: limit,
          EncodingType: 'url',
          ...(delimiter && { Delimiter: delimiter }),
          ...(startAfter !== undefined && { StartAfter: startAfter }),
          ...(token && { ContinuationToken: token }),
        },
        options,
      ),
    )
    const items = [
      ...Contents.map(object => ({
        key: decodeKey(object.Key ?? ''),
        facts: { ...object, ContentLength: object.Size },
      })),
      ...CommonPrefixes.map(({ Prefix: prefix }) => ({ key: decodeKey(prefix ?? ''), facts: undefined })),
    ]
    return { items, next: page.IsTruncated ? (page.NextContinuationToken ?? '') : undefined }
  }

  /** Deletes an object, whether it exists or not. */
  async remove(Key: string, signal?: AbortSignal): Promise<void> {
    if (signal && (await this.direct?.remove(Key, signal))) return
    await this.call(signal, (s3, options) => s3.deleteObject({ Bucket: this.name, Key }, options))
  }

  close(): void {
    this.#calls.destroy()
    this.#bodies.destroy()
    this.#slow.destroy()
  }

  async #run<T>(s3: S3, signal: AbortSignal | undefined, work: Work<T>): Promise<T> {
    signal?.throwIfAborted()
    const options = signal ? { abortSignal: signal } : {}
    try {
      try {
        return await work(s3, options)
      } catch (error) {
        if (signal?.aborted) throw error
        if (isUnexplained(error)) await this.#explain(s3, options)
        // The SDK has adopted the server's clock, but retries only with some servers.
        else if (!isSkewed(error)) throw error
        return await work(s3, options)
      }
    } catch (error) {
      throw signal?.aborted ? signal.reason : toStorageError(error, this.where)
    }
  }

  /** A refused HEAD has no body with a reason, but a refused listing has. @throws the error of the listing */
  async #explain(s3: S3, options: CallOptions): Promise<void> {
    const { bucket, base } = this.settings
    await s3.listObjectsV2({ Bucket: bucket, Prefix: base, MaxKeys: 1 }, options).catch(error => {
      // A listing without a reason explains nothing. The caller then repeats the HEAD.
      if (!isUnexplained(error)) throw error
    })
  }
}

/**
 * Returns true if the SDK repeated the request. The response to an earlier attempt may be lost, so an existing object
 * may be our own.
 */
export function wasRepeated(error: unknown): boolean {
  const cause = (error as Error).cause as { $metadata?: { attempts?: number } } | undefined
  return (cause?.$metadata?.attempts ?? 1) > 1
}

type HandlerOptions = Extract<S3ClientConfig['requestHandler'], { socketTimeout?: number | undefined }>

function client(
  settings: S3Settings,
  network: Network,
  maxSockets: number,
  requestChecksumCalculation: 'WHEN_SUPPORTED' | 'WHEN_REQUIRED',
  handler: HandlerOptions,
): S3 {
  const agent = { keepAlive: true, maxSockets, maxFreeSockets: 32, scheduling: 'lifo' as const }
  const s3 = new S3({
    region: settings.region,
    ...(settings.endpoint === undefined ? {} : { endpoint: settings.endpoint }),
    forcePathStyle: settings.forcePathStyle,
    credentials: settings.credentials,
    requestChecksumCalculation,
    responseChecksumValidation: 'WHEN_REQUIRED',
    // "adaptive" would delay all later calls of the provider after one refusal.
    retryMode: 'standard',
    maxAttempts: 4,
    expectContinueHeader: false,
    logger: silent,
    requestHandler: {
      connectionTimeout: connectTime,
      httpAgent: network.httpAgent(agent),
      httpsAgent: network.httpsAgent(agent),
      logger: silent,
      ...handler,
    },
  })
  if (!settings.isAmazon) omitChecksumName(s3)
  return s3
}

/** Omits the header that only names the algorithm of the checksum beside it, because Backblaze B2 refuses it. */
function omitChecksumName(s3: S3): void {
  s3.middlewareStack.add(
    next => args => {
      const { headers } = args.request as { headers: Record<string, string> }
      delete headers['x-amz-sdk-checksum-algorithm']
      return next(args)
    },
    { step: 'build', priority: 'low', name: 'omitChecksumName' },
  )
}

/** Without a logger the SDK writes to the console. */
const silent = { trace() {}, debug() {}, info() {}, warn() {}, error() {} }
