import t, { type Test } from 'tap'
import { googleDriveAdapter } from '../../adapters/backends/google-drive/index.ts'
import { type AdapterDefinition, StorageError } from '../../adapters/contract.ts'
import { backoff, endpointsOf } from '../adapters/google-drive-world.ts'
import { startGoogleDrive } from '../servers/google-drive/index.ts'
import { startApp } from '../support/app.ts'
import { ConsentBrowser } from '../support/consent.ts'
import { atNight } from '../support/extent.ts'

const connect = `mutation ($input: ConnectProviderInput!) {
  connectProvider(input: $input) { authorizationUrl provider { id status statusReason config } }
}`
const authorize = 'mutation ($id: ID!) { authorizeProvider(id: $id) { authorizationUrl } }'
const status = 'query ($id: ID!) { provider(id: $id) { status statusReason } }'

async function start(t: Test) {
  const fake = await startGoogleDrive(t)
  const { clientId, clientSecret } = fake.oauth
  const adapter = googleDriveAdapter({ endpoints: endpointsOf(fake), backoff })
  const app = await startApp(t, { adapters: [adapter as AdapterDefinition] })
  const owner = await app.register('owner@example.org')
  const config = { clientId, clientSecret }
  const connectDrive = async () =>
    (await app.ask(connect, { input: { type: 'google-drive', name: 'Drive', config } }, owner.token)).connectProvider
  return { fake, app, owner, connectDrive }
}

/** Consents in a new browser up to the vendor's redirect. The returned function follows the redirect. */
async function consentTo(url: string): Promise<() => Promise<{ status: number; text: string }>> {
  const browser = new ConsentBrowser()
  const callback = await browser.consentAtVendor(await browser.begin(url))
  return () => browser.open(callback)
}

/** Consents in a new browser. */
async function consent(
  url: string,
): Promise<{ status: number; text: string; callback: string; replay(): Promise<number> }> {
  const browser = new ConsentBrowser()
  const page = await browser.consent(url)
  return { ...page, replay: async () => (await browser.open(page.callback)).status }
}

