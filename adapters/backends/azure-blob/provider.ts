import { hasCode } from '../../bases/errors.ts'
import { inParallel } from '../../bases/limits.ts'
import type { FolderPage, KeyPage, ObjectDriver, Selection } from '../../bases/objects/driver.ts'
import { ObjectProvider } from '../../bases/objects/provider.ts'
import type { Host, LinkHeaders } from '../../contract.ts'
import { Container, defaultLimits, type Limits } from './client.ts'
import type { AzureSettings } from './config.ts'
import { tokenSource } from './entra.ts'
import { type Described, fileEntry, folderMark, isName, isStaging, Keys, nameTraits } from './entry.ts'
import { unreachable } from './errors.ts'
import { makeDirectory, probe, removeDirectory, rename } from './hierarchy.ts'
import { openBlob } from './read.ts'
import { type BlobLink, serviceSas } from './signature.ts'
import { fileStore, maxFileSize, uploadDriver } from './uploads.ts'
import { blobVersions, keepsVersions } from './versions.ts'
import { copyBlob, md5Of, putWhole } from './write.ts'

/** @throws INVALID_CONFIG; UNAVAILABLE during an outage */
export async function openProvider(
  settings: AzureSettings,
  host: Host,
  { authority, ...limits }: Partial<Limits> & { authority: string },
): Promise<ObjectProvider<Described>> {
  const own = { ...defaultLimits, ...limits }
  const token = tokenSource(settings, host, { authority, backoff: own.backoff })
  const container = new Container(settings, host, own, token)
  try {
    const { isHierarchical } = await probe(container, host.signal)
    // An account with a hierarchical namespace has no versions.
    const isVersioned = !isHierarchical && (await keepsVersions(container, host.signal))
    return new ObjectProvider(azureDriver(container, host, { isHierarchical, isVersioned }), host)
  } catch (error) {
    container.close()
    throw error
  }
}

/** The number of concurrent deletions. */
const removedAtOnce = 32

/**
 * With a hierarchical namespace, folders are real. Without one, the marker of an empty folder is an empty blob with the name of the
 * folder and the metadata `hdi_isfolder`.
 */
function azureDriver(
  container: Container,
  host: Host,
  { isHierarchical, isVersioned }: { isHierarchical: boolean; isVersioned: boolean },
): ObjectDriver<Described> {
  const { settings, limits } = container
  const keys = new Keys(settings.base, isHierarchical)
  const onUnfreed = (error: unknown) =>
    host.warn('The parts of an upload remain in the container after the file was stored', { error })
  return {
    limits,
    traits: { maxFileSize, keepsModifiedAt: true, ...nameTraits },
    keys,
    uploads: uploadDriver(container, keys, onUnfreed),
    folderStyle: isHierarchical ? 'real' : 'beside',
    fileId: key => container.fileId(key),
    fileEntry: (name, key, blob) => fileEntry(name, container.fileId(key), blob),
    isFolder: blob => blob.isFolder,
    isName,
    isHidden: isStaging,

    head: (key, signal) => container.head(key, signal),
    list: (prefix, options, signal) => container.list(prefix, options, signal),
    page: selection => pageOf(container, isHierarchical, selection),

    get: (key, range, etag, signal) => openBlob(container, { key, etag }, range, signal),

    unreachable: error => unreachable(error, settings),
    put: async (destination, file, bytes) => await putWhole(container, destination, file, bytes, await md5Of(bytes)),
    fileStore: (destination, body, options) => fileStore(container, keys, destination, body, options, onUnfreed),
    copy: (source, destination) => copyBlob(container, source, destination),
    remove: (key, signal) => container.remove(key, signal),
    removeAll: (all, signal) => inParallel(all, removedAtOnce, key => container.remove(key, signal)),

    async makeFolder(path, signal) {
      try {
        if (isHierarchical) await makeDirectory(container, keys.file(path), signal)
        else await makeMarker(container, keys.file(path), signal)
        return true
      } catch (error) {
        if (hasCode(error, 'ALREADY_EXISTS', 'PRECONDITION_FAILED')) return false
        throw error
      }
    },

    ...(isVersioned && { versions: blobVersions(container) }),
    ...(isHierarchical && {
      removeFolder: (key: string, isRecursive: boolean, signal: AbortSignal) =>
        removeDirectory(container, key, isRecursive, signal),
      rename: (from: string, to: string, overwrite: boolean) => rename(container, from, to, overwrite),
    }),
    presign: async (key, options) => linkTo(container, key, options),
    close: () => container.close(),
  }
}

