/** The file system events of all local providers of a process: one watch of the kernel for each folder, with a bound on their number. */
import { type FSWatcher, watch } from 'node:fs'
import { readFile } from 'node:fs/promises'

/** Folders of one process. A watch needs about 3.5 KB here and 1 KB in the kernel. */
const maxFolders = 30_000
/** The part of the watches that a user may have, for all programs together. */
const share = 0.5
/** Events, perhaps of several turns, that count as those of one. */
const eventsPerTurn = 64
/** The limit of the kernel if it cannot be read: inotify(7). */
const usualLimits = { watches: 8192, queuedEvents: 16_384 }

export class TooManyFolders extends Error {}

export interface EventListener {
  /**
   * @param name the name of an entry in the folder; null if unknown. One that is not UTF-8 becomes one that hardly exists, as no listing
   * has it @param isMoved it came, went or was replaced
   */
  onEvent(name: string | null, isMoved: boolean): void
}

interface Limits {
  folders: number
  /** Events that arrive at once. The kernel drops further ones and Node does not say so. */
  burst: number
}

export class FolderWatches {
  readonly #onLost = new Set<() => void>()
  #folders = 0
  #burst = 0
  #limits: Promise<Limits> | undefined
  /** The limit of a burst; known before the first watch. */
  #maxBurst = Number.POSITIVE_INFINITY

  /** The number of folders that are watched. */
  get size(): number {
    return this.#folders
  }

  /** Calls `listener` when events may have been lost, until the result is called. */
  onLost(listener: () => void): () => void {
    this.#onLost.add(listener)
    return () => this.#onLost.delete(listener)
  }

  /**
   * Watches a folder, but not what is below it, until the result is called.
   * @param path is used at once and never again @throws TooManyFolders
   */
  async watch(path: string, listener: EventListener): Promise<() => void> {
    this.#limits ??= readLimits()
    const { folders, burst } = await this.#limits
    this.#maxBurst = burst
    if (this.#folders >= folders) throw new TooManyFolders(`${folders} folders are watched already`)
    const watcher = open(path, (type, name) => {
      this.#count()
      listener.onEvent(name, type === 'rename')
    })
    this.#folders += 1
    let isOpen = true
    const close = () => {
      if (isOpen) this.#folders -= 1
      isOpen = false
      watcher.close()
    }
    watcher.on('error', () => this.#lose())
    return close
  }

  /** All watches share one queue in the kernel, which the process empties before it does anything else. */
  #count(): void {
    this.#burst += 1
    // Another turn of the event loop for each event would cost more than the event.
    if (this.#burst === Math.min(eventsPerTurn, this.#maxBurst - 1)) {
      setImmediate(() => {
        this.#burst = 0
      })
    }
    if (this.#burst === this.#maxBurst) this.#lose()
  }

  #lose(): void {
    for (const listener of this.#onLost) listener()
  }
}

/** @throws TooManyFolders */
function open(path: string, onEvent: (type: string, name: string | null) => void): FSWatcher {
  try {
    return watch(path, { persistent: false }, onEvent)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : null
    if (code !== 'ENOSPC' && code !== 'EMFILE') throw error
    throw new TooManyFolders('The kernel allows no more watches', { cause: error })
  }
}

async function readLimits(): Promise<Limits> {
  const [watches, queuedEvents] = await Promise.all([
    readNumber('max_user_watches', usualLimits.watches),
    readNumber('max_queued_events', usualLimits.queuedEvents),
  ])
  return { folders: Math.min(maxFolders, Math.floor(watches * share)), burst: Math.floor(queuedEvents / 2) }
}

async function readNumber(name: string, usual: number): Promise<number> {
  const text = await readFile(`/proc/sys/fs/inotify/${name}`, 'utf8').catch(() => '')
  return Number(text.trim()) || usual
}
