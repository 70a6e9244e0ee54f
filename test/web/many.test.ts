import { writeFile } from 'node:fs/promises'
import t from 'tap'
import { focusedRow, isGood, row, startFiles } from './files.ts'

const files = await startFiles(t)
if (files) {
  const { open, store } = files

  t.test('a folder with 50,000 entries can be scrolled to its end', async t => {
    const { page: address, at } = await store('many')
    const count = 50_000
    for (let done = 0; done < count; done += 500) {
      await Promise.all(Array.from({ length: 500 }, (_, i) => writeFile(at(`file ${done + i + 1}.txt`), '')))
    }
    const page = await open(t)
    page.setDefaultTimeout(60_000)
    await page.goto(address)
    await page.getByText('so far, loading more').waitFor()
    await page.getByLabel('Filter by name').waitFor()
    await page.getByText('50,000 items', { exact: true }).waitFor()
    await page.getByRole('grid').focus()
    // The server's order begins with 1 and 10, so the second name shows that the page has sorted the entries.
    await page.waitForFunction(() => document.querySelectorAll('.cell-name a')[1]?.textContent === 'file 2.txt')
    await page.keyboard.press('End')
    await row(page, `file ${count}.txt`).waitFor()
    await page.getByRole('link', { name: 'Settings' }).click()
    await page.getByRole('heading', { name: 'Profile' }).waitFor()
    await page.goBack()
    await focusedRow(page)
      .getByRole('link', { name: `file ${count}.txt` })
      .waitFor()
    t.ok((await page.getByRole('row').count()) < 100, 'only visible rows are in the document')
    await page.keyboard.press('Control+a')
    await page.getByText('50,000 selected', { exact: true }).waitFor()
    await page.keyboard.press('Escape')
    await isGood(t, page)
  })
}
