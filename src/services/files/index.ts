/**
 * The operations on files and folders. Each function takes the viewer and locations as a client sent them, authorizes them, and returns
 * entries, or passes opened content to a callback. A job works on the content of folders.
 */
import { type Asked, authorize, needs } from '../../auth/needs.ts'
import { formatPath, parsePath, root } from '../../auth/path.ts'
import { type Grant, grantBasePaths, requireScope, wayDown } from '../../auth/policy.ts'
import type { Secrets } from '../../auth/secrets.ts'
import type { Origin, Viewer } from '../../auth/viewer.ts'
import { AppError } from '../../errors.ts'
import type { Storage } from '../../storage/index.ts'
import type { Audit, Recording } from '../audit/index.ts'
import type { ExpectedChanges, FolderChanges } from '../catalogue/index.ts'
import type { EntryMetadata } from '../entry-metadata/properties.ts'
import { parsePageSize } from '../input.ts'
import type { Credentials } from '../people/credentials.ts'
import type { UploadScans } from '../scans/index.ts'
import { Archives, authorizeSelection, type SelectionInput, withSelection } from './archive.ts'
import { type FolderUsage, type FoundEntries, search, usageOf, type WalkSearch } from './bounded-walk.ts'
import type { ConflictBehavior, Reservations } from './conflict.ts'
import { type Download, type OpenFirst, openUnlessOther, type UseArchive, type UseDownload } from './content.ts'
import { type AskedToRead, entryAt, type FileEntry, type LocationInput, locationOf, unknownFolder } from './entry.ts'
import { copyVersion, type FindVersion, locationOfVersion } from './file-version.ts'
import { type KeyPage, type KeyQuery, listKeys } from './keys.ts'
import {
  type DirectFile,
  directDownload,
  directUpload,
  openLink,
  openSelection,
  recallCreator,
  sealLink,
  sealSelection,
  type UploadTicket,
} from './links.ts'
import { cursorCodec, type EntryPage, entryPages, listPage } from './list.ts'
import * as transfer from './transfer.ts'
import type { TrashBin } from './trash-bin.ts'
import { conditionFailed, type UploadInput, upload } from './upload.ts'

export {
  type Archive,
  type ArchiveItem,
  type ArchiveTop,
  isLeftOut,
  maxSelected,
  requireFewPaths,
  type SelectionInput,
} from './archive.ts'
export type { FolderUsage } from './bounded-walk.ts'
export { type ConflictBehavior, conflictBehaviors } from './conflict.ts'
export {
  contentDisposition,
  contentType,
  type Download,
  type OpenFirst,
  type UseArchive,
  type UseDownload,
} from './content.ts'
export { entryId, type FileEntry, foundWith, impliedType, type LocationInput, siblingOf } from './entry.ts'
export type { KeyPage, KeyQuery } from './keys.ts'
export type { UploadTicket } from './links.ts'
export type { Deleted } from './transfer.ts'
export { type Digests, tooLarge, type UploadInput, type WriteCondition } from './upload.ts'

const maxPageSize = 1000

export type Files = ReturnType<typeof createFiles>

