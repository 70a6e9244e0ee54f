import { mkdir, readdir, readFile, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isDeepStrictEqual, promisify } from 'node:util'
import { brotliCompress } from 'node:zlib'
import type { Locator, Page } from 'playwright-core'
import t from 'tap'
import { consoleFolder } from '../../src/endpoints/console/pages.ts'
import { atNight, extent, inTurn } from '../support/extent.ts'
import { until } from '../support/until.ts'
import { button, chooseView, dialog, focusedRow, isGood, main, names, pick, row, startFiles } from './files.ts'

const files = await startFiles(t)
if (files) {
  const { app, owner, open, store } = files

  atNight(
    t,
    'a workspace without storages tells administrators to connect one and others to ask for access',
    async t => {
      const page = await open(t)
      await page.goto('/files')
      await page.getByRole('link', { name: 'Add your first storage' }).waitFor()
      await isGood(t, page)
      const nobody = await app.register('nobody@example.org')
      const theirs = await open(t, { token: nobody.token })
      await theirs.goto('/files')
      await theirs.getByText('Ask an owner or administrator').waitFor()
      await isGood(t, theirs)
      await theirs.goto('/settings/api-keys')
      await theirs.getByText(/An owner or administrator of .* can give you access/).waitFor()
      t.equal(await button(theirs, 'New key').count(), 0)
      await isGood(t, theirs)
    },
  )

  t.test('folders come first, columns sort, and the keyboard opens folders and goes back', async t => {
    const files = {
      'b 10.txt': 'ten',
      'b 9.txt': 'x'.repeat(2000),
      'a.txt': '',
      'Zoo/Deep/100% #?.txt': 'deep',
      'Art/x': '',
    }
    const { page: address } = await store('browse', files)
    const page = await open(t)
    await page.goto('/files')
    await main(page).getByRole('link', { name: 'browse', exact: true }).click()
    await row(page, 'Art').waitFor()
    const fetched = await page.evaluate(() =>
      performance
        .getEntriesByType('resource')
        .map(entry => entry as PerformanceResourceTiming)
        .filter(({ name }) => /\.(?:js|css)$/.test(name))
        .map(({ name, encodedBodySize, decodedBodySize }) => ({ name, encodedBodySize, decodedBodySize })),
    )
    const sum = (of: readonly number[]) => of.reduce((total, bytes) => total + bytes, 0)
    const decoded = sum(fetched.map(entry => entry.decodedBodySize))
    const encoded = sum(fetched.map(entry => entry.encodedBodySize))
    const all = await consoleSize()
    const packed = sum(await Promise.all(fetched.map(({ name }) => packedSize(new URL(name).pathname))))
    t.comment(`${decoded} of ${all} bytes loaded to show a folder, ${packed} as in a package`)
    t.ok(decoded > 0 && decoded < 0.9 * all, 'code of other pages is not loaded')
    t.ok(encoded < decoded / 2, 'scripts and styles are compressed')
    t.ok(packed < 220_000, 'a folder is shown soon on a slow line')
    t.same(await names(page), ['Art', 'Zoo', 'a.txt', 'b 9.txt', 'b 10.txt'])
    await isGood(t, page)
    await button(page, 'Size').click()
    await button(page, 'Size').click()
    t.same(await names(page), ['Art', 'Zoo', 'b 9.txt', 'b 10.txt', 'a.txt'], 'the largest first')
    await button(page, 'Name').click()
    await page.getByRole('grid').focus()
    await page.keyboard.press('z')
    await page.keyboard.press('Enter')
    await row(page, 'Deep').waitFor()
    await page.keyboard.press('Enter')
    await row(page, '100% #?.txt').waitFor()
    t.equal(new URL(page.url()).pathname, `${address}/Zoo/Deep`)
    await page.reload()
    await row(page, '100% #?.txt').waitFor()
    await page.getByRole('navigation', { name: 'Path' }).getByRole('link', { name: 'Zoo' }).click()
    await row(page, 'Deep').click()
    await page.keyboard.press('Backspace')
    await focusedRow(page).getByRole('link', { name: 'Zoo' }).waitFor()
    const spoken = (await row(page, 'a.txt').ariaSnapshot()).split('\n', 1)[0] ?? ''
    t.equal(spoken.split('a.txt').length - 1, 1, `screen readers hear the name once: ${spoken}`)
    await page.keyboard.press('Home')
    await page.keyboard.press('Shift+ArrowDown')
    await page.keyboard.press('Shift+ArrowDown')
    await page.getByText('3 selected', { exact: true }).waitFor()
    await page.keyboard.press('Control+a')
    await page.getByText('5 selected', { exact: true }).waitFor()
    await page.keyboard.press('Escape')
    await row(page, 'Zoo').click()
    await row(page, 'b 10.txt').click({ modifiers: ['Control'] })
    await page.getByText('2 selected', { exact: true }).waitFor()
    await row(page, 'b 9.txt').click({ modifiers: ['Shift'] })
    await page.getByText('2 selected', { exact: true }).waitFor()
    await isGood(t, page)
    await button(page, 'Size').click()
    await page.getByRole('link', { name: 'Settings' }).click()
    await page.getByRole('heading', { name: 'Profile' }).waitFor()
    await page.goBack()
    await focusedRow(page).getByRole('link', { name: 'b 9.txt' }).waitFor()
    t.same(await names(page), ['Art', 'Zoo', 'a.txt', 'b 10.txt', 'b 9.txt'], 'the order is kept')
    await button(page, 'Name').click()
    await pick(page, 'Zoo')
    await pick(page, 'b 9.txt', ['Shift'])
    await page.getByText('3 selected', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Clear the selection' }).click()
    await page.getByLabel('Filter by name').fill('B 1')
    await page.getByText('1 match').waitFor()
    t.same(await names(page), ['b 10.txt'])
    await page.getByLabel('Filter by name').fill('nothing')
    await page.getByText('No matches').waitFor()
  })

  atNight(t, 'people choose the columns, with the keyboard too, and sort by them', async t => {
    const { id, page: address } = await store('columns', { 'b.jpg': 'x', 'a.txt': 'xx', 'c.md': '', 'd/x': '' })
    const input = { providerId: id, path: '/c.md', add: ['Zebra'], remove: [] }
    await app.ask('mutation ($input: UpdateTagsInput!) { updateTags(input: $input) }', { input }, owner.token)
    const page = await open(t)
    await page.goto(address)
    const areHeads = (...wanted: string[]) =>
      until(async () => isDeepStrictEqual(await page.locator('.file-head .sort-button').allTextContents(), wanted))
    const cell = (name: string, column: string) => row(page, name).locator(`.cell-${column}`)
    const choice = (name: string) => page.getByRole('menuitemcheckbox', { name, exact: true })
    await cell('c.md', 'name').getByText('Zebra').waitFor()
    await areHeads('Name', 'Size', 'Modified')
    await button(page, 'Modified').focus()
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await choice('Size')
      .and(page.getByRole('menuitemcheckbox', { checked: true }))
      .waitFor()
    await isGood(t, page)
    await page.keyboard.press('Home')
    await page.keyboard.press('Space')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await choice('Size').waitFor({ state: 'detached' })
    await areHeads('Name', 'Tags', 'Type', 'Size', 'Modified')
    await button(page, 'Columns').and(page.locator(':focus')).waitFor()
    t.same(await Promise.all(['d', 'b.jpg', 'a.txt'].map(name => cell(name, 'type').textContent())), [
      'Folder',
      'Image',
      'Text',
    ])
    await cell('c.md', 'tags').getByText('Zebra').waitFor()
    t.equal(await cell('c.md', 'name').getByText('Zebra').count(), 0, 'tags are in one column')
    await isGood(t, page)
    await button(page, 'Type').click()
    t.same(await names(page), ['d', 'b.jpg', 'a.txt', 'c.md'])
    await button(page, 'Type').click()
    t.same(await names(page), ['d', 'a.txt', 'c.md', 'b.jpg'])
    await button(page, 'Tags').click()
    t.same(await names(page), ['d', 'c.md', 'a.txt', 'b.jpg'])
    await button(page, 'Tags').click()
    t.same(await names(page), ['d', 'c.md', 'a.txt', 'b.jpg'], 'what has no tags is last in both directions')
    await button(page, 'Type').click()
    await page.reload()
    await areHeads('Name', 'Tags', 'Type', 'Size', 'Modified')
    t.same(await names(page), ['d', 'b.jpg', 'a.txt', 'c.md'], 'the browser remembers columns and order')
    await button(page, 'Columns').click()
    await choice('Type').click()
    await areHeads('Name', 'Tags', 'Size', 'Modified')
    await choice('Modified').click()
    await areHeads('Name', 'Tags', 'Size')
    t.same(await names(page), ['d', 'a.txt', 'b.jpg', 'c.md'], 'without the column of the order, names are the order')
    await choice('Type').click()
    await choice('Modified').click()
    await page.keyboard.press('Escape')
    await page.setViewportSize({ width: 700, height: 800 })
    await areHeads('Name', 'Size', 'Modified')
    await cell('c.md', 'name').getByText('Zebra').waitFor()
    await page.setViewportSize({ width: 390, height: 844 })
    await areHeads('Name', 'Size')
    t.equal(await button(page, 'Columns').count(), 0, 'a phone has room for one column')
    await isGood(t, page)
  })

  atNight(t, 'empty folders and odd or long names can be opened by keyboard, and every page has a title', async t => {
    const long = `${'x'.repeat(240)} the end`
    const odd = 'two\nlines\u2028%00'
    const { page: address, at } = await store('names', { [`${odd}/in it.txt`]: '', [long]: '' })
    await mkdir(at('empty'))
    const page = await open(t)
    await page.goto(address)
    await row(page, 'empty').waitFor()
    t.equal(await page.title(), 'names · Stowage')
    await page.getByRole('grid').focus()
    await page.keyboard.press('e')
    await page.keyboard.press('Enter')
    await page.getByText('This folder is empty').waitFor()
    t.equal(await page.title(), 'empty · Stowage')
    await page.keyboard.press('Backspace')
    await row(page, 'empty').waitFor()
    await page.keyboard.press('t')
    await page.keyboard.press('Enter')
    await row(page, 'in it.txt').waitFor()
    await page.reload()
    await row(page, 'in it.txt').waitFor()
    t.equal(await page.getByRole('heading', { level: 1 }).textContent(), odd)
    await isGood(t, page)
    await page.getByRole('grid').focus()
    await page.keyboard.press('Backspace')
    await row(page, long).waitFor()
    await page.keyboard.press('x')
    await page.keyboard.press('Delete')
    await dialog(page).waitFor()
    const isCut = await dialog(page)
      .getByRole('heading')
      .evaluate(heading => heading.scrollWidth > heading.clientWidth)
    t.equal(isCut, false, 'the whole name is visible')
    await page.goto(`${address}/${encodeURIComponent(long)}`)
    await page.getByText('NOT_A_FOLDER').waitFor({ state: 'attached' })
    t.equal(await page.locator('.folder-status').textContent(), '', 'no number of entries is shown')
    await page.goto(`${address}?file=gone.txt`)
    await page.getByText('“gone.txt” was not found').waitFor()
    await isGood(t, page)
    await page.goto('/settings/api-keys')
    await page.getByRole('heading', { name: 'API keys' }).waitFor()
    t.equal(await page.title(), 'API keys · Stowage')
  })

  atNight(t, 'missing folders and unknown storages show an error', async t => {
    const { page: address } = await store('missing', { 'team/x': '' })
    const page = await open(t)
    await page.goto(`${address}/nowhere`)
    const code = page.getByRole('alert').getByText(/NOT_FOUND · request \S+/)
    await code.waitFor({ state: 'attached' })
    t.notOk(await code.isVisible(), 'codes are for administrators')
    await page.getByText('Details').click()
    await code.waitFor()
    await isGood(t, page)
    await page.goto('/files/00000000-0000-4000-8000-000000000000')
    await page.getByText('Storage not found').waitFor()
    await isGood(t, page)
  })

  t.test('a viewer of one folder sees that folder and no controls that write', async t => {
    const { id, page: address } = await store('restricted', { 'team/plan.txt': 'plan', 'secret.txt': '' })
    const reader = await app.register('reader@example.org')
    const providerAccess = { restrictions: [{ providerId: id, basePath: '/team' }] }
    const input = { userId: reader.id, role: 'VIEWER', providerAccess }
    await app.ask(
      'mutation ($input: UpdateMemberInput!) { updateMember(input: $input) { id } }',
      { input },
      owner.token,
    )
    const page = await open(t, { token: reader.token })
    await page.goto(address)
    await row(page, 'plan.txt').waitFor()
    t.equal(new URL(page.url()).pathname, `${address}/team`)
    t.equal(await page.getByRole('navigation', { name: 'Path' }).textContent(), 'Homerestricted')
    await row(page, 'plan.txt').click()
    const wanted = /upload|new folder|rename|move|copy|delete/i
    t.equal(await page.getByRole('button', { name: wanted }).count(), 0)
    await row(page, 'plan.txt').getByRole('button', { name: 'Actions' }).click()
    await page.getByRole('menuitem', { name: 'Preview' }).waitFor()
    t.same(await page.getByRole('menuitem').allTextContents(), [
      'Preview',
      'Download',
      'Share…',
      'Keep offline',
      'Add star',
      'Versions',
      'Details',
    ])
    await isGood(t, page)
    await page.keyboard.press('Escape')
    await page.keyboard.press('Delete')
    await page.keyboard.press('F2')
    t.equal(await dialog(page).count(), 0)
    await app.ask(
      'mutation ($input: UpdateMemberInput!) { updateMember(input: $input) { id } }',
      { input: { ...input, role: 'EDITOR' } },
      owner.token,
    )
    for (const path of ['/elsewhere', '/team/missing']) {
      await page.goto(address + path)
      await page.getByText(path === '/elsewhere' ? 'you only have access to /team' : 'may have been moved').waitFor()
      t.equal(await page.getByRole('button', { name: wanted }).count(), 0, 'nothing can be uploaded there')
      await isGood(t, page)
    }
  })

  atNight(t, 'the details list the people and groups with access, and what they may do', async t => {
    const { id, page: address } = await store('people', { 'team/plan.txt': 'plan', 'secret.txt': '' })
    const member = await app.register('editor@example.org')
    const providerAccess = { restrictions: [{ providerId: id, basePath: '/team' }] }
    await app.ask(
      'mutation ($input: UpdateMemberInput!) { updateMember(input: $input) { id } }',
      { input: { userId: member.id, role: 'EDITOR', providerAccess } },
      owner.token,
    )
    await app.ask(
      'mutation ($input: CreateGroupInput!) { createGroup(input: $input) { group { id } } }',
      { input: { name: 'Auditors', role: 'VIEWER', providerAccess: { all: true } } },
      owner.token,
    )
    const page = await open(t)
    await page.goto(address)
    const people = dialog(page).getByRole('region', { name: 'People with access' })
    for (const [name, knowsMember] of [
      ['team', true],
      ['secret.txt', false],
    ] as const) {
      await row(page, name).getByRole('button', { name: 'Actions' }).click()
      await page.getByRole('menuitem', { name: 'Details' }).click()
      await people.getByRole('listitem').filter({ hasText: 'Auditors' }).getByText('Viewer').waitFor()
      await people
        .getByRole('listitem')
        .filter({ hasText: 'owner@example.org' })
        .getByText('Owner', { exact: true })
        .waitFor()
      const listed = people.getByRole('listitem').filter({ hasText: 'editor@example.org' })
      t.equal(await listed.count(), knowsMember ? 1 : 0, name)
      if (knowsMember) await listed.getByText('Editor', { exact: true }).waitFor()
      await isGood(t, page)
      await page.keyboard.press('Escape')
      await dialog(page).waitFor({ state: 'detached' })
    }
  })

  atNight(t, 'entries are shown as a list, close together or as tiles, which arrow keys cross', async t => {
    const many = Object.fromEntries(Array.from({ length: 200 }, (_, n) => [`file ${n}.txt`, 'x']))
    const { page: address } = await store('views', { ...many, 'folder/x': '' })
    const page = await open(t)
    await page.goto(address)
    await row(page, 'folder').waitFor()
    const heightOf = async (name: string) => (await row(page, name).boundingBox())?.height
    t.equal(await heightOf('file 0.txt'), 44)
    await chooseView(page, 'Compact')
    await until(async () => (await heightOf('file 0.txt')) === 32)
    await isGood(t, page)
    await chooseView(page, 'Tiles')
    await until(async () => (await heightOf('file 0.txt')) === 188)
    const [first, second] = [await row(page, 'folder').boundingBox(), await row(page, 'file 0.txt').boundingBox()]
    t.equal(first?.y, second?.y, 'tiles are beside each other')
    await isGood(t, page)
    await page.getByRole('grid').focus()
    await page.keyboard.press('Home')
    await page.keyboard.press('ArrowRight')
    await focusedRow(page).getByRole('link', { name: 'file 0.txt' }).waitFor()
    const lanes = Math.round((await page.getByRole('grid').evaluate(grid => grid.clientWidth)) / (first?.width ?? 1))
    await page.keyboard.press('ArrowDown')
    await focusedRow(page)
      .getByRole('link', { name: `file ${lanes}.txt`, exact: true })
      .waitFor()
    await page.keyboard.press('End')
    await focusedRow(page).getByRole('link', { name: 'file 199.txt' }).waitFor()
    t.ok((await page.getByRole('row').count()) < 150, 'only visible tiles are in the document')
    await pick(page, 'file 198.txt')
    await page
      .getByText(/^2 selected$/)
      .first()
      .waitFor()
    await page.reload()
    await row(page, 'folder').waitFor()
    await until(async () => (await heightOf('folder')) === 188)
    await page.setViewportSize({ width: 390, height: 844 })
    await until(async () => (await heightOf('folder')) === 156)
    const tiles = await Promise.all(['folder', 'file 0.txt', 'file 1.txt'].map(name => row(page, name).boundingBox()))
    t.equal(new Set(tiles.map(box => box?.y)).size, 1, 'a phone shows three tiles beside each other')
    await isGood(t, page)
  })

  atNight(t, 'a person who has just added a storage is led to the first upload', async t => {
    for (const viewport of inTurn([
      { width: 1280, height: 800 },
      { width: 390, height: 844 },
    ])) {
      const { page: address, names: stored } = await store(`first ${viewport.width}`)
      const page = await open(t, { viewport })
      await page.goto(address)
      await page.getByText('Drop files here').waitFor()
      await isGood(t, page)
      const [chooser] = await Promise.all([page.waitForEvent('filechooser'), button(page, 'Choose files').click()])
      await chooser.setFiles({ name: 'first.txt', mimeType: 'text/plain', buffer: Buffer.from('first') })
      await row(page, 'first.txt').waitFor()
      t.same(await stored(), ['first.txt'])
    }
  })

  atNight(t, 'a phone in dark mode shows folders without scrolling sideways, and fingers select and sort', async t => {
    const long = 'a rather long name of a file that does not fit on a phone.txt'
    const { page: address, at } = await store('phone', { [long]: 'x', 'b/c': '', 'old.txt': '' })
    await utimes(at('old.txt'), 0, 0)
    const page = await open(t, { viewport: { width: 390, height: 844 }, colorScheme: 'dark', hasTouch: true })
    await page.goto(address)
    await row(page, 'b').waitFor()
    await isGood(t, page)
    t.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390, 'nothing is wider than the screen')
    t.same(await smallTargets(page), [], 'every control is large enough for a finger')
    const before = await page.getByRole('grid').boundingBox()
    await longPress(page, row(page, long))
    await page.getByText('1 selected', { exact: true }).first().waitFor()
    await row(page, 'old.txt').locator('.cell-name').tap()
    await page.getByText('2 selected', { exact: true }).first().waitFor()
    t.same(await page.getByRole('grid').boundingBox(), before, 'the list does not move')
    t.same(await smallTargets(page), [])
    await row(page, 'old.txt').locator('.cell-name').tap()
    for (const name of ['Download', 'Rename', 'Move to…', 'Copy to…', 'Delete']) {
      const box = await button(page, name).boundingBox()
      t.ok(box && box.x >= 0 && box.x + box.width <= 390, `${name} is on the screen`)
    }
    await isGood(t, page)
    await button(page, 'Clear the selection').tap()
    await page.getByLabel('Sort by').selectOption({ label: 'Modified ↑' })
    t.same(await names(page), ['b', 'old.txt', long])
    await row(page, 'old.txt').getByText('1970').waitFor()
    await isGood(t, page)
    await row(page, 'b').locator('.cell-name').tap()
    await row(page, 'c').waitFor()
    t.equal(new URL(page.url()).pathname, `${address}/b`, 'a tap anywhere in the row opens the folder')
    await page.goto('/files')
    await main(page).getByRole('link', { name: 'phone', exact: true }).waitFor()
    await isGood(t, page)
    t.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390)
  })

  atNight(t, 'a folder with very many entries can be scrolled to its end', async t => {
    const { page: address, at } = await store('many')
    const count = extent({ gate: 3000, nightly: 50_000 })
    const shown = count.toLocaleString('en-US')
    for (let done = 0; done < count; done += 500) {
      await Promise.all(Array.from({ length: 500 }, (_, i) => writeFile(at(`file ${done + i + 1}.txt`), '')))
    }
    const page = await open(t)
    page.setDefaultTimeout(60_000)
    const loading = page.getByText('so far, loading more').waitFor()
    await page.goto(address)
    await loading
    await page.getByLabel('Filter by name').waitFor()
    await page.getByText(`${shown} items`, { exact: true }).waitFor()
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
    await page.getByText(`${shown} selected`, { exact: true }).waitFor()
    await page.keyboard.press('Escape')
    await isGood(t, page)
  })
}

