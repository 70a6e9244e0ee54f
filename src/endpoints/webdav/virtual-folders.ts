/** Folders that no back end has: the list of storages, and those above the base path of a credential. */
import { root } from '../../auth/path.ts'
import type { Viewer } from '../../auth/viewer.ts'
import type { FileEntry } from '../../services/files/index.ts'
import { formatAddress } from './address.ts'
import type { DavOptions } from './dav-request.ts'
import type { PropertySource } from './live-properties.ts'

export interface VirtualFolder extends Pick<FileEntry, 'providerId' | 'path' | 'name'> {
  href: string
}

/** Returns `/dav/` itself, then the storages that the viewer can access. @throws SCOPE_REQUIRED */
export async function listStorages(
  viewer: Viewer | null,
  { services, basePath }: DavOptions,
): Promise<VirtualFolder[]> {
  const records = await services.providers.list(viewer)
  return [{ id: '', slug: '', name: 'Stowage' }, ...records].map(({ id, slug, name }) => ({
    providerId: id,
    path: root,
    name,
    href: formatAddress(basePath, { slug, path: '/' }, true),
  }))
}

export function virtualSource({ providerId, path, name }: VirtualFolder, viewer: Viewer): PropertySource {
  const unknown = { size: null, modifiedAt: null, etag: null, mimeType: null, checksums: {}, fileId: null }
  return {
    entry: { kind: 'directory', providerId, path, ...unknown },
    displayName: name,
    viewer,
    locks: [],
    hrefOf: () => '',
    quota: null,
  }
}
