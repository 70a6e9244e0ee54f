/** The files of a fake account: lookups, metadata and changes. */
import { createHash } from 'node:crypto'
import { FileTree, fold, type Node, pathOf, randomId, segmentsIn } from '../cloud/tree.ts'
import { badRequest, type DropboxError, refused } from './errors.ts'

/** Bytes of a block of the content hash. */
const blockSize = 4 * 1024 * 1024
/** Names that Dropbox does not store (help.dropbox.com/sync/files-not-syncing). */
const ignored = /^(?:desktop\.ini|thumbs\.db|\.ds_store|icon\r|\.dropbox|\.dropbox\.attr|\.dropbox\.cache)$/i

const hashes = new WeakMap<readonly Buffer[], string>()

/** Computes the content hash from the description at www.dropbox.com/developers/reference/content-hash. */
export function contentHashOf(chunks: readonly Buffer[]): string {
  const known = hashes.get(chunks)
  if (known !== undefined) return known
  const all = createHash('sha256')
  let block = createHash('sha256')
  let room = blockSize
  for (const chunk of chunks) {
    for (let start = 0; start < chunk.length; ) {
      const part = chunk.subarray(start, start + room)
      block.update(part)
      start += part.length
      room -= part.length
      if (room > 0) continue
      all.update(block.digest())
      block = createHash('sha256')
      room = blockSize
    }
  }
  if (room < blockSize) all.update(block.digest())
  const hash = all.digest('hex')
  hashes.set(chunks, hash)
  return hash
}

/** Dropbox stores whole seconds. */
const seconds = (time: number) => `${new Date(time).toISOString().slice(0, 19)}Z`

export class Files {
  readonly tree = new FileTree(() => randomId('id:'))
  /** The node in which the paths of a request begin. */
  home = this.tree.root
  /** The ids of shared folders and team folders. */
  readonly namespaces = new Map<Node, string>()
  /** The texts of documents that can only be exported. */
  readonly documents = new Map<Node, string>()
  /** Bytes. */
  storageLimit = 2 * 1024 ** 3
  /** The maximum number of entries in one copy, move or deletion. */
  maxFiles = 10_000

  /** The revisions that were replaced or deleted, by the folded path, the newest last. */
  readonly #revisions = new Map<string, Node[]>()

  /** Keeps the content that a file has now, because it is about to be replaced or deleted. */
  keepRevision(node: Node): void {
    if (node.children) return
    const path = fold(pathOf(node))
    this.#revisions.set(path, [...(this.#revisions.get(path) ?? []), { ...node }])
  }

  /** https://www.dropbox.com/developers/documentation/http/documentation#files-list_revisions */
  listRevisions(path: string, { limit, before }: { limit: number; before: string | undefined }, base: Node): object {
    const current = this.tree.find(path, base)
    if (current?.children) throw refused('path/not_file')
    const earlier = this.#revisions.get(fold(pathOf(base) + path)) ?? []
    const all = [...(current ? [current] : []), ...earlier.toReversed()]
    if (all.length === 0) throw refused('path/not_found')
    const start = before === undefined ? 0 : all.findIndex(node => this.revOf(node) === before) + 1
    const entries = all.slice(start, start + limit).map(node => this.metadata(node, false))
    return { entries, is_deleted: !current, has_more: start + limit < all.length }
  }

