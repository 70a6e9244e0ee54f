import type { Stats } from 'node:fs'
import { lstat, mkdir, readdir, realpath, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { CommandError, exitCodes } from '../errors.ts'
import { isSafeName, isTemporary, requireSafeName } from './save-file.ts'
import type { Item, Steps, Tree } from './tree.ts'

/** A folder of this machine. */
export class LocalTree implements Tree {
  readonly #top: string
  readonly #followsLinks: boolean
  /** Folders that exist and are no symbolic links. */
  readonly #folders = new Map<string, Promise<void>>()

  /** @param top the folder; it can be missing */
  constructor(top: string, options: { followsLinks: boolean }) {
    this.#top = top
    this.#followsLinks = options.followsLinks
  }

  accepts(name: string): boolean {
    return isSafeName(name)
  }

  display(steps: Steps): string {
    return join(this.#top, ...steps)
  }

  /** @throws CommandError if a name would lead out of the folder */
  pathOf(steps: Steps): string {
    return join(this.#top, ...steps.map(requireSafeName))
  }

  async list(steps: Steps): Promise<Map<string, Item>> {
    const folder = this.pathOf(steps)
    if (this.#followsLinks) await this.#requireNoLoop(steps)
    const names = (await readdir(folder)).filter(name => !isTemporary(name))
    const items = await Promise.all(names.map(name => this.#item(folder, name)))
    return new Map(items.flatMap(item => (item ? [[item.name, item] as const] : [])))
  }

  async makeFolder(steps: Steps): Promise<boolean> {
    await this.requireFolder(steps.slice(0, -1))
    try {
      await mkdir(this.pathOf(steps))
      return true
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
      throw error
    }
  }

  /**
   * Creates a folder with its parents, if they are missing. Below the top, none of them may be a symbolic link, because it
   * could lead out of the tree.
   */
  requireFolder(steps: Steps): Promise<void> {
    const path = this.pathOf(steps)
    const found = this.#folders.get(path) ?? this.#openFolder(steps, path)
    this.#folders.set(path, found)
    return found
  }

  async remove(steps: Steps): Promise<void> {
    const path = this.pathOf(steps)
    // A link among the folders above could lead out of the tree.
    await this.requireFolder(steps.slice(0, -1))
    await rm(path, { recursive: true })
  }

  async #openFolder(steps: Steps, path: string): Promise<void> {
    if (steps.length === 0) {
      await mkdir(path, { recursive: true })
      return
    }
    await this.requireFolder(steps.slice(0, -1))
    try {
      await mkdir(path)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
      if ((await lstat(path)).isDirectory()) return
      const message = `${path} is not a folder, or is a symbolic link: move it away.`
      throw new CommandError(message, 'ALREADY_EXISTS', exitCodes.conflict.code)
    }
  }

  /** Returns null if the entry was deleted meanwhile. @throws CommandError if its name is not UTF-8 */
  async #item(folder: string, name: string): Promise<Item | null> {
    const path = join(folder, name)
    const stats = await (this.#followsLinks ? stat(path) : lstat(path)).catch(unlessMissing)
    if (stats) return itemOf(name, stats)
    // A link to nothing is reported, and not deleted as if it were missing.
    if (await lstat(path).catch(unlessMissing)) return { name, kind: 'other', size: null, modifiedAt: null }
    if (!name.includes('\ufffd')) return null
    const message = `${path} is not named in UTF-8: rename it.`
    throw new CommandError(message, 'INVALID_NAME', exitCodes.failure.code)
  }

  /** @throws CommandError if a link leads to a folder above it */
  async #requireNoLoop(steps: Steps): Promise<void> {
    const paths = steps.map((_, index) => this.pathOf(steps.slice(0, index)))
    const [here, ...above] = await Promise.all([this.pathOf(steps), ...paths].map(path => realpath(path)))
    if (!above.includes(here ?? '')) return
    const message = `${this.display(steps)} is a symbolic link to a folder that contains it.`
    throw new CommandError(message, 'LINK_LOOP', exitCodes.failure.code)
  }
}

export function itemOf(name: string, stats: Stats): Item {
  const kind = stats.isFile() ? 'file' : stats.isDirectory() ? 'folder' : 'other'
  return { name, kind, size: kind === 'file' ? stats.size : null, modifiedAt: stats.mtime }
}

/** Returns null for a missing entry, and for a link that leads to itself. @throws any other error */
function unlessMissing(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT' || error.code === 'ELOOP') return null
  throw error
}
