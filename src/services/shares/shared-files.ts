/** The operations of the recipients of a share link. Each function takes the share that `open` returns, and shows only paths within it. */
import { formatPath, nameOf } from '../../auth/path.ts'
import type { Origin } from '../../auth/viewer.ts'
import type { Database } from '../../db/client.ts'
import { addDownloads, claimDownload } from '../../db/shares/claims.ts'
import { findShare, type ShareRecord } from '../../db/shares/shares.ts'
import { AppError, type Reason } from '../../errors.ts'
import { DelayedWrites } from '../../lib/delayed-writes.ts'
import { mapAtMost } from '../../lib/limiter.ts'
import type { Storage } from '../../storage/index.ts'
import {
  type ArchiveItem,
  type Download,
  type FileEntry,
  type Files,
  type OpenFirst,
  requireFewPaths,
  type UseArchive,
  type UseDownload,
} from '../files/index.ts'
import type { Credentials } from '../people/credentials.ts'
import type { Rendition, Renditions } from '../renditions/index.ts'
import type { Thumbnail, ThumbnailRequest, Thumbnails } from '../thumbnails/index.ts'
import type { ResumableUploads } from '../uploads/index.ts'
import { createDrops } from './drops.ts'
import { type createUnlocking, type OpenedShare, realPath, type ShareKey, shownPath } from './opening.ts'

/** A file or folder as a link shows it. */
interface SharedEntry {
  path: string
  name: string
  kind: FileEntry['kind']
  /** Bytes. */
  size: number | null
  mimeType: string | null
  modifiedAt: Date | null
}

/** The facts about a link that its recipients may know. */
export interface SharedFacts {
  kind: ShareRecord['kind']
  /** The name of the shared file or folder; null for several. */
  name: string | null
  /** Whether the top of the share is a folder, which can be downloaded as a whole. */
  isFolder: boolean
  note: string
  /** The name of the person who made the link, if they have given one. */
  sharedBy: string | null
  expiresAt: Date | null
  downloadsLeft: number | null
  /** Bytes that a drop link still accepts; null is no limit. */
  bytesLeft: number | null
  fileTypes: readonly string[]
  hasPassword: boolean
}

export interface SharedPage {
  entries: SharedEntry[]
  /** The cursor after which the next page starts; null if this is the last one. */
  next: string | null
}

/** Lookups at a back end that run at once. */
const lookupsAtOnce = 8
/** Pixels of the thumbnails of a link whose downloads are limited: larger ones could replace a download. */
const maxUncountedPixels = 256
/** Reasons why one of several shared entries is left out: it was deleted, or the creator of the share lost access to it. */
const leftOut: ReadonlySet<Reason> = new Set(['NOT_FOUND', 'OUTSIDE_BASE_PATH'])

