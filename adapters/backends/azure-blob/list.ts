import type { FolderPage } from '../../bases/objects/folders.ts'
import type { Entry } from '../../contract.ts'
import type { Container } from './container.ts'
import { fileEntry, folderEntry, isName, isStaging } from './entry.ts'
import { hasCode } from './errors.ts'
import { type ListedPage, parseListing } from './xml.ts'

export interface Selection {
  isHierarchical: boolean
  /** Empty, or ending in `/`. */
  folderKey: string
  cursor: string | undefined
  limit: number
  signal: AbortSignal
}

/**
 * Returns one page of a folder.
 *
 * Without a hierarchical namespace, a folder can be listed twice: as the blob that marks it, and as the prefix of the blobs in
 * it. A file hides a folder of the same name. The blob sorts first, but other names may sort between the two, so a page may
 * begin there.
 */
export async function listPage(container: Container, selection: Selection): Promise<FolderPage> {
  const { isHierarchical, folderKey, cursor, signal } = selection
  const { items, marker } = await pageAt(container, selection)
  const blobs = new Map(items.flatMap(({ key, blob }) => (key !== undefined && blob ? [[key, blob]] : [])))
  const [least = ''] = items.flatMap(({ key }) => key ?? []).toSorted()
  const isMissing = cursor === undefined && items.length === 0 && marker === ''
  const found: FolderPage = { entries: [], invalid: [], hidden: [], isMissing }
  for (const { key, blob } of items) {
    // A marker that ends in `/`, as other programs write it.
    if (blob && key === folderKey) continue
    const name = blob ? key?.slice(folderKey.length) : key?.slice(folderKey.length, -1)
    if (name !== undefined && isName(name)) found.entries.push(...(await entriesFor(name, blob)))
    else if (!isStaging(name ?? '')) found.invalid.push(name)
  }
  const next = cursorFor(marker, items.at(-1)?.key?.slice(folderKey.length) ?? '')
  if (next !== undefined) found.cursor = next
  return found

  async function entriesFor(name: string, blob: ListedPage['items'][number]['blob']): Promise<Entry[]> {
    const key = folderKey + name
    if (blob && !blob.isFolder) return [fileEntry(name, container.fileId(key), blob)]
    const same = blob ? undefined : await blobOfPrefix(key)
    if (same?.isFolder === false) found.hidden.push(name)
    return same ? [] : [folderEntry(name, container.fileId(`${key}/`))]
  }

  /** Takes a request only for a blob that would be on an earlier page. */
  async function blobOfPrefix(key: string) {
    const onPage = blobs.get(key)
    const isKnown = onPage || isHierarchical || cursor === undefined || key >= least
    return isKnown ? onPage : await container.head(key, signal)
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

function cursorFor(marker: string, name: string): string | undefined {
  if (marker === '') return undefined
  if (marker.length <= maxCursor - atMarker.length) return atMarker + marker
  const room = maxCursor - afterName.length
  return afterName + (name.length > room ? name.slice(0, room - last.length) + last : name)
}

async function pageAt(container: Container, { folderKey, cursor, limit, signal }: Selection): Promise<ListedPage> {
  const list = (marker: string | undefined) =>
    listBlobs(container, { prefix: folderKey, delimiter: '/', limit, marker }, signal)
  if (!cursor?.startsWith(afterName)) return await list(cursor?.slice(atMarker.length))
  const end = folderKey + cursor.slice(afterName.length)
  for (let marker: string | undefined; ; ) {
    const page = await list(marker)
    const items = page.items.filter(({ key }) => key === undefined || key > end)
    if (items.length > 0 || page.marker === '') return { items, marker: page.marker }
    marker = page.marker
  }
}

/** Sends one request for a listing, which is empty for a missing folder. */
export async function listBlobs(
  container: Container,
  query: { prefix: string; delimiter?: '/'; limit: number; marker?: string | undefined },
  signal?: AbortSignal,
): Promise<ListedPage> {
  const { prefix, delimiter, limit, marker } = query
  const selection = {
    restype: 'container',
    comp: 'list',
    include: 'metadata',
    maxresults: String(limit),
    ...(prefix && { prefix }),
    ...(delimiter && { delimiter }),
    ...(marker && { marker }),
  }
  try {
    const { text } = await container.call({ method: 'GET', query: selection }, signal)
    return parseListing(text)
  } catch (error) {
    if (hasCode(error, 'NOT_FOUND')) return { items: [], marker: '' }
    throw error
  }
}