async function makeMarker(container: Container, key: string, signal: AbortSignal | undefined): Promise<void> {
  const headers = { 'x-ms-blob-type': 'BlockBlob', 'if-none-match': '*', [`x-ms-meta-${folderMark}`]: 'true' }
  await container.call({ method: 'PUT', key, headers }, signal)
}

async function pageOf(
  container: Container,
  isHierarchical: boolean,
  selection: Selection,
): Promise<FolderPage<Described>> {
  const { items, next } = await listAt(container, selection)
  const [least = ''] = items.flatMap(({ key }) => key ?? []).toSorted()
  return {
    items,
    cursor: cursorFor(next, items.at(-1)?.key?.slice(selection.folderKey.length) ?? ''),
    mayBeEarlier: key => !isHierarchical && selection.cursor !== undefined && key < least,
  }
}

/** The maximum length of a cursor. */
const maxCursor = 1024
/** Begins a cursor that is a marker of Azure, which stays valid while entries are added and removed. */
const atMarker = 'at:'
/** Begins a cursor that is the last name of the page, where the marker is too long. */
const afterName = 'after:'
/** This character sorts after nearly all others. */
const last = '\u{10FFFF}'

function cursorFor(marker: string | undefined, name: string): string | undefined {
  if (marker === undefined) return undefined
  if (marker.length <= maxCursor - atMarker.length) return atMarker + marker
  const room = maxCursor - afterName.length
  return afterName + (name.length > room ? name.slice(0, room - last.length) + last : name)
}

async function listAt(
  container: Container,
  { folderKey, cursor, limit, signal }: Selection,
): Promise<KeyPage<Described>> {
  const list = (after: string | undefined) => container.list(folderKey, { delimiter: '/', limit, after }, signal)
  if (!cursor?.startsWith(afterName)) return await list(cursor?.slice(atMarker.length))
  const end = folderKey + cursor.slice(afterName.length)
  for (let marker: string | undefined; ; ) {
    const page = await list(marker)
    const items = page.items.filter(({ key }) => key === undefined || key > end)
    if (items.length > 0 || page.next === undefined) return { items, next: page.next }
    marker = page.next
  }
}

/** Seconds: a week. */
const maxExpiry = 7 * 24 * 3600

interface LinkOptions {
  method: 'GET' | 'PUT'
  /** Seconds. */
  expiresIn: number
  responseHeaders?: LinkHeaders | undefined
}

/**
 * Signs a link. Sends no request. Returns null without an account key: a signature or a token
 * alone cannot sign a narrower link.
 *
 * A write link can be used for this one blob alone. Its holder can add `x-ms-copy-source`, and Azure then asks for a signature
 * of that source, too. Other servers, such as the emulator, may not, so they get no write links.
 */
function linkTo(
  container: Container,
  key: string,
  { method, expiresIn, responseHeaders }: LinkOptions,
): { url: URL; headers: Record<string, string> } | null {
  const { credentials, account, container: name, endpoint, isAzure } = container.settings
  if (credentials.kind !== 'key' || (method === 'PUT' && !isAzure)) return null
  const link: BlobLink = {
    container: name,
    key,
    permissions: method === 'GET' ? 'r' : 'cw',
    expiresAt: new Date(container.clock() + Math.min(expiresIn, maxExpiry) * 1000),
    isSecure: endpoint.protocol === 'https:',
    headers: method === 'GET' ? responseHeaders : undefined,
  }
  const url = container.linkOf(key, serviceSas({ account, key: credentials.key }, link))
  return { url, headers: method === 'PUT' ? { 'x-ms-blob-type': 'BlockBlob' } : {} }
}
