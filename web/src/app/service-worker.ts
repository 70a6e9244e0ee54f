/**
 * The service worker. It keeps the files of the page of one build, so that the console opens without a network and shows what is kept
 * offline. It stores no response of the API. It takes the files that other
 * programs share. With a network, every page comes from the server, so an old worker shows no old console.
 */
export {}

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

interface WorkerScope {
  readonly registration: ServiceWorkerRegistration
  readonly clients: { claim(): Promise<void> }
  skipWaiting(): Promise<void>
  addEventListener(type: 'install' | 'activate' | 'fetch', listener: (event: WorkerEvent) => void): void
}

const worker = globalThis as unknown as WorkerScope
const shell = __SHELL__
/** The address of the console, which ends with "/". */
const { scope } = worker.registration
const language = shell.languages[new URL(location.href).searchParams.get('language') ?? '']
const files = new Set([...shell.files, ...(language === undefined ? [] : [language])])
/** Caches belong to the whole origin, which can have several consoles at different paths. */
const prefix = `stowage.shell ${new URL(scope).pathname} `
const cacheName = `${prefix}${shell.version} ${language ?? ''}`

worker.addEventListener('install', event => event.waitUntil(install()))
worker.addEventListener('activate', event => event.waitUntil(activate()))
worker.addEventListener('fetch', event => {
  const { method, mode, url } = event.request
  if (!url.startsWith(scope)) return
  const path = new URL(url).pathname.slice(new URL(scope).pathname.length)
  if (method === 'POST' && mode === 'navigate' && path === 'upload') event.respondWith(receive(event.request))
  if (method !== 'GET') return
  if (mode === 'navigate') {
    if (isPage(`/${path}`)) event.respondWith(openPage(event))
  } else if (files.has(path)) {
    event.respondWith(stored(url).then(response => response ?? fetch(event.request)))
  }
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

/** Stores the files that another program shares, for the page that asks for their folder: "share_target" of the manifest. */
async function receive(request: Request): Promise<Response> {
  try {
    const shared = (await request.formData()).getAll('files').filter(value => value instanceof File)
    const cache = await caches.open(`stowage.shared ${new URL(scope).pathname}`)
    await Promise.all(
      shared.map(({ name, type }, index) => {
        const info = encodeURIComponent(JSON.stringify({ name, type, at: Date.now() }))
        const response = new Response(shared[index], { headers: { 'x-stowage-shared': info } })
        return cache.put(`${scope}shared/${crypto.randomUUID()}`, response)
      }),
    )
    return Response.redirect(`${scope}upload`, 303)
  } catch {
    // The browser has no more room.
    return Response.redirect(`${scope}upload?failed`, 303)
  }
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

/** Ends this worker if the server no longer has one, because an earlier version runs again, which would never delete the kept files. */
async function leaveIfUnknown(): Promise<void> {
  const script = `${scope}service-worker.js`
  const response = await fetch(script, { method: 'HEAD', cache: 'no-store', credentials: 'omit' }).catch(() => null)
  if (response?.status !== 404) return
  await worker.registration.unregister()
  const { pathname } = new URL(scope)
  const own = (await caches.keys()).filter(name => name.startsWith('stowage.') && name.split(' ')[1] === pathname)
  await Promise.all(own.map(name => caches.delete(name)))
}
