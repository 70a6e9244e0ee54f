/** The changes resource: developers.google.com/workspace/drive/api/guides/manage-changes. */
import { sendJson } from '../cloud/http.ts'
import { invalidValue } from './errors.ts'
import { applyMask, parseMask } from './fields.ts'
import { type Exchange, flag } from './http.ts'
import { fileResource } from './resource.ts'
import type { Store } from './store.ts'

export class Changes {
  readonly #store: Store
  /** Tokens of earlier positions are refused. */
  firstToken = 0

  constructor(store: Store) {
    this.#store = store
  }

  /** Makes all tokens invalid that were given until now. */
  expire(): void {
    this.firstToken = this.#store.changes + 1
    // A change that nobody sees, so that later tokens differ.
    this.#store.changes += 1
  }

  startToken({ response }: Exchange): void {
    sendJson(response, { kind: 'drive#startPageToken', startPageToken: String(this.#store.changes) })
  }

  list({ account, query, response }: Exchange): void {
    const token = Number(query.get('pageToken') ?? '')
    const [driveId, size] = [query.get('driveId'), Number(query.get('pageSize') ?? 100)]
    if (query.get('pageToken') === null || !Number.isInteger(token) || token < this.firstToken) {
      throw invalidValue('pageToken')
    }
    if (!Number.isInteger(size) || size < 1 || size > 1000) throw invalidValue('pageSize')
    const all = [...this.#store.changedIds].filter(([, at]) => at > token)
    const shown = all.slice(0, size)
    const changes = shown.flatMap(([fileId, at]) => {
      const item = this.#store.items.get(fileId)
      const isSeen = item && this.#store.roleOf(account, item) !== undefined
      if (isSeen && item.driveId !== null && !flag(query, 'includeItemsFromAllDrives')) return []
      if (isSeen && driveId !== null && item.driveId !== driveId) return []
      const change = {
        kind: 'drive#change',
        type: 'file',
        changeType: 'file',
        fileId,
        time: new Date(at).toISOString(),
      }
      return isSeen
        ? { ...change, removed: false, file: fileResource(this.#store, account, item) }
        : { ...change, removed: true }
    })
    const isLast = shown.length === all.length
    const position = isLast
      ? { newStartPageToken: String(this.#store.changes) }
      : { nextPageToken: String(shown.at(-1)?.[1]) }
    const fields = query.get('fields')
    sendJson(response, applyMask({ kind: 'drive#changeList', ...position, changes }, fields ? parseMask(fields) : null))
  }
}
