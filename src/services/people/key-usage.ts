import { type ApiKey, touchApiKeys } from '../../db/api-keys.ts'
import type { Database } from '../../db/client.ts'
import { DelayedWrites } from '../../lib/delayed-writes.ts'
import { LruMap } from '../../lib/lru-map.ts'

export interface KeyUsage {
  note(key: Pick<ApiKey, 'id' | 'lastUsedAt'>, now: Date): void
  /** Writes the pending uses. */
  close(): Promise<void>
}

/** Milliseconds: `lastUsedAt` is stored to the minute. */
const precision = 60_000
/** Milliseconds that a use waits, to be written together with others. */
const writeDelay = 500
const maxRemembered = 10_000

export function createKeyUsage(db: Database, onError: (error: unknown) => void): KeyUsage {
  /** The time at which this server last recorded each key. With it, a burst of requests writes only once. */
  const written = new LruMap<string, number>(maxRemembered)
  const writes = new DelayedWrites<Date>(writeDelay, async uses => {
    try {
      await touchApiKeys(db, uses)
    } catch (error) {
      for (const id of uses.keys()) written.delete(id)
      onError(error)
    }
  })

  return {
    note(key, now) {
      const last = Math.max(key.lastUsedAt?.getTime() ?? 0, written.get(key.id) ?? 0)
      if (now.getTime() - last < precision) return
      written.set(key.id, now.getTime())
      writes.put(key.id, () => now)
    },
    close: () => writes.flush(),
  }
}
