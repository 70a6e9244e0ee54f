import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import type { AdapterDefinition } from '../../adapters/contract.ts'
import { googleDriveAdapter } from '../../adapters/google-drive/index.ts'
import { backoff, endpointsOf } from '../adapters/google-drive-world.ts'
import { startGoogleDrive } from '../servers/google-drive/index.ts'
import { startApp, type TestApp } from '../support/app.ts'
import { password } from '../support/client.ts'
import { axeViolations, startBrowser, visit } from './browser.ts'

const run = promisify(execFile)

/** On a page that a screen reader, a phone and somebody in the dark can use. */
async function settles(t: Test, page: Page, what: string): Promise<void> {
  t.same(await axeViolations(page), [], `axe: ${what}`)
}

/** An owner with a provider, and some folders in it. */
async function furnished(app: TestApp) {
  const owner = await app.register('owner@example.com')
  const providerId = await app.connectProvider(owner.token, 'local', { root: app.folder }, 'Team disk')
  await app.upload(owner.token, providerId, '/backups/2026/a.txt', 'kept')
  await app.upload(owner.token, providerId, '/private/b.txt', 'not for keys')
  return { ...owner, providerId }
}

t.test('the first run: an owner, a storage, its files', async t => {
  const app = await startApp(t)
  const browser = await startBrowser(t)
  if (!browser) return
  const page = await visit(browser, app)
  await page.goto('/')
  await page.getByRole('heading', { name: 'Create the owner account' }).waitFor()
  await settles(t, page, 'registration')
  await page.getByLabel('Email').fill('owner@example.com')
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Create account' }).click()
  await page.getByRole('heading', { name: 'Connect your first storage' }).waitFor()
  t.match(page.url(), /\/connect$/)
  t.equal(await page.getByLabel('Folder').inputValue(), app.folder, 'the default is there')
  await settles(t, page, 'connecting')

  await page.getByRole('radio', { name: 'S3' }).check()
  t.equal(await page.getByLabel('Secret access key').getAttribute('type'), 'password')
  t.equal(await page.getByLabel('Session token', { exact: true }).isVisible(), false, 'what few need is folded')
  await page.getByRole('button', { name: 'Advanced' }).click()
  t.equal(await page.getByLabel('Session token', { exact: true }).getAttribute('type'), 'password')
  t.equal(await page.getByRole('switch', { name: 'Bucket in the path' }).isChecked(), true)
  await settles(t, page, 'a long form')

  await page.getByRole('radio', { name: 'Local disk' }).check()
  await page.getByLabel('Folder').fill('relative')
  await page.getByRole('button', { name: 'Connect', exact: true }).click()
  await page.getByText('This must match pattern').waitFor()
  t.equal(await page.getByLabel('Folder').getAttribute('aria-invalid'), 'true', 'the field is marked')
  await page.getByLabel('Folder').fill('/nowhere')
  await page.getByRole('button', { name: 'Connect', exact: true }).click()
  await page.getByText('/nowhere cannot be found').waitFor()
  const { providers } = await app.ask('{ providers { id } }', {}, await tokenOf(app, 'owner@example.com'))
  t.same(providers, [], 'nothing is kept before it works')

  await writeFile(join(app.folder, 'hello.txt'), 'hello')
  await page.getByLabel('Folder').fill(app.folder)
  await page.getByLabel('Name').fill('Team disk')
  await page.getByRole('button', { name: 'Connect', exact: true }).click()
  await page.waitForURL(/\/files\/[0-9a-f-]{36}$/)
  t.same(page.faults, [])
})

