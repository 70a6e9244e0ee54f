import { type ApiKey, touchApiKeys } from '../../db/api-keys.ts'
import type { Database } from '../../db/client.ts'

export interface KeyUsage {
  note(key: Pick<ApiKey, 'id' | 'lastUsedAt'>, now: Date): void
  /** Writes the pending uses. */
  close(): Promise<void>
}

/** Milliseconds: `lastUsedAt` is stored to the minute. */
const precision = 60_000
/** Milliseconds that a use waits, to be written together with others. */
const writeDelay = 500

export function createKeyUsage(db: Database, onError: (error: unknown) => void): KeyUsage {
  let pending = new Map<string, Date>()
  /** The time at which this server last recorded each key. With it, a burst of requests writes only once. */
  const written = new Map<string, number>()
  let timer: NodeJS.Timeout | undefined
  let writing = Promise.resolve()

  async function write(uses: Map<string, Date>): Promise<void> {
    try {
      await touchApiKeys(db, uses)
    } catch (error) {
      for (const id of uses.keys()) written.delete(id)
      onError(error)
    }
  }

  function flush(): Promise<void> {
    clearTimeout(timer)
    timer = undefined
    const uses = pending
    pending = new Map()
    if (uses.size > 0) writing = writing.then(() => write(uses))
    return writing
  }

  return {
    note(key, now) {
      const last = Math.max(key.lastUsedAt?.getTime() ?? 0, written.get(key.id) ?? 0)
      if (now.getTime() - last < precision) return
      if (written.size >= 10_000) written.clear()
      written.set(key.id, now.getTime())
      pending.set(key.id, now)
      timer ??= setTimeout(flush, writeDelay).unref()
    },
    close: flush,
  }
}
