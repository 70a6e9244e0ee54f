import { type HttpClient, type HttpRequest, type HttpResponse, RequestFailure } from '../../bases/cloud/client.ts'
import { property } from '../../bases/cloud/errors.ts'
import { type Call, StorageError } from '../../contract.ts'
import type { Endpoints } from './config.ts'

export interface FileMetadata {
  '.tag'?: 'file'
  id: string
  name: string
  path_display?: string
  client_modified: string
  server_modified: string
  rev: string
  size: number
  content_hash?: string
  /** False for a document of Dropbox or Google, which can only be exported. */
  is_downloadable?: boolean
}

export interface FolderMetadata {
  '.tag': 'folder'
  id: string
  name: string
  path_display?: string
  /** For a folder with a namespace of its own: a shared folder, a team folder, the folder of a member. */
  sharing_info?: { shared_folder_id?: string }
}

export interface DeletedMetadata {
  '.tag': 'deleted'
  name: string
  path_display?: string
}

/** The entry that a path refers to. */
export type Metadata = FileMetadata | FolderMetadata

export const isFolder = (metadata: Metadata): metadata is FolderMetadata => metadata['.tag'] === 'folder'

interface RootInfo {
  root_namespace_id: string
  home_namespace_id: string
}

type CallOptions = Call & {
  /** False where the request must not be sent again after a lost response. */
  repeatable?: boolean
  isCommit?: boolean
}

/** The two kinds of requests of Dropbox's API (www.dropbox.com/developers/documentation/http/documentation). */
export class DropboxApi {
  readonly http: HttpClient
  readonly #endpoints: Endpoints
  readonly #isTeamSpace: boolean
  #root: RootInfo | undefined

  constructor(http: HttpClient, endpoints: Endpoints, isTeamSpace: boolean) {
    this.http = http
    this.#endpoints = endpoints
    this.#isTeamSpace = isTeamSpace
  }

  /** Calls a route with its arguments in the body. @throws RequestFailure */
  async call<T>(route: string, args: object | null, options: CallOptions): Promise<T> {
    const url = `${this.#endpoints.api}2/${route}`
    const { data } = await this.#send({
      method: 'POST',
      url,
      ...(args && { json: args }),
      repeatable: true,
      ...options,
    })
    return data as T
  }

  /** Calls a route with content in the body. @throws RequestFailure */
  async upload<T>(route: string, args: object, content: Uint8Array, options: CallOptions): Promise<T> {
    const headers = { 'dropbox-api-arg': headerJson(args), 'content-type': 'application/octet-stream' }
    const url = `${this.#endpoints.content}2/${route}`
    const { data } = await this.#send({ method: 'POST', url, headers, body: content, repeatable: true, ...options })
    return data as T
  }

  /** Calls a route with content in its response. Returns the metadata in its header. @throws RequestFailure */
  async download<T>(
    route: string,
    args: object,
    { signal, range }: Call & { range?: string | undefined },
  ): Promise<HttpResponse & { result: T }> {
    const headers = { 'dropbox-api-arg': headerJson(args), ...(range !== undefined && { range }) }
    const url = `${this.#endpoints.content}2/${route}`
    const response = await this.#send({ method: 'POST', url, headers, stream: true, repeatable: true, signal })
    try {
      return { ...response, result: JSON.parse(response.headers.get('dropbox-api-result') ?? '') }
    } catch (cause) {
      response.body?.destroy()
      throw new StorageError('UNAVAILABLE', 'Dropbox sent an unexpected response: try again.', { cause })
    }
  }

  /** Returns the id of the namespace in which paths begin. */
  async rootNamespace(signal: AbortSignal): Promise<string> {
    const root = await this.#rootInfo(signal)
    return this.#isTeamSpace ? root.root_namespace_id : root.home_namespace_id
  }

  async #rootInfo(signal: AbortSignal): Promise<RootInfo> {
    if (this.#root) return this.#root
    const url = `${this.#endpoints.api}2/users/get_current_account`
    const { data } = await this.http.request({ method: 'POST', url, repeatable: true, signal })
    this.#root = property(data, 'root_info') as RootInfo
    return this.#root
  }

  async #send(request: HttpRequest): Promise<HttpResponse> {
    if (!this.#isTeamSpace) return await this.http.request(request)
    try {
      return await this.#sendInTeamSpace(request)
    } catch (error) {
      if (!(error instanceof RequestFailure && error.failure.reason?.startsWith('invalid_root'))) throw error
      // The person has joined or left a team.
      this.#root = undefined
      return await this.#sendInTeamSpace(request)
    }
  }

  async #sendInTeamSpace(request: HttpRequest): Promise<HttpResponse> {
    const { root_namespace_id: root } = await this.#rootInfo(request.signal)
    const pathRoot = { 'dropbox-api-path-root': JSON.stringify({ '.tag': 'root', root }) }
    return await this.http.request({ ...request, headers: { ...request.headers, ...pathRoot } })
  }
}

/** JSON in ASCII, for a header. */
function headerJson(args: object): string {
  return JSON.stringify(args).replace(
    /[\u007f-\uffff]/g,
    unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
