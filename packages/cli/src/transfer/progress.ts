import type { Output } from '../output.ts'
import { barText, count, formatBytes, type ProgressState } from '../terminal/bar.ts'

/** Milliseconds between two states of the bar. */
const redrawInterval = 100

/** Counts what a transfer has done, and shows it. */
export class Progress {
  #files = 0
  #skipped = 0
  #deleted = 0
  #bytes = 0
  #drawnAt = Number.NEGATIVE_INFINITY
  #totalBytes: number | null = null
  readonly #startedAt = performance.now()
  readonly #output: Output
  readonly #isDryRun: boolean

  constructor(output: Output, { isDryRun = false } = {}) {
    this.#output = output
    this.#isDryRun = isDryRun
  }

  /** Tells that the transfer is one file of this size, so that the bar shows a share. */
  expectFile(bytes: number | null): void {
    this.#totalBytes = bytes
  }

  /** Returns a function that takes the bytes of one file that have passed so far. */
  meter(): (bytes: number) => void {
    let before = 0
    return bytes => {
      this.#bytes += bytes - before
      before = bytes
      this.#draw()
    }
  }

  addFile(): void {
    this.#files += 1
    this.#draw()
  }

  addSkipped(): void {
    this.#skipped += 1
  }

  addDeleted(): void {
    this.#deleted += 1
  }

  /** Removes the bar and says what was done. */
  end(): void {
    this.#output.showBar('')
    const [files, would] = [count(this.#files, 'file'), this.#isDryRun ? 'would be ' : '']
    const parts = [`${files} ${would}copied${this.#isDryRun ? '' : ` (${formatBytes(this.#bytes)})`}`]
    if (this.#skipped > 0) parts.push(`${this.#skipped} ${would}skipped`)
    if (this.#deleted > 0) parts.push(`${this.#deleted} ${would}deleted`)
    if (this.#output.failures > 0) parts.push(`${this.#output.failures} failed`)
    this.#output.note(parts.join(', '))
  }

  #draw(): void {
    const now = performance.now()
    if (!this.#output.hasBar || now - this.#drawnAt < redrawInterval) return
    this.#drawnAt = now
    const seconds = (now - this.#startedAt) / 1000
    const state: ProgressState = {
      files: this.#files,
      bytes: this.#bytes,
      totalFiles: this.#totalBytes === null ? null : 1,
      totalBytes: this.#totalBytes,
      bytesPerSecond: seconds > 0 ? this.#bytes / seconds : 0,
    }
    this.#output.showBar(barText(state))
  }
}