/** Creates the file operations. Each authorizes the viewer first; aborting `signal` cancels the work at the back end. */
export function createFiles(options: {
  storage: Storage
  secrets: Secrets
  credentials: Credentials
  audit: Audit
  reservations: Reservations
  folderJobs: transfer.FolderJobs
  trash: TrashBin
  entryMetadata: EntryMetadata
  folders: FolderChanges
  expected: Pick<ExpectedChanges, 'uploaded'>
  scans: UploadScans
  findVersion: FindVersion
  /** Bytes. */
  maxUploadBytes: number
  /** The maximum lifetime of direct links to a back end, in seconds; 0 disables them. */
  directSeconds: number
}) {
  const { storage, secrets, credentials, audit, reservations, folderJobs, trash, entryMetadata, folders } = options
  const uploads = { storage, reservations, scans: options.scans, maxBytes: options.maxUploadBytes }

  const archives = new Archives()
  const direct = { ...uploads, audit, expected: options.expected, directSeconds: options.directSeconds }

  async function find(
    granted: Grant<'read'>,
    input: { version?: string | undefined },
    signal: AbortSignal,
    open: OpenFirst | null,
  ): Promise<Download> {
    const current = await storage.readAt(granted)
    const location =
      input.version === undefined ? current : await locationOfVersion(options.findVersion, current, input.version)
    const opened = open && (await openUnlessOther(location, signal, open))
    const entry = entryAt(current, opened?.entry ?? (await location.stat(signal)))
    const ended = (bytes: number, error?: unknown) =>
      audit.note(granted.viewer, 'DOWNLOAD', { location: granted, bytes, details: { kind: entry.kind } }, error)
    const name = entry.name || (await storage.record(granted)).name
    const items = (running: AbortSignal) => archives.items(granted.viewer, [{ location, entry, name }], running)
    return { entry, location, opened, name, items, ended }
  }

  /**
   * Records a failed download only if it was forbidden. A missing file, for example, is not an event.
   * @param input.version the id of an earlier version; undefined for the content of the file now
   */
  async function download<T>(
    viewer: Viewer | null,
    input: LocationInput & { version?: string | undefined },
    requestSignal: AbortSignal,
    open: OpenFirst | null,
    use: UseDownload<T>,
  ): Promise<T> {
    const noteRefusal = (error: unknown): never => {
      if (viewer && error instanceof AppError && error.code === 'FORBIDDEN')
        audit.note(viewer, 'DOWNLOAD', { location: input }, error)
      throw error
    }
    let granted: Grant<'read'>
    try {
      granted = authorize(viewer, needs.read, input)[0]
    } catch (error) {
      return noteRefusal(error)
    }
    return storage.activeGrants.run([granted], requestSignal, async signal => {
      const found = await find(granted, input, signal, open).catch(noteRefusal)
      await using _opened = found.opened
      return await use(found, signal)
    })
  }

  /** The event of the request names the job, which may go on after the request. */
  function runFor(viewer: Viewer | null, recording: Recording): transfer.RunOnFolder {
    return async (work, signal) => {
      const id = await folderJobs.start(viewer, work)
      recording.add({ subject: { kind: 'JOB', id } })
      await folderJobs.finish(id, signal)
      return id
    }
  }

  function transferred(
    viewer: Viewer | null,
    action: 'RENAME' | 'MOVE' | 'COPY',
    input: transfer.RenameInput | transfer.TransferInput | transfer.CopyInput,
    work: (context: transfer.TransferContext) => Promise<FileEntry>,
  ): Promise<FileEntry> {
    const facts = { ...transfer.locationsOf(input), details: { conflict: input.conflict } }
    return audit.recorded(viewer, action, facts, async recording => {
      const entry = await work({ storage, trash, run: runFor(viewer, recording), entryMetadata, folders })
      recording.add({ to: { providerId: entry.providerId, path: formatPath(entry.path) }, bytes: entry.size })
      return entry
    })
  }

  return {
    /** @throws INVALID_PATH, SCOPE_REQUIRED, PROVIDER_NOT_ALLOWED, OUTSIDE_BASE_PATH, NOT_FOUND */
    async stat(viewer: Viewer | null, input: AskedToRead, signal: AbortSignal): Promise<FileEntry> {
      const [granted] = authorize(viewer, needs.read, input)
      const location = await storage.readAt(granted)
      return entryAt(location, await location.stat(signal))
    },

    /** Returns the viewer's topmost folders in a provider, without asking the back end whether they exist. */
    tops(viewer: Viewer | null, providerId: string): [FileEntry, ...FileEntry[]] {
      const [first, ...others] = grantBasePaths(viewer, providerId)
      const folderAt = (granted: Grant) => unknownFolder(providerId, granted.path, granted)
      return [folderAt(first), ...others.map(folderAt)]
    },

    /**
     * Returns a folder above some base paths of the viewer, then the folders in it that lead there, without asking the back end;
     * null for any other path. @throws INVALID_PATH, CREDENTIAL_REQUIRED, SCOPE_REQUIRED, PROVIDER_NOT_ALLOWED
     */
    wayDown(viewer: Viewer | null, { providerId, path }: LocationInput): FileEntry[] | null {
      requireScope(viewer, 'read')
      const parsed = parsePath(path)
      const next = wayDown(viewer, providerId, parsed)
      return next === null ? null : [parsed, ...next].map(each => unknownFolder(providerId, each, null))
    },

    /** Returns one page, in the back end's order. @throws as `stat`, NOT_A_FOLDER, INVALID_INPUT, INVALID_CURSOR */
    async list(
      viewer: Viewer | null,
      input: AskedToRead,
      page: { first: number; after?: string | null | undefined },
      signal: AbortSignal,
    ): Promise<EntryPage> {
      const [granted] = authorize(viewer, needs.read, input)
      const first = parsePageSize(page.first, maxPageSize)
      const codec = cursorCodec(secrets, [granted.providerId, granted.path, granted.viewer.credentialId])
      return listPage(await storage.readAt(granted), { first, after: page.after ?? null, codec }, signal)
    },

    /** Returns one page of the files below the viewer's base paths as keys, in the order of their bytes. @throws as `listKeys` */
    listKeys: (viewer: Viewer | null, query: KeyQuery, signal: AbortSignal): Promise<KeyPage> =>
      listKeys(storage, viewer, query, signal),

    /**
     * Passes a file, or a folder with everything directly in it, to `use`, and ends it when the viewer may no longer read it.
     * @param pages the entries of the folder, page by page; none of a file
     * @throws as `stat`
     */
    async withChildren<T>(
      viewer: Viewer | null,
      input: LocationInput,
      requestSignal: AbortSignal,
      use: (entry: FileEntry, pages: AsyncIterable<FileEntry[]>, signal: AbortSignal) => Promise<T>,
    ): Promise<T> {
      const [granted] = authorize(viewer, needs.read, input)
      const location = await storage.readAt(granted)
      return storage.activeGrants.run([granted], requestSignal, async signal => {
        const entry = entryAt(location, await location.stat(signal))
        return use(entry, entryPages(location, entry, signal), signal)
      })
    },

    /** Finds entries by name below a folder, within limits. @throws as `stat`, NOT_A_FOLDER, INVALID_INPUT */
    search: (viewer: Viewer | null, input: WalkSearch, signal: AbortSignal): Promise<FoundEntries> =>
      search(storage, viewer, input, signal),

    /** Counts everything below a folder, within limits. @throws as `stat`, NOT_A_FOLDER */
    usage: (viewer: Viewer | null, input: AskedToRead, signal: AbortSignal): Promise<FolderUsage> =>
      usageOf(storage, viewer, input, signal),

    /** Creates a folder and its missing parents. @throws as `stat`, ALREADY_EXISTS, NOT_A_FOLDER */
    createFolder(viewer: Viewer | null, input: Asked<typeof needs.create>, signal: AbortSignal): Promise<FileEntry> {
      return audit.recorded(viewer, 'FOLDER_CREATE', { location: locationOf(input) }, async () => {
        const [granted] = authorize(viewer, needs.create, input)
        const location = await storage.writeAt(granted)
        if (granted.path === root) throw new AppError('ALREADY_EXISTS', 'The root always exists.')
        await location.mkdir(signal, { exclusive: true })
        return entryAt(location, await location.stat(signal))
      })
    },

    /**
     * Moves an entry to the trash, or deletes it if the provider has none. A folder that is not deleted recursively is empty, so
     * it is just deleted.
     * @param options.only the kind of entry to delete. Default: both
     * @param options.permanent deletes the entry even if the provider has a trash
     * @param options.overLocked whether a locked object may go to the versions. See `WriteLocation.overLocked`
     * @param options.keepsVersions whether the earlier versions stay although the deletion is permanent. Default: they go, too
     * @param options.condition returns whether the entry may be deleted. A change between this check and the deletion is not detected
     * @throws as `stat`; ROOT_IS_FIXED; NOT_A_FILE or NOT_A_FOLDER if the entry is not of the kind `only`; PRECONDITION_FAILED if the
     * condition does not hold; NOT_EMPTY if the folder is not empty and `recursive` is false
     */
    delete(
      viewer: Viewer | null,
      input: Asked<typeof needs.delete>,
      { recursive, only, permanent = false, keepsVersions = false, overLocked, condition }: transfer.DeleteOptions,
      signal: AbortSignal,
    ): Promise<transfer.Deleted> {
      return audit.recorded(
        viewer,
        'DELETE',
        { location: locationOf(input), details: { recursive } },
        async recording => {
          const [granted] = authorize(viewer, needs.delete, input)
          const opened = await storage.writeAt(granted)
          const location = overLocked ? opened.overLocked : opened
          transfer.requireNotRoot(granted.path, 'deleted')
          const entry = await location.stat(signal)
          recording.add({ bytes: entry.size, details: { kind: entry.kind } })
          transfer.requireKind(entry, only)
          if (condition && !condition(entry)) throw conditionFailed()
          const isEmptyFolder = entry.kind === 'directory' && !recursive
          const context = { trash, run: runFor(viewer, recording) }
          const item = isEmptyFolder
            ? await transfer.deleteEmptyFolder(location, entry, signal)
            : await storage.activeGrants.run([granted], signal, running =>
                transfer.removeEntry(context, location, entry, { permanent, signal: running }),
              )
          if (item) recording.add({ details: { trashed: true } })
          await entryMetadata.deleted(granted, { isPermanent: permanent && !keepsVersions })
          if (entry.kind === 'directory') await folders.removed(granted)
          return { path: formatPath(granted.path), item }
        },
      )
    },

    rename: (viewer: Viewer | null, input: transfer.RenameInput, signal: AbortSignal) =>
      transferred(viewer, 'RENAME', input, context => transfer.rename(context, viewer, input, signal)),
    move: (viewer: Viewer | null, input: transfer.TransferInput, signal: AbortSignal) =>
      transferred(viewer, 'MOVE', input, context => transfer.move(context, viewer, input, signal)),
    /** @param input.version the id of an earlier version; undefined for the entry as it is now */
    copy: (viewer: Viewer | null, input: transfer.CopyInput & { version?: string | undefined }, signal: AbortSignal) =>
      transferred(viewer, 'COPY', input, context => {
        const { version } = input
        if (version === undefined) return transfer.copy(context, viewer, input, signal)
        return copyVersion(options, viewer, { ...input, version }, signal)
      }),
    upload(viewer: Viewer | null, input: UploadInput, signal: AbortSignal): Promise<FileEntry> {
      const { providerId, conflict } = input
      const facts = { location: { providerId, path: input.path }, details: { conflict } }
      return audit.recorded(viewer, 'UPLOAD', facts, async recording => {
        const stored = await upload({ ...uploads, recording }, viewer, input, signal)
        recording.add({
          location: { providerId, path: formatPath(stored.path) },
          bytes: stored.size ?? input.size ?? null,
        })
        return stored
      })
    },

    /** Authorizes an upload without looking anything up. @throws INVALID_PATH, SCOPE_REQUIRED, PROVIDER_NOT_ALLOWED, OUTSIDE_BASE_PATH */
    requireMayUpload(viewer: Viewer | null, input: LocationInput): void {
      authorize(viewer, needs.create, input)
    },

    /**
     * Opens a file or folder for the duration of `use`.
     * @param open null to look at the entry only
     * @throws as `stat`
     */
    download,

    /**
     * Returns the token of a link that downloads a file or folder without a credential.
     * @param link.version the id of an earlier version, which the link looks up when it is used
     * @throws as `stat`, INVALID_INPUT
     */
    link(
      viewer: Viewer | null,
      input: AskedToRead,
      link: { expiresIn: number; inline: boolean; version?: string | undefined },
    ): string {
      const [granted] = authorize(viewer, needs.read, input)
      return sealLink(secrets, granted, link)
    },

    /**
     * Opens several files and folders as one archive for the duration of `use`.
     * @throws as `stat`, INVALID_INPUT
     */
    archive: <T>(viewer: Viewer | null, input: SelectionInput, signal: AbortSignal, use: UseArchive<T>): Promise<T> =>
      withSelection({ storage, archives, audit }, viewer, input, signal, use),

    /** Returns the ticket with which `archiveLink` opens several files and folders without a credential. @throws as `archive` */
    archiveTicket(viewer: Viewer | null, input: SelectionInput, expiresIn: number): string {
      const [{ common }] = authorizeSelection(viewer, input)
      return sealSelection(secrets, common.viewer, input, expiresIn)
    },

    /** Opens the archive of a ticket, if the credential that made it may still read all of it. @throws LINK_EXPIRED, as `archive` */
    async archiveLink<T>(sealed: string, origin: Origin, signal: AbortSignal, use: UseArchive<T>): Promise<T> {
      const input = openSelection(secrets, sealed)
      const viewer = await recallCreator(credentials, input.credential, origin)
      return withSelection({ storage, archives, audit }, viewer, input, signal, use)
    },

    /** Returns a direct link to the back end; null if it supports none. @throws as `stat`, INVALID_INPUT */
    directLink: (
      viewer: Viewer | null,
      file: DirectFile,
      link: { expiresIn: number; inline: boolean },
      signal: AbortSignal,
    ) => directDownload(direct, viewer, file, link, signal),

    /** Returns where to send a file directly to the back end; null if it must be sent to this server. @throws as `upload` */
    uploadTicket: (
      viewer: Viewer | null,
      input: Asked<typeof needs.create> & { conflict: ConflictBehavior; expiresIn: number },
      signal: AbortSignal,
    ): Promise<UploadTicket | null> => directUpload(direct, viewer, input, signal),

    /** Opens the file of a link, if the credential that made the link may still read it. @throws LINK_EXPIRED, as `download` */
    async downloadLink<T>(
      sealed: string,
      origin: Origin,
      requestSignal: AbortSignal,
      open: OpenFirst | null,
      use: UseDownload<T, Download & { inline: boolean }>,
    ): Promise<T> {
      const { inline, ...input } = openLink(secrets, sealed)
      const viewer = await recallCreator(credentials, input.credential, origin)
      return download(viewer, input, requestSignal, open, (found, signal) => use({ ...found, inline }, signal))
    },
  }
}
