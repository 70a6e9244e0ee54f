/** Checks the fake server against Dropbox's published behavior with Dropbox's own SDK. */
import { randomBytes } from 'node:crypto'
import { Dropbox as Client, DropboxAuth, type files } from 'dropbox'
import t from 'tap'
import { connect as connectWith, fetchFrom } from './dropbox/client.ts'
import { type Dropbox, startDropbox } from './dropbox/index.ts'

const redirectUri = 'http://127.0.0.1:1/callback'
const block = 4 * 1024 * 1024

const connect = (fake: Dropbox, more: object = {}) => connectWith(fake, fake.oauth.issue(), more)

async function summaryOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise
    return 'none'
  } catch (error) {
    const { status, error: body } = error as { status: number; error: { error_summary?: string } | string }
    const summary = typeof body === 'string' ? body : (body.error_summary ?? '')
    return `${status} ${summary.replace(/\/\.*$/, '')}`
  }
}

t.test('a code is exchanged with the secret or its verifier, and tokens are refreshed', async t => {
  const fake = await startDropbox(t)
  const { clientId, clientSecret } = fake.oauth.rules
  for (const secret of [{ clientSecret }, {}]) {
    const auth = new DropboxAuth({ clientId, ...secret, fetch: fetchFrom(fake) })
    const isPublic = !('clientSecret' in secret)
    const scopes = ['files.content.read', 'files.content.write']
    const address = await auth.getAuthenticationUrl(redirectUri, 'state', 'code', 'offline', scopes, 'none', isPublic)
    const local = String(address).replace('https://dropbox.com/', fake.url)
    const answer = await fetch(local, { redirect: 'manual' })
    const code = new URL(answer.headers.get('location') ?? '').searchParams.get('code') ?? ''
    const { result } = await auth.getAccessTokenFromCode(redirectUri, code)
    const tokens = result as { refresh_token: string; expires_in: number }
    t.ok(tokens.expires_in > 3600)
    t.equal(await summaryOf(auth.getAccessTokenFromCode(redirectUri, code)), '400 ', 'a code works once')
    auth.setRefreshToken(tokens.refresh_token)
    const client = new Client({ auth, fetch: fetchFrom(fake) })
    t.match((await client.usersGetCurrentAccount()).result.root_info, { '.tag': 'user' })
    fake.oauth.withdraw()
    t.equal(await summaryOf(client.usersGetCurrentAccount()), '401 invalid_access_token')
  }
  t.equal(await summaryOf(connect(fake, { accessToken: 'made up' }).usersGetSpaceUsage()), '401 invalid_access_token')
})

t.test('files are uploaded with write modes, and identical content is no conflict unless it is strict', async t => {
  const client = connect(await startDropbox(t))
  const upload = (contents: string, more: Partial<files.UploadArg> = {}) =>
    client.filesUpload({ path: '/Folder/File.txt', contents, ...more })
  const { result: first } = await upload('content', { client_modified: '2020-01-02T03:04:05Z' })
  t.match(first, { name: 'File.txt', size: 7, path_lower: '/folder/file.txt', client_modified: '2020-01-02T03:04:05Z' })
  t.equal((await upload('content')).result.rev, first.rev, 'nothing is written')
  t.equal(await summaryOf(upload('content', { strict_conflict: true })), '409 path/conflict/file')
  t.equal(await summaryOf(upload('other')), '409 path/conflict/file')
  const mode = { '.tag': 'update', update: first.rev } as const
  const { result: second } = await upload('other', { mode })
  t.not(second.rev, first.rev)
  t.equal(second.id, first.id)
  t.equal(await summaryOf(upload('third', { mode })), '409 path/conflict/file')
  t.equal((await upload('third', { mode: { '.tag': 'overwrite' } })).result.size, 5)
  t.equal(await summaryOf(upload('no', { path: '/folder', mode: { '.tag': 'overwrite' } })), '409 path/conflict/folder')
  t.equal(await summaryOf(upload('no', { path: '/folder/FILE.txt/x' })), '409 path/conflict/file_ancestor')
  t.equal(await summaryOf(upload('no', { path: '/a\\b' })), '409 path/malformed_path')
  t.equal(await summaryOf(upload('no', { path: '/desktop.ini' })), '409 path/disallowed_name')
  t.equal(await summaryOf(upload('no', { path: '/x', content_hash: '0'.repeat(64) })), '409 content_hash_mismatch')
})

