import type { FolderPage } from '../../bases/objects/folders.ts'
import type { Bucket } from './bucket.ts'
import { decodeKey, fileEntry, folderEntry, isName, isProbe } from './entry.ts'

export interface Selection {
  /** Empty, or ending in `/`. */
  folderKey: string
  /** The last name of the page before, with `/` for a folder, or any other text; undefined for the first page. */
  after: string | undefined
  limit: number
  signal: AbortSignal
}

/** The maximum number of keys in one response. */
const maxKeys = 1000
/** This character sorts after everything that may follow a `/`, except repetitions of itself. */
const last = '\u{10FFFF}'

/**
 * Returns one page of a folder with one request. Entries are sorted by key, where a folder's name ends in `/`.
 *
 * The cursor is the last name of the page, with `/` for a folder, so it stays valid while entries are added and removed. A
 * file hides a folder of the same name. The file sorts first, but other keys may sort between the two.
 */
export async function listPage(bucket: Bucket, { folderKey, after, limit, signal }: Selection): Promise<FolderPage> {
  const response = await bucket.call(signal, (s3, options) =>
    s3.listObjectsV2(
      {
        Bucket: bucket.name,
        Prefix: folderKey,
        Delimiter: '/',
        EncodingType: 'url',
        // The first page also gets the folder's own marker.
        MaxKeys: Math.min(maxKeys, limit + (after === undefined ? 1 : 0)),
        ...(after === undefined ? {} : { StartAfter: folderKey + (after.endsWith('/') ? after + last : after) }),
      },
      options,
    ),
  )
  const { Contents = [], CommonPrefixes = [] } = response
  const listed = [
    ...Contents.map(object => ({ key: decodeKey(object.Key ?? ''), object })),
    ...CommonPrefixes.map(({ Prefix }) => ({ key: decodeKey(Prefix ?? ''), object: undefined })),
  ]
  const names = listed
    .map(({ key, object }) => ({ name: key?.slice(folderKey.length), object }))
    .filter(({ name }) => name !== '' && !(after !== undefined && name !== undefined && compare(name, after) <= 0))
    .sort((a, b) => compare(a.name ?? '', b.name ?? ''))
  const page = names.slice(0, limit)
  const files = new Set<string>()
  const found: FolderPage = {
    entries: [],
    invalid: [],
    hidden: [],
    isMissing: after === undefined && listed.length === 0,
  }
  for (const { name, object } of page) {
    const leaf = object ? name : name?.slice(0, -1)
    if (leaf === undefined || !isName(leaf)) found.invalid.push(name)
    else if (!object && isProbe(leaf)) continue
    else if (object) {
      files.add(leaf)
      found.entries.push(fileEntry(leaf, bucket.fileId(folderKey + leaf), object.Size ?? 0, object))
    } else if (await isFile(leaf)) found.hidden.push(leaf)
    else found.entries.push(folderEntry(leaf, bucket.fileId(`${folderKey}${leaf}/`)))
  }
  // A name that is not UTF-8 cannot be a cursor. Such names sort first here, so the last name of the page is valid.
  const end = page.at(-1)?.name
  if (end !== undefined && (response.IsTruncated || names.length > limit)) found.cursor = end
  return found

  /**
   * Returns true if a file has this name. Needs a request only where an earlier page ended between the file and the
   * folder.
   */
  async function isFile(leaf: string): Promise<boolean> {
    if (files.has(leaf)) return true
    const mayBeBefore = after?.startsWith(leaf) && compare(after, `${leaf}/`) < 0
    return mayBeBefore ? (await bucket.head(folderKey + leaf, signal)) !== undefined : false
  }
}

/** Returns a text that sorts between `text` and all names that sort before it. */
export function textBefore(text: string): string {
  const points = [...text]
  const code = points.pop()?.codePointAt(0) ?? 0
  const start = points.join('')
  if (code === 0) return start
  // There are no characters from U+D800 to U+DFFF.
  const before = code === 0xe000 ? 0xd7ff : code - 1
  return start + String.fromCodePoint(before) + last
}

/** Compares by the bytes of UTF-8, as servers do. JavaScript compares by UTF-16. */
export function compare(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b))
}
