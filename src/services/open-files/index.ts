/** Opens files that a client reads and writes at any position, for as long as it has them open. */
import { join } from 'node:path'
import { authorize, needs } from '../../auth/needs.ts'
import { requireViewer, type Viewer } from '../../auth/viewer.ts'
import { AppError } from '../../errors.ts'
import type { Storage } from '../../storage/index.ts'
import type { Audit } from '../audit/index.ts'
import type { ExpectedChanges } from '../catalogue/index.ts'
import { isNoEntry, nullIfNoEntry } from '../files/entry.ts'
import type { Download, FileEntry, Files, LocationInput, UploadInput } from '../files/index.ts'
import { noProvider } from '../providers/index.ts'
import { type ReadInto, randomReads } from './random-reads.ts'
import { RandomWrites } from './random-writes.ts'
import { type StagedContent, StagingFolder } from './staged-file.ts'

export type { RandomWrites } from './random-writes.ts'

/** A file that is open for reading. */
export interface FileReads {
  entry: FileEntry
  read: ReadInto
  /** @param bytes that were sent @param error what interrupted the client */
  close(bytes: number, error?: unknown): Promise<void>
}

/** A file that is open for writing. */
export interface FileWrites extends AsyncDisposable {
  writes: RandomWrites
  /**
   * Aborts when the client has gone or may no longer write the file where it is now. The reason of the second is an error that
   * `ActiveGrants.run` lists.
   */
  readonly signal: AbortSignal
  /**
   * Goes on at another path, where the viewer has moved the stored file. From now on, the rights at that path count.
   * @param etag that of the file there @throws as `authorize`
   */
  moveTo(viewer: Viewer, at: LocationInput, etag: string | null): void
}

/** A folder that is open for listing. */
export interface FolderReads {
  /** Returns the next entries; null after the last ones. */
  next(): Promise<FileEntry[] | null>
  close(): Promise<void>
}

export interface WriteMode {
  /** Whether a missing file is created. */
  creates: boolean
  /** Whether the content of an existing file goes. */
  truncates: boolean
  /** Whether the file must not exist. */
  isNew: boolean
  /** Whether it is also read. */
  reads?: boolean
}

export type OpenFiles = ReturnType<typeof createOpenFiles>

/** Bytes of a read while a file is copied to this machine. */
const copyBytes = 256 * 1024

