import { fold, type Node, pathOf } from '../cloud/tree.ts'
import { DropboxError, refused } from './errors.ts'
import type { Files } from './files.ts'

interface Cursor {
  folder: Node
  /** The folded name of the last entry. */
  after: string
  /** Changes until this one have been returned. */
  seen: number
  limit: number
  /** Everything below the folder counts, and nothing that was there before. */
  isRecursive?: boolean
}

/** `list_folder` with cursors. Pages after the first one also report what has changed since. */
export class Lister {
  readonly #files: Files
  readonly #cursors = new Map<string, Cursor>()
  #tokens = 0
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

  /** The position after all changes until now, at and below a folder. */
  latest(path: string, limit: number, base: Node): object {
    const folder = path === '' ? base : this.#files.lookUp(path, base, 'path')
    return { cursor: this.#add({ folder, after: '', seen: this.#files.tree.changes, limit, isRecursive: true }) }
  }

  #add(cursor: Cursor): string {
    const token = `AAE${(++this.#tokens).toString(36).padStart(80, 'x')}`
    this.#cursors.set(token, cursor)
    return token
  }

  /** Changes in the order in which they were made, each with the present metadata. A moved folder counts with all in it. */
  #below(cursor: Cursor): object {
    const { folder, seen, limit } = cursor
    const { tree } = this.#files
    const top = pathOf(folder)
    const removed = tree.removed
      .filter(({ path, at }) => at > seen && path.startsWith(`${top}/`))
      .map(({ name, path, at }) => {
        const entry = { '.tag': 'deleted', name, path_lower: fold(path), path_display: path }
        return { at, path, entry }
      })
    const changed: { at: number; path: string; entry: object }[] = []
    const add = (node: Node, since: number) => {
      const at = Math.max(node.version, since)
      if (at > seen) changed.push({ at, path: pathOf(node), entry: this.#files.metadata(node) })
      for (const child of node.children?.values() ?? []) add(child, node.children ? at : 0)
    }
    for (const child of folder.children?.values() ?? []) add(child, 0)
    const all = [...removed, ...changed].sort((a, b) => a.at - b.at || (a.path < b.path ? -1 : 1))
    const rest = all[limit]
    // Changes of one moment are not torn apart.
    const shown = rest ? all.filter(({ at }) => at < rest.at || at === all[0]?.at) : all
    const token = this.#add({ ...cursor, seen: rest ? (shown.at(-1)?.at ?? seen) : tree.changes })
    return { entries: shown.map(({ entry }) => entry), cursor: token, has_more: rest !== undefined }
  }

  next(token: string): object {
    const cursor = this.#cursors.get(token)
    if (!cursor) throw refused('reset')
    if (cursor.isRecursive) return this.#below(cursor)
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
    const token = this.#add({ ...cursor, after: shown.at(-1) ?? cursor.after })
    return { entries: [...changes, ...entries], cursor: token, has_more: shown.length < names.length }
  }
}
