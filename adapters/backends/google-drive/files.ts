import type { drive_v3 } from '@googleapis/drive'
import { type HttpClient, type HttpRequest, type HttpResponse, RequestFailure } from '../../bases/cloud/client.ts'
import { refuseTooLarge, toStorageError } from '../../bases/cloud/errors.ts'
import { hasCode } from '../../bases/errors.ts'
import { type Quota, StorageError } from '../../contract.ts'
import { google } from './errors.ts'
import { type DriveFile, folderType, isFolder, shortcutType } from './names.ts'

/** Only the fields that entries, twins and confinement need. */
export const fileFields =
  'id,name,mimeType,size,modifiedTime,createdTime,parents,trashed,explicitlyTrashed,driveId,headRevisionId,md5Checksum,sha1Checksum,sha256Checksum'

export interface ApiRequest extends HttpRequest {
  /** A path below the API's base URL, or an absolute URL. */
  url: string
  query?: Record<string, string | number | boolean | undefined>
}

/** One Google account. */
export class DriveApi {
  readonly http: HttpClient
  readonly #base: string

  /** @param base the API's base URL */
  constructor(http: HttpClient, base: string) {
    this.http = http
    this.#base = base
  }

  /** @throws as `HttpClient.request` */
  async request<T>({ query = {}, ...request }: ApiRequest): Promise<HttpResponse & { data: T }> {
    const url = new URL(request.url, this.#base)
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined) url.searchParams.set(name, String(value))
    }
    return (await this.http.request({ ...request, url })) as HttpResponse & { data: T }
  }
}

/** The maximum number of characters of names in one query, which is part of a URL. */
const queryLength = 4000
/** The number of ids to reserve at a time. */
const idsAtOnce = 20

export interface RootConfig {
  driveId?: string | undefined
  rootFolderId?: string | undefined
}

interface Page {
  files: DriveFile[]
  nextPageToken: string | undefined
}

/** The methods of Drive's files resource (developers.google.com/workspace/drive/api/reference/rest/v3/files). */
export class DriveFiles {
  readonly api: DriveApi
  readonly #config: RootConfig
  #root: { id: string; driveId: string | undefined } | undefined
  #ids: string[] = []

  constructor(api: DriveApi, config: RootConfig) {
    this.api = api
    this.#config = config
  }

  /** Returns the root folder. @throws PERMISSION_DENIED where it cannot be used */
  async root(signal: AbortSignal): Promise<{ id: string; driveId: string | undefined }> {
    if (this.#root) return this.#root
    const file = await this.rootFile(signal)
    this.#root = { id: file.id, driveId: file.driveId ?? undefined }
    return this.#root
  }

  async rootFile(signal: AbortSignal): Promise<DriveFile> {
    const { driveId, rootFolderId } = this.#config
    const file = await this.find(this.#root?.id ?? rootFolderId ?? driveId ?? 'root', signal)
    const what = rootFolderId === undefined ? 'shared drive (driveId)' : 'root folder (rootFolderId)'
    if (!file || file.trashed) {
      const message = `The ${what} does not exist or is not shared with the connected account: check its id.`
      throw new StorageError('PERMISSION_DENIED', message)
    }
    if (!isFolder(file) || (driveId !== undefined && file.driveId !== driveId)) {
      const message = `The ${what} is not a folder${driveId === undefined ? '' : ' of the shared drive'}: check its id.`
      throw new StorageError('PERMISSION_DENIED', message)
    }
    return file
  }

  /** Returns undefined for a missing file. Finds files in the trash, too. */
  async find(id: string, signal: AbortSignal): Promise<DriveFile | undefined> {
    try {
      return await this.#json({ url: fileUrl(id), query: { fields: fileFields }, signal })
    } catch (error) {
      if (hasCode(error, 'NOT_FOUND')) return undefined
      throw error
    }
  }

  /** Returns all files of a folder that have one of these names, and perhaps others that differ in case. */
  async named(parent: string, names: Iterable<string>, signal: AbortSignal): Promise<DriveFile[]> {
    const found = new Map<string, DriveFile>()
    try {
      for (const terms of batchesOf(names)) {
        let pageToken: string | undefined
        do {
          const query = { q: `${inFolder(parent)} and (${terms.join(' or ')})`, pageSize: 100, pageToken }
          const page = await this.list(query, fileFields, signal)
          for (const file of page.files) found.set(file.id, file)
          pageToken = page.nextPageToken
        } while (pageToken !== undefined)
      }
    } catch (error) {
      // The folder itself is missing.
      if (!hasCode(error, 'NOT_FOUND')) throw error
    }
    return [...found.values()]
  }

  async list(
    query: { q: string; pageSize: number; orderBy?: string; pageToken?: string | undefined },
    fields: string,
    signal: AbortSignal,
  ): Promise<Page> {
    const { driveId } = await this.root(signal)
    const data = await this.#json<drive_v3.Schema$FileList>({
      url: 'drive/v3/files',
      query: {
        ...query,
        fields: `nextPageToken,files(${fields})`,
        // Drive finds files of shared drives only with this flag, and all of them only in their own corpus.
        includeItemsFromAllDrives: true,
        ...(driveId === undefined ? {} : { corpora: 'drive', driveId }),
      },
      signal,
    })
    return { files: (data.files ?? []) as DriveFile[], nextPageToken: data.nextPageToken ?? undefined }
  }

