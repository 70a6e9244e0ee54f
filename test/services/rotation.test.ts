/** Rotating STOWAGE_SECRET: everything works with both secrets, and afterwards the old one is useless. */
import { mkdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { TOTP } from 'otpauth'
import t, { type Test } from 'tap'
import { googleDriveAdapter } from '../../adapters/backends/google-drive/index.ts'
import { localAdapter } from '../../adapters/backends/local/index.ts'
import type { AdapterDefinition } from '../../adapters/contract.ts'
import { deriveSecrets } from '../../src/auth/secrets.ts'
import { sealedColumns } from '../../src/db/sealed.ts'
import { callbackPathOf } from '../../src/services/people/issuer-registry.ts'
import { backoff, endpointsOf } from '../adapters/google-drive-world.ts'
import { metadataHeader, tus, tusPath } from '../http/tus.ts'
import { startGoogleDrive } from '../servers/google-drive/index.ts'
import { startIssuer, TestBrowser } from '../servers/oidc.ts'
import { startApp, type TestApp } from '../support/app.ts'
import { client, password } from '../support/client.ts'
import { ConsentBrowser } from '../support/consent.ts'
import { atNight } from '../support/extent.ts'
import { startProgram, temporaryFolder } from '../support/program.ts'
import { makeShare, read } from '../support/shares.ts'
import { until } from '../support/until.ts'

const [secretA, secretB] = ['a'.repeat(32), 'b'.repeat(32)]
const never = new AbortController().signal

const connect =
  'mutation ($input: ConnectProviderInput!) { connectProvider(input: $input) { authorizationUrl provider { id } } }'
const listing = `query ($id: ID!, $after: String) {
  folder(providerId: $id) { entries(first: 1, after: $after) { nodes { name } pageInfo { endCursor hasNextPage } } }
}`

async function start(t: Test) {
  const fake = await startGoogleDrive(t)
  const drive = googleDriveAdapter({ endpoints: endpointsOf(fake), backoff }) as AdapterDefinition
  const adapters = (folder: string) => [
    localAdapter({ localRoots: [folder], dataFolder: '/nowhere' }) as AdapterDefinition,
    drive,
  ]
  const app = await startApp(t, { adapters, secret: secretA })
  const { token } = await app.register('owner@example.org')
  const { clientId, clientSecret } = fake.oauth
  const connectDrive = async () => {
    const input = { type: 'google-drive', name: 'Drive', config: { clientId, clientSecret } }
    return (await app.ask(connect, { input }, token)).connectProvider
  }
  return { app, fake, token, connectDrive }
}

const statusOf = async (app: TestApp, id: string, token: string) =>
  (await app.ask('mutation ($id: ID!) { testProvider(id: $id) { status } }', { id }, token)).testProvider.status

const signIn = async (app: Pick<TestApp, 'ask'>) => {
  const input = { email: 'owner@example.org', password }
  return (await app.ask('mutation ($input: LoginInput!) { login(input: $input) { token } }', { input })).login.token
}

/** Lists `table.column` of every value that is encrypted with this secret. */
async function sealedUnder(app: TestApp, secret: string): Promise<string[]> {
  const { currentKeyId } = deriveSecrets(secret)
  const found: string[] = []
  for (const column of sealedColumns) {
    const [table = '', name = ''] = column.split('.')
    const rows = await app.db
      .selectFrom(table as 'providers')
      .select(name as 'secrets')
      .execute()
    for (const value of rows.flatMap(row => Object.values(row))) {
      if (value?.subarray(0, currentKeyId.length).equals(currentKeyId)) found.push(column)
    }
  }
  return found
}

/** Links an identity of an issuer, and signs in with it. */
async function signInAt(app: TestApp, token: string, issuerId: string): Promise<void> {
  const isPage = ({ pathname }: URL) => pathname === '/files' || pathname.startsWith('/settings')
  const ask = 'query ($issuer: ID) { identityLinkUrl(issuer: $issuer) }'
  const { identityLinkUrl } = await app.ask(ask, { issuer: issuerId }, token)
  const { url } = await new TestBrowser().open(identityLinkUrl, isPage)
  const link = 'mutation ($ticket: String!) { linkIdentity(ticket: $ticket) { id } }'
  await app.ask(link, { ticket: url.hash.replace('#link=', '') }, token)
  await new TestBrowser().open(`${app.url}/auth/oidc/start?issuer=${issuerId}`, isPage)
}

t.test('everything signed or encrypted with the old secret survives its rotation', async t => {
  const { app: first, fake, token, connectDrive } = await start(t)
  const { key } = await first.createKey(token, { name: 'k', scopes: ['admin'] })
  const [root, vaultRoot] = [join(first.folder, 'local'), join(first.folder, 'vault')]
  for (const folder of [root, vaultRoot]) await mkdir(folder)
  const local = await first.connectProvider(token, 'local', { root })
  for (const name of ['a', 'b']) await first.upload(token, local, `/${name}`, name)
  const encryption = { password: 'of the vault' }
  const vaultInput = { type: 'local', name: 'Vault', config: { root: vaultRoot }, encryption }
  const vault: string = (await first.ask(connect, { input: vaultInput }, token)).connectProvider.provider.id
  await first.upload(token, vault, '/secret', 'in the vault')
  const drive = await connectDrive()
  t.equal((await new ConsentBrowser().consent(drive.authorizationUrl)).status, 200)
  const driveId = drive.provider.id
  t.equal((await first.upload(token, driveId, '/file', 'in the drive')).status, 201)
  const waiting = await connectDrive()
  const hook = { name: 'hook', url: 'http://127.0.0.1:1/', events: ['MEMBER_JOINED'] }
  await first.ask(
    'mutation ($input: CreateWebhookInput!) { createWebhook(input: $input) { secret } }',
    { input: hook },
    token,
  )
  const issuer = await startIssuer(t)
  issuer.register([first.url + callbackPathOf(null, issuer.url)])
  issuer.person = { id: 'ann' }
  const idp = { name: 'idp', issuer: issuer.url, clientId: issuer.clientId, clientSecret: issuer.clientSecret }
  const { createIssuer } = await first.ask(
    'mutation ($input: CreateIssuerInput!) { createIssuer(input: $input) { id } }',
    { input: idp },
    token,
  )
  await signInAt(first, token, createIssuer.id)
  await issuer.close()
  const testIssuer = 'mutation ($input: TestIssuerInput!) { testIssuer(input: $input) }'
  const test = await first.ask(testIssuer, { input: { id: createIssuer.id } }, token)
  const share = await makeShare(first, token, { providerId: local, path: '/a' })
  const ask = 'query ($id: ID!) { file(providerId: $id, path: "/a") { downloadUrl } }'
  const link = new URL((await first.ask(ask, { id: local }, token)).file.downloadUrl)
  const page = (await first.ask(listing, { id: local }, token)).folder.entries
  t.match(page, { nodes: [{ name: 'a' }], pageInfo: { hasNextPage: true } })
  const metadata = metadataHeader({ providerId: local, path: '/resumed' })
  const created = await tus({ url: first.url, token }, 'POST', tusPath, {
    'upload-length': '10',
    'upload-metadata': metadata,
  })
  const upload = created.headers.get('location') ?? ''
  const patch = (app: TestApp, as: string, offset: number, bytes: string) =>
    tus({ url: app.url, token: as }, 'PATCH', upload, { 'upload-offset': String(offset) }, Buffer.from(bytes))
  t.equal((await patch(first, token, 0, '01234')).status, 204)
  // Another member has an authenticator app, because the owner signs in with the password alone.
  const member = await first.register('member@example.org')
  const { totpSetup } = await first.ask('{ totpSetup { secret ticket } }', {}, member.token)
  await first.ask(
    'mutation ($input: AddTotpInput!) { addTotp(input: $input) { recoveryCodes } }',
    { input: { ticket: totpSetup.ticket, code: new TOTP({ secret: totpSetup.secret }).generate() } },
    member.token,
  )
  const hostKeys = await first.app.services.hostKeys.privateKeys()
  const { pushPublicKey } = await first.ask('{ pushPublicKey }', {}, token)
  t.same(
    [...new Set(await sealedUnder(first, secretA))].sort(),
    [...sealedColumns].sort(),
    'each encrypted column has a value',
  )

  const second = await first.replica({ secret: secretB, previousSecret: secretA })
  await t.test('old values work before they are encrypted again', async t => {
    t.equal((await second.ask('{ me { email } }', {}, token)).me.email, 'owner@example.org')
    t.equal((await second.ask('{ viewer { kind } }', {}, key)).viewer.kind, 'API_KEY')
    t.equal(await (await fetch(`${second.url}${link.pathname}${link.search}`)).text(), 'a')
    const { entries } = (await second.ask(listing, { id: local, after: page.pageInfo.endCursor }, token)).folder
    t.same(entries.nodes, [{ name: 'b' }])
    t.equal(await (await second.download(token, driveId, '/file')).text(), 'in the drive')
    t.equal((await patch(second, token, 5, '567')).status, 204)
    const cookie = `stowage_session=${token}`
    const begun = await fetch(test.testIssuer.replace(first.url, second.url), { headers: { cookie } })
    t.equal(begun.status, 503, 'the secret opens, and the issuer is down')
  })

  await t.test('replicas with both secrets in either order accept each other', async t => {
    const other = await first.replica({ secret: secretA, previousSecret: secretB })
    for (const [from, to] of [
      [second, other],
      [other, second],
    ] as const) {
      const session = await signIn(from)
      t.equal((await to.ask('{ me { email } }', {}, session)).me.email, 'owner@example.org')
      const { endCursor } = (await from.ask(listing, { id: local }, session)).folder.entries.pageInfo
      t.match((await to.ask(listing, { id: local, after: endCursor }, session)).folder.entries.nodes, [{ name: 'b' }])
    }
    await other.close()
  })

  await t.test('two servers at once encrypt all values again', async t => {
    const third = await first.replica({ secret: secretB, previousSecret: secretA })
    // The tokens of this provider are being refreshed. The refresh replaces only the value that it has read.
    const refreshing_until = new Date(Date.now() + 120_000)
    const [before] = await first.db
      .updateTable('provider_tokens')
      .set({ refreshing_until })
      .returning('sealed')
      .execute()
    const work = [second, third].map(({ app }) => app.services.rotation.finish(never))
    const isSkipped = async () => `${await sealedUnder(first, secretA)}` === 'provider_tokens.sealed'
    await until(async () => (await isSkipped()) || sealedUnder(first, secretA))
    t.same(await first.db.selectFrom('provider_tokens').select('sealed').execute(), [before])
    await first.db.updateTable('provider_tokens').set({ refreshing_until: new Date() }).execute()
    const done = await Promise.all(work)
    t.same(
      done.map(({ unreadable }) => unreadable),
      [0, 0],
    )
    t.ok(done.reduce((sum, { count }) => sum + count, 0) >= sealedColumns.length)
    t.same(await sealedUnder(first, secretA), [])
    t.ok((await sealedUnder(first, secretB)).length > sealedColumns.length)
    t.match(
      await third.app.services.rotation.finish(never),
      { count: 0, unreadable: 0 },
      'no value remains to be encrypted',
    )
    await third.close()
  })

  await t.test('afterwards the new secret is sufficient', async t => {
    const last = await first.replica({ secret: secretB })
    t.equal(await (await last.download(key, vault, '/secret')).text(), 'in the vault')
    const { errors } = await last.graphql('{ me { email } }', {}, token)
    t.match(
      errors,
      [{ extensions: { reason: 'INVALID_CREDENTIAL' } }],
      'sessions signed with the old secret have ended',
    )
    const stale = await fetch(`${last.url}${link.pathname}${link.search}`)
    t.equal(stale.status, 401)
    t.same(await last.app.services.hostKeys.privateKeys(), hostKeys, 'clients of SFTP see the same server')
    const { pushPublicKey: pushKey } = await last.ask('{ pushPublicKey }', {}, await signIn(last))
    t.equal(pushKey, pushPublicKey, 'and browsers the same sender')
    t.equal((await read(last, share.link, '/a')).text, 'a', 'share links stay')
    const { shares } = await last.ask('{ shares { nodes { url } } }', {}, await signIn(last))
    t.same(shares.nodes, [{ url: `${last.url}/s/${share.link}` }], 'and can be copied again')
    t.equal(await (await last.download(key, driveId, '/file')).text(), 'in the drive')
    fake.oauth.expireAccessTokens()
    t.equal(await statusOf(last, driveId, key), 'CONNECTED', 'tokens are refreshed')
    const browser = new ConsentBrowser()
    const callback = await browser.consentAtVendor(
      await browser.begin(waiting.authorizationUrl.replace(first.url, last.url)),
    )
    t.equal((await browser.open(callback.replace(first.url, last.url))).status, 200, 'a consent can be completed')
    await first.close()
  })
})

t.test('values that neither secret opens are counted', async t => {
  const { app, connectDrive } = await start(t)
  await connectDrive()
  const other = await app.replica({ secret: secretB, previousSecret: 'c'.repeat(32) })
  const rotated = await other.app.services.rotation.finish(never)
  t.match(rotated, { count: 0, unreadable: 2 }, 'the configuration and the pending consent')
})

t.test('every binary column is listed as encrypted or not', async t => {
  const { app } = await start(t)
  const columns = await app.db
    .selectFrom('information_schema.columns' as never)
    .select(['table_name', 'column_name'] as never)
    .where('data_type' as never, '=', 'bytea' as never)
    .where('table_schema' as never, '=', 'public' as never)
    .execute()
  const names = columns.map(({ table_name, column_name }: Record<string, string>) => `${table_name}.${column_name}`)
  const hashes = [
    'api_keys.key_hash',
    'api_keys.public_key',
    'kept_files.sha256',
    'kept_folders.key',
    'host_keys.public_key',
    'push_keys.public_key',
    'push_subscriptions.auth',
    'push_subscriptions.public_key',
    'invites.token_hash',
    'link_invites.token_hash',
    'password_resets.token_hash',
    'mailed_resets.password_digest',
    'mailed_resets.token_hash',
    'shares.token_hash',
    'idempotent_uploads.key_hash',
    'idempotent_uploads.fingerprint',
    'locks.key',
    'used_sign_ins.state_hash',
    'approvals.call_hash',
    'connections.code_hash',
    'connections.refresh_hash',
    'content_checksums.sha256',
    'login_challenges.password_digest',
    'login_challenges.token_hash',
    'recovery_codes.code_hash',
    'scim_tokens.token_hash',
  ]
  const contents = [
    'upload_chunks.bytes',
    'upload_part_chunks.bytes',
    'upload_parts.md5',
    'passkeys.credential_id',
    'passkeys.public_key',
    'workspace_logos.image',
  ]
  const others = [...hashes, ...contents, 'oauth_states.state_hash', 'rate_limits.key']
  t.same(names.sort(), [...others, ...sealedColumns].sort(), 'list an encrypted column in db/sealed.ts')
})

atNight(t, 'the generated secret is rotated by renaming its file', async t => {
  const folder = await temporaryFolder(t)
  const options = { environment: { PORT: '0', STOWAGE_DATA: folder } }
  const before = await startProgram(t, options)
  const { token } = await client(before.url).register('owner@example.org')
  t.equal(await before.stop(), 0)
  await rename(join(folder, 'secret'), join(folder, 'secret.previous'))

  const during = await startProgram(t, options)
  const api = client(during.url)
  t.equal((await api.ask('{ me { email } }', {}, token)).me.email, 'owner@example.org')
  const session = await signIn(api)
  t.equal(await during.stop(), 0)
  t.match(during.output(), /All stored credentials are encrypted with the current secret/)
  t.equal((await stat(join(folder, 'secret'))).mode & 0o777, 0o600)
  await rm(join(folder, 'secret.previous'))

  const after = await startProgram(t, options)
  t.match((await client(after.url).graphql('{ me { email } }', {}, token)).errors, [
    { extensions: { reason: 'INVALID_CREDENTIAL' } },
  ])
  t.equal((await client(after.url).ask('{ me { email } }', {}, session)).me.email, 'owner@example.org')
  t.equal(await after.stop(), 0)
})
