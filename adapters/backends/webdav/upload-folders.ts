/**
 * Uploads in chunks at Nextcloud and ownCloud. A folder that is not among the files of the user gets the chunks, and a MOVE of its
 * entry `.file` joins them to a file: docs.nextcloud.com, developer manual, "Chunked file upload". Version 2 of it needs the
 * header `Destination` in each request. Version 1, which ownCloud 10 has and to which Nextcloud falls back, ignores that.
 */

import { createHash, type Hash, randomUUID } from 'node:crypto'
import { hasCode, uploadNotFound } from '../../bases/errors.ts'
import type { Facts } from '../../bases/plain/files.ts'
import { delayBefore, pause } from '../../bases/retry.ts'
import { parseJson, parseState } from '../../bases/upload-state.ts'
import { type Call, StorageError, type StoragePath, type Unfinished } from '../../contract.ts'
import type { DavClient } from './client.ts'
import type { WebdavSettings } from './config.ts'
import { statusOf } from './errors.ts'

const mib = 1024 * 1024
/** Bytes of every chunk but the last, at least. Nextcloud can keep chunks as parts of S3, which has this limit. */
export const minChunk = 5 * mib
/** The maximum number of chunks of one file. */
export const maxChunks = 10_000

const failed = 'The server could not join the parts of the file: try again later, or see its log.'

/** Milliseconds to free an upload after a failure. */
const cleanTime = 4_000
/** Statuses of proxies (524 is Cloudflare's) that have stopped waiting for the server. */
const proxyTimeouts: readonly number[] = [408, 502, 504, 524]
/** Milliseconds that a server may take to join even few chunks once a proxy has stopped waiting. */
const leastJoinTime = 10_000
/** The number of bytes that a server joins in a millisecond, at least. */
const joinSpeed = 20_000
/** Milliseconds between two looks at an upload. */
const lookInterval = { first: 100, longest: 5_000 }

export interface Assembly extends Call {
  /** The number of bytes of all chunks. */
  size: number
  overwrite: boolean
  headers: Record<string, string>
}

interface UploadSettings extends WebdavSettings {
  /** The encoded path of the folder that has the uploads of the user, with a `/` at its end. */
  home: string
  /** Returns the encoded path of a file. @throws INVALID_PATH */
  addressOf(path: StoragePath): string
  find(path: StoragePath, call: Call): Promise<Facts | null>
}

export class UploadFolders {
  readonly #client: DavClient
  readonly #settings: UploadSettings

  constructor(client: DavClient, settings: UploadSettings) {
    this.#client = client
    this.#settings = settings
  }

  async begin(id: string, { signal }: Call): Promise<void> {
    await this.#client.run('MKCOL', this.#at(id), { signal, headers: this.#destination(id) })
  }

  /**
   * Stores a chunk, or replaces the one with this number.
   * @param body `size` bytes
   * @param options.total bytes of the file, where they are known, for the quota
   */
  async put(
    id: string,
    number: number,
    body: Buffer | AsyncIterable<Buffer>,
    { signal, size, total }: Call & { size: number; total: number | undefined },
  ): Promise<void> {
    const headers = {
      ...this.#destination(id),
      'content-length': String(size),
      ...(total !== undefined && { 'oc-total-length': String(total) }),
    }
    await putHashed(this.#client, this.#at(id, String(number).padStart(5, '0')), { signal, headers, body })
  }

  /** Joins all chunks to a file, in one step, and frees them. */
  async assemble(id: string, path: StoragePath, { signal, size, overwrite, headers }: Assembly): Promise<void> {
    const { origin, addressOf, find } = this.#settings
    const own = {
      destination: `${origin.origin}${addressOf(path)}`,
      overwrite: overwrite ? 'T' : 'F',
      'oc-total-length': String(size),
    }
    const before = await find(path, { signal })
    try {
      await this.#client.run('MOVE', this.#at(id, '.file'), { signal, headers: { ...headers, ...own } })
    } catch (error) {
      if (hasNoAnswer(error) && (await this.#ends(id, { signal, size }))) {
        const now = await find(path, { signal })
        if (now?.size === size && now.etag !== before?.etag) return
      }
      throw isFault(error) ? new StorageError('UNAVAILABLE', failed, { cause: error }) : error
    }
  }

  /** Frees an upload. Resolves for one that is missing. */
  async remove(id: string, { signal }: Call): Promise<void> {
    await this.#client.run('DELETE', `${this.#at(id)}/`, { signal }).catch(error => {
      if (statusOf(error) !== 404) throw error
    })
  }

  /** Frees an upload after a failure. Where that fails, the host does it later. Never rejects. */
  async discard(id: string, unfinished?: Unfinished): Promise<void> {
    await this.remove(id, { signal: AbortSignal.timeout(cleanTime) })
      .then(() => unfinished?.ended())
      .catch(() => {})
  }

