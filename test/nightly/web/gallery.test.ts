/** Photos of a folder: the gallery, the thumbnails that it asks for, and the full-screen view. */
import { utimes, writeFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import sharp from 'sharp'
import t from 'tap'
import { until } from '../../support/until.ts'
import { button, chooseView, dialog, isGood, row, startFiles } from '../../web/files.ts'

t.setTimeout(300_000)

const photo = (page: Page, name: string) =>
  page.getByRole('gridcell').filter({ has: page.getByRole('link', { name, exact: true }) })
const isThumbnail = (url: string) => new URL(url).pathname === '/api/thumbnail'
/**
 * Follows the requests for thumbnails. The page reports how each begins and ends in the order in which it happens, also when the
 * machine is busy. Other events of Playwright come in another order.
 */
async function watchThumbnails(page: Page) {
  const session = await page.context().newCDPSession(page)
  const running = new Set<string>()
  const seen = { asked: 0, most: 0, canceled: 0, running: () => running.size }
  session.on('Network.requestWillBeSent', ({ requestId, request }) => {
    if (!isThumbnail(request.url)) return
    running.add(requestId)
    seen.asked += 1
    seen.most = Math.max(seen.most, running.size)
  })
  session.on('Network.loadingFinished', ({ requestId }) => running.delete(requestId))
  session.on('Network.loadingFailed', ({ requestId, canceled }) => {
    if (running.delete(requestId) && canceled) seen.canceled += 1
  })
  await session.send('Network.enable')
  return seen
}

const files = await startFiles(t)
if (files) {
  const { open, store } = files
  const count = 200
  const shapes = [
    [300, 200],
    [200, 300],
    [400, 200],
    [240, 240],
  ] as const
  const images = await Promise.all(
    shapes.map(([width, height], index) =>
      sharp({ create: { width, height, channels: 3, background: { r: 60 * index, g: 90, b: 200 - 50 * index } } })
        .jpeg()
        .toBuffer(),
    ),
  )
  const nameOf = (index: number) => `photo ${String(index).padStart(3, '0')}.jpg`
  const imageOf = (index: number) => images[index % images.length] ?? Buffer.alloc(0)
  const trip = await store('Trip', {
    ...Object.fromEntries(Array.from({ length: count }, (_, index) => [nameOf(index), imageOf(index)])),
    'more/one.jpg': imageOf(0),
    'notes.txt': 'x',
  })
  // The first photo is the newest, and each month has 40 of them.
  await Promise.all(
    Array.from({ length: count }, (_, index) => {
      const at = new Date(2026, 9 - Math.floor(index / 40), 20, 12, 0, 40 - (index % 40))
      return utimes(trip.at(nameOf(index)), at, at)
    }),
  )

  t.test('a gallery has lines of the same width, by month, and only the visible ones', async t => {
    const page = await open(t)
    await page.goto(trip.page)
    await row(page, 'notes.txt').waitFor()
    await chooseView(page, 'Gallery')
    await photo(page, nameOf(0)).locator('img').waitFor()
    await page.getByText('1 other file is not shown').waitFor()
    await page.getByRole('rowheader', { name: 'October 2026 40 items' }).waitFor()
    await page.getByRole('link', { name: 'more' }).waitFor()
    const lines = () =>
      page.locator('.gallery-line:has(img.loaded)').evaluateAll(lines =>
        lines.map(line => {
          const box = line.getBoundingClientRect()
          const cells = [...line.querySelectorAll('.photo')].map(cell => cell.getBoundingClientRect())
          return { width: box.width, right: Math.max(...cells.map(cell => cell.right - box.left)), count: cells.length }
        }),
      )
    await until(async () => {
      const found = await lines()
      // The last line of a month is shorter.
      const full = found.filter(({ width, right }) => Math.abs(width - right) < 2)
      return full.length >= 2 && full.length >= found.length - 1 ? true : found
    })
    // Until a photo has arrived, its cell has the usual ratio of 4:3.
    await until(async () => {
      const ratio = await photo(page, nameOf(0)).evaluate(cell => cell.clientWidth / cell.clientHeight)
      return Math.abs(ratio - 1.5) < 0.1 ? true : `the photo is cropped: ${ratio}`
    })
    t.ok((await page.getByRole('gridcell').count()) < 120, 'only visible photos are in the document')
    await isGood(t, page)
    await page.getByRole('grid').focus()
    await page.keyboard.press('End')
    await photo(page, nameOf(count - 1)).waitFor()
    await page.keyboard.press('Home')
    await photo(page, 'more').waitFor()
    await page.keyboard.press('ArrowRight')
    await page.keyboard.press('ArrowRight')
    await page.keyboard.press(' ')
    await page.getByText('1 selected', { exact: true }).waitFor()
    t.equal(await photo(page, nameOf(1)).getAttribute('aria-selected'), 'true')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press(' ')
    await page.getByText('2 selected', { exact: true }).waitFor()
    await isGood(t, page)
    await page.keyboard.press('Escape')
    await photo(page, nameOf(2)).hover()
    await photo(page, nameOf(2)).getByRole('checkbox').click()
    await photo(page, nameOf(4))
      .getByRole('checkbox')
      .click({ modifiers: ['Shift'] })
    await page.getByText('3 selected', { exact: true }).waitFor()
    await photo(page, nameOf(3)).click({ button: 'right' })
    await page.getByRole('menuitem', { name: 'Delete' }).waitFor()
    await isGood(t, page)
    await page.keyboard.press('Escape')
    await page.reload()
    await photo(page, nameOf(0)).locator('img').waitFor()
    t.pass('the view is kept')
  })

  t.test('at most eight thumbnails are asked for at once, and those that scroll away are canceled', async t => {
    const page = await open(t)
    const thumbnails = await watchThumbnails(page)
    let isHeld = false
    await page.route(
      url => isThumbnail(url.href),
      async route => {
        if (!isHeld) await route.continue()
      },
    )
    const { running } = thumbnails
    await page.goto(trip.page)
    await row(page, 'notes.txt').waitFor()
    const haveLoaded = (count: number) =>
      (thumbnails.asked >= count && running() === 0) || [thumbnails.asked, running()]
    await until(() => haveLoaded(20))
    await chooseView(page, 'Gallery')
    await until(() => haveLoaded(50))
    t.ok(thumbnails.most >= 4, `${thumbnails.most} at once`)
    isHeld = true
    const gallery = page.getByRole('grid')
    // Far from the photos that are loaded around the window.
    await gallery.evaluate(grid => grid.scrollTo({ top: 6000 }))
    await until(() => running() === 8 || running())
    thumbnails.canceled = 0
    await gallery.evaluate(grid => grid.scrollTo({ top: 0 }))
    await until(() => thumbnails.canceled >= 8 || thumbnails.canceled)
    isHeld = false
    await chooseView(page, 'Tiles')
    // The browser may have kept some of them.
    const areLoaded = () => {
      const images = [...document.querySelectorAll('img')]
      return images.length > 8 && images.every(({ complete }) => complete)
    }
    await until(async () => running() === 0 && (await page.evaluate(areLoaded)))
    t.ok(thumbnails.most <= 8, `${thumbnails.most} at once`)
  })

  t.test('photos fill the window, with a slideshow and information', async t => {
    const page = await open(t)
    await page.goto(trip.page)
    await row(page, 'notes.txt').waitFor()
    await chooseView(page, 'Gallery')
    await photo(page, nameOf(0)).click()
    const heading = (name: string) => page.getByRole('dialog').getByRole('heading', { name })
    await heading(nameOf(0)).waitFor()
    await page
      .getByRole('dialog')
      .getByRole('img', { name: nameOf(0) })
      .waitFor()
    await page.keyboard.press('ArrowRight')
    await heading(nameOf(1)).waitFor()
    await page.keyboard.press('i')
    const information = page.getByRole('complementary', { name: 'Information' })
    await information.getByText('image/jpeg').waitFor()
    await information.getByText(`/${nameOf(1)}`).waitFor()
    await isGood(t, page)
    await button(page, 'Slideshow').click()
    await heading(nameOf(2)).waitFor()
    await heading(nameOf(3)).waitFor()
    await button(page, 'Stop the slideshow').click()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await until(() => page.evaluate(() => document.activeElement?.classList.contains('gallery') ?? false))
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').waitFor()
  })

  t.test('on a phone, a finger selects photos and goes to the next one', async t => {
    const page = await open(t, {
      viewport: { width: 390, height: 844 },
      isMobile: true,
      hasTouch: true,
      deviceScaleFactor: 2,
    })
    await page.goto(trip.page)
    await row(page, 'more').waitFor()
    await chooseView(page, 'Gallery')
    await photo(page, nameOf(0)).locator('img').waitFor()
    await isGood(t, page)
    await photo(page, nameOf(0)).tap()
    const image = page.getByRole('dialog').getByRole('img', { name: nameOf(0) })
    await image.waitFor()
    const touch = await page.context().newCDPSession(page)
    const at = (x: number) => [{ x, y: 400 }]
    await touch.send('Input.dispatchTouchEvent', { type: 'touchStart', touchPoints: at(300) })
    for (const x of [250, 200, 150, 100]) {
      await touch.send('Input.dispatchTouchEvent', { type: 'touchMove', touchPoints: at(x) })
    }
    await touch.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] })
    await page
      .getByRole('dialog')
      .getByRole('img', { name: nameOf(1) })
      .waitFor()
    await button(page, 'Information').tap()
    await page.getByRole('complementary', { name: 'Information' }).waitFor()
    await isGood(t, page)
    await button(page, 'Close').tap()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await photo(page, nameOf(0)).getByRole('checkbox').tap()
    await photo(page, nameOf(2)).tap()
    await page.getByText('2 selected', { exact: true }).first().waitFor()
    await chooseView(page, 'Gallery')
    await row(page, 'more').waitFor()
  })

  t.test('a photo that no browser shows has an image from the server, and a folder without photos says so', async t => {
    const { page: address, at } = await store('Camera', { 'text/notes.txt': 'x' })
    await writeFile(at('scan.tiff'), await sharp(imageOf(0)).tiff().toBuffer())
    const page = await open(t)
    await page.goto(`${address}?file=scan.tiff`)
    const image = page.getByRole('dialog').getByRole('img', { name: 'scan.tiff' })
    await image.waitFor()
    await until(async () => (await image.evaluate(image => (image as HTMLImageElement).naturalWidth)) === 300)
    await page.goto(`${address}/text`)
    await row(page, 'notes.txt').waitFor()
    await chooseView(page, 'Gallery')
    await page.getByText('This folder has no photos and no videos').waitFor()
    await isGood(t, page)
    await button(page, 'Show all files').click()
    await row(page, 'notes.txt').waitFor()
    t.equal(await dialog(page).count(), 0)
  })
}
