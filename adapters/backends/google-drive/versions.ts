/**
 * The revisions that Google Drive keeps of files with content: for 30 days, and at most 100 of a file. Documents have none that can be
 * downloaded. https://developers.google.com/workspace/drive/api/reference/rest/v3/revisions
 */
import type { drive_v3 } from '@googleapis/drive'
import { bodyOfLength } from '../../bases/cloud/client.ts'
import { hasCode, noVersion, positionsOf, rangeHeader } from '../../bases/errors.ts'
import {
  type ByteRange,
  type Call,
  type Entry,
  type NativeVersion,
  type NativeVersions,
  nameOf,
  type StoragePath,
  segmentsOf,
} from '../../contract.ts'
import type { Tree } from './destination.ts'
import { type ApiRequest, asStorageError, fileUrl } from './files.ts'
import { type DriveFile, isDoc, isFolder } from './names.ts'

/** The maximum number of revisions in one response. */
const maxPage = 1000
const fields = 'id,modifiedTime,size,md5Checksum,mimeType'

type Revision = drive_v3.Schema$Revision & { id: string }

export function fileVersions({ files, ids }: Tree): NativeVersions {
  /** Requests for revisions do not take the parameters `common`, which those for files need at shared drives. */
  async function send<T>(request: ApiRequest) {
    try {
      return await files.api.request<T>(request)
    } catch (error) {
      throw asStorageError(error)
    }
  }

  async function fileAt(path: StoragePath, signal: AbortSignal): Promise<DriveFile | undefined> {
    const found = path === '' ? undefined : await ids.find(segmentsOf(path), signal, 'trusted')
    return found && !isFolder(found.file) && !isDoc(found.file) ? found.file : undefined
  }

  /** Returns the newest first. Drive returns the oldest first, and has no other order. */
  async function revisionsOf(file: DriveFile, signal: AbortSignal): Promise<Revision[]> {
    const all: Revision[] = []
    let pageToken: string | undefined
    do {
      const query = { pageSize: maxPage, pageToken, fields: `nextPageToken,revisions(${fields})` }
      const { data } = await send<drive_v3.Schema$RevisionList>({ url: `${fileUrl(file.id)}/revisions`, query, signal })
      all.push(...((data.revisions ?? []) as Revision[]))
      pageToken = data.nextPageToken ?? undefined
    } while (pageToken !== undefined && all.length < maxPage)
    return all.reverse()
  }

  /** @throws NOT_FOUND, also for the present content */
  async function find(
    path: StoragePath,
    id: string,
    signal: AbortSignal,
  ): Promise<{ url: string; revision: Revision }> {
    const file = await fileAt(path, signal)
    if (!file || file.headRevisionId === id) throw noVersion()
    const url = `${fileUrl(file.id)}/revisions/${encodeURIComponent(id)}`
    const { data } = await send<Revision>({ url, query: { fields }, signal })
    return { url, revision: data }
  }

  return {
    async list(path, { signal, cursor, limit }) {
      const file = await fileAt(path, signal)
      if (!file) return { versions: [] }
      const all = await revisionsOf(file, signal)
      const begin = cursor === undefined ? 0 : all.findIndex(({ id }) => id === cursor) + 1
      const versions: NativeVersion[] = []
      let end = begin
      for (; end < all.length && versions.length < limit; end += 1) {
        const [revision, newer] = [all[end], all[end - 1]]
        if (!revision || revision.id === file.headRevisionId) continue
        const replacedAt = timeOf(newer)
        versions.push({ id: revision.id, ...factsOf(revision), ...(replacedAt && { replacedAt }) })
      }
      const last = all[end - 1]
      return { versions, ...(end < all.length && last && { cursor: last.id }) }
    },

    async stat(path, id, { signal }) {
      return entryOf(path, (await find(path, id, signal)).revision)
    },

    async read(path, id, { signal, range }: Call & { range?: ByteRange }) {
      const { url, revision } = await find(path, id, signal)
      const entry = entryOf(path, revision)
      const { start, end } = positionsOf(entry.size ?? 0, range)
      const headers = range ? { range: rangeHeader(range) } : {}
      const response = await send({ url, query: { alt: 'media' }, headers, stream: true, signal })
      return { body: bodyOfLength(response, end - start, 'Google Drive'), entry }
    },

    async remove(path, id, { signal }) {
      try {
        const { url } = await find(path, id, signal)
        await send({ method: 'DELETE', url, accept: [404], repeatable: true, signal })
      } catch (error) {
        if (!hasCode(error, 'NOT_FOUND')) throw error
      }
    },
  }
}

function timeOf(revision: Revision | undefined): Date | undefined {
  return revision?.modifiedTime ? new Date(revision.modifiedTime) : undefined
}

function factsOf(revision: Revision) {
  const { size, md5Checksum } = revision
  const bytes = size === null || size === undefined ? null : Number(size)
  return { size: bytes, modifiedAt: timeOf(revision) ?? null, etag: md5Checksum ?? null }
}

function entryOf(path: StoragePath, revision: Revision): Entry {
  const { md5Checksum: md5, mimeType } = revision
  const checksums = md5 ? { checksums: { md5 } } : {}
  return { name: nameOf(path), kind: 'file', ...factsOf(revision), mimeType: mimeType ?? null, ...checksums }
}
