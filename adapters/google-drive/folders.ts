import { StorageError } from '../contract.ts'
import type { DriveFile } from './api.ts'
import { notADirectory, taken } from './errors.ts'
import type { DriveFiles } from './files.ts'
import type { PathIds } from './ids.ts'
import type { Locks } from './locks.ts'
import { isFolder, toStored } from './names.ts'

/** A folder that a call works in. */
export interface Held {
  id: string
  /** Removes the folders that were made for the call, where nobody else uses them. */
  undo(): Promise<void>
  release(): void
}

export class Folders {
  readonly #files: DriveFiles
  readonly #ids: PathIds
  readonly #locks: Locks
  /** How many calls work in each folder, or beneath. */
  readonly #uses = new Map<string, number>()

  constructor(files: DriveFiles, ids: PathIds, locks: Locks) {
    this.#files = files
    this.#ids = ids
    this.#locks = locks
  }

  /** One that is there. */
  holdKnown(id: string): Held {
    return this.#held([id], [], [])
  }

  /** The last on the way that is there. @throws NOT_A_DIRECTORY */
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

  /** Makes what is missing on the way. @throws NOT_A_DIRECTORY */
  async hold(segments: readonly string[], signal: AbortSignal): Promise<Held> {
    const root = await this.#files.root(signal)
    const found = segments.length > 0 ? await this.#ids.find(segments, signal, 'verified') : undefined
    if (found && !isFolder(found.file)) throw notADirectory()
    if (segments.length === 0 || found) return this.#held([found?.file.id ?? root.id], [], [])
    const used: string[] = []
    const made: string[] = []
    let parent = root.id
    try {
      for (const [depth, name] of segments.entries()) {
        const step = await this.#enter(parent, name, signal)
        parent = step.folder.id
        used.push(parent)
        this.#use(parent, 1)
        if (step.isNew) made.push(parent)
        this.#ids.remember(segments.slice(0, depth + 1), parent)
      }
    } catch (error) {
      for (const id of used) this.#use(id, -1)
      const partial = this.#held(used, made, segments)
      await partial.undo()
      throw error
    }
    for (const id of used) this.#use(id, -1)
    return this.#held(used, made, segments)
  }

  /** @throws ALREADY_EXISTS where there is anything, also a folder that another made in the same moment */
  async makeExclusive(parent: string, name: string, signal: AbortSignal): Promise<DriveFile> {
    const { folder, isNew } = await this.#enter(parent, name, signal)
    if (!isNew) throw taken()
    return folder
  }

  /** Finds before it makes; of two that were made at once, the older one stays. */
  async #enter(parent: string, name: string, signal: AbortSignal): Promise<{ folder: DriveFile; isNew: boolean }> {
    return await this.#locks.run(`${parent}/${name}`, signal, async () => {
      const found = await this.#ids.lookUp(parent, name, signal)
      if (found && !isFolder(found)) throw notADirectory()
      if (found) return { folder: found, isNew: false }
      const id = await this.#files.newId(signal)
      try {
        const made = await this.#files.makeFolder(id, parent, toStored(name), signal)
        if (made.name !== toStored(name)) {
          throw new StorageError('INVALID_PATH', 'Google Drive cannot keep this name as it is: choose another.')
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

  #held(used: readonly string[], made: readonly string[], segments: readonly string[]): Held {
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
        if (made.length > 0) this.#ids.forget(segments.slice(0, 1))
        for (const id of made.toReversed()) if (!(await this.#discard(id))) return
      },
    }
  }

  /** To the trash, never for good: somebody may put a file in it in this very moment. */
  async #discard(id: string): Promise<boolean> {
    const signal = AbortSignal.timeout(30_000)
    try {
      if ((this.#uses.get(id) ?? 0) > 0 || !(await this.#files.isEmpty(id, signal))) return false
      await this.#files.trash(id, signal)
      return true
    } catch {
      // What made the call fail says more than an empty folder that stays.
      return false
    }
  }

  #use(id: string, count: number): void {
    const uses = (this.#uses.get(id) ?? 0) + count
    if (uses > 0) this.#uses.set(id, uses)
    else this.#uses.delete(id)
  }
}
