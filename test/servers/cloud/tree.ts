import { randomBytes } from 'node:crypto'

/** A file or a folder of a fake server. */
export interface Node {
  id: string
  name: string
  /** Null for the top of the tree. */
  parent: Node | null
  /** The children of a folder, by folded name; undefined for a file. */
  children: Map<string, Node> | undefined
  /** The bytes of a file, as they arrived. */
  chunks: readonly Buffer[]
  size: number
  /** Increases with each change of the content. */
  version: number
  /** Milliseconds, set by the server. */
  changed: number
  /** Milliseconds, set by the client. */
  modified: number
}

/** Names of most vendors are not case-sensitive, but keep the case of their first writer. */
export const fold = (name: string) => name.toLowerCase()

export const segmentsIn = (path: string) => path.split('/').filter(name => name !== '')

/** Files in memory, without HTTP. */
export class FileTree {
  readonly root: Node
  /** Increases with each change. */
  changes = 0
  readonly removed: { id: string; parent: Node | null; path: string; name: string; at: number }[] = []
  readonly #newId: () => string
  readonly #fold: (name: string) => string

  /** @param foldName returns the same text for the names of one entry */
  constructor(newId: () => string, foldName = fold) {
    this.#newId = newId
    this.#fold = foldName
    this.root = this.#node('', null, true)
  }

  /** Returns undefined for a missing path. */
  find(path: string, from: Node = this.root): Node | undefined {
    let node: Node | undefined = from
    for (const name of segmentsIn(path)) node = node?.children?.get(this.#fold(name))
    return node
  }

  /** Returns the folder of a path and makes it if it is missing. Returns undefined below a file. */
  folder(path: string, from: Node = this.root): Node | undefined {
    let node = from
    for (const name of segmentsIn(path)) {
      if (!node.children) return undefined
      node = node.children.get(this.#fold(name)) ?? this.add(node, this.#node(name, node, true))
    }
    return node.children ? node : undefined
  }

  /** Adds a file or replaces its content. */
  put(parent: Node, name: string, chunks: readonly Buffer[], modified = Date.now()): Node {
    const node = parent.children?.get(this.#fold(name)) ?? this.add(parent, this.#node(name, parent, false))
    node.chunks = chunks
    node.size = chunks.reduce((sum, { length }) => sum + length, 0)
    node.modified = modified
    this.touch(node)
    return node
  }

  /** Adds a file at a path, and the folders that it needs. */
  addFile(path: string, content: string | Buffer, from: Node = this.root): Node {
    const names = segmentsIn(path)
    const parent = this.folder(names.slice(0, -1).join('/'), from)
    if (!parent) throw new Error(`${path} is below a file`)
    return this.put(parent, names.at(-1) ?? '', [Buffer.from(content)])
  }

  touch(node: Node): void {
    this.changes += 1
    node.version = this.changes
    node.changed = Date.now()
  }

  add(parent: Node, node: Node): Node {
    node.parent = parent
    parent.children?.set(this.#fold(node.name), node)
    this.touch(node)
    return node
  }

  remove(node: Node): void {
    this.changes += 1
    const { id, parent, name } = node
    this.removed.push({ id, parent, path: pathOf(node), name, at: this.changes })
    node.parent?.children?.delete(this.#fold(node.name))
  }

  move(node: Node, parent: Node, name: string): void {
    this.remove(node)
    node.name = name
    this.add(parent, node)
  }

  /** Copies a file, or a folder with everything below it. Copies keep the times of their sources. */
  copy(node: Node, parent: Node, name: string): Node {
    const made = this.add(parent, { ...this.#node(name, parent, node.children !== undefined), ...contentOf(node) })
    for (const child of node.children?.values() ?? []) this.copy(child, made, child.name)
    return made
  }

  *all(from: Node = this.root): Generator<Node> {
    yield from
    for (const child of from.children?.values() ?? []) yield* this.all(child)
  }

  usage(): number {
    let used = 0
    for (const { size } of this.all()) used += size
    return used
  }

  #node(name: string, parent: Node | null, isFolder: boolean): Node {
    const now = Date.now()
    const children = isFolder ? new Map<string, Node>() : undefined
    return { id: this.#newId(), name, parent, children, chunks: [], size: 0, version: 0, changed: now, modified: now }
  }
}

function contentOf({ chunks, size, modified }: Node) {
  return { chunks, size, modified }
}

export function pathOf(node: Node): string {
  return node.parent === null ? '' : `${pathOf(node.parent)}/${node.name}`
}

export const randomId = (prefix: string, bytes = 16) => prefix + randomBytes(bytes).toString('base64url')
