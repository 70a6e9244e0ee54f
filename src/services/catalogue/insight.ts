/** Says what takes up space: the usage of folders, the largest, the oldest and the newest files, and files that are there more than once. */
import { type Asked, authorizeSearch, type needs } from '../../auth/needs.ts'
import type { StoragePath } from '../../auth/path.ts'
import { grantBasePaths, grantSearch, type SearchGrant } from '../../auth/policy.ts'
import type { Secrets } from '../../auth/secrets.ts'
import type { Viewer } from '../../auth/viewer.ts'
import {
  countFiles,
  countFolders,
  type FileCount,
  type FileRank,
  filesOfSizes,
  type InsightFile,
  type InsightRange,
  rankFiles,
  repeatedSizes,
} from '../../db/catalogue/insight.ts'
import type { Database } from '../../db/client.ts'
import type { ProviderRecord } from '../../db/providers.ts'
import { AppError } from '../../errors.ts'
import { FairQueue } from '../../lib/fair-queue.ts'
import { catalogueEntry, type FileEntry } from '../files/entry.ts'
import { parsePageSize } from '../input.ts'
import { signedCursors } from '../paging.ts'
import { type Copies, copiesAmong } from './copies.ts'
import { isWhole, readScope, throwTooSlow } from './scope.ts'

export const maxUsageParts = 100
export const maxRankedFiles = 100
export const maxDuplicatePage = 50
/** The files of one group of duplicates. */
export const maxCopies = 100
/** Folders of one request, because each is a part of its query. */
const maxRanges = 200
/** Queries for one page of duplicates. Sizes that different files have by chance can need several. */
const maxQueries = 4

/** A query can occupy a connection to the database for seconds. */
const bounds = {
  running: 2,
  runningOfOwner: 1,
  slots: 100,
  slotsOfOwner: 10,
  refusals: { owner: 'You have too many queries at once', all: 'The server has too many queries at once' },
}

export interface UsagePart extends FileCount {
  provider: ProviderRecord
  path: StoragePath
}

export interface Usage extends FileCount {
  /** The largest first. */
  parts: UsagePart[]
  /** The files directly in the folder, if the request names one. */
  direct: FileCount
  /** All files are in the catalogues. */
  isComplete: boolean
}

export interface LocatedFile {
  entry: FileEntry
  provider: ProviderRecord
}

/** Files with the same content, or only with the same size. */
export interface DuplicateFiles {
  size: number
  /** The checksum that the back ends gave for all of them; null if only their sizes are known to be equal. */
  checksum: Copies['checksum']
  files: LocatedFile[]
}

export interface DuplicatePage {
  items: (DuplicateFiles & { readonly cursor: string })[]
  hasNext: boolean
  endCursor: string | null
}

/** The groups before this position were listed: all of larger sizes, and that many of this size. */
interface DuplicatePosition {
  size: number
  skip: number
}

type AskedWithin = Asked<typeof needs.search>

