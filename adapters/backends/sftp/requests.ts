/** The requests of SFTP as promises. */
import type { Attributes, FileEntry, SFTPWrapper } from 'ssh2'
import type { Quota } from '../../contract.ts'

/** https://datatracker.ietf.org/doc/html/draft-ietf-secsh-filexfer-02#section-7 */
export const endOfFile = 1

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