export function createOpenFiles({
  files,
  storage,
  audit,
  expected,
  dataFolder,
  processes,
}: {
  files: Files
  storage: Storage
  audit: Audit
  expected: Pick<ExpectedChanges, 'changed'>
  dataFolder: string
  /** The processes of this server, which share its disk. */
  processes: number
}) {
  const staging = new StagingFolder(join(dataFolder, 'open-files'), processes)

  async function load(viewer: Viewer, at: LocationInput, file: StagedContent, signal: AbortSignal) {
    return files.download(viewer, at, signal, {}, async (found, running) => {
      using reads = randomReads(found, running)
      let position = 0
      try {
        for (;;) {
          const buffer = Buffer.allocUnsafe(copyBytes)
          const length = await reads.read(buffer, 0, position, copyBytes)
          if (length === 0) break
          await file.write(position, buffer.subarray(0, length))
          position += length
        }
      } catch (error) {
        found.ended(position, error)
        throw error
      }
      found.ended(position)
      const { etag } = found.entry
      return (current: string | null | undefined) => current === etag
    })
  }

  async function existingFile(viewer: Viewer, at: LocationInput, signal: AbortSignal): Promise<FileEntry | null> {
    const entry = await files.stat(viewer, at, signal).catch(nullIfNoEntry)
    if (entry?.kind === 'directory') throw new AppError('NOT_A_FILE', 'This is a folder: choose a name in it.')
    return entry
  }

  /** Requires the folder of an entry, because the change that follows would create a missing one. That change refuses what is forbidden. */
  async function requireFolder(viewer: Viewer, at: LocationInput, signal: AbortSignal): Promise<void> {
    const parent = at.path.slice(0, at.path.lastIndexOf('/'))
    if (parent === '') return
    const kind = await files.stat(viewer, { ...at, path: parent }, signal).then(
      entry => entry.kind,
      error => {
        if (!(error instanceof AppError) || error.status >= 500) throw error
        // The change says why the folder cannot be seen.
        return isNoEntry(error) ? null : 'directory'
      },
    )
    if (kind !== 'directory') throw new AppError('NOT_FOUND', `There is no folder "${parent}": create it first.`)
  }

  async function openToWrite(
    viewer: Viewer,
    at: LocationInput,
    mode: WriteMode,
    requestSignal: AbortSignal,
  ): Promise<FileWrites> {
    const grants = authorize(viewer, needs.create, at)
    if (at.providerId === noProvider) throw new AppError('NOT_FOUND', 'There is no such storage.')
    // Both lookups at once, because each small file waits for them.
    const folder = mode.creates ? requireFolder(viewer, at, requestSignal) : null
    // It only matters for a missing file.
    folder?.catch(() => {})
    const existing = await existingFile(viewer, at, requestSignal)
    if (existing && mode.isNew) throw new AppError('ALREADY_EXISTS', `"${at.path}" exists already.`)
    if (!existing && !mode.creates) throw new AppError('NOT_FOUND', `There is no file "${at.path}".`)
    if (!existing) await folder
    /** Where the file is, who writes it, and the work that ends with the right to it. */
    let present = { viewer, at, active: storage.activeGrants.register(grants, requestSignal) }
    const writes = new RandomWrites({
      owner: viewer.member.userId,
      existing: mode.truncates ? null : existing,
      isNew: mode.isNew,
      reads: mode.reads ?? false,
      upload: (input: Pick<UploadInput, 'body' | 'conflict'>) =>
        files.upload(present.viewer, { ...present.at, ...input }, present.active.signal),
      stage: () => staging.create(viewer.member.userId),
      load: file => load(present.viewer, present.at, file, present.active.signal),
    })
    return {
      writes,
      get signal() {
        return present.active.signal
      },
      moveTo(by, to, etag) {
        const active = storage.activeGrants.register(authorize(by, needs.create, to), requestSignal)
        present.active[Symbol.dispose]()
        present = { viewer: by, at: to, active }
        writes.moved(etag)
      },
      async [Symbol.asyncDispose]() {
        using _active = present.active
        await writes[Symbol.asyncDispose]()
      },
    }
  }

  return {
    /** Requires the folder of an entry that is created or arrives. @throws NOT_FOUND, and as `Files.stat` */
    requireFolder,

    /** @throws as `Files.download`; NOT_A_FILE */
    async read(viewer: Viewer | null, at: LocationInput, signal: AbortSignal): Promise<FileReads> {
      const { value, release } = await held<Download & { read: ReadInto }>(use =>
        files.download(viewer, at, signal, {}, async (found, running) => {
          using reads = randomReads(found, running)
          await use({ ...found, read: reads.read })
        }),
      )
      return {
        entry: value.entry,
        read: value.read,
        async close(bytes, error) {
          value.ended(bytes, error)
          await release()
        },
      }
    },

    /**
     * Opens a file for writing. Nothing is stored before `store` of the result.
     * @throws as `Files.upload`; NOT_FOUND for a missing file or folder; ALREADY_EXISTS; NOT_A_FILE
     */
    async write(viewer: Viewer | null, at: LocationInput, mode: WriteMode, signal: AbortSignal): Promise<FileWrites> {
      const present = requireViewer(viewer)
      return openToWrite(present, at, mode, signal).catch(error => {
        // Only a failed start is recorded here: the upload records the rest.
        const { providerId, path } = at
        audit.note(present, 'UPLOAD', { location: { providerId, path }, details: { conflict: 'REPLACE' } }, error)
        throw error
      })
    },

    /**
     * Sets the modification time of a stored file or folder. Does nothing where the back end cannot.
     * @throws as `Files.stat`, LOCKED, ON_HOLD
     */
    setTime(viewer: Viewer | null, at: LocationInput, modifiedAt: Date, signal: AbortSignal): Promise<void> {
      return audit.recorded(viewer, 'PROPERTIES_UPDATE', { location: at }, async recording => {
        const [granted] = authorize(viewer, needs.delete, at)
        const location = await storage.writeAt(granted)
        const isSet = await location.setModifiedAt(signal, modifiedAt)
        if (isSet) await expected.changed(granted)
        else await location.stat(signal)
        recording.add({ details: { modifiedAt, isSet } })
      })
    },

    /** @throws as `Files.withChildren`; NOT_A_FOLDER */
    async list(viewer: Viewer | null, at: LocationInput, signal: AbortSignal): Promise<FolderReads> {
      const { value, release } = await held<AsyncIterator<FileEntry[]>>(use =>
        files.withChildren(viewer, at, signal, (entry, pages) => {
          if (entry.kind === 'file') throw new AppError('NOT_A_FOLDER', 'This is a file: open it instead.')
          return use(pages[Symbol.asyncIterator]())
        }),
      )
      return {
        async next() {
          const page = await value.next()
          return page.done ? null : page.value
        },
        async close() {
          try {
            await value.return?.()
          } finally {
            await release()
          }
        },
      }
    },
  }
}

/**
 * Returns the value that `open` passes to its callback. The callback does not end before `release`, which settles as `open` does.
 * @throws what `open` throws before it calls the callback
 */
async function held<T>(
  open: (use: (value: T) => Promise<void>) => Promise<void>,
): Promise<{ value: T; release(): Promise<void> }> {
  const opened = Promise.withResolvers<T>()
  const end = Promise.withResolvers<void>()
  const done = open(value => {
    opened.resolve(value)
    return end.promise
  })
  done.catch(opened.reject)
  const value = await opened.promise
  return {
    value,
    release() {
      end.resolve()
      return done
    },
  }
}
