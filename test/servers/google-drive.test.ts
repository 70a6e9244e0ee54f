/** Checks the fake server against Google's published behavior with Google's own client. */
import { createHash, randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { drive, type drive_v3, auth as google } from '@googleapis/drive'
import { CodeChallengeMethod } from 'google-auth-library'
import t from 'tap'
import { extent } from '../support/extent.ts'
import { folderType, type GoogleDrive, shortcutType, startGoogleDrive } from './google-drive/index.ts'

type OAuth2 = InstanceType<typeof google.OAuth2>

const scope = 'https://www.googleapis.com/auth/drive'
const redirectUri = 'http://127.0.0.1:1/callback'

function clientOf(fake: GoogleDrive): OAuth2 {
  const { clientId, clientSecret } = fake.oauth
  return new google.OAuth2({
    clientId,
    clientSecret,
    redirectUri,
    endpoints: fake.oauthEndpoints,
    forceRefreshOnFailure: true,
  })
}

function connect(fake: GoogleDrive, account?: string): { api: drive_v3.Drive; auth: OAuth2; root: string } {
  const auth = clientOf(fake)
  auth.setCredentials({ access_token: fake.oauth.issue(account) })
  return { api: drive({ version: 'v3', auth, rootUrl: fake.url }), auth, root: fake.url }
}

async function reasonOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise
    return 'none'
  } catch (error) {
    const { response } = error as { response?: { status: number; data: { error?: { errors?: { reason: string }[] } } } }
    const data = typeof response?.data === 'string' ? JSON.parse(response.data) : response?.data
    return `${response?.status} ${data?.error?.errors?.[0]?.reason}`
  }
}

async function consent(fake: GoogleDrive, auth: OAuth2, more = {}): Promise<URL> {
  const url = auth.generateAuthUrl({ access_type: 'offline', prompt: 'consent', scope, state: 'the state', ...more })
  const answer = await fetch(url, { redirect: 'manual' })
  return new URL(answer.headers.get('location') ?? fake.url)
}

t.test('a code of a consent works once and only with its verifier', async t => {
  const fake = await startGoogleDrive(t)
  const auth = clientOf(fake)
  const pkce = await auth.generateCodeVerifierAsync()
  const challenge = { code_challenge: pkce.codeChallenge ?? '', code_challenge_method: CodeChallengeMethod.S256 }
  const back = await consent(fake, auth, challenge)
  t.equal(back.searchParams.get('state'), 'the state')
  const code = back.searchParams.get('code') ?? ''
  const { tokens } = await auth.getToken({ code, codeVerifier: pkce.codeVerifier })
  t.ok(tokens.refresh_token)
  t.ok((tokens.expiry_date ?? 0) > Date.now())
  await t.rejects(auth.getToken({ code, codeVerifier: pkce.codeVerifier }), { message: 'invalid_grant' }, 'single use')

  const other = (await consent(fake, auth, challenge)).searchParams.get('code') ?? ''
  await t.rejects(auth.getToken({ code: other, codeVerifier: 'x'.repeat(43) }), { message: 'invalid_grant' })
  await t.rejects(auth.getToken({ code: other, codeVerifier: pkce.codeVerifier }), { message: 'invalid_grant' })

  fake.oauth.consents = false
  t.equal((await consent(fake, auth)).searchParams.get('error'), 'access_denied')
})

t.test('access tokens expire and are refreshed until the consent is withdrawn', async t => {
  const fake = await startGoogleDrive(t)
  const auth = clientOf(fake)
  const code = (await consent(fake, auth)).searchParams.get('code') ?? ''
  auth.setCredentials((await auth.getToken(code)).tokens)
  const api = drive({ version: 'v3', auth, rootUrl: fake.url, retry: false })
  t.equal((await api.about.get({ fields: 'user' })).data.user?.emailAddress, fake.account)
  fake.oauth.expireAccessTokens()
  t.equal((await api.about.get({ fields: 'user' })).status, 200, "Google's client refreshes and repeats")
  t.equal(fake.oauth.grants.refresh_token, 1)
  t.equal(fake.faults.count({ path: /about/ }), 3)
  fake.oauth.withdraw()
  await t.rejects(api.about.get({ fields: 'user' }), { message: /invalid_grant/ })
})

