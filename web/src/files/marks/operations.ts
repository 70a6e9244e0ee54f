/** Stars and tags of entries. */
import { type QueryClient, useQuery, useQueryClient } from '@tanstack/react-query'
import { useCallback } from 'react'
import { ask } from '../../api/client.ts'
import { workConcurrently } from '../../api/concurrency.ts'
import { graphql, type ResultOf } from '../../api/graphql.ts'
import { childPath, type StorageLocation } from '../../api/locations.ts'
import { usePermissions } from '../../api/session.ts'
import { notifyError } from '../../ui/toasts.tsx'
import { markEntries } from '../listing.ts'
import type { Entry, LocatedEntry } from '../operations.ts'

const StarsQuery = graphql(`
  query Stars($first: Int!, $after: String) {
    stars(first: $first, after: $after) {
      nodes {
        entry {
          __typename name path modifiedAt isStarred tags provider { id name }
          ... on File { size mimeType thumbnailUrl }
        }
      }
      pageInfo { hasNextPage endCursor }
    }
  }
`)

const TaggedQuery = graphql(`
  query TaggedEntries($tag: String!, $first: Int!, $after: String) {
    taggedEntries(tag: $tag, first: $first, after: $after) {
      nodes {
        __typename name path modifiedAt isStarred tags provider { id name }
        ... on File { size mimeType thumbnailUrl }
      }
      pageInfo { hasNextPage endCursor }
    }
  }
`)

const TagsQuery = graphql(`
  query Tags($after: String) {
    tags(first: 500, after: $after) { nodes { name count } pageInfo { hasNextPage endCursor } }
  }
`)

const AddStarMutation = graphql(`
  mutation AddStar($input: LocationInput!) { addStar(input: $input) }
`)

const RemoveStarMutation = graphql(`
  mutation RemoveStar($input: LocationInput!) { removeStar(input: $input) }
`)

const UpdateTagsMutation = graphql(`
  mutation UpdateTags($input: UpdateTagsInput!) { updateTags(input: $input) }
`)

type MarkedNode = ResultOf<typeof TaggedQuery>['taggedEntries']['nodes'][number]

function toLocated({ provider, ...entry }: MarkedNode): LocatedEntry {
  return { ...entry, providerId: provider.id, storage: provider.name }
}

interface MarkedPage {
  nodes: LocatedEntry[]
  pageInfo: { hasNextPage: boolean; endCursor: string | null }
}

/** Entries of a page. */
export const markedPage = 50

/** @throws StowageError */
async function listStars(first: number, after: string | null, signal: AbortSignal): Promise<MarkedPage> {
  const { stars } = await ask(StarsQuery, { first, after }, { signal })
  return { nodes: stars.nodes.map(({ entry }) => toLocated(entry)), pageInfo: stars.pageInfo }
}

/** Returns what a page of marked entries shows: those with a star, or with a tag if it is not null. @throws StowageError */
export async function listMarked(tag: string | null, after: string | null, signal: AbortSignal): Promise<MarkedPage> {
  if (tag === null) return listStars(markedPage, after, signal)
  const { taggedEntries } = await ask(TaggedQuery, { tag, first: markedPage, after }, { signal })
  return { nodes: taggedEntries.nodes.map(toLocated), pageInfo: taggedEntries.pageInfo }
}

/** The first part of the keys of everything that lists stars and tags. */
export const marksKey = 'marks'

/** Reads the entries that got a star last. */
export function useNewestStars(count: number) {
  const { canRead } = usePermissions()
  return useQuery({
    queryKey: [marksKey, 'stars', count],
    queryFn: async ({ signal }) => (await listStars(count, null, signal)).nodes,
    enabled: canRead,
    staleTime: 5000,
  })
}

/** Returns a page of the tags of everything that the viewer may access. @throws StowageError */
export async function listTags(after: string | null, signal: AbortSignal) {
  return (await ask(TagsQuery, { after }, { signal })).tags
}

/** Reads the first tags of everything that the viewer may access, as suggestions. */
export function useTags() {
  const { canRead } = usePermissions()
  return useQuery({
    queryKey: [marksKey, 'first-tags'],
    queryFn: async ({ signal }) => (await listTags(null, signal)).nodes,
    enabled: canRead,
    staleTime: 5000,
  })
}

/** Changes at the same time. */
const atOnce = 4

/**
 * Returns a function that gives entries of a folder a star or, if all of them have one, takes the stars away.
 * @param onDone called after the change
 */
export function useToggleStar(onDone?: () => void) {
  const client = useQueryClient()
  return useCallback(
    async (folder: StorageLocation, entries: readonly Entry[]): Promise<void> => {
      const isStarred = !entries.every(entry => entry.isStarred)
      const change = async (entry: Entry) => {
        const input = { ...folder, path: childPath(folder.path, entry.name) }
        await (isStarred ? ask(AddStarMutation, { input }) : ask(RemoveStarMutation, { input }))
      }
      const changed = entries.filter(entry => Boolean(entry.isStarred) !== isStarred)
      markEntries(client, folder, changed, () => ({ isStarred }))
      const { failures } = await workConcurrently(changed, atOnce, change)
      const failed = failures.map(({ item }) => item)
      markEntries(client, folder, failed, () => ({ isStarred: !isStarred }))
      if (failures[0]) notifyError(failures[0].error)
      await showMarks(client)
      onDone?.()
    },
    [client, onDone],
  )
}

/** @throws StowageError */
export async function updateTags(
  client: QueryClient,
  folder: StorageLocation,
  entry: Entry,
  changes: { add: string[]; remove: string[] },
): Promise<void> {
  const input = { ...folder, path: childPath(folder.path, entry.name), ...changes }
  const { updateTags: tags } = await ask(UpdateTagsMutation, { input })
  markEntries(client, folder, [entry], () => ({ tags }))
}

/** Reads the lists of stars and tags again. */
export async function showMarks(client: QueryClient): Promise<void> {
  await Promise.all([
    client.invalidateQueries({ queryKey: [marksKey] }),
    client.invalidateQueries({ queryKey: ['details'] }),
  ])
}

/** Returns the address of the page of everything with a tag. */
export function tagHref(tag: string): string {
  return `/starred?${new URLSearchParams({ tag })}`
}