export function createSharedFiles(options: {
  db: Database
  storage: Storage
  credentials: Pick<Credentials, 'authenticateShare'>
  unlocking: ReturnType<typeof createUnlocking>
  counts: ReturnType<typeof createDownloadCounts>
  files: Files
  uploads: ResumableUploads
  thumbnails: Thumbnails
  renditions: Renditions
}) {
  const { db, storage, credentials, unlocking, counts, files } = options

  function shown(share: ShareRecord, { path, ...entry }: FileEntry): SharedEntry {
    const { kind, size, mimeType, modifiedAt } = entry
    const name = entry.name || nameOf(path)
    return { path: shownPath(share, path), name, kind, size, mimeType, modifiedAt }
  }

  /** Returns the entries of a share that has no folder of its own, which are at most `maxSharedPaths`. */
  async function topEntries({ viewer, share }: OpenedShare, signal: AbortSignal): Promise<SharedEntry[]> {
    const { providerId, paths } = share
    const found = await mapAtMost(lookupsAtOnce, paths, async path => {
      try {
        return [shown(share, await files.stat(viewer, { providerId, path: formatPath(path) }, signal))]
      } catch (error) {
        if (error instanceof AppError && leftOut.has(error.reason)) return []
        throw error
      }
    })
    return found.flat()
  }

  async function countDownload({ id, maxDownloads }: ShareRecord, isPart: boolean): Promise<void> {
    if (maxDownloads === null) {
      if (!isPart) counts.add(id)
    } else if (!(await claimDownload(db, id))) throw new AppError('DOWNLOADS_USED_UP')
  }

  return {
    ...createDrops(options),

    /**
     * Opens a share with the token of its link.
     * @throws INVALID_CREDENTIAL, SHARE_ENDED, SHARE_PASSWORD_REQUIRED, WRONG_SHARE_PASSWORD, SESSION_REQUIRED, RATE_LIMITED
     */
    open: (token: string, key: ShareKey, origin: Origin, signal: AbortSignal): Promise<OpenedShare> =>
      credentials.authenticateShare(
        token,
        { unlock: share => unlocking.require(share, key, origin, signal), session: key.session },
        origin,
      ),

    /** Returns a proof of the password and of the session of a recipient, which opens the share in later requests. */
    prove: (opened: OpenedShare): { proof: string; expiresAt: Date } => unlocking.prove(opened),

    async describe({ viewer, share }: OpenedShare): Promise<SharedFacts> {
      const { kind, paths, isFolder, providerId, maxDownloads, maxBytes } = share
      // The counts change with each use, so the memory of rights does not have them.
      const { downloads, receivedBytes } = (await findShare(db, share.workspaceId, share.id)) ?? share
      const [path, ...others] = paths
      const only = path === undefined || others.length > 0 ? null : nameOf(path)
      const isRoot = only === ''
      const { workspaceId } = share
      return {
        kind,
        name: isRoot ? (await storage.record({ providerId, workspaceId })).name : only,
        isFolder,
        note: share.note,
        sharedBy: viewer.member.name,
        expiresAt: share.expiresAt,
        downloadsLeft: maxDownloads === null ? null : Math.max(0, maxDownloads - downloads),
        bytesLeft: maxBytes === null ? null : Math.max(0, maxBytes - receivedBytes),
        fileTypes: share.fileTypes,
        hasPassword: share.passwordHash !== null,
      }
    },

    /** Returns one page of a folder. @throws as `Files.list` */
    async list(
      opened: OpenedShare,
      path: string,
      page: { first: number; after: string | null },
      signal: AbortSignal,
    ): Promise<SharedPage> {
      const { viewer, share } = opened
      const real = realPath(share, path)
      if (real === null) return { entries: await topEntries(opened, signal), next: null }
      const location = { providerId: share.providerId, path: formatPath(real) }
      const { items, hasNext } = await files.list(viewer, location, page, signal)
      const entries = items.map(({ entry }) => shown(share, entry))
      return { entries, next: hasNext ? (items.at(-1)?.cursor ?? null) : null }
    },

    /**
     * Opens a file or folder for the duration of `use`.
     * @param sending.counts whether this counts as a download
     * @param sending.isPart whether only ranges are requested; such a request counts only if the share has a limit
     * @throws as `Files.download`; DOWNLOADS_USED_UP
     */
    download<T>(
      { viewer, share }: OpenedShare,
      path: string,
      sending: { counts: boolean; isPart: boolean; open: OpenFirst | null },
      signal: AbortSignal,
      use: UseDownload<T>,
    ): Promise<T> {
      const real = realPath(share, path)
      if (real === null) throw new AppError('NOT_A_FILE', 'Download the shared files and folders one by one.')
      const location = { providerId: share.providerId, path: formatPath(real) }
      return files.download(viewer, location, signal, sending.open, async (download: Download, running) => {
        if (sending.counts) await countDownload(share, sending.isPart)
        return use(download, running)
      })
    },

    /**
     * Returns the thumbnail of a file. A link with a limit of downloads has only small ones, which count as no download.
     * @throws as `Thumbnails.read`
     */
    thumbnail(
      { viewer, share }: OpenedShare,
      path: string,
      request: ThumbnailRequest,
      signal: AbortSignal,
    ): Promise<Thumbnail> {
      const real = realPath(share, path)
      if (real === null) throw new AppError('NOT_A_FILE')
      const pixels = share.maxDownloads === null ? request.pixels : Math.min(request.pixels, maxUncountedPixels)
      const location = { providerId: share.providerId, path: formatPath(real) }
      return options.thumbnails.read(viewer, location, { ...request, pixels }, signal)
    },

    /**
     * Returns an office document as PDF. A link with a limit of downloads has none, because it could replace a download.
     * @throws as `Renditions.read`
     */
    async rendition(
      { viewer, share }: OpenedShare,
      path: string,
      isKnown: (etag: string) => boolean,
      signal: AbortSignal,
    ): Promise<Rendition> {
      const real = realPath(share, path)
      if (real === null) throw new AppError('NOT_A_FILE')
      const location = { providerId: share.providerId, path: formatPath(real) }
      if (share.maxDownloads === null) return options.renditions.read(viewer, location, isKnown, signal)
      await files.stat(viewer, location, signal)
      throw new AppError('NO_RENDITION')
    },

    /**
     * Opens several files and folders as one archive for the duration of `use`. It counts as one download.
     * @throws as `Files.archive`; DOWNLOADS_USED_UP
     */
    async archive<T>(
      { viewer, share }: OpenedShare,
      shownPaths: readonly string[],
      signal: AbortSignal,
      use: UseArchive<T>,
    ): Promise<T> {
      requireFewPaths(shownPaths)
      const { providerId, isFolder } = share
      const paths = shownPaths.map(path => {
        const real = realPath(share, path)
        if (real === null) throw new AppError('INVALID_INPUT', 'Name the shared files and folders themselves, not "/".')
        return formatPath(real)
      })
      return files.archive(viewer, { providerId, paths }, signal, (archive, running) => {
        const items = (signal: AbortSignal) => withFirst(archive.items(signal), () => countDownload(share, false))
        // The folder above several entries is not shared, and neither is its name.
        return use({ ...archive, ...(!isFolder && { name: 'shared' }), items }, running)
      })
    },
  }
}

/** Waits for `count` when the first item is there, and before it is yielded. */
async function* withFirst(
  items: AsyncGenerator<ArchiveItem, void, undefined>,
  count: () => Promise<void>,
): AsyncGenerator<ArchiveItem, void, undefined> {
  let isFirst = true
  for await (const item of items) {
    if (isFirst) await count()
    isFirst = false
    yield item
  }
}

/** Milliseconds that a count waits, to be written together with others. */
const writeDelay = 500

/** Counts the downloads of shares without a limit, which need no decision and so no write for each request. */
export function createDownloadCounts(db: Database, onError: (error: unknown) => void) {
  const writes = new DelayedWrites<number>(writeDelay, counts => addDownloads(db, counts).catch(onError))
  return {
    add: (shareId: string): void => writes.put(shareId, (count = 0) => count + 1),
    /** Writes the pending counts. */
    close: () => writes.flush(),
  }
}
