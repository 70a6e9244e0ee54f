/** Tests the setting, the badge and the page with which a person approves or refuses what agents want to do. */
import t from 'tap'
import { toolCall, toolOutcome } from '../../support/mcp.ts'
import { button, isGood, startFiles } from '../../web/files.ts'

const wide = { width: 1280, height: 800 }
const phone = { width: 390, height: 844 }

const files = await startFiles(t)
if (files) {
  const { app, open, owner, store } = files
  const disk = await store('Disk', { 'a.txt': 'a', 'b.txt': 'b' })
  const { key } = await app.createKey(owner.token, { name: 'Agent', scopes: ['write'] })
  const remove = async (path: string) => {
    const { path: address, ...init } = toolCall('delete', { providerId: disk.id, path, confirm: path })
    const response = await app.request(address, { ...init, token: key })
    return toolOutcome(response.status, await response.text()).errors[0]?.extensions.reason ?? 'OK'
  }

  t.test('a person requires approvals, and decides', async t => {
    const settings = await open(t, { viewport: wide })
    await settings.goto('/settings/workspace')
    await settings.getByRole('checkbox', { name: 'Delete files and folders' }).check({ force: true })
    await isGood(t, settings)
    await button(settings, 'Save').click()
    await settings.getByRole('link', { name: 'Approvals' }).waitFor()

    for (const [viewport, path] of [
      [wide, '/a.txt'],
      [phone, '/b.txt'],
    ] as const) {
      const page = await open(t, { viewport })
      await page.goto('/settings/approvals')
      await page.getByText('Nothing waits for you.').waitFor()
      await isGood(t, page)
      const call = remove(path)
      await page.getByRole('link', { name: '1 approval' }).waitFor()
      const row = page.getByRole('row', { name: `Delete ${path}` })
      await row.getByText('Agent').waitFor()
      await row.getByText('Disk').waitFor()
      t.ok(
        await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth),
        'nothing is wider than the screen',
      )
      await isGood(t, page)
      await row.getByRole('button', { name: path === '/a.txt' ? 'Approve' : 'Refuse' }).click()
      t.equal(await call, path === '/a.txt' ? 'OK' : 'APPROVAL_REFUSED')
      await page.getByText('Nothing waits for you.').waitFor()
      await page.getByRole('link', { name: '1 approval' }).waitFor({ state: 'detached' })
    }
    t.same(await disk.names(), ['b.txt'])
  })
}
