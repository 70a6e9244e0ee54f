/** One drive of a fake server: lookups, resources and changes. */
import { randomUUID } from 'node:crypto'
import { FileTree, fold, type Node, pathOf, randomId } from '../cloud/tree.ts'
import { GraphError, invalid, notFound, taken } from './errors.ts'

const hashes = new WeakMap<readonly Buffer[], string>()

/** Computes quickXorHash from its description: each byte is shifted by 11 bits more than the one before, in 160 bits. */
export function quickXorHashOf(chunks: readonly Buffer[]): string {
  const known = hashes.get(chunks)
  if (known !== undefined) return known
  const cells = new Uint8Array(21)
  let [bit, size] = [0, 0]
  for (const chunk of chunks) {
    for (const byte of chunk) {
      const [at, shift] = [bit >> 3, bit & 7]
      cells[at] = (cells[at] as number) ^ (byte << shift)
      cells[at + 1] = (cells[at + 1] as number) ^ (byte >> (8 - shift))
      // The bits that leave the end come back at the start.
      if (at === 19) {
        cells[0] = (cells[0] as number) ^ (cells[20] as number)
        cells[20] = 0
      }
      bit = (bit + 11) % 160
    }
    size += chunk.length
  }
  const hash = Buffer.from(cells.subarray(0, 20))
  for (let i = 0; i < 6; i += 1) hash[12 + i] = (hash[12 + i] as number) ^ (Math.floor(size / 256 ** i) & 255)
  const text = hash.toString('base64')
  hashes.set(chunks, text)
  return text
}

const time = (milliseconds: number) => new Date(milliseconds).toISOString()
const refusedNames = /["*:<>?/\\|\p{Cc}]|^\s|^~\$|[\s.]$|_vti_|^(?:\.lock|con|prn|aux|nul|com\d|lpt\d|desktop\.ini)$/iu

export type Behavior = 'fail' | 'replace' | 'rename'

export class Drive {
  readonly id = `b!${randomUUID()}`
  readonly type: 'personal' | 'business' | 'documentLibrary'
  readonly tree = new FileTree(() => randomId('01', 20).toUpperCase())
  /** Shortcuts to items of other drives. */
  readonly shortcuts = new Set<Node>()
  /** Notebooks of OneNote. */
  readonly notebooks = new Set<Node>()
  /** Bytes; 0 where Microsoft shows no quota. */
  quota = 5 * 1024 ** 3
  /** Changes the content of each file that is stored, as SharePoint does with documents of Office. */
  onStore: ((chunks: readonly Buffer[]) => readonly Buffer[]) | undefined

  /** The contents that files have had, the newest last. */
  readonly #versions = new Map<Node, Node[]>()

  constructor(type: Drive['type']) {
    this.type = type
  }

  resource(): object {
    const used = this.tree.usage()
    const quota = { total: this.quota, used, remaining: Math.max(0, this.quota - used), state: 'normal' }
    return { id: this.id, driveType: this.type, quota }
  }

  byId(id: string): Node {
    for (const node of this.tree.all()) if (node.id === id) return node
    throw notFound()
  }

  eTagOf({ id, version }: Node): string {
    return `"{${id}},${version}"`
  }

  item(node: Node, downloadUrl: (node: Node) => string): Record<string, unknown> {
    const modified = time(node.modified)
    const parent = node.parent && {
      driveId: this.id,
      id: node.parent.id,
      path: `/drive/root:${pathOf(node.parent).split('/').map(encodeURIComponent).join('/')}`,
    }
    const common = {
      id: node.id,
      name: node.parent === null ? 'root' : node.name,
      eTag: this.eTagOf(node),
      lastModifiedDateTime: time(node.changed),
      fileSystemInfo: { lastModifiedDateTime: modified },
      parentReference: parent ?? { driveId: this.id },
      ...(node.parent === null && { root: {} }),
    }
    if (this.shortcuts.has(node)) return { ...common, size: 0, remoteItem: { id: 'elsewhere' } }
    if (this.notebooks.has(node)) return { ...common, size: 0, package: { type: 'oneNote' } }
    if (node.children) return { ...common, size: 0, folder: { childCount: node.children.size } }
    return {
      ...common,
      cTag: `"c:{${node.id}},${contentNumber(node.chunks)}"`,
      size: node.size,
      file: { mimeType: 'application/octet-stream', hashes: { quickXorHash: quickXorHashOf(node.chunks) } },
      '@microsoft.graph.downloadUrl': downloadUrl(node),
    }
  }

  checkName(name: unknown): string {
    if (typeof name !== 'string' || name === '') throw invalid()
    if (name.length > 255 || refusedNames.test(name)) throw invalid('nameContainsInvalidCharacters')
    return name
  }

  /** Returns the parent folder and the name of a path below `from`. */
  target(path: string, from: Node): { parent: Node; name: string } {
    const names = path.split('/').filter(name => name !== '')
    const name = this.checkName(names.at(-1))
    const parent = this.tree.find(names.slice(0, -1).join('/'), from)
    if (!parent?.children) throw notFound()
    return { parent, name }
  }

  /** @throws 409 nameAlreadyExists */
  checkConflict(parent: Node, name: string, behavior: Behavior): void {
    const existing = parent.children?.get(fold(name))
    if (existing && (behavior !== 'replace' || existing.children)) throw taken()
  }

  /** @throws 507 quotaLimitReached */
  checkQuota(added: number): void {
    if (this.quota > 0 && this.tree.usage() + added > this.quota) throw new GraphError(507, 'quotaLimitReached')
  }

  store(
    parent: Node,
    name: string,
    chunks: readonly Buffer[],
    options: { behavior: Behavior; modified?: number },
  ): Node {
    this.checkConflict(parent, name, options.behavior)
    this.checkQuota(chunks.reduce((sum, { length }) => sum + length, 0))
    const existing = parent.children?.get(fold(name))
    if (existing) this.#versions.set(existing, [...this.versionsOf(existing), { ...existing }])
    return this.tree.put(parent, name, this.onStore?.(chunks) ?? chunks, options.modified)
  }

  versionsOf(node: Node): readonly Node[] {
    return this.#versions.get(node) ?? []
  }

  versionIdOf({ version }: Node): string {
    return `${version}.0`
  }

  /** @throws 412 resourceModified */
  checkMatch(node: Node, header: string | undefined): void {
    if (header !== undefined && header !== this.eTagOf(node)) throw new GraphError(412, 'resourceModified')
  }
}

const numbers = new WeakMap<readonly Buffer[], number>()
let contents = 0

/** Numbers each content once. */
function contentNumber(chunks: readonly Buffer[]): number {
  const known = numbers.get(chunks)
  if (known !== undefined) return known
  contents += 1
  numbers.set(chunks, contents)
  return contents
}