t.test('files are created, moved, copied, trashed and deleted by id', async t => {
  const fake = await startGoogleDrive(t)
  const { api, root } = connect(fake)
  const create = async (name: string, parents?: string[], mimeType = 'text/plain') =>
    (await api.files.create({ requestBody: { name, mimeType, ...(parents && { parents }) }, fields: '*' })).data
  const folder = await create('folder', undefined, folderType)
  t.match(folder, { id: String, name: 'folder', mimeType: folderType, parents: [fake.rootId], trashed: false })
  const [a, b] = [await create('twin', [folder.id ?? '']), await create('twin', [folder.id ?? ''])]
  t.not(a.id, b.id)
  const list = async (q: string) => (await api.files.list({ q, fields: 'files(id,name)' })).data.files ?? []
  t.equal((await list(`'${folder.id}' in parents and name = 'twin'`)).length, 2)

  const masked = await api.files.get({ fileId: a.id ?? '', fields: 'id,owners/emailAddress' })
  t.strictSame(masked.data, { id: a.id, owners: [{ emailAddress: fake.account }] })
  t.strictSame(Object.keys((await api.files.get({ fileId: a.id ?? '' })).data).sort(), [
    'id',
    'kind',
    'mimeType',
    'name',
  ])
  t.equal(await reasonOf(api.files.get({ fileId: a.id ?? '', fields: 'nothing' })), '400 invalidParameter')
  t.equal(await reasonOf(api.files.get({ fileId: 'unknown' })), '404 notFound')

  const moved = { fileId: a.id ?? '', addParents: fake.rootId, removeParents: folder.id ?? '' }
  t.equal((await api.files.update({ ...moved, requestBody: { name: 'new' }, fields: 'name' })).data.name, 'new')
  t.equal(await reasonOf(api.files.update({ ...moved, addParents: folder.id ?? '' })), '403 cannotAddParent')
  t.equal(
    await reasonOf(api.files.update({ fileId: b.id ?? '', requestBody: { parents: ['root'] } })),
    '403 fieldNotWritable',
  )
  const inside = { fileId: folder.id ?? '', removeParents: fake.rootId }
  t.equal(await reasonOf(api.files.update({ ...inside, addParents: folder.id ?? '' })), '400 cyclicParents')

  const copy = await api.files.copy({ fileId: b.id ?? '', fields: 'id,name,parents' })
  t.match(copy.data, { name: 'Copy of twin', parents: [folder.id] })
  t.equal(await reasonOf(api.files.copy({ fileId: folder.id ?? '' })), '403 cannotCopyFile')

  await api.files.update({ fileId: folder.id ?? '', requestBody: { trashed: true } })
  const beneath = await api.files.get({ fileId: b.id ?? '', fields: 'trashed,explicitlyTrashed' })
  t.strictSame(beneath.data, { trashed: true, explicitlyTrashed: false })
  t.strictSame(await list(`'${folder.id}' in parents and trashed = false`), [])
  t.equal((await list(`'${folder.id}' in parents and trashed = true`)).length, 2)
  await api.files.update({ fileId: folder.id ?? '', requestBody: { trashed: false } })
  t.equal((await list(`'${folder.id}' in parents and not trashed = true`)).length, 2)
  await api.files.delete({ fileId: folder.id ?? '' })
  t.equal(await reasonOf(api.files.get({ fileId: b.id ?? '' })), '404 notFound', 'its content is deleted, too')
  t.ok(root)
})

