/** The service worker: files that a device keeps, and files that other programs share. */
import type { Page } from 'playwright-core'
import t from 'tap'
import { faultProxy } from '../../servers/fault-proxy.ts'
import { until } from '../../support/until.ts'
import { signIn, visit } from '../../web/browser.ts'
import { button, isGood, row, signOut, startFiles } from '../../web/files.ts'

const files = await startFiles(t)
if (files) {
  const { app, browser, store } = files

  const cached = (page: Page) =>
    page.evaluate(async () => {
      const names = await caches.keys()
      const keys = await Promise.all(
        names.map(async name => (await (await caches.open(name)).keys()).map(({ url }) => url)),
      )
      return Object.fromEntries(names.map((name, index) => [name.split(' ')[0], keys[index]]))
    })
  const chooseInMenu = async (page: Page, name: string, item: string) => {
    await row(page, name).click({ button: 'right' })
    await page.getByRole('menuitem', { name: item }).click()
  }
  const isReady = (page: Page) => page.evaluate(async () => (await navigator.serviceWorker.ready).active !== null)

  t.test('kept files open without a network, follow those of the server, and leave with the account', async t => {
    const way = await faultProxy(t, app.url)
    const { endpoint: url } = way
    const disk = await store('pocket', { 'note.txt': 'the note', 'other.txt': 'other', 'page.html': '<p>hi' })
    const token = await signIn(app, 'owner@example.org')
    const page = await visit(browser, { url }, { token, serviceWorkers: 'allow' })
    t.teardown(() => page.context().close())
    await page.goto(disk.page)
    await chooseInMenu(page, 'note.txt', 'Keep offline')
    await page.getByText('On this device: 1 file').waitFor()
    t.ok(await isReady(page))
    const { 'stowage.shell': shell = [], ...others } = await cached(page)
    t.same(Object.keys(others), ['stowage.kept'])
    t.ok(shell.length > 5)
    const isOfShell = (address: string) => address === `${url}/` || /\/(?:assets\/[\w.-]+|icon\.svg)$/.test(address)
    t.same(
      shell.filter((address: string) => !isOfShell(address)),
      [],
      'nothing of the API is stored',
    )

    let callbacks = 0
    way.fault = ({ url = '' }) => {
      if (url.startsWith('/auth/')) callbacks += 1
      return undefined
    }
    await page.goto('/auth/oidc/callback?state=unknown')
    t.equal(callbacks, 1, 'the worker does not repeat a request that works once')
    await page.goto(disk.page)
    await row(page, 'note.txt').waitFor()

    way.fault = () => 'lose answer'
    await page.reload()
    await page.getByRole('heading', { name: 'Stowage does not respond' }).waitFor()
    await page.context().setOffline(true)
    await page.getByRole('heading', { name: 'You are offline' }).waitFor()
    const [opened] = await Promise.all([page.waitForEvent('popup'), button(page, 'note.txt').click()])
    await opened.getByText('the note').waitFor()
    await opened.close()
    await isGood(t, page)
    await page.goto(`${disk.page}?file=other.txt`)
    await page.getByRole('heading', { name: 'You are offline' }).waitFor()
    await page.context().setOffline(false)
    await page.getByRole('heading', { name: 'Stowage does not respond' }).waitFor()
    way.fault = undefined
    await row(page, 'other.txt').waitFor()
    t.match(page.url(), /file=other\.txt$/, 'the page continues where it was')

    const contents = () =>
      page.evaluate(async () => {
        const name = (await caches.keys()).find(each => each.startsWith('stowage.kept'))
        const responses = name === undefined ? [] : await (await caches.open(name)).matchAll()
        return Promise.all(responses.map(response => response.text()))
      })
    const replaced = await app.upload(token, disk.id, '/note.txt', 'another note', '&conflict=replace')
    t.ok(replaced.ok)
    await page.goto('/offline')
    await button(page, 'note.txt').waitFor()
    await until(async () => (await contents()).join() === 'another note')
    const remove = 'mutation ($input: DeleteInput!) { delete(input: $input) { deletedPath } }'
    await app.ask(remove, { input: { providerId: disk.id, path: '/note.txt' } }, token)
    await page.reload()
    await page.getByText('This device keeps no files yet').waitFor()
    t.same(await contents(), [], 'a file that is gone on the server is gone here')
    await isGood(t, page)

    await page.goto(disk.page)
    await chooseInMenu(page, 'other.txt', 'Keep offline')
    await page.getByText('On this device: 1 file').waitFor()
    await chooseInMenu(page, 'other.txt', 'Remove from this device')
    await page.getByText('Removed from this device: 1 file').waitFor()
    await chooseInMenu(page, 'page.html', 'Keep offline')
    await until(async () => JSON.stringify(await cached(page)).includes('page.html'))
    await page.goto('/offline')
    const [download] = await Promise.all([page.waitForEvent('download'), button(page, 'page.html').click()])
    t.equal(download.suggestedFilename(), 'page.html', 'a page that could run scripts is saved')
    await signOut(page)
    await page.getByLabel('Password').waitFor()
    t.same(await contents(), [], 'signing out leaves nothing')

    const missing = () =>
      page.evaluate(async () => {
        const name = (await caches.keys()).find(each => each.startsWith('stowage.shell'))
        return (await caches.open(name ?? '')).match('/kept/missing-since').then(response => response?.text())
      })
    way.fault = ({ url }) => (url?.startsWith('/service-worker.js') ? { answer: { status: 404 } } : undefined)
    await page.goto('/sign-in')
    await until(async () => (await missing()) !== undefined)
    way.fault = undefined
    await page.goto('/sign-in')
    await until(async () => (await missing()) === undefined)
    t.ok(await isReady(page), 'a replica of an earlier version does not end the worker')
    way.fault = ({ url }) => (url?.startsWith('/service-worker.js') ? { answer: { status: 404 } } : undefined)
    await page.goto('/sign-in')
    await until(async () => (await missing()) !== undefined)
    await page.evaluate(async () => {
      const name = (await caches.keys()).find(each => each.startsWith('stowage.shell'))
      const yesterday = new Response(String(Date.now() - 25 * 3600_000))
      await (await caches.open(name ?? '')).put('/kept/missing-since', yesterday)
    })
    await page.goto('/sign-in')
    await until(() => page.evaluate(async () => (await navigator.serviceWorker.getRegistrations()).length === 0))
    await until(() => page.evaluate(async () => (await caches.keys()).length === 0))
    t.same(page.faults, [])
  })

  t.test('files that another program shares are uploaded to the folder that the person chooses', async t => {
    const disk = await store('shared', { 'trips/a.txt': 'a' })
    await store('not shared')
    const token = await signIn(app, 'owner@example.org')
    const way = await faultProxy(t, app.url)
    const viewport = { width: 390, height: 844 }
    let page = await visit(browser, { url: way.endpoint }, { token, serviceWorkers: 'allow', viewport })
    t.teardown(() => page.context().close())
    const share = (count = 0) =>
      page.evaluate(more => {
        const form = Object.assign(document.createElement('form'), {
          method: 'POST',
          action: '/upload',
          enctype: 'multipart/form-data',
        })
        const input = Object.assign(document.createElement('input'), { type: 'file', name: 'files', multiple: true })
        const data = new DataTransfer()
        data.items.add(new File(['the sea'], 'sea ü.jpg', { type: 'image/jpeg' }))
        data.items.add(new File(['the sky'], 'sky.txt', { type: 'text/plain' }))
        for (let index = 0; index < more; index += 1) data.items.add(new File(['x'], `${index}.txt`))
        input.files = data.files
        form.append(input)
        document.body.append(form)
        form.submit()
      }, count)
    const choose = async () => {
      await page.getByRole('list', { name: 'Storages' }).getByRole('button', { name: 'shared', exact: true }).click()
      await page.getByRole('list', { name: 'Folders' }).getByRole('button', { name: 'trips' }).click()
      await page.getByRole('main').getByRole('button', { name: 'Upload files' }).click()
    }
    const kept = async () => (await cached(page))['stowage.shared']?.length ?? 0
    let sent = 0
    way.fault = ({ url }) => {
      if (!url?.startsWith('/api/upload')) return undefined
      sent += 1
      return { answer: { status: 503 } }
    }
    await page.goto('/files')
    await isReady(page)
    await share()
    await page.getByText('sea ü.jpg').waitFor()
    t.equal(new URL(page.url()).pathname, '/upload')
    await isGood(t, page)
    await page.reload()
    await page.getByText('sky.txt').waitFor()
    await share(100)
    await page.getByText('Other programs can share at most 100 files').waitFor()
    t.equal(await kept(), 2, 'a form with too much adds nothing')
    await page.evaluate(async () => {
      const info = { name: 'large', type: '', size: 1_999_999_999, at: Date.now() }
      const headers = { 'x-stowage-shared': encodeURIComponent(JSON.stringify(info)) }
      const cache = await caches.open('stowage.shared /')
      await cache.put('/shared/large', new Response('x', { headers }))
    })
    const loaded = page.waitForEvent('load')
    await share()
    await loaded
    await page.getByText('Other programs can share at most 100 files').waitFor()
    t.equal(await kept(), 3, 'all forms together have the bound of bytes')
    await page.evaluate(async () => (await caches.open('stowage.shared /')).delete('/shared/large'))
    await page.goto('/upload')
    await page.getByText('sky.txt').waitFor()
    await isGood(t, page)
    t.equal(sent, 0, 'nothing is sent without a press')
    await choose()
    await until(() => sent > 0)
    const { faults } = page
    const next = await page.context().newPage()
    await page.close()
    page = Object.assign(next, { faults })
    way.fault = undefined
    await page.goto('/upload')
    await page.getByText('sea ü.jpg').waitFor()
    await choose()
    await row(page, 'sea ü.jpg').waitFor()
    await row(page, 'sky.txt').waitFor()
    t.same(await disk.names('trips'), ['a.txt', 'sea ü.jpg', 'sky.txt'])
    await until(async () => (await kept()) === 0)
    await share()
    await page.getByText('sky.txt').waitFor()
    await signOut(page)
    await page.getByLabel('Password').waitFor()
    t.notOk('stowage.shared' in (await cached(page)), 'nor for the next person')
    t.same(page.faults, [])
  })

  t.test('another account finds nothing of the one before', async t => {
    const { token } = await app.register('second@example.org')
    const page = await visit(browser, app, { token })
    t.teardown(() => page.context().close())
    await page.goto('/sign-in')
    await page.evaluate(async () => {
      const response = new Response('secret', {
        headers: { 'x-stowage-kept': encodeURIComponent('{"name":"secret"}') },
      })
      await (await caches.open('stowage.kept / someone-else')).put('/kept/x', response)
      await caches.open('stowage.kept /other/ someone-else')
    })
    await page.goto('/files')
    await button(page, 'Account').waitFor()
    await until(async () => (await page.evaluate(() => caches.keys())).join() === 'stowage.kept /other/ someone-else')
    t.same(page.faults, [])
  })
}
