/** Tests the pages about oneself and about others: names, sessions, links for a new password, notes of invites, the audit log. */
import { readFile } from 'node:fs/promises'
import t from 'tap'
import { password } from '../../support/client.ts'
import { until } from '../../support/until.ts'
import { signIn } from '../../web/browser.ts'
import { button, dialog, isGood, main, openNavigation, row, signOut, startFiles } from '../../web/files.ts'
import { davClient, lockInfo } from '../../webdav/client.ts'

const newPassword = 'a wholly new sentence'
const wide = { width: 1280, height: 800 }
const phone = { width: 390, height: 844 }

const files = await startFiles(t)
if (files) {
  const { app, owner, open, store } = files
  const createInvite = 'mutation ($input: CreateInviteInput!) { createInvite(input: $input) { invite } }'
  const join = async (email: string, role: string) => {
    const { createInvite: made } = await app.ask(createInvite, { input: { role } }, owner.token)
    return app.register(email, { invite: made.invite })
  }
  const signInWith = async (email: string, given: string) => {
    const login = 'mutation ($input: LoginInput!) { login(input: $input) { token } }'
    return (await app.graphql(login, { input: { email, password: given } })).errors.length === 0
  }

  t.test('people change their name', async t => {
    const { token } = await join('named@example.org', 'VIEWER')
    for (const [viewport, name] of [[wide, 'Nadia'] as const, [phone, 'Nadia P.'] as const]) {
      const page = await open(t, { token, viewport })
      await page.goto('/settings/profile')
      await page.getByLabel('Name').fill(name)
      await page.getByRole('button', { name: 'Save' }).click()
      await page.getByText('Saved').waitFor()
      t.equal((await app.ask('{ me { name } }', {}, token)).me.name, name)
      await isGood(t, page)
    }
    const page = await open(t, { token })
    await page.goto('/files')
    await page.getByText('Welcome back, Nadia P.', { exact: true }).waitFor()
  })

  t.test('sessions say from where they were started, and all others can be ended', async t => {
    const { token } = await join('sessions@example.org', 'VIEWER')
    for (const viewport of [wide, phone]) {
      const others = [await signIn(app, 'sessions@example.org'), await signIn(app, 'sessions@example.org')]
      // The browser itself signs in, so that its name is known.
      const page = await open(t, { token: '', viewport })
      await page.context().clearCookies()
      await page.goto('/sign-in?next=/settings/profile')
      await page.getByLabel('Email').fill('sessions@example.org')
      await page.getByLabel('Password', { exact: true }).fill(password)
      await page.getByRole('button', { name: 'Sign in', exact: true }).click()
      const sessions = page.getByRole('table', { name: 'Sessions' })
      const own = sessions.getByRole('row').filter({ hasText: 'This browser' })
      await own.getByText('Chrome on Linux').waitFor()
      await own.getByText('127.0.0.1').waitFor()
      await sessions.getByText('node', { exact: true }).first().waitFor()
      await isGood(t, page)
      await button(page, 'End all other sessions').click()
      await page.getByRole('alertdialog').getByText('have to sign in again').waitFor()
      await isGood(t, page)
      await page.getByRole('alertdialog').getByRole('button', { name: 'End all other sessions' }).click()
      await page.getByRole('alertdialog').waitFor({ state: 'detached' })
      await sessions.getByRole('button', { name: 'End session' }).first().waitFor({ state: 'detached' })
      await own.waitFor()
      for (const other of others) t.equal((await app.graphql('{ me { id } }', {}, other)).status, 401)
    }
    t.equal((await app.graphql('{ me { id } }', {}, token)).status, 401)
  })

  t.test('an administrator gives a member several folders of a storage', async t => {
    const { id } = await store('shelves', { 'red/a.txt': 'a', 'green/deep/b.txt': 'b', 'blue/c.txt': 'c' })
    for (const viewport of [wide, phone]) {
      const email = `shelf-${viewport.width}@example.org`
      const { token } = await join(email, 'EDITOR')
      const page = await open(t, { viewport })
      await page.goto('/settings/members')
      const memberRow = page.getByRole('row', { name: email })
      await memberRow.getByRole('button', { name: 'Edit' }).click()
      await page.getByRole('radio', { name: 'Only selected storages' }).check()
      const storages = page.getByRole('group', { name: 'Selected storages' })
      await storages.getByRole('checkbox', { name: 'shelves' }).click()
      await storages.getByLabel('Folder in shelves').fill('/red')
      const add = button(page, 'Add folder of shelves')
      const choose = async (...names: string[]) => {
        for (const name of names) await page.getByRole('button', { name, exact: true }).click()
        await button(page, 'Use this folder').click()
      }
      await add.click()
      await choose('green')
      await add.click()
      await choose('blue')
      t.equal(await storages.getByLabel('Folder 2 in shelves').inputValue(), '/green')
      await button(page, 'Browse shelves for folder 2').click()
      await choose('green', 'deep')
      await isGood(t, page)
      await button(page, 'Save').click()
      await dialog(page).waitFor({ state: 'detached' })
      for (const path of ['/blue', '/green/deep', '/red']) await memberRow.getByText(path, { exact: true }).waitFor()
      await isGood(t, page)
      await memberRow.getByRole('button', { name: 'View as' }).click()
      for (const path of ['/blue', '/green/deep', '/red']) await dialog(page).getByText(path, { exact: true }).waitFor()
      await isGood(t, page)
      await button(page, 'Done').click()
      await app.app.services.audit.flush()
      const looks = '{ auditEvents(filter: { action: MEMBER_VIEW }) { nodes { userEmail subjectId details } } }'
      const { nodes } = (await app.ask(looks, {}, owner.token)).auditEvents
      t.match(nodes[0], { userEmail: 'owner@example.org', details: { email } })
      await memberRow.getByRole('button', { name: 'Edit' }).click()
      await button(page, 'Remove /blue in shelves').click()
      t.equal(await add.evaluate(element => element === document.activeElement), true, 'the focus stays in the list')
      await button(page, 'Save').click()
      await dialog(page).waitFor({ state: 'detached' })
      await memberRow.getByText('/blue').waitFor({ state: 'detached' })

      const member = await open(t, { token, viewport })
      await member.goto(`/files/${id}`)
      await member.waitForURL(/\/files$/)
      await main(member).getByRole('link', { name: 'shelves /red' }).waitFor()
      await isGood(t, member)
      await main(member).getByRole('link', { name: 'shelves /green/deep' }).click()
      await member.getByRole('grid').getByRole('link', { name: 'b.txt' }).waitFor()
      await row(member, 'b.txt').getByRole('button', { name: 'Actions' }).click()
      await member.getByRole('menuitem', { name: 'Copy to…' }).click()
      await dialog(member).getByRole('button', { name: 'Storages' }).click()
      await dialog(member).getByRole('button', { name: 'shelves /red' }).click()
      await dialog(member).getByRole('button', { name: 'Copy here' }).click()
      await dialog(member).waitFor({ state: 'detached' })
      await member.goto(`/files/${id}/red`)
      await member.getByRole('grid').getByRole('link', { name: 'b.txt' }).waitFor()
      await app.ask(
        'mutation ($input: DeleteInput!) { delete(input: $input) { __typename } }',
        { input: { providerId: id, path: '/red/b.txt' } },
        owner.token,
      )
      await isGood(t, member)
      await member.goto(`/files/${id}/blue`)
      await member.getByText('you only have access to /green/deep, /red').waitFor()
      await isGood(t, member)
    }
  })

  t.test('an administrator passes a link on, with which a member sets a new password', async t => {
    for (const viewport of [wide, phone]) {
      const email = `forgetful-${viewport.width}@example.org`
      await join(email, 'EDITOR')
      const page = await open(t, { viewport })
      await page.goto('/settings/members')
      const row = page.getByRole('row', { name: email })
      await row.getByRole('button', { name: 'Reset password' }).click()
      await dialog(page).getByText('Anyone who opens it').waitFor()
      await isGood(t, page)
      await button(page, 'Create link').click()
      const link = (await page.getByTestId('link').textContent()) ?? ''
      t.match(link, /\/reset-password#[\w-]{32}$/)
      await isGood(t, page)
      await button(page, 'Done').click()
      t.notOk((await page.content()).includes(link.split('#')[1] ?? '#'), 'it is shown once')

      const member = await open(t, { token: '', viewport })
      await member.context().clearCookies()
      await member.goto(link)
      await member.getByLabel('New password').fill('short')
      await button(member, 'Set password').click()
      await member.getByText('Enter at least 12 characters').waitFor()
      await isGood(t, member)
      await member.getByLabel('New password').fill(newPassword)
      await button(member, 'Set password').click()
      await member.getByText('Your password was changed').waitFor()
      await isGood(t, member)
      await member.getByRole('link', { name: 'Sign in' }).click()
      await member.getByLabel('Email').fill(email)
      await member.getByLabel('Password', { exact: true }).fill(newPassword)
      await button(member, 'Sign in').click()
      await member.waitForURL(/\/files$/)
      t.notOk(await signInWith(email, password))

      const late = await open(t, { token: '', viewport })
      await late.context().clearCookies()
      await late.goto(link)
      await late.getByLabel('New password').fill(newPassword)
      await button(late, 'Set password').click()
      await late.getByText('has expired or was used').waitFor()
      await late.goto('/reset-password')
      await late.getByText('This link is incomplete').waitFor()
      await isGood(t, late)
    }
    t.notMatch(app.logged(), /reset-password#/)
  })

  t.test('an invite has a note, which tells it from others', async t => {
    for (const viewport of [wide, phone]) {
      const page = await open(t, { viewport })
      await page.goto('/settings/members')
      await button(page, 'Invite').click()
      await page.getByLabel('For whom').fill(`Nina ${viewport.width}`)
      await button(page, 'Create invite').click()
      await button(page, 'Done').click()
      const row = page.getByRole('table', { name: 'Open invites' }).getByRole('row', { name: `Nina ${viewport.width}` })
      await row.waitFor()
      await isGood(t, page)
    }
  })

  t.test('the audit log is filtered, explained and saved', async t => {
    const { id } = await store('audited', { 'team/plan.txt': 'plan' })
    await app.upload(owner.token, id, '/team/new.txt', 'new')
    await app.upload(owner.token, id, '/=formula.txt', 'x')
    await app.download(owner.token, id, '/team/missing.txt')
    await app.app.services.audit.flush()
    for (const viewport of [wide, phone]) {
      const page = await open(t, { viewport })
      await page.goto('/settings')
      await page.getByRole('link', { name: 'Audit log' }).click()
      const table = page.getByRole('table', { name: 'Audit log' })
      await table.getByText('Added a storage').first().waitFor()
      await isGood(t, page)
      const choose = async (label: string, option: string) => {
        await page.getByRole('button', { name: new RegExp(`${label}$`) }).click()
        await page.getByRole('option', { name: option, exact: true }).click()
      }
      await choose('Storage', 'audited')
      await choose('Action', 'Uploaded')
      await page.getByLabel('File or folder').fill('/team')
      await page.getByLabel('File or folder').press('Enter')
      await table.getByText('audited /team/new.txt').waitFor()
      await until(async () => (await table.getByRole('row').count()) === 2)
      t.equal(new URL(page.url()).searchParams.get('path'), '/team', 'the filter is in the address')
      await page.reload()
      await table.getByText('audited /team/new.txt').waitFor()
      await isGood(t, page)
      await table.getByRole('button', { name: 'Details' }).click()
      await dialog(page).getByText('owner@example.org').waitFor()
      await dialog(page).getByText('127.0.0.1').waitFor()
      await isGood(t, page)
      await page.keyboard.press('Escape')
      await button(page, 'Clear filters').click()
      await table.getByText('Added a storage').first().waitFor()
      const [file] = await Promise.all([page.waitForEvent('download'), button(page, 'Download CSV').click()])
      t.match(file.suggestedFilename(), /^audit-\d{4}-\d\d-\d\d\.csv$/)
      const lines = (await readFile(await file.path(), 'utf8')).split('\r\n')
      t.match(lines[0], /^at,action,result,userEmail/)
      t.ok(lines.some(line => line.includes(',UPLOAD,OK,owner@example.org,') && line.includes('/team/new.txt')))
      await page.goto('/settings/audit?action=WEBHOOK_TEST')
      await page.getByText('No events match').waitFor()
      t.same(page.faults, [])
    }
    const { token } = await join('reader@example.org', 'VIEWER')
    const reader = await open(t, { token })
    await reader.goto('/settings/audit')
    await reader.getByText('Only administrators can see this page').waitFor()
  })

  t.test('a lock is shown, and an administrator ends it', async t => {
    const { page: address } = await store('locked', { 'report.txt': 'text', 'free.txt': 'text' })
    const { key } = await app.createKey(owner.token, { name: 'dav', scopes: ['write'] })
    const locked = await davClient(app, key)('LOCK', '/locked/report.txt', {
      body: lockInfo(),
      headers: { depth: '0' },
    })
    t.equal(locked.status, 200)
    const page = await open(t)
    await page.goto(address)
    await row(page, 'report.txt').getByText('Locked by').waitFor()
    t.equal(await row(page, 'free.txt').getByText('Locked by').count(), 0)
    await isGood(t, page)
    await row(page, 'report.txt').getByRole('button', { name: 'Actions' }).click()
    await page.getByRole('menuitem', { name: 'Details' }).click()
    await dialog(page).getByText('has locked it until').waitFor()
    await isGood(t, page)
    await dialog(page).getByRole('button', { name: 'End lock' }).click()
    await dialog(page).getByText('has locked it until').waitFor({ state: 'detached' })
    await page.keyboard.press('Escape')
    await row(page, 'report.txt').getByText('Locked by').waitFor({ state: 'detached' })
  })

  t.test('an administrator holds a file, and an owner releases it', async t => {
    const { page: address } = await store('held', { 'contract.txt': 'text' })
    for (const viewport of [wide, phone]) {
      const page = await open(t, { viewport })
      await page.goto(address)
      await row(page, 'contract.txt').getByRole('button', { name: 'Actions' }).click()
      await page.getByRole('menuitem', { name: 'Details' }).click()
      await dialog(page).getByRole('button', { name: 'Hold…' }).click()
      await dialog(page).getByLabel('Reason').fill('Contract 4711')
      await isGood(t, page)
      await dialog(page).getByRole('button', { name: 'Hold', exact: true }).click()
      await dialog(page).getByText('On hold until an owner releases it').waitFor()
      await dialog(page).getByText('Contract 4711').waitFor()
      await isGood(t, page)
      await page.keyboard.press('Escape')
      await row(page, 'contract.txt').getByText('On hold').waitFor()
      await row(page, 'contract.txt').getByRole('button', { name: 'Actions' }).click()
      await page.getByRole('menuitem', { name: 'Details' }).click()
      await dialog(page).getByRole('button', { name: 'Release' }).click()
      await dialog(page).getByText('Not on hold').waitFor()
    }
  })

  t.test('details show the path, the checksum, the size and the history of an entry', async t => {
    const { id, page: address } = await store('details', {
      'set/a.txt': 'aa',
      'set/deep/b.txt': 'bbb',
      'plain.txt': 'x',
    })
    await app.upload(owner.token, id, '/plain.txt', 'plain', '&conflict=replace')
    await app.app.services.audit.flush()
    const { token: reader } = await join('watcher@example.org', 'VIEWER')
    for (const viewport of [wide, phone]) {
      const page = await open(t, { viewport })
      await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
      await page.goto(address)
      const rowOf = (name: string) =>
        page.getByRole('row').filter({ has: page.getByRole('link', { name, exact: true }) })
      await rowOf('plain.txt').getByRole('button', { name: 'Actions' }).click()
      await page.getByRole('menuitem', { name: 'Details' }).click()
      await dialog(page).getByText('/plain.txt', { exact: true }).waitFor()
      await dialog(page).getByText('5 B').waitFor()
      await dialog(page).getByText('owner@example.org: Uploaded').waitFor()
      await isGood(t, page)
      await dialog(page).getByRole('button', { name: 'Copy link' }).click()
      await dialog(page).getByRole('button', { name: 'Copied' }).waitFor()
      const link = await page.evaluate(() => navigator.clipboard.readText())
      t.equal(link, `${app.url}${address}?file=plain.txt`)
      await dialog(page).getByRole('link', { name: 'Full history' }).click()
      await page.getByRole('table', { name: 'Audit log' }).getByText('details /plain.txt').first().waitFor()
      await page.goBack()
      await page.getByRole('grid').focus()
      await page.keyboard.press('Home')
      await page.keyboard.press('Alt+Enter')
      await dialog(page).getByText('2 files and 1 folder, 5 B').waitFor()
      await isGood(t, page)
    }
    const page = await open(t, { token: reader })
    await page.goto(`${address}`)
    await page.getByRole('row').filter({ hasText: 'plain.txt' }).getByRole('button', { name: 'Actions' }).click()
    await page.getByRole('menuitem', { name: 'Details' }).click()
    await dialog(page).getByText('/plain.txt', { exact: true }).waitFor()
    t.equal(await dialog(page).getByText('History').count(), 0, 'only administrators may read the audit log')
    t.same(page.faults, [])
  })

  t.test('the navigation leads to storages, folders and the files that were opened last', async t => {
    const { page: address } = await store('sidebar', { 'a/b/c.txt': 'ccc', 'a/d/e.txt': '', 'z.txt': '' })
    await store('another storage')
    for (const viewport of [wide, phone]) {
      const page = await open(t, { viewport })
      await page.goto(`${address}/a/b?file=c.txt`)
      await page.getByRole('button', { name: 'Close' }).click()
      const navigation = await openNavigation(page)
      await navigation.getByRole('link', { name: 'another storage' }).waitFor()
      // The way to the open folder is shown.
      await navigation.getByRole('link', { name: 'b', exact: true }).waitFor()
      t.equal(await navigation.getByRole('link', { name: 'b', exact: true }).getAttribute('aria-current'), 'page')
      await isGood(t, page)
      await navigation.getByRole('link', { name: 'd', exact: true }).click()
      await page.getByRole('grid').getByRole('link', { name: 'e.txt' }).waitFor()
      if (viewport === phone) {
        t.equal(await navigation.count(), 0, 'it covers the files only until a folder is chosen')
        await openNavigation(page)
      }
      await navigation.getByRole('button', { name: 'Folders in another storage' }).click()
      await navigation.getByText('No folders').waitFor()
      await navigation.getByRole('link', { name: 'Recent' }).click()
      await page.getByRole('region', { name: 'Opened in this browser' }).getByRole('link', { name: 'c.txt' }).click()
      await page.waitForURL(/\/a\/b\?file=c\.txt$/)
      await page.getByRole('button', { name: 'Close' }).click()
      if (viewport === wide) {
        await signOut(page)
        await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor()
        t.equal(await page.evaluate(() => localStorage.getItem('stowage.recent')), null)
        owner.token = await signIn(app, 'owner@example.org')
      }
      t.same(page.faults, [])
    }
  })
}