t.test('a second create with a generated id is a conflict', async t => {
  const fake = await startGoogleDrive(t)
  const { api } = connect(fake)
  const id = (await api.files.generateIds({ count: 3 })).data.ids?.[0] ?? ''
  t.equal((await api.files.create({ requestBody: { id, name: 'file' } })).data.id, id)
  t.equal(await reasonOf(api.files.create({ requestBody: { id, name: 'file' } })), '409 fileIdInUse')
  t.equal(await reasonOf(api.files.create({ requestBody: { id: 'mine', name: 'file' } })), '400 invalid')
})

t.test('queries support terms, conjunctions and escapes, and malformed ones are refused', async t => {
  const fake = await startGoogleDrive(t)
  const { api } = connect(fake)
  const names = ["Valentine's Day", 'back\\slash', 'README', 'readme', 'photo.jpg']
  for (const name of names)
    fake.addFile(fake.rootId, name, '', { mimeType: name.endsWith('jpg') ? 'image/jpeg' : 'a/b' })
  fake.addFolder(fake.rootId, 'folder')
  const found = async (q: string) =>
    ((await api.files.list({ q, fields: 'files/name' })).data.files ?? []).map(file => file.name).sort()
  t.strictSame(await found("name = 'Valentine\\'s Day'"), ["Valentine's Day"])
  t.strictSame(await found("name = 'back\\\\slash'"), ['back\\slash'])
  t.strictSame(await found("name = 'ReadMe'"), ['README', 'readme'], 'names are not case-sensitive')
  t.strictSame(await found("'root' in parents and mimeType contains 'image/'"), ['photo.jpg'])
  t.strictSame(await found(`mimeType = '${folderType}' or name contains 'pho'`), ['folder', 'photo.jpg'])
  t.strictSame(await found(`not (mimeType != '${folderType}')`), ['folder'])
  t.strictSame(await found("modifiedTime > '2012-06-04T12:00:00' and mimeType = 'image/jpeg'"), ['photo.jpg'])
  t.strictSame(await found("createdTime > '2999-01-01T00:00:00Z'"), [])
  for (const q of ["name = 'open", 'name', "name > 'a'", "nothing = 'a'", "name = 'a' and", "trashed = 'true'", '((']) {
    t.equal(await reasonOf(api.files.list({ q })), '400 invalid', q)
  }
  t.equal(await reasonOf(api.files.list({ q: "'unknown' in parents" })), '404 notFound')
})

t.test('a folder of many files is listed in order, each file once', async t => {
  const count = extent({ gate: 2000, nightly: 10_000 })
  const fake = await startGoogleDrive(t)
  const { api } = connect(fake)
  for (let i = 0; i < count; i += 1) fake.addFile(fake.rootId, `file ${String((i * 7919) % count).padStart(5, '0')}`)
  const q = `'${fake.rootId}' in parents and trashed = false`
  const names: string[] = []
  let pageToken: string | undefined
  do {
    const options = { q, orderBy: 'name', pageSize: 1000, fields: 'nextPageToken,files(name)' }
    const { data } = await api.files.list({ ...options, ...(pageToken && { pageToken }) })
    names.push(...(data.files ?? []).map(file => file.name ?? ''))
    pageToken = data.nextPageToken ?? undefined
  } while (pageToken)
  t.strictSame(
    names,
    Array.from({ length: count }, (_, i) => `file ${String(i).padStart(5, '0')}`),
  )

  const first = await api.files.list({ q, pageSize: 10, fields: 'nextPageToken,files(id)' })
  pageToken = first.data.nextPageToken ?? ''
  t.equal(
    await reasonOf(api.files.list({ q: 'trashed = false', pageToken })),
    '400 invalid',
    'a token of another query',
  )
  t.equal(await reasonOf(api.files.list({ q, pageToken: `${pageToken}x` })), '400 invalid')
  fake.lister.tokens.expiredBefore = Date.now()
  t.equal(await reasonOf(api.files.list({ q, pageToken })), '400 invalid', 'expired')
})

