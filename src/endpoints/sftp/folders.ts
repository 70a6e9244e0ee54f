/** The folders that a session sees: the storages by their slugs, those above a base path, and those of a storage. */
import type { Viewer } from '../../auth/viewer.ts'
import { LruMap } from '../../lib/lru-map.ts'
import type { Services } from '../../services/index.ts'
import { plainFolder } from './attributes.ts'
import type { SftpHandle } from './handles.ts'
import { type NamedEntry, nameFields } from './messages.ts'
import { onlyStorages, type SftpPath, type SftpTarget, splitPath, top } from './paths.ts'
import type { PacketWriter } from './wire.ts'

/** Bytes of a response with names. Some clients take no packet that is much larger. */
const maxNamesBytes = 32 * 1024
/** Milliseconds for which the id of a slug is remembered. */
const slugTime = 1000
/** Slugs that are remembered. */
const maxSlugs = 100

/** Finds the storages that the paths of a session name. */
export class SftpTargets {
  readonly #providers: Pick<Services['providers'], 'idOf'>
  readonly #slugs = new LruMap<string, { id: string; at: number }>(maxSlugs)

  constructor(providers: Pick<Services['providers'], 'idOf'>) {
    this.#providers = providers
  }

  /** The service that gets the target authorizes it before it says whether there is such a storage. @throws OUTSIDE_BASE_PATH for the list of storages */
  async of(viewer: Viewer, sftpPath: SftpPath): Promise<SftpTarget> {
    const split = splitPath(sftpPath)
    if (!split) throw onlyStorages()
    const known = this.#slugs.get(split.slug)
    const isRecent = known && performance.now() - known.at < slugTime
    const providerId = isRecent ? known.id : await this.#providers.idOf(viewer, split.slug)
    // Also that there is none, so that time does not tell a storage that is hidden from the viewer.
    if (!isRecent) this.#slugs.set(split.slug, { id: providerId, at: performance.now() })
    return { sftpPath, providerId, path: split.path }
  }
}

/** Opens a folder for READDIR. @throws as `OpenFiles.list` */
export async function openListing(
  { services, signal }: { services: Services; signal: AbortSignal },
  targets: SftpTargets,
  viewer: Viewer,
  path: SftpPath,
): Promise<Pick<Extract<SftpHandle, { kind: 'folder' }>, 'waiting' | 'pages'>> {
  if (path === top) {
    const records = await services.providers.list(viewer)
    return { waiting: records.map(({ slug }) => ({ ...plainFolder, name: slug })), pages: null }
  }
  const target = await targets.of(viewer, path)
  const way = services.files.wayDown(viewer, target)
  if (way) return { waiting: way.slice(1), pages: null }
  return { waiting: [], pages: await services.openFiles.list(viewer, target, signal) }
}

/** Takes the first entries as far as they fit into a response. */
export function takeNames(waiting: NamedEntry[], isWritable: boolean): PacketWriter[] {
  const names: PacketWriter[] = []
  let bytes = 0
  for (const entry of waiting) {
    const fields = nameFields(entry, isWritable)
    if (names.length > 0 && bytes + fields.length > maxNamesBytes) break
    names.push(fields)
    bytes += fields.length
  }
  waiting.splice(0, names.length)
  return names
}
