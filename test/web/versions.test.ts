/**
 * Tests the panel that lists, shows, compares, restores and deletes the versions of a file, on a desktop and on a phone, and the dialog
 * that restores a folder.
 */
import { readFile, utimes } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import sharp from 'sharp'
import t from 'tap'
import { diffTexts, sideBySide, type TextDiff } from '../../web/src/files/versions/diff.ts'
import { atNight, inTurn, isNight } from '../support/extent.ts'
import { until } from '../support/until.ts'
import { button, dialog, isGood, row, startFiles } from './files.ts'

const phone = { viewport: { width: 390, height: 780 }, hasTouch: true }
const widths = { desktop: {}, phone }

t.test('two texts are compared by lines and words', async t => {
  const older = Array.from({ length: 30 }, (_, index) => `line ${index + 1}\n`)
  const newer = older.with(9, 'line ten\n').toSpliced(20, 1)
  const diff = diffTexts(older.join(''), newer.join(''))
  t.match(diff, { added: 1, removed: 2, isCut: false, hunks: [{ skipped: 6 }, { skipped: 4 }] })
  const [first] = (diff as TextDiff).hunks
  t.match(
    first?.lines.filter(({ kind }) => kind !== 'same'),
    [
      { kind: 'removed', older: 10, newer: null },
      { kind: 'added', older: null, newer: 10 },
    ],
  )
  t.same(first?.lines[3]?.parts, [
    { text: 'line ', isChanged: false },
    { text: '10', isChanged: true },
  ])
  t.same(
    sideBySide(first?.lines ?? []).map(([before, after]) => [before?.older, after?.newer]),
    [7, 8, 9, 10, 11, 12, 13].map(line => [line, line]),
  )
  t.same(diffTexts('a\r\nb\r\n', 'a\nb')?.hunks, [], 'the ends of lines do not count')
  t.match(diffTexts('', 'a\n'), { added: 1, removed: 0, hunks: [{ skipped: 0, lines: [{ newer: 1 }] }] })
  const [many, others] = ['a', 'b'].map(text => Array.from({ length: 1600 }, (_, line) => `${text}${line}\n`).join(''))
  const cut = diffTexts(many ?? '', others ?? '')
  // The comparison of tap would read all of its lines, too.
  t.same([cut?.added, cut?.removed, cut?.isCut], [1600, 1600, true])
  t.equal(
    cut?.hunks.reduce((sum, { lines }) => sum + lines.length, 0),
    3000,
  )
  const [huge, different] = ['a', 'b'].map(text => `${text}\n`.repeat(5000))
  t.equal(diffTexts(huge ?? '', different ?? ''), null)
})

