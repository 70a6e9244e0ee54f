/** Stars and tags in the console. */
import { randomUUID } from 'node:crypto'
import t from 'tap'
import { button, dialog, isGood, openNavigation, pick, row, startFiles } from '../../web/files.ts'

const files = await startFiles(t)
if (files) {
  const { open, store } = files
  const sizes = { desktop: { width: 1280, height: 800 }, phone: { width: 390, height: 844 } }

  for (const [name, viewport] of Object.entries(sizes)) {
    t.test(`a person finds what they have marked: ${name}`, async t => {
      const isPhone = viewport.width < 600
      const storage = `Disk ${randomUUID().slice(0, 4)}`
      const disk = await store(storage, {
        'Contracts/Lease.pdf': 'x',
        'Contracts/Loan.txt': 'x',
        'Budget 2027.xlsx': 'x',
        'Holiday.jpg': 'x',
      })
      const page = await open(t, { viewport, hasTouch: isPhone })
      await page.goto(disk.page)
      const contracts = row(page, 'Contracts')
      if (isPhone) {
        await contracts.getByRole('button', { name: 'Actions' }).click()
        await page.getByRole('menuitem', { name: 'Add star' }).click()
      } else {
        await contracts.hover()
        await contracts.getByRole('button', { name: 'Add star' }).click()
      }
      await contracts.getByText(', starred').waitFor({ state: 'attached' })
      if (!isPhone) await pick(page, 'Contracts')
      await pick(page, 'Budget 2027.xlsx')
      if (isPhone) {
        await contracts.getByRole('button', { name: 'Actions' }).click()
        await page.getByRole('menuitem', { name: 'Tags…' }).click()
      } else await page.getByRole('toolbar', { name: 'Selection' }).getByRole('button', { name: 'Tags…' }).click()
      await dialog(page).getByLabel('New tag').fill('Finance')
      await button(page, 'Add').last().click()
      await dialog(page).getByLabel('New tag').fill('2027')
      await isGood(t, page)
      await button(page, 'Save').click()
      await dialog(page).waitFor({ state: 'detached' })
      await row(page, 'Budget 2027.xlsx').getByText('Finance').waitFor({ state: 'attached' })
      await isGood(t, page)

      await (await openNavigation(page)).getByRole('link', { name: 'Starred' }).click()
      const list = page.getByRole('list', { name: 'Starred' }).getByRole('listitem').filter({ hasText: storage })
      await list.filter({ hasText: 'Contracts' }).waitFor()
      t.equal(await list.count(), 1)
      await isGood(t, page)
      const tags = page.getByRole('navigation', { name: 'Tags' })
      await tags.getByRole('link', { name: /Finance/ }).click()
      const tagged = page.getByRole('list', { name: 'Tag: Finance' }).getByRole('listitem').filter({ hasText: storage })
      await tagged.filter({ hasText: 'Budget 2027.xlsx' }).waitFor()
      t.equal(await tagged.count(), 2)

      await page.goto('/files')
      await page.getByRole('list', { name: 'Starred' }).getByRole('link', { name: 'Contracts' }).first().waitFor()
      await isGood(t, page)
    })
  }
}
