/**
 * The service worker. It keeps the files of the page of one build, so that the console opens without a network and shows what is kept
 * offline. It stores no response of the API. It takes the files that other programs share, and shows the notifications that the server
 * sends. With a network, every page comes from the server, so an old worker shows no old console.
 */
import { receiveShared } from './worker-shares.ts'

/** What the build writes in place of `__SHELL__`: scripts/build/service-worker.ts. Paths are below that of the console. */
interface Shell {
  /** Differs between builds. */
  version: string
  files: readonly string[]
  /** The file of each language but English. */
  languages: Readonly<Record<string, string>>
  /** The addresses of pages, some of which end with "/*". */
  pages: readonly string[]
}

declare const __SHELL__: Shell

/** An event of a service worker: https://www.w3.org/TR/service-workers/ */
interface WorkerEvent extends Event {
  readonly request: Request
  waitUntil(work: Promise<unknown>): void
  respondWith(response: Promise<Response>): void
}

interface PushData {
  json(): unknown
}

/** An event of https://www.w3.org/TR/push-api/ or of https://notifications.spec.whatwg.org */
interface PushWorkerEvent extends WorkerEvent {
  readonly data: PushData | null
  readonly notification: Notification
  readonly oldSubscription?: PushSubscription | null
}

/** A tab. */
interface WorkerClient {
  readonly url: string
  readonly focused: boolean
  focus(): Promise<unknown>
  postMessage(message: unknown, transfer?: Transferable[]): void
}

interface WorkerScope {
  readonly registration: ServiceWorkerRegistration
  readonly clients: {
    claim(): Promise<void>
    matchAll(options: { type: 'window'; includeUncontrolled: true }): Promise<readonly WorkerClient[]>
    openWindow(url: string): Promise<unknown>
  }
  skipWaiting(): Promise<void>
  addEventListener(type: 'install' | 'activate' | 'fetch', listener: (event: WorkerEvent) => void): void
  addEventListener(
    type: 'push' | 'notificationclick' | 'pushsubscriptionchange',
    listener: (event: PushWorkerEvent) => void,
  ): void
}

const worker = globalThis as unknown as WorkerScope
const shell = __SHELL__
/** The address of the console, which ends with "/". */
const { scope } = worker.registration
/** The tag of the language of the page that has registered this worker. */
const language = new URL(location.href).searchParams.get('language') ?? ''
const languageFile = shell.languages[language]
const files = new Set([...shell.files, ...(languageFile === undefined ? [] : [languageFile])])
/** Caches belong to the whole origin, which can have several consoles at different paths. */
const prefix = `stowage.shell ${new URL(scope).pathname} `
const cacheName = `${prefix}${shell.version} ${languageFile ?? ''}`

worker.addEventListener('install', event => event.waitUntil(install()))
worker.addEventListener('activate', event => event.waitUntil(activate()))
worker.addEventListener('fetch', event => {
  const { method, mode, url } = event.request
  if (!url.startsWith(scope)) return
  const path = new URL(url).pathname.slice(new URL(scope).pathname.length)
  if (method === 'POST' && mode === 'navigate' && path === 'upload')
    event.respondWith(receiveShared(event.request, scope))
  if (method !== 'GET') return
  if (mode === 'navigate') {
    if (isPage(`/${path}`)) event.respondWith(openPage(event))
  } else if (files.has(path)) {
    event.respondWith(stored(url).then(response => response ?? fetch(event.request)))
  }
})

worker.addEventListener('push', event => event.waitUntil(show(event.data)))
worker.addEventListener('notificationclick', event => {
  event.notification.close()
  event.waitUntil(openInTab(String(event.notification.data)))
})
worker.addEventListener('pushsubscriptionchange', event => {
  const key = event.oldSubscription?.options.applicationServerKey
  if (key) event.waitUntil(subscribe(key))
})

async function install(): Promise<void> {
  const cache = await caches.open(cacheName)
  // The page has the same address in each build. Its other files have their content in their names.
  const requests = [new Request(scope, { cache: 'reload' }), ...[...files].map(file => new Request(scope + file))]
  await Promise.all(requests.map(request => cache.add(new Request(request, { credentials: 'omit' }))))
  // While servers are updated, the page can be that of another build.
  const page = await (await stored(scope))?.text()
  if (!shell.files[0] || !page?.includes(shell.files[0])) throw new Error('The page is that of another build.')
  await worker.skipWaiting()
}

async function activate(): Promise<void> {
  const others = (await caches.keys()).filter(name => name.startsWith(prefix) && name !== cacheName)
  await Promise.all(others.map(name => caches.delete(name)))
  await worker.clients.claim()
}

const stored = (url: string) => caches.match(url, { cacheName, ignoreVary: true })

function isPage(path: string): boolean {
  return shell.pages.some(page => (page.endsWith('/*') ? path.startsWith(page.slice(0, -1)) : path === page))
}

/** Statuses of proxies in front of a server that does not run. */
const isAway = ({ status }: Response) => status >= 502 && status <= 504

