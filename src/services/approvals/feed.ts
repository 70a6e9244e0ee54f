/** Tells the consoles of people when calls begin or end to wait. */
import { requireSession } from '../../auth/policy.ts'
import type { Viewer } from '../../auth/viewer.ts'
import { type ApprovalRecord, approvalChannel } from '../../db/approvals.ts'
import type { Database } from '../../db/client.ts'
import type { ActiveGrants } from '../../storage/active-grants.ts'
import { createListener, OpenSubscriptions, Subscription, stopping } from '../subscriptions/index.ts'

type List = (viewer: Viewer) => Promise<ApprovalRecord[]>

/** The calls that wait for a person now. */
export interface ApprovalEvent {
  approvals: readonly ApprovalRecord[]
  viewer: Viewer
}

export class ApprovalSubscription extends Subscription<null, ApprovalEvent> {
  readonly #list: List
  viewer: Viewer

  constructor(viewer: Viewer, list: List, onEnd: () => void) {
    super(onEnd)
    this.viewer = viewer
    this.#list = list
  }

  /** The client reads the list when it is ready for it, so one change stands for any number of them. */
  offer(): void {
    this.add('list', null)
  }

  protected override async toEvent(): Promise<ApprovalEvent> {
    return { approvals: await this.#list(this.viewer), viewer: this.viewer }
  }
}

export function createApprovalFeed(options: {
  db: Database
  activeGrants: ActiveGrants
  list: List
  onError: (error: unknown) => void
}) {
  const { db, activeGrants, list, onError } = options
  const subscriptions = new Set<ApprovalSubscription>()
  const open = new OpenSubscriptions()
  let isClosed = false
  const offerAll = () => {
    for (const each of subscriptions) each.offer()
  }
  const listener = createListener(db, {
    channel: approvalChannel,
    onNotification(workspaceId) {
      for (const each of subscriptions) if (each.viewer.member.workspaceId === workspaceId) each.offer()
    },
    // Notifications from before are lost.
    onListening: offerAll,
    onError,
    onStopped: () => {},
  })

  return {
    /** Opens a subscription. It begins with the present list. @throws SESSION_REQUIRED, TOO_MANY_SUBSCRIPTIONS, UNAVAILABLE */
    async open(viewer: Viewer | null, signal: AbortSignal): Promise<ApprovalSubscription> {
      const present = requireSession(viewer)
      if (isClosed) throw stopping()
      const slot = open.add(present)
      const subscription = new ApprovalSubscription(present, list, () => {
        slot[Symbol.dispose]()
        work[Symbol.dispose]()
        subscriptions.delete(subscription)
        if (subscriptions.size === 0) listener.stopLater()
      })
      const work = activeGrants.registerViewer(
        {
          viewer: present,
          confirmed: now => {
            subscription.viewer = now
          },
        },
        signal,
      )
      subscriptions.add(subscription)
      listener.start()
      subscription.offer()
      subscription.cancelWith(work.signal)
      return subscription
    },

    async close(): Promise<void> {
      isClosed = true
      for (const each of subscriptions) each.cancel(stopping())
      await listener.stop()
    },
  }
}
