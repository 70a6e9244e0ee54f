/** The overview for administrators. */
import { sql } from 'kysely'
import t from 'tap'
import { until } from '../../support/until.ts'
import { isGood, main, startFiles } from '../../web/files.ts'

const files = await startFiles(t)
if (files) {
  const { app, owner, open, store } = files
  const { db } = app
  const disk = await store('Disk', { 'a.txt': 'a' })
  const archive = await store('Archive')

  for (const [name, viewport] of Object.entries({
    desktop: { width: 1280, height: 800 },
    phone: { width: 390, height: 844 },
  })) {
    t.test(`the overview answers the questions of an administrator: ${name}`, async t => {
      for (const table of ['usage_days', 'lost_emails', 'server_processes']) {
        await sql`delete from ${sql.table(table)}`.execute(db)
      }
      await sql`update providers set status = 'CONNECTED'`.execute(db)
      const page = await open(t, { viewport })
      await page.goto('/settings/profile')
      await page.getByRole('link', { name: 'Overview' }).click()
      await page.getByText('Everything works').waitFor()
      await page.getByText('Usage appears here').waitFor()
      await main(page).getByText('Active in the last 7 days: 1 of 1').waitFor()
      await isGood(t, page)
      const login = 'mutation ($input: LoginInput!) { login(input: $input) { token } }'
      const wrong = { input: { email: 'owner@example.org', password: 'a password that is mistyped' } }
      await app.graphql(login, wrong)
      await app.app.services.audit.flush()
      await page.reload()
      await page.getByText('Everything works').waitFor()
      const refused = page.getByRole('link', { name: 'refused' })
      t.match(await refused.getAttribute('href'), 'outcome=WRONG_EMAIL_OR_PASSWORD')

      await sql`insert into usage_days (provider_id, day, files, bytes)
        select id, (now() at time zone 'utc')::date - n, 10 - n, (10 - n) * 1000000
        from providers, generate_series(0, 9) n where name = 'Disk'`.execute(db)
      await sql`update providers set status = 'UNAVAILABLE', status_reason = 'The disk is away.' where name = 'Archive'`.execute(
        db,
      )
      for (const version of ['1.0.0', '1.0.1']) {
        await sql`insert into server_processes (id, host, version, node_version, started_at, renewed_at)
          values (gen_random_uuid(), ${`server-${version}`}, ${version}, '24.1.0', now() - interval '3 hours', now())`.execute(
          db,
        )
      }
      await page.reload()
      await page.getByRole('link', { name: '1 storage not working' }).waitFor()
      const slider = page.getByRole('slider', { name: 'Usage' })
      t.match(await slider.getAttribute('aria-valuetext'), /10 files, 10\.0 MB/)
      await slider.focus()
      await page.keyboard.press('ArrowLeft')
      await until(async () => /9 files, 9\.00 MB/.test((await slider.getAttribute('aria-valuetext')) ?? ''))
      await page.getByText('9.00 MB', { exact: true }).waitFor()
      const box = await slider.boundingBox()
      if (!box) throw new Error('The chart is not there.')
      await page.mouse.move(box.x + 1, box.y + box.height / 2)
      await page.getByText('1.00 MB', { exact: true }).waitFor()
      await page.mouse.move(0, 0)
      await until(async () => /10 files, 10\.0 MB/.test((await slider.getAttribute('aria-valuetext')) ?? ''))
      await page.getByText('+9.00 MB', { exact: true }).waitFor()
      await page.getByRole('radio', { name: '12 months' }).check({ force: true })
      await page.getByText('Several versions').waitFor()
      await main(page).getByText('The disk is away.').waitFor()
      await isGood(t, page)
      await page.getByRole('link', { name: '1 storage not working' }).click()
      await page.waitForURL('**/settings/storages')
    })
  }

  t.test('each failure leads to the page that shows it, and a storage can be chosen', async t => {
    await sql`insert into usage_days (provider_id, day, files, bytes)
      values (${archive.id}, (now() at time zone 'utc')::date, 7, 7000000) on conflict do nothing`.execute(db)
    await sql`insert into jobs (id, workspace_id, user_id, credential_kind, credential_id, address, request_id, kind, state, sources,
        conflict, ended_at)
      select gen_random_uuid(), id, ${owner.id}, 'SESSION', gen_random_uuid(), '', '', 'DELETE', 'FAILED',
        ${JSON.stringify([{ providerId: disk.id, path: 'a.txt' }])}, 'FAIL', now() from workspaces`.execute(db)
    const page = await open(t)
    await page.goto('/settings/overview')
    await page.getByRole('button', { name: /All storages/ }).click()
    await page.getByRole('option', { name: 'Archive' }).click()
    await page.getByText('7.00 MB', { exact: true }).waitFor()
    await page.getByText('The line begins tomorrow').waitFor()
    await isGood(t, page)
    await page.getByRole('link', { name: '1 job failed' }).click()
    await page.waitForURL('**/jobs?state=FAILED')
    await page.getByRole('button', { name: /Failed/ }).waitFor()
    await isGood(t, page)
  })

  t.test('members who do not administer the workspace do not see it', async t => {
    const member = await app.register('member@example.org')
    const page = await open(t, { token: member.token })
    await page.goto('/settings/overview')
    await page.getByText('administrators').first().waitFor()
    await isGood(t, page)
  })
}
