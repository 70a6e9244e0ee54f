import type { Attributes, OpenMode, SFTPWrapper } from 'ssh2'
import type { Facts, PlainFiles } from '../../bases/plain/files.ts'
import { type Call, orAborted, type Pool, StorageError, type StoragePath, segmentsOf } from '../../contract.ts'
import { type Connection, toStorageError } from './client.ts'
import type { SftpSettings } from './config.ts'
import {
  closed,
  confirmed,
  pagesOf,
  promised,
  quotaOf,
  receive,
  send,
  setTime,
  statOf,
  withHandle,
} from './transfer.ts'

/** The maximum number of calls on one connection at once. Each transfer counts as one. */
export const maxUsers = 32
/** Bytes of a name: more than any common file system takes. Servers do not say that a name is too long. */
const maxNameBytes = 255
/** The maximum number of entries of a folder, which are kept in memory. */
const maxEntries = 1_000_000
/** Bytes. A server with less free space counts as full. */
const leastSpace = 1024 * 1024
/** Milliseconds to ask for the free space. */
const spaceTime = 5_000
/** The bits of the kind in the mode of a file (inode(7)). */
const [kindMask, folderKind, fileKind] = [0o170000, 0o040000, 0o100000]

/** The extensions of SFTP version 3 that the server has. */
export interface Extensions {
  posixRename: boolean
  fsync: boolean
  statvfs: boolean
  copyData: boolean
}

