/**
 * A fake Nextcloud, or ownCloud 10, on loopback: one user with files and uploads over WebDAV, by the manual and the source of
 * Nextcloud, with faults on demand. It does not depend on the adapter.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { FakeServer } from '../cloud/fake-server.ts'
import { parseAddress, top } from './dav-request.ts'
import { DavError, errorOf, refused, sendError } from './errors.ts'
import { type Content, Files, sizeOf } from './files.ts'
import { onFiles } from './on-files.ts'
import { onUploads } from './on-uploads.ts'
import { Uploads } from './uploads.ts'

export interface Kind {
  vendor: 'Nextcloud' | 'ownCloud'
  /** The files of a Nextcloud are in S3. */
  hasObjectStore?: boolean
  /** False for a server without uploads in chunks, such as ownCloud Infinite Scale. */
  hasUploads?: boolean
  /** It tells what has changed (RFC 6578), as some other servers do for files. */
  hasSync?: boolean
}

export class Nextcloud extends FakeServer {
  readonly user = 'jane doe'
  password = 'app-password'
  readonly files: Files
  readonly uploads: Uploads
  /** Bytes of a request that a proxy in front of the server accepts. */
  maxRequest = Number.POSITIVE_INFINITY
  /** The next content that arrives is stored with another byte. */
  corruptNext = false
  protected readonly errorOf = errorOf
  protected readonly sendError = sendError
  readonly #kind: Kind

  constructor(kind: Kind) {
    super()
    this.#kind = kind
    this.files = new Files(kind.vendor === 'ownCloud', kind.hasSync ?? false)
    this.uploads = new Uploads(this.files, kind.hasObjectStore ?? false)
  }

  /** Makes all positions in the changes invalid that were given until now. */
  expireSync(): void {
    this.files.firstToken = this.files.tree.changes + 1
    this.files.tree.changes += 1
  }

  /** The address of the user's files. */
  get filesUrl(): string {
    return `${this.url}${top.slice(1)}files/${encodeURIComponent(this.user)}/`
  }

  protected async route(request: IncomingMessage, response: ServerResponse, url: string): Promise<void> {
    const { method = '', headers } = request
    if (Number(headers['content-length'] ?? 0) > this.maxRequest) throw tooLarge()
    const token = Buffer.from(`${this.user}:${this.password}`).toString('base64')
    if (headers.authorization !== `Basic ${token}`) {
      const challenge = { 'www-authenticate': `Basic realm="${this.#kind.vendor}", charset="UTF-8"` }
      throw refused('NotAuthenticated', 'No public access to this resource.', challenge)
    }
    const address = parseAddress(url)
    if (address.user !== this.user || (address.kind === 'uploads' && this.#kind.hasUploads === false)) {
      throw refused('NotFound', `Principal with name ${address.user} not found`)
    }
    const { destination } = headers
    const davRequest = {
      method,
      headers,
      address,
      response,
      destination: destination === undefined ? undefined : this.#filesAt(String(destination)),
      body: await this.#receive(request),
    }
    if (address.kind === 'files') await onFiles(this.files, davRequest)
    else await onUploads(this.files, this.uploads, davRequest)
  }

  /** @throws BadRequest where the body is cut */
  async #receive(request: IncomingMessage): Promise<Content> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const [size, expected] = [sizeOf(chunks), request.headers['content-length']]
    if (size > this.maxRequest) throw tooLarge()
    if (expected !== undefined && Number(expected) !== size) {
      throw refused('BadRequest', `Expected filesize of ${expected} bytes but read and wrote ${size} bytes`)
    }
    // A chunk of a small body is a view that keeps a large block in memory.
    const content = size < 65_536 ? [Buffer.concat(chunks)] : chunks
    const isCorrupted = this.corruptNext && request.method === 'PUT' && size > 0
    if (isCorrupted) this.corruptNext = false
    return isCorrupted ? corrupted(content) : content
  }

  #filesAt(destination: string): readonly string[] {
    const { kind, user, names } = parseAddress(destination)
    if (kind !== 'files' || user !== this.user) throw refused('Forbidden', 'Permission denied')
    return names
  }
}

function corrupted([first = Buffer.alloc(0), ...rest]: Content): Content {
  const changed = Buffer.from(first)
  changed.writeUInt8(changed.readUInt8() ^ 1)
  return [changed, ...rest]
}

const tooLarge = () => new DavError(413, null, 'Request Entity Too Large')

export async function startNextcloud(
  t: { teardown(end: () => Promise<void>): void },
  kind: Kind = { vendor: 'Nextcloud' },
): Promise<Nextcloud> {
  const nextcloud = await new Nextcloud(kind).start()
  t.teardown(() => nextcloud.stop())
  return nextcloud
}
