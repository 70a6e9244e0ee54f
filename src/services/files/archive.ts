/** Iterates over the entries of a folder, or of several files and folders of one provider, for an archive. */
import { authorizeAll, type GrantedPaths } from '../../auth/needs.ts'
import { commonPath, nameOf, root, type StoragePath } from '../../auth/path.ts'
import { type SlotOwners, slotOwners, type Viewer } from '../../auth/viewer.ts'
import { AppError, type Reason } from '../../errors.ts'
import { Slots } from '../../lib/slots.ts'
import type { Storage } from '../../storage/index.ts'
import type { ReadLocation } from '../../storage/read-location.ts'
import type { CheckedEntry } from '../../storage/validate-entry.ts'
import { namedSources } from '../audit/event.ts'
import type { Audit } from '../audit/index.ts'
import { children, depthError } from './tree.ts'

/** An entry at the top of an archive. */
export interface ArchiveTop {
  location: ReadLocation
  /** Null if the entry has to be looked up. */
  entry: CheckedEntry | null
  /** The name of the entry; the name of the provider for its root, so it need not be valid as a file name. */
  name: string
}

/** An entry, or the error that stopped the archive from taking it. */
export type ArchiveItem = { top: ArchiveTop } & (
  | { location: ReadLocation; entry: CheckedEntry; error?: never }
  | { path: StoragePath; error: AppError }
)

/** Files and folders to send as one archive. */
export interface Archive {
  /** The name of the archive without an ending. It need not be valid as a file name. */
  name: string
  /** Whether the archive has one folder that contains everything else. */
  isFolder: boolean
  /** Yields the tops and everything below them, each folder before its content. @throws TOO_MANY_ARCHIVES; as `Files.list` */
  items(signal: AbortSignal): AsyncGenerator<ArchiveItem, void, undefined>
  /** Call this once with the number of bytes sent and the error that interrupted it, for the audit log. */
  ended(bytes: number, error?: unknown): void
}

/** The number of tops that are looked up at the same time. */
const lookupsAtOnce = 8

/** Errors that concern one entry only: the archive continues without it. Any other error ends the archive. */
const leftOut: ReadonlySet<Reason> = new Set([
  'NOT_FOUND',
  'NOT_A_FILE',
  'NOT_A_FOLDER',
  'INVALID_PATH',
  'BACK_END_REFUSED',
])

/** Returns whether an error concerns one entry only, so the archive can continue. */
export function isLeftOut(error: unknown): error is AppError {
  return error instanceof AppError && leftOut.has(error.reason)
}

/**
 * The maximum numbers of archives that run at the same time in this process. Each takes up to 4.5 MiB of buffers, so all take
 * less than 300 MiB.
 */
const limits = { credential: 8, links: 12, member: 16, all: 64 }

/** The running archives of this process. */
export class Archives {
  readonly #slots = new Slots<keyof SlotOwners>(limits)

  /**
   * Yields everything in an archive, and before it nothing that fails: if no top can be read, the first error is thrown.
   * Counts as one archive of the viewer from the first item to the last.
   * @throws TOO_MANY_ARCHIVES; as `archiveItems`
   */
  async *items(
    viewer: Viewer,
    tops: readonly ArchiveTop[],
    signal: AbortSignal,
  ): AsyncGenerator<ArchiveItem, void, undefined> {
    using _slot = this.#slots.take(slotOwners(viewer), tooMany)
    yield* foundItems(tops, signal)
  }
}

function tooMany(level: keyof SlotOwners | 'all', limit: number): AppError {
  const what = {
    credential: `This credential is already downloading ${limit} archives`,
    links: `The share links of this member are already downloading ${limit} archives`,
    member: `This member is already downloading ${limit} archives`,
    all: 'The server is already creating as many archives as it can',
  }[level]
  return new AppError('TOO_MANY_ARCHIVES', `${what}: wait until one of them is complete.`)
}

async function* foundItems(
  tops: readonly ArchiveTop[],
  signal: AbortSignal,
): AsyncGenerator<ArchiveItem, void, undefined> {
  const refused: (ArchiveItem & { error: AppError })[] = []
  let isFound = false
  for await (const { top, entry } of lookedUp(tops, signal)) {
    for await (const item of topItems(top, entry, signal)) {
      if (item.error && !isFound) {
        refused.push(item)
        continue
      }
      isFound = true
      yield item
    }
  }
  const [first] = refused
  if (first && !isFound) throw first.error
  yield* refused
}

/** Looks up the tops, a few at a time and in their order. */
async function* lookedUp(tops: readonly ArchiveTop[], signal: AbortSignal) {
  const lookUp = async (top: ArchiveTop) => ({ top, entry: top.entry ?? (await statOrError(top, signal)) })
  const waiting: ReturnType<typeof lookUp>[] = []
  const rest = tops.values()
  for (;;) {
    while (waiting.length < lookupsAtOnce) {
      const { value: top } = rest.next()
      if (!top) break
      waiting.push(lookUp(top))
    }
    const found = waiting.shift()
    if (!found) return
    yield await found
  }
}

/** Never rejects, because nothing awaits the last lookups if the archive fails. */
function statOrError({ location }: ArchiveTop, signal: AbortSignal): Promise<CheckedEntry | { error: unknown }> {
  return location.stat(signal).catch((error: unknown) => ({ error }))
}

