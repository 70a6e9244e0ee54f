import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { password } from '../support/client.ts'
import { uploadThrottle, type Visit } from './browser.ts'
import { button, isGood, row, startFiles, type TestStore } from './files.ts'

const files = await startFiles(t)
if (files) {
  const { app, owner, open, store } = files

  t.test('a session that ended elsewhere keeps nobody from signing in or registering', async t => {
    const { createInvite } = await app.ask(
      'mutation ($input: CreateInviteInput!) { createInvite(input: $input) { invite } }',
      { input: { role: 'VIEWER' } },
      owner.token,
    )
    for (const address of ['/sign-in', `/register?invite=${createInvite.invite}`]) {
      const login = 'mutation ($input: LoginInput!) { login(input: $input) { token } }'
      const { token } = (await app.ask(login, { input: { email: 'owner@example.org', password } })).login
      await app.ask('mutation { logout }', {}, token)
      const page = await open(t, { token })
      await page.goto(address)
      const isNew = address.startsWith('/register')
      await page.getByLabel('Email').fill(isNew ? 'invited@example.org' : 'owner@example.org')
      await page.getByLabel('Password').fill(password)
      await button(page, isNew ? 'Create account' : 'Sign in').click()
      await page.waitForURL(/\/files$/)
      await isGood(t, page)
    }
  })

  /** An upload that is held after some of it, of which the server has told that it knows it. */
  const holdUpload = async (page: Visit, to: TestStore) => {
    const content = randomBytes(16 * 1024 * 1024)
    const file = join(app.folder, 'held.bin')
    await writeFile(file, content)
    await page.goto(to.page)
    await page.getByText('This folder is empty').waitFor()
    const throttle = await uploadThrottle(page)
    await throttle(3_000_000)
    await page.getByLabel('Files to upload').setInputFiles(file)
    await page.locator('.upload-state', { hasText: /^([1-9]|\d\d) % ·/ }).waitFor()
    await button(page, 'Pause: held.bin').click()
    await page.getByText(/Paused at \d+ %/).waitFor()
    await throttle(-1)
  }

  t.test('a server that is away for a while ends neither the page nor its uploads', async t => {
    const to = await store('away')
    const page = await open(t)
    await page.clock.install()
    await holdUpload(page, to)
    await button(page, 'New folder').click()
    await page.getByLabel('Name', { exact: true }).fill('typed before')
    let refused = 0
    await page.route('**/graphql', route => {
      refused += 1
      return route.abort('connectionrefused')
    })
    // Whoever comes back to the tab later makes it ask anew who is signed in.
    await page.clock.fastForward(120_000)
    await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange', { bubbles: true })))
    // The session, the providers and the folder, three times each.
    for (let second = 0; refused < 9 && second < 100; second += 1) {
      await page.waitForTimeout(100)
      await page.clock.fastForward(1000)
    }
    t.ok(refused >= 9, `asked ${refused} times`)
    await page.getByRole('alert').filter({ hasText: 'cannot be reached' }).waitFor({ state: 'attached' })
    t.equal(await page.getByLabel('Name', { exact: true }).inputValue(), 'typed before')
    await page.unroute('**/graphql')
    await button(page, 'Create').click()
    await row(page, 'typed before').waitFor()
    await button(page, 'Resume: held.bin').click()
    await row(page, 'held.bin').waitFor()
    await page.getByText('1 upload complete').waitFor()
    t.same(await to.names(), ['held.bin', 'typed before'])
    t.same(page.faults, [])
  })

  t.test('a page whose script does not come says so, and leaves uploads alone', async t => {
    const to = await store('lazy')
    const page = await open(t)
    await holdUpload(page, to)
    await page.route('**/assets/**', route => route.abort('connectionrefused'))
    await page.getByRole('link', { name: 'Settings' }).click()
    await page.getByRole('heading', { name: 'This page could not be shown' }).waitFor()
    await page.getByText('could not be fetched: check the network').waitFor()
    await page.getByText(/Paused at \d+ %/).waitFor()
    t.equal(page.url().endsWith('/settings/profile') || page.url().endsWith('/settings'), true, page.url())
    await isGood(t, page)
    await page.unroute('**/assets/**')
    await page.goBack()
    await button(page, 'Resume: held.bin').click()
    await row(page, 'held.bin').waitFor()
  })

  t.test('who signs in or out in one tab does so in all', async t => {
    const [to, theirs] = [await store('tabs', { 'only the owner.txt': 'x' }), await store('theirs')]
    const email = 'other@example.org'
    const { id } = await app.register(email)
    await app.ask(
      'mutation ($input: UpdateMemberInput!) { updateMember(input: $input) { id } }',
      {
        input: {
          userId: id,
          role: 'VIEWER',
          providerAccess: { restrictions: [{ providerId: theirs.id, basePath: '/' }] },
        },
      },
      owner.token,
    )
    const login = 'mutation ($input: LoginInput!) { login(input: $input) { token } }'
    const session = (await app.ask(login, { input: { email: 'owner@example.org', password } })).login.token
    const page = await open(t, { token: session })
    await page.goto(to.page)
    await row(page, 'only the owner.txt').waitFor()
    const tab = await page.context().newPage()
    await tab.goto('/sign-in')
    await tab.getByLabel('Email').fill(email)
    await tab.getByLabel('Password').fill(password)
    await button(tab as Visit, 'Sign in').click()
    await tab.waitForURL(/\/files$/)
    await page.getByText(email).waitFor()
    await page.getByText('This storage is not there').waitFor()
    await button(tab as Visit, 'Sign out').click()
    await page.waitForURL(/\/sign-in/)
    t.same(page.faults, [])
  })

  t.test('an upload of one tab is not interrupted for another one, until the first is gone', async t => {
    const to = await store('two tabs')
    const page = await open(t)
    await holdUpload(page, to)
    const tab = await page.context().newPage()
    await tab.goto(to.page, { waitUntil: 'networkidle' })
    await tab.getByText('This folder is empty').waitFor()
    t.equal(await tab.getByText('interrupted').count(), 0)
    await page.close()
    await tab.reload()
    await tab.getByText('1 upload was interrupted').waitFor()
  })

  t.test('a session that has ended leads back to signing in', async t => {
    const to = await store('ended', { 'a.txt': 'a' })
    const login = 'mutation ($input: LoginInput!) { login(input: $input) { token } }'
    const { token } = (await app.ask(login, { input: { email: 'owner@example.org', password } })).login
    const page = await open(t, { token })
    await page.goto(to.page)
    await row(page, 'a.txt').waitFor()
    await app.ask('mutation { logout }', {}, token)
    await button(page, 'New folder').click()
    await page.getByLabel('Name', { exact: true }).fill('made')
    await button(page, 'Create').click()
    await page.getByRole('alert').getByRole('link', { name: 'Sign in' }).click()
    await page.getByLabel('Email').fill('owner@example.org')
    await page.getByLabel('Password').fill(password)
    await button(page, 'Sign in').click()
    await row(page, 'a.txt').waitFor()
    t.equal(new URL(page.url()).pathname, to.page)
    await isGood(t, page)
  })

  t.test('signing out asks while uploads are under way', async t => {
    const to = await store('leaving')
    const login = 'mutation ($input: LoginInput!) { login(input: $input) { token } }'
    const { token } = (await app.ask(login, { input: { email: 'owner@example.org', password } })).login
    const page = await open(t, { token })
    await holdUpload(page, to)
    await button(page, 'Sign out').click()
    await page.getByRole('alertdialog').getByText('Uploads are not complete').waitFor()
    await isGood(t, page)
    await button(page, 'Cancel').click()
    await page.getByText(/Paused at \d+ %/).waitFor()
    await button(page, 'Sign out').click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Sign out' }).click()
    await page.waitForURL(/\/sign-in/)
    await isGood(t, page)
  })
}
