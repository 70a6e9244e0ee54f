import type { Database } from '../../db/client.ts'
import { addDownloads } from '../../db/shares/claims.ts'

/** Milliseconds that a count waits, to be written together with others. */
const writeDelay = 500

/** Counts the downloads of shares without a limit, which need no decision and so no write for each request. */
export function createDownloadCounts(db: Database, onError: (error: unknown) => void) {
  let pending = new Map<string, number>()
  let timer: NodeJS.Timeout | undefined
  let writing = Promise.resolve()

  function flush(): Promise<void> {
    clearTimeout(timer)
    timer = undefined
    const counts = pending
    pending = new Map()
    if (counts.size > 0) writing = writing.then(() => addDownloads(db, counts)).catch(onError)
    return writing
  }

  return {
    add(shareId: string): void {
      pending.set(shareId, (pending.get(shareId) ?? 0) + 1)
      timer ??= setTimeout(flush, writeDelay).unref()
    },
    /** Writes the pending counts. */
    close: flush,
  }
}
