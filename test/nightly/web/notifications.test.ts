/** Settings → Notifications, and the notifications of the service worker. */
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { type FakeBrowser, type PushService, startPushService } from '../../servers/push-service.ts'
import { until } from '../../support/until.ts'
import { signIn } from '../../web/browser.ts'
import { button, isGood, signOut, startFiles } from '../../web/files.ts'

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
    // A subscription outlives a page.
    const made = (key = sessionStorage.getItem('subscription')) =>
      key === null
        ? null
        : ({
            endpoint,
            options: { applicationServerKey: bytes(key).buffer },
            getKey: (name: string) => bytes(name === 'auth' ? auth : publicKey).buffer,
            unsubscribe: async () => {
              sessionStorage.removeItem('subscription')
              return true
            },
          } as unknown as PushSubscription)
    PushManager.prototype.subscribe = async ({ applicationServerKey = '' } = {}) => {
      sessionStorage.setItem('subscription', String(applicationServerKey))
      return made() as PushSubscription
    }
    PushManager.prototype.getSubscription = async () => made()
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

  const join = async (email: string) => {
    const query = 'mutation { createInvite(input: { role: EDITOR, providerAccess: { all: true } }) { invite } }'
    const { createInvite } = await app.ask(query, {}, owner.token)
    return app.register(email, { invite: createInvite.invite })
  }
  const subscriptionsOf = async (token: string): Promise<{ id: string; events: string[] }[]> =>
    (await app.ask('{ pushSubscriptions { id events } }', {}, token)).pushSubscriptions
  const signInAs = (page: Page, value: string) =>
    page.context().addCookies([{ name: 'stowage_session', value, url: app.url, httpOnly: true, sameSite: 'Strict' }])
  const isKept = (page: Page) => page.evaluate(() => localStorage.getItem('stowage.push /') !== null)
  const isSubscribed = (page: Page) => page.evaluate(() => sessionStorage.getItem('subscription') !== null)
  /** Opens a page in which a person has switched notifications on, for mentions alone. */
  const openSubscribed = async (t: Test, token: string) => {
    const page = await files.open(t, { token, serviceWorkers: 'allow' })
    await subscribesAt(page, service.subscribe(pushPublicKey), true)
    await page.goto('/settings/notifications')
    await isOn(page).locator('..').click()
    for (const name of ['my job has ended', 'files arrive through my link', 'somebody downloads what I share']) {
      await page.getByRole('checkbox', { name }).locator('..').click()
      await page.getByRole('checkbox', { name, checked: false }).waitFor()
    }
    await until(async () => (await subscriptionsOf(token))[0]?.events.join() === 'MENTIONED')
    return page
  }
  /** Opens a page, and waits until it has looked whether to renew the subscription. */
  const visitLong = async (page: Page) => {
    const looked = page.waitForResponse(response => Boolean(response.request().postData()?.includes('pushPublicKey')))
    await page.goto('/starred')
    return (await looked).json()
  }

  for (const viewport of widths) {
    t.test(
      `at ${viewport.width} pixels, a person switches notifications on, chooses events, and gets a test`,
      async t => {
        const device = service.subscribe(pushPublicKey)
        const { token } = await join(`guest-${viewport.width}@example.org`)
        const page = await files.open(t, { token, serviceWorkers: 'allow', viewport })
        await subscribesAt(page, device)
        await page.goto('/settings/notifications')
        await isOn(page).waitFor()
        t.notOk(await isOn(page).isChecked(), 'nothing is on before the person wants it')
        await isOn(page).locator('..').click()
        await page.getByRole('checkbox', { name: 'my job has ended' }).waitFor()
        await page.getByRole('table', { name: 'Devices' }).getByText('This browser').waitFor()
        await page.getByRole('checkbox', { name: 'somebody downloads what I share' }).locator('..').click()
        await until(async () => (await subscriptionsOf(token))[0]?.events.length === 3)
        t.match(await subscriptionsOf(token), [{ events: ['JOB_ENDED', 'FILES_RECEIVED', 'MENTIONED'] }])
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
        if (!worker) throw new Error('There is no service worker.')
        // The worker itself handles the message and the press, and the browser has nothing that shows it.
        await worker.evaluate(() => {
          const scope = globalThis as unknown as { registration: ServiceWorkerRegistration; shown: object[] }
          scope.shown = []
          scope.registration.showNotification = async (title, options) => {
            scope.shown.push({ title, ...options })
          }
        })
        const data = JSON.stringify({ ...note, path: '/recent' })
        await cdp.send('ServiceWorker.deliverPushMessage', { origin: app.url, registrationId, data })
        const shown = () => worker.evaluate(() => (globalThis as unknown as { shown: object[] }).shown)
        await until(async () => (await shown()).length === 1)
        const icon = `${app.url}/icon-192.png`
        t.match(await shown(), [{ title: note?.title, lang: 'en', dir: 'ltr', data: '/recent', tag: 'TEST ', icon }])
        t.equal((await app.request('/icon-192.png')).status, 200)
        await cdp.send('ServiceWorker.deliverPushMessage', { origin: app.url, registrationId, data: 'not JSON' })
        await until(async () => (await shown()).length === 2)
        t.match((await shown())[1], { title: 'Stowage', data: '/' }, 'each message is shown')

        /** Presses a notification. Resolves with whether it is closed, and the windows that open. */
        const press = () =>
          worker.evaluate(async () => {
            const scope = globalThis as unknown as { clients: { openWindow: (url: string) => Promise<null> } }
            const opened: string[] = []
            scope.clients.openWindow = async url => {
              opened.push(url)
              return null
            }
            let isClosed = false
            const notification = { data: '/recent', close: () => (isClosed = true) }
            const work: Promise<unknown>[] = []
            const waitUntil = (promise: Promise<unknown>) => work.push(promise)
            dispatchEvent(Object.assign(new Event('notificationclick'), { notification, waitUntil }))
            // A browser lets a worker focus a tab only after the press of a person.
            await Promise.allSettled(work)
            return { isClosed, opened }
          })
        await button(page, 'Account').waitFor()
        t.same(await press(), { isClosed: true, opened: [] })
        await page.waitForURL('**/recent')
        await page.goto('/s/unknown')
        t.same((await press()).opened, [`${app.url}/recent`], 'the page of a share link does not go elsewhere')

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
    await page.addInitScript(id => localStorage.setItem('stowage.push /', `${id} earlier MENTIONED`), owner.id)
    await page.goto('/files')
    await until(async () => (await subscriptionsOf(owner.token)).length === 1)
    t.match(await subscriptionsOf(owner.token), [{ events: ['MENTIONED'] }])
    t.same(page.faults, [])
  })

  t.test('a browser that was removed from another one stays away until the next session', async t => {
    const email = 'removed@example.org'
    const { token } = await join(email)
    const page = await openSubscribed(t, token)
    const elsewhere = await signIn(app, email)
    const remove = 'mutation ($id: ID!) { deletePushSubscription(id: $id) }'
    for (const { id } of await subscriptionsOf(elsewhere)) await app.ask(remove, { id }, elsewhere)
    await visitLong(page)
    t.match(await visitLong(page), { data: { pushSubscriptions: [] } }, 'the page before has not subscribed again')
    await page.goto('/settings/notifications')
    await isOn(page).waitFor()
    t.notOk(await isOn(page).isChecked())
    await signInAs(page, await signIn(app, email))
    await page.goto('/starred')
    await until(async () => (await subscriptionsOf(token)).length === 1)
    t.match(await subscriptionsOf(token), [{ events: ['MENTIONED'] }])
    // The browser loses its part, as when a person clears the data of the page.
    await until(() => isSubscribed(page))
    await page.evaluate(() => sessionStorage.removeItem('subscription'))
    await page.goto('/settings/notifications')
    await isOn(page).waitFor()
    t.notOk(await isOn(page).isChecked(), 'the page does not say "on" while nothing arrives')
    await until(() => isSubscribed(page))
    t.same(page.faults, [])
  })

  t.test('the next person who signs in gets none of the notifications', async t => {
    const { token } = await join('first@example.org')
    const page = await openSubscribed(t, token)
    t.ok((await isKept(page)) && (await isSubscribed(page)))
    const next = await join('next@example.org')
    await signInAs(page, next.token)
    await page.goto('/settings/notifications')
    await isOn(page).waitFor()
    t.notOk(await isOn(page).isChecked())
    t.notOk((await isKept(page)) || (await isSubscribed(page)))
    t.same(await subscriptionsOf(next.token), [])
    t.same(page.faults, [])
  })

  t.test('a browser that the server has removed meanwhile can be switched off', async t => {
    const { token } = await join('gone@example.org')
    const page = await openSubscribed(t, token)
    // As after a status of 410.
    for (const { id } of await subscriptionsOf(token)) {
      await app.db.deleteFrom('push_subscriptions').where('id', '=', id).execute()
    }
    await isOn(page).focus()
    await page.keyboard.press('Space')
    await until(async () => !(await isKept(page)))
    await page.getByRole('switch', { name: 'Notifications on this device', checked: false }).waitFor()
    t.equal(await page.getByRole('alert').count(), 0)
    t.ok(await isOn(page).evaluate(element => element === document.activeElement))
    t.notOk(await isSubscribed(page))
    t.same(page.faults, [])
  })
}