t.test('a provider is connected by consent in the browser', async t => {
  const { fake, app, owner, connectDrive } = await start(t)
  const { clientId, clientSecret } = fake.oauth
  const connectProvider = await connectDrive()
  const { id } = connectProvider.provider

  const begin = async (token = owner.token): Promise<string> =>
    (await app.ask(authorize, { id }, token)).authorizeProvider.authorizationUrl
  const statusNow = async () => (await app.ask(status, { id }, owner.token)).provider

  await t.test('a provider waits for consent and reveals no secret', async t => {
    t.match(connectProvider.provider, { status: 'NEEDS_AUTHORIZATION', config: { clientId } })
    t.notOk(JSON.stringify(connectProvider).includes(clientSecret))
    const { authorizationUrl } = connectProvider
    const url = new URL(await new ConsentBrowser().begin(authorizationUrl))
    t.match(Object.fromEntries(url.searchParams), { code_challenge_method: 'S256', client_id: clientId })
    t.equal(url.searchParams.get('redirect_uri'), `${app.url}/webhook/callback`)
    const states = await app.db.selectFrom('oauth_states').selectAll().execute()
    t.equal(states.length, 1)
    const ticket = new URL(authorizationUrl).searchParams.get('ticket') ?? ''
    t.notOk(states[0]?.state_hash.toString('latin1').includes(ticket), 'stored hashed')
    const refused = await app.download(owner.token, id, '/x')
    t.equal(refused.status, 502)
    t.match(await refused.json(), { errors: [{ extensions: { reason: 'NEEDS_RECONNECT' } }] })
    t.match(await statusNow(), { status: 'NEEDS_AUTHORIZATION' })
    const { testProvider } = await app.ask(
      'mutation ($id: ID!) { testProvider(id: $id) { status } }',
      { id },
      owner.token,
    )
    t.match(testProvider, { status: 'NEEDS_AUTHORIZATION' }, 'a missing consent is not reported as withdrawn')
  })

  await t.test('a state works once, before it expires, and only while its creator may still connect', async t => {
    const unknown = await fetch(`${app.url}/webhook/callback?code=x&state=made-up`)
    t.equal(unknown.status, 400)
    t.match(await unknown.text(), /unknown, expired or already completed/)
    const forged = await fetch(`${app.url}/webhook/callback?error=x&error_description=Call+us+now&state=made-up`)
    t.notMatch(await forged.text(), /Call us/, 'the page shows nothing from the query')

    const url = await begin()
    await app.db
      .updateTable('oauth_states')
      .set({ expires_at: new Date(Date.now() - 1) })
      .execute()
    t.equal((await new ConsentBrowser().open(url)).status, 400, 'expired')

    const { createInvite } = await app.ask(
      'mutation { createInvite(input: { role: ADMIN }) { invite } }',
      {},
      owner.token,
    )
    const admin = await app.register('admin@example.org', { invite: createInvite.invite })
    const theirs = await consentTo(await begin(admin.token))
    await app.ask(
      'mutation ($input: UpdateMemberInput!) { updateMember(input: $input) { id } }',
      { input: { userId: admin.id, role: 'EDITOR' } },
      owner.token,
    )
    t.equal((await theirs()).status, 403, 'the member is no longer an administrator')

    const made = await app.createKey(owner.token, { name: 'k', scopes: ['admin'] })
    const withKey = await consentTo(await begin(made.key))
    await app.ask('mutation ($id: ID!) { revokeApiKey(id: $id) { id } }', { id: made.id }, owner.token)
    t.equal((await withKey()).status, 401, 'started with a key that was revoked')

    fake.oauth.consents = false
    const denied = await consent(await begin())
    fake.oauth.consents = true
    t.equal(denied.status, 400)
    t.match(denied.text, /was not given consent/)
    t.match(denied.text, /access_denied/, 'the page shows the error code of the vendor')
    t.match(await statusNow(), { status: 'NEEDS_AUTHORIZATION' })

    const given = await consent(await begin())
    t.equal(given.status, 200)
    t.match(given.text, /“Drive” is connected/)
    t.match(await statusNow(), { status: 'CONNECTED', statusReason: null })
    t.equal(await given.replay(), 400, 'the state cannot be used twice')
    t.match(await statusNow(), { status: 'CONNECTED' })
  })

  await t.test('the audit log records who asked for a consent and who gave it', async t => {
    await app.app.services.audit.flush()
    const events = `query ($action: AuditAction) { auditEvents(first: 50, filter: { action: $action }) {
      nodes { result userEmail providerId address credentialKind details }
    } }`
    const of = async (action: string) => (await app.ask(events, { action }, owner.token)).auditEvents.nodes
    const by = (email: string) => ({ userEmail: `${email}@example.org`, providerId: id, address: '127.0.0.1' })
    const consents = await of('PROVIDER_CONSENT')
    t.match(consents, [
      { result: 'OK', ...by('owner') },
      { result: 'AUTHORIZATION_REFUSED', ...by('owner') },
      { result: 'KEY_REVOKED', ...by('owner'), credentialKind: 'API_KEY' },
      { result: 'SCOPE_REQUIRED', ...by('admin'), credentialKind: 'SESSION' },
    ])
    t.equal(consents.length, 4, 'an unknown state leaves no event')
    t.notMatch(JSON.stringify(consents), /code|state|made-up/)
    const asked = ['owner', 'owner', 'owner', 'admin', 'owner'].map(email => ({ result: 'OK', ...by(email) }))
    t.match(await of('PROVIDER_AUTHORIZE'), asked)
  })

  await t.test('files can be uploaded and downloaded', async t => {
    t.equal((await app.upload(owner.token, id, '/folder/a.txt', 'content')).status, 201)
    t.equal(await (await app.download(owner.token, id, '/folder/a.txt')).text(), 'content')
  })

  await atNight(t, 'one request refreshes an expired token for all callers on all replicas', async t => {
    const replica = await app.replica()
    for (const server of [app, replica]) t.equal((await server.download(owner.token, id, '/folder/a.txt')).status, 200)
    const before = fake.oauth.grants.refresh_token ?? 0
    fake.oauth.expireAccessTokens()
    const responses = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        (index % 2 === 0 ? app : replica).download(owner.token, id, '/folder/a.txt'),
      ),
    )
    t.same(new Set(responses.map(response => response.status)), new Set([200]))
    t.equal((fake.oauth.grants.refresh_token ?? 0) - before, 1)
  })

  await t.test('tokens are stored encrypted and never returned', async t => {
    const [row] = await app.db.selectFrom('provider_tokens').selectAll().execute()
    t.notMatch(row?.sealed.toString('latin1'), /ya29|1\/\//)
    t.notMatch(app.logged(), /ya29\.|GOCSPX/)
    t.notMatch(app.logged(), /state=(?!\[redacted)/)
  })

  await t.test('a provider without its consent says what to do, and consent can be given again', async t => {
    fake.oauth.withdraw()
    const refused = await app.download(owner.token, id, '/folder/a.txt')
    t.equal(refused.status, 502)
    t.match(await refused.json(), {
      errors: [{ extensions: { code: 'INTERNAL_SERVER_ERROR', reason: 'NEEDS_RECONNECT' } }],
    })
    const now = await statusNow()
    t.equal(now.status, 'NEEDS_RECONNECT')
    t.match(now.statusReason, /\S/)
    const asked = fake.oauth.grants.refresh_token
    for (let i = 0; i < 3; i += 1) t.equal((await app.download(owner.token, id, '/folder/a.txt')).status, 502)
    t.equal(fake.oauth.grants.refresh_token, asked, 'a refused refresh is not repeated at once')
    t.equal((await consent(await begin())).status, 200)
    t.match(await statusNow(), { status: 'CONNECTED', statusReason: null })
    t.equal(await (await app.download(owner.token, id, '/folder/a.txt')).text(), 'content')
  })

  await t.test('a service account needs no consent', async t => {
    const serviceAccountKey = fake.oauth.addServiceAccount('robot@fake.iam.gserviceaccount.com')
    const { connectProvider } = await app.ask(
      connect,
      { input: { type: 'google-drive', name: 'Robot', config: { serviceAccountKey } } },
      owner.token,
    )
    t.match(connectProvider, { authorizationUrl: null, provider: { status: 'CONNECTED' } })
    t.notMatch(JSON.stringify(connectProvider), /PRIVATE KEY/)
    const { errors } = await app.graphql(authorize, { id: connectProvider.provider.id }, owner.token)
    t.match(errors, [{ extensions: { code: 'BAD_USER_INPUT', reason: 'INVALID_INPUT' } }])
  })
})

