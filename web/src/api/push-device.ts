import { recall, remember } from '../lib/local-storage.ts'
import { basePath } from './client.ts'

/** Who has switched on notifications in this browser. Other consoles of the same origin have other paths. */
const key = `stowage.push ${basePath}/`

/** The build alone has a service worker. */
export const canPush =
  'serviceWorker' in navigator && 'PushManager' in globalThis && 'Notification' in globalThis && import.meta.env.PROD

/** Safari of iPhones and iPads has notifications only for pages on the Home Screen. An iPad says that it is a Mac. */
export const needsHomeScreen =
  !canPush &&
  (/\b(?:iPhone|iPad)\b/.test(navigator.userAgent) ||
    (navigator.userAgent.includes('Macintosh') && navigator.maxTouchPoints > 1))

/** Who has switched on notifications in this browser, and for which events; no events for all. */
interface KeptPush {
  userId: string
  /** The last session in which this browser got notifications. If it was removed in that session, it stays off until the next one. */
  sessionId: string
  events: readonly string[] | null
}

export function keptPush(): KeptPush | null {
  const [userId, sessionId, events] = recall(key)?.split(' ') ?? []
  if (userId === undefined || sessionId === undefined) return null
  return { userId, sessionId, events: events === undefined ? null : events.split(',').filter(event => event !== '') }
}

/** Keeps the choice for the next session of the person, because the server forgets it with the session. */
export function keepPush({ userId, sessionId, events }: KeptPush): void {
  remember(key, [userId, sessionId, ...(events === null ? [] : [events.join(',')])].join(' '))
}

/** Returns the subscription of this browser at its push service; null for none. */
export async function ownSubscription(): Promise<PushSubscription | null> {
  if (!canPush) return null
  const registration = await navigator.serviceWorker.getRegistration()
  return (await registration?.pushManager.getSubscription()) ?? null
}

/** Ends the notifications of this browser for good. */
export async function forgetPush(): Promise<void> {
  if (keptPush() === null) return
  localStorage.removeItem(key)
  await unsubscribe()
}

/** Ends the notifications for anybody but `userId`. They come back when the same person signs in again after the end of a session. */
export async function forgetPushOf(userId: string | null): Promise<void> {
  const kept = keptPush()
  if (kept === null || kept.userId === userId) return
  if (userId !== null) return forgetPush()
  await unsubscribe()
}

async function unsubscribe(): Promise<void> {
  if (!canPush) return
  const subscription = await ownSubscription()
  // The server may still know the address, and the push service no longer does.
  await subscription?.unsubscribe()
  const registration = await navigator.serviceWorker.getRegistration()
  // The next person who uses the browser must not read them.
  for (const notification of (await registration?.getNotifications()) ?? []) notification.close()
}
