/**
 * A fake Google Drive on loopback: the HTTP behavior that Google publishes, with files in memory and faults on demand.
 * It does not depend on the adapter. `google-drive.test.ts` checks it with Google's own client.
 */

import type { IncomingMessage, ServerResponse } from 'node:http'
import { FakeServer } from '../cloud/fake-server.ts'
import { sendJson } from '../cloud/http.ts'
import { Changes } from './changes.ts'
import { sendExport, sendMedia } from './download.ts'
import { ApiError, errorOf } from './errors.ts'
import { applyMask, parseMask } from './fields.ts'
import { Files } from './files.ts'
import { type Exchange, sendError } from './http.ts'
import { Lister } from './list.ts'
import { OAuth } from './oauth.ts'
import { listMask } from './resource.ts'
import { onRevisions } from './revisions.ts'
import { contentOf, folderType, type Item, Store, shortcutType } from './store.ts'
import { Uploads } from './upload.ts'

export type { Fault, Match } from '../cloud/faults.ts'
export { folderType, shortcutType }

export class GoogleDrive extends FakeServer {
  readonly account = 'owner@example.com'
  readonly store = new Store()
  readonly oauth = new OAuth(this.account)
  protected readonly errorOf = errorOf
  protected readonly sendError = sendError
  readonly lister = new Lister(this.store)
  readonly changes = new Changes(this.store)
  readonly #files = new Files(this.store, this.lister)
  readonly uploads = new Uploads(this.store, this.#files)
  /** The connection of the next download is cut after this many bytes. */
  cutDownloadAfter: number | undefined
  /** If true, the connection stalls instead of being cut. */
  cutIsStall = false
  readonly #texts = new Map<string, string>()

  /** The argument of `new OAuth2Client({ endpoints })`. */
  get oauthEndpoints() {
    return {
      oauth2AuthBaseUrl: `${this.url}o/oauth2/v2/auth`,
      oauth2TokenUrl: `${this.url}token`,
      oauth2RevokeUrl: `${this.url}revoke`,
      tokenInfoUrl: `${this.url}tokeninfo`,
    }
  }

  get rootId(): string {
    return this.store.rootOf(this.account)
  }

  /** Adds a file like another client, directly and without HTTP. */
  addFile(parent: string, name: string, content: string | Buffer = '', more: Partial<Item> = {}): Item {
    return this.store.add({
      name,
      mimeType: 'application/octet-stream',
      owner: this.account,
      parent,
      content: contentOf([Buffer.from(content)]),
      ...more,
    })
  }

  addFolder(parent: string, name: string, more: Partial<Item> = {}): Item {
    return this.store.add({ name, mimeType: folderType, owner: this.account, parent, ...more })
  }

  /** @param kind `document`, `spreadsheet`, `presentation`, `drawing`, `form`, ... */
  addGoogleDoc(parent: string, name: string, kind: string, text = ''): Item {
    const item = this.store.add({ name, mimeType: `application/vnd.google-apps.${kind}`, owner: this.account, parent })
    this.#texts.set(item.id, text)
    return item
  }

  addShortcut(parent: string, name: string, target: string): Item {
    return this.store.add({ name, mimeType: shortcutType, owner: this.account, parent, shortcutTargetId: target })
  }

  protected async route(request: IncomingMessage, response: ServerResponse, url: string): Promise<void> {
    const method = request.method ?? 'GET'
    const { pathname, searchParams: query } = new URL(url, this.url)
    if (pathname === '/o/oauth2/v2/auth' && method === 'GET') return this.oauth.authorize(query, response)
    if (pathname === '/token' && method === 'POST') return await this.oauth.token(request, response)
    if (pathname === '/revoke' && method === 'POST') return await this.oauth.revoke(request, query, response)
    const isSession = pathname.startsWith('/upload/') && query.has('upload_id')
    const account = isSession ? '' : this.oauth.accountOf(request)
    const exchange: Exchange = { request, response, method, path: pathname, query, account }
    if (isSession && (method === 'PUT' || method === 'DELETE')) return await this.uploads.resume(exchange)
    if (method === 'GET' && pathname === '/drive/v3/changes/startPageToken') return this.changes.startToken(exchange)
    if (method === 'GET' && pathname === '/drive/v3/changes') return this.changes.list(exchange)
    const revisions = /^\/drive\/v3\/files\/([^/]+)\/revisions(?:\/([^/]+))?$/.exec(pathname)
    if (revisions) {
      const [fileId = '', revisionId] = revisions.slice(1).map(each => each && decodeURIComponent(each))
      return await onRevisions(exchange, { files: this.#files, store: this.store }, [fileId, revisionId])
    }
    const match = /^(\/upload)?\/drive\/v3\/(files|drives|about)(?:\/([^/]+))?(?:\/(copy|export))?$/.exec(pathname)
    if (!match) throw new ApiError(404, 'notFound', 'Not Found')
    const [, upload, collection, encodedId, action] = match
    const id = encodedId === undefined ? undefined : decodeURIComponent(encodedId)
    if (collection === 'about') return this.#about(exchange)
    if (collection === 'drives') return this.#drives(exchange, id)
    if (upload) {
      if (method !== (id === undefined ? 'POST' : 'PATCH')) throw new ApiError(404, 'notFound', 'Not Found')
      return await this.uploads.begin(exchange, id ?? null)
    }
    return await this.#filesMethod(exchange, id, action)
  }

  async #filesMethod(exchange: Exchange, id: string | undefined, action: string | undefined): Promise<void> {
    const files = this.#files
    const name = `${exchange.method} ${id === undefined ? '' : 'id'} ${action ?? ''}`.trim()
    if (id === undefined) {
      if (name === 'GET') return files.list(exchange)
      if (name === 'POST') return await files.create(exchange)
    } else if (id === 'generateIds') {
      return files.generateIds(exchange)
    } else if (name === 'GET id') {
      if (exchange.query.get('alt') !== 'media') return files.get(exchange, id)
      const cut = this.cutDownloadAfter
      this.cutDownloadAfter = undefined
      return await sendMedia(exchange, files.find(exchange, id), cut, this.cutIsStall)
    } else if (name === 'GET id export') {
      return await sendExport(exchange, files, files.find(exchange, id), this.#texts.get(id) ?? '')
    } else if (name === 'PATCH id') {
      return await files.update(exchange, id)
    } else if (name === 'POST id copy') {
      return await files.copy(exchange, id)
    } else if (name === 'DELETE id') {
      return files.remove(exchange, id)
    }
    throw new ApiError(404, 'notFound', 'Not Found')
  }

  #about({ account, query, response }: Exchange): void {
    const fields = query.get('fields')
    if (fields === null) {
      throw new ApiError(400, 'required', "The 'fields' parameter is required for this method.", { location: 'fields' })
    }
    const used = String(this.store.usage(account))
    const about = {
      kind: 'drive#about',
      user: { kind: 'drive#user', displayName: account.split('@')[0], emailAddress: account, me: true },
      storageQuota: { limit: String(this.store.storageLimit), usage: used, usageInDrive: used, usageInDriveTrash: '0' },
    }
    sendJson(response, applyMask(about, parseMask(fields)))
  }

  #drives({ account, query, response }: Exchange, id: string | undefined): void {
    const all = [...this.store.drives.values()].filter(drive => drive.members.has(account))
    const resource = (drive: { id: string; name: string }) => ({ kind: 'drive#drive', id: drive.id, name: drive.name })
    if (id === undefined) {
      const mask = query.has('fields') ? listMask(query.get('fields'), 'drives') : null
      sendJson(response, applyMask({ kind: 'drive#driveList', drives: all.map(resource) }, mask))
      return
    }
    const drive = all.find(drive => drive.id === id)
    if (!drive) throw new ApiError(404, 'notFound', `Shared drive not found: ${id}`, { location: 'driveId' })
    sendJson(response, applyMask(resource(drive), query.has('fields') ? parseMask(query.get('fields') ?? '') : null))
  }
}

export async function startGoogleDrive(t: { teardown(end: () => Promise<void>): void }): Promise<GoogleDrive> {
  const drive = await new GoogleDrive().start()
  t.teardown(() => drive.stop())
  return drive
}
