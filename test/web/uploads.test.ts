import { randomBytes } from 'node:crypto'
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'kysely'
import type { Page, Route } from 'playwright-core'
import t from 'tap'
import { atNight } from '../support/extent.ts'
import { until } from '../support/until.ts'
import { signIn, uploadThrottle } from './browser.ts'
import { button, isGood, row, startFiles } from './files.ts'

const files = await startFiles(t)
if (files) {
  const { app, owner, open, store } = files

  t.test('files and folders are uploaded, and conflicts ask what to do', async t => {
    const to = await store('upload', { 'taken.txt': 'old' })
    const from = await mkdir(join(app.folder, 'from/photos/2026'), { recursive: true }).then(() =>
      join(app.folder, 'from'),
    )
    await writeFile(join(from, 'photos/2026/a.jpg'), 'a')
    await writeFile(join(from, 'photos/b.jpg'), '')
    const page = await open(t)
    // Browsers offer it only over HTTPS.
    await page.addInitScript('delete Crypto.prototype.randomUUID')
    await page.goto(to.page)
    await page.getByLabel('Folder to upload').setInputFiles(join(from, 'photos'))
    await page.getByText('2 uploads complete').waitFor()
    await row(page, 'photos').waitFor()
    t.equal(await readFile(to.at('photos/2026/a.jpg'), 'utf8'), 'a')
    t.equal((await stat(to.at('photos/b.jpg'))).size, 0)
    const taken = { name: 'taken.txt', mimeType: 'text/plain', buffer: Buffer.from('new') }
    await page.getByLabel('Files to upload').setInputFiles([taken, { ...taken, name: 'new.txt' }])
    await page.getByText('Already exists').waitFor()
    await row(page, 'new.txt').waitFor()
    await isGood(t, page)
    t.equal(await readFile(to.at('taken.txt'), 'utf8'), 'old')
    await button(page, 'Keep both: taken.txt').click()
    await row(page, 'taken (1).txt').waitFor()
    t.equal(await readFile(to.at('taken.txt'), 'utf8'), 'old')
    t.equal(await readFile(to.at('taken (1).txt'), 'utf8'), 'new')
    await page.getByLabel('Files to upload').setInputFiles({ ...taken, buffer: Buffer.from('newer') })
    await page.getByText('Already exists').waitFor()
    await button(page, 'Replace: taken.txt').click()
    await until(async () => (await readFile(to.at('taken.txt'), 'utf8')) === 'newer')
    const metadata = { providerId: to.id, path: '/unfinished.txt', conflict: 'fail' }
    const encoded = Object.entries(metadata).map(([key, value]) => `${key} ${Buffer.from(value).toString('base64')}`)
    const created = await app.request('/api/upload/resumable', {
      method: 'POST',
      token: owner.token,
      headers: { 'tus-resumable': '1.0.0', 'upload-length': '10', 'upload-metadata': encoded.join(',') },
    })
    t.equal(created.status, 201)
    const file = { name: 'unfinished.txt', mimeType: 'text/plain', buffer: Buffer.from('complete') }
    await page.getByLabel('Files to upload').setInputFiles(file)
    await row(page, 'unfinished.txt').waitFor()
    t.equal(
      await readFile(to.at('unfinished.txt'), 'utf8'),
      'complete',
      'an unfinished upload does not reserve its name',
    )
    await mkdir(join(from, 'set/empty'), { recursive: true })
    await writeFile(join(from, 'set/c.txt'), 'c')
    await writeFile(join(from, 'dropped.txt'), 'dropped')
    await drop(page, [join(from, 'set'), join(from, 'dropped.txt')])
    await row(page, 'dropped.txt').waitFor()
    t.equal(await readFile(to.at('dropped.txt'), 'utf8'), 'dropped')
    await row(page, 'set').waitFor()
    t.equal(await readFile(to.at('set/c.txt'), 'utf8'), 'c')
    t.same(await to.names('set/empty'), [])
    t.same(page.faults, [])
  })

  atNight(t, 'four small files are sent at once, and one question decides about all names that are taken', async t => {
    const taken = ['n20.txt', 'n40.txt', 'n41.txt']
    const to = await store('crowd', Object.fromEntries(taken.map(name => [`deep/${name}`, 'old'])))
    const page = await open(t, { viewport: { width: 390, height: 844 } })
    const held: Route[] = []
    let isHolding = true
    const resumable: string[] = []
    await page.route('**/api/upload/**', route => {
      if (route.request().url().includes('resumable')) resumable.push(route.request().url())
      if (isHolding) held.push(route)
      else void route.continue()
    })
    await page.goto(`${to.page}/deep`)
    const files = Array.from({ length: 60 }, (_, index) => ({
      name: `n${index}.txt`,
      mimeType: 'text/plain',
      buffer: Buffer.from('new'),
    }))
    const choose = () => page.getByLabel('Files to upload').setInputFiles(files)
    const uploads = page.getByRole('region', { name: 'Uploads' })
    await choose()
    await until(() => held.length === 4)
    await uploads.getByRole('listitem').first().getByText('/deep').waitFor()
    await isGood(t, page)
    isHolding = false
    for (const route of held) await route.continue()
    await page.getByText('3 uploads need attention').waitFor()
    t.match(await uploads.getByRole('listitem').first().textContent(), /^n20\.txt/, 'decisions are listed first')
    await isGood(t, page)
    await page.getByRole('group', { name: '3 files already exist' }).getByRole('button', { name: 'Skip all' }).click()
    await page.getByText('57 uploads complete').waitFor()
    for (const name of taken) t.equal(await readFile(to.at(`deep/${name}`), 'utf8'), 'old')
    await uploads.getByRole('button', { name: 'Close' }).click()

    await choose()
    await page.getByText('60 uploads need attention').waitFor()
    await page
      .getByRole('group', { name: '60 files already exist' })
      .getByRole('button', { name: 'Replace all' })
      .click()
    await page.getByText('60 uploads complete').waitFor()
    for (const name of taken) t.equal(await readFile(to.at(`deep/${name}`), 'utf8'), 'new')
    isHolding = true
    await choose()
    await button(page, 'Cancel all').click()
    await page.getByText('60 uploads complete').waitFor()
    await uploads.getByRole('button', { name: 'Close' }).click()
    t.equal((await to.names('deep')).length, 60)
    t.same(resumable, [], 'each file takes one request')
    t.same(page.faults, [])
  })

  atNight(t, 'a name that another browser reserves says who uploads there, and can be taken over', async t => {
    const to = await store('reserved')
    const file = join(app.folder, 'shared.bin')
    const content = randomBytes(12 * 1024 * 1024)
    await writeFile(file, content)
    const [abandoned, page] = [
      await open(t, { token: await signIn(app, 'owner@example.org') }),
      await open(t, { viewport: { width: 390, height: 844 } }),
    ]
    await (await uploadThrottle(abandoned))(1_000_000)
    await abandoned.goto(to.page)
    await abandoned.getByLabel('Files to upload').setInputFiles(file)
    await abandoned.locator('.upload-state', { hasText: /^([1-9]|\d\d)% ·/ }).waitFor()
    const staged = () => readdir(to.at('.stowage-staging')).catch(() => [])
    await until(async () => (await staged()).length === 1)
    await button(abandoned, 'Pause: shared.bin').click()
    await page.goto(to.page)
    const uploads = page.getByRole('region', { name: 'Uploads' })
    const choose = () => page.getByLabel('Files to upload').setInputFiles(file)
    await choose()
    await page.getByText(/^You started this upload elsewhere .*(?:ago|now)$/).waitFor()
    t.equal(await page.getByText('Already exists').count(), 0)
    t.equal(await button(page, 'Replace: shared.bin').count(), 0, 'there is no file to replace')
    await isGood(t, page)
    await button(page, 'Keep both: shared.bin').click()
    await row(page, 'shared (1).bin').waitFor()
    await uploads.getByRole('button', { name: 'Close' }).click()
    await app.db
      .updateTable('uploads')
      .set({ created_at: sql`now() - interval '9 minutes'`, touched_at: sql`now() - interval '5 minutes'` })
      .where('stored_path', 'is', null)
      .execute()
    await choose()
    await page.getByText('You started this upload elsewhere 9 minutes ago · idle for 5 min').waitFor()
    await button(page, 'Take over: shared.bin').click()
    await row(page, 'shared.bin').waitFor()
    t.ok((await readFile(to.at('shared.bin'))).equals(content))
    t.same(await staged(), [])
    await button(abandoned, 'Resume: shared.bin').click()
    await abandoned.getByText('Already exists').waitFor()
    await isGood(t, abandoned)
    t.same(page.faults, [])
  })

  atNight(
    t,
    'the screen stays on while uploads run, and one that failed meanwhile continues when the page is seen',
    async t => {
      const disk = await store('asleep')
      const page = await open(t, { viewport: { width: 390, height: 844 } })
      await page.addInitScript(() => {
        const locks = { count: 0 }
        const request = async () => {
          locks.count += 1
          const lock = {
            released: false,
            release: async () => {
              lock.released = true
              locks.count -= 1
            },
          }
          return lock
        }
        Object.defineProperty(navigator, 'wakeLock', { value: { request } })
        Object.assign(globalThis, { locks })
      })
      const locks = () => page.evaluate(() => (globalThis as unknown as { locks: { count: number } }).locks.count)
      const isRefused = { now: false }
      const held = Promise.withResolvers<void>()
      // A server that is busy for longer than a client waits.
      await page.route('**/api/upload/proxy?*', async route => {
        await held.promise
        await (isRefused.now ? route.fulfill({ status: 503, headers: { 'retry-after': '600' } }) : route.continue())
      })
      await page.goto(disk.page)
      await button(page, 'Add').click()
      const photos = page.getByRole('menuitem', { name: 'Photos and videos' })
      const [chooser] = await Promise.all([page.waitForEvent('filechooser'), photos.click()])
      isRefused.now = true
      await chooser.setFiles({ name: 'sea.jpg', mimeType: 'image/jpeg', buffer: Buffer.from('the sea') })
      await until(async () => (await locks()) === 1)
      held.resolve()
      await page.getByText('1 upload needs attention').waitFor()
      t.equal(await locks(), 0, 'the screen may go off when nothing runs')
      isRefused.now = false
      await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')))
      await row(page, 'sea.jpg').waitFor()
      t.same(await disk.names(), ['sea.jpg'])
      await isGood(t, page)
    },
  )

  atNight(t, 'an upload continues after a lost connection, a pause and a reload', async t => {
    const to = await store('resume')
    const content = randomBytes(24 * 1024 * 1024)
    const file = join(app.folder, 'large.bin')
    await writeFile(file, content)
    const page = await open(t)
    const offsets: number[] = []
    page.on('request', request => {
      if (request.method() === 'PATCH') offsets.push(Number(request.headers()['upload-offset']))
    })
    const throttle = await uploadThrottle(page)
    const some = page.locator('.upload-state', { hasText: /^([1-9]|\d\d)% ·/ })
    const more = page.locator('.upload-state', { hasText: /^[2-9]\d% ·/ })
    await page.goto(to.page)
    await throttle(2_000_000)
    await page.getByLabel('Files to upload').setInputFiles(file)
    await some.waitFor()
    await page.route('**/api/upload/**', route => route.abort('internetdisconnected'))
    app.app.server.server.closeAllConnections()
    await page.getByText('Waiting for the network').waitFor()
    await isGood(t, page)
    await page.unroute('**/api/upload/**')
    await more.waitFor()
    const sent = offsets.length
    // Chromium repeats the request, and the server rejects it, because it has stored a part already.
    app.app.server.server.closeAllConnections()
    await until(() => offsets.length > sent)
    await some.waitFor()
    await button(page, 'Pause: large.bin').click()
    await page.getByText(/Paused at \d+%/).waitFor()
    await button(page, 'Resume: large.bin').click()
    await some.waitFor()
    page.on('dialog', asked => void asked.accept())
    await page.reload()
    await page.getByText('1 upload was interrupted').waitFor()
    await isGood(t, page)
    await throttle(-1)
    await page.getByLabel('File for large.bin').setInputFiles(file)
    await row(page, 'large.bin').waitFor()
    t.ok((await readFile(to.at('large.bin'))).equals(content))
    t.ok(offsets.length >= 5, `${offsets}`)
    t.ok(
      offsets.slice(1).every((offset, index) => offset > 0 && offset >= (offsets[index] ?? 0)),
      `${offsets}: it never restarts from zero`,
    )
    t.same(await page.evaluate(() => Object.keys(localStorage)), [], 'nothing remains in local storage')
  })
}

/** Drops files and folders from the disk onto the middle of the page, as a person does with the mouse. */
async function drop(page: Page, paths: string[]): Promise<void> {
  const devices = await page.context().newCDPSession(page)
  const data = { items: [], files: paths, dragOperationsMask: 1 }
  for (const type of ['dragEnter', 'dragOver', 'drop'] as const) {
    await devices.send('Input.dispatchDragEvent', { type, x: 640, y: 400, data })
    if (type === 'dragOver') await page.getByText('Drop to upload into').waitFor()
  }
}