t.test('a key is made, used by curl, revoked and refused', async t => {
  const app = await startApp(t)
  const browser = await startBrowser(t)
  if (!browser) return
  const { token, providerId } = await furnished(app)
  const page = await visit(browser, app, { token })
  await page.goto('/files')
  await page.getByRole('link', { name: 'Settings' }).click()
  await page.getByRole('link', { name: 'API Keys' }).click()
  await page.getByText('No keys yet').waitFor()
  await settles(t, page, 'no keys')
  await page.getByRole('button', { name: 'New key' }).click()
  await page.getByLabel('Name').fill('nightly backup')
  await page.getByRole('radio', { name: 'Write' }).check()
  await page.getByRole('radio', { name: 'Only chosen providers' }).check()
  await page.getByRole('checkbox', { name: 'Team disk' }).check()
  await settles(t, page, 'a new key')
  await page.getByRole('button', { name: 'Browse Team disk' }).click()
  await page.getByRole('button', { name: 'backups' }).click()
  await page.getByRole('button', { name: '2026' }).waitFor()
  await settles(t, page, 'choosing a folder')
  await page.getByRole('button', { name: 'Use this folder' }).click()
  t.equal(await page.getByLabel('Folder in Team disk').inputValue(), '/backups')
  await page.getByRole('button', { name: 'Create key' }).click()
  const key = (await page.getByTestId('new-api-key').textContent()) ?? ''
  t.match(key, /^stw_[0-9a-f]{40}$/)
  await settles(t, page, 'the key')
  await page.keyboard.press('Escape')
  t.ok(await page.getByTestId('new-api-key').isVisible(), 'it does not go by accident')

  const example = await page.getByText('curl http').textContent()
  const { stdout } = await run('sh', ['-c', `${example} --silent`])
  t.same(JSON.parse(stdout), { data: { providers: [{ id: providerId, name: 'Team disk' }] } }, 'the example works')
  t.equal((await app.download(key, providerId, '/backups/2026/a.txt')).status, 200)
  t.equal((await app.download(key, providerId, '/private/b.txt')).status, 403)

  await page.getByRole('button', { name: 'Done' }).click()
  t.equal((await page.content()).includes(key), false, 'it is shown once')
  await page.reload()
  const row = page.getByRole('row', { name: 'nightly backup' })
  for (const text of [key.slice(0, 12), 'write', '/backups', 'active']) await row.getByText(text).first().waitFor()
  await settles(t, page, 'keys')
  await row.getByRole('button', { name: 'Rename' }).click()
  await page.getByLabel('Name', { exact: true }).fill('weekly backup')
  await page.getByRole('dialog').getByRole('button', { name: 'Rename' }).click()
  await page.getByRole('row', { name: 'weekly backup' }).getByRole('button', { name: 'Revoke' }).click()
  await page.getByRole('alertdialog').getByText(key.slice(0, 12)).waitFor()
  await settles(t, page, 'revoking')
  await page.getByRole('alertdialog').getByRole('button', { name: 'Revoke' }).click()
  await page.getByRole('row', { name: 'weekly backup' }).getByText('revoked').waitFor()
  t.equal((await app.download(key, providerId, '/backups/2026/a.txt')).status, 401)

  await page.getByRole('radio', { name: 'Active' }).check()
  await page.getByText('None of the keys').waitFor()
  await page.getByRole('radio', { name: 'Revoked' }).check()
  await page.getByRole('row', { name: 'weekly backup' }).waitFor()
  t.same(page.faults, [])
})

