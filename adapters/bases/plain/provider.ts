import { randomUUID } from 'node:crypto'
import type { Readable } from 'node:stream'
import {
  type ByteRange,
  type Call,
  childOf,
  type Entry,
  type Host,
  type ListPage,
  nameOf,
  type Quota,
  type ReadResult,
  type ResumableWrites,
  type StoragePath,
  type StorageProvider,
  type Traits,
} from '../../contract.ts'
import { alreadyExists, changed, hasCode, notAFile, notAFolder, notEmpty, positionsOf } from '../errors.ts'
import { ifRefused, isRefusal, missing, refuseTarget } from './errors.ts'
import type { Facts, PlainFiles, RenameOptions, StoreOptions } from './files.ts'
import { makeFolders, renameWithParents, withParents } from './folders.ts'
import { resumableWrites } from './resumable.ts'
import { openBody, withSource } from './source.ts'
import { isReserved, refuseStaging, Staging } from './staging.ts'

/** Makes a provider of the commands of a server, and removes what killed servers left there. */
export async function openPlainProvider(files: PlainFiles, host: Host): Promise<StorageProvider> {
  const staging = new Staging(files)
  try {
    await staging.sweep(host)
    return new PlainProvider(files, host, staging)
  } catch (error) {
    files.close()
    throw error
  }
}

/** Attempts to read a file that is replaced between the look at it and the read. */
const maxReads = 10

type ReadOptions = Call & { range?: ByteRange; ifMatch?: string; entry?: Entry }
type WriteOptions = StoreOptions & { overwrite: boolean }

class PlainProvider implements StorageProvider {
  readonly traits: Traits
  readonly copy?: NonNullable<StorageProvider['copy']>
  readonly deleteTree?: NonNullable<StorageProvider['deleteTree']>
  readonly setModifiedAt?: NonNullable<StorageProvider['setModifiedAt']>
  readonly quota?: (call: Call) => Promise<Quota>
  readonly changes?: NonNullable<StorageProvider['changes']>
  readonly resumable?: ResumableWrites
  readonly #files: PlainFiles
  readonly #host: Host
  readonly #staging: Staging

