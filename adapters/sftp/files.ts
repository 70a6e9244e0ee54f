import type { Readable } from 'node:stream'
import type { Attributes, FileEntry, SFTPWrapper } from 'ssh2'
import { type Call, orAborted, type Pool, type Quota, StorageError, type StoragePath, segmentsOf } from '../contract.ts'
import type { Facts, PlainFiles } from '../plain/files.ts'
import type { SftpSettings } from './config.ts'
import type { Connection } from './connect.ts'
import { toStorageError } from './errors.ts'
import { receive, send } from './transfer.ts'

/** The maximum number of calls on one connection at once. Each transfer counts as one. */
export const maxUsers = 32
/** Bytes of a name: more than any common file system takes. Servers do not say that a name is too long. */
const maxNameBytes = 255
/** The maximum number of entries of a folder, which are kept in memory. */
const maxEntries = 1_000_000
/** Bytes. A server with less free space counts as full. */
const leastSpace = 1024 * 1024
/** The bits of the kind in the mode of a file (inode(7)). */
const [kindMask, folderKind, fileKind] = [0o170000, 0o040000, 0o100000]
const endOfFile = 1

/** What the server can do beyond version 3 of SFTP. */
export interface Extensions {
  posixRename: boolean
  fsync: boolean
  statvfs: boolean
  copyData: boolean
}

type Done<T> = (error: Error | null | undefined, result: T) => void

export class SftpFiles implements PlainFiles {
  readonly traits: PlainFiles['traits']
  readonly hasExclusiveRename: boolean
  readonly copy?: NonNullable<PlainFiles['copy']>
  readonly quota?: NonNullable<PlainFiles['quota']>
  readonly #settings: SftpSettings
  readonly #base: string
  readonly #extensions: Extensions
  readonly #pool: Pool<Connection>

  /** @param base the folder of the provider: an absolute path without a `/` at its end */
  constructor(settings: SftpSettings, base: string, extensions: Extensions, pool: Pool<Connection>) {
    this.#settings = settings
    this.#base = base
    this.#extensions = extensions
    this.#pool = pool
    const transfers = settings.connections * maxUsers
    this.traits = { keepsModifiedAt: true, maxReads: transfers / 2, maxWrites: transfers / 4 }
    // The plain rename of servers with this extension never replaces. That of others may.
    this.hasExclusiveRename = extensions.posixRename
    if (extensions.copyData) this.copy = (from, to, call) => this.#copy(from, to, call)
    if (extensions.statvfs) this.quota = call => this.#use(call, sftp => quotaOf(sftp, this.#at('' as StoragePath)))
  }

  idOf(path: StoragePath): string {
    return `${this.#settings.storeId}${path === '' ? this.#base || '/' : `${this.#base}/${path}`}`
  }

  async find(path: StoragePath, call: Call): Promise<Facts | null> {
    const attributes = await this.#ask<Attributes>(call, (sftp, done) => sftp.lstat(this.#at(path), done)).catch(
      error => {
        if (error.code === 'NOT_FOUND' || error.code === 'PERMISSION_DENIED') return null
        throw error
      },
    )
    return attributes && toFacts(attributes)
  }

  async list(path: StoragePath, call: Call): Promise<(Facts & { name: string })[]> {
    return await this.#use(call, sftp =>
      withHandle(
        sftp,
        done => sftp.opendir(this.#at(path), done),
        async handle => {
          const found: (Facts & { name: string })[] = []
          for (;;) {
            const page = await readPage(sftp, handle)
            if (!page) return found
            for (const { filename, attrs } of page) {
              const facts = toFacts(attrs)
              // A name that is not UTF-8 cannot be sent back.
              if (facts && !['.', '..'].includes(filename) && !filename.includes('\ufffd'))
                found.push({ ...facts, name: filename })
            }
            call.signal.throwIfAborted()
            if (found.length > maxEntries)
              throw new StorageError('UNAVAILABLE', `The folder has more than ${maxEntries} entries.`)
          }
        },
      ),
    )
  }

