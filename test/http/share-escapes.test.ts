/** The ways out of a share that other products had, each as an attack that must fail. */
import { once } from 'node:events'
import { mkdir, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import { sql } from 'kysely'
import t from 'tap'
import { startApp } from '../support/app.ts'
import { ask, drop, list, makeShare, read } from '../support/shares.ts'

t.test('escapes from shares', async t => {
  const app = await startApp(t, { settings: { trashDays: 30 } })
  const { token } = await app.register('owner@example.org')
  const providerId = await app.connectProvider(token, 'local', { root: app.folder })
  const contents = {
    '/team/shared/in.txt': 'inside',
    '/team/shared-old/canary.txt': 'canary',
    '/team/shared.txt': 'canary',
    '/team/canary.txt': 'canary',
    '/canary.txt': 'canary',
  }
  for (const [path, content] of Object.entries(contents)) {
    await mkdir(join(app.folder, path, '..'), { recursive: true })
    await writeFile(join(app.folder, path), content)
  }
  const share = (input: object, by = token) => makeShare(app, by, { providerId, path: '/team/shared', ...input })
  const files = async () => {
    const query = `query ($providerId: ID!, $path: String!) { folder(providerId: $providerId, path: $path) {
      entries { nodes { path } } } }`
    const at = async (path: string) =>
      (await app.ask(query, { providerId, path }, token)).folder.entries.nodes.map(
        (node: { path: string }) => node.path,
      )
    return [...(await at('/team')), ...(await at('/team/shared-old'))].toSorted()
  }

  /** Invites somebody and resolves with their id and a token. */
  async function editor(email: string, basePath = '/'): Promise<{ id: string; token: string }> {
    const input = { role: 'EDITOR', providerAccess: { restrictions: [{ providerId, basePath }] } }
    const invite = 'mutation ($input: CreateInviteInput!) { createInvite(input: $input) { invite } }'
    return app.register(email, (await app.ask(invite, { input }, token)).createInvite)
  }
  const setMember = (input: object) =>
    app.ask('mutation ($input: UpdateMemberInput!) { updateMember(input: $input) { id } }', { input }, token)

  t.test('siblings of the shared folder, and what is above it', async t => {
    const view = await share({})
    const dropped = await share({ kind: 'DROP' })
    const file = await share({ path: '/team/shared/in.txt' })
    const before = await files()
    const attempts = [
      '/../canary.txt',
      '/..',
      '/../shared-old/canary.txt',
      '/./../canary.txt',
      '/%2e%2e/canary.txt',
      '/..%2fcanary.txt',
      '/..\\canary.txt',
      '//canary.txt',
      '/in.txt/../../canary.txt',
      '-old/canary.txt',
      '/team/canary.txt',
      '/team/shared/in.txt',
      '/canary.txt',
      '../canary.txt',
      '',
    ]
    for (const path of attempts) {
      for (const { link } of [view, file]) {
        const selected = await ask(app, link, 'archive', { method: 'POST', body: JSON.stringify({ paths: [path] }) })
        for (const answer of [await read(app, link, path), await list(app, link, path), selected]) {
          t.notMatch(answer.text, /canary(?!\.txt)|shared-old/, `${path}: ${answer.text}`)
          t.ok(answer.status >= 400 || path === '', `${path}: ${answer.status}`)
        }
      }
      if (path === '') continue
      const raw = await app.request(`/api/share/${view.link}/content?path=${path}`)
      t.notMatch(await raw.text(), /^canary$/, path)
      await drop(app, dropped.link, path, 'planted')
      await drop(app, dropped.link, path, 'replaced', { conflict: 'replace' })
    }
    t.same(await files(), before, 'nothing was planted beside the folder')
    for (const path of ['/', '']) t.ok((await drop(app, dropped.link, path, 'x')).status >= 400, 'the folder itself')
    t.equal((await read(app, view.link, '/canary.txt')).text, 'planted', 'a path is one within the folder')
  })

  t.test('files in the trash', async t => {
    await writeFile(join(app.folder, 'deleted.txt'), 'deleted canary')
    const view = await share({ path: '/' })
    const dropped = await share({ path: '/', kind: 'DROP' })
    const file = await share({ path: '/deleted.txt' })
    const remove = 'mutation ($input: DeleteInput!) { delete(input: $input) { deletedPath } }'
    await app.ask(remove, { input: { providerId, path: '/deleted.txt' } }, token)
    const [id = ''] = await readdir(join(app.folder, '.stowage-trash'))
    t.equal(await readFile(join(app.folder, '.stowage-trash', id), 'utf8'), 'deleted canary')
    const names = (await list(app, view.link)).body.entries.map(({ name }: { name: string }) => name)
    t.same(names.toSorted(), ['canary.txt', 'team'])
    for (const path of ['/deleted.txt', '/.stowage-trash', `/.stowage-trash/${id}`]) {
      t.ok((await read(app, view.link, path)).status >= 400, path)
      t.ok((await list(app, view.link, path)).status >= 400, path)
    }
    t.equal((await read(app, file.link, '/deleted.txt')).reason, 'NOT_FOUND')
    t.notMatch((await read(app, view.link, '/')).text, /deleted|stowage-trash/, 'the ZIP archive')
    t.ok((await drop(app, dropped.link, `/.stowage-trash/${id}`, 'planted')).status >= 400)
    t.same(await readdir(join(app.folder, '.stowage-trash')), [id])
  })

  t.test('rules that are re-based to the root of the share', async t => {
    const maker = await editor('rebased@example.org', '/team')
    const { link } = await share({ path: '/team' }, maker.token)
    t.equal((await read(app, link, '/shared/in.txt')).text, 'inside')
    // The rule says "/shared" of the provider. At the root of the share, the same text names "/team/shared".
    await mkdir(join(app.folder, 'shared'), { recursive: true })
    await setMember({ userId: maker.id, providerAccess: { restrictions: [{ providerId, basePath: '/shared' }] } })
    t.equal((await read(app, link, '/shared/in.txt')).reason, 'SHARE_ENDED')
    t.equal((await list(app, link)).reason, 'SHARE_ENDED')
  })

  t.test('a shared folder that is replaced by a link to another one', async t => {
    const { link } = await share({})
    await rename(join(app.folder, 'team/shared'), join(app.folder, 'team/kept'))
    await symlink(join(app.folder, 'team/shared-old'), join(app.folder, 'team/shared'))
    for (const path of ['/', '/canary.txt']) {
      t.ok((await read(app, link, path)).status >= 400, path)
      t.ok((await list(app, link, path)).status >= 400, path)
    }
    await rm(join(app.folder, 'team/shared'))
    await rename(join(app.folder, 'team/kept'), join(app.folder, 'team/shared'))
  })

  t.test('the password bypassed by another route', async t => {
    const view = await share({ password: 'correct horse' })
    const dropped = await share({ kind: 'DROP', password: 'correct horse' })
    const calls: [string, string, string, RequestInit][] = [
      [view.link, '', 'GET', {}],
      [view.link, 'entries', 'GET', {}],
      [view.link, 'entries?path=/', 'GET', {}],
      [view.link, 'content?path=/in.txt', 'GET', {}],
      [view.link, 'content?path=/in.txt', 'HEAD', {}],
      [view.link, 'content?path=/', 'GET', {}],
      [view.link, 'unlock', 'POST', {}],
      [dropped.link, '', 'GET', {}],
      [dropped.link, 'files?path=/x.txt', 'POST', { body: 'x' }],
      [dropped.link, 'uploads', 'OPTIONS', {}],
      [dropped.link, 'uploads', 'POST', { headers: { 'tus-resumable': '1.0.0', 'upload-length': '1' } }],
      ...['HEAD', 'PATCH', 'DELETE', 'POST', 'OPTIONS'].map((method): [string, string, string, RequestInit] => [
        dropped.link,
        `uploads/${'x'.repeat(32)}`,
        method,
        {},
      ]),
    ]
    for (const [link, endpoint, method, init] of calls) {
      const path = `/api/share/${link}${endpoint && `/${endpoint}`}`
      for (const headers of [{}, { authorization: `Bearer ${token}` }, { authorization: `Bearer ${link}` }]) {
        const answer = await app.request(path, { method, ...init, headers: { ...init.headers, ...headers } })
        const text = await answer.text()
        t.equal(answer.status, 401, `${method} ${endpoint} ${Object.keys(headers)}`)
        if (method !== 'HEAD') t.match(text, /SHARE_PASSWORD_REQUIRED/)
        t.notMatch(text, /inside|in\.txt/)
      }
    }
    t.equal((await read(app, view.link, '/in.txt', { password: 'correct horse' })).text, 'inside')
  })

  t.test('the link as a credential of everything else', async t => {
    const view = await share({ path: '/' })
    const dropped = await share({ path: '/', kind: 'DROP' })
    const before = await files()
    const at = new URLSearchParams({ providerId, path: '/team/canary.txt' })
    const calls: [string, RequestInit][] = [
      ['/graphql', graphql('{ me { email } }')],
      ['/graphql', graphql('{ viewer { kind } shares { nodes { url } } }')],
      [
        '/graphql',
        graphql(
          `mutation { delete(input: { providerId: "${providerId}", path: "/team/canary.txt" }) { deletedPath } }`,
        ),
      ],
      [`/api/download/proxy?${at}`, {}],
      [`/api/upload/proxy?${at}&conflict=replace`, { method: 'POST', body: 'x' }],
      [`/api/upload/resumable`, { method: 'POST' }],
      ['/mcp', { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } }],
      [`/dav/${providerId}/`, { method: 'GET' }],
      ['/s3', {}],
      ['/console/session', { method: 'POST' }],
    ]
    for (const { link } of [view, dropped]) {
      for (const [path, init] of calls) {
        const carriers = [
          { authorization: `Bearer ${link}` },
          { authorization: `Basic ${Buffer.from(`x:${link}`).toString('base64')}` },
          { cookie: `stowage_session=${link}`, 'x-stowage-console': '1' },
        ]
        for (const carrier of carriers) {
          const response = await app.request(path, { ...init, headers: { ...init.headers, ...carrier } })
          const text = await response.text()
          t.ok([400, 401, 403].includes(response.status), `${path} ${Object.keys(carrier)}: ${response.status}`)
          t.notMatch(text, /owner@example|"deletedPath"|canary$/)
        }
      }
      const ticket = await app.request(`/api/download/proxy?ticket=${link}`)
      t.equal(ticket.status, 401)
    }
    t.same(await files(), before)
  })

  t.test('deleting and changing without an account', async t => {
    const before = await files()
    for (const kind of ['VIEW', 'DROP']) {
      const { link } = await share({ kind })
      for (const method of ['DELETE', 'PUT', 'PATCH', 'MOVE', 'PROPFIND', 'MKCOL']) {
        for (const endpoint of ['', '/entries', '/content?path=/in.txt', '/files?path=/in.txt']) {
          const sent = request(`${app.url}/api/share/${link}${endpoint}`, { method })
          sent.end()
          const [response] = await once(sent, 'response')
          response.resume()
          t.ok(response.statusCode >= 400 && response.statusCode < 500, `${method} ${endpoint}: ${response.statusCode}`)
        }
      }
    }
    t.same(await files(), before)
    const { link } = await share({})
    t.equal((await read(app, link, '/in.txt')).text, 'inside')
  })

  t.test('100 claims at once on the last download', async t => {
    const replica = await app.replica()
    const { id, link } = await share({ maxDownloads: 1 })
    const claims = Array.from({ length: 100 }, (_, n) => read(n % 2 ? app : replica, link, '/in.txt'))
    const answers = await Promise.all(claims)
    t.equal(answers.filter(({ status }) => status === 200).length, 1)
    t.equal(answers.filter(({ reason }) => reason === 'DOWNLOADS_USED_UP').length, 99)
    const { rows } = await sql<{ downloads: string }>`select downloads from shares where id = ${id}`.execute(app.db)
    t.same(rows, [{ downloads: '1' }])
    await replica.close()
  })

  t.test('a share that outlives the rights of its maker', async t => {
    const maker = await editor('maker@example.org', '/team')
    const view = await share({ path: '/team/shared' }, maker.token)
    const dropped = await share({ path: '/team/shared', kind: 'DROP' }, maker.token)
    const both = await share({ path: '/team/shared', morePaths: ['/team/shared-old'] }, maker.token)
    const { key, id: keyId } = await app.createKey(maker.token, { name: 'key', scopes: ['write'] })
    const byKey = await share({ path: '/team/shared', kind: 'DROP' }, key)
    const works = async (link: string) => (await ask(app, link)).reason ?? 'OK'
    const all = async () => Promise.all([view, dropped, both, byKey].map(({ link }) => works(link)))
    t.same(await all(), ['OK', 'OK', 'OK', 'OK'])
    const access = (basePath: string) => ({ restrictions: [{ providerId, basePath }] })
    await setMember({ userId: maker.id, role: 'VIEWER' })
    t.same(await all(), ['OK', 'SHARE_ENDED', 'OK', 'SHARE_ENDED'], 'a viewer does not write')
    t.equal((await drop(app, dropped.link, '/late.txt', 'x')).reason, 'SHARE_ENDED')
    await setMember({ userId: maker.id, role: 'EDITOR', providerAccess: access('/team/shared/below') })
    t.same(await all(), Array(4).fill('SHARE_ENDED'))
    await setMember({ userId: maker.id, providerAccess: access('/team/shared-old') })
    t.same(await all(), ['SHARE_ENDED', 'SHARE_ENDED', 'OK', 'SHARE_ENDED'])
    t.match((await list(app, both.link)).body.entries, [{ name: 'shared-old' }], 'the rest of a selection')
    t.equal((await list(app, both.link, '/shared')).reason, 'OUTSIDE_BASE_PATH')
    await setMember({ userId: maker.id, role: 'NONE', providerAccess: access('/team') })
    t.same(await all(), Array(4).fill('SHARE_ENDED'))
    await setMember({ userId: maker.id, role: 'EDITOR' })
    t.same(await all(), ['OK', 'OK', 'OK', 'OK'])
    await app.ask('mutation ($id: ID!) { revokeApiKey(id: $id) { id } }', { id: keyId }, maker.token)
    t.same(await all(), ['OK', 'OK', 'OK', 'SHARE_ENDED'])
    await app.ask('mutation ($id: ID!) { removeMember(userId: $id) }', { id: maker.id }, token)
    t.same(await all(), Array(4).fill('INVALID_CREDENTIAL'))
  })
})

function graphql(query: string): RequestInit {
  return { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ query }) }
}
