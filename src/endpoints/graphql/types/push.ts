/** Push notifications of the member of a session. */
import type { PushEvent } from '../../../db/schema.ts'
import { languages } from '../../../lib/languages.ts'
import { maxPushSubscriptions, type OwnPushSubscription } from '../../../services/push/index.ts'
import { builder } from '../builder.ts'

const descriptions: Record<PushEvent, { description: string }> = {
  JOB_ENDED: { description: 'A job of yours succeeded or failed, or somebody else canceled it.' },
  FILES_RECEIVED: { description: 'Files arrived through a drop link of yours.' },
  SHARE_USED: { description: 'Somebody downloaded from a share of yours, once an hour for each share at most.' },
  MENTIONED: { description: 'A comment mentions you.' },
}

const PushEventEnum = builder.enumType('PushEvent', {
  description: 'The events of which you can get notifications.',
  values: descriptions,
})

const PushSubscriptionType = builder.objectRef<OwnPushSubscription>('PushSubscription').implement({
  description: 'A browser in which you get notifications, until the session that subscribed it ends.',
  fields: t => ({
    id: t.exposeID('id', { description: 'The permanent ID of the subscription.' }),
    events: t.expose('events', {
      type: [PushEventEnum],
      description: 'The events of which the browser gets notifications.',
    }),
    userAgent: t.exposeString('userAgent', {
      nullable: true,
      description: 'The `User-Agent` of the sign-in, which names the browser. Null if it is unknown.',
    }),
    current: t.exposeBoolean('current', { description: 'True for the browser of the session that this request uses.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'The time of subscribing.' }),
    lastUsedAt: t.expose('lastUsedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'The time at which the push service last took a notification, or null before the first one.',
    }),
  }),
})

builder.queryFields(t => ({
  pushPublicKey: t.string({
    nullable: true,
    description:
      'Returns the key for `applicationServerKey` of `PushManager.subscribe` in a browser, in base64url. Null if the operator has switched notifications off.',
    authScopes: { session: true },
    resolve: (_root, _args, { services, viewer }) => services.push.publicKey(viewer),
  }),
  pushSubscriptions: t.field({
    type: [PushSubscriptionType],
    description: `Returns the browsers in which you get notifications, newest first, at most ${maxPushSubscriptions}.`,
    authScopes: { session: true },
    complexity: () => ({ field: 1, multiplier: maxPushSubscriptions }),
    resolve: (_root, _args, { services, viewer }) => services.push.list(viewer),
  }),
}))

const CreatePushSubscriptionInput = builder.inputType('CreatePushSubscriptionInput', {
  description: 'A `PushSubscription` of a browser, and the wanted notifications.',
  fields: t => ({
    endpoint: t.string({
      required: true,
      description: 'The address of the browser at its push service: `endpoint`, which begins with "https://".',
    }),
    publicKey: t.string({ required: true, description: 'The key `p256dh` of the browser, in base64url.' }),
    auth: t.string({ required: true, description: 'The key `auth` of the browser, in base64url.' }),
    events: t.field({
      type: [PushEventEnum],
      description:
        'The events. The default is those of the subscription that this one replaces or, without one, all events.',
    }),
    language: t.string({
      description: `The tag of the language of notifications, if your account has none: ${languages.join(', ')}.`,
    }),
  }),
})

const UpdatePushSubscriptionInput = builder.inputType('UpdatePushSubscriptionInput', {
  description: 'The events of a subscription.',
  fields: t => ({
    id: t.id({ required: true, description: 'The ID of the subscription.' }),
    events: t.field({ type: [PushEventEnum], required: true, description: 'The events; may be empty.' }),
  }),
})

builder.mutationFields(t => ({
  createPushSubscription: t.field({
    type: PushSubscriptionType,
    description: `Sends notifications to the browser of this session until the session ends. It replaces the earlier subscription of the session and of the same endpoint and, if you have ${maxPushSubscriptions}, the oldest one.`,
    audit: 'PUSH_SUBSCRIBE',
    authScopes: { session: true },
    args: {
      input: t.arg({ type: CreatePushSubscriptionInput, required: true, description: 'The browser and the events.' }),
    },
    resolve: (_root, { input }, { services, viewer, signal }) => services.push.subscribe(viewer, input, signal),
  }),
  updatePushSubscription: t.field({
    type: PushSubscriptionType,
    description: 'Changes the events of which one of your browsers gets notifications.',
    audit: 'PUSH_UPDATE',
    authScopes: { session: true },
    args: {
      input: t.arg({
        type: UpdatePushSubscriptionInput,
        required: true,
        description: 'The subscription and its events.',
      }),
    },
    resolve: (_root, { input: { id, events } }, { services, viewer }) => services.push.update(viewer, id, events),
  }),
  deletePushSubscription: t.boolean({
    description: 'Ends the notifications in one of your browsers. Returns true.',
    audit: 'PUSH_UNSUBSCRIBE',
    authScopes: { session: true },
    args: { id: t.arg.id({ required: true, description: 'The ID of the subscription.' }) },
    resolve: async (_root, { id }, { services, viewer }) => {
      await services.push.unsubscribe(viewer, id)
      return true
    },
  }),
  testPushSubscription: t.boolean({
    description: 'Sends a notification to one of your browsers. Returns true.',
    audit: 'PUSH_TEST',
    authScopes: { session: true },
    args: { id: t.arg.id({ required: true, description: 'The ID of the subscription.' }) },
    resolve: async (_root, { id }, { services, viewer }) => {
      await services.push.test(viewer, id)
      return true
    },
  }),
}))
