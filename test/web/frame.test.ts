/** The frame of every page, the first page, and the page that shows the components to developers. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import sharp from 'sharp'
import t from 'tap'
import { createServer } from 'vite'
import { consoleFolder } from '../../src/endpoints/console/pages.ts'
import { atNight, inTurn } from '../support/extent.ts'
import { until } from '../support/until.ts'
import { isAccessible, visit } from './browser.ts'
import { button, isGood, main, openNavigation, row, startFiles } from './files.ts'

t.setTimeout(300_000)

const wide = { width: 1280, height: 800 }
const phone = { width: 390, height: 844 }
const colorsOf = (page: Page) => page.evaluate(() => getComputedStyle(document.documentElement).colorScheme)

const files = await startFiles(t, { settings: { catalogueHours: 24 } })
if (files) {
  const { app, browser, owner, open, store } = files

  atNight(t, 'the owner of a new workspace is led to the first storage and the first files', async t => {
    for (const viewport of inTurn([wide, phone])) {
      const page = await open(t, { viewport })
      await page.goto('/files')
      const steps = page.getByRole('region', { name: 'First steps' })
      await steps.getByRole('link', { name: 'Add your first storage' }).waitFor()
      await isGood(t, page)
      const disk = await store(`first ${viewport.width}`)
      await page.reload()
      await steps.getByText('Drop them anywhere on this page').waitFor()
      await isGood(t, page)
      const [chooser] = await Promise.all([page.waitForEvent('filechooser'), button(page, 'Choose files').click()])
      await chooser.setFiles({ name: 'first.txt', mimeType: 'text/plain', buffer: Buffer.from('first') })
      await row(page, 'first.txt').waitFor()
      await page.goto('/files')
      await main(page)
        .getByRole('link', { name: `first ${viewport.width}` })
        .first()
        .waitFor()
      await until(async () => (await steps.count()) === 0)
      const remove = 'mutation ($id: ID!) { disconnectProvider(id: $id) }'
      await app.ask(remove, { id: disk.id }, owner.token)
    }
  })

  atNight(t, 'the first page shows storages with their space, the newest files, and what changed', async t => {
    const photo = await sharp({ create: { width: 80, height: 60, channels: 3, background: '#37a' } })
      .png()
      .toBuffer()
    const disk = await store('Pictures', { 'old/a.txt': 'a' })
    await store('Texts', { 'b.txt': 'b' })
    await app.upload(owner.token, disk.id, '/harbor.png', photo)
    const newest = async () => {
      const { rankedFiles } = await app.ask('{ rankedFiles(rank: NEWEST) { file { name } } }', {}, owner.token)
      return rankedFiles.length >= 3
    }
    await until(newest, { within: 60_000 })
    const isAudited = async () => {
      const uploads = 'query ($id: ID!) { auditEvents(filter: { providerId: $id, action: UPLOAD }) { nodes { path } } }'
      const { auditEvents } = await app.ask(uploads, { id: disk.id }, owner.token)
      return auditEvents.nodes.length > 0
    }
    // The server writes the events of uploads a second later, and the first page reads them once.
    await until(isAudited, { within: 60_000 })
    const invite = 'mutation { createInvite(input: { role: EDITOR }) { invite } }'
    const { createInvite } = await app.ask(invite, {}, owner.token)
    const member = await app.register('editor@example.org', { invite: createInvite.invite })
    for (const [viewport, colorScheme] of inTurn([[wide, 'light'] as const, [phone, 'dark'] as const])) {
      const page = await open(t, { viewport, colorScheme })
      await page.goto('/files')
      await main(page).getByRole('meter', { name: 'Space of Pictures' }).waitFor()
      t.equal(await main(page).getByText('Connected').count(), 0, 'a badge only says that something is wrong')
      const recent = page.getByRole('list', { name: 'Recent' })
      t.equal(await recent.getByRole('listitem').first().getByRole('link').textContent(), 'harbor.png')
      await recent.locator('img.loaded').first().waitFor()
      await page.getByRole('region', { name: 'What changed' }).getByText('harbor.png').waitFor()
      await isGood(t, page)
      await recent.getByRole('link', { name: 'harbor.png' }).click()
      await page.getByRole('dialog').getByRole('img', { name: 'harbor.png' }).waitFor()
      await page.keyboard.press('Escape')
      await page.goto('/files')
      await page.getByRole('link', { name: 'All recent files' }).click()
      await page.getByRole('list', { name: 'Changed last' }).getByRole('link', { name: 'b.txt' }).waitFor()
      await page.getByRole('region', { name: 'Opened in this browser' }).getByText('harbor.png').waitFor()
      await isGood(t, page)
      const theirs = await open(t, { viewport, token: member.token })
      await theirs.goto('/files')
      await theirs.getByRole('list', { name: 'Recent' }).getByText('harbor.png').waitFor()
      await theirs.getByRole('region', { name: 'What changed' }).getByText('harbor.png').waitFor()
      await isGood(t, theirs)
      await theirs.getByRole('link', { name: 'All changes' }).click()
      await main(theirs).getByRole('heading', { name: 'Activity' }).waitFor()
      await main(theirs).getByText('harbor.png').first().waitFor()
      await isGood(t, theirs)
    }
  })

  atNight(t, 'the menu of the account has colors that the browser remembers', async t => {
    const page = await open(t, { colorScheme: 'light' })
    await page.goto('/files')
    const choose = async (name: string) => {
      await button(page, 'Account').click()
      await isGood(t, page)
      await page.getByRole('menuitemradio', { name }).click()
    }
    t.equal(await colorsOf(page), 'light dark')
    await choose('Dark')
    t.equal(await colorsOf(page), 'dark')
    await page.reload()
    await button(page, 'Account').waitFor()
    t.equal(await colorsOf(page), 'dark')
    await isGood(t, page)
    await choose('As the system')
    t.equal(await colorsOf(page), 'light dark')
  })

  atNight(t, 'old addresses of pages lead to the new ones, and a phone has every page', async t => {
    for (const viewport of [wide, phone]) {
      const page = await open(t, { viewport })
      for (const [before, after] of [
        ['/settings/jobs', '/jobs'],
        ['/settings/schedules', '/jobs/schedules'],
        ['/settings/shares', '/shares'],
      ] as const) {
        await page.goto(before)
        await page.waitForURL(url => url.pathname === after)
      }
      for (const [name, heading] of [
        ['Recent', 'Recent'],
        ['Shared with me', 'Shared with me'],
        ['Shared by me', 'Shared by me'],
        ['Activity', 'Activity'],
        ['Jobs', 'Jobs'],
        ['Settings', 'Profile'],
      ] as const) {
        await page.goto('/files')
        await (await openNavigation(page)).getByRole('link', { name, exact: true }).click()
        await page.getByRole('heading', { name: heading, level: 1 }).waitFor()
        await isGood(t, page)
      }
      await page.goto('/trash')
      await page.waitForURL(/\/trash\/[0-9a-f-]{36}$/)
    }
  })

  t.test('every page of the navigation and of the settings opens', async t => {
    const page = await open(t, { viewport: wide })
    await page.goto('/files')
    /** Follows all links of a navigation and returns the titles of their pages. */
    const titlesOf = async (navigation: string) => {
      const links = page.getByRole('navigation', { name: navigation, exact: true }).getByRole('link')
      await links.first().waitFor()
      const titles: string[] = []
      for (const address of await links.evaluateAll(all => all.map(link => link.getAttribute('href') ?? ''))) {
        if (address === '/files') continue
        const title = page.getByRole('heading', { level: 1 })
        await title.waitFor()
        // The title of the page before stays until the next one is loaded.
        const before = new URL(page.url()).pathname === address ? '' : await title.textContent()
        await page.locator(`nav a[href="${address}"]`).first().click()
        await page.waitForURL(url => url.pathname.startsWith(address))
        await until(async () => (await title.count()) === 1 && (await title.textContent()) !== before)
        await page.locator('.loading').first().waitFor({ state: 'detached' })
        await isGood(t, page)
        titles.push((await title.textContent()) ?? '')
      }
      return titles
    }
    const pages = await titlesOf('Main')
    for (const title of ['Recent', 'Shared with me', 'Shared by me', 'Activity', 'Jobs', 'Profile'])
      t.ok(pages.includes(title), `${title} in ${pages}`)
    await page.goto('/settings')
    const settings = await titlesOf('Settings')
    for (const title of ['Security', 'API keys', 'Storages', 'Members', 'Webhooks'])
      t.ok(settings.includes(title), `${title} in ${settings}`)
    t.ok(settings.length > 12, `${settings}`)
  })

  atNight(t, 'a phone adds files from any page with its large button', async t => {
    const disk = await store('Phone disk')
    const page = await open(t, { viewport: phone })
    await page.goto('/recent')
    await button(page, 'Add').click()
    await isGood(t, page)
    const [chooser] = await Promise.all([
      page.waitForEvent('filechooser'),
      page.getByRole('menuitem', { name: 'Upload to Phone disk' }).click(),
    ])
    await chooser.setFiles({ name: 'note.txt', mimeType: 'text/plain', buffer: Buffer.from('note') })
    await row(page, 'note.txt').waitFor()
    t.same(await disk.names(), ['note.txt'])
    await button(page, 'Add').click()
    const [second] = await Promise.all([
      page.waitForEvent('filechooser'),
      page.getByRole('menuitem', { name: 'Upload files' }).click(),
    ])
    await second.setFiles({ name: 'more.txt', mimeType: 'text/plain', buffer: Buffer.from('more') })
    await row(page, 'more.txt').waitFor()
  })

  t.test('a build contains nothing of the page for developers', async t => {
    const folder = join(consoleFolder, 'assets')
    const scripts = (await readdir(folder)).filter(name => name.endsWith('.js'))
    const sources = await Promise.all(scripts.map(name => readFile(join(folder, name), 'utf8')))
    t.equal(sources.filter(source => source.includes('Radius and elevation')).length, 0)
  })

  atNight(t, 'every component is accessible in all of its states', async t => {
    const root = new URL('../../web', import.meta.url).pathname
    const server = await createServer({ root, logLevel: 'error', server: { port: 0, host: '127.0.0.1' } })
    t.teardown(() => server.close())
    await server.listen()
    const url = server.resolvedUrls?.local[0] ?? ''
    for (const viewport of [wide, phone]) {
      for (const colorScheme of ['light', 'dark'] as const) {
        const page = await visit(browser, { url }, { viewport, colorScheme })
        t.teardown(() => page.context().close())
        await page.goto('/design')
        await page.getByRole('heading', { name: 'Types of storage' }).waitFor()
        await isAccessible(t, page, `the components at ${viewport.width} in ${colorScheme} colors`)
        await button(page, 'Open the menu').click()
        await page.getByRole('menuitem', { name: 'Rename' }).waitFor()
        await isAccessible(t, page, 'a menu')
        await page.keyboard.press('Escape')
        await button(page, 'Open the dialog').click()
        await page.getByRole('alertdialog').waitFor()
        await isAccessible(t, page, 'a dialog')
      }
    }
  })
}
