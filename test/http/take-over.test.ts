/** A name that an unfinished upload reserves: who learns of the upload, and who may end it. */
import { randomBytes } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { startApp } from '../support/app.ts'
import type { Data, GraphqlError } from '../support/client.ts'
import { makeShare, sharePath } from '../support/shares.ts'
import { until } from '../support/until.ts'
import { metadataHeader, tusPath, tus as tusWith } from './tus.ts'

const mib = 1024 * 1024
const invite = 'mutation ($input: CreateInviteInput!) { createInvite(input: $input) { invite } }'
const takeOver = 'mutation ($input: TakeOverUploadInput!) { takeOverUpload(input: $input) { path } }'

async function startUploads(t: Test) {
  const app = await startApp(t)
  const owner = await app.register('owner@example.org')
  const providerId = await app.connectProvider(owner.token, 'local', { root: app.folder })
  const member = async (email: string, role: string, basePath?: string) => {
    const providerAccess = basePath === undefined ? null : { restrictions: [{ providerId, basePath }] }
    const { createInvite } = await app.ask(invite, { input: { role, providerAccess } }, owner.token)
    return app.register(email, { invite: createInvite.invite })
  }
  const tus = (
    token: string | null,
    ...[method, path, headers, body]: [string, string, Record<string, string>?, Buffer?]
  ) => tusWith({ url: app.url, token: token ?? '' }, method, path, headers, body)
  const begin = (token: string, path: string, size = 2 * mib, conflict = 'fail') =>
    tus(token, 'POST', tusPath, {
      'upload-length': String(size),
      'upload-metadata': metadataHeader({ providerId, path, conflict }),
    })
  const errorOf = async (response: Response) => {
    const { errors } = (await response.json()) as { errors: (GraphqlError & { extensions: { upload: Data } })[] }
    if (!errors[0]) throw new Error('The response has no error')
    return errors[0].extensions
  }
  const end = (token: string, path: string, uploadId: unknown, api = app) =>
    api.graphql(takeOver, { input: { providerId, path, uploadId } }, token)
  const staged = () => readdir(join(app.folder, '.stowage-staging')).catch(() => [])
  return { app, owner, providerId, member, tus, begin, errorOf, end, staged }
}

t.test('a reserved name says so, and names a member only to those who may see members', async t => {
  const { app, owner, member, tus, begin, errorOf } = await startUploads(t)
  const editor = await member('editor@example.org', 'EDITOR')
  const other = await member('other@example.org', 'EDITOR')
  const created = await begin(editor.token, '/a/big.bin')
  const url = created.headers.get('location') ?? ''
  await tus(editor.token, 'PATCH', url, { 'upload-offset': '0' }, randomBytes(mib + 9))
  const refusal = await errorOf(await begin(other.token, '/a/big.bin'))
  t.match(refusal, {
    reason: 'UPLOAD_UNDER_WAY',
    retryable: false,
    upload: { id: url.slice(url.lastIndexOf('/') + 1), received: mib + 9, size: 2 * mib, by: null },
  })
  const { startedAt, lastActiveAt } = refusal.upload
  t.ok(Date.parse(lastActiveAt) >= Date.parse(startedAt) && Date.parse(startedAt) > Date.now() - 60_000)
  const by = { id: editor.id, email: 'editor@example.org' }
  t.match(await errorOf(await begin(owner.token, '/a/big.bin')), { upload: { by } }, 'an administrator')
  const again = await app.ask('mutation ($input: LoginInput!) { login(input: $input) { token } }', {
    input: { email: 'editor@example.org', password: 'correct horse battery staple' },
  })
  t.match(await errorOf(await begin(again.login.token, '/a/big.bin')), { upload: { by } }, 'the same person')
  const { key } = await app.createKey(owner.token, { name: 'k', scopes: ['write'] })
  const byKey = await errorOf(await begin(key, '/a/big.bin'))
  t.match(byKey, { reason: 'UPLOAD_UNDER_WAY', upload: { by: null } }, 'a key without the scope admin')
  t.notMatch(JSON.stringify(byKey), /editor/)
  t.equal((await begin(other.token, '/a/big.bin', mib, 'rename')).status, 201)
})