  /**
   * Waits until the server has removed the folder: its last step, whether it has joined the chunks or refused the file. Returns
   * false where the folder stays. A second MOVE would join the chunks again, beside the first one.
   */
  async #ends(id: string, { signal, size }: Call & { size: number }): Promise<boolean> {
    const end = Date.now() + leastJoinTime + size / joinSpeed
    for (let look = 0; ; look += 1) {
      const wait = delayBefore(look, lookInterval)
      if (await this.#isGone(id, { signal })) return true
      if (Date.now() + wait > end) return false
      await pause(wait, signal)
    }
  }

  /** Returns false also where the server does not respond. */
  async #isGone(id: string, { signal }: Call): Promise<boolean> {
    try {
      const response = await this.#client.send('PROPFIND', this.#at(id), { signal, headers: { depth: '0' } })
      response.discard()
      return false
    } catch (error) {
      if (statusOf(error) !== 404 && !hasCode(error, 'UNAVAILABLE')) throw error
      return statusOf(error) === 404
    }
  }

  #at(id: string, name?: string): string {
    return `${this.#settings.home}${id}${name === undefined ? '' : `/${name}`}`
  }

  /**
   * Version 2 writes straight into an existing file, and shows a wrong size of it meanwhile, if this is its address. So this is that
   * of no file, in a folder that exists. The MOVE has the real one.
   */
  #destination(id: string): { destination: string } {
    const { origin, base } = this.#settings
    return { destination: `${origin.origin}${base}.${id}` }
  }
}

/** Returns true where the server may have done, or may still do, what it was asked for. */
function hasNoAnswer(error: unknown): boolean {
  const status = statusOf(error)
  return hasCode(error, 'UNAVAILABLE') && (status === undefined || proxyTimeouts.includes(status))
}

/** Returns true for a failure that other requests report as a refusal, because some servers refuse with such a status. */
function isFault(error: unknown): boolean {
  return hasCode(error, 'PERMISSION_DENIED') && (statusOf(error) ?? 0) >= 500
}

/**
 * Stores a body and compares its SHA-1 with the one that the server has computed, if it returns one: Nextcloud does for the
 * header `X-Hash` (Nextcloud's developer manual, "Basic APIs").
 * @throws UNAVAILABLE where the server has stored other bytes
 */
export async function putHashed(
  client: DavClient,
  path: string,
  { signal, headers, body }: Call & { headers: Record<string, string>; body: Buffer | AsyncIterable<Buffer> },
): Promise<void> {
  const hash = createHash('sha1')
  // Bytes in memory may be sent several times.
  const sent = Buffer.isBuffer(body) ? body : hashed(body, hash)
  if (Buffer.isBuffer(body)) hash.update(body)
  const response = await client.run('PUT', path, { signal, headers: { ...headers, 'x-hash': 'sha1' }, body: sent })
  const stored = response.headers.get('x-hash-sha1')
  if (stored === null || stored.toLowerCase() === hash.digest('hex')) return
  throw new StorageError('UNAVAILABLE', 'The server stored other bytes than were sent: send them again.')
}

/** Yields the same bytes, and adds them to a hash. */
export async function* hashed(body: AsyncIterable<Buffer>, hash: Hash): AsyncGenerator<Buffer, void, undefined> {
  for await (const bytes of body) {
    hash.update(bytes)
    yield bytes
  }
}

const idPattern = /^stowage-[0-9a-f-]{36}$/

export interface UploadState {
  /** The name of the upload's folder. */
  id: string
  path: StoragePath
  /** The number of chunks that the server has confirmed, and that of their bytes. */
  chunks: number
  offset: number
  /** Bytes of the file, where they are known. */
  size?: number | undefined
  /** The modification time of the file, in milliseconds. */
  time?: number | undefined
}

export const newUploadId = () => `stowage-${randomUUID()}`

/** Returns the host's record of a write, with which `abort` can free it after a crash. */
export function formatRecord(id: string): string {
  return JSON.stringify({ id })
}

const isId = (id: unknown) => typeof id === 'string' && idPattern.test(id)

/** @throws NOT_FOUND */
export function parseUpload(text: string): UploadState {
  return parseState<UploadState>(
    text,
    ({ id, chunks, offset }) => isId(id) && Number.isSafeInteger(chunks) && Number.isSafeInteger(offset),
  )
}

/** Returns the id in a state or in a record. @throws NOT_FOUND */
export function parseId(text: string): string {
  const { id } = parseJson(text)
  if (typeof id === 'string' && isId(id)) return id
  throw uploadNotFound()
}
