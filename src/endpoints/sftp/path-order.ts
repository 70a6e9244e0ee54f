/** Keeps operations in the order in which a client has sent them, where the order makes a difference. */
import { areRelated, type SftpPath } from './paths.ts'

/** The effect of an operation at its paths: it looks at entries, changes one entry alone, or changes which entries there are. */
export type PathUse = 'look' | 'entry' | 'tree'

interface Running {
  paths: readonly SftpPath[]
  use: PathUse
  done: Promise<unknown>
}

/**
 * Returns whether the order of two operations at two paths makes a difference. The content of a file can take minutes to be stored:
 * looking at the folders above does not wait for it.
 */
function dependOn(one: PathUse, path: SftpPath, other: PathUse, otherPath: SftpPath): boolean {
  if (one === 'look' && other === 'look') return false
  return one === 'tree' || other === 'tree' ? areRelated(path, otherPath) : path === otherPath
}

/**
 * Starts each operation after the earlier ones on which its result depends. Others run at the same time. The number of operations is bounded by the session.
 */
export class PathOrder {
  readonly #running = new Set<Running>()

  async run<T>(paths: readonly SftpPath[], use: PathUse, work: () => Promise<T>): Promise<T> {
    const earlier = [...this.#running].filter(each =>
      each.paths.some(path => paths.some(other => dependOn(each.use, path, use, other))),
    )
    const result = Promise.all(earlier.map(({ done }) => done)).then(work)
    const own: Running = { paths, use, done: result.catch(() => {}) }
    this.#running.add(own)
    try {
      return await result
    } finally {
      this.#running.delete(own)
    }
  }
}
