/** The metadata methods of the files resource. */
import { sendJson } from '../cloud/http.ts'
import { ApiError, invalidValue } from './errors.ts'
import { type Exchange, flag, readJson } from './http.ts'
import type { Lister } from './list.ts'
import { exportTypes, fileMask, fileResource, listMask, masked } from './resource.ts'
import { type Content, folderType, type Item, randomId, type Store, shortcutType } from './store.ts'

export type Metadata = Record<string, unknown>

export class Files {
  readonly #store: Store
  readonly #lister: Lister
  readonly #generatedIds = new Set<string>()

  constructor(store: Store, lister: Lister) {
    this.#store = store
    this.#lister = lister
  }

  find({ account, query }: Exchange, id: string): Item {
    return this.#store.find(account, id, flag(query, 'supportsAllDrives'))
  }

  get(exchange: Exchange, id: string): void {
    this.#send(exchange, this.find(exchange, id))
  }

  list(exchange: Exchange): void {
    const { query, account, response } = exchange
    const mask = listMask(query.get('fields'), 'files')
    const pageSize = Number(query.get('pageSize') ?? 100)
    if (!Number.isInteger(pageSize) || pageSize < 1) throw invalidValue('pageSize')
    const { files, nextPageToken } = this.#lister.list({
      account,
      q: query.get('q'),
      orderBy: query.get('orderBy'),
      corpora: query.get('corpora'),
      driveId: query.get('driveId'),
      includeItemsFromAllDrives: flag(query, 'includeItemsFromAllDrives'),
      supportsAllDrives: flag(query, 'supportsAllDrives'),
      pageSize: Math.min(pageSize, 1000),
      pageToken: query.get('pageToken'),
    })
    const page = {
      kind: 'drive#fileList',
      incompleteSearch: false,
      ...(nextPageToken && { nextPageToken }),
      files: files.map(item => fileResource(this.#store, account, item)),
    }
    sendJson(response, masked(page, mask))
  }

  generateIds({ query, response }: Exchange): void {
    const count = Number(query.get('count') ?? 10)
    if (!Number.isInteger(count) || count < 1 || count > 1000) throw invalidValue('count')
    const ids = Array.from({ length: count }, () => randomId())
    for (const id of ids) this.#generatedIds.add(id)
    sendJson(response, { kind: 'drive#generatedIds', space: 'drive', ids })
  }

  async create(exchange: Exchange): Promise<void> {
    this.#send(exchange, this.insert(exchange, await readJson(exchange.request), null, null))
  }

  /** @param mediaType the media type of the upload's bytes */
  insert(exchange: Exchange, metadata: Metadata, content: Content | null, mediaType: string | null): Item {
    const { account } = exchange
    const parents = metadata.parents === undefined ? ['root'] : metadata.parents
    if (!Array.isArray(parents)) throw invalidValue('parents')
    if (parents.length !== 1) {
      throw new ApiError(403, 'multipleParentsNotSupported', 'A file cannot have more than one parent.')
    }
    const parent = this.find(exchange, String(parents[0]))
    if (parent.mimeType !== folderType) {
      throw new ApiError(403, 'parentNotAFolder', 'The specified parent is not a folder.')
    }
    this.#store.checkWritable(account, parent)
    this.#store.checkQuota(account, content?.size ?? 0)
    const details = metadata.shortcutDetails
    const target = typeof details === 'object' && details !== null && 'targetId' in details ? details.targetId : null
    const mimeType = text(metadata.mimeType) ?? mediaType ?? 'application/octet-stream'
    if (mimeType === shortcutType && target === null) throw invalidValue('shortcutDetails.targetId')
    const isGoogles = mimeType.startsWith('application/vnd.google-apps.')
    return this.#store.add({
      id: this.#newId(text(metadata.id)),
      name: text(metadata.name) || 'Untitled',
      mimeType,
      owner: parent.driveId === null ? account : '',
      parent: parent.id,
      content: isGoogles ? null : (content ?? emptyContent),
      shortcutTargetId: target === null ? null : String(target),
      ...(text(metadata.createdTime) && { createdTime: Date.parse(String(metadata.createdTime)) }),
      ...(text(metadata.modifiedTime) && { modifiedTime: Date.parse(String(metadata.modifiedTime)) }),
    })
  }

  async update(exchange: Exchange, id: string): Promise<void> {
    const item = this.find(exchange, id)
    this.change(exchange, item, await readJson(exchange.request))
    this.#send(exchange, item)
  }

  change(exchange: Exchange, item: Item, metadata: Metadata): void {
    const { query, account } = exchange
    const store = this.#store
    store.checkWritable(account, item)
    if (metadata.parents !== undefined) {
      const message =
        'The parents field is not directly writable in update requests. Use the addParents and removeParents parameters instead.'
      throw new ApiError(403, 'fieldNotWritable', message)
    }
    if (metadata.trashed === true) this.#checkTrashable(account, item)
    this.#changeParent(exchange, item)
    const name = text(metadata.name)
    if (name) store.rename(item, name)
    if (typeof metadata.trashed === 'boolean') item.explicitlyTrashed = metadata.trashed
    const mimeType = text(metadata.mimeType)
    if (mimeType && item.content) item.mimeType = mimeType
    if (text(metadata.modifiedTime)) item.modifiedTime = Date.parse(String(metadata.modifiedTime))
    if (Object.keys(metadata).length > 0 || query.has('addParents')) store.touch(item, false)
  }

  async copy(exchange: Exchange, id: string): Promise<void> {
    const source = this.find(exchange, id)
    const metadata = await readJson(exchange.request)
    if (source.mimeType === folderType || source.mimeType === shortcutType) {
      throw new ApiError(403, 'cannotCopyFile', 'This file cannot be copied by the user.')
    }
    const defaults = { name: `Copy of ${source.name}`, parents: source.parent === null ? ['root'] : [source.parent] }
    const copied = { ...defaults, ...metadata, mimeType: source.mimeType }
    this.#send(exchange, this.insert(exchange, copied, source.content, null))
  }

  remove(exchange: Exchange, id: string): void {
    const item = this.find(exchange, id)
    this.#checkTrashable(exchange.account, item)
    this.#store.remove(item)
    exchange.response.writeHead(204).end()
  }

  send(exchange: Exchange, item: Item): void {
    this.#send(exchange, item)
  }

  /** @throws 403 where Google stores no files of that type */
  checkExport(item: Item, type: string | null): void {
    const types = exportTypes[item.mimeType]
    if (!types) {
      throw new ApiError(403, 'fileNotExportable', 'Export only supports Docs Editors files.', { location: 'alt' })
    }
    if (type === null || !types.includes(type))
      throw invalidValue('convertTo', 'The requested conversion is not supported.')
  }

  #send({ query, account, response }: Exchange, item: Item): void {
    sendJson(response, masked(fileResource(this.#store, account, item), fileMask(query.get('fields'))))
  }

  /** In My Drive only the owner can delete; in a shared drive this server lets every member delete. */
  #checkTrashable(account: string, item: Item): void {
    if (item.parent === null) throw new ApiError(403, 'insufficientFilePermissions', 'A root folder cannot be deleted.')
    if (item.driveId === null && item.owner !== account) {
      throw new ApiError(
        403,
        'insufficientFilePermissions',
        'The user does not have sufficient permissions for this file.',
      )
    }
  }

  /** Changes the parent. A file has one parent, so adding one requires removing the other. */
  #changeParent(exchange: Exchange, item: Item): void {
    const added = exchange.query.get('addParents')
    const removed = exchange.query.get('removeParents')
    if (added === null && removed === null) return
    const from = removed === null ? null : this.find(exchange, removed).id
    if (added === null) throw new ApiError(403, 'cannotRemoveParent', 'A file must have a parent.')
    const to = this.find(exchange, added)
    this.#store.checkWritable(exchange.account, to)
    if (to.id === item.parent) throw new ApiError(400, 'badRequest', 'The file is in this folder already.')
    if (from !== item.parent) {
      throw new ApiError(403, 'cannotAddParent', 'Increasing the number of parents is not allowed')
    }
    if (to.mimeType !== folderType) throw new ApiError(403, 'parentNotAFolder', 'The specified parent is not a folder.')
    if (to.id === item.id || this.#store.ancestors(to).includes(item)) {
      throw new ApiError(400, 'cyclicParents', 'A folder cannot be in itself.')
    }
    this.#store.move(item, to.id)
  }

  #newId(wanted: string | null): string {
    if (wanted === null) return randomId()
    if (this.#store.items.has(wanted)) {
      throw new ApiError(409, 'fileIdInUse', 'A file already exists with the provided ID.', { location: 'id' })
    }
    if (!this.#generatedIds.delete(wanted)) throw invalidValue('id', 'The provided file ID is not usable.')
    return wanted
  }
}

const emptyContent: Content = {
  chunks: [],
  size: 0,
  md5: 'd41d8cd98f00b204e9800998ecf8427e',
  sha1: 'da39a3ee5e6b4b0d3255bfef95601890afd80709',
  sha256: 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
}

function text(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}
