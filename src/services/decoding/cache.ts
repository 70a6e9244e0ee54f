/**
 * The cache of thumbnails and renditions: a folder that all processes of a machine share, with one file for each of them, and an empty
 * file for each failure. The least recently used files are removed when the folder has more than its bound.
 */
import { randomBytes } from 'node:crypto'
import { mkdir, open, readdir, readFile, rename, rm, stat, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { Limiter } from '../../lib/limiter.ts'

/** Milliseconds. A file that is used has a time at most this old. */
const timeResolution = 24 * 60 * 60 * 1000
/** After a sweep, this part of the bound is in use. */
const keptPart = 0.9
/** A sweep runs when this process has written this part of the bound, because it does not see what others write. */
const writtenPart = 1 / 16
/** Bytes that a file takes at least on most file systems. */
const blockBytes = 4096
const statsAtOnce = 16

export class DecodedCache {
  readonly #folder: string
  readonly #maxBytes: number
  readonly #onError: (error: unknown) => void
  /** Bytes since the last sweep. */
  #written: number
  #sweeping: Promise<void> | null = null

  /** @param options.maxBytes 0 keeps nothing */
  constructor(options: { folder: string; maxBytes: number; onError: (error: unknown) => void }) {
    this.#folder = options.folder
    this.#maxBytes = options.maxBytes
    this.#onError = options.onError
    // The first file that is written sweeps what an earlier process left.
    this.#written = options.maxBytes
  }

  get isOff(): boolean {
    return this.#maxBytes === 0
  }

  /** Returns what is kept; an empty buffer for a failure; null if neither is kept. */
  async read(key: string): Promise<Buffer | null> {
    if (this.#maxBytes === 0) return null
    const path = this.#path(key)
    const bytes = await readFile(path).catch(() => null)
    if (bytes) await this.#touch(path)
    return bytes
  }

  /** Keeps bytes, or a failure with no bytes. A full disk costs only the cache. */
  async write(key: string, bytes: Uint8Array): Promise<void> {
    if (this.#maxBytes === 0) return
    const path = this.#path(key)
    const temporary = `${path}.${randomBytes(6).toString('hex')}.new`
    try {
      await mkdir(join(path, '..'), { recursive: true, mode: 0o700 })
      await using file = await open(temporary, 'wx', 0o600)
      await file.writeFile(bytes)
      await rename(temporary, path)
    } catch (error) {
      await rm(temporary, { force: true })
      this.#onError(error)
    }
    this.#written += Math.max(bytes.length, blockBytes)
    if (this.#written >= this.#maxBytes * writtenPart) this.#sweep()
  }

  /** Waits for a sweep that is running. */
  async close(): Promise<void> {
    await this.#sweeping
  }

  #path(key: string): string {
    return join(this.#folder, key.slice(0, 2), key.slice(2))
  }

  async #touch(path: string): Promise<void> {
    const now = Date.now()
    const found = await stat(path).catch(() => null)
    if (found && now - found.mtimeMs > timeResolution) await utimes(path, now / 1000, now / 1000).catch(() => {})
  }

  #sweep(): void {
    this.#written = 0
    this.#sweeping ??= this.#removeOldest()
      .catch(this.#onError)
      .finally(() => {
        this.#sweeping = null
      })
  }

  async #removeOldest(): Promise<void> {
    const files = await this.#list()
    let total = files.reduce((sum, { bytes }) => sum + bytes, 0)
    if (total <= this.#maxBytes) return
    for (const { path, bytes } of files.toSorted((a, b) => a.usedAt - b.usedAt)) {
      if (total <= this.#maxBytes * keptPart) return
      await rm(path, { force: true })
      total -= bytes
    }
  }

  async #list(): Promise<{ path: string; bytes: number; usedAt: number }[]> {
    const limiter = new Limiter(statsAtOnce)
    const names = await readdir(this.#folder, { recursive: true, withFileTypes: true })
    const found = await Promise.all(
      names.map(entry =>
        limiter.run(async () => {
          if (!entry.isFile()) return []
          const path = join(entry.parentPath, entry.name)
          // Another process may have removed it.
          const facts = await stat(path).catch(() => null)
          return facts ? [{ path, bytes: Math.max(facts.size, blockBytes), usedAt: facts.mtimeMs }] : []
        }),
      ),
    )
    return found.flat()
  }
}
