/** Milliseconds that count as now. */
const span = 5000

/** What has been sent of late. */
export class Speed {
  #samples: { at: number; bytes: number }[] = []

  add(bytes: number): void {
    const at = performance.now()
    const last = this.#samples.at(-1)
    // Progress comes some times a second for each file.
    if (last && at - last.at < 100) last.bytes += bytes
    else this.#samples.push({ at, bytes })
  }

  /** Bytes each second; 0 where nothing was sent of late. */
  perSecond(): number {
    const now = performance.now()
    this.#samples = this.#samples.filter(({ at }) => now - at < span)
    const [first] = this.#samples
    if (!first) return 0
    const bytes = this.#samples.reduce((sum, sample) => sum + sample.bytes, 0)
    return (bytes * 1000) / Math.max(now - first.at, 500)
  }
}
