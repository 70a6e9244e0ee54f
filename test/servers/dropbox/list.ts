import { fold, type Node } from '../cloud/tree.ts'
import { DropboxError, refused } from './errors.ts'
import type { Files } from './files.ts'

interface Cursor {
  folder: Node
  /** The folded name of the last entry. */
  after: string
  /** Changes until this one have been returned. */
  seen: number
  limit: number
}

/** `list_folder` with cursors. Pages after the first one also report what has changed since. */
export class Lister {
  readonly #files: Files
  readonly #cursors = new Map<string, Cursor>()
  /** Entries that a page has more than its limit, which Dropbox allows itself. */
  extraEntries = 0

  constructor(files: Files) {
    this.#files = files
  }

  /** Makes all cursors invalid. */
  reset(): void {
    this.#cursors.clear()
  }

  start(path: string, limit: number | undefined, base: Node): object {
    const folder = path === '' ? base : this.#files.lookUp(path, base, 'path')
    if (path === '/') throw new DropboxError(400, 'Specify the root folder as an empty string rather than as "/".')
    if (!folder.children) throw refused('path/not_folder')
    const { changes: seen } = this.#files.tree
    return this.#page({ folder, after: '', seen, limit: Math.min(limit ?? 2000, 2000) }, [])
  }

  next(token: string): object {
    const cursor = this.#cursors.get(token)
    if (!cursor) throw refused('reset')
    const { folder, seen, after } = cursor
    const { tree } = this.#files
    const deleted = tree.removed
      .filter(({ parent, at }) => parent === folder && at > seen)
      .map(({ name }) => ({ '.tag': 'deleted', name }))
    const changed = [...(folder.children?.values() ?? [])]
      .filter(({ name, version }) => version > seen && fold(name) <= after)
      .map(node => this.#files.metadata(node))
    return this.#page({ ...cursor, seen: tree.changes }, [...deleted, ...changed])
  }

  #page(cursor: Cursor, changes: object[]): object {
    const names = [...(cursor.folder.children?.keys() ?? [])].filter(name => name > cursor.after).sort()
    const shown = names.slice(0, cursor.limit + this.extraEntries - Math.min(changes.length, cursor.limit - 1))
    const entries = shown.flatMap(name => {
      const node = cursor.folder.children?.get(name)
      return node ? [this.#files.metadata(node)] : []
    })
    const token = `AAE${this.#cursors.size.toString(36).padStart(80, 'x')}`
    this.#cursors.set(token, { ...cursor, after: shown.at(-1) ?? cursor.after })
    return { entries: [...changes, ...entries], cursor: token, has_more: shown.length < names.length }
  }
}
