import type { ListPage } from '../contract.ts'
import type { Bucket } from './bucket.ts'
import { fileEntry, folderEntry } from './entry.ts'
import { decodeKey, isName, isProbe } from './keys.ts'

export interface Selection {
  /** Empty, or ending in `/`. */
  folderKey: string
  cursor: string | undefined
  limit: number
  signal: AbortSignal
}

export interface Found extends ListPage {
  /** The names that no path can hold; the listing leaves them out. */
  invalid: (string | undefined)[]
  /** Folders that have the same name as a file. */
  hidden: string[]
  /** True where no key lies below, not even a marker. */
  isMissing: boolean
}

/** The maximum number of keys in one response. */
const maxKeys = 1000
/** Sorts after all that may follow a `/`, but for more of itself. */
const last = '\u{10FFFF}'

/**
 * One request, whatever the size of the folder. The order is that of the keys, in which a folder ends in `/`.
 *
 * A cursor is the last name met, with its `/` where it is a folder, so it stays good while entries come and go. A file and
 * a folder of one name are one entry, the file; in the order of keys the file comes first, but others may lie in between.
 */
export async function listPage(bucket: Bucket, { folderKey, cursor: after, limit, signal }: Selection): Promise<Found> {
  const answer = await bucket.call(signal, (s3, options) =>
    s3.listObjectsV2(
      {
        Bucket: bucket.name,
        Prefix: folderKey,
        Delimiter: '/',
        EncodingType: 'url',
        // One more for the folder's own marker.
        MaxKeys: Math.min(maxKeys, limit + (after === undefined ? 1 : 0)),
        ...(after === undefined ? {} : { StartAfter: folderKey + (after.endsWith('/') ? after + last : after) }),
      },
      options,
    ),
  )
  const { Contents = [], CommonPrefixes = [] } = answer
  const met = [
    ...Contents.map(object => ({ key: decodeKey(object.Key ?? ''), object })),
    ...CommonPrefixes.map(({ Prefix }) => ({ key: decodeKey(Prefix ?? ''), object: undefined })),
  ]
  const names = met
    .map(({ key, object }) => ({ name: key?.slice(folderKey.length), object }))
    .filter(({ name }) => name !== '' && !(after !== undefined && name !== undefined && compare(name, after) <= 0))
    .sort((a, b) => compare(a.name ?? '', b.name ?? ''))
  const page = names.slice(0, limit)
  const files = new Set<string>()
  const found: Found = { entries: [], invalid: [], hidden: [], isMissing: after === undefined && met.length === 0 }
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
  // A name that is not UTF-8 is no cursor; such sort first here, so that a good one is the last.
  const end = page.at(-1)?.name
  if (end !== undefined && (answer.IsTruncated || names.length > limit)) found.cursor = end
  return found

  /** Only where an earlier page ended between the two does it take a request. */
  async function isFile(leaf: string): Promise<boolean> {
    if (files.has(leaf)) return true
    const mayBeBefore = after?.startsWith(leaf) && compare(after, `${leaf}/`) < 0
    return mayBeBefore ? (await bucket.head(folderKey + leaf, signal)) !== undefined : false
  }
}

/** By bytes of UTF-8, as servers sort; JavaScript's own order is that of UTF-16. */
export function compare(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b))
}
