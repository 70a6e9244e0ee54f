import {
  type QueryClient,
  experimental_streamedQuery as streamedQuery,
  useQuery,
  useQueryClient,
} from '@tanstack/react-query'
import { useMemo } from 'react'
import { type Entry, listFolder, type Page, type Place } from './operations.ts'
import { nameOfPath, parentPath } from './paths.ts'

interface Listing {
  pages: readonly (readonly Entry[])[]
  count: number
  /** False while its first reading goes on, and where that was left. */
  isComplete: boolean
}

const empty: Listing = { pages: [], count: 0, isComplete: false }
/** Beyond it a folder is read again only when somebody asks. */
const manyEntries = 2000
const fiveMinutes = 300_000

const keyOf = ({ providerId, path }: Place) => ['listing', providerId, path] as const

/** Two entries of one name are a file and a folder, which some back ends can hold side by side. */
export function entryKey({ __typename, name }: Entry): string {
  return (__typename === 'Folder' ? '/' : '') + name
}

/** All of a folder, a thousand entries after the other; what is there already can be shown. */
export function useListing(place: Place) {
  const queryKey = keyOf(place)
  const query = useQuery({
    queryKey,
    queryFn: context =>
      streamedQuery<Page, Listing, typeof queryKey>({
        streamFn: ({ signal }) => listFolder(place, signal),
        // A whole listing stays in view until it has been read again.
        refetchMode: context.client.getQueryData<Listing>(queryKey)?.isComplete ? 'replace' : 'reset',
        initialValue: empty,
        reducer: ({ pages, count }, { entries, isLast }) => ({
          pages: [...pages, entries],
          count: count + entries.length,
          isComplete: isLast,
        }),
      })(context),
    structuralSharing: false,
    staleTime: ({ state: { data } }) => (data?.isComplete && data.count > manyEntries ? fiveMinutes : 2000),
  })
  const entries = useMemo(() => query.data?.pages.flat() ?? [], [query.data])
  return { ...query, entries, isComplete: query.data?.isComplete ?? false }
}

/** Reads folders again that were changed from here. */
export function useRefreshFolder() {
  const client = useQueryClient()
  return async (...places: Place[]) => {
    await Promise.all(places.map(place => client.invalidateQueries({ queryKey: keyOf(place) })))
  }
}

/** Puts a stored file, or the folder that came with it, into the listings that are known. */
export function noteStored(client: QueryClient, stored: Place, facts: { size: number; mimeType: string | null }): void {
  const modifiedAt = new Date().toISOString()
  let entry: Entry = { __typename: 'File', name: nameOfPath(stored.path), modifiedAt, ...facts }
  for (let at = stored.path; at !== '/'; at = parentPath(at)) {
    const path = parentPath(at)
    change(client, { ...stored, path }, [], [entry])
    entry = { __typename: 'Folder', name: nameOfPath(path), modifiedAt: null }
  }
}

/** Takes entries out of a listing and puts others in, without reading it again. */
export function change(client: QueryClient, folder: Place, gone: readonly Entry[], come: readonly Entry[]): void {
  const isFolderThere = (page: readonly Entry[], { name }: Entry) =>
    page.some(entry => entry.__typename === 'Folder' && entry.name === name)
  client.setQueryData<Listing>(keyOf(folder), listing => {
    if (!listing?.isComplete) return listing
    // A folder that is there keeps what is known of it.
    const fresh = come.filter(
      entry => entry.__typename === 'File' || !listing.pages.some(page => isFolderThere(page, entry)),
    )
    if (fresh.length === 0 && gone.length === 0) return listing
    const keys = new Set([...gone, ...fresh].map(entryKey))
    const pages = listing.pages.map(page =>
      page.some(entry => keys.has(entryKey(entry))) ? page.filter(entry => !keys.has(entryKey(entry))) : page,
    )
    pages.push(fresh)
    return { pages, count: pages.reduce((sum, page) => sum + page.length, 0), isComplete: true }
  })
}
