import type { DeliveryRecord, DeliveryState, WebhookRecord } from '../../../db/webhooks.ts'
import { historyDays, maxDeliveriesPage, maxReplay, maxWebhooks } from '../../../services/webhooks/index.ts'
import { eventsOf, typeOf, type WebhookEvent, webhookEvents } from '../../../services/webhooks/messages.ts'
import { builder } from '../builder.ts'
import { connectionCost } from '../cost.ts'
import { findCreator, UserRef } from '../refs.ts'
import { atWebhook } from '../rules.ts'
import { Location, LocationInput } from './job.ts'
import { definePage, toPage } from './page.ts'

const eventValues = Object.fromEntries(
  Object.entries(webhookEvents).map(([name, { description, type }]) => [
    name,
    { description: `${description} The type of the message is \`${type}\`.` },
  ]),
) as Record<WebhookEvent, { description: string }>
const WebhookEventEnum = builder.enumType('WebhookEvent', {
  description: 'An event that webhooks can get, and the type of its messages.',
  values: eventValues,
})

const WebhookType = builder.objectRef<WebhookRecord>('Webhook').implement({
  description:
    'Sends a message to another server for each event. It ends with the API key that created it, and is disabled when the person who created it is no longer an administrator of its location.',
  fields: t => ({
    id: t.exposeID('id', { description: 'The permanent ID of the webhook.' }),
    name: t.exposeString('name', { description: 'The display name.' }),
    url: t.exposeString('url', { description: 'The address that the messages go to.' }),
    events: t.field({
      type: [WebhookEventEnum],
      description: 'The events that cause a message.',
      resolve: ({ actions }) => eventsOf(actions),
    }),
    location: t.expose('location', {
      type: Location,
      nullable: true,
      description: 'Only events here and below cause a message; null for all events of the workspace.',
    }),
    enabled: t.exposeBoolean('isEnabled', { description: 'Whether events cause messages.' }),
    error: t.exposeString('error', {
      nullable: true,
      description: 'Why the server has disabled the webhook, or null.',
    }),
    createdBy: t.field({
      type: UserRef,
      nullable: true,
      description: 'The person who created the webhook. Null if they are no longer a member.',
      authScopes: { credential: true },
      resolve: ({ userId }, _args, context) => findCreator(userId, context),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'The time of creation.' }),
    deliveries: t.field({
      type: DeliveryConnection,
      description: `Returns the messages, newest first. They stay for ${historyDays} days after their end.`,
      authScopes: { scope: 'admin' },
      args: {
        first: t.arg.int({
          defaultValue: 50,
          description: `The maximum number of deliveries, 1 to ${maxDeliveriesPage}.`,
        }),
        after: t.arg.string({ description: 'The cursor after which the page starts.' }),
        state: t.arg({ type: DeliveryStateEnum, description: 'Only deliveries in this state.' }),
      },
      complexity: ({ first }) => connectionCost(first, maxDeliveriesPage),
      resolve: async (webhook, { first, after, state }, { services }) => {
        const page = await services.webhooks.deliveries(webhook, { first: first ?? 50, after, state })
        return toPage(page, after, ({ delivery }) => delivery)
      },
    }),
  }),
})

const urlDescription = 'The address that the messages go to: `https://` or `http://`, without a user name.'

const CreateWebhookInput = builder.inputType('CreateWebhookInput', {
  description: 'A new webhook.',
  fields: t => ({
    name: t.string({ required: true, description: 'The display name, with 1 to 200 characters.' }),
    url: t.string({ required: true, description: urlDescription }),
    events: t.field({ type: [WebhookEventEnum], required: true, description: 'The events that cause a message.' }),
    location: t.field({
      type: LocationInput,
      description: 'Only events here and below cause a message; null for all events of the workspace.',
    }),
  }),
})

const UpdateWebhookInput = builder.inputType('UpdateWebhookInput', {
  description: 'Changes to a webhook. Omitted fields do not change.',
  fields: t => ({
    id: t.id({ required: true, description: 'The ID of the webhook.' }),
    name: t.string({ description: 'The new name, with 1 to 200 characters.' }),
    url: t.string({ description: urlDescription }),
    events: t.field({ type: [WebhookEventEnum], description: 'The events that cause a message.' }),
    enabled: t.boolean({
      description: 'Whether events cause messages. Pending deliveries of a disabled webhook wait until it is enabled.',
    }),
  }),
})

