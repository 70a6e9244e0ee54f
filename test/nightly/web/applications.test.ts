/** Tests the consent page, and the connected applications in the profile. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { applicationOf } from '../../support/applications.ts'
import { button, dialog, isGood, startFiles } from '../../web/files.ts'

const wide = { width: 1280, height: 800 }
const phone = { width: 390, height: 844 }

const files = await startFiles(t)
if (files) {
  const { app, open, store } = files
  await store('Disk', { 'a.txt': 'a' })
  const client = applicationOf(app)
  /** The application on the machine of the person, which notes where their browser arrives. */
  const arrivals: URL[] = []
  const application = createServer((request, response) => {
    const url = new URL(request.url ?? '', 'http://127.0.0.1')
    if (url.pathname === '/callback') arrivals.push(url)
    response.end('You can close this page.')
  })
  await new Promise<void>(resolve => application.listen(0, '127.0.0.1', resolve))
  t.teardown(() => application.close())
  const redirect_uri = `http://127.0.0.1:${(application.address() as AddressInfo).port}/callback`

  t.test('a person consents, and revokes the connection', async t => {
    for (const viewport of [wide, phone]) {
      const clientId = await client.register({ client_name: `Agent ${viewport.width}` })
      const { query, verifier } = client.request(clientId, { redirect_uri, resource: `${app.url}/mcp` })
      const page = await open(t, { viewport })
      await page.goto(`/oauth/authorize?${query}`)
      await page.getByRole('heading', { name: `Connect Agent ${viewport.width}?` }).waitFor()
      await page.getByText('Nobody vouches for this name').waitFor()
      await page.getByText('The MCP endpoint for agents').waitFor()
      await isGood(t, page)
      await button(page, 'Connect').click()
      await page.getByText('Select at least one storage').waitFor()
      await page.getByRole('radio', { name: 'Write' }).check({ force: true })
      await page.getByRole('group', { name: 'Selected storages' }).getByRole('checkbox').first().check({ force: true })
      await isGood(t, page)
      await button(page, 'Connect').click()
      await page.waitForURL(`${redirect_uri}?**`)
      const { searchParams: answer } = arrivals.at(-1) ?? new URL(app.url)
      t.same([answer.get('state'), answer.get('iss')], ['a state', app.url])
      const fields = { grant_type: 'authorization_code', code: answer.get('code') ?? '', code_verifier: verifier }
      const issued = await client.form('/oauth/token', { ...fields, client_id: clientId })
      t.match(issued, { status: 200, body: { scope: 'read write' } })

      await page.goto('/settings/profile')
      const row = page
        .getByRole('table', { name: 'Connected applications' })
        .getByRole('row', { name: `Agent ${viewport.width}` })
      await row.getByText('Write', { exact: true }).waitFor()
      await isGood(t, page)
      await row.getByRole('button', { name: 'Revoke' }).click()
      await dialog(page).getByRole('button', { name: 'Revoke' }).click()
      await row.waitFor({ state: 'detached' })
      t.match(await client.refresh(issued.body.refresh_token, clientId), { body: { error: 'invalid_grant' } })

      await page.goto('/settings/api-keys')
      await page
        .getByRole('row', { name: `Agent ${viewport.width}` })
        .getByText('Application at 127.0.0.1')
        .waitFor()
      await isGood(t, page)
    }
  })

  t.test('a person refuses, and an application learns of its mistakes', async t => {
    const clientId = await client.register()
    const page = await open(t, { viewport: wide })
    await page.goto(`/oauth/authorize?${client.request(clientId, { redirect_uri }).query}`)
    await button(page, 'Refuse').click()
    await page.waitForURL(`${redirect_uri}?**`)
    t.equal(arrivals.at(-1)?.searchParams.get('error'), 'access_denied')
    await page.goto(
      `/oauth/authorize?${client.request(clientId, { redirect_uri, code_challenge_method: 'plain' }).query}`,
    )
    await page.getByText('PKCE is required').waitFor()
    await isGood(t, page)
    t.equal(arrivals.at(-1)?.searchParams.get('error'), 'access_denied', 'a link leads nowhere by itself')
    await button(page, 'Return to this computer').click()
    await page.waitForURL(`${redirect_uri}?**`)
    t.equal(arrivals.at(-1)?.searchParams.get('error'), 'invalid_request')
    await page.goto(`/oauth/authorize?${client.request('unknown', { redirect_uri }).query}`)
    await page.getByRole('heading', { name: 'This application cannot be connected' }).waitFor()
    await page.getByText('The application is unknown here').waitFor()
    await isGood(t, page)
  })

  t.test('a visitor signs in first, and comes back', async t => {
    const { query } = client.request(await client.register(), { redirect_uri })
    const page = await open(t, { token: '', viewport: phone })
    await page.context().clearCookies()
    await page.goto(`/oauth/authorize?${query}`)
    await page.getByLabel('Email').fill('owner@example.org')
    await page.getByLabel('Password').fill('correct horse battery staple')
    await button(page, 'Sign in').click()
    await page.getByRole('heading', { name: 'Connect Test application?' }).waitFor()
    t.equal(new URL(page.url()).search.slice(1), query)
  })
}
