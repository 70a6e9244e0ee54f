/** Keeps operations in the order in which a client has sent them, where the order makes a difference. */
import { areRelated, type SftpPath } from './paths.ts'

interface Running {
  paths: readonly SftpPath[]
  isChange: boolean
  done: Promise<unknown>
}

/**
 * Starts each operation after the earlier ones at its paths, above and below them, if one of the two changes something. Others run at
 * the same time. The number of operations is bounded by the session.
 */
export class PathOrder {
  readonly #running = new Set<Running>()

  async run<T>(paths: readonly SftpPath[], isChange: boolean, work: () => Promise<T>): Promise<T> {
    const earlier = [...this.#running].filter(
      each => (isChange || each.isChange) && each.paths.some(path => paths.some(other => areRelated(path, other))),
    )
    const result = Promise.all(earlier.map(({ done }) => done)).then(work)
    const own: Running = { paths, isChange, done: result.catch(() => {}) }
    this.#running.add(own)
    try {
      return await result
    } finally {
      this.#running.delete(own)
    }
  }
}
