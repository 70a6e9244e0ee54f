import { randomBytes } from 'node:crypto'
import { rename, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import t from 'tap'
import { password } from '../support/client.ts'
import { atNight } from '../support/extent.ts'
import { signIn, uploadThrottle, type Visit } from './browser.ts'
import { button, isGood, row, signOut, startFiles, startFolder, type TestStore } from './files.ts'

const files = await startFiles(t)
if (files) {
  const { app, owner, open, store } = files

  atNight(t, 'people can sign in and register although their old session has ended', async t => {
    const { createInvite } = await app.ask(
      'mutation ($input: CreateInviteInput!) { createInvite(input: $input) { invite } }',
      { input: { role: 'VIEWER' } },
      owner.token,
    )
    for (const address of ['/sign-in', `/register?invite=${createInvite.invite}`]) {
      const token = await signIn(app, 'owner@example.org')
      await app.ask('mutation { logout }', {}, token)
      const page = await open(t, { token })
      await page.goto(address)
      const isNew = address.startsWith('/register')
      await page.getByLabel('Email').fill(isNew ? 'invited@example.org' : 'owner@example.org')
      await page.getByLabel('Password').fill(password)
      await button(page, isNew ? 'Create account' : 'Sign in').click()
      await page.waitForURL(/\/files$/)
      await page.getByRole('heading', { level: 1 }).waitFor()
      await isGood(t, page)
    }
  })

  /** Starts an upload and pauses it after the server has stored a part. */
  const pauseUpload = async (page: Visit, to: TestStore) => {
    const content = randomBytes(16 * 1024 * 1024)
    const file = join(app.folder, 'paused.bin')
    await writeFile(file, content)
    await page.goto(to.page)
    await page.getByText('This folder is empty').waitFor()
    const throttle = await uploadThrottle(page)
    await throttle(1_500_000)
    await page.getByLabel('Files to upload').setInputFiles(file)
    await page.locator('.upload-state', { hasText: /^([1-9]|\d\d)% ·/ }).waitFor()
    await button(page, 'Pause: paused.bin').click()
    await page.getByText(/Paused at \d+%/).waitFor()
    await throttle(-1)
  }

  t.test('an open page and its uploads survive a server outage', async t => {
    const to = await store('away')
    const page = await open(t)
    await page.clock.install()
    await pauseUpload(page, to)
    await startFolder(page)
    await page.getByLabel('Name', { exact: true }).fill('typed before')
    let refused = 0
    await page.route('**/graphql', route => {
      refused += 1
      return route.abort('connectionrefused')
    })
    // A tab that becomes visible again checks the session.
    await page.clock.fastForward(120_000)
    await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange', { bubbles: true })))
    // The page requests the session, the providers and the folder, three times each.
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
    await button(page, 'Resume: paused.bin').click()
    await row(page, 'paused.bin').waitFor()
    await page.getByText('1 upload complete').waitFor()
    t.same(await to.names(), ['paused.bin', 'typed before'])
    t.same(page.faults, [])
  })

  atNight(t, 'a folder that is opened without a network is shown when the network is back', async t => {
    const to = await store('offline', { 'sub/inside.txt': 'x' })
    const page = await open(t, { viewport: { width: 390, height: 844 } })
    await page.goto(to.page)
    await row(page, 'sub').waitFor()
    await page.context().setOffline(true)
    await page.getByRole('link', { name: 'sub' }).click()
    await page.getByRole('status').getByText('You are offline').waitFor()
    await page.getByRole('alert').getByText('cannot be reached').waitFor()
    t.equal(await button(page, 'Upload').count(), 0, 'nothing can be uploaded into a folder that is not known')
    await isGood(t, page)
    await page.context().setOffline(false)
    await row(page, 'inside.txt').waitFor()
    await page.getByText('You are offline').waitFor({ state: 'detached' })
    await page.route('**/graphql', route => route.fulfill({ status: 502, body: 'Bad gateway' }))
    await button(page, 'Refresh').click()
    await page.getByRole('status').getByText('Server unavailable (502)').waitFor()
    await isGood(t, page)
    await page.unroute('**/graphql')
    await page.getByText('Server unavailable (502). Trying again').waitFor({ state: 'detached' })
    await row(page, 'inside.txt').waitFor()
  })

  atNight(t, 'a page whose script cannot be loaded shows an error, and uploads continue', async t => {
    const to = await store('lazy')
    const page = await open(t)
    await pauseUpload(page, to)
    await page.route('**/assets/**', route => route.abort('connectionrefused'))
    await page.getByRole('link', { name: 'Settings' }).click()
    await page.getByRole('heading', { name: 'This page could not be shown' }).waitFor()
    await page.getByText('could not be loaded. Check your connection').waitFor()
    await page.getByText(/Paused at \d+%/).waitFor()
    t.equal(page.url().endsWith('/settings/profile') || page.url().endsWith('/settings'), true, page.url())
    await isGood(t, page)
    await page.unroute('**/assets/**')
    await page.goBack()
    await button(page, 'Resume: paused.bin').click()
    await row(page, 'paused.bin').waitFor()
  })

  atNight(t, 'signing in or out in one tab applies to all tabs', async t => {
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
    const session = await signIn(app, 'owner@example.org')
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
    await page.getByText('Storage not found').waitFor()
    await signOut(tab as Visit)
    await page.waitForURL(/\/sign-in/)
    t.same(page.faults, [])
  })

  atNight(t, 'an upload counts as interrupted only after the tab that sends it is closed', async t => {
    const to = await store('two tabs')
    const page = await open(t)
    await pauseUpload(page, to)
    const tab = await page.context().newPage()
    await tab.goto(to.page, { waitUntil: 'networkidle' })
    await tab.getByText('This folder is empty').waitFor()
    t.equal(await tab.getByText('interrupted').count(), 0)
    await page.close()
    await tab.reload()
    await tab.getByText('1 upload was interrupted').waitFor()
  })

  atNight(t, 'a folder whose session has ended leads to the sign-in page and back', async t => {
    const to = await store('ended', { 'a.txt': 'a' })
    const token = await signIn(app, 'owner@example.org')
    const page = await open(t, { token })
    await page.goto(to.page)
    await row(page, 'a.txt').waitFor()
    await app.ask('mutation { logout }', {}, token)
    await page.getByLabel('Email').fill('owner@example.org')
    await page.getByLabel('Password').fill(password)
    await button(page, 'Sign in').click()
    await row(page, 'a.txt').waitFor()
    t.equal(new URL(page.url()).pathname, to.page)
    await isGood(t, page)
  })

  atNight(t, 'without changes of others, the next action shows that the session has ended', async t => {
    const to = await store('ended-later', { 'a.txt': 'a' })
    const token = await signIn(app, 'owner@example.org')
    const page = await open(t, { token })
    await page.route('**/follow-folder-*.js', route => route.abort())
    await page.goto(to.page)
    await row(page, 'a.txt').waitFor()
    await app.ask('mutation { logout }', {}, token)
    await startFolder(page)
    await page.getByLabel('Name', { exact: true }).fill('made')
    await button(page, 'Create').click()
    await page.getByRole('alert').getByRole('link', { name: 'Sign in' }).click()
    await page.getByLabel('Email').fill('owner@example.org')
    await page.getByLabel('Password').fill(password)
    await button(page, 'Sign in').click()
    await row(page, 'a.txt').waitFor()
    t.equal(new URL(page.url()).pathname, to.page)
  })

  atNight(t, 'signing out asks first while uploads are active', async t => {
    const to = await store('leaving')
    const token = await signIn(app, 'owner@example.org')
    const page = await open(t, { token })
    await pauseUpload(page, to)
    await signOut(page)
    await page.getByRole('alertdialog').getByText('Some uploads are not complete').waitFor()
    await isGood(t, page)
    await button(page, 'Cancel').click()
    await page.getByText(/Paused at \d+%/).waitFor()
    await signOut(page)
    await page.getByRole('alertdialog').getByRole('button', { name: 'Sign out' }).click()
    await page.waitForURL(/\/sign-in/)
    await button(page, 'Sign in').waitFor()
    await isGood(t, page)
  })

  atNight(t, 'a storage whose folder is gone says so, and what administrators and members can do', async t => {
    const to = await store('disk', { 'a.txt': 'a' })
    const root = dirname(to.at('a.txt'))
    const invite = 'mutation ($input: CreateInviteInput!) { createInvite(input: $input) { invite } }'
    const { createInvite } = await app.ask(invite, { input: { role: 'EDITOR' } }, owner.token)
    await app.register('editor@example.org', { invite: createInvite.invite })
    const phone = { viewport: { width: 390, height: 844 } }
    const [admin, member] = [await open(t), await open(t, { ...phone, token: await signIn(app, 'editor@example.org') })]
    await admin.goto(to.page)
    await row(admin, 'a.txt').waitFor()
    await rename(root, `${root}-away`)

    await member.goto(to.page)
    await member.getByText('“disk” does not work at the moment.').waitFor()
    await member.getByText(/Tell an administrator/).waitFor()
    t.equal(await member.getByText(/unmounted/).count(), 0)
    t.equal(await member.getByRole('link', { name: 'Manage storages' }).count(), 0)
    await isGood(t, member)
    await member.goto('/files')
    await member.getByText('Unavailable', { exact: true }).waitFor()
    await member.getByText('Ask an administrator.').waitFor()

    await button(admin, 'Refresh').click()
    await admin.getByText(/may be unmounted/).waitFor()
    await isGood(t, admin)
    await admin.getByRole('link', { name: 'Manage storages' }).click()
    await admin.getByText('Unavailable', { exact: true }).waitFor()
    await admin.getByText(/“Test” checks it at once/).waitFor()
    await isGood(t, admin)

    await rename(`${root}-away`, root)
    await member.goto(to.page)
    await row(member, 'a.txt').waitFor()
    const disk = admin.locator('section').filter({ has: admin.getByRole('link', { name: 'disk', exact: true }) })
    await disk.getByText('Connected', { exact: true }).waitFor()
    t.same([admin.faults, member.faults], [[], []])
  })
}
