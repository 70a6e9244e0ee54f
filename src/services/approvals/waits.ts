/** Waits for the decisions about calls, whichever server gets them. One query a second asks for all of them. */
import { type ApprovalRecord, findApprovals } from '../../db/approvals.ts'
import type { Database } from '../../db/client.ts'
import { AppError } from '../../errors.ts'
import { startPolling } from '../../lib/polling.ts'

/** Milliseconds between two queries. A decision on this server is known at once. */
const interval = 1000

type ApprovalWait = PromiseWithResolvers<ApprovalRecord | null>

export function createApprovalWaits({ db, onError }: { db: Database; onError: (error: unknown) => void }) {
  const waits = new Map<ApprovalWait, string>()
  let isClosed = false

  async function search(): Promise<void> {
    if (waits.size === 0) return
    const found = await findApprovals(db, [...new Set(waits.values())])
    const decided = new Map(found.filter(({ state }) => state !== 'PENDING').map(each => [each.id, each]))
    for (const [wait, id] of waits) {
      const approval = decided.get(id)
      if (approval) wait.resolve(approval)
    }
  }

  const polling = startPolling({ interval, search, onError })

  return {
    /**
     * Resolves with a decision, or with null after `milliseconds` without one.
     * @throws the reason of the signal; UNAVAILABLE when the server stops
     */
    async wait(id: string, milliseconds: number, signal: AbortSignal): Promise<ApprovalRecord | null> {
      signal.throwIfAborted()
      if (isClosed) throw stopping()
      const wait: ApprovalWait = Promise.withResolvers()
      const onAbort = () => wait.reject(signal.reason)
      const timer = setTimeout(() => wait.resolve(null), milliseconds)
      signal.addEventListener('abort', onAbort, { once: true })
      waits.set(wait, id)
      polling.wake()
      try {
        return await wait.promise
      } finally {
        clearTimeout(timer)
        signal.removeEventListener('abort', onAbort)
        waits.delete(wait)
      }
    },

    check: polling.wake,

    async close(): Promise<void> {
      isClosed = true
      for (const wait of waits.keys()) wait.reject(stopping())
      await polling.stop()
    },
  }
}

function stopping(): AppError {
  return new AppError('UNAVAILABLE', 'The server is stopping: call again.', { retryAfterMs: 1000 })
}