export function createInsight({ db, secrets }: { db: Database; secrets: Secrets }) {
  const queue = new FairQueue(bounds)

  async function run<T>(
    granted: SearchGrant,
    signal: AbortSignal,
    work: (scope: InsightScope) => Promise<T>,
  ): Promise<T> {
    return queue.run(granted.viewer.member.userId, signal, async () =>
      work(await readInsightScope(db, granted)).catch(error =>
        throwTooSlow(error, 'name a folder or a storage provider'),
      ),
    )
  }

  return {
    /**
     * Returns the usage of a folder, with a part for each of its folders. For several folders, or for everything that the viewer may
     * access, there is one part for each of these.
     * @throws as `search`, without INVALID_CURSOR
     */
    async usage(viewer: Viewer | null, input: AskedWithin, signal: AbortSignal): Promise<Usage> {
      const granted = authorizeSearch(viewer, input)
      return run(granted, signal, async ({ ranges, providerOf, isComplete }) => {
        const [only, ...others] = ranges
        if (granted.isNamed && only && others.length === 0) {
          const { all, direct, folders } = await countFolders(db, only, maxUsageParts)
          const provider = providerOf(only.catalogue)
          return { ...all, direct, isComplete, parts: folders.map(part => ({ ...part, provider })) }
        }
        const counts = await countFiles(db, ranges)
        const parts = ranges.map(({ catalogue, path }, at) => {
          const { files, bytes } = counts[at] ?? { files: 0, bytes: 0 }
          return { provider: providerOf(catalogue), path, files, bytes }
        })
        const all = parts.reduce((sum, part) => ({ files: sum.files + part.files, bytes: sum.bytes + part.bytes }), {
          files: 0,
          bytes: 0,
        })
        const largest = parts.toSorted((a, b) => b.bytes - a.bytes).slice(0, maxUsageParts)
        return { ...all, direct: { files: 0, bytes: 0 }, parts: largest, isComplete }
      })
    },

    /** Returns the first files of a rank. @throws as `usage` */
    async rankedFiles(
      viewer: Viewer | null,
      input: AskedWithin,
      { rank, first }: { rank: FileRank; first: number },
      signal: AbortSignal,
    ): Promise<LocatedFile[]> {
      const granted = authorizeSearch(viewer, input)
      const limit = parsePageSize(first, maxRankedFiles)
      return run(granted, signal, async ({ ranges, locate }) =>
        (await rankFiles(db, ranges, rank, limit)).map(file => locate(file)),
      )
    },

    /**
     * Returns one page of groups of files with the same content, the largest files first.
     * @param providerId null for all providers
     * @throws as `usage`; INVALID_CURSOR
     */
    async duplicates(
      viewer: Viewer | null,
      providerId: string | null | undefined,
      { first, after }: { first: number; after?: string | null | undefined },
      signal: AbortSignal,
    ): Promise<DuplicatePage> {
      const granted = grantSearch(viewer, providerId == null ? [] : grantBasePaths(viewer, providerId))
      const limit = parsePageSize(first, maxDuplicatePage)
      const cursors = cursorCodec(secrets, granted)
      const from = after == null ? null : cursors.decode(after)
      return run(granted, signal, async ({ ranges, locate }) => {
        const { groups, next } = await findDuplicates(db, ranges, from, limit)
        const items = groups.slice(0, limit).map(({ group, position }) => ({
          size: group.size,
          checksum: group.checksum,
          files: group.files.map(file => locate(file)),
          get cursor() {
            return cursors.encode(position)
          },
        }))
        const hasNext = groups.length > limit || next !== null
        const end = groups.length > limit ? groups[limit - 1]?.position : (next ?? groups.at(-1)?.position)
        return { items, hasNext, endCursor: end ? cursors.encode(end) : null }
      })
    },
  }
}

interface InsightScope {
  ranges: InsightRange[]
  isComplete: boolean
  providerOf: (catalogue: number) => ProviderRecord
  locate: (file: InsightFile) => LocatedFile
}

/** @throws NOT_FOUND, INVALID_INPUT */
async function readInsightScope(db: Database, granted: SearchGrant): Promise<InsightScope> {
  const { providers, catalogues, ranges, providerOf } = await readScope(db, granted)
  if (ranges.length > maxRanges) {
    throw new AppError(
      'INVALID_INPUT',
      `This can look at ${maxRanges} folders at once: name some of yours in "within".`,
    )
  }
  return {
    ranges,
    isComplete: providers.every(({ id }) => catalogues.some(each => each.providerId === id && isWhole(each))),
    providerOf,
    locate({ catalogue, path, ...facts }) {
      const provider = providerOf(catalogue)
      return { provider, entry: catalogueEntry(provider.id, path, { ...facts, kind: 'file' }) }
    },
  }
}

/** A cursor is valid for one credential and the same folders. */
function cursorCodec(secrets: Secrets, { viewer, access }: SearchGrant) {
  const folders = access.all ? null : [...access.basePaths]
  const cursors = signedCursors(secrets, ['duplicates', viewer.credentialId, folders], 'list')
  return {
    encode: ({ size, skip }: DuplicatePosition) => cursors.encode([size, skip]),
    /** @throws INVALID_CURSOR */
    decode(cursor: string): DuplicatePosition {
      const [size, skip] = cursors.decode(cursor)
      return { size, skip }
    },
  }
}

/** @returns up to `limit` groups or some more, and the position at which the search ended; null if there are no others */
async function findDuplicates(
  db: Database,
  ranges: readonly InsightRange[],
  from: DuplicatePosition | null,
  limit: number,
) {
  const groups: { group: Copies; position: DuplicatePosition }[] = []
  let at = from
  for (let count = 0; count < maxQueries && groups.length <= limit; count += 1) {
    const sizes = await repeatedSizes(db, ranges, at?.size ?? null, limit + 1)
    const files = sizes.length === 0 ? [] : await filesOfSizes(db, ranges, sizes, maxCopies)
    const bySize = Map.groupBy(files, ({ size }) => size)
    for (const size of sizes) {
      const skip = size === at?.size ? at.skip : 0
      for (const [index, group] of copiesAmong(size, bySize.get(size) ?? [], maxCopies).entries()) {
        if (index >= skip) groups.push({ group, position: { size, skip: index + 1 } })
      }
    }
    const last = sizes.at(-1)
    if (last === undefined || sizes.length <= limit) return { groups, next: null }
    at = { size: last - 1, skip: 0 }
  }
  return { groups, next: at }
}
