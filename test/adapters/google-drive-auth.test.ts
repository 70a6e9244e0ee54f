import t from 'tap'
import { googleDriveAdapter } from '../../adapters/backends/google-drive/index.ts'
import { usualTimeouts } from '../../adapters/bases/cloud/repeat.ts'
import { at, call, get, has, listAll, namesIn, put, rejectsWith } from '../../adapters/conformance/kit.ts'
import { startGoogleDrive } from '../servers/google-drive/index.ts'
import { atNight, extent } from '../support/extent.ts'
import { backoff, endpointsOf, oauthHost, openWorld } from './google-drive-world.ts'
import { silentHost } from './host.ts'

const { network } = silentHost

t.test('the consent URL requests offline access with PKCE', async t => {
  const { oauth } = googleDriveAdapter()
  const config = { clientId: 'id', clientSecret: 'secret' }
  const query = {
    redirectUri: 'https://stowage.example/webhook/callback',
    state: 'the state',
    codeChallenge: 'challenge',
  }
  const url = oauth?.authorizeUrl(config, query)
  t.equal(url?.origin, 'https://accounts.google.com')
  t.strictSame(Object.fromEntries(url?.searchParams ?? []), {
    access_type: 'offline',
    prompt: 'consent',
    scope: 'https://www.googleapis.com/auth/drive',
    redirect_uri: query.redirectUri,
    state: 'the state',
    code_challenge: 'challenge',
    code_challenge_method: 'S256',
    client_id: 'id',
    response_type: 'code',
  })
  t.notMatch(url?.href ?? '', 'secret')
  t.equal(oauth?.isNeeded?.(config), true)
  t.equal(oauth?.isNeeded?.({ serviceAccountKey: '{}' }), false)
})

t.test('a code needs its verifier, and tokens are refreshed until consent is withdrawn', async t => {
  const fake = await startGoogleDrive(t)
  const options = { endpoints: endpointsOf(fake), backoff }
  const { oauth } = googleDriveAdapter(options)
  if (!oauth) throw new Error('no OAuth')
  const { clientId, clientSecret } = fake.oauth
  const config = { clientId, clientSecret }
  const redirectUri = 'http://127.0.0.1:1/callback'
  const url = oauth.authorizeUrl(config, { redirectUri, state: 's', codeChallenge: 'A'.repeat(43) })
  const codeOf = async () => {
    const { headers } = await fetch(url, { redirect: 'manual' })
    return new URL(headers.get('location') ?? '').searchParams.get('code') ?? ''
  }
  const wrong = { redirectUri, code: await codeOf(), codeVerifier: 'B'.repeat(43) }
  await rejectsWith('NEEDS_RECONNECT', oauth.exchange(config, wrong, network))
  await rejectsWith(
    'UNAUTHORIZED',
    oauth.exchange({ clientId, clientSecret: 'wrong' }, { ...wrong, code: await codeOf() }, network),
  )
  await rejectsWith(
    'INVALID_CONFIG',
    Promise.resolve().then(() => oauth.refresh({ clientId }, 'token', network)),
  )
  await oauthHost(fake, options)
  fake.faults.fail({ path: /token/, reason: 'backendError', status: 503, times: 20 })
  await rejectsWith('UNAVAILABLE', oauth.refresh(config, 'any', network))
  fake.faults.clear()
  fake.oauth.withdraw()
  await rejectsWith('NEEDS_RECONNECT', oauth.refresh(config, 'any', network))
})