/** Yields an entry at the top and everything below it. */
async function* topItems(
  top: ArchiveTop,
  entry: CheckedEntry | { error: unknown },
  signal: AbortSignal,
): AsyncGenerator<ArchiveItem, void, undefined> {
  const { location } = top
  if ('error' in entry) {
    if (!isLeftOut(entry.error)) throw entry.error
    yield { top, path: location.path, error: entry.error }
    return
  }
  if (entry.kind === 'file') {
    yield { top, location, entry }
    return
  }
  const below = archiveItems(top, location, signal)
  try {
    // A folder that cannot be listed is left out as a whole.
    const first = await below.next()
    if (!first.done && first.value.error && first.value.path === location.path) {
      yield first.value
      return
    }
    yield { top, location, entry }
    if (!first.done) yield first.value
    yield* below
  } finally {
    await below.return()
  }
}

/**
 * Yields everything below a folder, each folder before its content, loading one page of a listing at a time. The content of a
 * folder that is too deep is left out, so that one such folder does not prevent every archive of the folders above.
 * @throws as `Files.list`
 */
async function* archiveItems(
  top: ArchiveTop,
  folder: ReadLocation,
  signal: AbortSignal,
  depth = 0,
): AsyncGenerator<ArchiveItem, void, undefined> {
  const tooDeep = depthError(depth)
  if (tooDeep) {
    yield { top, path: folder.path, error: tooDeep }
    return
  }
  try {
    for await (const entry of children(folder, signal)) {
      const location = childOf(folder, entry.name)
      if (location instanceof AppError) {
        yield { top, path: `${folder.path}/${entry.name}` as StoragePath, error: location }
        continue
      }
      yield { top, location, entry }
      if (entry.kind === 'directory') yield* archiveItems(top, location, signal, depth + 1)
    }
  } catch (error) {
    if (!isLeftOut(error)) throw error
    yield { top, path: folder.path, error }
  }
}

/** Returns the error if the path is too long. */
function childOf(folder: ReadLocation, name: string): ReadLocation | AppError {
  try {
    return folder.child(name)
  } catch (error) {
    if (isLeftOut(error)) return error
    throw error
  }
}

/** The files and folders that a request names. */
export interface SelectionInput {
  providerId: string
  /** Absolute within the provider, as the client sent them; not parsed yet. */
  paths: readonly string[]
}

/** The maximum number of paths. */
export const maxSelected = 1000
/** Bytes of UTF-8 of all paths together. */
const maxBytes = 256 * 1024

/** @throws CREDENTIAL_REQUIRED, SCOPE_REQUIRED, INVALID_PATH, PROVIDER_NOT_ALLOWED, OUTSIDE_BASE_PATH, INVALID_INPUT */
export function authorizeSelection(viewer: Viewer | null, input: SelectionInput): ReturnType<typeof authorizeAll> {
  const authorized = authorizeAll(viewer, input)
  requireFewPaths(input.paths)
  return authorized
}

/** @throws INVALID_INPUT */
export function requireFewPaths(paths: readonly string[]): void {
  const bytes = paths.reduce((sum, path) => sum + Buffer.byteLength(path), 0)
  if (paths.length <= maxSelected && bytes <= maxBytes) return
  throw new AppError(
    'INVALID_INPUT',
    `"paths" can name at most ${maxSelected} files and folders, with ${maxBytes} bytes together: name their folder instead.`,
  )
}

/**
 * Passes a selection to `use` as an archive, and ends it when the viewer may no longer read it.
 * @throws as `authorizeSelection`
 */
export async function withSelection<T>(
  { storage, archives, audit }: { storage: Storage; archives: Archives; audit: Audit },
  viewer: Viewer | null,
  input: SelectionInput,
  requestSignal: AbortSignal,
  use: (archive: Archive, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const facts = (more: object = {}) => {
    const sources = input.paths.map(path => ({ providerId: input.providerId, path }))
    const [location] = sources
    return { ...(location && { location }), details: { kind: 'selection', ...namedSources(sources) }, ...more }
  }
  const noteRefusal = (error: unknown): never => {
    if (viewer && error instanceof AppError && error.code === 'FORBIDDEN')
      audit.note(viewer, 'DOWNLOAD', facts(), error)
    throw error
  }
  let authorized: ReturnType<typeof authorizeSelection>
  try {
    authorized = authorizeSelection(viewer, input)
  } catch (error) {
    return noteRefusal(error)
  }
  const [{ common }] = authorized
  const shown = commonPath(authorized.flatMap(({ paths }) => paths))
  const commons = authorized.map(group => group.common)
  return storage.activeGrants.run(commons, requestSignal, async signal => {
    const rootName = shown === root ? (await storage.record(common).catch(noteRefusal)).name : ''
    const topsIn = async ({ common, paths }: GrantedPaths) => {
      const folder = await storage.readAt(common).catch(noteRefusal)
      return paths.map(
        (path): ArchiveTop => ({ location: folder.at(path), entry: null, name: nameOf(path) || rootName }),
      )
    }
    const tops = (await Promise.all(authorized.map(topsIn))).flat()
    const archive: Archive = {
      name: nameOf(shown) || rootName,
      isFolder: false,
      items: running => archives.items(common.viewer, tops, running),
      ended: (bytes, error) => audit.note(common.viewer, 'DOWNLOAD', facts({ bytes }), error),
    }
    return await use(archive, signal)
  })
}
