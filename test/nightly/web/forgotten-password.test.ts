/** Somebody who forgot their password asks for a link by email, and sets a new one with it. */
import t from 'tap'
import { mailServer } from '../../servers/smtp.ts'
import { until } from '../../support/until.ts'
import { button, isGood, main, startFiles } from '../../web/files.ts'

const newPassword = 'a wholly new sentence'
const server = await mailServer(t)
const mail = {
  smtpUrl: server.url,
  from: 'stowage@example.org',
  publicUrl: 'https://files.example.org',
  sendsResets: true,
}
const files = await startFiles(t, { settings: { mail } })
if (files) {
  const { app, owner, open } = files
  await server.start()
  const withoutSession = async (t: Parameters<typeof open>[0], viewport: { width: number; height: number }) => {
    const page = await open(t, { token: '', viewport })
    await page.context().clearCookies()
    return page
  }

  t.test('a person sets a new password with a link from an email', async t => {
    const widths = [
      { width: 1280, height: 800 },
      { width: 390, height: 844 },
    ]
    for (const viewport of widths) {
      const email = `forgetful-${viewport.width}@example.org`
      const made = await app.ask('mutation { createInvite(input: { role: EDITOR }) { invite } }', {}, owner.token)
      await app.register(email, { invite: made.createInvite.invite })

      const page = await withoutSession(t, viewport)
      const sent: string[] = []
      page.on('request', request => sent.push(`${request.url()} ${JSON.stringify(request.headers())}`))
      await page.goto('/sign-in')
      await page.getByRole('link', { name: 'Forgot your password?' }).click()
      const ask = async (address: string) => {
        await page.getByLabel('Email').fill(address)
        await isGood(t, page)
        await button(page, 'Send link').click()
        const said = page.getByRole('status').filter({ hasText: 'a link is on its way' })
        await said.waitFor()
        await isGood(t, page)
        return said.textContent()
      }
      const answer = await ask('nobody@example.org')
      await page.reload()
      t.equal(await ask(email), answer, 'nothing tells who has an account')
      const received = async () => (await server.received()).find(({ recipient }) => recipient === email)
      await until(async () => (await received()) !== undefined)
      const [, token = ''] = /\/reset-password#([\w-]{32})\s/.exec((await received())?.text ?? '') ?? []

      await page.goto(`/reset-password#${token}`)
      await page.getByLabel('New password').fill(newPassword)
      await isGood(t, page)
      await button(page, 'Set password').click()
      await page.getByText('you were signed out everywhere').waitFor()
      t.notMatch(page.url(), token, 'the history has no token')
      await isGood(t, page)
      await main(page).getByRole('link', { name: 'Sign in' }).click()
      await page.getByLabel('Email').fill(email)
      await page.getByLabel('Password', { exact: true }).fill(newPassword)
      await button(page, 'Sign in').click()
      await page.waitForURL(/\/files$/)
      t.equal(sent.filter(text => text.includes(token)).length, 0, 'no address and no referrer has the token')

      const late = await withoutSession(t, viewport)
      await late.goto(`/reset-password#${token}`)
      await late.getByLabel('New password').fill(newPassword)
      await button(late, 'Set password').click()
      await late.getByText('has expired or was used').waitFor()
      await isGood(t, late)
      await main(late).getByRole('link', { name: 'Get a new link' }).click()
      await button(late, 'Send link').waitFor()
      t.notMatch(app.logged(), token)
    }
  })
}