t.test('shared drives are found only with supportsAllDrives', async t => {
  const fake = await startGoogleDrive(t)
  const { api } = connect(fake)
  const shared = fake.store.addDrive('Team', [fake.account])
  fake.store.addDrive('Others', ['somebody@example.com'])
  const { id } = fake.addFile(shared.id, 'file', 'content')
  t.strictSame(
    (await api.drives.list()).data.drives?.map(drive => drive.name),
    ['Team'],
  )
  t.equal((await api.drives.get({ driveId: shared.id })).data.name, 'Team')
  t.equal(await reasonOf(api.files.get({ fileId: id })), '404 notFound')
  t.equal((await api.files.get({ fileId: id, supportsAllDrives: true, fields: 'driveId' })).data.driveId, shared.id)
  const q = `'${shared.id}' in parents`
  t.strictSame((await api.files.list({ q })).data.files, [])
  const all = { q, supportsAllDrives: true, includeItemsFromAllDrives: true }
  t.equal((await api.files.list(all)).data.files?.length, 1)
  t.equal((await api.files.list({ ...all, corpora: 'drive', driveId: shared.id })).data.files?.length, 1)
  t.match(await reasonOf(api.files.list({ q, corpora: 'drive', driveId: shared.id })), /^403/)
  t.equal(await reasonOf(api.files.list({ ...all, corpora: 'drive' })), '400 invalid')
})

t.test('content has checksums, ranges and revisions', async t => {
  const fake = await startGoogleDrive(t)
  const { api, root } = connect(fake)
  const bytes = randomBytes(300_000)
  const media = { body: Readable.from([bytes.subarray(0, 1000), bytes.subarray(1000)]), mimeType: 'image/png' }
  const made = await api.files.create({ requestBody: { name: 'photo' }, media, fields: '*' }, { rootUrl: root })
  t.match(made.data, {
    size: '300000',
    mimeType: 'image/png',
    md5Checksum: createHash('md5').update(bytes).digest('hex'),
    sha256Checksum: createHash('sha256').update(bytes).digest('hex'),
    headRevisionId: String,
  })
  const fileId = made.data.id ?? ''
  const read = async (headers = {}) => {
    const { data, status } = await api.files.get({ fileId, alt: 'media' }, { responseType: 'stream', headers })
    return { status, bytes: await buffer(data) }
  }
  t.ok((await read()).bytes.equals(bytes))
  const part = await read({ range: 'bytes=1000-1999' })
  t.equal(part.status, 206)
  t.ok(part.bytes.equals(bytes.subarray(1000, 2000)))
  t.ok((await read({ range: 'bytes=-5' })).bytes.equals(bytes.subarray(-5)))
  t.match(await reasonOf(read({ range: 'bytes=300000-' })), /^416/)
  const next = await api.files.update({ fileId, media: { body: 'other' }, fields: '*' }, { rootUrl: root })
  t.equal(next.data.size, '5')
  t.not(next.data.headRevisionId, made.data.headRevisionId)
  t.equal((await read()).bytes.toString(), 'other')
  t.equal(fake.store.usage(fake.account), 5)
  fake.store.storageLimit = 10
  const large = { requestBody: { name: 'large' }, media: { body: 'x'.repeat(20) } }
  t.equal(await reasonOf(api.files.create(large, { rootUrl: root })), '403 storageQuotaExceeded')
  const { data } = await api.about.get({ fields: 'storageQuota(limit,usage)' })
  t.strictSame(data.storageQuota, { limit: '10', usage: '5' })
  t.equal(await reasonOf(api.about.get()), '400 required')
})

