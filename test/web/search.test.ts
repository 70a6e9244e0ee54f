/** Finding files from the header of every page, and the page of results. */
import { randomUUID } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { isDeepStrictEqual } from 'node:util'
import type { Page } from 'playwright-core'
import t from 'tap'
import { atNight, inTurn } from '../support/extent.ts'
import { until } from '../support/until.ts'
import { button, dialog, isGood, row, signOut, startFiles } from './files.ts'

const field = (page: Page) => page.getByRole('combobox', { name: 'Search all storages' })
const options = (page: Page) => page.getByRole('listbox', { name: 'Suggestions' }).getByRole('option')
const results = (page: Page) => page.getByRole('list', { name: 'Search results' }).getByRole('listitem')

const files = await startFiles(t, { settings: { catalogueHours: 24 } })
if (files) {
  const { app, owner, open, store } = files
  const coverage = 'query { search(input: { text: "x" }) { coverage { isComplete } } }'
  const isIndexed = async () => {
    const { search } = await app.ask(coverage, {}, owner.token)
    return search.coverage.every(({ isComplete }: { isComplete: boolean }) => isComplete)
  }
  const disk = await store('Disk', {
    'Reports/Annual report 2026.pdf': 'x'.repeat(2_000_000),
    'Reports/Report of May.txt': 'May',
    'Reports/Old/report.txt': 'old',
    'Übersicht.txt': 'x',
    'notes.txt': 'x',
  })
  const archive = await store('Archive', { 'Reports/Annual report 2019.pdf': 'x', 'report cards/a.txt': 'x' })
  await until(isIndexed, { within: 60_000 })

  for (const [name, viewport] of inTurn(
    Object.entries({
      desktop: { width: 1280, height: 800 },
      phone: { width: 390, height: 844 },
    }),
  )) {
    t.test(`results appear while a person types, and the keyboard opens them: ${name}`, async t => {
      const page = await open(t, { viewport })
      await page.goto(`${disk.page}/Reports`)
      await row(page, 'Report of May.txt').waitFor()
      await page.getByRole('grid').focus()
      await page.keyboard.press('/')
      await page.waitForFunction(() => document.activeElement?.getAttribute('role') === 'combobox')
      await page.keyboard.type('annual rep')
      const wanted = [
        'All results for “annual rep”',
        'Annual report 2019.pdfArchive · /Reports',
        'Annual report 2026.pdfDisk · /Reports',
        'Only in “Reports”',
      ]
      // The results of the first letters are shown until the others arrive.
      await until(async () => isDeepStrictEqual((await options(page).allTextContents()).sort(), wanted))
      const marked = () => options(page).locator('mark').first().textContent()
      await until(async () => (await marked()) === 'Annual' || (await marked()))
      await isGood(t, page)
      await page.keyboard.press('ArrowDown')
      await page.keyboard.press('ArrowDown')
      await page.keyboard.press('ArrowUp')
      const active = page.getByRole('listbox', { name: 'Suggestions' }).getByRole('option', { selected: true })
      const isActive = async () =>
        (await field(page).getAttribute('aria-activedescendant')) === (await active.getAttribute('id'))
      await until(isActive)
      const chosen = (await active.locator('.suggestion-name').textContent()) ?? ''
      await page.keyboard.press('Enter')
      await page.waitForURL(url => url.searchParams.get('file') === chosen)
      await page.getByRole('dialog').getByRole('heading', { name: chosen }).waitFor()
      await page.keyboard.press('Escape')
      await page.getByRole('dialog').waitFor({ state: 'detached' })
      await until(() => page.evaluate(() => document.activeElement?.getAttribute('role') === 'grid'))

      await page.keyboard.press('/')
      await page.getByText('Recent searches').waitFor()
      t.same(await options(page).allTextContents(), ['annual rep'])
      await isGood(t, page)
      await page.keyboard.type('report')
      await page.keyboard.press('Enter')
      await page.waitForURL(/\/search\?text=report$/)
      await results(page).filter({ hasText: 'Report of May.txt' }).waitFor()
      t.equal(await page.title(), '“report” · Stowage')
      await isGood(t, page)
      await results(page).first().getByRole('link').first().focus()
      await page.keyboard.press('ArrowDown')
      t.ok(
        await results(page)
          .nth(1)
          .getByRole('link')
          .first()
          .evaluate(link => link === document.activeElement),
        'the arrows move between the results',
      )
      await page.keyboard.press('/')
      await page.keyboard.press('Escape')
      await options(page).first().waitFor({ state: 'detached' })
    })
  }

  atNight(t, 'filters narrow the results, are in the address, and can be cleared', async t => {
    const page = await open(t)
    await page.goto('/search?text=report')
    await page.getByText('7 results').waitFor()
    const names = async () => (await results(page).locator('.entry-name').allTextContents()).sort()
    await page.getByLabel('Type').selectOption('Folders')
    await page.getByText('3 results').waitFor()
    t.same(await names(), ['Reports', 'Reports', 'report cards'])
    await page.getByLabel('Storage', { exact: true }).selectOption('Archive')
    await page.getByText('2 results').waitFor()
    await page.getByRole('link', { name: 'Clear filters' }).click()
    await page.getByText('7 results').waitFor()
    await page.getByLabel('Size').selectOption('1 to 100 MB')
    await page.getByText('1 result', { exact: true }).waitFor()
    t.same(await names(), ['Annual report 2026.pdf'])
    await page.reload()
    await page.getByText('1 result', { exact: true }).waitFor()
    t.equal(await page.getByLabel('Size').inputValue(), 'medium')
    await page.getByLabel('Modified').selectOption('Over a year ago')
    await page.getByText('Nothing found for “report”').waitFor()
    await isGood(t, page)
    await page.getByRole('link', { name: 'Clear filters' }).click()
    await button(page, 'Folder…').click()
    await dialog(page).getByRole('button', { name: 'Disk', exact: true }).click()
    await dialog(page).getByRole('button', { name: 'Reports', exact: true }).click()
    await dialog(page).getByRole('button', { name: 'Old', exact: true }).click()
    await dialog(page).getByRole('button', { name: 'Use this folder' }).click()
    await page.getByText('1 result', { exact: true }).waitFor()
    t.same(await names(), ['report.txt'])
    await isGood(t, page)
    await button(page, 'Search everywhere, not only in Old').click()
    await page.getByText('7 results').waitFor()
  })

  atNight(t, 'the results have the actions of the file list', async t => {
    await writeFile(disk.at('Reports/obsolete plan.txt'), 'x')
    await app.upload(owner.token, disk.id, '/Reports/obsolete list.txt', 'x')
    const page = await open(t)
    await page.goto('/search?text=obsolete%20list')
    await until(async () => {
      await page.reload()
      await page.locator('.empty, .entry-list').first().waitFor()
      return (await results(page).count()) === 1
    })
    await button(page, 'Actions: obsolete list.txt').click()
    await page.getByRole('menuitem', { name: 'Preview' }).waitFor()
    t.same(await page.getByRole('menuitem').allTextContents(), [
      'Preview',
      'Download',
      'Share…',
      'Rename',
      'Move to…',
      'Copy to…',
      'Add star',
      'Tags…',
      'Versions',
      'Details',
      'Delete',
    ])
    await isGood(t, page)
    await page.getByRole('menuitem', { name: 'Details' }).click()
    await dialog(page).getByText('/Reports/obsolete list.txt').waitFor()
    await dialog(page).getByRole('button', { name: 'Close' }).last().click()
    await button(page, 'Actions: obsolete list.txt').click()
    await page.getByRole('menuitem', { name: 'Delete' }).click()
    await dialog(page).getByRole('button', { name: 'Delete' }).click()
    await results(page).first().waitFor({ state: 'detached' })
    await until(async () => !(await disk.names('Reports')).includes('obsolete list.txt'))
    await page.getByText('Nothing found').waitFor()
  })

  atNight(t, 'several results of different folders are moved and deleted together', async t => {
    for (const path of ['/Reports/together 1.txt', '/Reports/Old/together 2.txt', '/together 3.txt']) {
      await app.upload(owner.token, disk.id, path, 'x')
    }
    await app.upload(owner.token, archive.id, '/together 4.txt', 'x')
    const page = await open(t)
    await page.goto('/search?text=together')
    await until(async () => {
      await page.reload()
      await page.locator('.empty, .entry-list').first().waitFor()
      return (await results(page).count()) === 4
    })
    const choose = async (...names: string[]) => {
      for (const name of names) await page.getByRole('checkbox', { name: `Select: ${name}`, exact: true }).check()
    }
    await choose('together 1.txt', 'together 4.txt')
    await page.getByText('Select items of one storage only').waitFor()
    await isGood(t, page)
    await button(page, 'Clear the selection').click()
    await choose('together 1.txt', 'together 2.txt')
    await button(page, 'Move to…').click()
    await dialog(page).getByRole('button', { name: 'Old', exact: true }).click()
    await dialog(page).getByRole('button', { name: 'Move here' }).click()
    await until(async () => (await disk.names('Reports/Old')).includes('together 1.txt'))
    await button(page, 'Clear the selection').click()
    await page.getByText('Disk · /Reports/Old').nth(1).waitFor()
    await choose('together 1.txt', 'together 3.txt')
    await button(page, 'Delete').click()
    await dialog(page).getByRole('button', { name: 'Delete' }).click()
    await until(async () => !(await disk.names('Reports/Old')).includes('together 1.txt'))
    t.ok((await disk.names('Reports/Old')).includes('together 2.txt'))
    t.notOk((await disk.names()).includes('together 3.txt'))
  })

  atNight(t, 'only the last text is searched, and a search that nobody waits for is canceled', async t => {
    const page = await open(t)
    await page.goto('/files')
    const asked: string[] = []
    const canceled: string[] = []
    const textOf = (body: string | null): string | undefined => JSON.parse(body ?? '{}').variables?.input?.text
    page.on('requestfailed', request => {
      const text = textOf(request.postData())
      if (text !== undefined) canceled.push(text)
    })
    await page.route('**/graphql', async route => {
      const text = textOf(route.request().postData())
      if (text !== undefined) asked.push(text)
      if (text === 'slow') return
      await route.continue()
    })
    await field(page).click()
    await page.keyboard.type('sl')
    await page.keyboard.type('ow')
    await until(() => asked.includes('slow'))
    await field(page).fill('notes')
    await options(page).filter({ hasText: 'notes.txt' }).waitFor()
    await until(() => canceled.includes('slow'))
    // The first letters can be searched when the code of the suggestions has just arrived.
    t.same(asked.slice(-2), ['slow', 'notes'])
    await page.keyboard.press('Escape')
    await options(page).first().waitFor({ state: 'detached' })
    t.equal(await field(page).inputValue(), 'notes')
  })

  atNight(t, 'the words around a hit in the text of a file are shown', async t => {
    const letters = await store('Letters', { 'letter.txt': 'Dear Ada, the umbrella is in the hall.' })
    const update = 'mutation ($input: UpdateProviderInput!) { updateProvider(input: $input) { id } }'
    await app.ask(update, { input: { id: letters.id, catalogueMode: 'CONTENT' } }, owner.token)
    const page = await open(t)
    await page.goto('/search?text=umbrella')
    await until(
      async () => {
        await page.reload()
        await page.locator('.empty, .entry-list').first().waitFor()
        return (await results(page).count()) === 1
      },
      { within: 60_000 },
    )
    await results(page).getByText('Dear Ada, the umbrella is in the hall.').waitFor()
    t.equal(await results(page).locator('mark').textContent(), 'umbrella')
    await isGood(t, page)
    await field(page).click()
    await field(page).fill('umbrell')
    await options(page).filter({ hasText: 'Dear Ada' }).waitFor()
    await isGood(t, page)
  })

  atNight(t, 'the search says what is not indexed, and what has failed', async t => {
    const slow = await store('Slow disk', { 'report.txt': 'x' })
    await until(isIndexed, { within: 60_000 })
    // The first position of the disk begins a round, and so does its first report.
    await until(async () => {
      const row = await app.db
        .selectFrom('catalogues')
        .select(['changes_cursor', 'round_started_at', 'next_round_at'])
        .where('provider_id', '=', slow.id)
        .executeTakeFirstOrThrow()
      const isReported = row.changes_cursor?.endsWith('.1') === false
      return isReported && row.round_started_at === null && row.next_round_at.getTime() > Date.now()
    })
    await app.db.updateTable('catalogues').set({ indexed_at: null }).where('provider_id', '=', slow.id).execute()
    const page = await open(t)
    await page.goto('/search?text=report')
    await page.getByText('Still being indexed, so something may be missing: Slow disk.').waitFor()
    await page.goto('/settings/storages')
    const card = page.getByRole('region', { name: 'Slow disk' })
    await card.getByText('Not indexed yet').waitFor()
    const index = () =>
      app.db
        .updateTable('catalogues')
        .set({
          round_started_at: new Date(),
          // No server works on it.
          lease_id: randomUUID(),
          lease_until: new Date(Date.now() + 1e6),
        })
        .where('provider_id', '=', slow.id)
        .execute()
    const look = page.waitForResponse(response => !!response.request().postData()?.includes('query Catalogues'))
    await page.goto('/files')
    await look
    await index()
    // The page shows it without another visit.
    await page.getByText(/^Indexing for the search/).waitFor()
    await isGood(t, page)
    await page.goto('/settings/storages')
    await card.getByText(/^Indexing for the search/).waitFor()
    await isGood(t, page)
    await page
      .getByRole('region', { name: 'Archive' })
      .getByText(/^Last indexed/)
      .waitFor()
    await card.getByRole('button', { name: 'Edit' }).click()
    await dialog(page)
      .getByRole('button', { name: /Names of files and folders/ })
      .click()
    await page.getByRole('option', { name: 'Off' }).click()
    await isGood(t, page)
    await dialog(page).getByRole('button', { name: 'Save' }).click()
    await card.getByText('The search is off for this storage').waitFor()
    await page.goto('/search?text=report')
    await page.getByText('the search is off there: Slow disk.').waitFor()
    await page.route('**/graphql', route =>
      route.request().postData()?.includes('query Search') ? route.abort() : route.continue(),
    )
    await page.goto('/search?text=something')
    await page.getByRole('alert').getByText('cannot be reached').waitFor()
    await isGood(t, page)
    await page.unrouteAll()
    await button(page, 'Try again').click()
    await page.getByText('Nothing found for “something”').waitFor()
  })

  atNight(t, 'a person finds only what they may read, and recent searches are their own', async t => {
    const reader = await app.register('reader@example.org')
    const providerAccess = { restrictions: [{ providerId: archive.id, basePath: '/Reports' }] }
    const change = 'mutation ($input: UpdateMemberInput!) { updateMember(input: $input) { id } }'
    await app.ask(change, { input: { userId: reader.id, role: 'VIEWER', providerAccess } }, owner.token)
    const page = await open(t, { token: reader.token })
    await page.goto('/search?text=report')
    await page.getByText('2 results').waitFor()
    t.same((await results(page).locator('.entry-name').allTextContents()).sort(), ['Annual report 2019.pdf', 'Reports'])
    await field(page).click()
    await field(page).fill('cards')
    await page.getByText('Nothing found for “cards”').waitFor()
    await page.keyboard.press('Enter')
    await page.waitForURL(/text=cards/)
    await signOut(page)
    await page.waitForURL(/sign-in/)
    t.equal(await page.evaluate(() => localStorage.getItem('stowage.searches')), null)
  })
}