atNight(t, 'concurrent calls renew an expired token with one request, even while listing many files', async t => {
  const count = extent({ gate: 2000, nightly: 10_000 })
  const { provider, fake, rootId, host } = await openWorld(t)
  for (let i = 0; i < count; i += 1) fake.addFile(rootId, `file ${String(i).padStart(5, '0')}`, `${i}`)
  const first = await provider.list(at(''), { ...call(), limit: 1000 })
  fake.oauth.expireAccessTokens()
  const names = first.entries.map(entry => entry.name)
  const others = Array.from({ length: 30 }, (_, i) => provider.stat(at(`file ${String(i).padStart(5, '0')}`), call()))
  let { cursor } = first
  while (cursor !== undefined) {
    const page = await provider.list(at(''), { ...call(), limit: 1000, cursor })
    names.push(...page.entries.map(entry => entry.name))
    cursor = page.cursor
  }
  await Promise.all(others)
  t.strictSame(
    names,
    Array.from({ length: count }, (_, i) => `file ${String(i).padStart(5, '0')}`),
  )
  t.equal(fake.oauth.grants.refresh_token, 1, 'one request to Google')
  t.equal(host.refreshes, 1, 'one call of host.accessToken')
})

atNight(t, 'an upload continues after its token expires', async t => {
  const { provider, fake } = await openWorld(t)
  const bytes = Buffer.alloc(20 * 1024 * 1024, 'x')
  fake.faults.before({ method: 'PUT', path: /upload_id/, run: () => fake.oauth.expireAccessTokens() })
  await put(provider, 'file', bytes)
  await has(provider, 'file', bytes)
  t.equal(fake.oauth.grants.refresh_token, 1)
})

t.test('withdrawn consent is NEEDS_RECONNECT with a message that says what to do', async t => {
  const { provider, fake } = await openWorld(t)
  await put(provider, 'file', 'content')
  fake.oauth.withdraw()
  for (const promise of [
    provider.stat(at('file'), call()),
    get(provider, 'file'),
    put(provider, 'new', 'no'),
    listAll(provider, ''),
  ]) {
    await rejectsWith('NEEDS_RECONNECT', promise)
  }
  await provider.stat(at('file'), call()).catch(error => t.match(error.message, /connect it again/))
})

t.test('a token that is always refused is UNAUTHORIZED', async t => {
  const { provider, fake, host } = await openWorld(t)
  await put(provider, 'file', 'content')
  fake.faults.fail({ path: /drive\/v3/, reason: 'authError', times: 100 })
  const asked = fake.faults.log.length
  await rejectsWith('UNAUTHORIZED', provider.stat(at('file'), call()))
  t.ok(fake.faults.log.length - asked <= 4, 'the loop ends')
  t.equal(host.refreshes, 1)
})

t.test('a service account needs no consent, and open reports its errors', async t => {
  const fake = await startGoogleDrive(t)
  const email = 'robot@fake.iam.gserviceaccount.com'
  const serviceAccountKey = fake.oauth.addServiceAccount(email)
  const adapter = googleDriveAdapter({ endpoints: endpointsOf(fake), backoff })
  const folder = fake.addFolder(fake.rootId, 'shared')
  await rejectsWith('INVALID_CONFIG', adapter.open({ serviceAccountKey, rootFolderId: folder.id }, silentHost))
  folder.sharedWith.set(email, 'writer')
  const config = { serviceAccountKey, rootFolderId: folder.id }
  const provider = await adapter.open(config, silentHost)
  fake.addFile(folder.id, 'file', 'content')
  await has(provider, 'file', 'content')
  await put(provider, 'folder/new', 'new')
  t.strictSame(await namesIn(provider, ''), ['file', 'folder'])
  const grant = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
  const before = fake.oauth.grants[grant] ?? 0
  fake.oauth.expireAccessTokens()
  await Promise.all(Array.from({ length: 20 }, () => provider.stat(at('file'), call())))
  t.equal((fake.oauth.grants[grant] ?? 0) - before, 1, 'one new token for all')

  fake.oauth.removeServiceAccount(email)
  fake.oauth.expireAccessTokens()
  await rejectsWith('UNAUTHORIZED', provider.stat(at('file'), call()))
  await rejectsWith('UNAUTHORIZED', adapter.open(config, silentHost))
  for (const broken of ['no JSON', '[]', '{"client_email":"a@b"}']) {
    await rejectsWith('INVALID_CONFIG', adapter.open({ serviceAccountKey: broken }, silentHost))
  }
  const unreadable = JSON.stringify({ client_email: email, private_key: 'no key' })
  await rejectsWith('UNAUTHORIZED', adapter.open({ serviceAccountKey: unreadable }, silentHost))
})

