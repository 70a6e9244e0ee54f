import { language } from '../texts/languages.ts'
import { ask } from './client.ts'
import { registerWorker } from './device.ts'
import { graphql, type ResultOf } from './graphql.ts'
import { canPush, forgetPush, keepPush, keptPush } from './push-device.ts'

export const PushQuery = graphql(`
  query Push {
    pushPublicKey
    pushSubscriptions { id events userAgent current createdAt lastUsedAt }
  }
`)

const SubscribeMutation = graphql(`
  mutation Subscribe($input: CreatePushSubscriptionInput!) {
    createPushSubscription(input: $input) { id }
  }
`)

const UpdatePushMutation = graphql(`
  mutation UpdatePush($input: UpdatePushSubscriptionInput!) {
    updatePushSubscription(input: $input) { id }
  }
`)

export const TestPushMutation = graphql(`
  mutation TestPush($id: ID!) { testPushSubscription(id: $id) }
`)

export const UnsubscribeMutation = graphql(`
  mutation Unsubscribe($id: ID!) { deletePushSubscription(id: $id) }
`)

export type PushDevice = ResultOf<typeof PushQuery>['pushSubscriptions'][number]
export type PushEventName = PushDevice['events'][number]

/** The browser does not subscribe at its push service. */
export class NoPushService extends Error {
  override name = 'NoPushService'
}

/**
 * Asks for permission, unless the person has given it, and gets notifications in this browser. Call it when the person presses a button.
 * Resolves with false if the person does not permit it. @throws NoPushService, StowageError
 */
export async function switchOnPush(publicKey: string, userId: string): Promise<boolean> {
  if ((await Notification.requestPermission()) !== 'granted') return false
  await subscribe(publicKey, null)
  keepPush({ userId, events: null })
  return true
}

/** Ends the notifications of this browser. @throws StowageError */
export async function switchOffPush({ id }: Pick<PushDevice, 'id'>): Promise<void> {
  await ask(UnsubscribeMutation, { id })
  await forgetPush()
}

/** Gets notifications again in a new session of a person who has switched them on. */
export async function renewPush(): Promise<void> {
  if (!canPush || Notification.permission !== 'granted') return
  const { pushPublicKey, pushSubscriptions } = await ask(PushQuery, {})
  if (pushPublicKey === null || pushSubscriptions.some(({ current }) => current)) return
  await subscribe(pushPublicKey, keptPush()?.events ?? null)
}

/** Chooses the events of this browser. @throws StowageError */
export async function choosePushEvents(device: PushDevice, events: PushEventName[], userId: string): Promise<void> {
  await ask(UpdatePushMutation, { input: { id: device.id, events } })
  keepPush({ userId, events })
}

async function subscribe(publicKey: string, events: readonly string[] | null): Promise<void> {
  await registerWorker(language)
  const { pushManager } = await navigator.serviceWorker.ready
  const present = await pushManager.getSubscription()
  if (present && keyText(present.options.applicationServerKey) !== publicKey) await present.unsubscribe()
  const subscription = await pushManager
    .subscribe({ userVisibleOnly: true, applicationServerKey: publicKey })
    .catch(cause => {
      throw new NoPushService('The browser does not subscribe.', { cause })
    })
  const input = {
    endpoint: subscription.endpoint,
    publicKey: keyText(subscription.getKey('p256dh')),
    auth: keyText(subscription.getKey('auth')),
    language,
    // The server refuses an event that it does not know, as after a return to an earlier version.
    ...(events && { events: events as PushEventName[] }),
  }
  await ask(SubscribeMutation, { input })
}

/** Returns bytes in base64url. */
function keyText(bytes: ArrayBuffer | null): string {
  const text = btoa(String.fromCharCode(...new Uint8Array(bytes ?? new ArrayBuffer(0))))
  return text.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}