const ReplayDeliveriesInput = builder.inputType('ReplayDeliveriesInput', {
  description: 'Deliveries that have ended.',
  fields: t => ({
    webhookId: t.id({ required: true, description: 'The ID of the webhook.' }),
    deliveryIds: t.idList({
      description: `The IDs of at most ${maxReplay} deliveries. Null for the ${maxReplay} oldest that have failed.`,
    }),
  }),
})

const WebhookSecretPayload = builder
  .objectRef<{ webhook: WebhookRecord; secret: string }>('WebhookSecretPayload')
  .implement({
    description: 'A webhook and its new secret.',
    fields: t => ({
      webhook: t.expose('webhook', { type: WebhookType, description: 'The webhook.' }),
      secret: t.exposeString('secret', {
        description: 'The secret that signs the messages (Standard Webhooks). It cannot be read again.',
      }),
    }),
  })

builder.queryFields(t => ({
  webhooks: t.field({
    type: [WebhookType],
    description:
      'Returns the webhooks at locations where you are an administrator, newest first: those that the credential created, in a session all of your own, and for administrators without restrictions those of everybody.',
    authScopes: { scope: 'admin' },
    complexity: () => ({ field: 1, multiplier: maxWebhooks }),
    resolve: (_root, _args, { services, viewer }) => services.webhooks.list(viewer),
  }),
  webhook: t.field({
    type: WebhookType,
    description: 'Returns one of the webhooks that `webhooks` returns.',
    authScopes: { scope: 'admin' },
    args: { id: t.arg.id({ required: true, description: 'The ID of the webhook.' }) },
    resolve: (_root, { id }, { services, viewer }) => services.webhooks.get(viewer, id),
  }),
}))

const webhookId = { required: true, description: 'The ID of the webhook.' } as const

builder.mutationFields(t => ({
  createWebhook: t.field({
    type: WebhookSecretPayload,
    description: `Creates a webhook. Without a location, it requires access to all providers. A workspace can have ${maxWebhooks}.`,
    audit: 'WEBHOOK_CREATE',
    authScopes: atWebhook,
    args: { input: t.arg({ type: CreateWebhookInput, required: true, description: 'The webhook.' }) },
    resolve: (_root, { input }, { services, viewer }) => services.webhooks.create(viewer, input),
  }),
  updateWebhook: t.field({
    type: WebhookType,
    description: 'Changes, enables or disables a webhook.',
    audit: 'WEBHOOK_UPDATE',
    authScopes: { scope: 'admin' },
    args: { input: t.arg({ type: UpdateWebhookInput, required: true, description: 'The changes.' }) },
    resolve: (_root, { input }, { services, viewer }) => services.webhooks.update(viewer, input),
  }),
  deleteWebhook: t.boolean({
    description: 'Deletes a webhook and its deliveries. Returns true.',
    audit: 'WEBHOOK_DELETE',
    authScopes: { scope: 'admin' },
    args: { id: t.arg.id(webhookId) },
    resolve: async (_root, { id }, { services, viewer }) => {
      await services.webhooks.delete(viewer, id)
      return true
    },
  }),
  rotateWebhookSecret: t.field({
    type: WebhookSecretPayload,
    description:
      'Replaces the secret of a webhook. For another day, messages are signed with both, so the receiver can change in between.',
    audit: 'WEBHOOK_ROTATE',
    authScopes: { scope: 'admin', recent: true },
    args: { id: t.arg.id(webhookId) },
    resolve: (_root, { id }, { services, viewer }) => services.webhooks.rotateSecret(viewer, id),
  }),
  testWebhook: t.field({
    type: WebhookDelivery,
    description: 'Sends a message of the type `webhook.test`. `deliveries` shows its result.',
    audit: 'WEBHOOK_TEST',
    authScopes: { scope: 'admin' },
    args: { id: t.arg.id(webhookId) },
    resolve: (_root, { id }, { services, viewer }) => services.webhooks.test(viewer, id),
  }),
  replayDeliveries: t.int({
    description: 'Sends deliveries again, with the same IDs. Returns their number.',
    audit: 'WEBHOOK_REPLAY',
    authScopes: { scope: 'admin' },
    args: { input: t.arg({ type: ReplayDeliveriesInput, required: true, description: 'The deliveries.' }) },
    resolve: (_root, { input }, { services, viewer }) =>
      services.webhooks.replay(viewer, input.webhookId, input.deliveryIds ?? null),
  }),
}))

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
