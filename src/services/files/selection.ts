/** Several files and folders of one provider that are downloaded as one archive. */
import { authorizeAll, type GrantedPaths } from '../../auth/needs.ts'
import { commonPath, nameOf, root } from '../../auth/path.ts'
import type { Viewer } from '../../auth/viewer.ts'
import { AppError } from '../../errors.ts'
import type { Storage } from '../../storage/index.ts'
import type { Audit } from '../audit/index.ts'
import { namedSources } from '../audit/named-sources.ts'
import type { Archive, Archives, ArchiveTop } from './archive.ts'

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