/** @param base the folder of the provider: an absolute path without a `/` at its end */
export function sftpFiles(
  settings: SftpSettings,
  base: string,
  extensions: Extensions,
  pool: Pool<Connection>,
): PlainFiles {
  const spell = (path: StoragePath) => (path === '' ? base || '/' : `${base}/${path}`)

  /** @throws INVALID_PATH */
  const at = (path: StoragePath) => {
    if (segmentsOf(path).every(name => Buffer.byteLength(name) <= maxNameBytes)) return spell(path)
    const message = `A name can have at most ${maxNameBytes} bytes here: choose a shorter one.`
    throw new StorageError('INVALID_PATH', message)
  }

  const use = <T>(call: Call, work: (sftp: SFTPWrapper) => Promise<T>) => pool.use(call, ({ sftp }) => work(sftp))

  /** Returns false for a name that is not UTF-8, which cannot be sent back. The library decodes it with U+FFFD. */
  const isSpelled = async (sftp: SFTPWrapper, folder: StoragePath, name: string) => {
    if (!name.includes('\ufffd')) return true
    return await promised<Attributes>(done => sftp.lstat(`${spell(folder)}/${name}`, done)).then(
      () => true,
      () => false,
    )
  }

  /** Sends a request without a result. */
  const ask = (call: Call, send: (sftp: SFTPWrapper, done: (error?: Error | null) => void) => unknown) =>
    use(call, sftp => confirmed(done => send(sftp, done)))

  const quota = (call: Call) => use(call, sftp => quotaOf(sftp, spell('' as StoragePath)))

  /** Servers say only that a write failed, also when the disk is full. */
  const explained = async (error: unknown) => {
    if (!(error instanceof StorageError) || error.code !== 'PERMISSION_DENIED' || !extensions.statvfs) return error
    const space = await quota({ signal: AbortSignal.timeout(spaceTime) }).catch(() => null)
    const isFull = space !== null && space.total !== null && space.total - (space.used ?? 0) < leastSpace
    return isFull ? new StorageError('QUOTA_EXCEEDED', 'The server is full: free some space.', { cause: error }) : error
  }

  /** Writes a body into a file that `open` opens. Makes the file durable. */
  const write = async (
    path: StoragePath,
    options: Call & { flags: OpenMode; fill(sftp: SFTPWrapper, handle: Buffer): Promise<void> },
  ) => {
    const { signal, flags } = options
    try {
      // An abort ends the body with an error. Wait for that, so that nothing is created after the caller has cleaned up.
      const lease = await pool.take({ signal })
      const { sftp } = lease.connection
      await created(sftp, path, flags, handle => options.fill(sftp, handle)).finally(() => lease.release())
    } catch (error) {
      throw signal.aborted ? signal.reason : await explained(toStorageError(error, settings))
    }
  }

  const created = (sftp: SFTPWrapper, path: StoragePath, flags: OpenMode, fill: (handle: Buffer) => Promise<void>) =>
    withHandle(
      sftp,
      done => sftp.open(at(path), flags, done),
      async handle => {
        await fill(handle)
        if (extensions.fsync) await confirmed(done => sftp.ext_openssh_fsync(handle, done))
      },
    )

  const copy = (from: StoragePath, to: StoragePath, call: Call) =>
    use(call, sftp =>
      withHandle(
        sftp,
        done => sftp.open(at(from), 'r', done),
        async source => {
          const { mtime } = await statOf(sftp, source)
          await created(sftp, to, 'wx', async target => {
            await confirmed(done => sftp.ext_copy_data(source, 0, 0, target, 0, done))
            await setTime(sftp, target, mtime)
          })
        },
      ),
    ).catch(async error => {
      throw await explained(error)
    })

  const transfers = settings.connections * maxUsers
  return {
    traits: {
      keepsModifiedAt: true,
      // A server may run on Windows, where "\" separates folders.
      forbiddenInNames: '\\',
      maxReads: transfers / 2,
      maxWrites: transfers / 4,
    },
    // The plain rename of servers with this extension never replaces. That of others may.
    hasExclusiveRename: extensions.posixRename,
    idOf: path => `${settings.storeId}${spell(path)}`,

    find: (path, call) =>
      use(call, async sftp => toFacts(await promised<Attributes>(done => sftp.lstat(at(path), done)))).catch(error => {
        if (error.code === 'NOT_FOUND' || error.code === 'PERMISSION_DENIED') return null
        throw error
      }),

    setModifiedAt: (path, modifiedAt, call) =>
      use(call, async sftp => {
        const seconds = Math.floor(modifiedAt.getTime() / 1000)
        await confirmed(done => sftp.setstat(at(path), { atime: seconds, mtime: seconds }, done))
      }),

    list: (path, call) =>
      use(call, sftp =>
        withHandle(
          sftp,
          done => sftp.opendir(at(path), done),
          async handle => {
            const found: (Facts & { name: string })[] = []
            for await (const page of pagesOf(sftp, handle)) {
              for (const { filename: name, attrs } of page) {
                const facts = toFacts(attrs)
                if (facts && !['.', '..'].includes(name) && (await isSpelled(sftp, path, name)))
                  found.push({ ...facts, name })
              }
              call.signal.throwIfAborted()
              if (found.length <= maxEntries) continue
              throw new StorageError('UNAVAILABLE', `The folder has more than ${maxEntries} entries.`)
            }
            return found
          },
        ),
      ),

    async *receive(path, { signal, ...range }) {
      const lease = await pool.take({ signal })
      const { sftp } = lease.connection
      try {
        const opening = promised<Buffer>(done => sftp.open(at(path), 'r', done))
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
        throw signal.aborted ? signal.reason : toStorageError(error, settings)
      } finally {
        lease.release()
      }
    },

    store: (path, body, { signal, modifiedAt }) =>
      write(path, {
        signal,
        flags: 'wx',
        async fill(sftp, handle) {
          await send(sftp, handle, body, 0)
          if (modifiedAt) await setTime(sftp, handle, Math.floor(modifiedAt.getTime() / 1000))
        },
      }),

    append: (path, body, { signal, offset, modifiedAt }) =>
      write(path, {
        signal,
        flags: offset === 0 ? 'w' : 'r+',
        async fill(sftp, handle) {
          const { size } = await statOf(sftp, handle)
          if (size > offset) await confirmed(done => sftp.fsetstat(handle, { size: offset }, done))
          await send(sftp, handle, body, offset)
          if (modifiedAt) await setTime(sftp, handle, Math.floor(modifiedAt.getTime() / 1000))
        },
      }),

    rename: (from, to, { overwrite, signal }) =>
      ask({ signal }, (sftp, done) =>
        overwrite && extensions.posixRename
          ? sftp.ext_openssh_rename(at(from), at(to), done)
          : sftp.rename(at(from), at(to), done),
      ),

    makeFolder: (path, call) => ask(call, (sftp, done) => sftp.mkdir(at(path), done)),
    removeFile: (path, call) => ask(call, (sftp, done) => sftp.unlink(at(path), done)),
    removeFolder: (path, call) => ask(call, (sftp, done) => sftp.rmdir(at(path), done)),
    ...(extensions.copyData && { copy }),
    ...(extensions.statvfs && { quota }),
    close: () => pool.close(),
  }
}

/** Returns null for links, devices and others. */
function toFacts({ mode, size, mtime }: Attributes): Facts | null {
  const modifiedAt = typeof mtime === 'number' ? new Date(mtime * 1000) : null
  const kind = mode & kindMask
  if (kind === folderKind) return { kind: 'directory', size: null, modifiedAt }
  return kind === fileKind ? { kind: 'file', size, modifiedAt } : null
}
