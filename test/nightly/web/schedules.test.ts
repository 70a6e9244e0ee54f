/** Schedules in the console, and the limits of jobs at a storage. */
import { sql } from 'kysely'
import type { Locator, Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { startReceiver } from '../../servers/receiver.ts'
import { startApp } from '../../support/app.ts'
import { until } from '../../support/until.ts'
import { isAccessible, startBrowser, type Visit, visit } from '../../web/browser.ts'
import { button, dialog, isGood, main, startFiles } from '../../web/files.ts'

interface Size {
  viewport?: { width: number; height: number }
  hasTouch?: boolean
}

const sizes: Size[] = [{}, { viewport: { width: 390, height: 780 }, hasTouch: true }]
/** A dialog that was opened from another one comes last. */
const inner = (page: Page) => dialog(page).last()
const scheduleRow = (page: Page, name: string): Locator =>
  page.getByRole('table', { name: 'Schedules' }).getByRole('row').filter({ hasText: name })

const files = await startFiles(t)
if (files) {
  const { app, owner, open, store } = files
  const query = `{ schedules { nodes { id name cron timeZone enabled lastJob { state }
    job { kind deleteExtra sources { providerId path } target { providerId path } } } } }`
  const listed = async () => (await app.ask(query, {}, owner.token)).schedules.nodes
  const create = async (input: object): Promise<string> => {
    const mutation = 'mutation ($input: CreateScheduleInput!) { createSchedule(input: $input) { schedule { id } } }'
    const given = { name: 'Yearly', cron: '0 0 1 1 *', timeZone: 'UTC', ...input }
    return (await app.ask(mutation, { input: given }, owner.token)).createSchedule.schedule.id
  }
  const clear = () => sql`delete from schedules`.execute(app.db)

  async function chooseFolder(t: Test, page: Visit, label: string, path: readonly string[]): Promise<void> {
    await button(page, `Choose: ${label}`).click()
    await inner(page).getByText('Use this folder').waitFor()
    for (const name of path) await inner(page).getByRole('button', { name, exact: true }).click()
    await isGood(t, page)
    await inner(page).getByRole('button', { name: 'Use this folder' }).click()
    await page.getByText('Use this folder').waitFor({ state: 'detached' })
  }

  t.test('copies are kept, checked and reported', async t => {
    const [from, to] = [await store('contracts', { 'a.txt': 'a contract' }), await store('vault', { 'a.txt': 'other' })]
    const page = await open(t)
    await page.goto('/settings/schedules')
    await button(page, 'New kept copies').click()
    await page.getByRole('textbox', { name: 'Name' }).fill('Contracts')
    await isGood(t, page)
    await button(page, 'Keep copies').click()
    await dialog(page).getByText('Choose the folder and the folder for each copy.').waitFor()
    await chooseFolder(t, page, 'Folder to keep copies of', ['contracts'])
    await chooseFolder(t, page, 'Folder for copy 1', ['vault'])
    await button(page, 'Keep copies').click()
    await dialog(page).waitFor({ state: 'detached' })
    const row = page.getByRole('table', { name: 'Kept copies' }).getByRole('row').filter({ hasText: 'Contracts' })
    await row.getByRole('button', { name: 'Run now' }).click()
    await row.getByText('vault: /: 1 changed in the copy').waitFor({ timeout: 60_000 })
    await row.getByText('contracts: /: nothing found').waitFor()
    await isGood(t, page)
    await row.getByRole('button', { name: 'Report: Contracts' }).click()
    await dialog(page).getByText('vault: /a.txt').waitFor()
    await isGood(t, page)
    const saved = page.waitForEvent('download')
    await button(page, 'Download as table').click()
    t.match((await saved).suggestedFilename(), /^report-.+\.csv$/)
    t.match(await listed(), [
      { job: { kind: 'KEEP_COPIES', sources: [{ providerId: from.id }, { providerId: to.id }] } },
    ])
    await clear()
    t.same(page.faults, [])
  })

  t.test('a schedule is created, changed, disabled, enabled and deleted', async t => {
    const [from, to] = [await store('photos', { '2026/a.txt': 'a' }), await store('archive', { 'old/b.txt': 'b' })]
    const page = await open(t, { timezoneId: 'Europe/Berlin' })
    await page.goto('/jobs')
    await main(page).getByRole('link', { name: 'Schedules' }).click()
    await page.getByText('No schedules yet.').waitFor()
    await isGood(t, page)
    await button(page, 'New schedule').click()
    await page.getByRole('textbox', { name: 'Name' }).fill('Weekly mirror')
    await isGood(t, page)
    await button(page, 'Create schedule').click()
    await dialog(page).getByText('Choose the folder to sync').waitFor()
    await chooseFolder(t, page, 'Folder to sync', ['photos', '2026'])
    await chooseFolder(t, page, 'Folder for the copy', ['archive'])
    await dialog(page).getByText('The copy is stored at “/2026”.').waitFor()
    await dialog(page).getByRole('checkbox', { name: 'Delete files from the copy' }).click()
    await dialog(page).getByRole('button', { name: 'How often' }).click()
    await page.getByRole('option', { name: 'Every week' }).click()
    await dialog(page).getByRole('button', { name: 'Day' }).click()
    await page.getByRole('option', { name: 'Wednesday' }).click()
    await dialog(page).getByLabel('Time', { exact: true }).fill('04:30')
    await isGood(t, page)
    await button(page, 'Create schedule').click()
    await dialog(page).waitFor({ state: 'detached' })
    const mirror = scheduleRow(page, 'Weekly mirror')
    await mirror.getByText(/^Every Wednesday at 0?4:30/).waitFor()
    await mirror.getByText('Sync “2026” to “archive”, deletes extra files').waitFor()
    await mirror.getByText('Never').waitFor()
    await isGood(t, page)
    t.match(await listed(), [
      {
        name: 'Weekly mirror',
        cron: '30 4 * * 3',
        timeZone: 'Europe/Berlin',
        enabled: true,
        job: {
          kind: 'SYNC',
          deleteExtra: true,
          sources: [{ providerId: from.id, path: '/2026' }],
          target: { providerId: to.id, path: '/' },
        },
      },
    ])

    await mirror.getByRole('button', { name: 'Edit' }).click()
    t.equal(await dialog(page).getByLabel('Time', { exact: true }).inputValue(), '04:30')
    await page.getByRole('textbox', { name: 'Name' }).fill('Quarterly mirror')
    await dialog(page).getByRole('button', { name: 'How often' }).click()
    await page.getByRole('option', { name: 'Cron pattern' }).click()
    const pattern = page.getByRole('textbox', { name: 'Pattern' })
    t.equal(await pattern.inputValue(), '30 4 * * 3', 'the pattern starts with the chosen times')
    await pattern.fill('99 0 1 1 *')
    await button(page, 'Save').click()
    await dialog(page)
      .getByText(/is not a cron pattern/)
      .waitFor()
    await isGood(t, page)
    await pattern.fill('0 3 1 */3 *')
    await page.getByRole('textbox', { name: 'Time zone' }).fill('UTC')
    await button(page, 'Save').click()
    await dialog(page).waitFor({ state: 'detached' })
    const quarterly = scheduleRow(page, 'Quarterly mirror')
    await quarterly.getByText('Cron: 0 3 1 */3 *').waitFor()
    await quarterly.getByText('UTC').waitFor()

    await quarterly.getByRole('button', { name: 'Disable' }).click()
    await quarterly.getByText('Disabled').waitFor()
    t.match(await listed(), [{ enabled: false, cron: '0 3 1 */3 *', timeZone: 'UTC' }])
    await isGood(t, page)
    await quarterly.getByRole('button', { name: 'Enable' }).click()
    await quarterly.getByRole('button', { name: 'Disable' }).waitFor()
    t.match(await listed(), [{ enabled: true }])

    await quarterly.getByRole('button', { name: 'Run now' }).click()
    await quarterly.getByText('Never').waitFor({ state: 'detached' })
    await until(async () => {
      const [schedule] = await listed()
      return schedule?.lastJob?.state === 'SUCCEEDED' || schedule
    })
    await isGood(t, page)

    await quarterly.getByRole('button', { name: 'Delete' }).click()
    await isGood(t, page)
    await dialog(page).getByRole('button', { name: 'Delete' }).click()
    await page.getByText('No schedules yet.').waitFor()
    t.same(await listed(), [])
  })

  t.test('a schedule shows its last run, and why it is disabled', async t => {
    const one = await store('runs', { 'f/a.txt': 'a' })
    const at = (path: string) => ({ providerId: one.id, path })
    const job = { kind: 'SYNC', sources: [at('/f')], target: at('/copies') }
    const ran = await create({ name: 'Has run', job })
    await sql`update schedules set next_run_at = now() where id = ${ran}`.execute(app.db)
    await until(async () => {
      const [schedule] = await listed()
      return schedule?.lastJob?.state === 'SUCCEEDED' || schedule
    })
    const skipped = await create({ name: 'Was skipped', job, cron: '15 * * * *' })
    // The run that is due at a quarter past must not begin during the test.
    await sql`update schedules set last_skipped_at = now() - interval '3 hours', next_run_at = now() + interval '1 hour'
      where id = ${skipped}`.execute(app.db)
    const ended = await create({ name: 'Has ended', job, cron: '0 6 15 * *' })
    await sql`update schedules set next_run_at = null, error_reason = 'KEY_REVOKED',
      error_message = 'The API key was revoked.' where id = ${ended}`.execute(app.db)
    for (const colorScheme of ['light', 'dark'] as const) {
      for (const size of sizes) {
        const page = await open(t, { colorScheme, ...size })
        await page.goto('/jobs/schedules')
        await scheduleRow(page, 'Has run').getByText('Done · 1 file · 1 B').waitFor()
        await scheduleRow(page, 'Was skipped').getByText('Every hour, 15 min past').waitFor()
        await scheduleRow(page, 'Was skipped').getByText('Skipped 3 hours ago').waitFor()
        await scheduleRow(page, 'Has ended')
          .getByText(/^On day 15 of each month at/)
          .waitFor()
        await scheduleRow(page, 'Has ended').getByText('The API key was revoked.').waitFor()
        const width = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
        t.ok(width <= 0, 'nothing is wider than the window')
        await isGood(t, page)
        await button(page, 'New schedule').click()
        await page.getByRole('textbox', { name: 'Name' }).waitFor()
        const box = await page.locator('.modal').boundingBox()
        t.ok(box && box.x >= 0 && box.width <= (size.viewport?.width ?? 1280), 'the dialog fits')
        // On a phone, axe does not recognize that the dialog hides the page.
        if (!size.viewport) await isGood(t, page)
      }
    }
    await clear()
  })

  t.test('the dialog works with the keyboard', async t => {
    const one = await store('keyboard', { 'f/a.txt': 'a', 'g/b.txt': 'b' })
    const page = await open(t)
    await page.goto('/jobs/schedules')
    await button(page, 'New schedule').focus()
    await page.keyboard.press('Enter')
    await page.getByRole('textbox', { name: 'Name' }).waitFor()
    await page.keyboard.type('By keyboard')
    for (const [path, from] of [
      ['f', page.getByRole('textbox', { name: 'Name' })],
      ['g', button(page, 'Choose: Folder to sync')],
    ] as const) {
      await until(() => from.evaluate(element => element === document.activeElement))
      await page.keyboard.press('Tab')
      await page.keyboard.press('Enter')
      await inner(page).getByRole('button', { name: 'keyboard', exact: true }).focus()
      await page.keyboard.press('Enter')
      await inner(page).getByRole('button', { name: path, exact: true }).focus()
      await page.keyboard.press('Enter')
      await inner(page).getByRole('button', { name: 'Use this folder' }).focus()
      await page.keyboard.press('Enter')
      await page.getByText('Use this folder').waitFor({ state: 'detached' })
    }
    await button(page, 'Create schedule').focus()
    await page.keyboard.press('Enter')
    await dialog(page).waitFor({ state: 'detached' })
    t.match(await listed(), [
      {
        name: 'By keyboard',
        cron: '0 2 * * *',
        job: { deleteExtra: false, sources: [{ providerId: one.id, path: '/f' }], target: { path: '/g' } },
      },
    ])
    await page.waitForFunction(() => document.activeElement?.textContent === 'New schedule')
    await clear()
  })

  t.test('a person who may only read sees schedules, and no buttons', async t => {
    const one = await store('readable', { 'f/a.txt': 'a' })
    const person = await app.register('reader@example.org')
    const update = 'mutation ($input: UpdateMemberInput!) { updateMember(input: $input) { id } }'
    const role = (role: string) =>
      app.ask(update, { input: { userId: person.id, role, providerAccess: { all: true } } }, owner.token)
    await role('EDITOR')
    const mutation = 'mutation ($input: CreateScheduleInput!) { createSchedule(input: $input) { schedule { id } } }'
    const at = (path: string) => ({ providerId: one.id, path })
    const job = { kind: 'SYNC', sources: [at('/f')], target: at('/g') }
    await app.ask(mutation, { input: { name: 'Own', cron: '0 0 1 1 *', job } }, person.token)
    await role('VIEWER')
    const page = await open(t, { token: person.token })
    await page.goto('/jobs/schedules')
    await scheduleRow(page, 'Own').waitFor()
    t.equal(await page.locator('main').getByRole('button').count(), 0)
    await isGood(t, page)
    await clear()
  })

  t.test('an administrator limits the jobs at a storage', async t => {
    const one = await store('limited')
    const limitsOf = async () =>
      (
        await app.ask(
          'query ($id: ID!) { provider(id: $id) { jobLimits { filesAtOnce bytesPerSecond } } }',
          { id: one.id },
          owner.token,
        )
      ).provider.jobLimits
    const page = await open(t)
    const edit = async () => {
      await page.goto('/settings/storages')
      await page.getByRole('region', { name: 'limited' }).getByRole('button', { name: 'Edit' }).click()
      await dialog(page).getByRole('group', { name: 'Limits of jobs' }).waitFor()
    }
    const filesAtOnce = page.getByRole('textbox', { name: 'Files at once' })
    const speed = page.getByRole('textbox', { name: 'Speed in MB per second' })
    await edit()
    t.equal(await filesAtOnce.inputValue(), '16')
    t.equal(await speed.inputValue(), '')
    await isGood(t, page)
    for (const [files, rate, problem] of [
      ['0', '', 'Enter a number from 1 to 128.'],
      ['4', '0.01', 'Enter at least 0.07, or leave this blank.'],
      ['4', 'fast', 'Enter at least 0.07, or leave this blank.'],
    ] as const) {
      await filesAtOnce.fill(files)
      await speed.fill(rate)
      await button(page, 'Save').click()
      await dialog(page).getByText(problem).waitFor()
    }
    await isGood(t, page)
    t.same(await limitsOf(), { filesAtOnce: 16, bytesPerSecond: null })
    await speed.fill('2.5')
    await button(page, 'Save').click()
    await dialog(page).waitFor({ state: 'detached' })
    t.same(await limitsOf(), { filesAtOnce: 4, bytesPerSecond: 2_500_000 })
    await edit()
    t.equal(await speed.inputValue(), '2.5')
    await speed.fill('')
    await button(page, 'Save').click()
    await dialog(page).waitFor({ state: 'detached' })
    t.same(await limitsOf(), { filesAtOnce: 4, bytesPerSecond: null })
  })
}

t.test('a webhook is created, tested, changed and deleted', async t => {
  const app = await startApp(t)
  const browser = await startBrowser(t)
  if (!browser) return
  const { token } = await app.register('owner@example.com')
  const providerId = await app.connectProvider(token, 'memory', {}, 'Team disk')
  await app.upload(token, providerId, '/reports/a.txt', 'content')
  const receiver = await startReceiver(t)
  const page = await visit(browser, app, { token })
  await page.goto('/settings/webhooks')
  await page.getByText('No webhooks yet.').waitFor()
  await isAccessible(t, page, 'no webhooks')

  await page.getByRole('button', { name: 'New webhook' }).click()
  await page.getByLabel('Name', { exact: true }).fill('Index')
  await page.getByLabel('URL').fill(receiver.url)
  await page.getByRole('radio', { name: 'One folder' }).check()
  await page
    .getByRole('button', { name: 'Team disk' })
    .or(page.getByRole('button', { name: 'reports' }))
    .first()
    .click()
  await isAccessible(t, page, 'a new webhook')
  await page.getByRole('button', { name: 'reports' }).click()
  await page.getByRole('button', { name: 'Create webhook' }).click()
  await page.getByRole('heading', { name: 'Copy the secret now' }).waitFor()
  t.match(await page.locator('code.secret').textContent(), /^whsec_/)
  await isAccessible(t, page, 'the secret')
  await page.getByRole('button', { name: 'Done' }).click()

  const row = page.getByRole('row', { name: /Index/ })
  await row.getByText('in Team disk: /reports').waitFor()
  await isAccessible(t, page, 'a list of webhooks')
  await row.getByRole('button', { name: 'Deliveries' }).click()
  receiver.responds = { status: 500 }
  await page.getByRole('button', { name: 'Send a test' }).click()
  await page.getByText('The receiver responded with the status 500.').waitFor()
  await isAccessible(t, page, 'deliveries')
  await page.getByRole('button', { name: 'Close' }).click()
  t.equal((await receiver.first('webhook.test')).payload.type, 'webhook.test')

  await row.getByRole('button', { name: 'Edit' }).click()
  await page.getByLabel('Name', { exact: true }).fill('Search')
  await page.getByRole('button', { name: 'Save' }).click()
  const renamed = page.getByRole('row', { name: /Search/ })
  await renamed.getByRole('button', { name: 'New secret' }).click()
  await page.getByRole('button', { name: 'Create secret' }).click()
  await page.getByRole('heading', { name: 'Copy the secret now' }).waitFor()
  await page.getByRole('button', { name: 'Done' }).click()
  await renamed.getByRole('button', { name: 'Edit' }).click()
  await page.getByRole('switch', { name: 'Enabled' }).press('Space')
  await isAccessible(t, page, 'an edited webhook')
  await page.getByRole('button', { name: 'Save' }).click()
  await renamed.getByText('Disabled').waitFor()
  await renamed.getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click()
  await page.getByText('No webhooks yet.').waitFor()
  t.same(page.faults, [])
})
