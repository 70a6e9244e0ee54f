/** The page that says what takes up space. */
import { rm, utimes } from 'node:fs/promises'
import { isDeepStrictEqual } from 'node:util'
import type { Page } from 'playwright-core'
import t from 'tap'
import { until } from '../../support/until.ts'
import { button, dialog, isGood, row, startFiles } from '../../web/files.ts'

const tile = (page: Page, name: string) =>
  page.getByRole('list', { name: 'Folders by size' }).getByRole('link', { name: new RegExp(`^${name} `) })
const names = (page: Page, list: string) =>
  page.getByRole('list', { name: list, exact: true }).locator('.entry-name').allTextContents()

const files = await startFiles(t, { settings: { catalogueHours: 24 } })
if (files) {
  const { app, owner, open, store } = files
  const disk = await store('Disk', {
    'Videos/film.bin': 'v'.repeat(600_000),
    'Videos/Raw/take.bin': 'r'.repeat(200_000),
    'Reports/2026/report.bin': 'p'.repeat(150_000),
    'copy of report.bin': 'q'.repeat(150_000),
    'old.txt': 'old',
  })
  await store('Archive', { 'backup.bin': 'b'.repeat(300_000) })
  await utimes(disk.at('old.txt'), new Date(1e12), new Date(1e12))
  const isIndexed = async () => {
    const { search } = await app.ask('{ search(input: { text: "x" }) { coverage { isComplete } } }', {}, owner.token)
    return search.coverage.every(({ isComplete }: { isComplete: boolean }) => isComplete)
  }
  await until(isIndexed, { within: 60_000 })

  for (const [name, viewport] of Object.entries({
    desktop: { width: 1280, height: 800 },
    phone: { width: 390, height: 844 },
  })) {
    t.test(`the map leads from all storages to the folder that takes up space: ${name}`, async t => {
      const page = await open(t, { viewport })
      await page.goto('/files')
      await page.getByRole('link', { name: 'What takes up space' }).click()
      await page.getByText('6 files, 1.40 MB').waitFor()
      t.equal(await tile(page, 'Disk').textContent(), 'Disk1.10 MB79%')
      const area = async (name: string) => {
        const box = await tile(page, name).boundingBox()
        return (box?.width ?? 0) * (box?.height ?? 0)
      }
      const ratio = (await area('Disk')) / (await area('Archive'))
      t.ok(Math.abs(ratio - 11 / 3) < 0.4, `the areas are the sizes: ${ratio}`)
      await isGood(t, page)
      await tile(page, 'Disk').click()
      await tile(page, 'Videos').click()
      await page.getByText('2 files, 800 KB').waitFor()
      t.equal(new URL(page.url()).pathname, `/insight/${disk.id}/Videos`)
      t.equal(await page.title(), 'What takes up space in Videos · Stowage')
      await until(async () => isDeepStrictEqual(await names(page, 'Largest files'), ['film.bin', 'take.bin']))
      await isGood(t, page)
      await page.getByRole('navigation', { name: 'Path' }).getByRole('link', { name: 'Disk' }).click()
      await page.getByText('5 files, 1.10 MB').waitFor()
      await tile(page, '2 files in this folder').click()
      await row(page, 'old.txt').waitFor()
    })
  }

  t.test('the largest and oldest files and the duplicates have the actions of the file list', async t => {
    const page = await open(t)
    await page.goto(`/insight/${disk.id}`)
    await page.getByText('5 files, 1.10 MB').waitFor()
    await page.getByRole('radio', { name: 'Oldest' }).check({ force: true })
    await until(async () => (await names(page, 'Oldest files'))[0] === 'old.txt')
    await page.getByRole('radio', { name: 'Duplicates' }).check({ force: true })
    const group = '2 files of exactly 150 KB, not compared'
    await page.getByRole('heading', { name: group }).waitFor()
    t.same(await names(page, group), ['report.bin', 'copy of report.bin'].sort().reverse())
    await isGood(t, page)
    await button(page, 'Actions: copy of report.bin').click()
    await page.getByRole('menuitem', { name: 'Details' }).click()
    await dialog(page).getByText('/copy of report.bin').waitFor()
    await dialog(page).getByRole('button', { name: 'Close' }).last().click()
    // The contents differ.
    await button(page, 'Compare the contents').click()
    await page.getByText('No duplicates were found').waitFor()
    await isGood(t, page)
    await page.getByRole('radio', { name: 'Largest' }).check({ force: true })
    await button(page, 'Actions: copy of report.bin').click()
    await page.getByRole('menuitem', { name: 'Delete' }).click()
    await dialog(page).getByRole('button', { name: 'Delete' }).click()
    await until(async () => !(await disk.names()).includes('copy of report.bin'))
    await page.getByText('4 files, 950 KB').waitFor()
    await isGood(t, page)
  })

  t.test('a person sees only the folders that they may read', async t => {
    const reader = await app.register('reader@example.org')
    const providerAccess = { restrictions: [{ providerId: disk.id, basePath: '/Videos/Raw' }] }
    const change = 'mutation ($input: UpdateMemberInput!) { updateMember(input: $input) { id } }'
    await app.ask(change, { input: { userId: reader.id, role: 'VIEWER', providerAccess } }, owner.token)
    const page = await open(t, { token: reader.token })
    await page.goto('/insight')
    await page.getByText('1 file, 200 KB').waitFor()
    t.same(await names(page, 'Largest files'), ['take.bin'])
    await tile(page, 'Disk /Videos/Raw').click()
    await page.waitForURL(new RegExp(`/insight/${disk.id}/Videos/Raw$`))
    await isGood(t, page)
    await page.goto(`/insight/${disk.id}/Reports`)
    await page.getByRole('alert').first().waitFor()
    await isGood(t, page)
  })

  t.test('an empty storage says that nothing is indexed', async t => {
    const empty = await store('Empty', { 'a/b': '' })
    await rm(empty.at('a'), { recursive: true })
    await until(isIndexed, { within: 60_000 })
    const page = await open(t)
    await page.goto(`/insight/${empty.id}`)
    await page.getByText('No files are indexed here').waitFor()
    await isGood(t, page)
  })
}
