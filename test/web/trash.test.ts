/** Undoing deletions, moves and renames, and the page of the trash, on a desktop and on a phone. */
import { mkdir, readFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import t from 'tap'
import { atNight, inTurn } from '../support/extent.ts'
import { until } from '../support/until.ts'
import { button, dialog, isGood, main, openNavigation, pick, row, startFiles, type TestStore } from './files.ts'

const phone = { viewport: { width: 390, height: 780 }, hasTouch: true }
const widths = { desktop: {}, phone }

const files = await startFiles(t)
if (files) {
  const { app, owner, open, store } = files
  const days = 'mutation ($id: ID!, $days: Int) { updateProvider(input: { id: $id, trashDays: $days }) { id } }'
  const withTrash = async (name: string, content: Record<string, string>): Promise<TestStore> => {
    const made = await store(name, content)
    await app.ask(days, { id: made.id, days: 30 }, owner.token)
    return made
  }
  const undo = (page: Page) => page.locator('.toast').getByRole('button', { name: 'Undo' })

  for (const [width, options] of inTurn(Object.entries(widths))) {
    t.test(`what is deleted comes back with Undo, on a ${width}`, async t => {
      const {
        page: address,
        names,
        at,
      } = await withTrash(`undo-${width}`, { 'a.txt': 'a', 'b.txt': 'b', 'sub/c.txt': 'c' })
      const page = await open(t, options)
      await page.goto(address)
      await pick(page, 'a.txt')
      await button(page, 'Delete').click()
      await dialog(page).getByText('You can restore it from the trash for 30 days.').waitFor()
      await isGood(t, page)
      await dialog(page).getByRole('button', { name: 'Delete' }).click()
      await page.getByText('“a.txt” was deleted').waitFor()
      await row(page, 'a.txt').waitFor({ state: 'detached' })
      t.same(await names(), ['b.txt', 'sub'])
      // The message stays under the pointer.
      await page.locator('.toast').hover()
      await isGood(t, page)
      await undo(page).click()
      await row(page, 'a.txt').waitFor()
      t.equal(await readFile(at('a.txt'), 'utf8'), 'a')

      // It is selected again.
      await until(() => row(page, 'a.txt').getByRole('checkbox').isChecked())
      for (const name of ['b.txt', 'sub']) await pick(page, name)
      await button(page, 'Delete').click()
      await dialog(page).getByText('You can restore them').waitFor()
      await dialog(page).getByRole('button', { name: 'Delete' }).click()
      await page.getByText('3 items deleted').waitFor()
      t.same(await names(), [])
      await undo(page).last().click()
      await row(page, 'sub').waitFor()
      await until(async () => (await names()).length === 3)
      t.equal(await readFile(at('sub/c.txt'), 'utf8'), 'c')
    })

    atNight(t, `the trash lists, restores and empties, on a ${width}`, async t => {
      const { page: address, names, id } = await withTrash(`page-${width}`, { 'a.txt': 'a', 'sub/b.txt': 'b' })
      const remove = 'mutation ($input: DeleteInput!) { delete(input: $input) { deletedPath } }'
      for (const path of ['/a.txt', '/sub']) {
        await app.ask(remove, { input: { providerId: id, path, recursive: true } }, owner.token)
      }
      const page = await open(t, options)
      await page.goto(address)
      const navigation = await openNavigation(page)
      await navigation.getByRole('link', { name: 'Trash', exact: true }).click()
      const item = (name: string) => page.locator('.trash-item').filter({ hasText: `/${name}` })
      await item('sub').waitFor()
      await isGood(t, page)
      await item('sub').getByRole('button', { name: 'Restore' }).click()
      await page.getByText('Restored to /sub').waitFor()
      await item('sub').waitFor({ state: 'detached' })
      t.same(await names(), ['sub'])
      await button(page, 'Empty trash').click()
      await isGood(t, page)
      await dialog(page).getByRole('button', { name: 'Empty trash' }).click()
      await page.getByText('Deleted files stay here for 30 days.').waitFor()
      await isGood(t, page)
      await main(page)
        .getByText('Back to')
        .getByRole('link', { name: `page-${width}` })
        .click()
      await row(page, 'sub').waitFor()
    })
  }

  atNight(t, 'a rename and a move are undone', async t => {
    const { page: address, names, at } = await withTrash('moves', { 'a.txt': 'a', 'b.txt': 'b', 'sub/c.txt': 'c' })
    await mkdir(at('to'))
    const page = await open(t)
    await page.goto(address)
    await row(page, 'a.txt').click()
    await page.keyboard.press('F2')
    await page.getByLabel('New name').fill('renamed.txt')
    await page.keyboard.press('Enter')
    await page.getByText('Renamed to “renamed.txt”').waitFor()
    await undo(page).click()
    await row(page, 'a.txt').waitFor()
    t.same(await names(), ['a.txt', 'b.txt', 'sub', 'to'])

    await row(page, 'b.txt').dragTo(row(page, 'sub'))
    await page.getByText('b.txt moved to /sub').waitFor()
    t.same(await names('sub'), ['b.txt', 'c.txt'])
    await undo(page).last().click()
    await row(page, 'b.txt').waitFor()
    t.same([await names(), await names('sub')], [['a.txt', 'b.txt', 'sub', 'to'], ['c.txt']])

    await row(page, 'sub').dragTo(row(page, 'to'))
    await row(page, 'sub').waitFor({ state: 'detached' })
    t.same(await names('to/sub'), ['c.txt'])
    await undo(page).last().click()
    await row(page, 'sub').waitFor()
    t.same([await names('sub'), await names('to')], [['c.txt'], []])
    await isGood(t, page)
  })

  atNight(t, 'what a job has deleted comes back with Undo', async t => {
    const id = await app.connectProvider(owner.token, 'memory', {}, 'Copies')
    await app.ask(days, { id, days: 30 }, owner.token)
    for (const path of ['/a.txt', '/sub/b.txt']) await app.upload(owner.token, id, path, path)
    const page = await open(t)
    await page.goto(`/files/${id}`)
    for (const name of ['a.txt', 'sub']) await pick(page, name)
    await button(page, 'Delete').click()
    await dialog(page).getByRole('button', { name: 'Delete' }).click()
    await row(page, 'sub').waitFor({ state: 'detached' })
    await undo(page).click()
    for (const name of ['a.txt', 'sub']) await row(page, name).waitFor()
    t.equal(await (await app.download(owner.token, id, '/sub/b.txt')).text(), '/sub/b.txt')
    await isGood(t, page)
  })

  atNight(t, 'an administrator sets the days of a storage, and sees what they cost', async t => {
    const disk = await store('days')
    const memory = await app.connectProvider(owner.token, 'memory', {}, 'In memory')
    const page = await open(t)
    await page.goto('/settings/storages')
    const edit = (name: string) => page.getByRole('region', { name }).getByRole('button', { name: 'Edit' })
    const field = () => dialog(page).getByLabel('Days in the trash (optional)')
    await edit('In memory').click()
    await field().fill('7')
    await dialog(page).getByText('This storage copies every file that is deleted.').waitFor()
    await isGood(t, page)
    await dialog(page).getByRole('button', { name: 'Save' }).click()
    await dialog(page).waitFor({ state: 'detached' })
    await edit('days').click()
    await field().fill('12')
    t.equal(await dialog(page).getByText('This storage copies every file').count(), 0, 'a disk moves them in one step')
    await dialog(page).getByRole('button', { name: 'Save' }).click()
    await dialog(page).waitFor({ state: 'detached' })
    const trash = 'query ($id: ID!) { provider(id: $id) { trashDays } }'
    for (const [id, expected] of [
      [memory, 7],
      [disk.id, 12],
    ] as const) {
      t.equal((await app.ask(trash, { id }, owner.token)).provider.trashDays, expected)
    }
  })
}
