/** Remembers where entries are changed by actions that take long, because their events are written at their end. */
import type { RunningChange } from '../../db/catalogue/catalogues.ts'
import type { AuditAction } from '../../db/schema.ts'
import { type AuditFacts, parseLocation } from './event.ts'

const changingActions: ReadonlySet<AuditAction> = new Set(['UPLOAD', 'RENAME', 'MOVE', 'COPY', 'DELETE', 'RESTORE'])
/** Milliseconds after which an action takes long. */
const long = 1000
/** Milliseconds after the end of an action in which its event is written for sure. */
const writing = 5000
/** The maximum number of locations that are listed. */
const maxListed = 500

interface RunningAction {
  facts: () => AuditFacts
  /** As of `performance.now()`. */
  begunAt: number
  endedAt: number | null
}

export class RunningActions {
  readonly #actions = new Set<RunningAction>()

  /** Returns a function that ends the action. */
  begin(action: AuditAction, facts: () => AuditFacts): () => void {
    if (!changingActions.has(action)) return () => {}
    const running: RunningAction = { facts, begunAt: performance.now(), endedAt: null }
    this.#actions.add(running)
    return () => {
      running.endedAt = performance.now()
      if (running.endedAt - running.begunAt < long) this.#actions.delete(running)
    }
  }

  list(): RunningChange[] {
    const now = performance.now()
    const found: RunningChange[] = []
    for (const running of this.#actions) {
      const { facts, begunAt, endedAt } = running
      if (endedAt !== null && now - endedAt > writing) this.#actions.delete(running)
      else if (now - begunAt >= long && found.length < maxListed) {
        const { location, to } = facts()
        for (const { id, path } of [location, to].map(parseLocation)) {
          if (id !== null && path !== null) found.push({ providerId: id, path })
        }
      }
    }
    return found
  }
}
