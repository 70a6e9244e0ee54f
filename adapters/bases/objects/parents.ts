import { ancestorsOf, nameOf, StorageError, type StoragePath } from '../../contract.ts'

/** Milliseconds for which a parent that is not a file is not checked again, as many files often go into one folder. */
const notFileTime = 5_000
const maxRemembered = 1000

/** Checks that no parent of a path is a file. */
export class Parents {
  readonly #isFile: (path: StoragePath, signal: AbortSignal) => Promise<boolean>
  /** Until when a path counts as no file, as of `performance.now()`. */
  readonly #notFiles = new Map<StoragePath, number>()

  constructor(isFile: (path: StoragePath, signal: AbortSignal) => Promise<boolean>) {
    this.#isFile = isFile
  }

  /** @throws NOT_A_DIRECTORY */
  async refuseFiles(path: StoragePath, signal: AbortSignal): Promise<void> {
    const now = performance.now()
    const unknown = ancestorsOf(path)
      .slice(1)
      .filter(parent => (this.#notFiles.get(parent) ?? 0) < now)
    const areFiles = await Promise.all(unknown.map(parent => this.#isFile(parent, signal)))
    const blocking = unknown.find((_, i) => areFiles[i])
    if (blocking !== undefined) {
      throw new StorageError('NOT_A_DIRECTORY', `"${nameOf(blocking)}" in this path is a file, not a folder.`)
    }
    if (this.#notFiles.size > maxRemembered) this.#notFiles.clear()
    for (const parent of unknown) this.#notFiles.set(parent, now + notFileTime)
  }

  /** Call this after creating a file. */
  noteFile(path: StoragePath): void {
    this.#notFiles.delete(path)
  }
}
