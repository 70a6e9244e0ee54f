import type { DeliveryState } from '../../../db/webhooks/deliveries.ts'
import type { DeliveryRecord } from '../../../db/webhooks/record.ts'
import { typeOf } from '../../../services/webhooks/events.ts'
import { builder } from '../builder.ts'
import { definePage } from './page.ts'

const states: Record<DeliveryState, { description: string }> = {
  PENDING: { description: 'Waits for the next attempt.' },
  DELIVERED: { description: 'The receiver has accepted the message.' },
  FAILED: { description: 'The last attempt has failed. The delivery can be sent again.' },
}
export const DeliveryStateEnum = builder.enumType('WebhookDeliveryState', {
  description: 'The state of a delivery.',
  values: states,
})

export const WebhookDelivery = builder.objectRef<DeliveryRecord>('WebhookDelivery').implement({
  description: 'A message to the receiver of a webhook.',
  fields: t => ({
    id: t.exposeID('id', { description: 'The ID of the message, as in its header `webhook-id`. IDs sort by time.' }),
    type: t.string({
      description: 'The type of the message, such as `file.uploaded`.',
      resolve: ({ action }) => typeOf(action),
    }),
    state: t.expose('state', { type: DeliveryStateEnum, description: 'The state of the delivery.' }),
    attempts: t.exposeInt('attempts', { description: 'The number of attempts so far.' }),
    status: t.exposeInt('status', {
      nullable: true,
      description: 'The HTTP status of the latest attempt, or null without a response.',
    }),
    error: t.exposeString('error', { nullable: true, description: 'Why the latest attempt failed, or null.' }),
    nextAttemptAt: t.expose('nextAttemptAt', {
      type: 'DateTime',
      nullable: true,
      description: 'The time of the next attempt, or null if there is none or the webhook is disabled.',
    }),
    occurredAt: t.field({
      type: 'DateTime',
      description: 'The time of the event.',
      resolve: ({ event }) => new Date(event.at),
    }),
    endedAt: t.expose('endedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'The time at which the delivery succeeded, or failed for the last time; or null.',
    }),
  }),
})
export const DeliveryConnection = definePage<DeliveryRecord>('WebhookDelivery', WebhookDelivery, 'deliveries')
