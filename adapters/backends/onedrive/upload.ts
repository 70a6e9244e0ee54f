import { type HttpRequest, type HttpResponse, RequestFailure } from '../../bases/cloud/client.ts'
import { isTransient, property } from '../../bases/cloud/errors.ts'
import { isSameName } from '../../bases/cloud/names.ts'
import type { Commit } from '../../bases/cloud/provider.ts'
import { alreadyExists } from '../../bases/errors.ts'
import { pause } from '../../bases/retry.ts'
import { nameOf, StorageError } from '../../contract.ts'
import { badName, type DriveItem, isFolder } from './entry.ts'
import { isRefused, isTaken } from './errors.ts'
import type { DriveItems } from './items.ts'

/** Bytes of one request: a multiple of 320 KiB, as sessions need. */
export const chunkSize = 32 * 320 * 1024

/** The maximum size of a file: 250 GB. */
export const maxFileSize = 250 * 1000 ** 3

const behavior = '@microsoft.graph.conflictBehavior'
const behaviorOf = ({ overwrite }: Commit) => (overwrite ? 'replace' : 'fail')

const lost = () => new StorageError('UNAVAILABLE', 'OneDrive has ended the upload: start it again.')

/** The facts that a write knows about its bytes. */
export interface Written {
  size: number
  /** The quickXorHash. */
  hash: string
}

/**
 * Sends the request that makes a file visible. If its response is lost, a file with the same bytes at the path is its
 * result; otherwise `send` is called again.
 * @throws ALREADY_EXISTS; NOT_A_FILE over a folder
 */
export async function commitOnce(
  items: DriveItems,
  commit: Commit,
  written: Written,
  send: (attempt: number) => Promise<DriveItem>,
): Promise<DriveItem> {
  const { path, overwrite, signal } = commit
  for (let attempt = 0; ; attempt += 1) {
    try {
      signal.throwIfAborted()
      const stored = await send(attempt)
      const isNamed = isSameName(stored.name, nameOf(path))
      if (!isNamed || (signal.aborted && !overwrite)) await items.discard(stored)
      if (!isNamed) throw badName()
      if (!overwrite) signal.throwIfAborted()
      return stored
    } catch (error) {
      if (!(error instanceof RequestFailure)) throw error
      const isLost = isTransient(error.failure)
      const found = isLost || attempt > 0 || isTaken(error) ? await items.look(path, signal) : undefined
      if (isTaken(error) && found && isFolder(found) && overwrite) {
        throw new StorageError('NOT_A_FILE', 'There is a folder at this path.', { cause: error.failure.cause })
      }
      if ((isLost || attempt > 0) && found && isSame(found, written)) return found
      const wait = isLost ? items.http.waitFor(error.failure, attempt, true) : undefined
      if (wait === undefined) throw isTaken(error) ? alreadyExists() : error
      await pause(wait, signal)
    }
  }
}

function isSame({ size, file }: DriveItem, written: Written): boolean {
  return size === written.size && file?.hashes?.quickXorHash === written.hash
}

/** @throws UNAVAILABLE where OneDrive has other bytes than were sent */
export function verify({ size, file }: DriveItem, written: Written): void {
  const hash = file?.hashes?.quickXorHash
  // SharePoint adds properties to documents of Office and web pages, which changes their size.
  if (hash === undefined || hash === written.hash || size !== written.size) return
  throw new StorageError('UNAVAILABLE', 'OneDrive stored other bytes than were sent: write the file again.')
}

/** Uploads all bytes in one request. It cannot set the time. */
export async function uploadWhole(items: DriveItems, bytes: Uint8Array, commit: Commit): Promise<DriveItem> {
  return await items.change({
    method: 'PUT',
    url: `${items.addressOf(commit.path, 'content')}?${new URLSearchParams({ [behavior]: behaviorOf(commit) })}`,
    headers: { 'content-type': 'application/octet-stream' },
    body: bytes,
    signal: commit.signal,
  })
}