atNight(t, 'an incomplete configuration is refused before anybody is asked for consent', async t => {
  const { fake, app, owner, connectDrive } = await start(t)
  const { clientId, clientSecret } = fake.oauth
  const refusal = [
    { message: /client id with its secret/, extensions: { code: 'BAD_USER_INPUT', reason: 'INVALID_CONFIG' } },
  ]
  for (const config of [{}, { clientId }, { clientSecret }]) {
    const { errors } = await app.graphql(
      connect,
      { input: { type: 'google-drive', name: 'Drive', config } },
      owner.token,
    )
    t.match(errors, refusal)
  }
  const { providers } = await app.ask('{ providers { id } }', {}, owner.token)
  t.strictSame(providers, [], 'no provider was created')

  const { provider } = await connectDrive()
  const update = 'mutation ($input: UpdateProviderInput!) { updateProvider(input: $input) { status config } }'
  const taken = await app.graphql(update, { input: { id: provider.id, config: { clientSecret: null } } }, owner.token)
  t.match(taken.errors, refusal)
  const other = await app.ask(
    update,
    { input: { id: provider.id, config: { clientId: 'other', clientSecret } } },
    owner.token,
  )
  t.match(other.updateProvider, { status: 'NEEDS_AUTHORIZATION', config: { clientId: 'other' } })
})

t.test('an adapter without an address for consent says what to change', async t => {
  const { oauth, ...adapter } = googleDriveAdapter()
  if (!oauth) throw new Error('The adapter has no OAuth flow')
  const authorizeUrl = () => {
    const property = { name: 'clientId', suggestion: 'another id' }
    throw new StorageError('INVALID_CONFIG', 'Enter another client id.', { property })
  }
  const app = await startApp(t, { adapters: [{ ...adapter, oauth: { ...oauth, authorizeUrl } } as AdapterDefinition] })
  const { token } = await app.register('owner@example.org')
  const config = { clientId: 'id', clientSecret: 'secret' }
  const { errors } = await app.graphql(connect, { input: { type: 'google-drive', name: 'Drive', config } }, token)
  const extensions = { reason: 'INVALID_CONFIG', properties: ['clientId'], suggestions: { clientId: 'another id' } }
  t.match(errors, [{ message: 'Enter another client id.', extensions }], 'forms know the field')
})

atNight(t, 'a provider can be renamed or disconnected during its consent', async t => {
  const { fake, app, owner, connectDrive } = await start(t)
  const { authorizationUrl, provider } = await connectDrive()
  const { id } = provider
  const rename = 'mutation ($id: ID!) { updateProvider(input: { id: $id, name: "Renamed" }) { name } }'
  fake.faults.before({ path: /^\/token/, run: () => app.ask(rename, { id }, owner.token) })
  const given = await consent(authorizationUrl)
  t.equal(given.status, 200)
  t.match(given.text, /“Renamed” is connected/)
  const { authorizeProvider } = await app.ask(authorize, { id }, owner.token)
  const disconnect = 'mutation ($id: ID!) { disconnectProvider(id: $id) }'
  fake.faults.before({ path: /^\/token/, run: () => app.ask(disconnect, { id }, owner.token) })
  const late = await consent(authorizeProvider.authorizationUrl)
  t.equal(late.status, 400)
  t.match(late.text, /changed meanwhile/)
})

