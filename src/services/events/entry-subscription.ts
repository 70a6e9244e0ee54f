import { formatPath } from '../../auth/path.ts'
import type { Grant } from '../../auth/policy.ts'
import type { Viewer } from '../../auth/viewer.ts'
import { maxUnread } from '../subscriptions/limits.ts'
import { Subscription } from '../subscriptions/subscription.ts'
import { type EntryChange, seenFrom } from './entry-change.ts'

export interface EntryEvent {
  change: EntryChange
  viewer: Viewer
}

/** One subscription to folders or files and everything below them. */
export class EntrySubscription extends Subscription<EntryChange, EntryEvent> {
  readonly #grants: readonly [Grant<'read'>, ...Grant<'read'>[]]

  constructor(grants: readonly [Grant<'read'>, ...Grant<'read'>[]], onEnd: () => void) {
    super(onEnd)
    this.#grants = grants
  }

  get viewer(): Viewer {
    return this.#grants[0].viewer
  }

  /** Adds a change, if it concerns one of the locations. A client that reads too slowly gets one change of everything instead. */
  offer(change: EntryChange): void {
    for (const grant of this.#grants) {
      const seen = seenFrom(grant, change)
      if (seen) this.#add(seen)
    }
    if (this.unread > maxUnread) this.invalidate()
  }

  /** Replaces all unread changes by one of each location, after which the client lists the folders again. */
  invalidate(): void {
    this.clear()
    const at = new Date()
    for (const { providerId, path } of this.#grants) this.#add({ kind: 'TREE_CHANGED', providerId, path, at })
  }

  #add(change: EntryChange): void {
    const { kind, providerId, path } = change
    this.add(`${kind === 'TREE_CHANGED' ? 'tree' : 'entry'} ${providerId} ${formatPath(path)}`, change)
  }

  protected override toEvent(change: EntryChange): EntryEvent {
    return { change, viewer: this.viewer }
  }
}
