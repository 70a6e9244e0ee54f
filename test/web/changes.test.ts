import { readFile, rm, stat } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Page } from 'playwright-core'
import t from 'tap'
import type { Entry } from '../../web/src/files/operations.ts'
import { chainsOf, planNames, type Rule } from '../../web/src/files/rename/plan.ts'
import { atNight } from '../support/extent.ts'
import { until } from '../support/until.ts'
import { button, dialog, isGood, pick, row, startFiles, startFolder } from './files.ts'

const files = await startFiles(t)
if (files) {
  const { app, owner, open, store } = files

  t.test('folders are created, and entries renamed, moved, copied and deleted', async t => {
    const [one, two] = [await store('one', { 'a.txt': 'a', 'b.txt': 'b', 'sub/c.txt': 'c' }), await store('two')]
    const page = await open(t)
    await page.goto(one.page)
    await startFolder(page)
    await page.getByLabel('Name', { exact: true }).fill('sub')
    await button(page, 'Create').click()
    await dialog(page).getByText('ALREADY_EXISTS').waitFor({ state: 'attached' })
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

    await page.getByText('1 selected', { exact: true }).first().waitFor()
    await pick(page, 'sub')
    await button(page, 'Move to…').click()
    await dialog(page).getByRole('button', { name: 'Storages' }).click()
    await dialog(page).getByRole('button', { name: 'two' }).click()
    await dialog(page).getByText('This folder has no subfolders').waitFor()
    await isGood(t, page)
    await button(page, 'Move here').click()
    await dialog(page).waitFor({ state: 'detached' })
    await until(async () => (await two.names('sub').catch(() => [])).length === 1)
    await until(async () => !(await one.names()).includes('sub'))
    t.same(await two.names(), ['renamed.txt', 'sub'])
    t.equal(await readFile(two.at('sub/c.txt'), 'utf8'), 'c')
    await row(page, 'renamed.txt').waitFor({ state: 'detached' })

    for (const choice of [null, 'Keep both']) {
      await row(page, 'b.txt').click({ button: 'right' })
      await page.getByRole('menuitem', { name: 'Copy to…' }).click()
      await dialog(page).getByRole('button', { name: 'Made here' }).click()
      await dialog(page).getByText('This folder has no subfolders').waitFor()
      await button(page, 'Copy here').click()
      if (choice) await button(page, choice).click()
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
    await until(async () => (await one.names()).length === 0)
    await isGood(t, page)
  })

  atNight(t, 'a new text file never replaces another one, and opens in the editor at once', async t => {
    const { page: address, at, names } = await store('new file', { 'Untitled.txt': 'old' })
    const page = await open(t)
    await page.goto(address)
    await button(page, 'New file').click()
    const name = page.getByLabel('Name', { exact: true })
    t.equal(await name.inputValue(), 'Untitled.txt')
    await dialog(page).getByRole('button', { name: 'Create' }).click()
    await dialog(page).getByText('ALREADY_EXISTS').waitFor({ state: 'attached' })
    t.equal(await readFile(at('Untitled.txt'), 'utf8'), 'old')
    await dialog(page).getByRole('radio', { name: 'Markdown (.md)' }).check()
    t.equal(await name.inputValue(), 'Untitled.md')
    await name.fill('plan.png')
    await dialog(page).getByText('The console edits texts.').waitFor()
    t.ok(await dialog(page).getByRole('button', { name: 'Create' }).isDisabled())
    // A name without an ending gets that of the type.
    await name.fill('plan')
    await isGood(t, page)
    await page.keyboard.press('Enter')
    await page.getByLabel('Text of plan.md').fill('# The plan')
    await isGood(t, page)
    await page.keyboard.press('Control+s')
    await page.getByRole('heading', { name: 'The plan', exact: true }).waitFor()
    t.equal(await readFile(at('plan.md'), 'utf8'), '# The plan')
    await button(page, 'Close').first().click()
    await row(page, 'plan.md').and(page.locator('[aria-selected=true]')).waitFor()
    t.same(await names(), ['Untitled.txt', 'plan.md'])
  })

  atNight(t, 'many entries are renamed by a rule after a preview, exchange their names, and get them back', async t => {
    const contents = { '1.txt': 'one', '2.txt': 'two', '3.txt': 'three', 'IMG 4.txt': 'four', 'taken.txt': '' }
    const { page: address, at, names } = await store('rename many', contents)
    const page = await open(t)
    await page.goto(address)
    await row(page, '1.txt').waitFor()
    await button(page, 'Name').click()
    for (const name of ['1.txt', '2.txt', '3.txt', 'IMG 4.txt']) await pick(page, name)
    await button(page, 'Rename').click()
    const start = dialog(page).getByRole('button', { name: 'Rename' })
    const preview = dialog(page).getByRole('region', { name: 'Preview' })
    const cells = () =>
      preview.locator('tbody tr').evaluateAll(all => all.map(row => [...row.children].map(cell => cell.textContent)))
    t.ok(await start.isDisabled(), 'no name changes yet')
    await dialog(page).getByLabel('Find', { exact: true }).fill('img 4')
    await dialog(page).getByText('No name changes.').waitFor()
    await dialog(page).getByRole('checkbox', { name: 'Ignore upper and lower case' }).click()
    await dialog(page).getByLabel('Replace with').fill('taken')
    await dialog(page).getByText('1 name is taken or not possible.').waitFor()
    t.same((await cells())[0], ['IMG 4.txt', 'taken.txtThis name is taken.'], 'what is not possible comes first')
    t.ok(await start.isDisabled())
    await isGood(t, page)
    await dialog(page).getByRole('radio', { name: 'Number' }).check()
    await dialog(page).getByLabel('Pattern').fill('a/{n}')
    await dialog(page).getByText('4 names are taken or not possible.').waitFor()
    // The files are listed from the last name, so that 1 and 4 change places, and 2 and 3.
    await dialog(page).getByLabel('Pattern').fill('{n}')
    await dialog(page).getByText('4 of 4 names change.').waitFor()
    t.same(await cells(), [
      ['IMG 4.txt', '1.txt'],
      ['3.txt', '2.txt'],
      ['2.txt', '3.txt'],
      ['1.txt', '4.txt'],
    ])
    await start.click()
    await dialog(page).waitFor({ state: 'detached' })
    t.same(await names(), ['1.txt', '2.txt', '3.txt', '4.txt', 'taken.txt'])
    const read = (...files: string[]) => Promise.all(files.map(name => readFile(at(name), 'utf8')))
    t.same(await read('1.txt', '2.txt', '3.txt', '4.txt'), ['four', 'three', 'two', 'one'])
    await row(page, '4.txt').waitFor()
    await page.getByText('4 selected', { exact: true }).waitFor()
    await button(page, 'Undo').click()
    await row(page, 'IMG 4.txt').waitFor()
    // The others are renamed at the same time.
    const before = Object.keys(contents).toSorted().join()
    await until(async () => (await names()).join() === before || (await names()))
    t.same(await read('1.txt', '2.txt', '3.txt', 'IMG 4.txt'), ['one', 'two', 'three', 'four'])

    // Somebody takes a name meanwhile: the others are renamed, and the dialog says what failed.
    await page.getByRole('grid').focus()
    await page.keyboard.press('Escape')
    for (const name of ['1.txt', '2.txt']) await pick(page, name)
    await button(page, 'Rename').click()
    await dialog(page).getByRole('radio', { name: 'Add text' }).check()
    await dialog(page).getByLabel('After the name').fill(' new')
    await dialog(page).getByText('2 of 2 names change.').waitFor()
    await page.route('**/graphql', async (route, request) => {
      if (request.postData()?.includes('"1 new.txt"')) {
        await route.fulfill({ json: { errors: [{ message: 'Taken.', extensions: { reason: 'ALREADY_EXISTS' } }] } })
      } else await route.continue()
    })
    await start.click()
    await dialog(page).locator('.batch-failures').getByText('1.txt', { exact: true }).waitFor()
    await isGood(t, page)
    t.ok((await names()).includes('2 new.txt'))
    t.ok((await names()).includes('1.txt'))
  })

  atNight(t, 'new names keep endings, and each waits for the name that it takes', async t => {
    const file = (name: string): Entry => ({
      __typename: 'File',
      name,
      modifiedAt: null,
      size: 1,
      mimeType: null,
      thumbnailUrl: null,
    })
    const entries = ['a.tar.gz', '.profile', 'B.jpg'].map(file)
    const plan = (rule: Rule, all = entries) =>
      planNames(entries, all, rule).map(({ name, problem }) => problem ?? name)
    t.same(plan({ kind: 'add', before: '(', after: ')' }), ['(a).tar.gz', '(.profile)', '(B).jpg'])
    t.same(plan({ kind: 'number', pattern: '{name} {n}', start: 9 }), ['a 09.tar.gz', '.profile 10', 'B 11.jpg'])
    t.same(plan({ kind: 'replace', find: '.', replacement: '$&', ignoresCase: false }), [
      'a$&tar$&gz',
      '$&profile',
      'B$&jpg',
    ])
    t.same(plan({ kind: 'replace', find: 'b', replacement: 'c', ignoresCase: true }, [...entries, file('c.jpg')]), [
      'a.tar.gz',
      '.profile',
      'clash',
    ])
    t.equal(plan({ kind: 'number', pattern: '..', start: 1 })[1], 'invalid')
    for (const bad of [' a', 'a/b', 'a\\b', 'a\nb', '%2f', 'x'.repeat(252)]) {
      t.equal(plan({ kind: 'number', pattern: bad, start: 1 })[2], 'invalid', bad)
    }
    const chains = (names: Record<string, string>) =>
      chainsOf(Object.entries(names).map(([from, name]) => ({ entry: file(from), name }))).map(
        ({ steps, isCircle }) => [...steps.map(({ entry, name }) => `${entry.name}>${name}`), isCircle],
      )
    t.same(chains({ a: 'b', b: 'c', x: 'y' }), [
      ['b>c', 'a>b', false],
      ['x>y', false],
    ])
    t.same(chains({ a: 'b', b: 'c', c: 'a' }), [['c>a', 'b>c', 'a>b', true]])
  })

  atNight(t, 'a name that begins or ends with a space is refused in plain words', async t => {
    const { page: address, names } = await store('spaces', { ' kept as it is .txt': '', 'a.txt': '' })
    const page = await open(t)
    await page.goto(address)
    await startFolder(page)
    const create = dialog(page).getByRole('button', { name: 'Create' })
    for (const [name, text] of [
      [' ', 'A name cannot consist only of spaces.'],
      ['  \u3000 ', 'A name cannot consist only of spaces.'],
      [' a', 'A name cannot begin or end with a space.'],
      ['a ', 'A name cannot begin or end with a space.'],
      ['a/b', 'A name cannot contain “/”.'],
    ] as const) {
      await page.getByLabel('Name', { exact: true }).fill(name)
      await dialog(page).getByText(text).waitFor()
      t.ok(await create.isDisabled(), JSON.stringify(name))
      await page.keyboard.press('Enter')
    }
    await page.getByLabel('Name', { exact: true }).fill('a b')
    await create.click()
    await row(page, 'a b').waitFor()
    t.same(await names(), [' kept as it is .txt', 'a b', 'a.txt'])
    await row(page, 'a.txt').click()
    await page.keyboard.press('F2')
    await page.getByLabel('New name').fill('a.txt ')
    await dialog(page).getByText('A name cannot begin or end with a space.').waitFor()
    t.ok(await dialog(page).getByRole('button', { name: 'Rename' }).isDisabled())
  })

  atNight(t, 'a name that the server refuses is refused in plain words', async t => {
    const { page: address } = await store('refused', { 'taken/x': '' })
    const page = await open(t)
    await page.goto(address)
    await startFolder(page)
    for (const [name, text] of [
      ['taken', 'There is something at this path already.'],
      ['a%2Fb', 'A new name cannot contain codes such as "%2F"'],
      ['..', 'A name cannot be "." or "..".'],
    ] as const) {
      await page.getByLabel('Name', { exact: true }).fill(name)
      await dialog(page).getByRole('button', { name: 'Create' }).click()
      await dialog(page).getByRole('alert').getByText(text).waitFor()
    }
    await isGood(t, page)
  })

  atNight(t, 'the message about a move names the item and links to its folder', async t => {
    const { page: address, names } = await store('named', {
      'report.pdf': '',
      'a.txt': '',
      'b.txt': '',
      'archive/x': '',
    })
    const page = await open(t)
    const message = page.locator('.toast')
    await page.goto(address)
    for (const [chosen, text] of [
      [['report.pdf'], 'report.pdf moved to /archive'],
      [['a.txt', 'b.txt'], '2 items moved to /archive'],
    ] as const) {
      for (const name of chosen) await pick(page, name)
      await button(page, 'Move to…').click()
      await dialog(page).getByRole('button', { name: 'archive' }).click()
      await button(page, 'Move here').click()
      await message.getByText(text).waitFor()
    }
    t.same(await names('archive'), ['a.txt', 'b.txt', 'report.pdf', 'x'])
    await isGood(t, page)
    await message.getByRole('link', { name: '/archive' }).first().click()
    await row(page, 'report.pdf').waitFor()
    await pick(page, 'report.pdf')
    await button(page, 'Move to…').click()
    await dialog(page).getByRole('button', { name: 'named' }).click()
    await button(page, 'Move here').click()
    await message.getByText('report.pdf moved to named').waitFor()
  })

  atNight(t, 'a dialog keeps its place while it loads folders', async t => {
    const folders = Array.from({ length: 20 }, (_, n) => [`sub${n}/c.txt`, ''])
    const { page: address } = await store('still', { 'a.txt': '', ...Object.fromEntries(folders) })
    const page = await open(t)
    await page.goto(address)
    await row(page, 'a.txt').click({ button: 'right' })
    const loading = Promise.withResolvers<void>()
    await page.route('**/graphql', async route => {
      await loading.promise
      await route.continue()
    })
    await page.getByRole('menuitem', { name: 'Copy to…' }).click()
    await dialog(page).getByText('Loading the folders').waitFor()
    const place = await dialog(page).boundingBox()
    loading.resolve()
    await dialog(page).getByRole('button', { name: 'sub19' }).waitFor()
    t.same(await dialog(page).boundingBox(), place, 'a press that began before the folders were there is not lost')
  })

  atNight(t, 'an entry that somebody else deleted disappears', async t => {
    const { page: address, at } = await store('gone', { 'a.txt': 'a', 'b.txt': 'b' })
    const page = await open(t)
    await page.goto(address)
    await row(page, 'a.txt').waitFor()
    await rm(at('a.txt'))
    await row(page, 'a.txt').click()
    await page.keyboard.press('Delete')
    await dialog(page).getByRole('button', { name: 'Delete' }).click()
    await dialog(page).getByText('NOT_FOUND').waitFor({ state: 'attached' })
    await dialog(page).getByRole('button', { name: 'Cancel' }).click()
    await row(page, 'a.txt').waitFor({ state: 'detached' })
    await row(page, 'b.txt').waitFor()
    const all = page.getByRole('checkbox', { name: 'Select all' })
    t.equal(await all.evaluate((box: HTMLInputElement) => box.indeterminate), false, 'nothing is selected any more')
    await pick(page, 'b.txt')
    t.ok(await all.isChecked(), 'the only entry is selected')
    await isGood(t, page)
  })

  atNight(t, 'a dialog stays open when a proxy returns 502', async t => {
    const { page: address, names } = await store('proxy', { 'sub/c.txt': 'c', 'stays.txt': '' })
    const page = await open(t)
    await page.goto(address)
    await pick(page, 'sub')
    await button(page, 'Delete').click()
    await page.route('**/graphql', route => route.fulfill({ status: 502, body: 'Bad gateway' }))
    await dialog(page).getByRole('button', { name: 'Delete' }).click()
    await dialog(page).getByText('Server unavailable (502)').waitFor()
    await isGood(t, page)
    await page.unroute('**/graphql')
    await dialog(page).getByRole('button', { name: 'Try again' }).click()
    await until(async () => !(await names()).includes('sub'))
    await dialog(page).waitFor({ state: 'detached' })
  })

  atNight(t, 'the keyboard alone can rename, copy and delete', async t => {
    const { page: address, at, names } = await store('keyboard', { 'a.txt': 'a', 'b.txt': 'b', 'sub/c.txt': 'c' })
    const page = await open(t)
    await page.goto(address)
    await row(page, 'a.txt').waitFor()
    await page.keyboard.press('Tab')
    t.equal(await focused(page), 'Skip to content')
    await tabTo(page, 'Files in keyboard')
    await page.keyboard.press('?')
    await dialog(page).getByText('Go to the folder above').waitFor()
    await isGood(t, page)
    await page.keyboard.press('Escape')
    await dialog(page).waitFor({ state: 'detached' })
    await waitForTableFocus(page)
    await page.keyboard.press('a')
    await page.keyboard.press('F2')
    await page.getByLabel('New name').waitFor()
    await page.keyboard.press('Control+a')
    await page.keyboard.type('renamed.txt')
    await page.keyboard.press('Enter')
    await row(page, 'renamed.txt').waitFor()
    await dialog(page).waitFor({ state: 'detached' })
    await waitForTableFocus(page)

    await page.keyboard.press('Shift+F10')
    await page.getByRole('menuitem', { name: 'Copy to…' }).waitFor()
    await page.keyboard.press('c')
    await page.keyboard.press('Enter')
    await dialog(page).getByRole('button', { name: 'sub' }).waitFor()
    await tabTo(page, 'sub')
    await page.keyboard.press('Enter')
    await dialog(page).getByText('This folder has no subfolders').waitFor()
    await tabTo(page, 'Copy here')
    await page.keyboard.press('Enter')
    await dialog(page).waitFor({ state: 'detached' })
    t.same(await names('sub'), ['c.txt', 'renamed.txt'])
    await waitForTableFocus(page)

    await page.keyboard.press('b')
    await page.keyboard.press('Shift+ArrowDown')
    await page.keyboard.press('Delete')
    await dialog(page).waitFor()
    // An accidental Enter deletes nothing.
    await until(async () => (await focused(page)) === 'Cancel' || focused(page))
    await tabTo(page, 'Delete')
    await page.keyboard.press('Enter')
    await row(page, 'b.txt').waitFor({ state: 'detached' })
    await dialog(page).waitFor({ state: 'detached' })
    await until(async () => (await names()).length === 1)
    t.same(await names(), ['sub'])
    t.equal(await readFile(at('sub/renamed.txt'), 'utf8'), 'a')
    await waitForTableFocus(page)
    await isGood(t, page)
  })

  const streams = new Set<IncomingMessage>()
  app.app.server.server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    if (request.headers.accept !== 'text/event-stream') return
    streams.add(request)
    response.once('close', () => streams.delete(request))
  })
  /** Renames an entry through the API, and waits until the page shows the new name. */
  async function shows(page: Page, providerId: string, path: string, name: string): Promise<void> {
    const input = { providerId, path, name }
    await app.ask('mutation ($input: RenameInput!) { rename(input: $input) { path } }', { input }, owner.token)
    await row(page, name).waitFor()
  }

  atNight(t, 'tabs show what others change, over one connection, which outlives the tab that began it', async t => {
    const [one, two] = [
      await store('first tab', { 'a.txt': 'a', 'sub/b.txt': 'b' }),
      await store('second tab', { 'c.txt': 'c' }),
    ]
    const first = await open(t)
    await first.goto(one.page)
    await row(first, 'a.txt').waitFor()
    const second = await first.context().newPage()
    await second.setViewportSize({ width: 390, height: 844 })
    await second.goto(two.page)
    await row(second, 'c.txt').waitFor()
    await shows(first, one.id, '/a.txt', 'a2.txt')
    await shows(second, two.id, '/c.txt', 'c2.txt')
    await until(() => streams.size === 1 || streams.size)
    await first.getByRole('link', { name: 'sub', exact: true }).click()
    await row(first, 'b.txt').waitFor()
    await shows(first, one.id, '/sub/b.txt', 'b2.txt')
    await until(() => streams.size === 1 || streams.size)
    await isGood(t, first)
    await first.close()
    await shows(second, two.id, '/c2.txt', 'c3.txt')
    app.app.server.server.closeAllConnections()
    await until(async () => (await app.request('/healthz')).ok)
    await shows(second, two.id, '/c3.txt', 'c4.txt')
    await until(() => streams.size === 1 || streams.size)
    await second.close()
    await until(() => streams.size === 0 || streams.size)
  })

  atNight(t, 'a tab that loses its folder, or opens one out of reach, leaves the others what they follow', async t => {
    const [kept, lost] = [await store('kept', { 'a.txt': 'a' }), await store('lost', { 'b.txt': 'b' })]
    const allow = (...ids: string[]) => ({
      role: 'EDITOR',
      providerAccess: { restrictions: ids.map(providerId => ({ providerId, basePath: '/' })) },
    })
    const { createInvite } = await app.ask(
      'mutation ($input: CreateInviteInput!) { createInvite(input: $input) { invite } }',
      { input: allow(kept.id, lost.id) },
      owner.token,
    )
    const member = await app.register('member@example.org', { invite: createInvite.invite })
    const first = await open(t, { token: member.token })
    await first.goto(lost.page)
    await row(first, 'b.txt').waitFor()
    const second = await first.context().newPage()
    await second.goto(kept.page)
    await row(second, 'a.txt').waitFor()
    await shows(first, lost.id, '/b.txt', 'b2.txt')
    await app.ask(
      'mutation ($input: UpdateMemberInput!) { updateMember(input: $input) { id } }',
      { input: { userId: member.id, ...allow(kept.id) } },
      owner.token,
    )
    await first.getByRole('alert').waitFor()
    await shows(second, kept.id, '/a.txt', 'a2.txt')
    await first.goto(lost.page)
    await shows(second, kept.id, '/a2.txt', 'a3.txt')
    await until(() => streams.size === 1 || streams.size)
  })
}

/** Returns the name of the element that has the focus. */
function focused(page: Page): Promise<string | null> {
  return page.evaluate(() => {
    const element = document.activeElement
    return element && element !== document.body ? (element.getAttribute('aria-label') ?? element.textContent) : null
  })
}

/** Waits until the focus returns from a dialog to the table. */
async function waitForTableFocus(page: Page): Promise<void> {
  await page.waitForFunction(() => document.activeElement?.getAttribute('role') === 'grid')
}

async function tabTo(page: Page, name: string): Promise<void> {
  const visited: (string | null)[] = []
  for (let step = 0; step < 40; step += 1) {
    const at = await focused(page)
    if (at === name) return
    visited.push(at)
    await page.keyboard.press('Tab')
  }
  throw new Error(`Tab never reaches ${name}: ${visited.join(', ')}`)
}
