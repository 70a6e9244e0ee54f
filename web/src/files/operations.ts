/** What the pages of files ask of the server. */
import { graphql, type ResultOf } from '../api/graphql.ts'
import { ask } from '../api/request.ts'

export const ProvidersQuery = graphql(`
  query Providers {
    providers {
      id
      name
      status
      statusReason
      type { type title }
      root { path }
    }
  }
`)

const EntriesQuery = graphql(`
  query Entries($providerId: ID!, $path: String!, $after: String) {
    folder(providerId: $providerId, path: $path) {
      entries(first: 1000, after: $after) {
        nodes {
          __typename
          name
          modifiedAt
          ... on File { size mimeType }
        }
        pageInfo { hasNextPage endCursor }
      }
    }
  }
`)

const FoldersQuery = graphql(`
  query Subfolders($providerId: ID!, $path: String!, $after: String) {
    folder(providerId: $providerId, path: $path) {
      entries(first: 1000, after: $after) {
        nodes { __typename name }
        pageInfo { hasNextPage endCursor }
      }
    }
  }
`)

const FileLinkQuery = graphql(`
  query FileLink($providerId: ID!, $path: String!, $inline: Boolean!, $expiresIn: Int!) {
    file(providerId: $providerId, path: $path) { downloadUrl(inline: $inline, expiresIn: $expiresIn) }
  }
`)

const FolderLinkQuery = graphql(`
  query FolderLink($providerId: ID!, $path: String!) {
    folder(providerId: $providerId, path: $path) { downloadUrl }
  }
`)

const CreateFolderMutation = graphql(`
  mutation CreateFolder($input: CreateFolderInput!) {
    createFolder(input: $input) { name }
  }
`)

const RenameMutation = graphql(`
  mutation Rename($input: RenameInput!) {
    rename(input: $input) { name }
  }
`)

const MoveMutation = graphql(`
  mutation Move($input: MoveInput!) {
    move(input: $input) { path }
  }
`)

const CopyMutation = graphql(`
  mutation Copy($input: CopyInput!) {
    copy(input: $input) { path }
  }
`)

const DeleteMutation = graphql(`
  mutation Delete($input: DeleteInput!) {
    delete(input: $input) { deletedPath }
  }
`)

export type Provider = ResultOf<typeof ProvidersQuery>['providers'][number]
/** A file or folder within the folder that was asked for. */
export type Entry = ResultOf<typeof EntriesQuery>['folder']['entries']['nodes'][number]
export interface Page {
  entries: readonly Entry[]
  isLast: boolean
}

export interface Place {
  providerId: string
  path: string
}

export type Conflict = 'FAIL' | 'REPLACE' | 'RENAME'

export async function providers(signal?: AbortSignal): Promise<readonly Provider[]> {
  return (await ask(ProvidersQuery, {}, signal ? { signal } : {})).providers
}

/** The entries of a folder in pages, in the back end's order. @throws ApiError */
export async function* listFolder(place: Place, signal: AbortSignal): AsyncGenerator<Page> {
  const pageAfter = async (after: string | null) =>
    (await ask(EntriesQuery, { ...place, after }, { signal })).folder.entries
  let page = await pageAfter(null)
  while (page.pageInfo.hasNextPage) {
    yield { entries: page.nodes, isLast: false }
    page = await pageAfter(page.pageInfo.endCursor)
  }
  yield { entries: page.nodes, isLast: true }
}

/** Names of the folders in a folder. @throws ApiError */
export async function listSubfolders(place: Place, signal: AbortSignal): Promise<string[]> {
  const pageAfter = async (after: string | null) =>
    (await ask(FoldersQuery, { ...place, after }, { signal })).folder.entries
  const names: string[] = []
  for (let after: string | null = null, isLast = false; !isLast; ) {
    const { nodes, pageInfo } = await pageAfter(after)
    for (const { __typename, name } of nodes) if (__typename === 'Folder') names.push(name)
    after = pageInfo.endCursor
    isLast = !pageInfo.hasNextPage
  }
  return names
}

/** To its bytes, without a header; on this origin, however the server may be called elsewhere. @throws ApiError */
export async function fileLink(
  place: Place,
  options: { inline?: boolean; expiresIn?: number } = {},
  signal?: AbortSignal,
): Promise<string> {
  const { inline = false, expiresIn = 300 } = options
  const { file } = await ask(FileLinkQuery, { ...place, inline, expiresIn }, signal ? { signal } : {})
  return onThisOrigin(file.downloadUrl)
}

/** To a ZIP file of all in it. @throws ApiError */
export async function folderLink(place: Place): Promise<string> {
  return onThisOrigin((await ask(FolderLinkQuery, { ...place })).folder.downloadUrl)
}

function onThisOrigin(url: string): string {
  const { pathname, search } = new URL(url, location.href)
  return pathname + search
}

export async function createFolder(place: Place): Promise<void> {
  await ask(CreateFolderMutation, { input: { ...place } })
}

/** @returns the name that it has now */
export async function rename(place: Place, name: string): Promise<string> {
  return (await ask(RenameMutation, { input: { ...place, name } })).rename.name
}

export async function transfer(
  kind: 'move' | 'copy',
  from: Place,
  to: Place,
  conflict: Conflict,
  signal: AbortSignal,
): Promise<void> {
  const input = { ...from, toProviderId: to.providerId, toPath: to.path, conflict }
  if (kind === 'move') await ask(MoveMutation, { input }, { signal })
  else await ask(CopyMutation, { input }, { signal })
}

export async function remove(place: Place, recursive: boolean, signal: AbortSignal): Promise<void> {
  await ask(DeleteMutation, { input: { ...place, recursive } }, { signal })
}