/** Returns the visible controls that are lower or narrower than 44 pixels. A label belongs to its control. */
function smallTargets(page: Page): Promise<string[]> {
  return page
    .locator('a, button, input, select')
    .filter({ visible: true })
    .evaluateAll(controls =>
      controls
        .map(control => control.closest('label') ?? control)
        .filter(control => !control.matches('.skip-link'))
        .map(control => ({ control, box: control.getBoundingClientRect() }))
        // The browser rounds.
        .filter(({ box }) => box.height < 43.5 || box.width < 43.5)
        .map(({ control, box }) => `${control.outerHTML.slice(0, 120)}: ${box.width} x ${box.height}`),
    )
}

/** Holds a finger on an element until it is selected. */
async function longPress(page: Page, element: Locator): Promise<void> {
  const box = await element.boundingBox()
  if (!box) throw new Error('The element is not visible')
  const finger = await page.context().newCDPSession(page)
  const touchPoints = [{ x: box.x + box.width / 2, y: box.y + box.height / 2 }]
  await finger.send('Input.dispatchTouchEvent', { type: 'touchStart', touchPoints })
  await element.and(page.locator('[aria-selected=true]')).waitFor()
  await finger.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] })
}

/** Returns the size of all scripts and styles in bytes. */
/** Returns the bytes of a file of the console with the best compression, which a package has. */
async function packedSize(path: string): Promise<number> {
  return (await promisify(brotliCompress)(await readFile(join(consoleFolder, path)))).length
}

async function consoleSize(): Promise<number> {
  const folder = join(consoleFolder, 'assets')
  const files = (await readdir(folder)).filter(name => /\.(?:js|css)$/.test(name))
  const sizes = await Promise.all(files.map(async name => (await stat(join(folder, name))).size))
  return sizes.reduce((total, bytes) => total + bytes, 0)
}