const files = isNight ? await startFiles(t) : null
if (files) {
  const { app, owner, open, store } = files
  const update = 'mutation ($input: UpdateProviderInput!) { updateProvider(input: $input) { id } }'
  const set = (id: string, input: object) => app.ask(update, { input: { id, ...input } }, owner.token)
  const panel = (page: Page) => page.locator('.preview').getByRole('dialog')
  const versions = (page: Page) => panel(page).getByRole('option')
  const openVersions = async (page: Page, name: string) => {
    await row(page, name).getByRole('button', { name: 'Actions' }).click()
    await page.getByRole('menuitem', { name: 'Versions' }).click()
  }

  for (const [width, options] of inTurn(Object.entries(widths))) {
    t.test(`a version is shown, compared and restored, on a ${width}`, async t => {
      const disk = await store(`versions-${width}`)
      await set(disk.id, { versionCount: 20 })
      for (const content of ['first\nsame\n', 'second\nsame\n', 'third\nsame\n'])
        await app.upload(owner.token, disk.id, '/notes.txt', content, '&conflict=replace')
      const page = await open(t, options)
      await page.goto(disk.page)
      await openVersions(page, 'notes.txt')
      await panel(page).locator('pre').getByText('second').waitFor()
      t.equal(await versions(page).count(), 3)
      t.ok(await versions(page).first().getByText('Current').isVisible())
      t.match(await versions(page).nth(1).textContent(), /12 B · Replaced .+ by owner@example\.org/)
      await isGood(t, page)
      await versions(page).nth(1).press('ArrowDown')
      await panel(page).locator('pre').getByText('first').waitFor()

      await panel(page).getByRole('radio', { name: 'Changes' }).check({ force: true })
      await panel(page).getByText('1 line added, 1 line removed').waitFor()
      t.match(await panel(page).getByRole('table').textContent(), /removed: first.*added: third/s)
      await isGood(t, page)
      await panel(page).getByRole('button', { name: 'Compare with' }).click()
      await page.locator('.select-popover').getByRole('option').nth(1).click()
      await panel(page).getByRole('table').getByText('second').waitFor()

      const saving = page.waitForEvent('download')
      await panel(page).getByRole('button', { name: 'Download' }).click()
      const saved = await saving
      t.equal(saved.suggestedFilename(), 'notes.txt')
      t.equal(await readFile(await saved.path(), 'utf8'), 'first\nsame\n')

      await panel(page).getByRole('button', { name: 'Restore' }).click()
      await dialog(page).getByText('Its present content stays as a version').waitFor()
      await isGood(t, page)
      await dialog(page).getByRole('button', { name: 'Restore' }).click()
      await page.getByText('Restored /notes.txt').waitFor()
      t.equal(await readFile(disk.at('notes.txt'), 'utf8'), 'first\nsame\n')
      await versions(page).nth(1).getByText('11 B · Replaced').waitFor()
      t.equal(await versions(page).count(), 3)

      await panel(page).getByRole('button', { name: 'Delete' }).click()
      await dialog(page).getByRole('button', { name: 'Delete' }).click()
      await page.getByText('The version was deleted').waitFor()
      await versions(page).nth(2).waitFor({ state: 'detached' })
      await page.locator('.modal').getByRole('alertdialog').waitFor({ state: 'detached' })
      await page.keyboard.press('Escape')
      await panel(page).waitFor({ state: 'detached' })
    })
  }

  atNight(t, 'a version of a picture is shown, and a file without versions says why', async t => {
    const disk = await store('pictures')
    await set(disk.id, { versionCount: 20 })
    const picture = (width: number) =>
      sharp({ create: { width, height: 20, channels: 3, background: 'green' } })
        .png()
        .toBuffer()
    for (const pixels of [30, 40])
      await app.upload(owner.token, disk.id, '/a.png', new Blob([await picture(pixels)]), '&conflict=replace')
    await app.upload(owner.token, disk.id, '/new.txt', 'x')
    const page = await open(t)
    await page.goto(disk.page)
    await openVersions(page, 'a.png')
    const image = panel(page).getByRole('img', { name: 'a.png' })
    await image.waitFor()
    await page.waitForFunction(
      () => document.querySelector<HTMLImageElement>('.version-content img')?.naturalWidth === 30,
    )
    t.equal(await panel(page).getByRole('radio').count(), 0)
    await panel(page).getByRole('button', { name: 'Close' }).click()

    await row(page, 'new.txt').click()
    await page.keyboard.press('Alt+Enter')
    await button(page, 'Show versions').click()
    await panel(page).getByText('No earlier versions').waitFor()
    await panel(page).getByText('This storage keeps up to 20 versions of a file, each for 30 days.').waitFor()
    await isGood(t, page)
    await set(disk.id, { versionCount: 0 })
    await page.reload()
    await openVersions(page, 'new.txt')
    await panel(page).getByText('This storage keeps no versions.').waitFor()
    await panel(page).getByRole('link', { name: 'storages' }).click()
    await page.waitForURL(/settings\/storages/)
  })

  atNight(t, 'a folder is restored as it was, after its changes were shown', async t => {
    const disk = await store('earlier', { 'sub/a.txt': 'old' })
    await set(disk.id, { versionCount: 20 })
    const before = new Date(Date.now() - 3 * 24 * 60 * 60 * 1000)
    await utimes(disk.at('sub/a.txt'), before, before)
    await app.upload(owner.token, disk.id, '/sub/a.txt', 'new', '&conflict=replace')
    const page = await open(t)
    await page.goto(disk.page)
    await row(page, 'sub').getByRole('button', { name: 'Actions' }).click()
    await page.getByRole('menuitem', { name: 'Restore…' }).click()
    await isGood(t, page)
    await dialog(page).getByRole('button', { name: 'Show changes' }).click()
    const steps = dialog(page).getByRole('list', { name: 'Changes' })
    await steps.getByText('a.txt').waitFor()
    t.match(await steps.textContent(), /a\.txtGets its earlier content · 3 B/)
    await dialog(page).getByText('1 item comes back').waitFor()
    await isGood(t, page)
    t.equal(await readFile(disk.at('sub/a.txt'), 'utf8'), 'new')
    await dialog(page).getByRole('button', { name: 'Restore', exact: true }).click()
    await dialog(page).waitFor({ state: 'detached' })
    await until(async () => (await readFile(disk.at('sub/a.txt'), 'utf8')) === 'old')

    await page.goto(`/trash/${disk.id}`)
    await button(page, 'Restore earlier state…').click()
    await dialog(page).getByLabel('Time').fill('2999-01-01T00:00')
    await dialog(page).getByRole('button', { name: 'Show changes' }).click()
    await dialog(page).getByText('Choose a time in the past.').waitFor()
  })

  atNight(t, 'an administrator sets the versions of a storage, and sees what they cost', async t => {
    const id = await app.connectProvider(owner.token, 'memory', {}, 'In memory')
    const page = await open(t)
    await page.goto('/settings/storages')
    const edit = () => page.getByRole('region', { name: 'In memory' }).getByRole('button', { name: 'Edit' }).click()
    await edit()
    await dialog(page).getByText('If you leave this blank, none are kept.').waitFor()
    const count = () => dialog(page).getByLabel('Versions of a file (optional)')
    await count().fill('1001')
    await dialog(page).getByRole('button', { name: 'Save' }).click()
    await dialog(page).getByText('Enter a number from 0 to 1000').waitFor()
    await count().fill('5')
    await dialog(page).getByText('This storage copies every file that is replaced.').waitFor()
    await dialog(page).getByLabel('Days of a version (optional)').fill('9')
    await isGood(t, page)
    await dialog(page).getByRole('button', { name: 'Save' }).click()
    await dialog(page).waitFor({ state: 'detached' })
    const query = 'query ($id: ID!) { provider(id: $id) { versionCount versionDays } }'
    t.same((await app.ask(query, { id }, owner.token)).provider, { versionCount: 5, versionDays: 9 })
    await edit()
    t.equal(await count().inputValue(), '5')
  })
}
