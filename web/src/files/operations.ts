/**
 * Everything that people do with files, in a folder for each part. The path of a folder or a file enters with the address of the
 * page. Views of it leave to the frame of the page, and changes leave to the server.
 *
 * This file has the GraphQL operations that the parts share.
 */
import type { ReactNode } from 'react'
import { ask } from '../api/client.ts'
import { graphql, type ResultOf } from '../api/graphql.ts'
import { perRoot, type StorageLocation } from '../api/locations.ts'

const ProvidersQuery = graphql(`
  query Providers {
    providers {
      id
      name
      status
      statusReason
      type { type title }
      basePaths
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
          lock { holderName }
          hold { id }
          isStarred
          tags
          ... on File { size mimeType thumbnailUrl }
        }
        pageInfo { hasNextPage endCursor }
      }
    }
  }
`)

const UsageQuery = graphql(`
  query FolderUsage($providerId: ID!, $path: String!) {
    folder(providerId: $providerId, path: $path) { usage { files folders bytes isComplete } }
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

const ArchiveTicketQuery = graphql(`
  query ArchiveTicket($input: ArchiveTicketInput!) {
    archiveTicket(input: $input)
  }
`)

const CreateFolderMutation = graphql(`
  mutation CreateFolder($input: CreateFolderInput!) {
    createFolder(input: $input) { name }
  }
`)

const TakeOverUploadMutation = graphql(`
  mutation TakeOverUpload($input: TakeOverUploadInput!) {
    takeOverUpload(input: $input) { path }
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
    delete(input: $input) { trashItem { id } }
  }
`)

const CreateJobMutation = graphql(`
  mutation CreateJob($input: CreateJobInput!) {
    createJob(input: $input) { job { id } }
  }
`)

export type Provider = ReturnType<typeof perRoot<ResultOf<typeof ProvidersQuery>['providers'][number]>>[number]
/** A file or folder in the folder that was queried. Entries from elsewhere can lack their locks, holds, stars and tags. */
export type Entry = Bare<Listed> & Partial<Pick<Listed, Attached>>
type Listed = ResultOf<typeof EntriesQuery>['folder']['entries']['nodes'][number]
type Attached = 'lock' | 'hold' | 'isStarred' | 'tags'
type Bare<Any> = Any extends unknown ? Omit<Any, Attached> : never
/** An entry of any folder. */
export type LocatedEntry = Entry & { providerId: string; path: string; storage: string; note?: ReactNode }
export type FileEntry = Entry & { __typename: 'File' }
export interface Page {
  entries: readonly Entry[]
  isLast: boolean
}

export type Conflict = 'FAIL' | 'REPLACE' | 'RENAME'
export type JobConflict = Exclude<Conflict, 'FAIL'> | 'NEWER' | 'SKIP'

/** Returns one for each topmost folder that the viewer may see. @throws StowageError */
export async function listProviders(signal: AbortSignal): Promise<readonly Provider[]> {
  return perRoot((await ask(ProvidersQuery, {}, { signal })).providers)
}

/** The entries of a folder in pages, in the back end's order. @throws StowageError */
export async function* listFolder(folder: StorageLocation, signal: AbortSignal): AsyncGenerator<Page> {
  const pageAfter = async (after: string | null) =>
    (await ask(EntriesQuery, { ...folder, after }, { signal })).folder.entries
  let page = await pageAfter(null)
  while (page.pageInfo.hasNextPage) {
    yield { entries: page.nodes, isLast: false }
    page = await pageAfter(page.pageInfo.endCursor)
  }
  yield { entries: page.nodes, isLast: true }
}

/** Counts what is in a folder. @throws StowageError */
export async function folderUsage(folder: StorageLocation, signal: AbortSignal) {
  return (await ask(UsageQuery, { ...folder }, { signal })).folder.usage
}

/** Returns a link to the content of a file that needs no header. @throws StowageError */
export async function fileLink(
  file: StorageLocation,
  options: { inline?: boolean; expiresIn?: number } = {},
  signal?: AbortSignal,
): Promise<string> {
  const { inline = false, expiresIn = 300 } = options
  const data = await ask(FileLinkQuery, { ...file, inline, expiresIn }, signal ? { signal } : {})
  return onThisOrigin(data.file.downloadUrl)
}

/** Returns a link to a ZIP archive of a folder. @throws StowageError */
export async function folderLink(folder: StorageLocation): Promise<string> {
  return onThisOrigin((await ask(FolderLinkQuery, { ...folder })).folder.downloadUrl)
}

/** Returns a ticket for one archive of several entries. @throws StowageError */
export async function archiveTicket(providerId: string, paths: string[]): Promise<string> {
  return (await ask(ArchiveTicketQuery, { input: { providerId, paths } })).archiveTicket
}

/** Returns the address of the thumbnail of an entry; null if it has none. @param pixels the longest side */
export function thumbnailOf(entry: Entry, pixels: number): string | null {
  if (entry.__typename === 'Folder' || entry.thumbnailUrl === null) return null
  const url = new URL(entry.thumbnailUrl, location.href)
  url.searchParams.set('size', String(pixels))
  return onThisOrigin(url.href)
}

/** Links go to the origin of this page, because the server may have another public address. */
export function onThisOrigin(url: string): string {
  const { pathname, search } = new URL(url, location.href)
  return pathname + search
}

/** @throws StowageError */
export async function createFolder(folder: StorageLocation): Promise<void> {
  await ask(CreateFolderMutation, { input: { ...folder } })
}

/** Ends the unfinished upload that reserves a path. @throws StowageError */
export async function takeOverUpload(file: StorageLocation, uploadId: string): Promise<void> {
  await ask(TakeOverUploadMutation, { input: { ...file, uploadId } })
}

/** Returns the new name as the back end stored it. @throws StowageError */
export async function rename(entry: StorageLocation, name: string): Promise<string> {
  return (await ask(RenameMutation, { input: { ...entry, name } })).rename.name
}

/** Returns the new path. @throws StowageError */
export async function transfer(
  kind: 'move' | 'copy',
  from: StorageLocation,
  to: StorageLocation,
  conflict: Conflict,
  signal: AbortSignal,
): Promise<string> {
  const input = { ...from, toProviderId: to.providerId, toPath: to.path, conflict }
  if (kind === 'move') return (await ask(MoveMutation, { input }, { signal })).move.path
  return (await ask(CopyMutation, { input }, { signal })).copy.path
}

/** Returns the id in the trash; null if the entry was deleted for good. @throws StowageError */
export async function remove(entry: StorageLocation, recursive: boolean, signal: AbortSignal): Promise<string | null> {
  return (await ask(DeleteMutation, { input: { ...entry, recursive } }, { signal })).delete.trashItem?.id ?? null
}

/** Starts a job and returns its id. @throws StowageError */
export async function createJob(input: {
  kind: 'COPY' | 'MOVE' | 'DELETE' | 'CHECKSUM'
  sources: StorageLocation[]
  target?: StorageLocation
  conflict?: JobConflict
}): Promise<string> {
  return (await ask(CreateJobMutation, { input })).createJob.job.id
}
