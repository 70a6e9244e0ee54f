/**
 * The requests of SFTP as promises, and reads and writes in a pipeline: many requests are under way at once, because each
 * waits for a response of the server.
 */
import type { Readable } from 'node:stream'
import type { Attributes, FileEntry, SFTPWrapper } from 'ssh2'
import type { Quota } from '../../contract.ts'

/** Bytes of one request that every server takes, and that servers take which state their limits (OpenSSH 8.5). */
const [smallPiece, largePiece] = [32 * 1024, 255 * 1024]
/** Bytes of one transfer that are under way at once. */
const window = 2 * 1024 * 1024
/** The number of requests of one transfer that are under way at once. */
const maxRequests = 64

function pieceFor(sftp: SFTPWrapper): number {
  // The library sets this when the server has stated its limits.
  const { maxOpenHandles } = sftp as { maxOpenHandles?: number }
  return maxOpenHandles === undefined ? smallPiece : largePiece
}

/** Yields the bytes `start` to `end - 1`, and ends early where the file does. */
export async function* receive(
  sftp: SFTPWrapper,
  handle: Buffer,
  { start, end }: { start: number; end: number },
): AsyncGenerator<Buffer, void> {
  const pieceBytes = pieceFor(sftp)
  const depth = Math.ceil(window / pieceBytes)
  const underWay: Promise<Buffer>[] = []
  try {
    for (let next = start; next < end || underWay.length > 0; ) {
      while (next < end && underWay.length < depth) {
        const length = Math.min(pieceBytes, end - next)
        const piece = readPiece(sftp, handle, next, length)
        // The loop below reports the error.
        piece.catch(() => {})
        underWay.push(piece)
        next += length
      }
      const bytes = await underWay.shift()
      if (!bytes || bytes.length === 0) return
      yield bytes
    }
  } finally {
    await Promise.allSettled(underWay)
  }
}

/** Returns fewer bytes only at the end of the file. */
async function readPiece(sftp: SFTPWrapper, handle: Buffer, position: number, length: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(length)
  for (let done = 0; ; ) {
    const count = await new Promise<number>((resolve, reject) => {
      sftp.read(handle, bytes, done, length - done, position + done, (error, count) => {
        const isEnd = error && 'code' in error && error.code === endOfFile
        if (error && !isEnd) reject(error)
        else resolve(isEnd ? 0 : count)
      })
    })
    done += count
    if (done === length || count === 0) return bytes.subarray(0, done)
  }
}

/** Writes a body into a file from `position` on. */
export async function send(sftp: SFTPWrapper, handle: Buffer, body: Readable, position: number): Promise<void> {
  const pieceBytes = pieceFor(sftp)
  const underWay = new Set<Promise<void>>()
  let bytesUnderWay = 0
  let failure: { error: unknown } | undefined
  const write = (chunk: Buffer, start: number, length: number, at: number) => {
    const piece = confirmed(done => sftp.write(handle, chunk, start, length, at, done))
      .catch(error => {
        failure ??= { error }
      })
      .finally(() => {
        underWay.delete(piece)
        bytesUnderWay -= length
      })
    underWay.add(piece)
    bytesUnderWay += length
  }
  let next = position
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      for (let start = 0; start < chunk.length; start += pieceBytes) {
        const length = Math.min(pieceBytes, chunk.length - start)
        write(chunk, start, length, next)
        next += length
        while (bytesUnderWay >= window || underWay.size >= maxRequests) await Promise.race(underWay)
        if (failure) throw failure.error
      }
    }
  } finally {
    await Promise.all(underWay)
  }
  if (failure) throw failure.error
}

/** https://datatracker.ietf.org/doc/html/draft-ietf-secsh-filexfer-02#section-7 */
const endOfFile = 1

/** The number of pages of a folder that are requested at once. */
const pagesAtOnce = 4

type Done<T> = (error: Error | null | undefined, result: T) => void

export function promised<T>(send: (done: Done<T>) => unknown): Promise<T> {
  return new Promise((resolve, reject) => {
    send((error, result) => (error ? reject(error) : resolve(result)))
  })
}

/** For requests without a result. */
export function confirmed(send: (done: (error?: Error | null) => void) => unknown): Promise<void> {
  return promised<void>(done => send(error => done(error, undefined)))
}

/** Opens a file or a folder, and closes it after `work`. An error of closing counts, as it can be that of the last write. */
export async function withHandle<T>(
  sftp: SFTPWrapper,
  open: (done: Done<Buffer>) => unknown,
  work: (handle: Buffer) => Promise<T>,
): Promise<T> {
  const handle = await promised<Buffer>(open)
  let result: T
  try {
    result = await work(handle)
  } catch (error) {
    await closed(sftp, handle).catch(() => {})
    throw error
  }
  await closed(sftp, handle)
  return result
}

export function closed(sftp: SFTPWrapper, handle: Buffer): Promise<void> {
  return confirmed(done => sftp.close(handle, done))
}

/** Yields the pages of an open folder. */
export async function* pagesOf(sftp: SFTPWrapper, handle: Buffer): AsyncGenerator<FileEntry[]> {
  for (;;) {
    const pages = await Promise.all(Array.from({ length: pagesAtOnce }, () => readPage(sftp, handle)))
    for (const page of pages) if (page) yield page
    if (pages.includes(null)) return
  }
}

/** Returns null after the last page. */
async function readPage(sftp: SFTPWrapper, handle: Buffer): Promise<FileEntry[] | null> {
  return await promised<FileEntry[]>(done => sftp.readdir(handle, done)).catch(error => {
    if (error.code === endOfFile) return null
    throw error
  })
}

export function statOf(sftp: SFTPWrapper, handle: Buffer): Promise<Attributes> {
  return promised<Attributes>(done => sftp.fstat(handle, done))
}

/** @param seconds since 1970 */
export async function setTime(sftp: SFTPWrapper, handle: Buffer, seconds: number): Promise<void> {
  await confirmed(done => sftp.fsetstat(handle, { atime: seconds, mtime: seconds }, done))
}

export async function quotaOf(sftp: SFTPWrapper, path: string): Promise<Quota> {
  const found = await promised<{ f_frsize: number; f_blocks: number; f_bfree: number }>(done =>
    sftp.ext_openssh_statvfs(path, done),
  )
  const { f_frsize: unit, f_blocks: blocks, f_bfree: free } = found
  return { used: (blocks - free) * unit, total: blocks * unit }
}
