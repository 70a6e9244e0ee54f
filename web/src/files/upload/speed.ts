/** Milliseconds over which the speed is averaged. */
const averagingTime = 5000

/** Measures the current upload speed. */
export class Speed {
  #samples: { at: number; bytes: number }[] = []

  add(bytes: number): void {
    const at = performance.now()
    const last = this.#samples.at(-1)
    // Progress events are frequent, so close ones share a sample.
    if (last && at - last.at < 100) last.bytes += bytes
    else this.#samples.push({ at, bytes })
  }

  /** Returns bytes per second; 0 if nothing was sent recently. */
  perSecond(): number {
    const now = performance.now()
    this.#samples = this.#samples.filter(({ at }) => now - at < averagingTime)
    const [first] = this.#samples
    if (!first) return 0
    const bytes = this.#samples.reduce((sum, sample) => sum + sample.bytes, 0)
    return (bytes * 1000) / Math.max(now - first.at, 500)
  }
}