t.test("Google's own documents have no bytes, and are exported", async t => {
  const fake = await startGoogleDrive(t)
  const { api } = connect(fake)
  const { id: fileId } = fake.addGoogleDoc(fake.rootId, 'Report', 'document', 'the text')
  const { data } = await api.files.get({ fileId, fields: '*' })
  t.notOk(data.size ?? data.md5Checksum ?? data.headRevisionId)
  t.equal(await reasonOf(api.files.get({ fileId, alt: 'media' })), '403 fileNotDownloadable')
  const exported = await api.files.export({ fileId, mimeType: 'text/plain' }, { responseType: 'text' })
  t.match(exported.data, /the text/)
  t.equal(await reasonOf(api.files.export({ fileId, mimeType: 'image/gif' })), '400 invalid')
  const file = fake.addFile(fake.rootId, 'plain')
  t.equal(await reasonOf(api.files.export({ fileId: file.id, mimeType: 'text/plain' })), '403 fileNotExportable')
  const details = { name: 'link', mimeType: shortcutType, shortcutDetails: { targetId: fileId } }
  const shortcut = await api.files.create({ requestBody: details, fields: 'size,shortcutDetails' })
  t.strictSame(shortcut.data, {
    shortcutDetails: { targetId: fileId, targetMimeType: 'application/vnd.google-apps.document' },
  })
})

t.test('resumable uploads accept chunks, report their status and refuse invalid requests', async t => {
  const fake = await startGoogleDrive(t)
  const { auth, api } = connect(fake)
  const kib256 = 256 * 1024
  const bytes = randomBytes(3 * kib256 + 77)
  const begin = async (path = 'files', method: 'POST' | 'PATCH' = 'POST', headers = {}) => {
    const url = `${fake.url}upload/drive/v3/${path}?uploadType=resumable&fields=id,size,md5Checksum`
    const data = { name: 'resumed' }
    const { headers: answer } = await auth.request({
      url,
      method,
      data,
      headers: { 'X-Upload-Content-Type': 'a/b', ...headers },
    })
    return answer.get('location') ?? ''
  }
  const put = async (url: string, range: string, body = Buffer.alloc(0)) => {
    const answer = await fetch(url, { method: 'PUT', headers: { 'content-range': range }, body })
    return { status: answer.status, range: answer.headers.get('range'), text: await answer.text() }
  }
  const url = await begin()
  t.match(await put(url, 'bytes */*'), { status: 308, range: null })
  t.match(await put(url, `bytes 0-${kib256 - 1}/*`, bytes.subarray(0, kib256)), {
    status: 308,
    range: `bytes=0-${kib256 - 1}`,
  })
  t.match(
    await put(url, `bytes ${kib256}-${kib256 + 9}/*`, bytes.subarray(0, 10)),
    { status: 400 },
    'no multiple of 256 KiB',
  )
  t.match(await put(url, 'bytes */*'), { status: 308, range: `bytes=0-${kib256 - 1}` })

  fake.uploads.dropAfter = kib256 + 1000
  await t.rejects(put(url, `bytes ${kib256}-${3 * kib256 - 1}/*`, bytes.subarray(kib256, 3 * kib256)))
  t.match(
    await put(url, `bytes */${bytes.length}`),
    { status: 308, range: `bytes=0-${2 * kib256 - 1}` },
    'whole units stay',
  )
  t.strictSame(await fake.store.childrenOf(fake.rootId), [], 'the file is not visible before the end')
  const last = await put(url, `bytes ${2 * kib256}-${bytes.length - 1}/${bytes.length}`, bytes.subarray(2 * kib256))
  t.equal(last.status, 200)
  const { id, md5Checksum } = JSON.parse(last.text)
  t.equal(md5Checksum, createHash('md5').update(bytes).digest('hex'))
  t.match(await put(url, `bytes */${bytes.length}`), { status: 200 }, 'the response can be requested again')

  const update = await begin(`files/${id}`, 'PATCH', { 'X-Upload-Content-Length': '4' })
  t.match(await put(update, 'bytes 0-4/5', Buffer.from('wrong')), { status: 400 }, 'not the declared length')
  t.match(JSON.parse((await put(update, 'bytes 0-3/4', Buffer.from('next'))).text), { id, size: '4' })
  t.equal((await api.files.get({ fileId: id, fields: 'name' })).data.name, 'resumed')

  const empty = await begin()
  t.match(await put(empty, 'bytes */0'), { status: 200 }, 'an empty file')
  const gone = await begin()
  t.equal((await fetch(gone, { method: 'DELETE' })).status, 499)
  t.equal((await put(gone, 'bytes */*')).status, 404)
  const old = await begin()
  fake.uploads.expireSessions()
  t.equal((await put(old, 'bytes */*')).status, 404)
})

