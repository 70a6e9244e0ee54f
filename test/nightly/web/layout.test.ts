/** The controls that can be reached in windows of different sizes. */
import type { BrowserContextOptions, Locator, Page } from 'playwright-core'
import t from 'tap'
import { until } from '../../support/until.ts'
import { button, chooseView, dialog, names, pick, row, startFiles, startFolder } from '../../web/files.ts'

t.setTimeout(300_000)

const phone = { isMobile: true, hasTouch: true, deviceScaleFactor: 2 }
/** Windows by what they stand for. 640 × 400 is a window of 1280 × 800 at a zoom of 200 %. */
const windows = {
  desktop: { viewport: { width: 1280, height: 800 } },
  phone: { viewport: { width: 390, height: 844 }, ...phone },
  zoomed: { viewport: { width: 640, height: 400 } },
  'phone held sideways': { viewport: { width: 844, height: 390 }, ...phone },
} satisfies Record<string, BrowserContextOptions>

/** Returns the box of an element that is visible. */
async function boxOf(element: Locator) {
  await element.waitFor()
  const box = await element.boundingBox()
  if (!box) throw new Error('The element has no box')
  return box
}

/** Returns how many rows of the table the window shows completely. */
const completeRows = (page: Page) =>
  page.locator('.file-rows .file-row').evaluateAll(rows => {
    const isShown = (element: Element) => {
      const { left, top, bottom } = element.getBoundingClientRect()
      const at = (y: number) => element.contains(document.elementFromPoint(left + 60, y))
      return at(top + 2) && at(bottom - 2)
    }
    return rows.filter(isShown).length
  })

const files = await startFiles(t)
if (files) {
  const { open, store } = files
  const many = Object.fromEntries(
    Array.from({ length: 400 }, (_, index) => [`file ${String(index).padStart(3, '0')}.txt`, 'x']),
  )
  const { page: address } = await store('many', many)

  for (const [name, size] of Object.entries(windows)) {
    t.test(`everything stays in reach while an entry is selected: ${name}`, async t => {
      const page = await open(t, size)
      await page.goto(address)
      // The click on the box then scrolls nothing.
      await row(page, 'file 003.txt').scrollIntoViewIfNeeded()
      const before = await boxOf(row(page, 'file 002.txt'))
      await pick(page, 'file 001.txt')
      await page.getByRole('toolbar', { name: 'Selection' }).waitFor()
      t.same(await boxOf(row(page, 'file 002.txt')), before, 'the list does not move')
      const adding = size === windows.phone ? ['Add'] : ['Upload', 'New folder']
      for (const label of [...adding, 'Download', 'Delete', 'Clear the selection']) {
        await button(page, label).click({ trial: true })
      }
      const filter = page.getByRole('searchbox', { name: 'Filter by name' })
      await filter.fill('file 00')
      await page.getByText('10 matches').waitFor()
      t.equal(await row(page, 'file 001.txt').getAttribute('aria-selected'), 'true', 'the entry is still selected')
      if (size.viewport.width > 640) {
        await chooseView(page, 'Compact')
        t.equal(await row(page, 'file 001.txt').getAttribute('aria-selected'), 'true')
      }
      await startFolder(page)
      await dialog(page).getByRole('button', { name: 'Cancel' }).click()
    })
  }

  for (const name of ['zoomed', 'phone held sideways'] as const) {
    t.test(`the page scrolls in a low window: ${name}`, async t => {
      const page = await open(t, windows[name])
      await page.goto(address)
      await row(page, 'file 000.txt').waitFor()
      t.ok((await names(page)).length < 60, 'only some of the rows are in the document')
      await row(page, 'file 001.txt').hover()
      await page.mouse.wheel(0, 400)
      await until(async () => (await completeRows(page)) >= 5)
      t.pass('the list has the room of the page')
      const grid = page.getByRole('grid')
      await grid.focus()
      await page.keyboard.press('End')
      await row(page, 'file 399.txt').waitFor()
      t.ok(
        (await boxOf(row(page, 'file 399.txt'))).y < windows[name].viewport.height - 40,
        'the focused row is visible',
      )
      await page.keyboard.press('Home')
      await row(page, 'file 000.txt').waitFor()
    })
  }

  for (const name of ['desktop', 'phone', 'zoomed'] as const) {
    t.test(`a message covers no panel: ${name}`, async t => {
      const { page: address } = await store(`disk of the ${name}`, { 'a/b.txt': 'x', 'c.txt': 'x' })
      const page = await open(t, windows[name])
      await page.goto(address)
      await pick(page, 'a')
      await button(page, 'Copy to…').click()
      await button(page, 'Copy here').click()
      const panel = page.getByRole('region', { name: 'Jobs' })
      await panel.getByText(/^Done/).waitFor()
      const toast = await boxOf(page.locator('.toast').filter({ hasText: 'Done: Copy “a”' }))
      const covered = await boxOf(panel)
      t.ok(toast.y >= 0 && toast.y + toast.height <= covered.y, JSON.stringify({ toast, covered }))
    })
  }
}
