import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Page } from 'playwright-core'
import t from 'tap'
import { until } from '../support/until.ts'
import { isGood, row, startFiles } from './files.ts'

const files = await startFiles(t)
if (files) {
  const { app, owner, open, store } = files
  const streams = new Set<IncomingMessage>()
  app.app.server.server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    if (request.headers.accept !== 'text/event-stream') return
    streams.add(request)
    response.once('close', () => streams.delete(request))
  })
  /** Renames an entry through the API, and waits until the page shows the new name. */
  async function shows(page: Page, providerId: string, path: string, name: string): Promise<void> {
    const input = { providerId, path, name }
    await app.ask('mutation ($input: RenameInput!) { rename(input: $input) { path } }', { input }, owner.token)
    await row(page, name).waitFor()
  }

  t.test('tabs show what others change, over one connection, which outlives the tab that began it', async t => {
    const [one, two] = [await store('one', { 'a.txt': 'a', 'sub/b.txt': 'b' }), await store('two', { 'c.txt': 'c' })]
    const first = await open(t)
    await first.goto(one.page)
    await row(first, 'a.txt').waitFor()
    const second = await first.context().newPage()
    await second.setViewportSize({ width: 390, height: 844 })
    await second.goto(two.page)
    await row(second, 'c.txt').waitFor()
    await shows(first, one.id, '/a.txt', 'a2.txt')
    await shows(second, two.id, '/c.txt', 'c2.txt')
    await until(() => streams.size === 1 || streams.size, { within: 10_000 })
    await first.getByRole('link', { name: 'sub', exact: true }).click()
    await row(first, 'b.txt').waitFor()
    await shows(first, one.id, '/sub/b.txt', 'b2.txt')
    await until(() => streams.size === 1 || streams.size, { within: 10_000 })
    await isGood(t, first)
    await first.close()
    await shows(second, two.id, '/c2.txt', 'c3.txt')
    app.app.server.server.closeAllConnections()
    await until(async () => (await app.request('/healthz')).ok)
    await shows(second, two.id, '/c3.txt', 'c4.txt')
    await until(() => streams.size === 1 || streams.size, { within: 10_000 })
    await second.close()
    await until(() => streams.size === 0 || streams.size, { within: 10_000 })
  })

  t.test('a tab that loses its folder, or opens one out of reach, leaves the others what they follow', async t => {
    const [kept, lost] = [await store('kept', { 'a.txt': 'a' }), await store('lost', { 'b.txt': 'b' })]
    const allow = (...ids: string[]) => ({
      role: 'EDITOR',
      providerAccess: { restrictions: ids.map(providerId => ({ providerId, basePath: '/' })) },
    })
    const { createInvite } = await app.ask(
      'mutation ($input: CreateInviteInput!) { createInvite(input: $input) { invite } }',
      { input: allow(kept.id, lost.id) },
      owner.token,
    )
    const member = await app.register('member@example.org', { invite: createInvite.invite })
    const first = await open(t, { token: member.token })
    await first.goto(lost.page)
    await row(first, 'b.txt').waitFor()
    const second = await first.context().newPage()
    await second.goto(kept.page)
    await row(second, 'a.txt').waitFor()
    await shows(first, lost.id, '/b.txt', 'b2.txt')
    await app.ask(
      'mutation ($input: UpdateMemberInput!) { updateMember(input: $input) { id } }',
      { input: { userId: member.id, ...allow(kept.id) } },
      owner.token,
    )
    await first.getByRole('alert').waitFor()
    await shows(second, kept.id, '/a.txt', 'a2.txt')
    await first.goto(lost.page)
    await shows(second, kept.id, '/a2.txt', 'a3.txt')
    await until(() => streams.size === 1 || streams.size, { within: 10_000 })
  })
}
