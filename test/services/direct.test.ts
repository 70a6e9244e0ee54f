/** Links directly to a back end. S3 supports them; a local disk does not. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'kysely'
import t from 'tap'
import { isComplete } from '../catalogue/world.ts'
import { faultProxy } from '../servers/fault-proxy.ts'
import { s3Server } from '../servers/radosgw.ts'
import { refuseUnsigned } from '../servers/signed-headers.ts'
import { startApp } from '../support/app.ts'
import { until } from '../support/until.ts'

t.setTimeout(300_000)

const link = `query ($id: ID!, $path: String!, $seconds: Int = 60) {
  file(providerId: $id, path: $path) { downloadUrl(direct: true, expiresIn: $seconds) }
}`
const ticket = `mutation ($input: CreateUploadTicketInput!) {
  createUploadTicket(input: $input) { isDirect method url headers { name value } path expiresAt }
}`

t.test('direct transfer', async t => {
  const s3 = await s3Server(t)
  const { region, accessKeyId, secretAccessKey } = s3
  const bucket = await s3.newBucket()
  // Direct uploads need this setting.
  const proxy = await faultProxy(t, s3.endpoint)
  proxy.fault = refuseUnsigned
  const { endpoint } = proxy
  const app = await startApp(t, { settings: { catalogueHours: 24 } })
  const owner = await app.register('owner@example.org')
  const config = { bucket, endpoint, region, accessKeyId, secretAccessKey, forcePathStyle: true }
  const id = await app.connectProvider(owner.token, 's3', config)
  await writeFile(join(app.folder, 'disk'), 'on disk')
  const disk = await app.connectProvider(owner.token, 'local', { root: app.folder })
  const upload = (input: object, token = owner.token) =>
    app.graphql(ticket, { input: { providerId: id, ...input } }, token)
  const send = (
    { method, url, headers }: { method: string; url: string; headers: { name: string; value: string }[] },
    body: string,
  ) => fetch(url, { method, body, headers: headers.map(({ name, value }) => [name, value] as [string, string]) })

  await t.test('a file is uploaded and downloaded without passing through the server', async t => {
    const { createUploadTicket: given } = await app.ask(
      ticket,
      { input: { providerId: id, path: '/base/new file.txt' } },
      owner.token,
    )
    t.match(given, { isDirect: true, method: 'PUT', path: '/base/new file.txt' })
    t.ok(given.url.startsWith(endpoint))
    t.ok((await send(given, 'straight')).ok)
    const { file } = await app.ask(link, { id, path: '/base/new file.txt' }, owner.token)
    t.ok(file.downloadUrl.startsWith(endpoint))
    t.equal(await (await fetch(file.downloadUrl)).text(), 'straight')
    t.equal(await (await app.download(owner.token, id, '/base/new file.txt')).text(), 'straight')
    const events = '{ auditEvents(first: 10) { nodes { action result } } }'
    await app.app.services.audit.flush()
    const { auditEvents } = await app.ask(events, {}, owner.token)
    const actions = auditEvents.nodes.map(({ action }: { action: string }) => action)
    for (const action of ['DIRECT_UPLOAD', 'DIRECT_DOWNLOAD']) t.ok(actions.includes(action), action)
  })

  await t.test('the search finds a file of which the server has seen nothing', async t => {
    await until(() => isComplete(app, id), { within: 60_000 })
    const given = (await upload({ path: '/base/unseen.txt' })).data?.createUploadTicket
    t.ok((await send(given, 'unseen')).ok)
    const { rows } =
      await sql`update catalogue_expected set due_at = now() where path = 'base/unseen.txt' returning 1`.execute(app.db)
    t.ok(rows.length > 1, 'the catalogue looks soon, and when the link ends')
    const query = '{ search(input: { text: "unseen" }) { nodes { entry { path } } } }'
    await until(async () => {
      const { search } = await app.ask(query, {}, owner.token)
      return search.nodes.some(({ entry }: { entry: { path: string } }) => entry.path === '/base/unseen.txt')
    })
    t.pass('it is found')
  })

  await t.test('the back end also makes browsers save unsafe types', async t => {
    const shown = `query ($id: ID!, $path: String!, $inline: Boolean!) {
      file(providerId: $id, path: $path) { downloadUrl(direct: true, inline: $inline) }
    }`
    const files = [
      ['/shown/page é.html', 'text/html', 'attachment', 'attachment'],
      ['/shown/drawing.svg', 'image/svg+xml', 'attachment', 'attachment'],
      ['/shown/photo.png', 'image/png', 'attachment', 'inline'],
    ] as const
    for (const [path, type, saved, asked] of files) {
      const put = await app.upload(owner.token, id, path, new Blob(['bytes'], { type }))
      t.equal(put.status, 201)
      for (const [inline, disposition] of [
        [false, saved],
        [true, asked],
      ] as const) {
        const { file } = await app.ask(shown, { id, path, inline }, owner.token)
        t.ok(file.downloadUrl.startsWith(endpoint))
        const { headers } = await fetch(file.downloadUrl)
        const query = new URLSearchParams({ providerId: id, path, ...(inline && { disposition: 'inline' }) })
        const here = await app.request(`/api/download/proxy?${query}`, { token: owner.token })
        t.match(headers.get('content-disposition'), new RegExp(`^${disposition}; filename`), `${path} ${inline}`)
        for (const name of ['content-disposition', 'content-type']) t.equal(headers.get(name), here.headers.get(name))
      }
    }
  })

  await t.test('conflict decides what happens to a name that is taken', async t => {
    t.match((await upload({ path: '/base/new file.txt' })).errors, [{ extensions: { reason: 'ALREADY_EXISTS' } }])
    const renamed = await upload({ path: '/base/new file.txt', conflict: 'RENAME' })
    t.match(renamed.data, { createUploadTicket: { isDirect: true, path: '/base/new file (1).txt' } })
    t.match((await upload({ path: '/base/new file.txt', conflict: 'REPLACE' })).data, {
      createUploadTicket: { path: '/base/new file.txt' },
    })
    t.match((await upload({ path: '/' })).errors, [{ extensions: { reason: 'ROOT_IS_FIXED' } }])
  })

  await t.test('a key gets no link outside its base path or without the scope', async t => {
    const access = { restrictions: [{ providerId: id, basePath: '/base/inner' }] }
    const { key } = await app.createKey(owner.token, { name: 'inner', scopes: ['write'], providerAccess: access })
    const { key: reader } = await app.createKey(owner.token, { name: 'reader', scopes: ['read'] })
    const refused = async (answer: Promise<{ errors: unknown[] }>, reason: string) =>
      t.match((await answer).errors, [{ extensions: { code: 'FORBIDDEN', reason } }])
    await refused(upload({ path: '/base/innermost', conflict: 'REPLACE' }, key), 'OUTSIDE_BASE_PATH')
    await refused(upload({ path: '/base/inner/x', providerId: disk }, key), 'PROVIDER_NOT_ALLOWED')
    await refused(upload({ path: '/base/x' }, reader), 'SCOPE_REQUIRED')
    await refused(app.graphql(link, { id, path: '/base/new file.txt' }, key), 'OUTSIDE_BASE_PATH')
    t.match((await upload({ path: '/base/inner/x' }, key)).data, { createUploadTicket: { isDirect: true } })
  })

  await t.test('headers added to an upload ticket cannot read files outside the base path', async t => {
    const ceph = await app.connectProvider(owner.token, 's3', { ...config, endpoint: s3.endpoint }, 'ceph')
    t.equal((await app.upload(owner.token, ceph, '/beyond/secret', 'secret')).status, 201)
    const scopes = ['read', 'write']
    for (const providerId of [id, ceph]) {
      const access = { restrictions: [{ providerId, basePath: '/base/mine' }] }
      const { key } = await app.createKey(owner.token, { name: 'mine', scopes, providerAccess: access })
      const { createUploadTicket: given } = await app.ask(ticket, { input: { providerId, path: '/base/mine/x' } }, key)
      const headers = {
        'x-amz-copy-source': `/${bucket}/beyond/secret`,
        ...(!given.isDirect && { authorization: `Bearer ${key}` }),
      }
      await (await fetch(given.url, { method: given.method, headers })).text()
      const stored = await app.download(key, providerId, '/base/mine/x')
      t.notMatch(await stored.text(), /secret/)
      t.equal(given.isDirect, providerId === id)
    }
  })

  await t.test('transfers with a back end without links pass through the server', async t => {
    const { file } = await app.ask(link, { id: disk, path: '/disk' }, owner.token)
    t.ok(file.downloadUrl.startsWith(`${app.url}/api/download/proxy?ticket=`))
    t.equal(await (await fetch(file.downloadUrl)).text(), 'on disk')
    const input = { providerId: disk, path: '/a b' }
    const { createUploadTicket: given } = await app.ask(ticket, { input }, owner.token)
    t.match(given, { isDirect: false, method: 'POST', expiresAt: null })
    const { url, method } = given
    t.equal((await fetch(url, { method, body: 'x' })).status, 401)
    const authorization = `Bearer ${owner.token}`
    t.equal((await fetch(url, { method, body: 'x', headers: { authorization } })).status, 201)
  })

  await t.test('an operator can disable direct links, and a size limit disables direct uploads', async t => {
    for (const settings of [{ directSeconds: 0 }, { maxUploadBytes: 1000 }]) {
      const other = await startApp(t, { settings })
      const { token } = await other.register('owner@example.org')
      const providerId = await other.connectProvider(token, 's3', config)
      const input = { providerId, path: '/other', conflict: 'REPLACE' }
      t.match(await other.ask(ticket, { input }, token), { createUploadTicket: { isDirect: false } })
      const { file } = await other.ask(link, { id: providerId, path: '/base/new file.txt' }, token)
      t.equal(file.downloadUrl.startsWith(endpoint), settings.directSeconds === undefined)
    }
  })

  await t.test('no link is valid for longer than the setting allows', async t => {
    const { file } = await app.ask(link, { id, path: '/base/new file.txt', seconds: 500_000 }, owner.token)
    t.equal(new URL(file.downloadUrl).searchParams.get('X-Amz-Expires'), '900')
    t.match((await upload({ path: '/y', expiresIn: 0 })).errors, [{ extensions: { reason: 'INVALID_INPUT' } }])
  })
})
