import type { Connection, Graphql, RequestOptions } from './graphql.ts'
import type { Location } from './list.ts'

/** A file or folder with a star or a tag, as the catalogue of the server knows it. */
export interface MarkedEntry {
  kind: 'file' | 'folder'
  providerId: string
  /** The name of the storage. */
  providerName: string
  path: string
  name: string
  /** Bytes; null for folders, and where the catalogue does not know it. */
  size: number | null
  modifiedAt: Date | null
}

/** A tag, with the number of the files and folders that have it. */
export interface Tag {
  name: string
  count: number
}

export interface TagChanges {
  add?: readonly string[]
  remove?: readonly string[]
}

const entryFields = '__typename path name modifiedAt provider { id name } ... on File { size }'
const pageFields = 'pageInfo { hasNextPage endCursor }'

const starsQuery = `query Stars($after: String) {
  stars(first: 100, after: $after) { nodes { entry { ${entryFields} } } ${pageFields} }
}`
const taggedQuery = `query TaggedEntries($tag: String!, $after: String) {
  taggedEntries(tag: $tag, first: 100, after: $after) { nodes { ${entryFields} } ${pageFields} }
}`
const tagsQuery = `query Tags($after: String) {
  tags(first: 500, after: $after) { nodes { name count } ${pageFields} }
}`
const addStarMutation = 'mutation AddStar($input: LocationInput!) { addStar(input: $input) }'
const removeStarMutation = 'mutation RemoveStar($input: LocationInput!) { removeStar(input: $input) }'
const updateTagsMutation = 'mutation UpdateTags($input: UpdateTagsInput!) { updateTags(input: $input) }'

interface MarkedNode {
  __typename: 'File' | 'Folder'
  path: string
  name: string
  modifiedAt: string | null
  provider: { id: string; name: string }
  size?: number | null
}

function toMarked({ __typename, path, name, modifiedAt, provider, size }: MarkedNode): MarkedEntry {
  return {
    kind: __typename === 'File' ? 'file' : 'folder',
    providerId: provider.id,
    providerName: provider.name,
    path,
    name,
    size: size ?? null,
    modifiedAt: modifiedAt === null ? null : new Date(modifiedAt),
  }
}

/** Yields the files and folders with a star, the newest star first. @throws StowageError */
export async function* listStars(
  graphql: Graphql,
  options?: RequestOptions,
): AsyncGenerator<MarkedEntry, void, undefined> {
  const connectionOf = ({ stars }: { stars: Connection<{ entry: MarkedNode }> }) => stars
  for await (const { entry } of graphql.nodes(starsQuery, {}, connectionOf, options)) yield toMarked(entry)
}

/** Yields the files and folders with a tag, the ones that got it last first. @throws StowageError */
export async function* listTagged(
  graphql: Graphql,
  tag: string,
  options?: RequestOptions,
): AsyncGenerator<MarkedEntry, void, undefined> {
  const connectionOf = ({ taggedEntries }: { taggedEntries: Connection<MarkedNode> }) => taggedEntries
  for await (const entry of graphql.nodes(taggedQuery, { tag }, connectionOf, options)) yield toMarked(entry)
}

/** Yields the tags of everything that the credential can access, in the order of their names. @throws StowageError */
export function listTags(graphql: Graphql, options?: RequestOptions): AsyncGenerator<Tag, void, undefined> {
  return graphql.nodes(tagsQuery, {}, ({ tags }: { tags: Connection<Tag> }) => tags, options)
}

/** @throws StowageError */
export async function addStar(
  graphql: Graphql,
  { providerId, path }: Location,
  options?: RequestOptions,
): Promise<void> {
  await graphql.run(addStarMutation, { input: { providerId, path } }, options)
}

/** @throws StowageError */
export async function removeStar(
  graphql: Graphql,
  { providerId, path }: Location,
  options?: RequestOptions,
): Promise<void> {
  await graphql.run(removeStarMutation, { input: { providerId, path } }, options)
}

/** Returns the tags that the file or folder has after the change. @throws StowageError */
export async function updateTags(
  graphql: Graphql,
  { providerId, path }: Location,
  { add = [], remove = [] }: TagChanges,
  options?: RequestOptions,
): Promise<string[]> {
  const input = { providerId, path, add, remove }
  return (await graphql.run<{ updateTags: string[] }, object>(updateTagsMutation, { input }, options)).updateTags
}
