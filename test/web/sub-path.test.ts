/** The whole server below a path of another site, behind nginx, which removes the path from requests or keeps it. */
import { randomBytes } from 'node:crypto'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { startNginx } from '../servers/nginx.ts'
import { startApp } from '../support/app.ts'
import { client, password } from '../support/client.ts'
import { atNight, inTurn } from '../support/extent.ts'
import { freePort } from '../support/free-port.ts'
import { startBrowser, visit } from './browser.ts'

const basePath = '/stowage'

async function setUp(t: Test, proxyPass: (url: string) => string) {
  const port = await freePort()
  const publicUrl = `http://127.0.0.1:${port}${basePath}`
  const app = await startApp(t, { settings: { publicUrl, basePath } })
  const pass = `proxy_pass ${proxyPass(app.url)}; proxy_set_header Host $http_host; client_max_body_size 0;`
  const site = `location = / { return 200 "another site"; } location ${basePath}/ { ${pass} }`
  await startNginx(t, app.url, site, port)
  await mkdir(join(app.folder, 'photos'))
  await writeFile(join(app.folder, 'photos/note.txt'), 'a note')
  return { app, publicUrl }
}

const variants: [string, (url: string) => string][] = [
  ['removes the path', url => `${url}/`],
  ['keeps the path', url => url],
]
for (const [what, proxyPass] of inTurn(variants)) {
  t.test(`clients work behind a proxy that ${what}`, async t => {
    const { app, publicUrl } = await setUp(t, proxyPass)
    const api = client(publicUrl)
    const { token } = await api.register('owner@example.org')
    const providerId = await api.connectProvider(token, 'local', { root: app.folder })
    t.equal((await api.upload(token, providerId, '/raw.txt', 'content')).status, 201)
    const ask = 'query ($id: ID!) { file(providerId: $id, path: "/raw.txt") { downloadUrl } }'
    const { downloadUrl } = (await api.ask(ask, { id: providerId }, token)).file
    t.ok(downloadUrl.startsWith(`${publicUrl}/api/`))
    t.equal(await (await fetch(downloadUrl)).text(), 'content')
    const metadata = Object.entries({ providerId, path: '/tus.txt' }).map(
      ([key, value]) => `${key} ${Buffer.from(value).toString('base64')}`,
    )
    const headers = { authorization: `Bearer ${token}`, 'tus-resumable': '1.0.0' }
    const created = await fetch(`${publicUrl}/api/upload/resumable`, {
      method: 'POST',
      headers: { ...headers, 'upload-length': '3', 'upload-metadata': metadata.join(',') },
    })
    const location = new URL(created.headers.get('location') ?? '', created.url)
    t.ok(location.pathname.startsWith(`${basePath}/api/upload/resumable/`))
    const sent = await fetch(location, {
      method: 'PATCH',
      headers: { ...headers, 'upload-offset': '0', 'content-type': 'application/offset+octet-stream' },
      body: 'tus',
    })
    t.equal(sent.status, 204)
    t.equal(await readFile(join(app.folder, 'tus.txt'), 'utf8'), 'tus')
    t.match(await (await fetch(`${publicUrl}/graphiql`)).text(), `${basePath}/graphql`)
    t.equal((await fetch(`${publicUrl}/nothing`)).status, 404)
    t.equal((await fetch(`${app.url}/healthz`)).status, 200, 'probes without the path work, too')
    t.equal((await fetch(`${app.url}${basePath}x/healthz`)).status, 404)
  })
}

for (const [what, proxyPass] of inTurn(variants)) {
  atNight(t, `the console works behind a proxy that ${what}`, async t => {
    const { app, publicUrl } = await setUp(t, proxyPass)
    const browser = await startBrowser(t)
    if (!browser) return
    const owner = await app.register('owner@example.org')
    const providerId = await app.connectProvider(owner.token, 'local', { root: app.folder }, 'Team disk')
    const page = await visit(browser, { url: publicUrl })
    const outside: string[] = []
    page.on('request', request => {
      if (!request.url().startsWith(`${publicUrl}/`) && !/^(data|blob):/.test(request.url()))
        outside.push(request.url())
    })
    await page.goto(`${publicUrl}/files/${providerId}/photos`)
    await page.getByLabel('Email').fill('owner@example.org')
    await page.getByLabel('Password').fill(password)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByText('note.txt').first().waitFor()
    t.equal(page.url(), `${publicUrl}/files/${providerId}/photos`, 'the address from before the sign-in')
    const [cookie] = await page.context().cookies(`${publicUrl}/`)
    t.match(cookie, { name: 'stowage_session', path: `${basePath}/`, httpOnly: true })
    t.same(await page.context().cookies(new URL('/', publicUrl).href), [], 'the other site does not get the cookie')

    const large = randomBytes(2 * 1024 * 1024)
    await page.getByLabel('Files to upload').setInputFiles([
      { name: 'small.txt', mimeType: 'text/plain', buffer: Buffer.from('small') },
      { name: 'large.bin', mimeType: 'application/octet-stream', buffer: large },
    ])
    await page.getByText('2 uploads complete').waitFor()
    t.ok(large.equals(await readFile(join(app.folder, 'photos/large.bin'))))
    t.equal(
      await page
        .getByRole('link', { name: 'note.txt' })
        .getAttribute('href')
        .then(href => href?.startsWith(basePath)),
      true,
    )
    await page.getByRole('link', { name: 'note.txt' }).click()
    await page.getByText('a note').waitFor()
    await page.reload()
    await page.getByText('a note').waitFor()
    await page.goto(`${publicUrl}/settings/api-keys`)
    await page.getByRole('heading', { name: 'API keys' }).waitFor()
    await page.goto(`${publicUrl}/files/00000000-0000-4000-8000-000000000000`)
    await page.getByRole('link', { name: 'files', exact: true }).click()
    await page.getByText('Team disk').first().waitFor()
    t.same(outside, [], 'nothing outside of the path is requested')
    t.same(page.faults, [])
  })
}
