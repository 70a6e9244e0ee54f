/** The filters of a search, as the address of the page of results has them. */
import type { StorageLocation } from '../../api/locations.ts'
import type { SearchInput } from './operations.ts'

export interface SearchFilters {
  text: string
  kind: keyof typeof filterKinds | null
  size: keyof typeof sizes | null
  time: keyof typeof times | null
  tag: string | null
  /** The folder to search in; null for all storages. */
  within: StorageLocation | null
}

/** The results that a search is limited to: a kind of entry, or files of a type. */
const filterKinds = {
  folder: { kinds: ['FOLDER'], types: null },
  file: { kinds: ['FILE'], types: null },
  image: { kinds: null, types: ['IMAGE'] },
  video: { kinds: null, types: ['VIDEO'] },
  audio: { kinds: null, types: ['AUDIO'] },
  document: { kinds: null, types: ['DOCUMENT'] },
  spreadsheet: { kinds: null, types: ['SPREADSHEET'] },
  presentation: { kinds: null, types: ['PRESENTATION'] },
  archive: { kinds: null, types: ['ARCHIVE'] },
} satisfies Record<string, Pick<SearchInput, 'kinds' | 'types'>>

const megabyte = 1_000_000
/** Bytes. */
const sizes = {
  small: { minSize: null, maxSize: megabyte - 1 },
  medium: { minSize: megabyte, maxSize: 100 * megabyte },
  large: { minSize: 100 * megabyte, maxSize: 1000 * megabyte },
  huge: { minSize: 1000 * megabyte, maxSize: null },
} as const

/** Days before now. */
const times = {
  day: { after: 1, before: null },
  week: { after: 7, before: null },
  month: { after: 30, before: null },
  year: { after: 365, before: null },
  older: { after: null, before: 365 },
} as const

/** Milliseconds. */
const day = 86_400_000

function oneOf<Key extends string>(value: string | null, keys: Readonly<Record<Key, unknown>>): Key | null {
  return value !== null && Object.hasOwn(keys, value) ? (value as Key) : null
}

export function filtersOf(params: URLSearchParams): SearchFilters {
  const storage = params.get('storage')
  const folder = params.get('folder') ?? '/'
  return {
    text: params.get('text') ?? '',
    kind: oneOf(params.get('kind'), filterKinds),
    size: oneOf(params.get('size'), sizes),
    time: oneOf(params.get('time'), times),
    tag: params.get('tag'),
    within: storage === null ? null : { providerId: storage, path: folder.startsWith('/') ? folder : '/' },
  }
}

/** Returns the address of the page of results. */
export function searchHref({ text, kind, size, time, tag, within }: Partial<SearchFilters> & { text: string }): string {
  const params = new URLSearchParams({ text })
  if (kind) params.set('kind', kind)
  if (size) params.set('size', size)
  if (time) params.set('time', time)
  if (tag) params.set('tag', tag)
  if (within) params.set('storage', within.providerId)
  if (within && within.path !== '/') params.set('folder', within.path)
  return `/search?${params}`
}

export function hasFilters({ kind, size, time, tag, within }: SearchFilters): boolean {
  return kind !== null || size !== null || time !== null || tag !== null || within !== null
}

/** @param now milliseconds since 1970 */
export function inputOf({ text, kind, size, time, tag, within }: SearchFilters, now: number) {
  const at = (days: number | null) => (days === null ? null : new Date(now - days * day).toISOString())
  return {
    text,
    kinds: kind && filterKinds[kind].kinds,
    types: kind && filterKinds[kind].types,
    tag,
    within: within === null ? null : [{ ...within }],
    minSize: size && sizes[size].minSize,
    maxSize: size && sizes[size].maxSize,
    modifiedAfter: time && at(times[time].after),
    modifiedBefore: time && at(times[time].before),
  }
}