t.test('upload sessions take parts in order, or concurrently in whole blocks', async t => {
  const client = connect(await startDropbox(t))
  const bytes = randomBytes(2 * block + 77)
  // The SDK adds its own hash, which the server checks.
  const whole = await client.filesUpload({ path: '/whole', contents: bytes })
  const { content_hash: hash } = whole.result
  const part = (start: number, end?: number) => bytes.subarray(start, end)
  const started = await client.filesUploadSessionStart({ contents: part(0, 1000) })
  const { session_id } = started.result
  const cursor = (offset: number) => ({ session_id, offset })
  await client.filesUploadSessionAppendV2({ cursor: cursor(1000), contents: part(1000, 5000) })
  const again = client.filesUploadSessionAppendV2({ cursor: cursor(1000), contents: part(1000, 5000) })
  const refusal = await again.catch(error => error.error.error)
  t.match(refusal, { '.tag': 'incorrect_offset', correct_offset: 5000 })
  const commit = { path: '/sequential' }
  const { result } = await client.filesUploadSessionFinish({ cursor: cursor(5000), commit, contents: part(5000) })
  t.match(result, { size: bytes.length, content_hash: hash })
  const gone = client.filesUploadSessionFinish({ cursor: cursor(bytes.length), commit })
  t.equal(await summaryOf(gone), '409 lookup_failed/not_found')

  const concurrent = await client.filesUploadSessionStart({ session_type: { '.tag': 'concurrent' } })
  const at = (offset: number) => ({ session_id: concurrent.result.session_id, offset })
  const append = (start: number, end: number | undefined, close = false) =>
    client.filesUploadSessionAppendV2({ cursor: at(start), close, contents: part(start, end) })
  t.equal(await summaryOf(append(1, block + 1)), '409 concurrent_session_invalid_offset')
  t.equal(await summaryOf(append(0, 1000)), '409 concurrent_session_invalid_data_size')
  await append(block, 2 * block)
  const finish = () => client.filesUploadSessionFinish({ cursor: at(bytes.length), commit: { path: '/concurrent' } })
  t.equal(await summaryOf(finish()), '409 concurrent_session_not_closed')
  await append(0, block)
  await append(2 * block, undefined, true)
  t.equal(await summaryOf(append(0, block)), '409 closed')
  t.match((await finish()).result, { size: bytes.length, content_hash: hash })
  const { result: read } = await client.filesDownload({ path: '/concurrent' })
  t.ok((read as files.FileMetadata & { fileBinary: Buffer }).fileBinary.equals(bytes))
})

