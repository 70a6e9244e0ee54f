import { type SlotOwners, slotOwners, type Viewer } from '../../auth/viewer.ts'
import { AppError } from '../../errors.ts'
import { Slots } from '../../lib/slots.ts'

/** The maximum numbers of subscriptions to one field on one server. */
const limits = { credential: 20, links: 20, member: 100, all: 1000 }
/** The maximum number of values that a client has not read. */
export const maxUnread = 1000

/** The subscriptions to one field. */
export class OpenSubscriptions {
  readonly #slots = new Slots<keyof SlotOwners>(limits)

  /** Counts a subscription until the result is disposed of. @throws TOO_MANY_SUBSCRIPTIONS */
  add(viewer: Viewer): Disposable {
    return this.#slots.take(slotOwners(viewer), tooMany)
  }
}

function tooMany(level: keyof SlotOwners | 'all', limit: number): AppError {
  const owner = level === 'credential' ? 'This credential has' : 'You have'
  const message =
    level === 'all'
      ? 'The server has too many open subscriptions: try again later.'
      : `${owner} ${limit} open subscriptions, which is the limit: close one of them.`
  return new AppError('TOO_MANY_SUBSCRIPTIONS', message)
}

export function stopping(): AppError {
  return new AppError('UNAVAILABLE', 'The server is stopping: subscribe again.', { retryAfterMs: 1000 })
}