export const timesOf = (modifiedAt: Date) => ({ fileSystemInfo: { lastModifiedDateTime: modifiedAt.toISOString() } })

/** A session creates or replaces the file with its last byte. It expires after some days. */
export class UploadSession {
  readonly #items: DriveItems
  readonly #signal: AbortSignal
  /** A secret: it allows writing without credentials. */
  readonly #url: string

  private constructor(items: DriveItems, url: string, signal: AbortSignal) {
    this.#items = items
    this.#url = url
    this.#signal = signal
  }

  static async begin(items: DriveItems, commit: Commit): Promise<UploadSession> {
    const { path, modifiedAt, signal } = commit
    const item = { [behavior]: behaviorOf(commit), name: nameOf(path), ...(modifiedAt && timesOf(modifiedAt)) }
    const url = items.addressOf(path, 'createUploadSession')
    // An unused session expires by itself.
    const { data } = await items.http.request({ method: 'POST', url, json: { item }, repeatable: true, signal })
    const address = property(data, 'uploadUrl')
    if (typeof address !== 'string') throw lost()
    return new UploadSession(items, address, signal)
  }

  /** Sends a chunk that is not the last one. */
  async send(bytes: Uint8Array, offset: number, total: number): Promise<void> {
    const end = offset + bytes.length
    let start = offset
    for (let attempt = 0; start < end; attempt += 1) {
      try {
        await this.#put(bytes.subarray(start - offset), start, total, false)
        return
      } catch (error) {
        const wait = this.#waitAfter(error, attempt)
        if (wait === undefined) throw error
        await pause(wait, this.#signal)
        start = await this.#received(offset, end)
      }
    }
  }

  /** Sends the last chunk and returns the file. @param attempt 0 for the first attempt */
  async finish(bytes: Uint8Array, offset: number, attempt: number): Promise<DriveItem> {
    const total = offset + bytes.length
    // Without the last byte, the file does not exist, so at least that byte is sent again.
    const start = attempt === 0 ? offset : Math.min(await this.#received(offset, total), total - 1)
    const { data } = await this.#put(bytes.subarray(start - offset), start, total, true)
    if (typeof property(data, 'id') !== 'string') throw lost()
    return data as DriveItem
  }

  /** Frees the bytes of the session. Never rejects. */
  async abort(): Promise<void> {
    const signal = AbortSignal.timeout(10_000)
    // A session that remains expires.
    await this.#items.http
      .request({ method: 'DELETE', url: this.#url, isPermission: true, accept: [404], repeatable: true, signal })
      .catch(() => {})
  }

  async #put(bytes: Uint8Array, start: number, total: number, isCommit: boolean): Promise<HttpResponse> {
    const headers = { 'content-range': `bytes ${start}-${start + bytes.length - 1}/${total}` }
    return await this.#send({ method: 'PUT', headers, body: bytes, isCommit })
  }

  async #send(request: Omit<HttpRequest, 'url' | 'signal'>): Promise<HttpResponse> {
    try {
      return await this.#items.http.request({ ...request, url: this.#url, isPermission: true, signal: this.#signal })
    } catch (error) {
      throw isRefused(error, 404, 410) ? lost() : error
    }
  }

  /** Returns undefined for an error after which the session cannot continue. */
  #waitAfter(error: unknown, attempt: number): number | undefined {
    if (!(error instanceof RequestFailure)) return undefined
    // The range had arrived before.
    if (isRefused(error, 416) && attempt < 3) return 0
    return isTransient(error.failure) ? this.#items.http.waitFor(error.failure, attempt, true) : undefined
  }

  /** Asks where the next byte belongs. @throws UNAVAILABLE where it is outside this chunk, or the session has ended */
  async #received(from: number, to: number): Promise<number> {
    const { data } = await this.#send({})
    const ranges = property(data, 'nextExpectedRanges')
    const next = Array.isArray(ranges) ? Number.parseInt(String(ranges[0] ?? to), 10) : Number.NaN
    if (next >= from && next <= to) return next
    throw lost()
  }
}
