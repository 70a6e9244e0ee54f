import { rename } from 'node:fs/promises'
import { dirname } from 'node:path'
import t from 'tap'
import { signIn } from './browser.ts'
import { button, isGood, row, startFiles } from './files.ts'

const files = await startFiles(t)
if (files) {
  const { app, owner, open, store } = files

  t.test('a storage whose folder is gone says so, and what administrators and members can do', async t => {
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
    await admin.getByRole('main').getByText('Connected', { exact: true }).waitFor({ timeout: 20_000 })
    t.same([admin.faults, member.faults], [[], []])
  })
}
