/** The facts that a PROPFIND request loads once for all entries of its response. */
import { formatPath, root, type StoragePath } from '../../auth/path.ts'
import type { FileEntry } from '../../services/files/index.ts'
import type { WebdavLock } from '../../services/webdav/locks.ts'
import { noProperties, type PropertyReader } from '../../services/webdav/properties.ts'
import { type DavRequest, hrefOf } from './dav-request.ts'
import { liveProperties, lockDiscovery, type PropertySource, quotaProperties } from './live-properties.ts'
import type { WantedProperties } from './propfind-body.ts'

interface PropfindFacts {
  properties: PropertyReader
  sourceOf(entry: FileEntry): PropertySource
}

/** Loads only what is wanted. */
export async function loadFacts(dav: DavRequest, entry: FileEntry, wanted: WantedProperties): Promise<PropfindFacts> {
  const { viewer, target, options } = dav
  const { providers, webdavProperties } = options.services
  const names = wanted.kind === 'some' ? wanted.names : wanted.kind === 'all' ? wanted.include : []
  const wantsDead = wanted.kind !== 'some' || names.some(name => !liveProperties.has(name))
  const wantsQuota = names.some(name => quotaProperties.includes(name))
  const [record, locksOf, properties] = await Promise.all([
    wantsQuota || entry.path === root ? providers.get(viewer, target.providerId) : null,
    wanted.kind === 'all' || names.includes(lockDiscovery) ? findLocks(dav, entry) : () => [],
    wantsDead ? webdavProperties.reader(viewer, target) : noProperties,
  ])
  const quota = wantsQuota && record ? await providers.quota(viewer, record, dav.signal) : null
  const used = quota?.used ?? null
  const space = { used, available: quota?.total == null || used === null ? null : Math.max(0, quota.total - used) }
  return {
    properties,
    sourceOf: each => ({
      entry: each,
      displayName: each.path === root ? (record?.name ?? '') : each.name,
      viewer,
      locks: locksOf(each.path),
      hrefOf: lock => hrefOf(options, { slug: target.slug, path: formatPath(lock.path) }, false),
      quota: each.kind === 'directory' ? space : null,
    }),
  }
}

/** Returns a function that finds the locks that hold for an entry, which is the target or directly in it. */
async function findLocks(
  { viewer, target, options }: DavRequest,
  entry: FileEntry,
): Promise<(path: StoragePath) => WebdavLock[]> {
  const { webdavLocks } = options.services
  const [covering, within] = await Promise.all([
    webdavLocks.covering(viewer, target),
    webdavLocks.within(viewer, target),
  ])
  const deep = covering.filter(({ isDeep }) => isDeep)
  const byPath = Map.groupBy(within, ({ path }) => path)
  return path => {
    if (path === entry.path) return covering
    const own = byPath.get(path)
    return own ? [...deep, ...own] : deep
  }
}