t.test('taking over ends the other upload, and is recorded', async t => {
  const { app, owner, member, tus, begin, errorOf, end, staged } = await startUploads(t)
  const editor = await member('editor@example.org', 'EDITOR')
  const url = (await begin(owner.token, '/big.bin')).headers.get('location') ?? ''
  await tus(owner.token, 'PATCH', url, { 'upload-offset': '0' }, randomBytes(mib + 9))
  t.equal((await staged()).length, 1)
  const { id } = (await errorOf(await begin(editor.token, '/big.bin'))).upload
  t.same((await end(editor.token, '/big.bin', id)).data, { takeOverUpload: { path: '/big.bin' } })
  t.same(await staged(), [], 'the back end keeps nothing of it')
  const bytes = randomBytes(2 * mib)
  const mine = (await begin(editor.token, '/big.bin')).headers.get('location') ?? ''
  for (const method of ['HEAD', 'PATCH']) {
    const body = method === 'PATCH' ? randomBytes(9) : undefined
    t.equal((await tus(owner.token, method, url, { 'upload-offset': String(mib + 9) }, body)).status, 404, method)
  }
  t.equal((await tus(editor.token, 'PATCH', mine, { 'upload-offset': '0' }, bytes)).status, 204)
  t.ok((await readFile(join(app.folder, 'big.bin'))).equals(bytes))
  t.match((await end(editor.token, '/big.bin', id)).errors, [{ extensions: { reason: 'NOT_FOUND' } }], 'a second time')
  await app.app.services.audit.flush()
  const query = `query ($action: AuditAction!) { auditEvents(first: 9, filter: { action: $action }) {
    nodes { result path bytes userEmail credentialKind subjectKind subjectId details } } }`
  const events = async (action: string) => (await app.ask(query, { action }, owner.token)).auditEvents.nodes
  const taken = { path: '/big.bin', bytes: mib + 9, userEmail: 'editor@example.org', details: { size: 2 * mib } }
  t.match(await events('UPLOAD_TAKE_OVER'), [
    { result: 'NOT_FOUND' },
    { ...taken, result: 'OK', subjectKind: 'MEMBER', subjectId: owner.id },
  ])
  const cut = { result: 'CUT', path: '/big.bin', bytes: mib + 9, userEmail: 'owner@example.org' }
  t.match(
    (await events('UPLOAD')).filter(({ result }: { result: string }) => result === 'CUT'),
    [cut],
  )
})

t.test('a request that sends bytes to another replica is cut', async t => {
  const { app, owner, member, begin, errorOf, end, staged } = await startUploads(t)
  const replica = await app.replica()
  const editor = await member('editor@example.org', 'EDITOR')
  const url = (await begin(owner.token, '/big.bin', 8 * mib)).headers.get('location') ?? ''
  const sending = request(new URL(url, app.url), {
    method: 'PATCH',
    headers: {
      authorization: `Bearer ${owner.token}`,
      'tus-resumable': '1.0.0',
      'upload-offset': '0',
      'content-type': 'application/offset+octet-stream',
      'content-length': String(8 * mib),
    },
  })
  sending.on('error', () => {})
  const answered = new Promise<number>(resolve => {
    sending.on('response', response => resolve(response.statusCode ?? 0))
  })
  sending.write(randomBytes(3 * mib))
  await until(async () => (await staged()).length === 1)
  const { id } = (await errorOf(await begin(editor.token, '/big.bin'))).upload
  t.match((await end(editor.token, '/big.bin', id, replica)).data, { takeOverUpload: { path: '/big.bin' } })
  t.equal(await answered, 423)
  sending.destroy()
  t.same(await staged(), [])
  t.equal((await begin(editor.token, '/big.bin')).status, 201)
})

t.test('only those who may write at the path end the upload that reserves it', async t => {
  const { app, owner, providerId, member, tus, begin, errorOf, end } = await startUploads(t)
  const viewer = await member('viewer@example.org', 'VIEWER')
  const outsider = await member('outsider@example.org', 'EDITOR', '/other')
  const url = (await begin(owner.token, '/team/big.bin')).headers.get('location') ?? ''
  const id = url.slice(url.lastIndexOf('/') + 1)
  const refused = async (token: string, path: string, uploadId: string, reason: string) => {
    t.match((await end(token, path, uploadId)).errors, [{ extensions: { reason, upload: undefined } }], path)
    t.equal((await tus(owner.token, 'HEAD', url)).status, 200)
  }
  await refused(viewer.token, '/team/big.bin', id, 'SCOPE_REQUIRED')
  await refused(outsider.token, '/team/big.bin', id, 'OUTSIDE_BASE_PATH')
  await refused(outsider.token, '/other/big.bin', id, 'NOT_FOUND')
  await refused(outsider.token, '/other/../team/big.bin', id, 'INVALID_PATH')
  await refused(owner.token, '/team/big.bin', 'unknown', 'NOT_FOUND')
  t.match(await errorOf(await begin(outsider.token, '/team/big.bin')), {
    reason: 'OUTSIDE_BASE_PATH',
    upload: undefined,
  })

  await app.ask(
    'mutation ($input: CreateFolderInput!) { createFolder(input: $input) { path } }',
    { input: { providerId, path: '/team' } },
    owner.token,
  )
  const { link, id: shareId } = await makeShare(app, owner.token, { providerId, path: '/team', kind: 'DROP' })
  const dropped = (path: string) =>
    app.request(sharePath(link, 'uploads'), {
      method: 'POST',
      headers: { 'tus-resumable': '1.0.0', 'upload-length': '9', 'upload-metadata': metadataHeader({ path }) },
    })
  t.equal((await dropped('/big.bin')).status, 201, 'a stranger does not learn that the name is reserved')
  t.equal((await dropped('/new.bin')).status, 201)
  const facts = await errorOf(await begin(owner.token, '/team/new.bin'))
  t.match(facts, { reason: 'UPLOAD_UNDER_WAY', upload: { by: null } }, 'the maker of the link did not send the file')
  const ended = await end(owner.token, '/team/new.bin', facts.upload.id)
  t.same(ended.data, { takeOverUpload: { path: '/team/new.bin' } })
  await app.app.services.audit.flush()
  const query = `{ auditEvents(first: 1, filter: { action: UPLOAD_TAKE_OVER }) { nodes { subjectKind subjectId } } }`
  t.same((await app.ask(query, {}, owner.token)).auditEvents.nodes, [{ subjectKind: 'SHARE', subjectId: shareId }])
})
