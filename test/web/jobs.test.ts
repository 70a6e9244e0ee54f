/** Jobs in the console: the panel, the history, drag and drop, and deleting several entries. */
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { sql } from 'kysely'
import type { Page } from 'playwright-core'
import t from 'tap'
import { atNight, inTurn } from '../support/extent.ts'
import { until } from '../support/until.ts'
import { button, dialog, isGood, pick, row, startFiles } from './files.ts'

const panel = (page: Page) => page.getByRole('region', { name: 'Jobs' })
const phone = { viewport: { width: 390, height: 780 }, hasTouch: true }

const files = await startFiles(t)
if (files) {
  const { app, owner, open, store } = files
  const create = 'mutation ($input: CreateJobInput!) { createJob(input: $input) { job { id } } }'
  const createJob = async (input: object): Promise<string> =>
    (await app.ask(create, { input }, owner.token)).createJob.job.id
  const stateOf = async (id: string): Promise<string> =>
    (await app.ask('query ($id: ID!) { job(id: $id) { state } }', { id }, owner.token)).job.state

  atNight(t, 'several entries are deleted by one job, which the panel shows', async t => {
    const one = await store('delete', { 'a.txt': 'a', 'b.txt': 'b', 'sub/c.txt': 'c', 'stays.txt': 's' })
    const page = await open(t)
    let deletes = 0
    page.on('request', request => {
      if (request.postData()?.includes('mutation')) deletes += 1
    })
    await page.goto(one.page)
    for (const name of ['a.txt', 'b.txt', 'sub']) await pick(page, name)
    await page.getByRole('grid').focus()
    await page.keyboard.press('Delete')
    await dialog(page).getByRole('button', { name: 'Delete' }).click()
    await dialog(page).waitFor({ state: 'detached' })
    await panel(page).getByText('Delete 3 items', { exact: true }).waitFor()
    await panel(page).getByText(/^Done/).waitFor()
    t.same(await one.names(), ['stays.txt'])
    t.equal(deletes, 1, 'one request')
    await row(page, 'a.txt').waitFor({ state: 'detached' })
    await isGood(t, page)
    await panel(page).getByRole('button', { name: 'Close' }).click()
    await panel(page).waitFor({ state: 'detached' })
    await isGood(t, page)
  })

  atNight(t, 'a folder is copied to another storage, with one question about taken names', async t => {
    const [one, two] = [
      await store('from', { 'f/a.txt': 'new', 'f/b.txt': 'b' }),
      await store('to', { 'f/a.txt': 'old' }),
    ]
    const page = await open(t)
    await page.goto(one.page)
    await pick(page, 'f')
    await button(page, 'Copy to…').click()
    await dialog(page).getByRole('button', { name: 'Storages' }).click()
    await dialog(page).getByRole('button', { name: 'to', exact: true }).click()
    await dialog(page).getByRole('button', { name: 'If a name already exists' }).click()
    await page.getByRole('option', { name: 'Skip' }).click()
    await isGood(t, page)
    await button(page, 'Copy here').click()
    await dialog(page).waitFor({ state: 'detached' })
    await panel(page).getByText('Copy “f” to “to”', { exact: true }).waitFor()
    await panel(page)
      .getByText(/^Done .* 1 skipped$/)
      .waitFor()
    t.equal(await readFile(two.at('f/a.txt'), 'utf8'), 'old')
    t.equal(await readFile(two.at('f/b.txt'), 'utf8'), 'b')
    await isGood(t, page)
  })

  atNight(t, 'entries are dragged onto folders, with Ctrl to copy', async t => {
    const one = await store('drag', { 'a.txt': 'a', 'b.txt': 'b', 'c.txt': 'c', 'tree/x.txt': 'x', 'sub/b.txt': 'old' })
    const page = await open(t)
    await page.goto(one.page)
    await row(page, 'a.txt').dragTo(row(page, 'sub'))
    await row(page, 'a.txt').waitFor({ state: 'detached' })
    t.equal(await page.locator('.drag-picture, .drop-label').count(), 0, 'nothing stays of the drag')
    t.equal(await readFile(one.at('sub/a.txt'), 'utf8'), 'a')
    await page.keyboard.down('Control')
    await row(page, 'c.txt').dragTo(row(page, 'sub'))
    await page.keyboard.up('Control')
    await until(async () => (await one.names('sub')).includes('c.txt'))
    t.ok((await one.names()).includes('c.txt'), 'the original stays')

    await row(page, 'b.txt').dragTo(row(page, 'sub'))
    await dialog(page).getByText('This name already exists in the folder').waitFor()
    await isGood(t, page)
    await button(page, 'Keep both').click()
    await row(page, 'b.txt').waitFor({ state: 'detached' })
    t.same(await one.names('sub'), ['a.txt', 'b (1).txt', 'b.txt', 'c.txt'])

    await page.keyboard.down('Control')
    await row(page, 'tree').dragTo(row(page, 'sub'))
    await page.keyboard.up('Control')
    await isGood(t, page)
    await dialog(page).getByRole('button', { name: 'Copy', exact: true }).click()
    await panel(page).getByText(/^Done/).waitFor()
    t.equal(await readFile(one.at('sub/tree/x.txt'), 'utf8'), 'x')

    await mkdir(one.at('tree/more'))
    await row(page, 'tree').dragTo(row(page, 'sub'))
    await dialog(page).getByText('This name already exists in the folder').waitFor()
    await dialog(page).getByText('so you cannot undo the move').waitFor()
    await isGood(t, page)
    await dialog(page).getByRole('button', { name: 'Move', exact: true }).click()
    await row(page, 'tree').waitFor({ state: 'detached' })
    await until(async () => !(await one.names()).includes('tree'))
    t.same(await one.names('sub/tree (1)'), ['more', 'x.txt'])

    await row(page, 'sub').dblclick()
    await row(page, 'a.txt').dragTo(page.getByRole('navigation', { name: 'Path' }).getByRole('link', { name: 'drag' }))
    await row(page, 'a.txt').waitFor({ state: 'detached' })
    t.equal(await readFile(one.at('a.txt'), 'utf8'), 'a')
    await isGood(t, page)
  })

  atNight(t, 'a drag shows what is dragged, and what a drop on a folder would do', async t => {
    const one = await store('picture', { 'a.txt': 'a', 'b.txt': 'b', 'sub/x.txt': '' })
    const page = await open(t)
    await page.goto(one.page)
    await pick(page, 'a.txt')
    await pick(page, 'b.txt')
    await page.evaluate(() => {
      const taken = DataTransfer.prototype.setDragImage
      DataTransfer.prototype.setDragImage = function (picture, x, y) {
        document.documentElement.dataset.dragged = picture.textContent ?? ''
        taken.call(this, picture, x, y)
      }
    })
    await row(page, 'a.txt').locator('.cell-modified').hover()
    await page.mouse.down()
    const target = row(page, 'sub').locator('.cell-modified')
    await target.hover()
    await target.hover()
    const label = page.locator('.drop-label')
    await label.getByText('Move to sub', { exact: true }).waitFor()
    t.equal(await page.locator('html').getAttribute('data-dragged'), '2 items2')
    await page.keyboard.down('Control')
    await target.hover({ position: { x: 5, y: 5 } })
    await label.getByText('Copy to sub', { exact: true }).waitFor()
    await isGood(t, page)
    await row(page, 'b.txt').locator('.cell-modified').hover()
    await label.waitFor({ state: 'detached' })
    await target.hover()
    await target.hover()
    await page.mouse.up()
    await page.keyboard.up('Control')
    await until(async () => (await one.names('sub')).length === 3)
    t.same(await one.names(), ['a.txt', 'b.txt', 'sub'])
    t.equal(await page.locator('.drag-picture, .drop-label').count(), 0, 'nothing stays of the drag')
  })

  t.test('the panel follows a job, pauses, resumes, cancels and retries it', async t => {
    const one = await store('panel', { 'f/a.txt': 'a' })
    const at = (path: string) => ({ providerId: one.id, path })
    const page = await open(t)
    const streams: string[] = []
    page.on('request', request => {
      if (request.headers().accept === 'text/event-stream') streams.push(request.url())
    })
    const id = await createJob({ kind: 'COPY', sources: [at('/missing')], target: at('/copies') })
    await until(async () => (await stateOf(id)) === 'FAILED')
    // No server runs it, so that its state changes only with the buttons.
    const hold = () =>
      sql`update jobs set state = 'RUNNING', lease_id = gen_random_uuid(), ended_at = null,
      lease_until = now() + interval '1 hour', total_files = 8, total_bytes = 800, files = 2, bytes = 200,
      bytes_per_second = 100 where id = ${id}`.execute(app.db)
    await hold()
    await page.goto(one.page)
    await panel(page).getByText('Running · 2 of 8 files · 100 B/s · 6 s left · 1 failed').waitFor()
    t.equal(await panel(page).getByRole('progressbar').getAttribute('aria-valuenow'), '25')
    await until(() => streams.length === 1 || streams)
    await sql`update jobs set files = 4, bytes = 400, lease_until = now() + interval '2 hours' where id = ${id}`.execute(
      app.db,
    )
    await panel(page)
      .getByText(/4 of 8 files/)
      .waitFor()
    await isGood(t, page)
    await panel(page)
      .getByRole('button', { name: /^Pause/ })
      .click()
    await until(async () => {
      const { rows } = await sql<{ requested: string }>`select requested from jobs where id = ${id}`.execute(app.db)
      return rows[0]?.requested === 'PAUSE' || rows
    })
    // Another server carries out the request after the lease has ended.
    await sql`update jobs set lease_until = now() where id = ${id}`.execute(app.db)
    await panel(page)
      .getByText(/^Paused/)
      .waitFor()
    await panel(page).getByRole('button', { name: 'Cancel: Copy “missing” to “copies”' }).click()
    await panel(page)
      .getByText(/^Canceled/)
      .waitFor()
    await panel(page)
      .getByRole('button', { name: /^Failures/ })
      .click()
    await dialog(page).getByText('/missing', { exact: true }).waitFor()
    await dialog(page).getByText('NOT_FOUND').waitFor({ state: 'attached' })
    await isGood(t, page)
    await dialog(page).getByRole('button', { name: 'Close' }).click()
    await dialog(page).waitFor({ state: 'detached' })
    await writeFile(one.at('missing'), 'found')
    await panel(page)
      .getByRole('button', { name: /^Retry/ })
      .click()
    await panel(page).getByText(/^Done/).waitFor()
    t.equal(await stateOf(id), 'SUCCEEDED')
    await isGood(t, page)
  })

  atNight(t, 'without a subscription the panel asks every few seconds', async t => {
    const one = await store('poll', { 'f/a.txt': 'a' })
    const at = (path: string) => ({ providerId: one.id, path })
    const id = await createJob({ kind: 'COPY', sources: [at('/f')], target: at('/copies') })
    await until(async () => (await stateOf(id)) === 'SUCCEEDED')
    await sql`update jobs set state = 'PAUSED', ended_at = null where id = ${id}`.execute(app.db)
    const page = await open(t)
    await page.route('**/graphql', route =>
      route.request().headers().accept === 'text/event-stream' ? route.abort() : route.continue(),
    )
    await page.goto(one.page)
    await panel(page)
      .getByText(/^Paused/)
      .waitFor()
    await panel(page)
      .getByRole('button', { name: /^Resume/ })
      .click()
    await panel(page).getByText(/^Done/).waitFor()
    t.same(page.faults, [])
  })

  atNight(t, 'the history lists jobs, those of everybody for administrators', async t => {
    const one = await store('history', { 'f/a.txt': 'a' })
    const at = (path: string) => ({ providerId: one.id, path })
    const person = await app.register('ann@example.org')
    const update = 'mutation ($input: UpdateMemberInput!) { updateMember(input: $input) { id } }'
    await app.ask(update, { input: { userId: person.id, role: 'EDITOR', providerAccess: { all: true } } }, owner.token)
    const input = { kind: 'COPY', sources: [at('/f')], target: at('/by-ann') }
    await app.ask(create, { input }, person.token)
    const table = (page: Page) => page.getByRole('table', { name: 'Jobs' })
    for (const colorScheme of inTurn(['light', 'dark'] as const)) {
      for (const size of inTurn([{}, phone])) {
        const page = await open(t, { colorScheme, ...size })
        await page.goto('/jobs')
        await table(page).getByText('Copy “f” to “by-ann”').waitFor()
        await table(page).getByText('ann@example.org').waitFor()
        const width = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
        t.ok(width <= 0, 'nothing is wider than the window')
        await isGood(t, page)
      }
    }
    const page = await open(t, { token: person.token })
    await page.goto('/jobs')
    await table(page).getByText('Copy “f” to “by-ann”').waitFor()
    t.equal(await table(page).getByRole('row').count(), 2, 'others see only their own')
    await page.getByRole('button', { name: 'Status' }).click()
    await page.getByRole('option', { name: 'Paused' }).click()
    await page.getByText('There are no jobs').waitFor()
    await isGood(t, page)
    await rm(one.at('by-ann'), { recursive: true, force: true })
  })

  atNight(t, 'the panel fits on a phone', async t => {
    const one = await store('phone', { 'a.txt': 'a', 'b.txt': 'b' })
    const page = await open(t, phone)
    await page.goto(one.page)
    for (const name of ['a.txt', 'b.txt']) await pick(page, name)
    await button(page, 'Delete').click()
    await dialog(page).getByRole('button', { name: 'Delete' }).click()
    await panel(page).getByText(/^Done/).waitFor()
    const box = await panel(page).boundingBox()
    t.ok(box && box.x >= 0 && box.x + box.width <= 390)
    await isGood(t, page)
  })
}
