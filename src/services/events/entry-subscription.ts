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

/** One subscription to a folder or file and everything below it. */
export class EntrySubscription extends Subscription<EntryChange, EntryEvent> {
  readonly grant: Grant<'read'>

  constructor(grant: Grant<'read'>, onEnd: () => void) {
    super(onEnd)
    this.grant = grant
  }

  get viewer(): Viewer {
    return this.grant.viewer
  }

  /** Adds a change, if it concerns the location. A client that reads too slowly gets one change of everything instead. */
  offer(change: EntryChange): void {
    const seen = seenFrom(this.grant, change)
    if (!seen) return
    this.add(`${seen.kind === 'TREE_CHANGED' ? 'tree' : 'entry'} ${formatPath(seen.path)}`, seen)
    if (this.unread > maxUnread) this.invalidate()
  }

  /** Replaces all unread changes by one of everything, after which the client lists the folder again. */
  invalidate(): void {
    this.clear()
    const { providerId, path } = this.grant
    this.add('all', { kind: 'TREE_CHANGED', providerId, path, at: new Date() })
  }

  protected override toEvent(change: EntryChange): EntryEvent {
    return { change, viewer: this.viewer }
  }
}
