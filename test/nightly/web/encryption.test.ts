/** People connect encrypted storages, and keep what opens them. */
import { execFile } from 'node:child_process'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { requirePrograms } from '../../servers/programs.ts'
import { startApp } from '../../support/app.ts'
import { isAccessible, startBrowser, visit } from '../../web/browser.ts'
import { row } from '../../web/files.ts'

const run = promisify(execFile)

await requirePrograms({
  who: 'The tests of encryption',
  programs: ['rclone'],
  packages: ['rclone'],
  instead: 'put it on PATH',
})

for (const width of [1280, 390]) {
  t.test(`a storage is encrypted once its sheet is kept, and the sheet opens it, ${width} pixels wide`, async t => {
    const app = await startApp(t)
    const browser = await startBrowser(t)
    if (!browser) return
    const { token } = await app.register('owner@example.com')
    const root = join(app.folder, 'vault')
    await mkdir(root)
    const page = await visit(browser, app, { token, viewport: { width, height: 800 } })
    const connected = async () => (await app.ask('{ providers { id encryption { names } } }', {}, token)).providers
    await page.goto('/connect?type=local')
    await page.getByLabel('Folder').fill(join(app.folder, 'missing'))
    await page.getByLabel('Name').fill("Lena's vault")
    await page.getByRole('switch', { name: 'Encrypt the storage' }).press('Space')
    await page.getByRole('radio', { name: 'Make one for me' }).waitFor()
    await isAccessible(t, page, 'encrypting a storage')
    const connect = page.getByRole('button', { name: 'Connect', exact: true })
    await connect.click()

    const sheet = page.getByRole('region', { name: 'Recovery sheet' })
    const password = (await sheet.getByRole('definition').locator('code').first().textContent()) ?? ''
    t.match(password, /^(?:[0-9a-hjkmnp-tv-z]{5}-){5}[0-9a-hjkmnp-tv-z]{5}$/)
    await isAccessible(t, page, 'the recovery sheet')
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download' }).click(),
    ])
    t.equal(download.suggestedFilename(), "Recovery sheet of Lena's vault.txt")
    const text = await readFile(await download.path(), 'utf8')
    await page.emulateMedia({ media: 'print' })
    t.ok(await sheet.isVisible(), 'the sheet is printed')
    t.notOk(await page.getByRole('button', { name: 'Print' }).isVisible(), 'without buttons')
    t.notOk(await page.locator('main').isVisible(), 'and without the page behind it')
    await page.emulateMedia({ media: 'screen' })

    await page.getByRole('button', { name: 'I have kept it' }).click()
    const answer = page.getByLabel('The last 5 characters')
    const confirm = page.getByRole('dialog').getByRole('button', { name: 'Connect' })
    t.notMatch(await page.getByRole('dialog').textContent(), password.slice(-5), 'the sheet is out of sight')
    await answer.pressSequentially('wrong')
    await confirm.click()
    await page.getByText('ends with other characters').waitFor()
    await isAccessible(t, page, 'a wrong part of the sheet')
    t.same(await connected(), [], 'nothing is connected before the sheet is kept')
    await answer.selectText()
    await answer.pressSequentially(password.slice(-5))
    await confirm.click()
    await page.getByText('missing cannot be found').waitFor()
    await page.getByRole('textbox', { name: 'Folder' }).fill(root)
    await page.getByRole('textbox', { name: 'Name' }).fill("Lena's safe")
    await connect.click()
    await sheet.getByText("Lena's safe").waitFor()
    t.match(await sheet.textContent(), password, 'another name needs another sheet, with the same password')
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('textbox', { name: 'Name' }).fill("Lena's vault")
    await connect.click()
    await page.getByText('Drop files here').waitFor()

    const [{ id, encryption }] = await connected()
    t.same(encryption, { names: 'STANDARD' })
    await app.upload(token, id, '/folder/hello.txt', 'hello')
    t.notMatch((await readdir(root, { recursive: true })).join('\n'), /hello|folder/)
    const commands = text.split('\n').filter(line => line.startsWith('rclone '))
    const script = commands.join('\n').replace('remote:folder', root)
    await writeFile(join(app.folder, 'config'), '')
    const env = { ...process.env, RCLONE_CONFIG: join(app.folder, 'config') }
    await run('sh', ['-ec', script], { cwd: app.folder, env })
    t.equal(await readFile(join(app.folder, 'recovered-files/folder/hello.txt'), 'utf8'), 'hello')

    await page.goto('/settings/storages')
    const card = page.getByRole('region', { name: "Lena's vault" })
    await card.getByText('Encrypted', { exact: true }).waitFor()
    await card.getByText('Contents and names are encrypted').waitFor()
    await isAccessible(t, page, 'an encrypted storage')
    t.notMatch(await page.content(), password, 'the password is not shown again')
    t.same(page.faults, [])
  })
}

t.test('an existing remote of rclone opens with its settings', async t => {
  const app = await startApp(t)
  const browser = await startBrowser(t)
  if (!browser) return
  const { token } = await app.register('owner@example.com')
  const [root, source] = [join(app.folder, 'remote'), join(app.folder, 'source')]
  await mkdir(source)
  await writeFile(join(source, 'letter.txt'), 'from rclone')
  const secret = "it's a $ecret"
  const obscured = (await run('rclone', ['obscure', secret])).stdout.trim()
  const remote = `:crypt,remote=${root},password=${obscured},filename_encryption=off:`
  await run('rclone', ['copy', source, remote, '--config', ''])
  const page = await visit(browser, app, { token })
  await page.goto('/connect?type=local')
  await page.getByLabel('Folder').fill(root)
  await page.getByRole('switch', { name: 'Encrypt the storage' }).press('Space')
  await page.getByRole('radio', { name: 'An existing rclone crypt remote' }).check()
  await isAccessible(t, page, 'opening a remote')
  const connect = page.getByRole('button', { name: 'Connect', exact: true })
  await connect.click()
  await page.getByText('Fill in this field').first().waitFor()
  await page.getByLabel('Encryption password').fill(secret)
  const keep = async () => {
    await connect.click()
    await page.getByRole('button', { name: 'I have kept it' }).click()
    await page.getByLabel('The last 5 characters').fill(secret.slice(-5))
    await page.getByRole('dialog').getByRole('button', { name: 'Connect' }).click()
  }
  await keep()
  await page.getByText('does not decrypt what is in it').waitFor()
  await page.getByRole('button', { name: /Names/ }).click()
  await page.getByRole('option', { name: 'Readable' }).click()
  await keep()
  await row(page, 'letter.txt').waitFor()
  t.same(page.faults, [])
})
