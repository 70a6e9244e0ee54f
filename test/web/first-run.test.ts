/** The first account, its first storages of several types, and the first files. */
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import sharp from 'sharp'
import t, { type Test } from 'tap'
import { startFakeSsh } from '../servers/fake-ssh.ts'
import { startApp } from '../support/app.ts'
import { password } from '../support/client.ts'
import { inTurn } from '../support/extent.ts'
import { isAccessible, signIn, startBrowser, visit } from './browser.ts'
import { correct, dialog, row } from './files.ts'

async function firstRun(t: Test, viewport: { width: number; height: number }): Promise<void> {
  const app = await startApp(t)
  const browser = await startBrowser(t)
  if (!browser) return
  const page = await visit(browser, app, { viewport })
  const steps = page.getByRole('list', { name: 'First steps' })
  const step = (name: string) => steps.locator('[aria-current=step]').filter({ hasText: name })
  await page.goto('/')
  await page.getByRole('heading', { name: 'Create the owner account' }).waitFor()
  await step('Account').waitFor()
  await isAccessible(t, page, 'registration')
  await page.getByLabel('Email').fill('owner@example.com')
  await page.getByLabel('Password').pressSequentially('short')
  await page.getByRole('button', { name: 'Create account' }).click()
  await page.getByText('Enter at least 12 characters').waitFor()
  await isAccessible(t, page, 'a field with an error')
  await correct(page.getByLabel('Password'), password)
  await page.getByRole('button', { name: 'Create account' }).click()
  await page.getByRole('heading', { name: 'Add your first storage' }).waitFor()
  t.match(page.url(), /\/connect$/)
  await step('Storage').waitFor()
  const group = (name: string) => page.getByRole('region', { name }).getByRole('link')
  t.same(await group('This server').allTextContents(), ['Local disk', 'Memory (for trying things out)'])
  t.same(await group('Cloud accounts').allTextContents(), ['Google Drive', 'Dropbox', 'OneDrive and SharePoint'])
  t.equal(await group('Servers and buckets').count(), 5)
  await isAccessible(t, page, 'choosing a type')

  const choose = (name: string) => page.getByRole('link', { name }).click()
  const again = () => page.getByRole('link', { name: 'Choose another type' }).click()
  await choose('S3')
  const instructions = page.getByRole('region', { name: 'Before you connect' })
  t.match(await instructions.getByRole('link').first().getAttribute('href'), 'https://console.aws.amazon.com/')
  t.equal(
    await page.getByRole('textbox', { name: 'Endpoint' }).count(),
    0,
    'only the fields of the chosen service are shown',
  )
  await page.getByRole('radio', { name: 'Another S3 service' }).check()
  await page.getByRole('textbox', { name: 'Endpoint' }).waitFor()
  t.equal(await page.getByLabel('Secret access key').getAttribute('type'), 'password')
  t.equal(await page.getByLabel('Session token', { exact: true }).isVisible(), false, 'advanced fields are hidden')
  await page.getByRole('button', { name: 'Advanced' }).click()
  t.equal(await page.getByLabel('Session token', { exact: true }).getAttribute('type'), 'password')
  t.equal(await page.getByRole('switch', { name: 'Bucket in the path' }).isChecked(), true)
  await isAccessible(t, page, 'a long form')

  const ssh = await startFakeSsh(t, context => context.reject(['password']))
  await again()
  await choose('SFTP')
  // The group "This server" of the page before has the label, too.
  await page.getByRole('textbox', { name: 'Server' }).fill('127.0.0.1')
  t.equal(await page.getByRole('textbox', { name: 'Private key' }).count(), 0)
  await page.getByLabel('Port').fill(String(ssh.port))
  await page.getByLabel('User name').fill('someone')
  await page.getByRole('textbox', { name: 'Password' }).fill('a password')
  await page.getByRole('button', { name: 'Connect', exact: true }).click()
  const accept = page.getByRole('button', { name: 'Accept as “Host key”' })
  await accept.waitFor()
  await isAccessible(t, page, 'the key of a server')
  await accept.click()
  t.equal(await page.getByLabel('Host key').inputValue(), ssh.fingerprint, 'the key of the server is accepted')
  await page.getByRole('button', { name: 'Connect', exact: true }).click()
  await page.getByText("rejects Stowage's credentials").waitFor()

  await again()
  await choose('Local disk')
  t.equal(await page.getByLabel('Folder').inputValue(), app.folder, 'the field shows its default')
  await isAccessible(t, page, 'connecting')
  await page.getByLabel('Folder').fill('relative')
  await page.getByRole('button', { name: 'Connect', exact: true }).click()
  await page.getByText('Start with /').waitFor()
  t.equal(await page.getByLabel('Folder').getAttribute('aria-invalid'), 'true', 'the field is marked')
  await correct(page.getByLabel('Folder'), '/nowhere')
  await page.getByRole('button', { name: 'Connect', exact: true }).click()
  await page.getByText('/nowhere cannot be found').waitFor()
  const { providers } = await app.ask('{ providers { id } }', {}, await signIn(app, 'owner@example.com'))
  t.same(providers, [], 'nothing is saved before it works')

  await page.getByText('The test failed. Nothing is saved.').waitFor()

  await again()
  await page.getByRole('button', { name: "Use this server's disk" }).click()
  await page.waitForURL(/\/files\/[0-9a-f-]{36}$/)
  await page.getByText('Drop files here').waitFor()
  await step('First files').waitFor()
  t.equal(await page.evaluate(() => document.documentElement.scrollWidth), viewport.width, 'nothing leaves the window')
  await isAccessible(t, page, 'the first storage')
  await page.getByRole('button', { name: 'Add a sample folder' }).click()
  await row(page, 'Sample').waitFor()
  await page.getByText('3 uploads complete').waitFor()
  t.same((await readdir(join(app.folder, 'Sample'))).sort(), ['Birds.csv', 'Hills.png', 'Welcome.md'])
  const picture = await readFile(join(app.folder, 'Sample/Hills.png'))
  t.equal((await sharp(picture).metadata()).width, 480)
  t.equal(await steps.count(), 0, 'the steps are done')
  await page.reload()
  const remove = page.getByRole('button', { name: 'Remove the sample folder' })
  await isAccessible(t, page, 'the sample folder')
  await remove.click()
  await dialog(page).getByRole('button', { name: 'Delete' }).click()
  await page.getByText('Drop files here').waitFor()
  t.equal(await remove.count(), 0)
  const file = { name: 'first.txt', mimeType: 'text/plain', buffer: Buffer.from('first') }
  await page.getByLabel('Files to upload').setInputFiles(file)
  await row(page, 'first.txt').waitFor()
  t.equal(await steps.count(), 0)

  await page.goto('/connect')
  await page.getByRole('heading', { name: 'Add storage' }).waitFor()
  t.equal(await page.getByRole('button', { name: "Use this server's disk" }).count(), 0)
  await group('This server').first().click()
  await mkdir(join(app.folder, 'team/photos'), { recursive: true })
  await writeFile(join(app.folder, 'team/hello.txt'), 'hello')
  await page.getByRole('textbox', { name: 'Folder' }).fill(app.folder)
  await page.getByRole('button', { name: 'Browse' }).click()
  const picker = page.getByRole('dialog')
  await picker.getByRole('button', { name: 'team' }).click()
  await picker.getByRole('button', { name: 'photos' }).waitFor()
  await isAccessible(t, page, 'folders of the server')
  await picker.getByRole('button', { name: 'Use this folder' }).click()
  t.equal(await page.getByRole('textbox', { name: 'Folder' }).inputValue(), join(app.folder, 'team'))
  await page.getByRole('textbox', { name: 'Name' }).fill('Team disk')
  await page.getByRole('button', { name: 'Connect', exact: true }).click()
  await page.getByRole('heading', { name: '“Team disk” is connected' }).waitFor()
  await page.getByText('2 items at the top, such as').waitFor()
  await page.getByText(/ used$/).waitFor()
  await isAccessible(t, page, 'the result of the test')
  await page.getByRole('link', { name: 'Open Team disk' }).click()
  await page.waitForURL(/\/files\/[0-9a-f-]{36}$/)
  t.same(page.faults, [])
}

const widths = [
  { width: 1280, height: 800 },
  { width: 390, height: 844 },
]
for (const viewport of inTurn(widths)) {
  t.test(`the first person registers and adds storages and files, at ${viewport.width} pixels`, t =>
    firstRun(t, viewport),
  )
}
