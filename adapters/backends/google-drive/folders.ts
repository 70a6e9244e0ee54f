import { alreadyExists, notADirectory } from '../../bases/errors.ts'
import { orAborted, StorageError } from '../../contract.ts'
import type { DriveFiles } from './files.ts'
import type { PathIds } from './ids.ts'
import type { DriveFile } from './names.ts'
import { isFolder, toStored } from './names.ts'

/** Keeps a folder and its new parents from being removed while a call works in it. */
export interface FolderHold {
  /** The id of the folder. */
  id: string
  /** Removes the folders that were created for the call, unless another call uses them. */
  undo(): Promise<void>
  release(): void
}

/** Finds and creates folders, and counts the calls that work in each. */
export class Folders {
  readonly #files: DriveFiles
  readonly #ids: PathIds
  readonly #locks: Locks
  /** The number of calls that work in each folder or below it. */
  readonly #uses = new Map<string, number>()

  constructor(files: DriveFiles, ids: PathIds, locks: Locks) {
    this.#files = files
    this.#ids = ids
    this.#locks = locks
  }

  /** Keeps an existing folder from being removed. */
  holdExisting(id: string): FolderHold {
    return this.#newHold([id], [], [])
  }

  /** Returns the id of the last existing folder on the path. @throws NOT_A_DIRECTORY */
  async deepest(segments: readonly string[], signal: AbortSignal): Promise<string> {
    let { id } = await this.#files.root(signal)
    for (const name of segments) {
      const found = await this.#ids.lookUp(id, name, signal)
      if (!found) return id
      if (!isFolder(found)) throw notADirectory()
      id = found.id
    }
    return id
  }

  /** Creates the missing folders of a path, and keeps its folders from being removed. @throws NOT_A_DIRECTORY */
  async hold(segments: readonly string[], signal: AbortSignal): Promise<FolderHold> {
    const root = await this.#files.root(signal)
    const found = segments.length > 0 ? await this.#ids.find(segments, signal, 'verified') : undefined
    if (found && !isFolder(found.file)) throw notADirectory()
    if (segments.length === 0 || found) return this.#newHold([found?.file.id ?? root.id], [], [])
    const used: string[] = []
    const created: string[] = []
    let parent = root.id
    try {
      for (const [depth, name] of segments.entries()) {
        const step = await this.#enter(parent, name, signal)
        parent = step.folder.id
        used.push(parent)
        this.#use(parent, 1)
        if (step.isNew) created.push(parent)
        this.#ids.remember(segments.slice(0, depth + 1), parent)
      }
    } catch (error) {
      for (const id of used) this.#use(id, -1)
      const partial = this.#newHold(used, created, segments)
      await partial.undo()
      throw error
    }
    for (const id of used) this.#use(id, -1)
    return this.#newHold(used, created, segments)
  }

  /** Creates a folder. @throws ALREADY_EXISTS, also where another call created it at the same moment; NOT_A_DIRECTORY */
  async makeExclusive(parent: string, name: string, signal: AbortSignal): Promise<DriveFile> {
    const { folder, isNew } = await this.#enter(parent, name, signal)
    if (!isNew) throw alreadyExists()
    return folder
  }

  /** Finds or creates a folder. If two were created at the same time, the older one stays. */
  async #enter(parent: string, name: string, signal: AbortSignal): Promise<{ folder: DriveFile; isNew: boolean }> {
    return await this.#locks.run(`${parent}/${name}`, signal, async () => {
      const found = await this.#ids.lookUp(parent, name, signal)
      if (found && !isFolder(found)) throw notADirectory()
      if (found) return { folder: found, isNew: false }
      const id = await this.#files.newId(signal)
      try {
        const made = await this.#files.makeFolder(id, parent, toStored(name), signal)
        if (made.name !== toStored(name)) {
          throw new StorageError('INVALID_PATH', 'Google Drive cannot store exactly this name: choose another.')
        }
        const [first] = await this.#ids.twins(parent, name, signal)
        if (!first || first.id === made.id) return { folder: made, isNew: true }
        if (!isFolder(first)) throw notADirectory()
        await this.#discard(id)
        return { folder: first, isNew: false }
      } catch (error) {
        await this.#discard(id)
        throw error
      }
    })
  }

  /** @param created the ids of the new folders, from the top */
  #newHold(used: readonly string[], created: readonly string[], segments: readonly string[]): FolderHold {
    for (const id of used) this.#use(id, 1)
    let isReleased = false
    const release = () => {
      if (isReleased) return
      isReleased = true
      for (const id of used) this.#use(id, -1)
    }
    return {
      id: used.at(-1) ?? '',
      release,
      undo: async () => {
        release()
        if (created.length > 0) this.#ids.forget(segments.slice(0, 1))
        for (const id of created.toReversed()) if (!(await this.#discard(id))) return
      },
    }
  }

  /** Trashes a folder that is empty and not in use. Never deletes it, as somebody may be putting a file into it. */
  async #discard(id: string): Promise<boolean> {
    const signal = AbortSignal.timeout(30_000)
    try {
      if ((this.#uses.get(id) ?? 0) > 0 || !(await this.#files.isEmpty(id, signal))) return false
      await this.#files.trash(id, signal)
      return true
    } catch {
      // An empty folder may remain. The caller needs the error that made the call fail.
      return false
    }
  }

  #use(id: string, count: number): void {
    const uses = (this.#uses.get(id) ?? 0) + count
    if (uses > 0) this.#uses.set(id, uses)
    else this.#uses.delete(id)
  }
}

/** Runs one call at a time for each key, within this process. */
export class Locks {
  readonly #last = new Map<string, Promise<void>>()

  async run<T>(key: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key) ?? Promise.resolve()
    const { promise: mine, resolve: release } = Promise.withResolvers<void>()
    const tail = before.then(() => mine)
    this.#last.set(key, tail)
    try {
      await orAborted(before, signal)
      return await work()
    } finally {
      release()
      if (this.#last.get(key) === tail) this.#last.delete(key)
    }
  }
}
