/** The console's page of webhooks. */
import t from 'tap'
import { startReceiver } from '../servers/receiver.ts'
import { startApp } from '../support/app.ts'
import { axeViolations, startBrowser, visit } from './browser.ts'

t.test('a webhook is created, tested, changed and deleted', async t => {
  const app = await startApp(t)
  const browser = await startBrowser(t)
  if (!browser) return
  const { token } = await app.register('owner@example.com')
  const providerId = await app.connectProvider(token, 'memory', {}, 'Team disk')
  await app.upload(token, providerId, '/reports/a.txt', 'content')
  const receiver = await startReceiver(t)
  const page = await visit(browser, app, { token })
  const isAccessible = async (what: string) => t.same(await axeViolations(page), [], `axe: ${what}`)
  await page.goto('/settings/webhooks')
  await page.getByText('No webhooks yet.').waitFor()
  await isAccessible('no webhooks')

  await page.getByRole('button', { name: 'New webhook' }).click()
  await page.getByLabel('Name', { exact: true }).fill('Index')
  await page.getByLabel('URL').fill(receiver.url)
  await page.getByRole('radio', { name: 'One folder' }).check()
  await page
    .getByRole('button', { name: 'Team disk' })
    .or(page.getByRole('button', { name: 'reports' }))
    .first()
    .click()
  await isAccessible('a new webhook')
  await page.getByRole('button', { name: 'reports' }).click()
  await page.getByRole('button', { name: 'Create webhook' }).click()
  await page.getByRole('heading', { name: 'Copy the secret now' }).waitFor()
  t.match(await page.locator('code.secret').textContent(), /^whsec_/)
  await isAccessible('the secret')
  await page.getByRole('button', { name: 'StepResults' }).click()

  const row = page.getByRole('row', { name: /Index/ })
  await row.getByText('in Team disk: /reports').waitFor()
  await isAccessible('a list of webhooks')
  await row.getByRole('button', { name: 'Deliveries' }).click()
  receiver.responds = { status: 500 }
  await page.getByRole('button', { name: 'Send a test' }).click()
  await page.getByText('The receiver responded with the status 500.').waitFor()
  await isAccessible('deliveries')
  await page.getByRole('button', { name: 'Close' }).click()
  t.equal((await receiver.first('webhook.test')).payload.type, 'webhook.test')

  await row.getByRole('button', { name: 'Edit' }).click()
  await page.getByLabel('Name', { exact: true }).fill('Search')
  await page.getByRole('button', { name: 'Save' }).click()
  const renamed = page.getByRole('row', { name: /Search/ })
  await renamed.getByRole('button', { name: 'New secret' }).click()
  await page.getByRole('button', { name: 'Create secret' }).click()
  await page.getByRole('heading', { name: 'Copy the secret now' }).waitFor()
  await page.getByRole('button', { name: 'StepResults' }).click()
  await renamed.getByRole('button', { name: 'Edit' }).click()
  await page.getByRole('switch', { name: 'Enabled' }).press('Space')
  await isAccessible('an edited webhook')
  await page.getByRole('button', { name: 'Save' }).click()
  await renamed.getByText('Disabled').waitFor()
  await renamed.getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click()
  await page.getByText('No webhooks yet.').waitFor()
  t.same(page.faults, [])
})
