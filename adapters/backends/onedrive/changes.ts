/**
 * Lists what has changed in a drive (learn.microsoft.com/graph/api/driveitem-delta). Its entries have ids and no paths, so this asks for the
 * folder of each. Only the host knows where an entry was before.
 */
import { changesAtOnce, changesPage } from '../../bases/changes.ts'
import { inParallel } from '../../bases/limits.ts'
import { type ChangedEntry, type ChangesPage, StorageError, type StoragePath } from '../../contract.ts'
import { type DriveItem, fileIdOf, isShown, itemFields } from './entry.ts'
import { isRefused } from './errors.ts'
import type { DriveItems } from './items.ts'

interface DeltaItem extends DriveItem {
  deleted?: object
}

interface DeltaPage {
  value: DeltaItem[]
  '@odata.nextLink'?: string
  '@odata.deltaLink'?: string
}

/** Folders that are asked for at once. */
const foldersAtOnce = 4

export async function changesSince(
  items: DriveItems,
  cursor: string | null,
  signal: AbortSignal,
): Promise<ChangesPage> {
  if (cursor === null) return { changed: [], cursor: await latest(items, signal), hasMore: false }
  try {
    const page = await delta(items, cursor, signal)
    const { token, hasMore } = positionIn(page)
    return changesPage(await changesIn(items, page.value, signal), token, hasMore)
  } catch (error) {
    // The cursor has expired: everything has to be read again.
    if (!isRefused(error, 410)) throw error
    return { changed: 'everything', cursor: await latest(items, signal), hasMore: false }
  }
}

async function latest(items: DriveItems, signal: AbortSignal): Promise<string> {
  return positionIn(await delta(items, 'latest', signal)).token
}

async function delta(items: DriveItems, token: string, signal: AbortSignal): Promise<DeltaPage> {
  const query = new URLSearchParams({ token, $top: String(changesAtOnce), $select: `${itemFields},deleted,root` })
  return (await items.http.request({ url: `${items.drive}/root/delta?${query}`, signal })).data as DeltaPage
}

/** @throws UNAVAILABLE */
function positionIn(page: DeltaPage): { token: string; hasMore: boolean } {
  const { '@odata.nextLink': next, '@odata.deltaLink': end } = page
  // A link has its token as a parameter, or as an argument: `delta(token='...')`.
  const link = URL.parse(next ?? end ?? '')
  const token =
    link?.searchParams.get('token') ??
    link?.searchParams.get('$skiptoken') ??
    link?.searchParams.get('$deltatoken') ??
    /\(token='([^']+)'\)/.exec(decodeURIComponent(link?.pathname ?? ''))?.[1]
  if (!token) throw new StorageError('UNAVAILABLE', 'OneDrive sent an unexpected response: try again.')
  return { token, hasMore: next !== undefined }
}

async function changesIn(items: DriveItems, found: readonly DeltaItem[], signal: AbortSignal): Promise<ChangedEntry[]> {
  const changed = found.filter(item => item.root === undefined)
  const present = changed.filter(item => item.deleted === undefined && isShown(item))
  const parents = new Set(present.flatMap(({ parentReference }) => parentReference?.id ?? []))
  const folders = new Map<string, StoragePath | null>()
  await inParallel(parents, foldersAtOnce, async id => {
    folders.set(id, await items.pathOf(id, signal))
  })
  return changed.map(item => {
    const folder = present.includes(item) ? folders.get(item.parentReference?.id ?? '') : null
    const path = folder === '' ? item.name : `${folder}/${item.name}`
    const isInside = folder !== null && folder !== undefined
    return { fileId: fileIdOf(item), ...(isInside && { path: path as StoragePath }) }
  })
}
