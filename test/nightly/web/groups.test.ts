/** Tests the pages of groups and service accounts. */
import t from 'tap'
import { button, dialog, isGood, startFiles } from '../../web/files.ts'

const wide = { width: 1280, height: 800 }
const phone = { width: 390, height: 844 }

const files = await startFiles(t)
if (files) {
  const { app, owner, open, store } = files
  const join = async (email: string, role: string) => {
    const create = 'mutation ($input: CreateInviteInput!) { createInvite(input: $input) { invite } }'
    const { createInvite } = await app.ask(create, { input: { role } }, owner.token)
    return app.register(email, { invite: createInvite.invite })
  }

  t.test('an administrator makes a group, fills it, and sees what its members can access', async t => {
    await store('shelf', { 'red/a.txt': 'a' })
    for (const viewport of [wide, phone]) {
      const email = `grouped-${viewport.width}@example.org`
      const name = `Writers ${viewport.width}`
      const member = await join(email, 'NONE')
      const page = await open(t, { viewport })
      await page.goto('/settings')
      await page.getByRole('link', { name: 'Groups' }).click()
      await page.getByRole('heading', { name: 'Groups', level: 1 }).waitFor()
      await isGood(t, page)
      await button(page, 'New group').click()
      await dialog(page).getByLabel('Name').fill(name)
      t.equal(await page.getByRole('radio', { name: 'Owner' }).count(), 0, 'a group is no owner')
      await page.getByRole('radio', { name: 'Editor' }).check()
      await page.getByRole('radio', { name: 'Only selected storages' }).check()
      await button(page, 'Create group').click()
      await dialog(page).getByText('Select at least one storage').waitFor()
      await page.getByRole('checkbox', { name: 'shelf' }).click()
      await dialog(page).getByLabel('Folder in shelf').fill('/red')
      await isGood(t, page)
      await button(page, 'Create group').click()
      await dialog(page).waitFor({ state: 'detached' })
      const row = page.getByRole('row', { name })
      await row.getByText('/red', { exact: true }).waitFor()
      await isGood(t, page)

      await row.getByRole('button', { name: 'Members' }).click()
      await dialog(page).getByText('The group has no members yet').waitFor()
      await dialog(page)
        .getByRole('button', { name: /Member$/ })
        .click()
      await page.getByRole('option', { name: email }).click()
      await isGood(t, page)
      await dialog(page).getByRole('button', { name: 'Add', exact: true }).click()
      await dialog(page).getByRole('listitem').filter({ hasText: email }).waitFor()
      await isGood(t, page)
      await button(page, 'Done').click()
      // On a phone, the cell is no table cell.
      await row.locator('td').getByText('1', { exact: true }).waitFor()
      t.match(await app.ask('{ viewer { scopes } }', {}, member.token), { viewer: { scopes: ['read', 'write'] } })

      await page.goto('/settings/members')
      const memberRow = page.getByRole('row', { name: email })
      await memberRow.getByText(`In ${name}`).waitFor()
      await isGood(t, page)
      await memberRow.getByRole('button', { name: 'View as' }).click()
      await dialog(page).getByText(`what these groups give: ${name}`).waitFor()
      await dialog(page).getByText('/red', { exact: true }).waitFor()
      await isGood(t, page)
      await button(page, 'Done').click()

      const theirs = await open(t, { token: member.token, viewport })
      await theirs.goto('/settings/profile')
      await theirs.getByText(name, { exact: true }).waitFor()
      await theirs.getByText('Editor, on some storages').waitFor()
      await isGood(t, theirs)
      await theirs.goto('/settings/groups')
      await theirs.getByText(/Only administrators .*can see this page/).waitFor()

      await page.goto('/settings/groups')
      await row.getByRole('button', { name: 'Members' }).click()
      await button(page, `Remove ${email} from ${name}`).click()
      await dialog(page).getByText('The group has no members yet').waitFor()
      await button(page, 'Done').click()
      await row.getByRole('button', { name: 'Edit' }).click()
      await dialog(page).getByLabel('Name').fill(`${name} renamed`)
      await button(page, 'Save').click()
      await dialog(page).waitFor({ state: 'detached' })
      await page
        .getByRole('row', { name: `${name} renamed` })
        .getByRole('button', { name: 'Delete' })
        .click()
      await page.getByRole('alertdialog').getByText('also in running transfers').waitFor()
      await isGood(t, page)
      await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click()
      await row.waitFor({ state: 'detached' })
      t.same([...page.faults, ...theirs.faults], [])
    }
  })

  t.test('an administrator makes a token for a directory, which manages a member that they deactivate', async t => {
    for (const viewport of [wide, phone]) {
      const name = `Entra ${viewport.width}`
      const page = await open(t, { viewport })
      await page.goto('/settings')
      await page.getByRole('link', { name: 'Directories' }).click()
      await page.getByText('This server has no LDAP directory').waitFor()
      await page.getByText(`${app.url}/scim/v2`).waitFor()
      await button(page, 'New token').click()
      await dialog(page).getByRole('textbox', { name: 'Name' }).fill(name)
      if (viewport === phone) {
        await dialog(page)
          .getByRole('button', { name: /Directory$/ })
          .click()
        await page.getByRole('option', { name: `Entra ${wide.width}` }).click()
      }
      await isGood(t, page)
      await button(page, 'Create token').click()
      const token = (await page.getByTestId('token').textContent()) ?? ''
      await isGood(t, page)
      await button(page, 'Done').click()
      const userName = `entra-${viewport.width}@example.org`
      const response = await app.request('/scim/v2/Users', {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/scim+json' },
        body: JSON.stringify({ userName }),
      })
      t.equal(response.status, 201)
      const { id } = await response.json()
      const group = `Named ${viewport.width}`
      const named = await app.request('/scim/v2/Groups', {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/scim+json' },
        body: JSON.stringify({ displayName: group, members: [{ value: id }] }),
      })
      t.equal(named.status, 201)
      await page.goto('/settings/groups')
      await page.getByRole('row', { name: group }).getByRole('button', { name: 'Members' }).click()
      const item = dialog(page).getByRole('listitem').filter({ hasText: userName })
      await item.getByText('Managed by a directory').waitFor()
      t.equal(await item.getByRole('button').count(), 0, 'nobody removes the member here')
      await isGood(t, page)
      await button(page, 'Done').click()
      await page.goto('/settings/members')
      const member = page.getByRole('row', { name: userName })
      await member.getByText(`From Entra ${wide.width} (SCIM)`).waitFor()
      await member.getByRole('button', { name: 'Deactivate' }).click()
      await isGood(t, page)
      await page.getByRole('alertdialog').getByRole('button', { name: 'Deactivate' }).click()
      await member.getByText('Deactivated').waitFor()
      await member.getByRole('button', { name: 'Reactivate' }).click()
      await page.getByRole('alertdialog').getByRole('button', { name: 'Reactivate' }).click()
      await member.getByRole('button', { name: 'Deactivate' }).waitFor()
      await isGood(t, page)
      await page.goto('/settings/directories')
      await page.getByRole('row', { name }).getByRole('button', { name: 'Revoke' }).click()
      await page.getByRole('alertdialog').getByRole('button', { name: 'Revoke' }).click()
      await page.getByRole('row', { name }).waitFor({ state: 'detached' })
      t.same(page.faults, [])
    }
  })

  t.test('an administrator makes a service account and a key for it', async t => {
    for (const viewport of [wide, phone]) {
      const name = `Backup ${viewport.width}`
      const page = await open(t, { viewport })
      await page.goto('/settings')
      await page.getByRole('link', { name: 'Service accounts' }).click()
      await button(page, 'New service account').click()
      await dialog(page).getByLabel('Name').fill(name)
      await page.getByRole('radio', { name: 'Editor' }).check()
      await isGood(t, page)
      await button(page, 'Create service account').click()
      await dialog(page).waitFor({ state: 'detached' })
      const row = page.getByRole('row', { name })
      await row.waitFor()
      t.ok(
        await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth),
        'nothing is wider than the screen',
      )
      await isGood(t, page)
      await row.getByRole('link', { name: 'Keys' }).click()
      await page.getByText('let a program use Stowage').waitFor()
      await button(page, 'New key').click()
      await dialog(page).getByLabel('Name').fill('nightly')
      await page.getByRole('radio', { name: 'Write' }).check()
      await isGood(t, page)
      await button(page, 'Create key').click()
      const key = (await page.getByTestId('new-api-key').textContent()) ?? ''
      const { viewer } = await app.ask('{ viewer { scopes user { name isServiceAccount } } }', {}, key)
      t.same(viewer, { scopes: ['read', 'write'], user: { name, isServiceAccount: true } })
      await button(page, 'Done').click()
      await page.getByRole('heading', { name: `API keys of ${name}` }).waitFor()
      await isGood(t, page)
      await page.goto('/settings/members')
      await page.getByRole('row', { name: 'owner@example.org' }).waitFor()
      t.equal(await page.getByRole('row', { name }).count(), 0, 'programs are listed apart')
      await page.goto('/settings/service-accounts')
      await row.getByRole('button', { name: 'Rename' }).click()
      await dialog(page).getByLabel('Name').fill(`${name} renamed`)
      await isGood(t, page)
      await dialog(page).getByRole('button', { name: 'Rename' }).click()
      await page.getByRole('row', { name: `${name} renamed` }).waitFor()
      await row.getByRole('button', { name: 'Remove' }).click()
      await page.getByRole('alertdialog').getByRole('button', { name: 'Remove' }).click()
      await row.waitFor({ state: 'detached' })
      t.equal((await app.graphql('{ me { id } }', {}, key)).status, 401)
      t.same(page.faults, [])
    }
  })
}
