/** Settings → Notifications, and the notifications of the service worker. */
import type { Page } from 'playwright-core'
import t from 'tap'
import { type FakeBrowser, type PushService, startPushService } from '../servers/push-service.ts'
import { inTurn } from '../support/extent.ts'
import { until } from '../support/until.ts'
import { button, isGood, signOut, startFiles } from './files.ts'

const widths = [
  { width: 1280, height: 800 },
  { width: 390, height: 844 },
]

/**
 * Replaces the push service of the vendor and the question for the permission: the browser of the tests has neither, and shows no
 * notifications.
 */
async function subscribesAt(page: Page, browser: FakeBrowser, isPermitted = false): Promise<void> {
  await page.addInitScript(isPermitted => {
    let permission: NotificationPermission = isPermitted ? 'granted' : 'default'
    Object.defineProperty(Notification, 'permission', { get: () => permission })
    Notification.requestPermission = async () => {
      permission = 'granted'
      return permission
    }
  }, isPermitted)
  await page.addInitScript(({ endpoint, publicKey, auth }) => {
    const bytes = (text: string) =>
      Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), c => c.charCodeAt(0))
    let made: object | null = null
    PushManager.prototype.subscribe = async ({ applicationServerKey = '' } = {}) => {
      made = {
        endpoint,
        options: { applicationServerKey: bytes(String(applicationServerKey)).buffer },
        getKey: (name: string) => bytes(name === 'auth' ? auth : publicKey).buffer,
        unsubscribe: async () => {
          made = null
          return true
        },
      }
      return made as PushSubscription
    }
    PushManager.prototype.getSubscription = async () => made as PushSubscription | null
  }, browser)
}