  async *receive(
    path: StoragePath,
    { signal, ...range }: Call & { start: number; end: number },
  ): AsyncGenerator<Buffer, void> {
    const lease = await this.#pool.take({ signal })
    const { sftp } = lease.connection
    try {
      const opening = promised<Buffer>(done => sftp.open(this.#at(path), 'r', done))
      const handle = await orAborted(opening, signal).catch(error => {
        opening.then(late => closed(sftp, late)).catch(() => {})
        throw error
      })
      const pieces = receive(sftp, handle, range)
      try {
        for (;;) {
          const { done, value } = await orAborted(pieces.next(), signal)
          if (done) return
          yield value
        }
      } finally {
        // Requests under way end before the handle is closed.
        void pieces
          .return()
          .then(() => closed(sftp, handle))
          .catch(() => {})
      }
    } catch (error) {
      throw signal.aborted ? signal.reason : toStorageError(error, this.#settings)
    } finally {
      lease.release()
    }
  }

  async store(path: StoragePath, body: Readable, options: Call & { modifiedAt?: Date }): Promise<void> {
    const { signal, modifiedAt } = options
    const onAbort = () => body.destroy(signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
    // Wait for the end even after an abort, so that nothing is created after the caller has cleaned up.
    const lease = await this.#pool.take({ signal })
    try {
      const { sftp } = lease.connection
      await this.#created(sftp, path, async handle => {
        await send(sftp, handle, body)
        if (modifiedAt) await setTime(sftp, handle, Math.floor(modifiedAt.getTime() / 1000))
      })
    } catch (error) {
      throw signal.aborted ? signal.reason : await this.#explained(toStorageError(error, this.#settings))
    } finally {
      lease.release()
      signal.removeEventListener('abort', onAbort)
    }
  }

  async rename(
    from: StoragePath,
    to: StoragePath,
    { overwrite, ...call }: Call & { overwrite: boolean },
  ): Promise<void> {
    const [source, target] = [this.#at(from), this.#at(to)]
    const isPosix = overwrite && this.#extensions.posixRename
    await this.#ask<void>(call, (sftp, done) =>
      isPosix
        ? sftp.ext_openssh_rename(source, target, done as () => void)
        : sftp.rename(source, target, done as () => void),
    )
  }

  async makeFolder(path: StoragePath, call: Call): Promise<void> {
    await this.#ask<void>(call, (sftp, done) => sftp.mkdir(this.#at(path), done as () => void))
  }

  async removeFile(path: StoragePath, call: Call): Promise<void> {
    await this.#ask<void>(call, (sftp, done) => sftp.unlink(this.#at(path), done as () => void))
  }

  async removeFolder(path: StoragePath, call: Call): Promise<void> {
    await this.#ask<void>(call, (sftp, done) => sftp.rmdir(this.#at(path), done as () => void))
  }

  close(): void {
    this.#pool.close()
  }

  async #copy(from: StoragePath, to: StoragePath, call: Call): Promise<void> {
    await this.#use(call, sftp =>
      withHandle(
        sftp,
        done => sftp.open(this.#at(from), 'r', done),
        async source => {
          const { mtime } = await promised<Attributes>(done => sftp.fstat(source, done))
          await this.#created(sftp, to, async target => {
            await promised<void>(done => sftp.ext_copy_data(source, 0, 0, target, 0, done as () => void))
            await setTime(sftp, target, mtime)
          })
        },
      ),
    ).catch(async error => {
      throw await this.#explained(error)
    })
  }

  /** Creates a file and makes it durable. */
  async #created(sftp: SFTPWrapper, path: StoragePath, fill: (handle: Buffer) => Promise<void>): Promise<void> {
    await withHandle(
      sftp,
      done => sftp.open(this.#at(path), 'wx', done),
      async handle => {
        await fill(handle)
        if (this.#extensions.fsync) await promised<unknown>(done => sftp.ext_openssh_fsync(handle, done))
      },
    )
  }

  /** Servers say only that a write failed, also when the disk is full. */
  async #explained(error: unknown): Promise<unknown> {
    if (!(error instanceof StorageError) || error.code !== 'PERMISSION_DENIED' || !this.quota) return error
    const { used, total } = await this.quota({ signal: AbortSignal.timeout(5_000) }).catch(() => ({
      used: null,
      total: null,
    }))
    const isFull = used !== null && total !== null && total - used < leastSpace
    return isFull ? new StorageError('QUOTA_EXCEEDED', 'The server is full: free some space.', { cause: error }) : error
  }

  /** @throws INVALID_PATH */
  #at(path: StoragePath): string {
    if (segmentsOf(path).some(name => Buffer.byteLength(name) > maxNameBytes)) {
      throw new StorageError(
        'INVALID_PATH',
        `A name can have at most ${maxNameBytes} bytes here: choose a shorter one.`,
      )
    }
    return path === '' ? this.#base || '/' : `${this.#base}/${path}`
  }

  async #ask<T>(call: Call, send: (sftp: SFTPWrapper, done: Done<T>) => unknown): Promise<T> {
    return await this.#use(call, sftp => promised<T>(done => send(sftp, done)))
  }

  async #use<T>({ signal }: Call, work: (sftp: SFTPWrapper) => Promise<T>): Promise<T> {
    try {
      return await this.#pool.use({ signal }, ({ sftp }) => work(sftp))
    } catch (error) {
      throw signal.aborted ? signal.reason : toStorageError(error, this.#settings)
    }
  }
}

export function promised<T>(send: (done: Done<T>) => unknown): Promise<T> {
  return new Promise((resolve, reject) => {
    send((error, result) => (error ? reject(error) : resolve(result)))
  })
}

/** Opens a file or a folder, and closes it after `work`. An error of closing counts, as it can be that of the last write. */
async function withHandle<T>(
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

function closed(sftp: SFTPWrapper, handle: Buffer): Promise<void> {
  return promised<void>(done => sftp.close(handle, done as () => void))
}

/** Returns null after the last page. */
async function readPage(sftp: SFTPWrapper, handle: Buffer): Promise<FileEntry[] | null> {
  return await promised<FileEntry[]>(done => sftp.readdir(handle, done)).catch(error => {
    if (error.code === endOfFile) return null
    throw error
  })
}

/** @param seconds since 1970 */
async function setTime(sftp: SFTPWrapper, handle: Buffer, seconds: number): Promise<void> {
  await promised<void>(done => sftp.fsetstat(handle, { atime: seconds, mtime: seconds }, done as () => void))
}

async function quotaOf(sftp: SFTPWrapper, at: string): Promise<Quota> {
  const found = await promised<{ f_frsize: number; f_blocks: number; f_bfree: number }>(done =>
    sftp.ext_openssh_statvfs(at, done),
  )
  const { f_frsize: unit, f_blocks: blocks, f_bfree: free } = found
  return { used: (blocks - free) * unit, total: blocks * unit }
}

/** Returns null for links, devices and others. */
function toFacts({ mode, size, mtime }: Attributes): Facts | null {
  const modifiedAt = typeof mtime === 'number' ? new Date(mtime * 1000) : null
  const kind = mode & kindMask
  if (kind === folderKind) return { kind: 'directory', size: null, modifiedAt }
  return kind === fileKind ? { kind: 'file', size, modifiedAt } : null
}
