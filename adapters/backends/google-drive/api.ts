import type { drive_v3 } from '@googleapis/drive'
import type { HttpClient, HttpRequest, HttpResponse } from '../../bases/cloud/http.ts'

export type DriveFile = drive_v3.Schema$File & { id: string; name: string; mimeType: string }

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