  /** Returns true if the folder contains nothing. Shortcuts count, though listings leave them out. */
  async isEmpty(folder: string, signal: AbortSignal): Promise<boolean> {
    const q = `'${folder}' in parents and trashed = false`
    let pageToken: string | undefined
    do {
      const page = await this.list({ q, pageSize: 1, pageToken }, 'id', signal)
      if (page.files.length > 0) return false
      pageToken = page.nextPageToken
    } while (pageToken !== undefined)
    return true
  }

  /** @param id from `newId` */
  async makeFolder(id: string, parent: string, name: string, signal: AbortSignal): Promise<DriveFile> {
    const json = { id, name, parents: [parent], mimeType: folderType }
    return await this.once(id, { method: 'POST', url: 'drive/v3/files', query: { fields: fileFields }, json, signal })
  }

  /**
   * Copies a file, and keeps its time.
   * @param id from `newId`; undefined for a document, for which Google accepts no such id
   */
  async copy(
    source: DriveFile,
    id: string | undefined,
    parent: string,
    name: string,
    signal: AbortSignal,
  ): Promise<DriveFile> {
    const url = `${fileUrl(source.id)}/copy`
    const request = { method: 'POST', url, query: { fields: fileFields }, signal } as const
    const json = { name, parents: [parent], ...(source.modifiedTime && { modifiedTime: source.modifiedTime }) }
    if (id === undefined) return await this.#json<DriveFile>({ ...request, json })
    return await this.once(id, { ...request, json: { ...json, id } })
  }

  /** @param move the ids of the folders to move the file from, if it is in one, and to */
  async update(
    id: string,
    json: drive_v3.Schema$File,
    signal: AbortSignal,
    move?: { from: string | undefined; to: string },
  ): Promise<DriveFile> {
    const parents = move && move.from !== move.to ? { addParents: move.to, removeParents: move.from } : {}
    const query = { fields: fileFields, ...parents }
    const repeatable = parents.addParents === undefined
    return await this.#json({ method: 'PATCH', url: fileUrl(id), query, json, repeatable, signal })
  }

  /** Resolves for a file that is missing or already in the trash. */
  async trash(id: string, signal: AbortSignal): Promise<void> {
    try {
      await this.update(id, { trashed: true }, signal)
    } catch (error) {
      if (!hasCode(error, 'NOT_FOUND')) throw error
    }
  }

  /** Deletes a file for good. Resolves for a missing one. */
  async remove(id: string, signal: AbortSignal): Promise<void> {
    await this.#json({ method: 'DELETE', url: fileUrl(id), accept: [404], repeatable: true, signal })
  }