t.test('a token request without a response from Google times out', async t => {
  const fake = await startGoogleDrive(t)
  const serviceAccountKey = fake.oauth.addServiceAccount('robot@fake.iam.gserviceaccount.com')
  const timeouts = { ...usualTimeouts, token: 50 }
  const adapter = googleDriveAdapter({ endpoints: endpointsOf(fake), backoff, timeouts })
  const { promise: never, resolve } = Promise.withResolvers<void>()
  t.teardown(resolve)
  for (let i = 0; i < 20; i += 1) fake.faults.before({ path: /^\/token/, run: () => never })
  await rejectsWith('UNAVAILABLE', adapter.open({ serviceAccountKey }, silentHost))
})

t.test('a configuration without a client or a key is refused', async () => {
  await rejectsWith('INVALID_CONFIG', googleDriveAdapter().open({}, silentHost))
  await rejectsWith('INVALID_CONFIG', googleDriveAdapter().open({ clientId: 'id' }, silentHost))
})

t.test('a provider can be a shared drive or a folder in one', async t => {
  const fake = await startGoogleDrive(t)
  const options = { endpoints: endpointsOf(fake), backoff, trust: 0 }
  const host = await oauthHost(fake, options)
  const drive = fake.store.addDrive('Team', [fake.account])
  const { clientId, clientSecret } = fake.oauth
  const open = (config: object) => googleDriveAdapter(options).open({ clientId, clientSecret, ...config }, host)
  const provider = await open({ driveId: drive.id })
  fake.addFile(fake.rootId, 'mine', '')
  await put(provider, 'folder/file', 'content')
  t.strictSame(await namesIn(provider, ''), ['folder'])
  const folder = fake.store.childrenOf(drive.id)[0]
  t.equal(folder?.driveId, drive.id)
  t.strictSame(await provider.quota?.(call()), { used: null, total: null })
  await provider.move?.(at('folder/file'), at('moved'), { ...call(), overwrite: false })
  await provider.copy?.(at('moved'), at('copied'), { ...call(), overwrite: false })
  await provider.delete(at('moved'), call())
  t.strictSame(await namesIn(provider, ''), ['copied', 'folder'])
  await put(await open({ rootFolderId: folder?.id ?? '' }), 'inside', 'content')
  t.strictSame(await namesIn(provider, 'folder'), ['inside'])

  const other = fake.store.addDrive('Others', ['somebody@example.com'])
  const mine = fake.addFolder(fake.rootId, 'mine')
  const file = fake.addFile(fake.rootId, 'file')
  for (const config of [
    { driveId: other.id },
    { driveId: drive.id, rootFolderId: mine.id },
    { rootFolderId: file.id },
  ]) {
    await rejectsWith('PERMISSION_DENIED', listAll(await open(config), ''))
  }
})

t.test('without a root folder the provider is My Drive with the quota of the account', async t => {
  const fake = await startGoogleDrive(t)
  const options = { endpoints: endpointsOf(fake), backoff }
  const { clientId, clientSecret } = fake.oauth
  const provider = await googleDriveAdapter(options).open({ clientId, clientSecret }, await oauthHost(fake, options))
  await put(provider, 'file', '12345')
  t.equal(fake.store.childrenOf(fake.rootId).length, 1)
  fake.store.storageLimit = 10
  t.strictSame(await provider.quota?.(call()), { used: 5, total: 10 })
  await rejectsWith('QUOTA_EXCEEDED', put(provider, 'large', 'x'.repeat(20)))
  await rejectsWith('QUOTA_EXCEEDED', put(provider, 'folder/larger', Buffer.alloc(9_000_000)))
  t.strictSame(await namesIn(provider, ''), ['file'], 'the folder is removed, too')
})
