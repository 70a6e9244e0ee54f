import { readFile, stat } from 'node:fs/promises'
import t from 'tap'
import { button, dialog, isGood, pick, row, startFiles } from './files.ts'

const files = await startFiles(t)
if (files) {
  const { open, store } = files

  t.test('new folder, rename, move, copy, delete', async t => {
    const [one, two] = [await store('one', { 'a.txt': 'a', 'b.txt': 'b', 'sub/c.txt': 'c' }), await store('two')]
    const page = await open(t)
    await page.goto(one.page)
    await button(page, 'New folder').click()
    await page.getByLabel('Name', { exact: true }).fill('sub')
    await button(page, 'Create').click()
    await dialog(page).getByText('ALREADY_EXISTS').waitFor()
    await page.getByLabel('Name', { exact: true }).fill('Made here')
    await isGood(t, page)
    await button(page, 'Create').click()
    await row(page, 'Made here').waitFor()
    t.ok((await stat(one.at('Made here'))).isDirectory())

    await row(page, 'a.txt').click()
    await page.keyboard.press('F2')
    await page.getByLabel('New name').fill('renamed.txt')
    await page.keyboard.press('Enter')
    await row(page, 'renamed.txt').waitFor()
    t.equal(await readFile(one.at('renamed.txt'), 'utf8'), 'a')

    await pick(page, 'renamed.txt')
    await pick(page, 'sub')
    await button(page, 'Move to …').click()
    await dialog(page).getByRole('button', { name: 'Storage' }).click()
    await dialog(page).getByRole('button', { name: 'two' }).click()
    await dialog(page).getByText('No folders in here').waitFor()
    await isGood(t, page)
    await button(page, 'Move here').click()
    await dialog(page).waitFor({ state: 'detached' })
    t.same(await two.names(), ['renamed.txt', 'sub'])
    t.equal(await readFile(two.at('sub/c.txt'), 'utf8'), 'c')
    await row(page, 'renamed.txt').waitFor({ state: 'detached' })

    for (const answer of [null, 'Keep both']) {
      await row(page, 'b.txt').click({ button: 'right' })
      await page.getByRole('menuitem', { name: 'Copy to …' }).click()
      await dialog(page).getByRole('button', { name: 'Made here' }).click()
      await dialog(page).getByText('No folders in here').waitFor()
      await button(page, 'Copy here').click()
      if (answer) await button(page, answer).click()
      await dialog(page).waitFor({ state: 'detached' })
    }
    t.same(await one.names('Made here'), ['b (1).txt', 'b.txt'])

    await pick(page, 'Made here')
    await page.getByRole('grid').focus()
    await page.keyboard.press('Delete')
    await dialog(page).getByText('b.txt', { exact: true }).waitFor()
    await dialog(page).getByText('Made here/').waitFor()
    await isGood(t, page)
    await dialog(page).getByRole('button', { name: 'Delete' }).click()
    await page.getByText('This folder is empty').waitFor()
    t.same(await one.names(), [])
    await isGood(t, page)
  })
}