t.test('somebody is invited, registers, and sees only what is theirs', async t => {
  const app = await startApp(t)
  const browser = await startBrowser(t)
  if (!browser) return
  const { token } = await furnished(app)
  const page = await visit(browser, app, { token })
  await page.goto('/settings/workspace')
  await page.getByRole('radio', { name: 'With an invite' }).check()
  await settles(t, page, 'the workspace')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Saved').waitFor()
  await page.getByRole('link', { name: 'Members' }).click()
  await page.getByRole('button', { name: 'Invite' }).click()
  await page.getByRole('radio', { name: 'Viewer' }).check()
  await settles(t, page, 'an invite')
  await page.getByRole('button', { name: 'Create invite' }).click()
  const link = (await page.getByTestId('invite-link').textContent()) ?? ''
  await page.getByRole('button', { name: 'Done' }).click()

  const guest = await visit(browser, app, { viewport: { width: 390, height: 800 }, colorScheme: 'dark' })
  await guest.goto('/register')
  await guest.getByText('only with an invite').waitFor()
  await guest.goto(link)
  await guest.getByLabel('Email').fill('guest@example.com')
  await guest.getByLabel('Password').fill(password)
  await guest.getByRole('button', { name: 'Create account' }).click()
  await guest.waitForURL(/\/files$/)
  await guest.getByRole('link', { name: 'Settings' }).click()
  await guest.getByRole('link', { name: 'API Keys' }).waitFor()
  for (const name of ['Providers', 'Members', 'Workspace']) {
    t.equal(await guest.getByRole('link', { name }).count(), 0, `no link to ${name}`)
    await guest.goto(`/settings/${name.toLowerCase()}`)
    await guest.getByText('Only administrators can see this page').waitFor()
  }
  await guest.goto('/settings/api-keys')
  await guest.getByRole('button', { name: 'New key' }).click()
  t.same(await guest.getByRole('radio', { name: /^(Read|Write|Admin)$/ }).count(), 1, 'only what they reach')
  await settles(t, guest, 'a new key on a phone in the dark')

  await page.reload()
  const row = page.getByRole('row', { name: 'guest@example.com' })
  await row.waitFor()
  await settles(t, page, 'members')
  await row.getByRole('button', { name: 'Edit' }).click()
  await page.getByRole('radio', { name: 'Editor' }).check()
  await settles(t, page, 'a member')
  await page.getByRole('button', { name: 'Save' }).click()
  await row.getByText('Editor').waitFor()
  await row.getByRole('button', { name: 'Remove' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Remove' }).click()
  await row.waitFor({ state: 'detached' })
  await guest.goto('/settings')
  await guest.getByRole('button', { name: 'Sign in' }).waitFor()
  t.same([...page.faults, ...guest.faults], [])
})

t.test('an invite that went astray is seen and revoked', async t => {
  const app = await startApp(t)
  const browser = await startBrowser(t)
  if (!browser) return
  const { token } = await furnished(app)
  const page = await visit(browser, app, { token, viewport: { width: 390, height: 800 } })
  await page.goto('/settings/members')
  await page.getByText('nobody can register with an invite').waitFor()
  await page.getByRole('button', { name: 'Invite' }).click()
  await page.getByRole('radio', { name: 'Editor' }).check()
  await page.getByRole('radio', { name: 'Only chosen providers' }).check()
  await page.getByRole('checkbox', { name: 'Team disk' }).check()
  await page.getByLabel('Folder in Team disk').fill('/backups')
  await page.getByRole('button', { name: 'Create invite' }).click()
  const link = (await page.getByTestId('invite-link').textContent()) ?? ''
  await page.getByRole('button', { name: 'Done' }).click()
  const row = page.getByRole('table', { name: 'Open invites' }).getByRole('row', { name: 'Editor' })
  for (const text of ['/backups', 'by owner@example.com', 'in 7 days']) await row.getByText(text).waitFor()
  const secret = new URL(link).searchParams.get('invite') ?? ''
  t.ok(secret.length > 20)
  t.equal((await page.content()).includes(secret), false, 'it is shown once')
  const width = await page.evaluate<number>('document.documentElement.scrollWidth')
  t.ok(width <= 390, `${width} of 390 pixels`)
  await settles(t, page, 'open invites on a phone')
  await page.setViewportSize({ width: 1280, height: 800 })
  await settles(t, page, 'open invites')
  await row.getByRole('button', { name: 'Revoke' }).click()
  await page.getByRole('alertdialog').getByText('Nobody becomes Editor').waitFor()
  await settles(t, page, 'revoking an invite')
  await page.getByRole('alertdialog').getByRole('button', { name: 'Revoke' }).click()
  await row.waitFor({ state: 'detached' })
  await page.getByText('nobody can register with an invite').waitFor()
  t.same((await app.ask('{ invites { id } }', {}, token)).invites, [])

  const guest = await visit(browser, app)
  await guest.goto(link)
  await guest.getByLabel('Email').fill('thief@example.com')
  await guest.getByLabel('Password').fill(password)
  await guest.getByRole('button', { name: 'Create account' }).click()
  await guest.getByText('The invite is unknown, revoked, expired or used').waitFor()
  t.same([...page.faults, ...guest.faults], [])
})

t.test('consent is given in another tab, and the page continues by itself', async t => {
  const fake = await startGoogleDrive(t)
  const adapter = googleDriveAdapter({ endpoints: endpointsOf(fake), backoff })
  const app = await startApp(t, { adapters: [adapter as AdapterDefinition] })
  const browser = await startBrowser(t)
  if (!browser) return
  const { token } = await app.register('owner@example.com')
  const page = await visit(browser, app, { token })
  await page.goto('/connect')
  await page.getByLabel('OAuth client id').fill(fake.oauth.clientId)
  await page.getByLabel('OAuth client secret').fill(fake.oauth.clientSecret)
  await page.getByRole('button', { name: 'Connect' }).click()
  const consent = page.getByRole('link', { name: 'Continue to Google Drive' })
  const [tab] = await Promise.all([page.context().waitForEvent('page'), consent.click()])
  await tab.getByRole('link', { name: 'Continue to Google Drive' }).click()
  await tab.getByRole('heading', { name: '“Google Drive” is connected' }).waitFor()
  await page.waitForURL(/\/files\//)
  t.same(page.faults, [])
})

t.test('providers: tested, renamed, disconnected', async t => {
  const app = await startApp(t)
  const browser = await startBrowser(t)
  if (!browser) return
  const { token, providerId } = await furnished(app)
  await app.connectProvider(token, 'google-drive', { clientId: 'id', clientSecret: 'a secret' }, 'Our Drive')
  const page = await visit(browser, app, { token })
  await page.goto('/settings/providers')
  const disk = page.getByRole('region', { name: 'Team disk' })
  await disk.getByText('Connected').first().waitFor()
  await disk.getByRole('meter').waitFor()
  await disk.getByRole('button', { name: 'Test' }).click()
  await page.getByText('“Team disk” works').waitFor()
  await settles(t, page, 'providers')

  const drive = page.getByRole('region', { name: 'Our Drive' })
  await drive.getByRole('button', { name: 'Give consent' }).click()
  await page.getByRole('button', { name: 'Begin' }).click()
  const consent = page.getByRole('link', { name: 'Continue to Google Drive' })
  await settles(t, page, 'consent')
  const [tab] = await Promise.all([page.context().waitForEvent('page'), consent.click()])
  await tab.getByRole('heading', { name: 'Give Stowage access to your files at Google Drive?' }).waitFor()
  await tab.getByText('owner@example.com').waitFor()
  const vendor = tab.getByRole('link', { name: 'Continue to Google Drive' })
  t.match(await vendor.getAttribute('href'), /^https:\/\/accounts\.google\.com\/.*code_challenge=/)
  await settles(t, tab, 'who asks for consent')
  await tab.close()
  await page.keyboard.press('Escape')
  await drive.getByRole('button', { name: 'Edit' }).click()
  t.equal(await page.getByLabel('OAuth client secret').first().inputValue(), '', 'no secret comes back')
  await settles(t, page, 'a configuration')
  await page.getByLabel('OAuth client id').fill('another')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  const { providers } = await app.ask('{ providers { name config } }', {}, token)
  t.same(providers[1], { name: 'Our Drive', config: { clientId: 'another' } })

  await disk.getByRole('button', { name: 'Disconnect' }).click()
  await page.getByRole('alertdialog').getByText('Nothing happens to the files').waitFor()
  await settles(t, page, 'disconnecting')
  await page.getByRole('alertdialog').getByRole('button', { name: 'Disconnect' }).click()
  await disk.waitFor({ state: 'detached' })
  t.equal((await app.download(token, providerId, '/backups/2026/a.txt')).status, 404)
  t.same(page.faults, [])
})

t.test('the own profile: sessions, a new password', async t => {
  const app = await startApp(t)
  const browser = await startBrowser(t)
  if (!browser) return
  const { token } = await furnished(app)
  const page = await visit(browser, app, { token })
  const elsewhere = await tokenOf(app, 'owner@example.com')
  await page.goto('/settings/profile')
  const sessions = page.getByRole('table', { name: 'Sessions' })
  await sessions.getByText('this browser').waitFor()
  await settles(t, page, 'sessions')
  await sessions.getByRole('button', { name: 'End session' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'End session' }).click()
  await sessions.getByRole('button').waitFor({ state: 'detached' })
  t.equal((await app.graphql('{ me { id } }', {}, elsewhere)).status, 401)
  await page.getByLabel('Current password').fill('not this one')
  await page.getByLabel('New password').fill('a wholly new sentence')
  await page.getByRole('button', { name: 'Change password' }).click()
  await page.getByText('The current password is wrong').waitFor()
  await settles(t, page, 'the profile')
  await page.getByLabel('Current password').fill(password)
  await page.getByRole('button', { name: 'Change password' }).click()
  await page.getByText('The password is changed').waitFor()
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByLabel('Email').fill('owner@example.com')
  await page.getByLabel('Password', { exact: true }).fill('a wholly new sentence')
  await settles(t, page, 'signing in')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('link', { name: 'Settings' }).waitFor()
  t.same(await page.evaluate('Object.keys(localStorage)'), [], 'nothing stays in the browser')
  t.same(page.faults, [])
})

async function tokenOf(app: TestApp, email: string): Promise<string> {
  const login = 'mutation ($input: LoginInput!) { login(input: $input) { token } }'
  return (await app.ask(login, { input: { email, password } })).login.token
}