  /** Finds the content of a revision, which is perhaps that of a file now. */
  revision(rev: string): Node {
    if (!/^[0-9a-f]{9,}$/.test(rev)) throw badRequest('rev: did not match pattern')
    const all = [...this.tree.all(), ...[...this.#revisions.values()].flat()]
    const found = all.find(node => !node.children && this.revOf(node) === rev)
    if (!found) throw refused('path/not_found')
    return found
  }

  restore(path: string, rev: string, base: Node): object {
    const revision = this.revision(rev)
    const fail = (reason: string) => refused(`path_write/${reason}`)
    this.checkSpace(revision.size, () => fail('insufficient_space'))
    const existing = this.tree.find(path, base)
    if (existing) this.keepRevision(existing)
    const { parent, name } = this.target(path, base, fail)
    return this.metadata(this.tree.put(parent, name, revision.chunks, revision.modified), false)
  }

  /** Finds what a path or an id refers to. @param field the tag of the argument in errors */
  lookUp(path: string, base: Node, field: string): Node {
    const found = path.startsWith('id:') ? this.#byId(path) : this.tree.find(path, base)
    if (path.split('/').some(isMalformed)) throw refused(`${field}/malformed_path`)
    if (!found) throw refused(`${field}/not_found`)
    return found
  }

  revOf({ id, version }: Node): string {
    return version.toString(16).padStart(9, '0') + createHash('sha256').update(id).digest('hex').slice(0, 12)
  }

  metadata(node: Node, withTag = true): object {
    const names = { name: node.name, id: node.id, path_lower: fold(pathOf(node)), path_display: pathOf(node) }
    if (node.children) {
      const shared = this.namespaces.get(node)
      const sharing = { read_only: false, shared_folder_id: shared }
      return { '.tag': 'folder', ...names, ...(shared !== undefined && { sharing_info: sharing }) }
    }
    const isDocument = this.documents.has(node)
    return {
      ...(withTag && { '.tag': 'file' }),
      ...names,
      client_modified: seconds(node.modified),
      server_modified: seconds(node.changed),
      rev: this.revOf(node),
      size: node.size,
      is_downloadable: !isDocument,
      ...(isDocument && { export_info: { export_as: 'html' } }),
      content_hash: contentHashOf(node.chunks),
    }
  }

  /** Returns the parent folder and the name for a new entry, and makes missing parents. */
  target(path: string, base: Node, fail: (reason: string) => DropboxError): { parent: Node; name: string } {
    const names = segmentsIn(path)
    const name = names.at(-1)
    if (name === undefined || !path.startsWith('/') || names.some(isMalformed)) throw fail('malformed_path')
    if (names.some(each => ignored.test(each))) throw fail('disallowed_name')
    let node: Node | undefined = base
    for (const each of names.slice(0, -1)) {
      if (node && !node.children) throw fail('conflict/file_ancestor')
      node = node?.children?.get(fold(each))
    }
    if (node && !node.children) throw fail('conflict/file_ancestor')
    const parent = this.tree.folder(names.slice(0, -1).join('/'), base)
    if (!parent) throw fail('conflict/file_ancestor')
    return { parent, name }
  }

  checkSpace(added: number, fail: () => DropboxError): void {
    if (this.tree.usage() + added > this.storageLimit) throw fail()
  }

  createFolder(path: string, base: Node): object {
    const fail = (reason: string) => refused(`path/${reason}`)
    const existing = this.tree.find(path, base)
    if (existing) throw fail(existing.children ? 'conflict/folder' : 'conflict/file')
    const { parent, name } = this.target(path, base, fail)
    const made = this.tree.folder(name, parent)
    if (!made) throw fail('conflict/file')
    return { metadata: this.metadata(made) }
  }

  remove(path: string, rev: string | undefined, base: Node): object {
    const node = this.lookUp(path, base, 'path_lookup')
    if (rev !== undefined && node.children) throw refused('path_lookup/not_file')
    if (rev !== undefined && rev !== this.revOf(node)) throw refused('path_write/conflict/file')
    this.#checkCount(node)
    const metadata = this.metadata(node)
    for (const each of this.tree.all(node)) this.keepRevision(each)
    this.tree.remove(node)
    return { metadata }
  }

  relocate(kind: 'copy' | 'move', from: string, to: string, base: Node): object {
    const source = this.lookUp(from, base, 'from_lookup')
    const fail = (reason: string) => refused(`to/${reason}`)
    if (fold(to).startsWith(`${fold(from)}/`)) throw refused('duplicated_or_nested_paths')
    this.#checkCount(source)
    const existing = this.tree.find(to, base)
    if (existing) throw fail(existing.children ? 'conflict/folder' : 'conflict/file')
    if (kind === 'copy') this.checkSpace(source.size, () => refused('insufficient_quota'))
    const { parent, name } = this.target(to, base, fail)
    if (kind === 'copy') return { metadata: this.metadata(this.tree.copy(source, parent, name)) }
    this.tree.move(source, parent, name)
    return { metadata: this.metadata(source) }
  }

  #checkCount(node: Node): void {
    let count = 0
    for (const _ of this.tree.all(node)) count += 1
    if (count > this.maxFiles) throw refused('too_many_files')
  }

  #byId(id: string): Node | undefined {
    for (const node of this.tree.all()) if (node.id === id) return node
    return undefined
  }
}

function isMalformed(name: string): boolean {
  return name.length > 255 || /[\\\u007f]|\s$/.test(name)
}