async function openPage(event: WorkerEvent): Promise<Response> {
  let response: Response | null = null
  try {
    response = await fetch(event.request)
    if (response.ok) event.waitUntil(leaveIfUnknown())
    if (!isAway(response)) return response
  } catch {
    // There is no network, or no server.
  }
  return (await stored(scope)) ?? response ?? Response.error()
}

/** Where the cache has the time of the first response without a worker. The server has nothing at this address. */
const missingSince = `${scope}kept/missing-since`
/** Milliseconds. While servers are updated, some of them are those of an earlier version without a worker. */
const maxUpdate = 24 * 60 * 60 * 1000

/**
 * Ends this worker if the server has had none for a day, because an earlier version runs again, which would never delete the kept files.
 * One response with a worker begins the day anew.
 */
async function leaveIfUnknown(): Promise<void> {
  const script = `${scope}service-worker.js`
  const response = await fetch(script, { method: 'HEAD', cache: 'no-store', credentials: 'omit' }).catch(() => null)
  const cache = await caches.open(cacheName)
  if (response?.status !== 404) {
    if (response?.ok) await cache.delete(missingSince)
    return
  }
  const since = await (await cache.match(missingSince))?.text()
  if (since === undefined) return cache.put(missingSince, new Response(String(Date.now())))
  if (Date.now() - Number(since) < maxUpdate) return
  await worker.registration.unregister()
  const { pathname } = new URL(scope)
  const own = (await caches.keys()).filter(name => name.startsWith('stowage.') && name.split(' ')[1] === pathname)
  await Promise.all(own.map(name => caches.delete(name)))
}

/** What the server sends: src/services/push/messages.ts. */
interface PushNote {
  title: string
  body: string
  path: string
  tag: string
  language: string
  direction: 'ltr' | 'rtl'
}

/** Browsers show something of their own for a message without a notification. */
const unreadable: PushNote = { title: 'Stowage', body: '', path: '/', tag: '', language: '', direction: 'ltr' }

/** The tabs with a page of the console. The pages of share links are for others. */
async function tabs(): Promise<readonly WorkerClient[]> {
  const all = await worker.clients.matchAll({ type: 'window', includeUncontrolled: true })
  const below = new URL(scope).pathname.length - 1
  return all.filter(({ url }) => url.startsWith(scope) && isPage(new URL(url).pathname.slice(below)))
}

function noteOf(data: PushData | null): PushNote {
  try {
    return { ...unreadable, ...(data?.json() as PushNote) }
  } catch {
    return unreadable
  }
}

/** Browsers require a notification for each message. It makes no sound while the person looks at the console. */
async function show(data: PushData | null): Promise<void> {
  const { title, body, path, tag, language: lang, direction: dir } = noteOf(data)
  const silent = (await tabs()).some(({ focused }) => focused)
  // A notification that replaces one with the same tag is as new as that was. Without a tag, nothing is replaced.
  const options: NotificationOptions & { renotify: boolean } = {
    body,
    tag,
    lang,
    dir,
    silent,
    renotify: !silent && tag !== '',
    icon: `${scope}icon-192.png`,
    data: path,
  }
  await worker.registration.showNotification(title, options)
}

/** Milliseconds. Firefox lets a worker open a window for a second after the press. */
const maxAnswer = 700

/** Returns whether the page of a tab responds. One that is discarded, or has no frame of the console, does not. */
function isThere(tab: WorkerClient): Promise<boolean> {
  return new Promise(resolve => {
    const { port1, port2 } = new MessageChannel()
    const answer = (isThere: boolean) => {
      clearTimeout(timer)
      port1.close()
      resolve(isThere)
    }
    const timer = setTimeout(() => answer(false), maxAnswer)
    port1.onmessage = () => answer(true)
    tab.postMessage({ isThere: true }, [port2])
  })
}

/** Opens a page of the console in a tab that is open, which goes there itself, or in a new one. */
async function openInTab(path: string): Promise<void> {
  const all = await tabs()
  const answers = await Promise.all(all.map(isThere))
  const present = all.filter((_, index) => answers[index])
  const tab = present.find(({ focused }) => focused) ?? present[0]
  if (!tab) return void (await worker.clients.openWindow(scope + path.slice(1)))
  tab.postMessage({ open: path })
  await tab.focus()
}

/**
 * Subscribes again after the push service has ended a subscription. The server keeps its events. If that fails, the browser ends its
 * part, too, so that the next visit of the console subscribes.
 */
async function subscribe(applicationServerKey: BufferSource): Promise<void> {
  const subscription = await worker.registration.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey })
  const { endpoint, keys } = subscription.toJSON()
  const query = 'mutation ($input: CreatePushSubscriptionInput!) { createPushSubscription(input: $input) { id } }'
  const input = { endpoint, publicKey: keys?.p256dh, auth: keys?.auth, ...(language && { language }) }
  try {
    const response = await fetch(`${scope}graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'X-Stowage-Console': '1' },
      body: JSON.stringify({ query, variables: { input } }),
    })
    const { data } = await response.json()
    if (!data?.createPushSubscription) throw new Error('The server has not taken the subscription.')
  } catch (error) {
    await subscription.unsubscribe()
    throw error
  }
}
