import type { Entry, ListPage } from '../contract.ts'
import { StorageError } from '../contract.ts'
import { type DriveFile, fileFields } from './api.ts'
import { toEntry } from './entry.ts'
import { type DriveFiles, inFolder } from './files.ts'
import { byRank, isAside, isDoc, plainName, storedNames, toShown, toStored, twinName } from './names.ts'

export interface Selection {
  cursor: string | undefined
  limit: number
  signal: AbortSignal
  /** Told once per page. */
  onInvalidNames(ids: readonly string[]): void
}

/** Twins come one after the other in this order. */
const orderBy = 'name'

/** A page of Drive's own, with the names made unique. */
export async function listPage(files: DriveFiles, folder: string, selection: Selection): Promise<ListPage> {
  const { cursor, limit, signal } = selection
  const start = cursor === undefined ? undefined : parseCursor(cursor)
  const page = start
    ? await continued(files, folder, start, limit, signal)
    : await ask(files, folder, limit, undefined, signal)
  const names = await uniqueNames(files, folder, page, start !== undefined, signal)
  const entries: Entry[] = []
  const invalid: string[] = []
  for (const file of page.files) {
    const name = names.get(file.id)
    if (name !== undefined) entries.push(toEntry(name, file))
    else if (!isAside(file)) invalid.push(file.id)
  }
  if (invalid.length > 0) selection.onInvalidNames(invalid)
  if (page.nextPageToken === undefined) return { entries }
  return { entries, cursor: formatCursor(page.nextPageToken, page.files.at(-1)?.id ?? start?.lastId ?? '') }
}

type Page = Awaited<ReturnType<DriveFiles['list']>>

function ask(files: DriveFiles, folder: string, limit: number, pageToken: string | undefined, signal: AbortSignal) {
  return files.list({ q: inFolder(folder), orderBy, pageSize: limit, pageToken }, fileFields, signal)
}

interface Position {
  pageToken: string
  /** The last entry before it. */
  lastId: string
}

function formatCursor(pageToken: string, lastId: string): string {
  return `${lastId}.${pageToken}`
}

function parseCursor(cursor: string): Position {
  const dot = cursor.indexOf('.')
  return { lastId: cursor.slice(0, dot), pageToken: cursor.slice(dot + 1) }
}

/** Drive's page tokens end after some hours: then the way is gone again from the start, to the entry that was last. */
async function continued(
  files: DriveFiles,
  folder: string,
  { pageToken, lastId }: Position,
  limit: number,
  signal: AbortSignal,
): Promise<Page> {
  try {
    return await ask(files, folder, limit, pageToken, signal)
  } catch (error) {
    if (!isRefusedToken(error)) throw error
  }
  let next: string | undefined
  do {
    const page = await ask(files, folder, limit, next, signal)
    const at = page.files.findIndex(file => file.id === lastId)
    next = page.nextPageToken
    if (at >= 0 && (at + 1 < page.files.length || next === undefined))
      return { ...page, files: page.files.slice(at + 1) }
    if (at >= 0) return await ask(files, folder, limit, next, signal)
  } while (next !== undefined)
  throw new StorageError('UNAVAILABLE', 'The listing was left for too long: list the folder from its start.')
}

function isRefusedToken(error: unknown): boolean {
  const cause = error instanceof StorageError ? error.cause : undefined
  return cause instanceof Error && 'status' in cause && cause.status === 400
}

/** Several of one name, and documents with the name of a file, are told apart by the ends of their ids. */
async function uniqueNames(
  files: DriveFiles,
  folder: string,
  page: Page,
  hasBefore: boolean,
  signal: AbortSignal,
): Promise<Map<string, string>> {
  const groups = Map.groupBy(page.files, file => plainName(file))
  const doubtful = hasBefore || page.nextPageToken !== undefined ? doubtfulNames(page, groups, hasBefore) : []
  const known = new Map(page.files.map(file => [file.id, file]))
  if (doubtful.length > 0) {
    for (const file of await files.named(folder, doubtful, signal)) if (!known.has(file.id)) known.set(file.id, file)
  }
  const names = new Map<string, string>()
  for (const [plain, twins] of Map.groupBy(known.values(), file => plainName(file))) {
    if (plain === undefined) continue
    for (const [rank, file] of twins.sort(byRank).entries())
      names.set(file.id, rank === 0 ? plain : twinName(file, plain))
  }
  return names
}

/**
 * Names in Drive whose bearers may lie on another page: those of twins at the edges, and what documents are shown as,
 * since they are sorted without the ending that is lent to them.
 */
function doubtfulNames(
  page: Page,
  groups: ReadonlyMap<string | undefined, readonly DriveFile[]>,
  hasBefore: boolean,
): string[] {
  const edges = [hasBefore ? page.files[0] : undefined, page.nextPageToken ? page.files.at(-1) : undefined]
  const keys = edges.flatMap(file => (file ? [sortKey(file)] : []))
  return [...groups].flatMap(([plain, files]) => {
    if (plain === undefined) return []
    if (files.some(file => keys.includes(sortKey(file)))) return storedNames(plain)
    return files.some(isDoc) ? [toStored(plain)] : []
  })
}

/** Coarser than any order that Drive may sort by: what differs here is not between twins. */
function sortKey(file: DriveFile): string {
  return (toShown(file.name) ?? '')
    .normalize('NFKD')
    .replace(/[^\p{L}\p{N}]/gu, '')
    .toLowerCase()
}