  /** Deletes a file that was just created, if it exists. Trashes it where deleting is not allowed. Never rejects. */
  async undo(id: string): Promise<void> {
    const signal = AbortSignal.timeout(30_000)
    await this.remove(id, signal)
      .catch(() => this.trash(id, signal))
      // The caller needs the error that made the call fail, not this one.
      .catch(() => {})
  }

  async quota(signal: AbortSignal): Promise<Quota> {
    const { driveId } = await this.root(signal)
    if (driveId !== undefined) return { used: null, total: null }
    const query = { fields: 'storageQuota(limit,usage)' }
    const { storageQuota } = await this.#json<drive_v3.Schema$About>({ url: 'drive/v3/about', query, signal })
    const bytes = (value: string | null | undefined) => (value ? Number(value) : null)
    return { used: bytes(storageQuota?.usage), total: bytes(storageQuota?.limit) }
  }

  /** @throws QUOTA_EXCEEDED */
  async refuseTooLarge(size: number, signal: AbortSignal): Promise<void> {
    const message =
      'The storage of the Google account has too little free space for this file: free some space or buy more.'
    refuseTooLarge(await this.quota(signal), size, message)
  }

  /** Returns an id for a new file. A create with such an id can be repeated: the second one is a conflict. */
  async newId(signal: AbortSignal): Promise<string> {
    const known = this.#ids.pop()
    if (known !== undefined) return known
    const query = { count: idsAtOnce, space: 'drive', type: 'files' }
    const { ids } = await this.#json<drive_v3.Schema$GeneratedIds>({ url: 'drive/v3/files/generateIds', query, signal })
    const [first, ...rest] = ids ?? []
    if (first === undefined)
      throw new StorageError('UNAVAILABLE', 'Google Drive returned no id for a new file: try again.')
    this.#ids.push(...rest)
    return first
  }

  /** Creates the file with this id exactly once, even if responses are lost. */
  async once(id: string, request: ApiRequest): Promise<DriveFile> {
    try {
      return await this.#send({ ...request, repeatable: true })
    } catch (error) {
      // The file exists if the response to an earlier attempt was lost.
      const isTaken = error instanceof RequestFailure && error.failure.status === 409
      const made = isTaken ? await this.find(id, request.signal) : undefined
      if (made) return made
      throw asStorageError(error)
    }
  }

  /** Returns another resource of Drive. */
  async get<T>(url: string, query: NonNullable<ApiRequest['query']>, signal: AbortSignal): Promise<T> {
    return await this.#json<T>({ url, query, signal })
  }

  async #json<T>(request: ApiRequest): Promise<T> {
    try {
      return await this.#send<T>(request)
    } catch (error) {
      throw asStorageError(error)
    }
  }

  async #send<T>(request: ApiRequest): Promise<T> {
    const { data } = await this.api.request<T>({ ...request, query: { ...common, ...request.query } })
    return data
  }
}

/** Parameters of every request. Drive finds files of shared drives only with this flag. */
export const common = { supportsAllDrives: true }

export function fileUrl(id: string): string {
  return `drive/v3/files/${encodeURIComponent(id)}`
}

/** The query for the files that a folder shows: none from the trash, and no shortcuts. */
export function inFolder(id: string): string {
  return `'${id}' in parents and trashed = false and mimeType != '${shortcutType}'`
}

function* batchesOf(names: Iterable<string>): Generator<string[]> {
  let batch: string[] = []
  let length = 0
  for (const name of new Set(names)) {
    const term = `name = ${quoted(name)}`
    const added = encodeURIComponent(term.toWellFormed()).length
    if (batch.length > 0 && length + added > queryLength) {
      yield batch
      batch = []
      length = 0
    }
    batch.push(term)
    length += added
  }
  if (batch.length > 0) yield batch
}

function quoted(text: string): string {
  return `'${text.replace(/[\\']/g, '\\$&')}'`
}

/** Converts a RequestFailure to a StorageError; returns other errors unchanged. */
export function asStorageError(error: unknown): unknown {
  return error instanceof RequestFailure ? toStorageError(error.failure, google) : error
}