const files = await startFiles(t, { publicNetworks: {} })
if (files) {
  const { app, owner } = files
  const service: PushService = await startPushService(t)
  const { pushPublicKey } = await app.ask('{ pushPublicKey }', {}, owner.token)
  const isOn = (page: Page) => page.getByRole('switch', { name: 'Notifications on this device' })
  const noteOf = async (endpoint: string) => {
    await until(() => service.messages.some(message => message.endpoint === endpoint))
    return service.messages.find(message => message.endpoint === endpoint)?.note
  }

  for (const viewport of inTurn(widths)) {
    t.test(
      `at ${viewport.width} pixels, a person switches notifications on, chooses events, and gets a test`,
      async t => {
        const device = service.subscribe(pushPublicKey)
        const { token } = await app.register(`guest-${viewport.width}@example.org`, {
          invite: (
            await app.ask(
              'mutation { createInvite(input: { role: EDITOR, providerAccess: { all: true } }) { invite } }',
              {},
              owner.token,
            )
          ).createInvite.invite,
        })
        const page = await files.open(t, { token, serviceWorkers: 'allow', viewport })
        await subscribesAt(page, device)
        await page.goto('/settings/notifications')
        await isOn(page).waitFor()
        t.notOk(await isOn(page).isChecked(), 'nothing is on before the person wants it')
        await isOn(page).locator('..').click()
        await page.getByRole('checkbox', { name: 'my job has ended' }).waitFor()
        await page.getByRole('table', { name: 'Devices' }).getByText('This browser').waitFor()
        await page.getByRole('checkbox', { name: 'somebody downloads what I share' }).locator('..').click()
        const subscriptions = async () =>
          (await app.ask('{ pushSubscriptions { events } }', {}, token)).pushSubscriptions
        await until(async () => (await subscriptions())[0]?.events.length === 3)
        t.same(await subscriptions(), [{ events: ['JOB_ENDED', 'FILES_RECEIVED', 'MENTIONED'] }])
        await isGood(t, page)
        await button(page, 'Send a test notification').click()
        const note = await noteOf(device.endpoint)
        t.match(note, { title: 'Notifications work in this browser', path: '/settings/notifications' })

        await page.goto('/files')
        const cdp = await page.context().newCDPSession(page)
        const registered = new Promise<string>(resolve => {
          cdp.on('ServiceWorker.workerRegistrationUpdated', ({ registrations }) => {
            const [first] = registrations
            if (first) resolve(first.registrationId)
          })
        })
        await cdp.send('ServiceWorker.enable')
        const registrationId = await registered
        const [worker] = page.context().serviceWorkers()
        // The worker itself handles the message and the press, and the browser has nothing that shows it.
        await worker?.evaluate(() => {
          const scope = globalThis as unknown as { registration: ServiceWorkerRegistration; shown: object[] }
          scope.shown = []
          scope.registration.showNotification = async (title, options) => {
            scope.shown.push({ title, ...options })
          }
        })
        const data = JSON.stringify({ ...note, path: '/recent' })
        await cdp.send('ServiceWorker.deliverPushMessage', { origin: app.url, registrationId, data })
        const shown = () => worker?.evaluate(() => (globalThis as unknown as { shown: object[] }).shown)
        await until(async () => (await shown())?.length === 1)
        const icon = `${app.url}/icon-192.png`
        t.match(await shown(), [{ title: note?.title, lang: 'en', dir: 'ltr', data: '/recent', tag: 'TEST ', icon }])
        t.equal((await app.request('/icon-192.png')).status, 200)
        const isClosed = await worker?.evaluate(async () => {
          let isClosed = false
          const notification = { data: '/recent', close: () => (isClosed = true) }
          const work: Promise<unknown>[] = []
          const waitUntil = (promise: Promise<unknown>) => work.push(promise)
          dispatchEvent(Object.assign(new Event('notificationclick'), { notification, waitUntil }))
          // A browser lets a worker focus a tab only after the press of a person.
          await Promise.allSettled(work)
          return isClosed
        })
        t.ok(isClosed)
        await page.waitForURL('**/recent')

        await page.goto('/settings/notifications')
        await isOn(page).waitFor()
        await signOut(page)
        await page.getByLabel('Password').waitFor()
        t.equal(await page.evaluate(() => localStorage.getItem('stowage.push /')), null)
        const [row] = await app.db.selectFrom('push_subscriptions').select('id').execute()
        t.equal(row, undefined, 'nobody else who uses this browser gets them')
        t.same(page.faults, [])
      },
    )
  }

  t.test('the page says why a browser gets none', async t => {
    const page = await files.open(t, { viewport: { width: 390, height: 844 } })
    await page.addInitScript(() => {
      Object.defineProperty(Notification, 'permission', { get: () => 'denied' })
    })
    await page.goto('/settings/notifications')
    await page.getByText('This browser is not allowed to notify you here.').waitFor()
    t.ok(await isOn(page).isDisabled())
    await isGood(t, page)
    await page.addInitScript(() => Reflect.deleteProperty(globalThis, 'PushManager'))
    await page.goto('/settings/notifications')
    await page.getByText('This browser cannot receive notifications').waitFor()
    const userAgent =
      'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 Version/18.0 Safari/604.1'
    const phone = await files.open(t, { viewport: { width: 390, height: 844 }, userAgent })
    await phone.addInitScript(() => Reflect.deleteProperty(globalThis, 'PushManager'))
    await phone.goto('/settings/notifications')
    await phone.getByText('add the page to the Home Screen first').waitFor()
    t.same(phone.faults, [])
  })

  t.test('a browser that got notifications gets them in the next session of the person, too', async t => {
    const device = service.subscribe(pushPublicKey)
    const page = await files.open(t, { serviceWorkers: 'allow' })
    await subscribesAt(page, device, true)
    await page.addInitScript(id => localStorage.setItem('stowage.push /', `${id} MENTIONED`), owner.id)
    await page.goto('/files')
    const events = async () => (await app.ask('{ pushSubscriptions { events } }', {}, owner.token)).pushSubscriptions
    await until(async () => (await events()).length === 1)
    t.same(await events(), [{ events: ['MENTIONED'] }])
    t.same(page.faults, [])
  })
}
