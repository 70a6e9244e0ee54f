/** Tests the sign-in page and the profile with an OpenID Connect issuer. */
import t from 'tap'
import { startIssuer } from '../servers/oidc.ts'
import { inTurn } from '../support/extent.ts'
import { button, dialog, isGood, startFiles } from './files.ts'

const wide = { width: 1280, height: 800 }
const phone = { width: 390, height: 844 }

const issuer = await startIssuer(t)
const oidc = { issuer: issuer.url, clientId: issuer.clientId, clientSecret: issuer.clientSecret, groupsClaim: null }
const files = await startFiles(t, { settings: { oidc } })
if (files) {
  const { app, open } = files
  issuer.register([`${app.url}/auth/oidc/callback`], [`${app.url}/sign-in`])
  const { host } = new URL(issuer.url)

  t.test('a person links an account, signs in with it, and removes it', async t => {
    for (const viewport of inTurn([wide, phone])) {
      const email = `sso-${viewport.width}@example.org`
      const { token } = await app.register(email)
      issuer.person = { id: `ann ${viewport.width}`, claims: { email: 'ann@id.example.org' } }
      const page = await open(t, { token, viewport })
      await page.goto('/settings/profile')
      await page.getByText('sign in without your password').waitFor()
      await isGood(t, page)
      await button(page, `Link an account at ${host}`).click()
      await dialog(page).getByText('can then use Stowage as you').waitFor()
      await isGood(t, page)
      await button(page, 'Link').click()
      await dialog(page).waitFor({ state: 'detached' })
      const row = page.getByRole('table', { name: 'Linked accounts' }).getByRole('row', { name: 'ann@id.example.org' })
      await row.getByText('Never').waitFor()
      t.equal(new URL(page.url()).hash, '', 'the ticket leaves the address')
      await isGood(t, page)

      const fresh = await open(t, { token: '', viewport })
      await fresh.context().clearCookies()
      await fresh.goto('/sign-in?next=/settings/profile')
      const link = fresh.getByRole('link', { name: `Sign in with ${host}` })
      await link.waitFor()
      await isGood(t, fresh)
      await link.click()
      await fresh.waitForURL(/\/settings\/profile$/)
      await fresh.locator('dd').getByText(email, { exact: true }).waitFor()
      await isGood(t, fresh)
      await fresh.getByRole('button', { name: 'Sign out', exact: true }).click()
      await fresh.getByText(`You may still be signed in at ${host}`).waitFor()
      await isGood(t, fresh)
      await fresh.getByRole('link', { name: `Sign out at ${host}, too` }).click()
      await fresh.waitForURL(/\/session\/end/)
      await fresh.goto('/sign-in?next=/settings/profile')
      await link.click()
      await fresh.waitForURL(/\/settings\/profile$/)
      await fresh.getByRole('table', { name: 'Linked accounts' }).getByRole('button', { name: 'Remove' }).click()
      await dialog(fresh).getByRole('button', { name: 'Remove' }).click()
      await fresh.getByRole('button', { name: 'Sign in', exact: true }).waitFor()

      await fresh.goto('/sign-in')
      await link.click()
      await fresh.getByText('No account is linked with this identity').waitFor()
      await isGood(t, fresh)
      await fresh.getByRole('link', { name: 'Back to the sign-in page' }).click()
      await link.waitFor()
    }
  })
}
