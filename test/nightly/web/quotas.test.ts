/** The quota of a storage: administrators set it, and everybody sees their own. */
import t from 'tap'
import { button, dialog, isGood, row, startFiles } from '../../web/files.ts'

const files = await startFiles(t)
if (files) {
  const { app, owner, open, store } = files
  await store('Disk', { 'a.bin': 'a'.repeat(1_500_000) })
  const viewports = { desktop: { width: 1280, height: 800 }, phone: { width: 390, height: 844 } }

  for (const [name, viewport] of Object.entries(viewports)) {
    t.test(`an administrator sets the quota of a storage: ${name}`, async t => {
      const page = await open(t, { viewport })
      await page.goto('/settings/storages')
      await button(page, 'Quota').click()
      const form = dialog(page)
      const save = form.getByRole('button', { name: 'Save' })
      await form.getByLabel('Gigabytes').fill('many')
      await save.click()
      await form.getByText('Enter a number, such as 50 or 0.5.').waitFor()
      await form.getByLabel('Gigabytes').fill('0.002')
      await form.getByLabel('Files', { exact: true }).fill('10')
      await isGood(t, page)
      await save.click()
      await page.getByText('Quota: 1.50 MB of 2.00 MB used').waitFor()
      await page.getByText('Quota: 1 of 10 files').waitFor()
      await isGood(t, page)
      await button(page, 'Quota').click()
      t.equal(await form.getByLabel('Gigabytes').inputValue(), '0.002')
      await form.getByLabel('Gigabytes').fill('')
      await form.getByLabel('Files', { exact: true }).fill('')
      await save.click()
      await form.waitFor({ state: 'hidden' })
      await page.getByText('Quota: 1 of 10 files').waitFor({ state: 'hidden' })
    })
  }

  t.test('an administrator sets the quotas of a folder and of a member', async t => {
    const { page: address } = await store('Team', { 'team/b.bin': 'b'.repeat(1_500_000) })
    const { createInvite } = await app.ask(
      'mutation { createInvite(input: { role: EDITOR, providerAccess: { all: true } }) { invite } }',
      {},
      owner.token,
    )
    await app.register('anna@example.org', { invite: createInvite.invite })
    const page = await open(t)
    await page.goto('/settings/members')
    const member = page.getByRole('row').filter({ hasText: 'anna@example.org' })
    await member.getByRole('button', { name: 'Quota' }).click()
    const form = dialog(page)
    await form.getByLabel('Gigabytes').fill('3')
    await isGood(t, page)
    await form.getByRole('button', { name: 'Save' }).click()
    await form.waitFor({ state: 'hidden' })
    await member.getByRole('button', { name: 'Quota' }).click()
    await form.getByText('Quota: 0 B of 3.00 GB used').waitFor()
    await page.keyboard.press('Escape')
    await page.goto(address)
    await row(page, 'team').getByRole('button', { name: 'Actions' }).click()
    await page.getByRole('menuitem', { name: 'Details' }).click()
    await button(page, 'Set quota').click()
    await page.getByLabel('Gigabytes').fill('0.003')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Quota: 1.50 MB of 3.00 MB used').waitFor()
    await isGood(t, page)
  })

  t.test('people see their own quota in their profile', async t => {
    await app.ask(
      'mutation ($input: SetQuotaInput!) { setQuota(input: $input) { id } }',
      { input: { userId: owner.id, bytes: 5_000_000_000 } },
      owner.token,
    )
    const page = await open(t)
    await page.goto('/settings/profile')
    await page.getByText('Quota: 0 B of 5.00 GB used').waitFor()
    await isGood(t, page)
  })
}