t.test('entries are looked up without case, copied, moved and deleted', async t => {
  const fake = await startDropbox(t)
  const client = connect(fake)
  const from_path = '/A/file'
  fake.addFile('A/file', 'content')
  const { result: found } = await client.filesGetMetadata({ path: '/a/FILE' })
  t.match(found, { '.tag': 'file', name: 'file', path_display: '/A/file', path_lower: '/a/file' })
  t.equal(await summaryOf(client.filesGetMetadata({ path: '/a/x' })), '409 path/not_found')
  t.match(await summaryOf(client.filesGetMetadata({ path: '' })), /^400 .*root folder is unsupported/)
  const copy = await client.filesCopyV2({ from_path, to_path: '/b/c/copy' })
  t.match(copy.result.metadata, { name: 'copy', path_display: '/b/c/copy' })
  t.equal(await summaryOf(client.filesCopyV2({ from_path, to_path: '/b/c/copy' })), '409 to/conflict/file')
  t.equal(await summaryOf(client.filesMoveV2({ from_path, to_path: '/b' })), '409 to/conflict/folder')
  t.equal(await summaryOf(client.filesMoveV2({ from_path: '/x', to_path: '/y' })), '409 from_lookup/not_found')
  t.equal(await summaryOf(client.filesMoveV2({ from_path: '/b', to_path: '/b/c/d' })), '409 duplicated_or_nested_paths')
  t.equal(await summaryOf(client.filesCreateFolderV2({ path: '/B' })), '409 path/conflict/folder')
  t.equal((await client.filesCreateFolderV2({ path: '/new/deep' })).result.metadata.name, 'deep')
  const rev = (found as files.FileMetadataReference).rev
  await client.filesUpload({ path: from_path, contents: 'changed', mode: { '.tag': 'overwrite' } })
  t.match(await summaryOf(client.filesDeleteV2({ path: from_path, parent_rev: rev })), /^409 path_write\/conflict/)
  await client.filesDeleteV2({ path: '/A' })
  t.equal(await summaryOf(client.filesDeleteV2({ path: from_path })), '409 path_lookup/not_found')
  t.match((await client.usersGetSpaceUsage()).result, { used: 7, allocation: { '.tag': 'individual' } })
  fake.addDocument('Notes.paper', 'text')
  t.equal(await summaryOf(client.filesDownload({ path: '/Notes.paper' })), '409 unsupported_file')
  t.match((await client.filesExport({ path: '/Notes.paper' })).result, { file_metadata: { is_downloadable: false } })
})

t.test('a cursor continues a listing and then reports changes', async t => {
  const fake = await startDropbox(t)
  const client = connect(fake)
  for (let i = 0; i < 25; i += 1) fake.addFile(`folder/file ${String(i).padStart(2, '0')}`)
  const names: string[] = []
  let { result: page } = await client.filesListFolder({ path: '/folder', limit: 10 })
  for (names.push(...page.entries.map(({ name }) => name)); page.has_more; ) {
    page = (await client.filesListFolderContinue({ cursor: page.cursor })).result
    names.push(...page.entries.map(({ name }) => name))
  }
  t.equal(new Set(names).size, 25)
  fake.addFile('folder/file 03', 'changed')
  await client.filesDeleteV2({ path: '/folder/file 04' })
  const { result: changes } = await client.filesListFolderContinue({ cursor: page.cursor })
  t.match(changes.entries, [
    { '.tag': 'deleted', name: 'file 04' },
    { '.tag': 'file', name: 'file 03' },
  ])
  t.equal(await summaryOf(client.filesListFolder({ path: '/folder/file 01' })), '409 path/not_folder')
  fake.lister.reset()
  t.equal(await summaryOf(client.filesListFolderContinue({ cursor: page.cursor })), '409 reset')
})

t.test('the root of a team is chosen by a header', async t => {
  const fake = await startDropbox(t)
  fake.joinTeam(['Design'])
  const { root_info } = (await connect(fake).usersGetCurrentAccount()).result
  t.match(root_info, { '.tag': 'team', home_path: '/Jane Doe' })
  const rooted = (root: string) => connect(fake, { pathRoot: JSON.stringify({ '.tag': 'root', root }) })
  const { result } = await rooted(root_info.root_namespace_id).filesListFolder({ path: '' })
  t.strictSame(
    result.entries.map(({ name }) => name),
    ['Design', 'Jane Doe'],
  )
  t.equal((await connect(fake).filesListFolder({ path: '' })).result.entries.length, 0)
  t.equal(await summaryOf(rooted('1').filesListFolder({ path: '' })), '422 invalid_root')
})

t.test('rate limits say how long to wait', async t => {
  const fake = await startDropbox(t)
  fake.faults.fail({ reason: 'too_many_requests', retryAfter: 3 })
  const error = await connect(fake)
    .usersGetSpaceUsage()
    .catch(error => error)
  t.match(error, { status: 429, error: { error: { reason: { '.tag': 'too_many_requests' }, retry_after: 3 } } })
  t.equal(error.headers.get('retry-after'), '3')
})