t.test('service accounts get tokens with their own keys', async t => {
  const fake = await startGoogleDrive(t)
  const key = JSON.parse(fake.oauth.addServiceAccount('robot@fake.iam.gserviceaccount.com'))
  const sent = async (claims: { email: string; key: string }) => {
    const jwt = new google.JWT({ ...claims, scopes: [scope] })
    // The token address is built into Google's client.
    const { transporter } = jwt
    transporter.interceptors.request.add({
      resolved: async options => {
        if (options.url.href.startsWith('https://oauth2.googleapis.com/token'))
          options.url = new URL(`${fake.url}token`)
        return options
      },
    })
    return (await jwt.authorize()).access_token ?? ''
  }
  const token = await sent({ email: key.client_email, key: key.private_key })
  const auth = clientOf(fake)
  auth.setCredentials({ access_token: token })
  const api = drive({ version: 'v3', auth, rootUrl: fake.url })
  t.equal((await api.about.get({ fields: 'user' })).data.user?.emailAddress, key.client_email)
  const hidden = fake.addFile(fake.rootId, 'hidden')
  t.equal(await reasonOf(api.files.get({ fileId: hidden.id })), '404 notFound')
  const shared = fake.addFolder(fake.rootId, 'shared')
  shared.sharedWith.set(key.client_email, 'reader')
  t.equal((await api.files.get({ fileId: shared.id })).status, 200)
  const write = api.files.create({ requestBody: { name: 'no', parents: [shared.id] } })
  t.equal(await reasonOf(write), '403 insufficientFilePermissions')
  const other = JSON.parse(fake.oauth.addServiceAccount('other@fake.iam.gserviceaccount.com'))
  await t.rejects(sent({ email: key.client_email, key: other.private_key }), { message: /invalid_grant/ })
})

t.test('requests fail on demand and are logged', async t => {
  const fake = await startGoogleDrive(t)
  const { api } = connect(fake)
  const about = () => api.about.get({ fields: 'user' }, { retry: false })
  const cases = [
    ['userRateLimitExceeded', undefined, '403 userRateLimitExceeded'],
    ['rateLimitExceeded', 429, '429 rateLimitExceeded'],
    ['backendError', 503, '503 backendError'],
    ['authError', undefined, '401 authError'],
  ] as const
  for (const [reason, status, expected] of cases) {
    fake.faults.fail({ reason, retryAfter: 7, ...(status && { status }) })
    t.equal(await reasonOf(about()), expected)
  }
  fake.faults.fail({ reason: 'lost' })
  await t.rejects(about())
  fake.faults.fail({ reason: 'lost', executed: true, method: 'POST' })
  t.equal((await about()).status, 200, 'other requests succeed')
  await t.rejects(api.files.create({ requestBody: { name: 'made all the same' } }, { retry: false }))
  t.equal(fake.store.childrenOf(fake.rootId).length, 1)
  const { id: fileId } = fake.addFile(fake.rootId, 'file', randomBytes(200_000))
  fake.cutDownloadAfter = 70_000
  const { data } = await api.files.get({ fileId, alt: 'media' }, { responseType: 'stream' })
  await t.rejects(buffer(data))
  t.equal(fake.faults.count({ method: 'POST', path: /files/ }), 1)
})
