/** Share links in the console: made by people with an account, and used by people without one. */
import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import t from 'tap'
import { atNight, inTurn } from '../support/extent.ts'
import { makeShare, revokeShare } from '../support/shares.ts'
import { until } from '../support/until.ts'
import { button, dialog, isGood, names, openNavigation, pick, row, startFiles } from './files.ts'

const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)
const phone = { viewport: { width: 390, height: 844 }, hasTouch: true }

// Nothing listens there. The tests of email have a mail server.
const mail = {
  smtpUrl: 'smtp://127.0.0.1:1',
  from: 'stowage@example.org',
  publicUrl: 'https://files.example.org',
  sendsResets: true,
}
const files = await startFiles(t, { settings: { mail } })
if (files) {
  const { app, owner, open, store } = files
  /** Opens a window without a session. */
  const stranger = (t: Parameters<typeof open>[0], options: object = {}) => {
    // biome-ignore lint/suspicious/noExplicitAny: an explicit undefined removes the session of the owner
    return open(t, { token: undefined, ...options } as any)
  }
  const linkIn = async (page: Page) => {
    const url = (await page.getByTestId('share-link').textContent()) ?? ''
    return url.slice(app.url.length)
  }

  atNight(t, 'a folder is shared with a person, who finds it, until they are removed', async t => {
    const from = await store('members', { 'team/a.txt': 'content of a', 'team/pictures/dot.png': png })
    const join = async (email: string) => {
      const made = await app.ask('mutation { createInvite(input: { role: NONE }) { invite } }', {}, owner.token)
      return app.register(email, { invite: made.createInvite.invite })
    }
    const [ann] = [await join('ann.member@example.org'), await join('bob.member@example.org')]
    const theirs = await open(t, { token: ann.token, ...inTurn([{}, phone])[0] })
    await theirs.goto('/files')
    await (await openNavigation(theirs)).getByRole('link', { name: 'Shared with me' }).click()
    await theirs.getByText('Nothing is shared with you yet').waitFor()
    await isGood(t, theirs)

    const page = await open(t)
    const openDialog = async () => {
      await page.goto(from.page)
      await pick(page, 'team')
      await button(page, 'Share…').click()
    }
    await openDialog()
    const chooser = dialog(page).getByRole('combobox', { name: 'Add people and groups' })
    const share = dialog(page).getByRole('button', { name: 'Share', exact: true })
    t.ok(await dialog(page).getByRole('radio', { name: 'People and groups' }).isChecked())
    t.ok(await share.isDisabled(), 'nobody is chosen')
    await chooser.pressSequentially('member@')
    await page.getByRole('option').nth(1).waitFor()
    await isGood(t, page)
    await chooser.press('ArrowDown')
    await chooser.press('Enter')
    const chip = (name: string) => dialog(page).getByRole('button', { name: `Remove ${name}` })
    await chip('ann.member@example.org').waitFor()
    await chooser.press('Backspace')
    await chip('ann.member@example.org').waitFor({ state: 'detached' })
    for (const name of ['ann', 'bob']) {
      await chooser.fill(name)
      await page.getByRole('option', { name: `${name}.member@example.org` }).click()
    }
    await chip('bob.member@example.org').press('Delete')
    await chip('bob.member@example.org').waitFor({ state: 'detached' })
    t.ok(await dialog(page).getByRole('switch', { name: 'Notify by email' }).isChecked())
    await dialog(page).getByLabel('Note for the recipients (optional)').fill('For you')
    await isGood(t, page)
    await share.click()
    await dialog(page).getByText('ann.member@example.org can open it under “Shared with me”').waitFor()
    const link = await linkIn(page)
    await isGood(t, page)
    await button(page, 'Done').click()
    const emails = await app.db.selectFrom('share_emails').select('recipient').execute()
    t.same(emails, [{ recipient: 'ann.member@example.org' }])

    await theirs.goto('/files')
    const received = theirs.getByRole('region', { name: 'Shared with me' }).getByRole('listitem')
    await received.getByText('From owner@example.org').waitFor()
    await isGood(t, theirs)
    await theirs.getByRole('link', { name: 'All that is shared with me' }).click()
    await theirs.getByRole('listitem').getByText('For you').waitFor()
    await isGood(t, theirs)
    await theirs.getByRole('list', { name: 'Shared with me' }).getByRole('link', { name: 'team' }).click()
    await row(theirs, 'a.txt').waitFor()
    const content = await theirs.evaluate(
      async path => (await fetch(path)).text(),
      `/api${link.replace('/s/', '/share/')}/content?path=/a.txt`,
    )
    t.equal(content, 'content of a', 'the browser also sends the proof with links and images')
    const visitor = await stranger(t, phone)
    await visitor.goto(link)
    await visitor.getByRole('link', { name: 'Sign in' }).waitFor()
    await isGood(t, visitor)
    t.match(
      await visitor.getByRole('link', { name: 'Sign in' }).getAttribute('href'),
      `next=${encodeURIComponent(link)}`,
    )

    await page.goto('/shares')
    const shared = page.getByRole('row', { name: '/team' })
    await shared.getByText('With ann.member@example.org').waitFor()
    await shared.getByRole('button', { name: 'Edit' }).click()
    const people = dialog(page).getByRole('combobox', { name: 'People and groups' })
    await people.fill('bob')
    await page.getByRole('option', { name: 'bob.member@example.org' }).click()
    await dialog(page).getByRole('switch', { name: 'Notify new people by email' }).press('Space')
    await isGood(t, page)
    await button(page, 'Save').click()
    await shared.getByText('With ann.member@example.org, bob.member@example.org').waitFor()
    t.equal((await app.db.selectFrom('share_emails').select('recipient').execute()).length, 1, 'no email to Bob')

    await openDialog()
    const remove = (name: string) =>
      dialog(page).getByRole('button', { name: `Remove the access of ${name}.member@example.org` })
    await chooser.fill('ann')
    const present = page.getByRole('option', { name: /ann\.member@example\.org/ })
    t.equal(await present.getAttribute('aria-disabled'), 'true', 'somebody who has access is not chosen again')
    await chooser.press('Escape')
    await isGood(t, page)
    await remove('ann').click()
    await remove('ann').waitFor({ state: 'detached' })
    await theirs.goto('/shared-with-me')
    await theirs.getByText('Nothing is shared with you yet').waitFor()
    // Another window adds somebody, whom the dialog does not show yet.
    const { id } = await app.db
      .selectFrom('shares')
      .select('id')
      .where('revoked_at', 'is', null)
      .executeTakeFirstOrThrow()
    const update = 'mutation ($input: UpdateShareInput!) { updateShare(input: $input) { id } }'
    await app.ask(update, { input: { id, addUserIds: [ann.id] } }, owner.token)
    // Without the interval, only the focus makes the window read again.
    await theirs.evaluate(() => {
      for (let timer = 0; timer < 10_000; timer += 1) clearInterval(timer)
      dispatchEvent(new Event('focus'))
    })
    await theirs.getByRole('list', { name: 'Shared with me' }).getByRole('link', { name: 'team' }).waitFor()
    await remove('bob').click()
    await remove('ann').waitFor()
    t.equal(await remove('bob').count(), 0)
    await remove('ann').click()
    await dialog(page).getByText('Shared already').waitFor({ state: 'detached' })
    t.same(await app.db.selectFrom('shares').select('id').where('revoked_at', 'is', null).execute(), [])
    t.same(page.faults, [])
  })

  t.test('a selection is shared, opened with its password, and revoked', async t => {
    const from = await store('view', {
      'a.txt': 'content of a',
      'pictures/dot.png': png,
      'pictures/deep/b.txt': 'b',
      'canary.txt': 'canary',
    })
    const page = await open(t)
    await page.goto(from.page)
    await pick(page, 'a.txt')
    await pick(page, 'pictures')
    await button(page, 'Share…').click()
    await dialog(page).getByRole('radio', { name: 'Link' }).check()
    await dialog(page).getByLabel('Password (optional)').fill('correct horse')
    await dialog(page).getByLabel('Note for the recipients (optional)').fill('For you')
    await dialog(page).getByLabel('Send the link by email to (optional)').fill('ann@example.org, bob@example.org,')
    t.equal(await dialog(page).getByRole('radio', { name: 'Add files' }).count(), 0, 'a selection cannot receive files')
    await isGood(t, page)
    await button(page, 'Create link').click()
    const link = await linkIn(page)
    t.match(link, /^\/s\/stw_share_/)
    await dialog(page).getByText('QR code').click()
    await dialog(page).getByRole('img', { name: 'The link as a QR code' }).waitFor()
    await isGood(t, page)
    await button(page, 'Done').click()
    const emails = await app.db
      .selectFrom('share_emails')
      .select('recipient')
      .where('recipient', 'not like', '%.member@%')
      .orderBy('recipient')
      .execute()
    t.same(emails, [{ recipient: 'ann@example.org' }, { recipient: 'bob@example.org' }])

    for (const [width, options] of inTurn(Object.entries({ desktop: {}, phone }))) {
      const visitor = await stranger(t, options)
      await visitor.goto(link)
      await visitor.getByRole('heading', { name: 'This link needs a password' }).waitFor()
      await isGood(t, visitor)
      await visitor.getByLabel('Password').fill('wrong horse')
      await button(visitor, 'Open').click()
      await visitor.getByText('The password of the share link is wrong.').waitFor()
      await visitor.getByLabel('Password').fill('correct horse')
      await button(visitor, 'Open').click()
      await row(visitor, 'a.txt').waitFor()
      t.same((await names(visitor)).toSorted(), ['a.txt', 'pictures'], width)
      await visitor.getByText('For you').waitFor()
      const table = await visitor.getByRole('grid').boundingBox()
      const page = visitor.viewportSize()
      const line = await row(visitor, 'a.txt').boundingBox()
      t.ok(line && line.height < 60, 'an entry takes one line')
      t.ok(table && page && table.width > page.width * 0.9, 'the table is as wide as the page')
      t.ok(table && page && table.y + table.height <= page.height, 'only the table scrolls')
      await isGood(t, visitor)
      await visitor.getByRole('link', { name: 'a.txt' }).click()
      await visitor.locator('pre').getByText('content of a').waitFor()
      const viewer = visitor.getByRole('dialog')
      await isGood(t, visitor)
      const [download] = await Promise.all([
        visitor.waitForEvent('download'),
        viewer.getByRole('button', { name: 'Download' }).click(),
      ])
      t.equal(await readFile(await download.path(), 'utf8'), 'content of a')
      await viewer.getByRole('button', { name: 'Close' }).click()
      if (width === 'desktop') {
        await pick(visitor, 'a.txt')
        await pick(visitor, 'pictures')
        const [selected] = await Promise.all([
          visitor.waitForEvent('download'),
          button(visitor, 'Download as ZIP').click(),
        ])
        t.equal(selected.suggestedFilename(), 'shared.zip')
        await isGood(t, visitor)
      }
      await visitor.getByRole('link', { name: 'pictures' }).click()
      await visitor.getByRole('link', { name: 'dot.png' }).click()
      await until(async () => {
        const width = await visitor.getByRole('img', { name: 'dot.png' }).evaluate(image => {
          return (image as unknown as { naturalWidth: number }).naturalWidth
        })
        return width === 1
      })
      await isGood(t, visitor)
      await button(visitor, 'Close').click()
      const [zip] = await Promise.all([
        visitor.waitForEvent('download'),
        button(visitor, 'Download all as ZIP').click(),
      ])
      t.equal(zip.suggestedFilename(), 'pictures.zip')
      await visitor.reload()
      await row(visitor, 'deep').waitFor()
      t.notMatch(await visitor.content(), /canary/, 'no name from outside of the share')
    }

    await page.goto('/shares')
    const shared = page.getByRole('row', { name: /pictures and 1 more/ })
    await shared.getByText('With a password').waitFor()
    await isGood(t, page)
    await shared.getByRole('button', { name: 'Edit' }).click()
    await dialog(page).getByLabel('Number of downloads (optional)').fill('20')
    await dialog(page).getByLabel('Note for the recipients (optional)').fill('For you and others')
    await dialog(page).getByRole('checkbox', { name: 'Remove the password' }).press('Space')
    await isGood(t, page)
    await button(page, 'Save').click()
    await shared.getByText(/of 20 downloads/).waitFor()
    t.equal(await shared.getByText('With a password').count(), 0)
    const again = await stranger(t)
    await again.goto(link)
    await again.getByText('For you and others').waitFor()
    await row(again, 'a.txt').waitFor()
    await shared.getByRole('button', { name: 'Revoke' }).click()
    await dialog(page).getByRole('button', { name: 'Revoke' }).click()
    await page.getByText('Nothing is shared').waitFor()
    await page.getByRole('checkbox', { name: 'Show links that have ended' }).press('Space')
    await shared.getByText('Revoked').waitFor()
    const late = await stranger(t)
    await late.goto(link)
    await late.getByRole('heading', { name: 'This link no longer works' }).waitFor()
    await isGood(t, late)
    await late.goto('/s/stw_share_0')
    await late.getByRole('heading', { name: 'This link does not exist' }).waitFor()
    t.same(page.faults, [])
  })

  atNight(t, 'one file is a card, and a folder of photos a gallery, in the look of the workspace', async t => {
    const from = await store('look', {
      'plan.txt': 'The plan of the year',
      'photos/1.png': png,
      'photos/2.png': png,
      'photos/3.png': png,
    })
    const admin = await open(t)
    await admin.goto('/settings/workspace')
    await admin.getByLabel('Logo (optional)').setInputFiles({ name: 'logo.png', mimeType: 'image/png', buffer: png })
    await admin.getByRole('checkbox', { name: 'Use a color of your own' }).check()
    await admin.getByLabel('Color', { exact: true }).fill('#b3261e')
    await admin.getByLabel('Line of text (optional)').fill('Files of Example & Sons')
    await isGood(t, admin)
    await admin.getByRole('button', { name: 'Apply the look' }).click()
    await admin.getByText('Saved').first().waitFor()
    const share = (path: string) => makeShare(app, owner.token, { providerId: from.id, path, note: 'Please read it' })
    const [file, folder] = [await share('/plan.txt'), await share('/photos')]
    for (const options of inTurn([{}, phone])) {
      const visitor = await stranger(t, options)
      await visitor.goto(`/s/${file.link}`)
      await visitor.getByRole('heading', { name: 'plan.txt' }).waitFor()
      await visitor.getByText('Files of Example & Sons').waitFor()
      await visitor.locator('.brand-logo').waitFor()
      await isGood(t, visitor)
      const [download] = await Promise.all([
        visitor.waitForEvent('download'),
        visitor.getByRole('link', { name: 'Download' }).click(),
      ])
      t.equal(await readFile(await download.path(), 'utf8'), 'The plan of the year')
      await visitor.goto(`/s/${folder.link}`)
      await visitor.locator('.photo').nth(2).waitFor()
      await isGood(t, visitor)
    }
  })

  atNight(t, 'a folder receives files from people without an account', async t => {
    const to = await store('drop', { 'inbox/taken.txt': 'old' })
    const page = await open(t)
    await page.goto(to.page)
    await pick(page, 'inbox')
    await button(page, 'Share…').click()
    await dialog(page).getByRole('radio', { name: 'Link' }).check()
    await dialog(page).getByRole('radio', { name: 'Add files' }).check()
    await dialog(page).getByText('Limits').click()
    await dialog(page).getByLabel('Types of files (optional)').fill('txt, png')
    t.ok(await dialog(page).getByLabel('Email me when files arrive').isChecked(), 'as most people want')
    await isGood(t, page)
    await button(page, 'Create link').click()
    const link = await linkIn(page)
    for (const [width, options] of Object.entries({ desktop: {}, phone })) {
      const visitor = await stranger(t, options)
      await visitor.goto(link)
      await visitor.getByRole('heading', { name: 'Send files to “inbox”' }).waitFor()
      await isGood(t, visitor)
      const taken = { name: 'taken.txt', mimeType: 'text/plain', buffer: Buffer.from(width) }
      await visitor.getByLabel('Files to upload').setInputFiles([taken, { ...taken, name: `${width}.exe` }])
      await visitor.getByText('accepts only files of these types').waitFor()
      await until(async () => (await to.names('inbox')).length === (width === 'desktop' ? 2 : 3))
      await visitor.getByText('Thank you! 1 file has arrived.').waitFor()
      await isGood(t, visitor)
      t.notMatch(await visitor.content(), /stw_share_.*localStorage/)
      const kept = await visitor.evaluate(() => JSON.stringify({ ...localStorage }))
      t.notMatch(kept, /stw_share_/, 'the browser does not store the link')
    }
    t.same(await to.names('inbox'), ['taken (1).txt', 'taken (2).txt', 'taken.txt'])
    const collected = () => app.db.selectFrom('share_emails').select('files').where('recipient', 'is', null).execute()
    await until(async () => (await collected())[0]?.files === 2)
    t.equal(await readFile(to.at('inbox/taken.txt'), 'utf8'), 'old')
  })

  atNight(t, 'an administrator sees and revokes the links of everybody', async t => {
    const of = await store('everybody', { 'a.txt': 'a', 'b.txt': 'b' })
    const input = { role: 'EDITOR', providerAccess: { all: true } }
    const invite = 'mutation ($input: CreateInviteInput!) { createInvite(input: $input) { invite } }'
    const { createInvite } = await app.ask(invite, { input }, owner.token)
    const editor = await app.register('editor@example.org', createInvite)
    const { link } = await makeShare(app, editor.token, { providerId: of.id, path: '/a.txt' })
    const page = await open(t)
    await page.goto('/settings/shares')
    await page.getByRole('radio', { name: 'Everyone’s' }).check()
    const theirs = page.getByRole('row', { name: /editor@example\.org/ })
    t.equal(await theirs.getByRole('button', { name: 'Copy link' }).count(), 0)
    await theirs.getByRole('button', { name: 'Revoke' }).click()
    await dialog(page).getByRole('button', { name: 'Revoke' }).click()
    await theirs.waitFor({ state: 'detached' })
    t.equal((await app.request(`/api/share/${link}`)).status, 401)

    const invited = await app.ask('mutation { createInvite(input: { role: NONE }) { invite } }', {}, owner.token)
    const reader = await app.register('reader@example.org', invited.createInvite)
    const { id } = await makeShare(app, editor.token, { providerId: of.id, path: '/b.txt', userIds: [reader.id] })
    await page.reload()
    await page.getByRole('radio', { name: 'Everyone’s' }).check()
    await theirs.getByRole('button', { name: 'Edit' }).click()
    await dialog(page).getByRole('combobox', { name: 'People and groups' }).fill('editor@')
    await page.getByRole('option', { name: 'editor@example.org' }).click()
    t.equal(
      await dialog(page).getByRole('switch').count(),
      0,
      'an administrator sends no email in the name of another person',
    )
    await dialog(page).getByRole('button', { name: 'Cancel' }).click()
    const update = 'mutation ($input: UpdateShareInput!) { updateShare(input: $input) { id } }'
    await app.ask(update, { input: { id, removeUserIds: [reader.id] } }, editor.token)
    await page.reload()
    await page.getByRole('radio', { name: 'Everyone’s' }).check()
    await theirs.getByText('With nobody: all people and groups were removed or deleted').waitFor()
    await theirs.getByRole('button', { name: 'Edit' }).click()
    await dialog(page).getByLabel('Note for the recipients (optional)').fill('For nobody')
    await button(page, 'Save').click()
    await dialog(page).waitFor({ state: 'detached' })
    await revokeShare(app, editor.token, id)
    const other = await open(t, { token: editor.token })
    await other.goto('/settings/shares')
    await other.getByText('Nothing is shared').waitFor()
    t.equal(await other.getByRole('radio').count(), 0)
    await isGood(t, other)
  })
}
