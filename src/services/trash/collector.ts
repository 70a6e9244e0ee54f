/** Deletes what has expired for good, and finishes what killed servers have begun. One server at a time works on an item. */
import { findJobs } from '../../db/jobs/jobs.ts'
import { deleteTrashItem, isAnyDue, postponeTrashItem, type TrashItem, takeDueItem } from '../../db/trash.ts'
import { allDone } from '../../lib/limiter.ts'
import { type Polling, startPolling } from '../polling.ts'
import { keepLease, settle, type TrashChangeContext, type TrashContext, trashOf } from './settle.ts'

/** Milliseconds between two searches. */
const pollInterval = 60_000
/** Milliseconds to find out where an entry is. */
const settleTimeout = 60_000
const itemsAtOnce = 4

export function startTrashCollector(context: TrashChangeContext): Polling {
  const { onError } = context
  return startPolling({ interval: pollInterval, search: signal => collect(context, signal), onError })
}

async function collect(context: TrashChangeContext, signal: AbortSignal): Promise<void> {
  const { db } = context
  if (!(await isAnyDue(db))) return
  const work = async () => {
    for (let item = await takeDueItem(db); item && !signal.aborted; item = await takeDueItem(db)) {
      await collectOne(context, item, signal)
    }
  }
  await allDone(Array.from({ length: itemsAtOnce }, work))
}

/** A failure is often one of the back end, so the next attempt is later. */
async function collectOne(context: TrashChangeContext, item: TrashItem, signal: AbortSignal): Promise<void> {
  const { db, onError } = context
  using _lease = keepLease(db, item)
  try {
    if (item.state === 'REMOVING') {
      await (await trashOf(context, item))?.remove(item, signal)
      await deleteTrashItem(db, item.id)
    } else if (await isJobActive(context, item)) await postponeTrashItem(db, item)
    else
      await settle(context, item, {
        isOver: false,
        signal: AbortSignal.any([signal, AbortSignal.timeout(settleTimeout)]),
      })
  } catch (error) {
    if (signal.aborted) return
    onError(error)
    await postponeTrashItem(db, item)
  }
}

/** A job that copies a folder to the trash continues after its server was killed. */
async function isJobActive({ db }: TrashContext, { jobId }: TrashItem): Promise<boolean> {
  const [job] = jobId === null ? [] : await findJobs(db, [jobId])
  return job !== undefined && job.endedAt === null
}
