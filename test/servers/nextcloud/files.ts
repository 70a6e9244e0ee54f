/** The files of the user, with the rules of sabre/dav's core plugin and of Nextcloud's `Directory` and `File`. */
import { createHash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { FileTree, type Node } from '../cloud/tree.ts'
import { refused } from './errors.ts'
import { requireAllowed } from './names.ts'

export type Content = readonly Buffer[]

export const sizeOf = (content: Content) => content.reduce((sum, { length }) => sum + length, 0)

export function hashOf(content: Content, algorithm: 'sha1' | 'md5'): string {
  const hash = createHash(algorithm)
  for (const bytes of content) hash.update(bytes)
  return hash.digest('hex')
}

export class Files {
  #ids = 0
  readonly tree = new FileTree(
    () => String(++this.#ids),
    name => name,
  )
  /** ownCloud 10 computes the checksums of every file, and compares them with those that clients send. Nextcloud stores the latter. */
  readonly isOwnCloud: boolean
  /** Bytes. */
  quota = Number.POSITIVE_INFINITY
  readonly hasSync: boolean
  /** Earlier positions in the changes are refused. */
  firstToken = 0
  readonly #checksums = new WeakMap<Content, string>()

  constructor(isOwnCloud: boolean, hasSync = false) {
    this.isOwnCloud = isOwnCloud
    this.hasSync = hasSync
  }

  get free(): number {
    return this.quota - this.tree.usage()
  }

  checksumsOf({ chunks }: Node): string | undefined {
    return this.#checksums.get(chunks)
  }

  etagOf({ id, version }: Node): string {
    return createHash('md5').update(`${id}:${version}`).digest('hex')
  }

  find(names: readonly string[]): Node | undefined {
    requireAllowed(names)
    let node: Node | undefined = this.tree.root
    for (const name of names) node = node?.children?.get(name)
    return node
  }

  /** @throws NotFound */
  get(names: readonly string[]): Node {
    const found = this.find(names)
    if (!found) throw refused('NotFound', `File with name /${names.join('/')} could not be located`)
    return found
  }

  /** @throws InsufficientStorage */
  requireSpace(size: number, path: string): void {
    if (size <= this.free) return
    throw refused('InsufficientStorage', `Insufficient space in ${path}, ${size} required, ${this.free} available`)
  }

  /** Stores a file as a part file, and renames it. Returns whether it is a new one. */
  write(names: readonly string[], content: Content, headers: IncomingHttpHeaders): { isNew: boolean } {
    const existing = this.find(names)
    if (existing?.children) throw refused('Conflict', 'PUT is not allowed on non-files.')
    const parent = this.parentOf(names)
    this.requireSpace(sizeOf(content), names.join('/'))
    const checksum = String(headers['oc-checksum'] ?? '').trim()
    const stored = this.isOwnCloud
      ? `SHA1:${hashOf(content, 'sha1')} MD5:${hashOf(content, 'md5')}`
      : checksum || undefined
    if (this.isOwnCloud && !stored?.includes(checksum)) {
      throw refused('BadRequest', 'The computed checksum does not match the one received from the client.')
    }
    const time = headers['x-oc-mtime']
    const modified = time === undefined ? Date.now() : Number(time) * 1000
    // A copy, so that equal contents have checksums of their own.
    const chunks = [...content]
    this.tree.put(parent, names.at(-1) ?? '', chunks, modified)
    if (stored !== undefined) this.#checksums.set(chunks, stored)
    return { isNew: existing === undefined }
  }

  makeFolder(names: readonly string[]): void {
    if (this.find(names)) {
      throw refused('MethodNotAllowed', 'The resource you tried to create already exists')
    }
    this.tree.folder(names.at(-1) ?? '', this.parentOf(names))
  }

  remove(names: readonly string[]): void {
    const node = this.get(names)
    if (node === this.tree.root) throw refused('Forbidden', '')
    this.tree.remove(node)
  }

  /** Copies or moves an entry. sabre/dav deletes the destination first. */
  transfer(method: 'COPY' | 'MOVE', from: readonly string[], to: readonly string[]): void {
    const source = this.get(from)
    const existing = this.find(to)
    if (existing) this.tree.remove(existing)
    const [parent, name] = [this.parentOf(to), to.at(-1) ?? '']
    if (method === 'COPY') this.tree.copy(source, parent, name)
    else this.tree.move(source, parent, name)
  }

  /** @throws Conflict */
  parentOf(names: readonly string[]): Node {
    const parent = this.find(names.slice(0, -1))
    if (!parent) throw refused('Conflict', 'Files cannot be created in non-existent collections')
    if (!parent.children) throw refused('Conflict', 'Files can only be created as children of collections')
    return parent
  }
}
