import { language } from '../texts/languages.ts'
import { ask, StowageError } from './client.ts'
import { registerWorker } from './device.ts'
import { graphql, type ResultOf } from './graphql.ts'
import { canPush, forgetPush, keepPush, keptPush, ownSubscription } from './push-device.ts'

const PushQuery = graphql(`
  query Push {
    pushPublicKey
    pushSubscriptions { id events userAgent current createdAt lastUsedAt }
    sessions { id current }
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

const UnsubscribeMutation = graphql(`
  mutation Unsubscribe($id: ID!) { deletePushSubscription(id: $id) }
`)

export type PushDevice = ResultOf<typeof PushQuery>['pushSubscriptions'][number]
export type PushEventName = PushDevice['events'][number]

/** The notifications of a person. */
export interface OwnPush {
  /** With which browsers subscribe; null if the operator has switched notifications off. */
  publicKey: string | null
  devices: readonly PushDevice[]
  /** The subscription of this session, which this browser may no longer have. */
  current: PushDevice | undefined
  /** Whether this browser gets the notifications of `current`. */
  isOn: boolean
  /** That of this browser; empty if it is not among the newest ones of a person. */
  sessionId: string
}

/** @throws StowageError */
export async function readPush(signal?: AbortSignal): Promise<OwnPush> {
  const answer = await ask(PushQuery, {}, signal && { signal })
  const { pushPublicKey: publicKey, pushSubscriptions: devices, sessions } = answer
  const current = devices.find(({ current }) => current)
  const isOn = current !== undefined && publicKey !== null && (await isSubscribed(publicKey))
  return { publicKey, devices, current, isOn, sessionId: sessions.find(({ current }) => current)?.id ?? '' }
}

/** Whose notifications this browser gets, and in which session. */
interface PushPerson {
  userId: string
  sessionId: string
}

/** The browser does not subscribe at its push service. */
export class NoPushService extends Error {
  override name = 'NoPushService'
}

/**
 * Asks for permission, unless the person has given it, and gets notifications in this browser. Call it when the person presses a button.
 * Resolves with false if the person does not permit it. @throws NoPushService, StowageError
 */
export async function switchOnPush(publicKey: string, person: PushPerson): Promise<boolean> {
  if ((await Notification.requestPermission()) !== 'granted') return false
  await subscribe(publicKey, null)
  keepPush({ ...person, events: null })
  return true
}

/** Ends the notifications of a browser. The server may have removed it already. @throws StowageError */
export async function removePush({ id, current }: PushDevice): Promise<void> {
  await ask(UnsubscribeMutation, { id }).catch(error => {
    if (!(error instanceof StowageError) || error.reason !== 'NOT_FOUND') throw error
  })
  // The server sends nothing any more, even if the browser fails to end its part.
  if (current) await forgetPush().catch(() => {})
}

/**
 * Gets notifications again in a new session of a person who has switched them on, and in this session if the browser has lost its
 * subscription. A browser that was removed in this session stays away until the next one.
 */
export async function renewPush(): Promise<void> {
  if (!canPush || Notification.permission !== 'granted') return
  const { publicKey, current, isOn, sessionId } = await readPush()
  const kept = keptPush()
  if (publicKey === null || !kept || isOn) return
  if (!current && kept.sessionId === sessionId) return
  await subscribe(publicKey, current ? null : kept.events)
  keepPush({ ...kept, sessionId })
}

/** Chooses the events of this browser. @throws StowageError */
export async function choosePushEvents(device: PushDevice, events: PushEventName[], person: PushPerson): Promise<void> {
  await ask(UpdatePushMutation, { input: { id: device.id, events } })
  keepPush({ ...person, events })
}

/** Returns whether this browser has a subscription with the key of the server, and permission to show something. */
async function isSubscribed(publicKey: string): Promise<boolean> {
  if (!canPush || Notification.permission !== 'granted') return false
  const key = (await ownSubscription())?.options.applicationServerKey
  return key != null && keyText(key) === publicKey
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
