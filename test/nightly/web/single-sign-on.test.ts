/** Tests the sign-in page and the profile with an OpenID Connect issuer. */
import t from 'tap'
import { startIssuer } from '../../servers/oidc.ts'
import { button, dialog, isGood, signOut, startFiles } from '../../web/files.ts'

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
    for (const viewport of [wide, phone]) {
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
      await signOut(fresh)
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

  t.test('an administrator invites a member, who links an account and signs in with it', async t => {
    const invited = await app.register('invited@example.org')
    for (const viewport of [wide, phone]) {
      issuer.person = { id: `invited ${viewport.width}`, claims: { email: `other-${viewport.width}@id.example.org` } }
      const page = await open(t, { viewport })
      await page.goto('/settings/members')
      const row = page.getByRole('row', { name: 'invited@example.org' })
      await row.getByRole('button', { name: 'Link sign-in' }).click()
      await isGood(t, page)
      await button(page, 'Create link').click()
      const link = (await page.getByTestId('link').textContent()) ?? ''
      t.match(link, /\/link-account#[\w-]{32}$/)

      const member = await open(t, { token: '', viewport })
      await member.context().clearCookies()
      await member.goto(link)
      await member.getByText('with invited@example.org').waitFor()
      await isGood(t, member)
      await button(member, `Link an account at ${host}`).click()
      await member.getByText(`signs in as other-${viewport.width}@id.example.org`).waitFor()
      await isGood(t, member)
      await button(member, 'Link').click()
      await member.waitForURL(/\/files/)
      await member.goto('/settings/profile')
      await member.locator('dd').getByText('invited@example.org', { exact: true }).waitFor()

      const elsewhere = await open(t, { token: '', viewport })
      await elsewhere.goto('/link-account#link=e30.x')
      await elsewhere.getByText('began in another tab or browser').waitFor()
      await isGood(t, elsewhere)
      await elsewhere.goto(link)
      await elsewhere.getByText('The invite is unknown, revoked, expired or used').waitFor()
    }
    t.equal((await app.graphql('{ me { id } }', {}, invited.token)).status, 200)
    t.notMatch(app.logged(), /link-account#/)
  })
}
