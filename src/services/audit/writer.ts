import { type AuditEvent, insertAuditEvents } from '../../db/audit-events.ts'
import type { Database } from '../../db/client.ts'
import { toAppError } from '../../errors.ts'

export interface Unwritable {
  event: AuditEvent
  error: unknown
}

/**
 * Writes events in one statement. If that fails, writes them in halves, down to the single events that fail, so that no
 * event is lost because of another. Safe to repeat: it does not change an event that is already written.
 * @returns the events that the database refuses
 * @throws if the database does not respond; then any of the events may be missing
 */
export async function writeEvents(db: Database, events: readonly AuditEvent[]): Promise<Unwritable[]> {
  try {
    await insertAuditEvents(db, events)
    return []
  } catch (error) {
    if (toAppError(error).reason === 'UNAVAILABLE') throw error
    const [event, ...others] = events
    if (!event) return []
    if (others.length === 0) return [{ event, error }]
    const middle = Math.ceil(events.length / 2)
    const first = await writeEvents(db, events.slice(0, middle))
    return [...first, ...(await writeEvents(db, events.slice(middle)))]
  }
}
