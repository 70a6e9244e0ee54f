/** A share link, as its recipients use it: without an account. */
import { type Download, download, type ReadOptions, requestArchive } from './download.ts'
import { discardUpload, type SendOptions, uploadInChunks } from './resumable.ts'
import { withRetries } from './retry.ts'
import { type StowageOptions, Transport } from './transport.ts'

export interface ShareLinkOptions extends Omit<StowageOptions, 'url' | 'credential'> {
  /** The address of the link, such as `https://files.example.org/s/stw_share_…`. */
  link: string
  /** The password of the link, if it has one. */
  password?: string
}

/** The files that a share link gives access to, and its limits. */
export interface SharedFacts {
  /** VIEW reads. DROP only adds files. */
  kind: 'VIEW' | 'DROP'
  /** The name of what is shared; null for several entries. */
  name: string | null
  /** Whether the top of the share is a folder. */
  isFolder: boolean
  note: string
  /** The name of the person who made the link. */
  sharedBy: string | null
  /** ISO 8601. */
  expiresAt: string | null
  /** Null if there is no limit. */
  downloadsLeft: number | null
  /** Bytes that the link still accepts; null if there is no limit. */
  bytesLeft: number | null
  /** Endings of names that the link accepts; empty accepts all. */
  fileTypes: string[]
  hasPassword: boolean
}

/** A file or folder in a share. */
export interface SharedEntry {
  kind: 'file' | 'folder'
  name: string
  /** The path in the share. */
  path: string
  /** Bytes; null for folders, and for files whose size the back end does not report. */
  size: number | null
  mimeType: string | null
  modifiedAt: Date | null
}

interface ListedPage {
  entries: (Omit<SharedEntry, 'kind' | 'modifiedAt'> & { kind: 'file' | 'directory'; modifiedAt: string | null })[]
  next: string | null
}

const pageSize = '1000'
const address = /^(.*)\/s\/([^/?#]+)/

/** All methods throw a StowageError. */
export class ShareLink {
  readonly #transport: Transport
  /** The path of the endpoints of the share. */
  readonly #path: string

  /** @throws TypeError if the address is not that of a share link */
  constructor({ link, password, headers, ...options }: ShareLinkOptions) {
    const [, url, token] = address.exec(link) ?? []
    if (url === undefined || token === undefined) throw new TypeError(`"${link}" is not a share link`)
    const own = password === undefined ? {} : { 'stowage-share-password': asHeader(password) }
    this.#transport = new Transport({ ...options, url, headers: { ...headers, ...own } })
    this.#path = `/api/share/${token}`
  }

  describe({ signal }: { signal?: AbortSignal } = {}): Promise<SharedFacts> {
    return this.#get<SharedFacts>('', {}, signal)
  }

  /** Keeps the proof of the password in a cookie, so that the browser sends it with links, images and videos of the page. */
  async unlock(): Promise<void> {
    const response = await this.#transport.request(this.#urlOf('/unlock'), { method: 'POST' })
    await response.body?.cancel()
  }

  /** Yields the entries of a folder; without a path, those at the top of the share. */
  async *list(path = '/', { signal }: { signal?: AbortSignal } = {}): AsyncGenerator<SharedEntry, void, undefined> {
    for (let after: string | undefined; ; ) {
      const page: ListedPage = await this.#get('/entries', { path, first: pageSize, after }, signal)
      for (const { kind, modifiedAt, ...entry } of page.entries) {
        yield {
          ...entry,
          kind: kind === 'file' ? 'file' : 'folder',
          modifiedAt: modifiedAt === null ? null : new Date(modifiedAt),
        }
      }
      if (page.next === null) return
      after = page.next
    }
  }

  /** Downloads a file, or a folder as a ZIP archive. */
  download(path: string, options: ReadOptions = {}): Promise<Download> {
    return download(this.#transport, this.contentUrl(path), options)
  }

  /**
   * Sends a file through a link that accepts files. Resolves with the path. If the name is taken, the server numbers the file
   * and does not say so.
   */
  upload(path: string, options: SendOptions): Promise<string> {
    const target = { collection: `${this.#path}/uploads`, metadata: { path } }
    return uploadInChunks(this.#transport, target, options)
  }

  /** Deletes an unfinished upload, whose address `resume.onStart` got. */
  discardUpload(url: string): Promise<void> {
    return discardUpload(this.#transport, url)
  }

  /** Returns the address of a small image of a file. Some files have none. @param size the longest side in pixels, 64 to 1024 */
  thumbnailUrl(path: string, size = 256): string {
    return this.#urlOf('/thumbnail', { path, size: String(size) })
  }

  /** Returns an office document as PDF, where the server makes such documents. */
  async rendition(path: string, { signal }: { signal?: AbortSignal } = {}): Promise<ReadableStream<Uint8Array>> {
    const { body } = await this.#transport.request(this.#urlOf('/rendition', { path }), signal ? { signal } : {})
    return body ?? new ReadableStream()
  }

  /** Returns the address of a file, or of a ZIP archive of a folder, for pages that are unlocked or have no password. */
  contentUrl(path: string, { inline = false }: { inline?: boolean } = {}): string {
    return this.#urlOf('/content', { path, ...(inline && { disposition: 'inline' }) })
  }

  /** Downloads several files and folders as one ZIP archive. */
  archive(paths: readonly string[], { signal }: { signal?: AbortSignal } = {}): Promise<ReadableStream<Uint8Array>> {
    return requestArchive(this.#transport, this.archiveUrl, { paths }, signal)
  }

  /** The address to which pages that are unlocked or have no password send a form, with `{"paths": […]}` in the field `selection`. */
  get archiveUrl(): string {
    return this.#urlOf('/archive')
  }

  #urlOf(endpoint: string, query: Record<string, string | undefined> = {}): string {
    return this.#transport.urlOf(`${this.#path}${endpoint}`, query)
  }

  async #get<Result>(
    endpoint: string,
    query: Record<string, string | undefined>,
    signal: AbortSignal | undefined,
  ): Promise<Result> {
    const send = () => this.#transport.request(this.#urlOf(endpoint, query), signal ? { signal } : {})
    const response = await withRetries(send, this.#transport.retryOf({ signal }))
    return (await response.json()) as Result
  }
}

/** HTTP headers have bytes, so the password is sent as the bytes of its UTF-8. */
function asHeader(text: string): string {
  return String.fromCharCode(...new TextEncoder().encode(text))
}