t.test('a consent that leads to the folder of another storage, or to files in clear text, is refused', async t => {
  const { fake, app, owner, connectDrive } = await start(t)
  const { clientId, clientSecret } = fake.oauth
  t.equal((await consent((await connectDrive()).authorizationUrl)).status, 200)
  const encryptIn = async (rootFolderId: string) => {
    const config = { clientId, clientSecret, rootFolderId }
    const input = { type: 'google-drive', name: 'Vault', config, encryption: { password: 'correct horse' } }
    const { authorizationUrl, provider } = (await app.ask(connect, { input }, owner.token)).connectProvider
    const { status: answer, text } = await consent(authorizationUrl)
    return { answer, text, ...(await app.ask(status, { id: provider.id }, owner.token)).provider }
  }
  t.match(await encryptIn(fake.rootId), {
    answer: 400,
    text: /an encrypted storage needs a folder of its own/,
    status: 'NEEDS_AUTHORIZATION',
  })
  const [empty, used] = [fake.addFolder(fake.rootId, 'empty').id, fake.addFolder(fake.rootId, 'used').id]
  fake.addFile(used, 'letter.txt', 'clear text')
  t.match(await encryptIn(used), { answer: 400, text: /does not decrypt what is in it/, status: 'NEEDS_AUTHORIZATION' })
  t.match(await encryptIn(empty), { answer: 200, status: 'CONNECTED' })
  t.match(await encryptIn(empty).catch(String), /needs a folder of its own/, 'at once, for the same configuration')
})

atNight(t, 'a renewed consent may be that of another account', async t => {
  const { fake, app, owner, connectDrive } = await start(t)
  const { clientId, clientSecret } = fake.oauth
  const rootFolderId = fake.addFolder(fake.rootId, 'vault').id
  const config = { clientId, clientSecret, rootFolderId }
  const input = { type: 'google-drive', name: 'Vault', config, encryption: { password: 'correct horse' } }
  const vault = (await app.ask(connect, { input }, owner.token)).connectProvider
  t.equal((await consent(vault.authorizationUrl)).status, 200)
  const drive = await connectDrive()
  t.equal((await consent(drive.authorizationUrl)).status, 200)
  const renew = async (id: string) =>
    consent((await app.ask(authorize, { id }, owner.token)).authorizeProvider.authorizationUrl)
  const rootOf = async (id: string) =>
    (await app.db.selectFrom('providers').select('root_id').where('id', '=', id).executeTakeFirstOrThrow()).root_id

  fake.addFile(rootFolderId, 'letter.txt', 'clear text')
  t.equal((await renew(vault.provider.id)).status, 200, 'the same root need not decrypt')
  const elsewhere = { root_id: 'of another account' }
  await app.db.updateTable('providers').set(elsewhere).where('id', '=', vault.provider.id).execute()
  t.match(await renew(vault.provider.id), { status: 400, text: /does not decrypt what is in it/ })

  t.type(await rootOf(drive.provider.id), 'string')
  await app.ask('mutation ($id: ID!) { disconnectProvider(id: $id) }', { id: vault.provider.id }, owner.token)
  t.equal((await renew(drive.provider.id)).status, 200)
  t.equal(await rootOf(drive.provider.id), null, 'nobody has looked at the present root')
})

atNight(t, 'a vendor that does not respond occupies no connection to the database', async t => {
  const { fake, app, owner, connectDrive } = await start(t)
  const ids: string[] = []
  for (let i = 0; i < 6; i += 1) {
    const { authorizationUrl, provider } = await connectDrive()
    t.equal((await consent(authorizationUrl)).status, 200)
    t.equal((await app.upload(owner.token, provider.id, '/a.txt', `${i}`, '&conflict=replace')).status, 201)
    ids.push(provider.id)
  }
  fake.oauth.expireAccessTokens()
  const { promise: responded, resolve: respond } = Promise.withResolvers<void>()
  const arrived = ids.map(() => Promise.withResolvers<void>())
  for (const { resolve } of arrived) {
    const run = () => {
      resolve()
      return responded
    }
    fake.faults.before({ path: /^\/token/, run })
  }
  const downloads = ids.map(id => app.download(owner.token, id, '/a.txt'))
  await Promise.all(arrived.map(({ promise }) => promise))
  t.match(await app.graphql('{ me { email } }', {}, owner.token), { data: { me: { email: 'owner@example.org' } } })
  respond()
  t.same(new Set((await Promise.all(downloads)).map(({ status }) => status)), new Set([200]))
})

atNight(t, 'another server refreshes a token after the server that started to refresh it has died', async t => {
  const { fake, app, owner, connectDrive } = await start(t)
  const { authorizationUrl, provider } = await connectDrive()
  t.equal((await consent(authorizationUrl)).status, 200)
  await app.db
    .updateTable('provider_tokens')
    .set({ expires_at: new Date(), refreshing_until: new Date(0) })
    .execute()
  t.equal((await app.upload(owner.token, provider.id, '/a.txt', 'content')).status, 201)
  t.equal(fake.oauth.grants.refresh_token, 1)
  t.match(await app.db.selectFrom('provider_tokens').select('refreshing_until').execute(), [{ refreshing_until: null }])
})
