import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import type { ByteRange, Call, Entry, StorageErrorCode, StoragePath, StorageProvider } from '../contract.ts'
import type { Harness } from './harness.ts'

export interface Case {
  name: string
  /** Returns what the adapter or the harness lacks for this case; undefined where it lacks nothing. */
  needs?(provider: StorageProvider, harness: Harness): string | undefined
  /** Rejects if the case fails, or with `Lacking` where only the run shows that something is missing. */
  run(provider: StorageProvider, harness: Harness): Promise<void>
}

/** The adapter lacks an optional capability that the case needs; the message names it. */
export class Lacking extends Error {}

/** Makes a path without validating it, as tests pass valid ones. */
export function at(path: string): StoragePath {
  return path as StoragePath
}

export function call(): Call {
  return { signal: new AbortController().signal }
}

/** Returns bytes that depend on their position, so that a test detects shifted or repeated parts. */
export function pattern(size: number, seed = 0): Buffer {
  const bytes = Buffer.allocUnsafe(size)
  for (let i = 0; i < size; i += 1) bytes[i] = (i * 31 + (i >>> 8) * 17 + (i >>> 16) * 7 + seed) & 0xff
  return bytes
}

/** Returns a body in chunks of `chunkSize` bytes. */
export function bodyOf(bytes: Buffer | string, chunkSize = 64 * 1024): Readable {
  const content = Buffer.from(bytes)
  function* pieces() {
    for (let start = 0; start < content.length; start += chunkSize) yield content.subarray(start, start + chunkSize)
  }
  return Readable.from(pieces(), { objectMode: false })
}

/** Returns a body that sends its bytes and then neither ends nor fails. */
export function stalledBody(bytes: Buffer): Readable {
  const rest = [bytes]
  return new Readable({
    read() {
      const chunk = rest.pop()
      if (chunk) this.push(chunk)
    },
  })
}

export function put(
  provider: StorageProvider,
  path: string,
  bytes: Buffer | string,
  overwrite = false,
): Promise<Entry> {
  return provider.write(at(path), bodyOf(bytes), { ...call(), overwrite })
}

export function makeFolder(provider: StorageProvider, path: string, exclusive = false): Promise<void> {
  return provider.mkdir(at(path), { ...call(), exclusive })
}

export async function get(provider: StorageProvider, path: string, range?: ByteRange): Promise<Buffer> {
  const { body } = await provider.read(at(path), range ? { ...call(), range } : call())
  return await buffer(body)
}

/** Returns every entry, page by page. Rejects where the pages do not end. */
export async function listAll(provider: StorageProvider, path: string, limit = 1000, from?: string): Promise<Entry[]> {
  const entries: Entry[] = []
  let cursor: string | undefined
  for (let pages = 0; pages < 10_000; pages += 1) {
    const start = cursor === undefined ? { ...(from !== undefined && { from }) } : { cursor }
    const page = await provider.list(at(path), { ...call(), limit, ...start })
    assert.ok(
      page.entries.length <= limit,
      `a page has ${page.entries.length} entries, more than its limit of ${limit}`,
    )
    entries.push(...page.entries)
    if (page.cursor === undefined) return entries
    assert.equal(typeof page.cursor, 'string', `a cursor is ${page.cursor}: leave it out on the last page`)
    assert.ok(page.cursor.length > 0 && page.cursor.length <= 1024, `a cursor has ${page.cursor.length} characters`)
    assert.notEqual(page.cursor, cursor, 'list returned the cursor that was passed in, so the listing would not end')
    cursor = page.cursor
  }
  throw new assert.AssertionError({ message: 'the listing does not end' })
}

export async function namesIn(provider: StorageProvider, path: string): Promise<string[]> {
  return (await listAll(provider, path)).map(entry => entry.name).sort()
}

export async function rejectsWith(code: StorageErrorCode, promise: Promise<unknown>): Promise<void> {
  await assert.rejects(promise, (error: Error & { code?: unknown }) => {
    assert.equal(error.code, code, `rejected with ${String(error.code)} (${error.message}) instead of ${code}`)
    assert.equal(error.name, 'StorageError', `an error ${code} is a ${error.name}, not a StorageError`)
    assert.ok(error.message.length > 0, `an error ${code} has no message for the user`)
    return true
  })
}

/** Runs `work`, and names what it is about in its error. */
export async function about<T>(what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof Error) error.message = `${JSON.stringify(what)}: ${error.message}`
    throw error
  }
}

/** Returns the etag of a file that was just written, once the back end has one. */
export async function etagOf(provider: StorageProvider, path: string, harness: Harness): Promise<string | null> {
  await harness.settle?.()
  return (await provider.stat(at(path), call())).etag
}

/** Runs `work` on each item, 16 at a time. */
export async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<unknown>): Promise<void> {
  const queue = items.values()
  const worker = async () => {
    // All workers share one iterator, so each item is taken once.
    for (const item of queue) await work(item)
  }
  await Promise.all(Array.from({ length: 16 }, worker))
}

export async function isMissing(provider: StorageProvider, path: string): Promise<void> {
  await rejectsWith('NOT_FOUND', provider.stat(at(path), call()))
}

export async function has(provider: StorageProvider, path: string, bytes: Buffer | string): Promise<void> {
  assertSameBytes(await get(provider, path), Buffer.from(bytes), path)
}

/** Compares buffers. `assert.deepEqual` would take minutes to report where large buffers differ. */
export function assertSameBytes(actual: Buffer, expected: Buffer, what: string): void {
  assert.equal(actual.length, expected.length, `${what}: length`)
  assert.ok(actual.equals(expected), `${what}: the bytes differ (${sha256(actual)} instead of ${sha256(expected)})`)
}

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex')
}

/** Compares the entry that a write returned with that of `stat`. A write need not return the time. */
export function assertWritten(written: Entry, seen: Entry): void {
  const modifiedAt = written.modifiedAt && seen.modifiedAt
  assert.deepEqual(written, { ...seen, modifiedAt }, 'stat and write return different entries')
}
