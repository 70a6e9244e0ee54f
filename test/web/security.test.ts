/** Tests passkeys, second factors and confirmations in the console, with the virtual authenticator of Chromium. */
import { TOTP } from 'otpauth'
import type { Page } from 'playwright-core'
import t from 'tap'
import { outdateSessions } from '../support/app.ts'
import { password } from '../support/client.ts'
import { atNight, inTurn } from '../support/extent.ts'
import { button, dialog, isGood, signOut, startFiles } from './files.ts'

const wide = { width: 1280, height: 800 }
const phone = { width: 390, height: 844 }

const files = await startFiles(t)
if (files) {
  const { app, open, owner } = files
  // Browsers offer no passkeys for addresses without a name.
  const baseURL = app.url.replace('127.0.0.1', 'localhost')

  async function enterPassword(page: Page, email: string): Promise<void> {
    await page.goto('/sign-in?next=/settings/security')
    await page.getByLabel('Email').fill(email)
    await page.getByLabel('Password').fill(password)
    await button(page, 'Sign in').click()
  }

  /** Sets up an authenticator app, whose dialog is open, and returns its secret. */
  async function setUpApp(page: Page): Promise<string> {
    const secret = (await page.getByTestId('totp-secret').textContent()) ?? ''
    await dialog(page).getByLabel('Code').fill(new TOTP({ secret }).generate())
    await dialog(page).getByRole('button', { name: 'Add' }).click()
    return secret
  }

  t.test('a person adds factors, signs in with them, and confirms a change', async t => {
    for (const viewport of inTurn([wide, phone])) {
      const email = `person-${viewport.width}@example.org`
      await app.register(email)
      const page = await open(t, { token: '', baseURL, viewport })
      const devtools = await page.context().newCDPSession(page)
      await devtools.send('WebAuthn.enable')
      await devtools.send('WebAuthn.addVirtualAuthenticator', {
        options: {
          protocol: 'ctap2',
          transport: 'internal',
          hasResidentKey: true,
          hasUserVerification: true,
          isUserVerified: true,
          automaticPresenceSimulation: true,
        },
      })
      await enterPassword(page, email)
      await page.getByRole('heading', { name: 'Passkeys' }).waitFor()
      await isGood(t, page)
      await button(page, 'Add a passkey').click()
      await dialog(page).getByLabel('Name').fill('My laptop')
      await isGood(t, page)
      await dialog(page).getByRole('button', { name: 'Add' }).click()
      await dialog(page).getByText('They are shown only once').waitFor()
      await isGood(t, page)
      const codes = await dialog(page).getByTestId('recovery-codes').locator('code').allTextContents()
      t.equal(codes.length, 10)
      await button(page, 'I have stored them').click()
      const passkeys = page.getByRole('table', { name: 'Passkeys' })
      await passkeys.getByRole('button', { name: 'Rename' }).click()
      await dialog(page).getByLabel('Name').fill('My phone')
      await dialog(page).getByRole('button', { name: 'Rename' }).click()
      await passkeys.getByRole('row', { name: 'My phone' }).waitFor()
      await button(page, 'Set up an app').click()
      await page.getByAltText('QR code for the authenticator app').waitFor()
      await isGood(t, page)
      await setUpApp(page)
      await page.getByText('An authenticator app is set up.').waitFor()
      await isGood(t, page)

      await signOut(page)
      await button(page, 'Sign in with a passkey').waitFor()
      await isGood(t, page)
      await button(page, 'Sign in with a passkey').click()
      await page.waitForURL(/\/files/)
      await page.goto('/settings/security')
      await passkeys.getByRole('row', { name: 'My phone' }).waitFor()
      await signOut(page)

      await enterPassword(page, email)
      await page.getByRole('heading', { name: 'Second factor' }).waitFor()
      await isGood(t, page)
      await page.getByLabel('Code').fill('000000')
      await button(page, 'Continue').click()
      await page.getByText('The code is wrong').waitFor()
      await button(page, 'Use a recovery code').click()
      await page.getByLabel('Recovery code').fill(codes[0] ?? '')
      await button(page, 'Continue').click()
      await page.getByText('You have 9 codes left.').waitFor()
      await button(page, 'Create new codes').click()
      await dialog(page).getByRole('button', { name: 'Create' }).click()
      await button(page, 'I have stored them').click()
      await page.getByText('You have 10 codes left.').waitFor()

      await outdateSessions(app)
      await button(page, 'Remove the app').click()
      await dialog(page).getByRole('button', { name: 'Remove' }).click()
      const confirming = page.getByRole('dialog', { name: 'Confirm that it is you' })
      await confirming.getByRole('button', { name: 'Use a passkey' }).click()
      await isGood(t, page)
      await confirming.getByRole('button', { name: 'Use a passkey' }).click()
      await button(page, 'Set up an app').waitFor()
      await confirming.waitFor({ state: 'detached' })
    }
  })

  atNight(t, 'an owner requires a second factor, after entering the password, and an editor sets one up', async t => {
    const invite = 'mutation { createInvite(input: { role: EDITOR }) { invite } }'
    for (const viewport of inTurn([wide, phone])) {
      const { createInvite } = await app.ask(invite, {}, await freshToken())
      const editor = await app.register(`editor-${viewport.width}@example.org`, createInvite)
      const page = await open(t, { viewport })
      await outdateSessions(app)
      await page.goto('/settings/workspace')
      await page.getByRole('checkbox', { name: 'Editor' }).click()
      await isGood(t, page)
      await button(page, 'Save').click()
      await dialog(page).getByLabel('Current password').fill(password)
      await isGood(t, page)
      await dialog(page).getByRole('button', { name: 'Confirm' }).click()
      await page.getByText('Saved').first().waitFor()

      if (viewport === phone) continue
      const theirs = await open(t, { token: editor.token, viewport: phone })
      await theirs.goto('/files')
      await theirs.waitForURL(/\/settings\/security$/)
      await theirs.getByText('Your workspace requires a second factor').waitFor()
      await isGood(t, theirs)
      await button(theirs, 'Set up an app').click()
      await theirs.getByAltText('QR code for the authenticator app').waitFor()
      await dialog(theirs).getByRole('button', { name: 'Cancel' }).click()
      await page.goto('/settings/members')
      const row = page.getByRole('row', { name: `editor-${viewport.width}@example.org` })
      await row.getByRole('button', { name: 'Reset second factors' }).click()
      await dialog(page).getByText('are removed, and all sessions end').waitFor()
      await isGood(t, page)
      await dialog(page).getByRole('button', { name: 'Reset' }).click()
      await page.getByText('The second factors are removed.').first().waitFor()
      t.equal((await app.graphql('{ me { id } }', {}, editor.token)).status, 401)
    }
  })

  async function freshToken(): Promise<string> {
    const login = 'mutation ($input: LoginInput!) { login(input: $input) { token } }'
    return (await app.ask(login, { input: { email: 'owner@example.org', password } })).login.token
  }
  t.ok(owner)
}
