/** Tests the settings of single sign-on. */
import t from 'tap'
import { callbackPathOf } from '../../../src/services/people/issuer-registry.ts'
import { startIssuer } from '../../servers/oidc.ts'
import { isAccessible } from '../../web/browser.ts'
import { button, dialog, isGood, startFiles } from '../../web/files.ts'

const wide = { width: 1280, height: 800 }
const phone = { width: 390, height: 844 }

const [operated, added] = [await startIssuer(t), await startIssuer(t)]
const oidc = { issuer: operated.url, clientId: 'stowage', clientSecret: operated.clientSecret, groupsClaim: null }
const files = await startFiles(t, { settings: { oidc } })
if (files) {
  const { app, open } = files
  added.register([app.url + callbackPathOf(null, added.url)])

  t.test('an owner adds an issuer, tests it, changes it and removes it', async t => {
    for (const viewport of [wide, phone]) {
      const page = await open(t, { viewport })
      await page.goto('/settings/single-sign-on')
      const table = page.getByRole('table', { name: 'Issuers' })
      const ofOperator = table.getByRole('row', { name: operated.url })
      await ofOperator.getByText('Set by the operator').waitFor()
      t.equal(await ofOperator.getByRole('button', { name: 'Edit' }).count(), 0)
      await page.getByText(`${app.url}/auth/oidc/callback`).waitFor()
      await isGood(t, page)

      await button(page, 'New issuer').click()
      await dialog(page).getByLabel('Name').fill('Work')
      await dialog(page).getByLabel('Address of the issuer').fill(added.url)
      await dialog(page).getByLabel('Client ID').fill(added.clientId)
      await dialog(page).getByLabel('Client secret').fill(added.clientSecret)
      await dialog(page).getByLabel('Domains of email addresses').fill('id.example.org, example.com')
      await dialog(page).getByText('Create groups to give them some').waitFor()
      await isGood(t, page)
      added.person = { id: `ann ${viewport.width}`, claims: { email: 'ann@id.example.org', email_verified: true } }
      const opened = page.context().waitForEvent('page')
      await button(page, 'Test sign-in').last().click()
      const tab = await opened
      await tab.getByText('domain of the issuer').waitFor()
      await tab.getByText('ann@id.example.org').waitFor()
      t.equal(await tab.evaluate('window.opener'), null)
      await isAccessible(t, tab, 'the result of a test sign-in')
      await tab.close()
      await button(page, 'Add issuer').click()
      await dialog(page).waitFor({ state: 'detached' })
      const row = table.getByRole('row', { name: added.url })
      await row.getByText('Also with a verified address in id.example.org, example.com').waitFor()
      await isGood(t, page)

      await row.getByRole('button', { name: 'Edit' }).click()
      await dialog(page).getByRole('switch', { name: 'Enabled' }).press('Space')
      await dialog(page).getByRole('button', { name: 'Save' }).click()
      await row.getByText('Disabled').waitFor()
      await row.getByRole('button', { name: 'Remove' }).click()
      await dialog(page).getByText('no longer linked with it').waitFor()
      await isGood(t, page)
      await dialog(page).getByRole('button', { name: 'Remove' }).click()
      await row.waitFor({ state: 'detached' })
    }
  })
}