  constructor(files: PlainFiles, host: Host, staging: Staging) {
    this.#files = files
    this.#host = host
    this.#staging = staging
    this.traits = { emptyDirectories: true, listOrder: 'names', ...files.traits }
    const { changes, copy, quota, removeTree, setModifiedAt } = files
    if (changes) this.changes = (cursor, call) => this.#run(call.signal, () => changes.call(files, cursor, call))
    if (quota) this.quota = call => this.#run(call.signal, () => quota.call(files, call))
    if (copy) this.copy = (from, to, options) => this.#copy(from, to, options)
    if (setModifiedAt) {
      this.setModifiedAt = (path, modifiedAt, call) =>
        this.#run(call.signal, async () => {
          await this.#entry(path, call)
          await setModifiedAt.call(files, path, modifiedAt, call)
        })
    }
    if (removeTree) this.deleteTree = (path, call) => this.#deleteTree(path, call)
    const resumable =
      files.resumable?.((path, options, store) => this.#commit(path, options, store)) ??
      (appends(files) ? this.#appending(files) : undefined)
    if (resumable) this.resumable = this.#running(resumable)
  }

  async stat(path: StoragePath, { signal }: Call): Promise<Entry> {
    return await this.#run(signal, () => this.#entry(path, { signal }))
  }

  async list(
    path: StoragePath,
    { signal, cursor, from = '', limit }: Call & { cursor?: string; from?: string; limit: number },
  ): Promise<ListPage> {
    const found = await this.#run(signal, () => this.#listed(path, { signal }))
    const start = orderOf(cursor ?? from)
    const later = found
      .map(facts => ({ facts, order: orderOf(facts.name) }))
      .filter(({ order }) => order > start || (order === start && cursor === undefined))
      .sort((a, b) => (a.order < b.order ? -1 : 1))
    const entries = later.slice(0, limit).map(({ facts }) => this.#toEntry(childOf(path, facts.name), facts))
    const last = entries.at(-1)
    return last && later.length > limit ? { entries, cursor: last.name } : { entries }
  }

  async read(path: StoragePath, { entry, ...options }: ReadOptions): Promise<ReadResult> {
    const { signal, ifMatch } = options
    return await this.#run(signal, async () => {
      for (let [attempt, known] = [1, entry]; ; [attempt, known] = [attempt + 1, undefined]) {
        try {
          return await this.#read(path, known ?? (await this.#entry(path, options)), options)
        } catch (error) {
          if (!hasCode(error, 'PRECONDITION_FAILED') || (ifMatch !== undefined && !known) || attempt === maxReads)
            throw error
        }
      }
    })
  }

  async write(path: StoragePath, body: Readable, { overwrite, ...options }: WriteOptions): Promise<Entry> {
    const { signal } = options
    const { modifiedAt: _, ...withoutTime } = options
    const work = () =>
      withSource(body, signal, async source => {
        const target = await this.#find(path, { signal })
        refuseTarget(target, 'file', overwrite)
        const stored = this.traits.keepsModifiedAt ? options : withoutTime
        if (target && this.#files.replace) {
          await this.#files.replace(path, source.stream, stored)
          return await this.#entry(path, { signal })
        }
        const staged = await this.#staging.store(source, stored)
        return await this.#publishOrDiscard(staged, path, { signal, overwrite })
      })
    return await this.#run(signal, work, body)
  }

  async delete(path: StoragePath, { signal, entry }: Call & { entry?: Entry }): Promise<void> {
    const call = { signal }
    const remove = ({ kind }: Facts) =>
      kind === 'file' ? this.#files.removeFile(path, call) : this.#files.removeFolder(path, call)
    await this.#run(signal, async () => {
      const known = entry ?? (await this.#find(path, call))
      if (!known) return
      await remove(known).catch(async error => {
        if (!isRefusal(error)) throw error
        const now = await this.#find(path, call)
        if (!now) return
        if (now.kind === 'directory' && (await this.#files.list(path, call)).length > 0) {
          throw notEmpty()
        }
        if (now.kind === known.kind) throw error
        await remove(now)
      })
    })
  }

  async mkdir(path: StoragePath, { signal, exclusive }: Call & { exclusive: boolean }): Promise<void> {
    await this.#run(signal, async () => {
      refuseStaging(path)
      const made = await makeFolders(this.#files, path, { signal }).catch(async error => {
        if (hasCode(error, 'NOT_A_DIRECTORY')) refuseTarget(await this.#find(path, { signal }), 'directory', false)
        throw error
      })
      if (!exclusive || made.includes(path)) return
      throw alreadyExists()
    })
  }

  async move(
    from: StoragePath,
    to: StoragePath,
    { signal, overwrite, entry }: Call & { overwrite: boolean; entry?: Entry },
  ): Promise<Entry> {
    const call = { signal }
    return await this.#run(signal, async () => {
      const source = entry ?? (await this.#find(from, call)) ?? missing()
      return await this.#host.exclusively(this.#files.idOf(to), call, async () => {
        const target = await this.#find(to, call)
        refuseTarget(target, source.kind, overwrite)
        if (target?.kind === 'directory') await this.#removeEmpty(to, call)
        await this.#rename(from, to, { signal, overwrite, kind: source.kind })
        return await this.#entry(to, call)
      })
    })
  }

  async close(): Promise<void> {
    this.#files.close()
  }

  /** Reads the version that `entry` describes. @throws PRECONDITION_FAILED where the server has another one */
  async #read(path: StoragePath, entry: Entry, { signal, range, ifMatch }: ReadOptions): Promise<ReadResult> {
    if (entry.kind === 'directory') throw notAFile()
    if (ifMatch !== undefined && ifMatch !== entry.etag) throw changed()
    const positions = positionsOf(entry.size ?? 0, range)
    return { body: await openBody(this.#files, path, { signal, ...positions, facts: entry }), entry }
  }

  async #copy(
    from: StoragePath,
    to: StoragePath,
    { signal, overwrite }: Call & { overwrite: boolean },
  ): Promise<Entry> {
    return await this.#run(signal, async () => {
      const source = (await this.#find(from, { signal })) ?? missing()
      if (source.kind === 'directory') throw notAFile()
      refuseTarget(await this.#find(to, { signal }), 'file', overwrite)
      const copy = async (staged: StoragePath) => this.#files.copy?.(from, staged, { signal })
      const staged = await this.#staging.fill({ signal }, randomUUID(), copy)
      return await this.#publishOrDiscard(staged, to, { signal, overwrite })
    })
  }

  async #deleteTree(path: StoragePath, { signal }: Call): Promise<void> {
    await this.#run(signal, async () => {
      const found = await this.#find(path, { signal })
      if (found?.kind === 'file') await this.#files.removeFile(path, { signal })
      else if (found) await this.#files.removeTree?.(path, { signal })
    })
  }

  #appending(files: Parameters<typeof resumableWrites>[0]): ResumableWrites {
    return resumableWrites(files, this.#staging, (staged, path, options) => this.#publish(staged, path, options))
  }

  /** Adds to resumable writes what all methods do. */
  #running(writes: ResumableWrites): ResumableWrites {
    return {
      ...writes,
      begin: (path, options) =>
        this.#run(options.signal, async () => {
          refuseStaging(path)
          return await writes.begin(path, options)
        }),
      append: (state, body, options) => this.#run(options.signal, () => writes.append(state, body, options), body),
      complete: (state, body, options) => this.#run(options.signal, () => writes.complete(state, body, options), body),
      abort: (state, call) => this.#run(call.signal, () => writes.abort(state, call)),
    }
  }

  /** Makes an unfinished write visible. */
  async #publish(staged: StoragePath, path: StoragePath, options: Call & { overwrite: boolean }): Promise<Entry> {
    const { signal, overwrite } = options
    const publish = async () => {
      signal.throwIfAborted()
      if (!this.#files.hasExclusiveRename) refuseTarget(await this.#find(path, { signal }), 'file', overwrite)
      await this.#rename(staged, path, { ...options, kind: 'file' })
      return await this.#entry(path, { signal })
    }
    if (this.#files.hasExclusiveRename) return await publish()
    return await this.#host.exclusively(this.#files.idOf(path), { signal }, publish)
  }

  #rename(from: StoragePath, to: StoragePath, options: RenameOptions): Promise<void> {
    const server = { files: this.#files, staging: this.#staging, host: this.#host }
    return renameWithParents(server, from, to, options)
  }

  /** See `Commit`. */
  async #commit(
    path: StoragePath,
    { signal, overwrite }: Call & { overwrite: boolean },
    store: () => Promise<void>,
  ): Promise<Entry> {
    const refuse = async () => refuseTarget(await this.#find(path, { signal }), 'file', overwrite)
    return await this.#host.exclusively(this.#files.idOf(path), { signal }, async () => {
      await refuse()
      await withParents(this.#files, path, { signal }, { work: store, explain: refuse })
      return await this.#entry(path, { signal })
    })
  }

  async #publishOrDiscard(
    staged: StoragePath,
    path: StoragePath,
    options: Call & { overwrite: boolean },
  ): Promise<Entry> {
    try {
      return await this.#publish(staged, path, options)
    } catch (error) {
      await this.#staging.discard(staged)
      throw error
    }
  }

  /** @throws NOT_EMPTY */
  async #removeEmpty(path: StoragePath, call: Call): Promise<void> {
    if ((await this.#files.list(path, call)).length > 0) throw notEmpty()
    await this.#files.removeFolder(path, call)
  }

  /** @throws NOT_FOUND, NOT_A_DIRECTORY */
  async #listed(path: StoragePath, call: Call) {
    refuseStaging(path)
    const found = await this.#files.list(path, call).catch(ifRefused([]))
    // Some servers return an empty list for a missing folder and for a file.
    if (found.length === 0) {
      const { kind } = (await this.#find(path, call)) ?? missing()
      if (kind === 'file') throw notAFolder()
    }
    return found.filter(({ name }) => !isReserved(name))
  }

  async #entry(path: StoragePath, call: Call): Promise<Entry> {
    return this.#toEntry(path, (await this.#find(path, call)) ?? missing())
  }

  async #find(path: StoragePath, call: Call): Promise<Facts | null> {
    refuseStaging(path)
    return await this.#files.find(path, call)
  }

  #toEntry(path: StoragePath, facts: Facts): Entry {
    const { kind, size, modifiedAt, etag = null, mimeType = null, checksums, fileId = this.#files.idOf(path) } = facts
    const isFile = kind === 'file'
    return {
      name: nameOf(path),
      kind,
      size: isFile ? size : null,
      modifiedAt,
      etag: isFile ? etag : null,
      mimeType,
      ...(checksums && { checksums }),
      fileId,
    }
  }

  /** @param body is destroyed when `work` fails */
  async #run<T>(signal: AbortSignal, work: () => Promise<T>, body?: Readable): Promise<T> {
    try {
      signal.throwIfAborted()
      return await work()
    } catch (error) {
      body?.destroy()
      throw signal.aborted ? signal.reason : error
    }
  }
}

function appends(files: PlainFiles): files is Parameters<typeof resumableWrites>[0] {
  return files.append !== undefined
}

/** Returns text whose order in JavaScript is that of the bytes of a name. */
function orderOf(name: string): string {
  return Buffer.from(name).toString('latin1')
}
