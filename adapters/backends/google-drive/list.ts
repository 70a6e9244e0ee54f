import type { Entry, ListPage } from '../../contract.ts'
import { StorageError } from '../../contract.ts'
import { type DriveFiles, fileFields, inFolder } from './files.ts'
import type { DriveFile } from './names.ts'
import { byRank, isDoc, isTemporary, plainName, storedNames, toEntry, toShown, toStored, twinName } from './names.ts'

export interface Selection {
  cursor: string | undefined
  limit: number
  signal: AbortSignal
  /** Called once per page that has names which are not valid in a path. */
  onInvalidNames(ids: readonly string[]): void
}

/** Sorts by name, so that files of the same name are adjacent. */
const orderBy = 'name'

/** Returns one page of a folder, with names made unique. */
export async function listPage(files: DriveFiles, folder: string, selection: Selection): Promise<ListPage> {
  const { cursor, limit, signal } = selection
  const start = cursor === undefined ? undefined : parseCursor(cursor)
  const page = start
    ? await continueFrom(files, folder, start, limit, signal)
    : await fetchPage(files, folder, limit, undefined, signal)
  const names = await uniqueNames(files, folder, page, start !== undefined, signal)
  const entries: Entry[] = []
  const invalid: string[] = []
  for (const file of page.files) {
    const name = names.get(file.id)
    if (name !== undefined) entries.push(toEntry(name, file))
    else if (!isTemporary(file)) invalid.push(file.id)
  }
  if (invalid.length > 0) selection.onInvalidNames(invalid)
  if (page.nextPageToken === undefined) return { entries }
  return { entries, cursor: formatCursor(page.nextPageToken, page.files.at(-1)?.id ?? start?.lastId ?? '') }
}

type DrivePage = Awaited<ReturnType<DriveFiles['list']>>

function fetchPage(
  files: DriveFiles,
  folder: string,
  limit: number,
  pageToken: string | undefined,
  signal: AbortSignal,
) {
  return files.list({ q: inFolder(folder), orderBy, pageSize: limit, pageToken }, fileFields, signal)
}

interface Position {
  pageToken: string
  /** The id of the last entry before this position. */
  lastId: string
}

function formatCursor(pageToken: string, lastId: string): string {
  return `${lastId}.${pageToken}`
}

function parseCursor(cursor: string): Position {
  const dot = cursor.indexOf('.')
  return { lastId: cursor.slice(0, dot), pageToken: cursor.slice(dot + 1) }
}

/**
 * Returns the page at a cursor. Drive's page tokens expire after some hours. Then it lists again from the start to
 * `lastId`.
 */
async function continueFrom(
  files: DriveFiles,
  folder: string,
  { pageToken, lastId }: Position,
  limit: number,
  signal: AbortSignal,
): Promise<DrivePage> {
  try {
    return await fetchPage(files, folder, limit, pageToken, signal)
  } catch (error) {
    if (!isRefusedToken(error)) throw error
  }
  let next: string | undefined
  do {
    const page = await fetchPage(files, folder, limit, next, signal)
    const index = page.files.findIndex(file => file.id === lastId)
    next = page.nextPageToken
    if (index >= 0 && (index + 1 < page.files.length || next === undefined))
      return { ...page, files: page.files.slice(index + 1) }
    if (index >= 0) return await fetchPage(files, folder, limit, next, signal)
  } while (next !== undefined)
  throw new StorageError('UNAVAILABLE', 'The cursor has expired: list the folder from its start.')
}

export function isRefusedToken(error: unknown): boolean {
  const cause = error instanceof StorageError ? error.cause : undefined
  return cause instanceof Error && 'status' in cause && (cause.status === 400 || cause.status === 410)
}

/** Returns a unique name for each file id. Twins, and documents with the name of a file, get the end of their id. */
async function uniqueNames(
  files: DriveFiles,
  folder: string,
  page: DrivePage,
  hasBefore: boolean,
  signal: AbortSignal,
): Promise<Map<string, string>> {
  const groups = Map.groupBy(page.files, file => plainName(file))
  const edge = hasBefore || page.nextPageToken !== undefined ? edgeNames(page, groups, hasBefore) : []
  const known = new Map(page.files.map(file => [file.id, file]))
  if (edge.length > 0) {
    for (const file of await files.named(folder, edge, signal)) if (!known.has(file.id)) known.set(file.id, file)
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
 * Returns the stored names that files on other pages may share with this page: names at the edges of the page, and the
 * plain names of documents, because Drive sorts documents without the ending of their export.
 */
function edgeNames(
  page: DrivePage,
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

/** A coarse sort key. Two twins, and all names that Drive may sort between them, have the same key. */
function sortKey(file: DriveFile): string {
  return (toShown(file.name) ?? '')
    .normalize('NFKD')
    .replace(/[^\p{L}\p{N}]/gu, '')
    .toLowerCase()
}
