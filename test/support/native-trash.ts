/** A memory provider with a trash of its own, as Google Drive has one. */
import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { MemoryProvider } from '../../adapters/backends/memory/provider.ts'
import {
  type AdapterDefinition,
  type Call,
  childOf,
  type Entry,
  type NativeTrash,
  StorageError,
  type StoragePath,
  type StorageProvider,
} from '../../adapters/contract.ts'

/** An entry that was taken out of the provider. */
type Kept = { kind: 'file'; bytes: Buffer } | { kind: 'directory'; content: Map<string, Kept> }

export class MemoryTrash implements NativeTrash {
  readonly #files: MemoryProvider
  readonly #paths = new Map<string, StoragePath>()
  readonly #kept = new Map<string, Kept>()

  constructor(files: MemoryProvider) {
    this.#files = files
  }

  async identify(path: StoragePath, call: Call): Promise<string> {
    await this.#files.stat(path, call)
    const id = randomUUID()
    this.#paths.set(id, path)
    return id
  }

  async put(id: string, _path: StoragePath, call: Call): Promise<void> {
    if (this.#kept.has(id)) return
    this.#kept.set(id, await this.#take(this.#paths.get(id) ?? ('' as StoragePath), call))
  }

  async has(id: string): Promise<boolean> {
    return this.#kept.has(id)
  }

  async restore(id: string, to: StoragePath, call: Call): Promise<Entry> {
    const kept = this.#kept.get(id)
    if (!kept) throw new StorageError('NOT_FOUND', 'It is not in the trash.')
    await this.#bringBack(kept, to, call)
    this.#kept.delete(id)
    return this.#files.stat(to, call)
  }

  async remove(id: string): Promise<void> {
    this.#kept.delete(id)
  }

  /** Removes everything, as another program can. */
  empty(): void {
    this.#kept.clear()
  }

  async #take(path: StoragePath, call: Call): Promise<Kept> {
    const { kind } = await this.#files.stat(path, call)
    const kept: Kept =
      kind === 'file'
        ? { kind, bytes: await buffer((await this.#files.read(path, call)).body) }
        : { kind, content: new Map() }
    if (kept.kind === 'directory') {
      for (const { name } of (await this.#files.list(path, { ...call, limit: 1000 })).entries) {
        kept.content.set(name, await this.#take(childOf(path, name), call))
      }
    }
    await this.#files.delete(path, call)
    return kept
  }

  async #bringBack(kept: Kept, to: StoragePath, call: Call): Promise<void> {
    if (kept.kind === 'file') {
      await this.#files.write(to, Readable.from([kept.bytes], { objectMode: false }), { ...call, overwrite: false })
      return
    }
    await this.#files.mkdir(to, { ...call, exclusive: true })
    for (const [name, inner] of kept.content) await this.#bringBack(inner, childOf(to, name), call)
  }
}

/** The trashes of all opened providers, for tests that change them as another program does. */
export const nativeTrashes: MemoryTrash[] = []

export const nativeTrashAdapter: AdapterDefinition = {
  type: 'native',
  apiVersion: 1,
  title: 'Memory with a trash',
  configSchema: { type: 'object', properties: {} },
  async open() {
    const files = new MemoryProvider(1_000_000)
    const trash = new MemoryTrash(files)
    nativeTrashes.push(trash)
    return new Proxy<StorageProvider>(files, {
      get(target, name) {
        if (name === 'trash') return trash
        const value: unknown = Reflect.get(target, name, target)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
  },
}
