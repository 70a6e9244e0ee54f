/** Comments in the console. */
import { randomUUID } from 'node:crypto'
import type { Locator } from 'playwright-core'
import t from 'tap'
import { mentionBefore, partsOf, toStored, toTyped } from '../../web/src/files/comments/mention-text.ts'
import { inTurn, isNight } from '../support/extent.ts'
import { until } from '../support/until.ts'
import { button, dialog, isGood, row, startFiles } from './files.ts'

t.test('a field shows names where the server stores ids', t => {
  const mia = { id: '00000000-0000-4000-8000-000000000001', name: 'Mia' }
  const berg = { id: '00000000-0000-4000-8000-000000000002', name: 'Mia Berg' }
  const typed = 'For @Mia Berg, @Mia and @Miami; @Mia.'
  const stored = `For @[${berg.id}], @[${mia.id}] and @Miami; @[${mia.id}].`
  t.equal(toStored(typed, [mia, berg]), stored)
  t.equal(toTyped(stored, [mia, berg]), typed)
  t.same(partsOf(`@[${mia.id}] @[${berg.id}] (see http://a.example/x).`, [mia]), [
    { kind: 'mention', name: 'Mia' },
    { kind: 'text', text: ' ' },
    { kind: 'mention', name: null },
    { kind: 'text', text: ' (see ' },
    { kind: 'link', text: 'http://a.example/x' },
    { kind: 'text', text: ').' },
  ])
  t.same(partsOf('javascript:alert(1) https:// ftp://a.example', []), [
    { kind: 'text', text: 'javascript:alert(1) https:// ftp://a.example' },
  ])
  t.same(mentionBefore('Hi @mi', 6), { start: 3, search: 'mi' })
  for (const text of ['me@example', 'Hi @ you', 'no mention', '@[id']) t.equal(mentionBefore(text, text.length), null)
  t.end()
})

const isFocused = (locator: Locator) => until(() => locator.evaluate(each => each === document.activeElement))

const files = isNight ? await startFiles(t) : null
if (files) {
  const { app, owner, open, store } = files
  const invited = 'mutation { createInvite(input: { role: EDITOR, providerAccess: { all: true } }) { invite } }'
  const { createInvite } = await app.ask(invited, {}, owner.token)
  const mia = await app.register('mia@example.org', { invite: createInvite.invite })
  await app.ask('mutation { updateProfile(input: { name: "Mia Berg" }) { id } }', {}, mia.token)
  const sizes = { desktop: { width: 1280, height: 800 }, phone: { width: 390, height: 844 } }

  for (const [name, viewport] of inTurn(Object.entries(sizes))) {
    t.test(`people discuss a file: ${name}`, async t => {
      const isPhone = viewport.width < 600
      const disk = await store(`Disk ${randomUUID().slice(0, 4)}`, { 'Offer.txt': 'An offer' })
      const page = await open(t, { viewport, hasTouch: isPhone })
      await page.goto(disk.page)
      await row(page, 'Offer.txt').getByRole('button', { name: 'Actions' }).click()
      await page.getByRole('menuitem', { name: 'Details' }).click()
      const comments = page.getByRole('region', { name: 'Comments' })
      await comments.getByText('No comments yet.').waitFor()
      const field = comments.getByRole('textbox', { name: 'Write a comment' })
      await field.pressSequentially('Please look, @mia')
      await page.getByRole('option', { name: 'Mia Berg' }).waitFor()
      await isGood(t, page)
      await field.press('Enter')
      await field.pressSequentially('and at https://example.org/a. <b>not bold</b> javascript:alert(1)')
      await comments.getByRole('button', { name: 'Comment', exact: true }).click()
      const first = comments.getByRole('listitem')
      await first.getByText('@Mia Berg').waitFor()
      t.equal(await field.inputValue(), '')
      t.equal(await first.getByRole('link').count(), 1, 'only an address of the web is a link')
      t.equal(await first.getByRole('link').getAttribute('href'), 'https://example.org/a')
      t.match(await first.textContent(), 'Please look, @Mia Berg and at https://example.org/a. <b>not bold</b>')
      const stored = app.db.selectFrom('entry_comments').select('text').where('provider_id', '=', disk.id)
      t.match((await stored.executeTakeFirst())?.text, `Please look, @[${mia.id}] and`)

      await first.getByRole('button', { name: 'Edit' }).click()
      const edited = comments.getByRole('textbox', { name: 'Edit comment' })
      await edited.fill('Thank you, @Mia Berg')
      await button(page, 'Save').click()
      await first.getByText('edited').waitFor()
      await isFocused(first.getByRole('button', { name: 'Edit' }))
      await first.getByText('@Mia Berg').waitFor()
      await isGood(t, page)

      const input = { providerId: disk.id, path: '/Offer.txt', text: 'I did.' }
      await app.ask(
        'mutation ($input: CreateCommentInput!) { createComment(input: $input) { id } }',
        { input },
        mia.token,
      )
      const other = await open(t, { viewport, hasTouch: isPhone, token: mia.token })
      await other.goto(`${disk.page}?file=Offer.txt`)
      await button(other, 'Information').click()
      const panel = other.getByRole('region', { name: 'Comments' })
      await panel.getByText('I did.').waitFor()
      t.same(
        await panel
          .getByRole('listitem')
          .evaluateAll(items => items.map(item => item.querySelectorAll('button').length)),
        [2, 0],
        'an editor changes only what they have written',
      )
      await isGood(t, other)
      await panel.getByRole('button', { name: 'Delete' }).click()
      await dialog(other).last().getByRole('button', { name: 'Delete' }).click()
      await panel.getByText('I did.').waitFor({ state: 'detached' })
      t.equal(await panel.getByRole('listitem').count(), 1)
      await isFocused(panel.getByRole('listitem'))
      await comments.getByText('Thank you').waitFor()
      await first.getByRole('button', { name: 'Delete' }).click()
      await dialog(page).last().getByRole('button', { name: 'Delete' }).click()
      await isFocused(field)
    })
  }
}
