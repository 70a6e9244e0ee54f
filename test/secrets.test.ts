/**
 * Uses the whole program with known secrets, in valid and invalid ways. Then searches everything that it printed, sent and
 * stored for every secret in all encodings.
 */
import { createHash, randomBytes } from 'node:crypto'
import { connect as openSocket } from 'node:net'
import { text } from 'node:stream/consumers'
import { TOTP } from 'otpauth'
import pg from 'pg'
import t from 'tap'
import { deriveSecrets } from '../src/auth/secrets.ts'
import { faultProxy } from './servers/fault-proxy.ts'
import { startGoogleDrive } from './servers/google-drive/index.ts'
import { testDatabase } from './servers/postgres.ts'
import { s3Server } from './servers/radosgw.ts'
import { atNight, extent } from './support/extent.ts'
import { main, type Program, startProgram, temporaryFolder } from './support/program.ts'

const random = (prefix: string) => `${prefix}${randomBytes(24).toString('base64')}`

interface SearchedText {
  what: string
  text: string
  /** The names of the secrets that this text is allowed to contain. */
  shows: ReadonlySet<string>
}

const texts: SearchedText[] = []
/** Maps names to the encodings of each secret. */
const secrets = new Map<string, readonly string[]>()

/** Adds a secret to the search. */
function secret(name: string, value: string): string {
  t.ok(value.length >= 12, `${name} is there`)
  secrets.set(name, formsOf(value))
  return value
}

/** Encodes a secret: plain, percent-encoded, hex, and base64 alone or inside a longer text. */
function formsOf(value: string): string[] {
  const bytes = Buffer.from(value)
  const base64 = [0, 1, 2].flatMap(before => {
    const whole = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64')
    const inner = whole.slice(Math.ceil((before * 4) / 3), Math.floor(((before + bytes.length) * 4) / 3))
    return [inner, inner.replaceAll('+', '-').replaceAll('/', '_'), encodeURIComponent(inner)]
  })
  const inJson = JSON.stringify(value).slice(1, -1)
  const hex = bytes.toString('hex')
  return [
    value,
    inJson,
    JSON.stringify(inJson).slice(1, -1),
    encodeURIComponent(value),
    ...base64,
    hex,
    hex.toUpperCase(),
  ]
}

/** Characters with which a form is found. All forms are longer. */
const beginning = 10

/** Returns a search for the names of all secrets that a text contains, which reads the text once and not for each form. */
function makeSearch(): (text: string) => string[] {
  const forms = [...secrets].flatMap(([name, own]) => own.map(form => ({ name, form })))
  const byBeginning = Map.groupBy(forms, ({ form }) => form.slice(0, beginning))
  // Few positions of a text have four characters with which a form begins.
  const isPossible = new Uint8Array(2 ** 16)
  const hashAt = (text: string, at: number) =>
    (text.charCodeAt(at) ^
      (text.charCodeAt(at + 1) << 3) ^
      (text.charCodeAt(at + 2) << 6) ^
      (text.charCodeAt(at + 3) << 9)) &
    0xffff
  for (const start of byBeginning.keys()) isPossible[hashAt(start, 0)] = 1
  return text => {
    const names = new Set<string>()
    for (let at = 0; at + beginning <= text.length; at += 1) {
      if (!isPossible[hashAt(text, at)]) continue
      for (const { name, form } of byBeginning.get(text.slice(at, at + beginning)) ?? []) {
        if (text.startsWith(form, at)) names.add(name)
      }
    }
    return [...names]
  }
}

interface Ask {
  method?: string
  headers?: Record<string, string>
  body?: string
  token?: string | undefined
  shows?: string[]
}

/** Sends a request and adds its response to the searched texts. */
async function ask(url: string, { token, shows = [], ...init }: Ask = {}) {
  const headers = { ...(token !== undefined && { authorization: `Bearer ${token}` }), ...init.headers }
  const answer = await fetch(url, { redirect: 'manual', ...init, headers })
  const body = await answer.text()
  const heads = [...answer.headers].map(([name, value]) => `${name}: ${value}`).join('\n')
  texts.push({
    what: `${init.method ?? 'GET'} ${url}: ${answer.status}`,
    text: `${heads}\n\n${body}`,
    shows: new Set(shows),
  })
  return { status: answer.status, headers: answer.headers, body }
}

// biome-ignore lint/suspicious/noExplicitAny: each line below asserts the shape of its response
type Answer = any

async function graphql(
  url: string,
  query: string,
  variables: object,
  token?: string,
  shows?: string[],
): Promise<Answer> {
  const { body } = await ask(`${url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query, variables }),
    token,
    shows: shows ?? [],
  })
  return JSON.parse(body)
}

/** Sends raw bytes that an HTTP client would refuse to send. */
async function raw(url: string, bytes: string): Promise<void> {
  const { hostname, port } = new URL(url)
  const socket = openSocket(Number(port), hostname)
  socket.end(bytes)
  texts.push({ what: `raw ${bytes.slice(0, 20)}`, text: await text(socket), shows: new Set() })
}

/** Loads two adapters as packages: Google Drive with the addresses of this test, and a careless one. */
function withAdapters(endpoints: object): [string, ...string[]] {
  const at = (path: string) => new URL(path, import.meta.url).href
  const module = (code: string) => `data:text/javascript,${encodeURIComponent(code)}`
  const drive = module(`import { googleDriveAdapter } from '${at('../adapters/backends/google-drive/index.ts')}'
    const backoff = { first: 1, longest: 10, attempts: 2 }
    export default { ...googleDriveAdapter({ endpoints: ${JSON.stringify(endpoints)}, backoff }), type: 'drive' }`)
  const packages = { 'drive-of-the-test': drive, 'leaky-of-the-test': at('support/leaky-adapter.ts') }
  const hook = module(`import { registerHooks } from 'node:module'
    const packages = ${JSON.stringify(packages)}
    registerHooks({ resolve: (name, context, next) =>
      Object.hasOwn(packages, name) ? { url: packages[name], shortCircuit: true } : next(name, context) })`)
  return [process.execPath, '--import', hook, main]
}

const connectDocument =
  'mutation ($input: ConnectProviderInput!) { connectProvider(input: $input) { authorizationUrl provider { id config status statusReason } } }'
const everythingDocument = `{ me { id email } viewer { kind scopes } workspace { name } installation { hasOwner needsSetupCode }
  users { nodes { email role } } apiKeys { nodes { id name displayPrefix state } } providerTypes { type configSchema }
  providers { id name config status statusReason quota { used } capabilities { serverSideCopy } }
  auditEvents(first: 100) { nodes { action result details address path } } }`

// The test starts two servers and Ceph, possibly on a busy machine.
t.setTimeout(300_000)

t.test('no secret is printed, returned or stored in plain text', async t => {
  const s3 = await s3Server(t)
  const s3Proxy = await faultProxy(t, s3.endpoint)
  const fake = await startGoogleDrive(t)
  const api = await faultProxy(t, fake.url)
  const tokens = await faultProxy(t, fake.url)
  const { connectionString } = await testDatabase(t)
  const databaseUrl = new URL(connectionString)
  // The test's database requires no password.
  databaseUrl.password ||= secret('database password', random('db-').replace(/[^\w-]/g, 'x'))
  const [folder, files] = [await temporaryFolder(t), await temporaryFolder(t)]
  const options = {
    environment: {
      PORT: '0',
      DATABASE_URL: databaseUrl.href,
      STOWAGE_DATA: folder,
      STOWAGE_LOCAL_ROOTS: files,
      STOWAGE_SECRET: secret('STOWAGE_SECRET', random('server-')),
      STOWAGE_SETUP_CODE: secret('setup code', random('setup-')),
      STOWAGE_ADAPTERS: 'drive-of-the-test,leaky-of-the-test,missing-of-the-test',
      STOWAGE_SIGN_IN_LIMIT: '0',
      // Nothing listens there, so the log tells of failures.
      STOWAGE_LDAP_URL: 'ldap://127.0.0.1:9',
      STOWAGE_LDAP_BIND_DN: 'cn=stowage,dc=example,dc=com',
      STOWAGE_LDAP_BIND_PASSWORD: secret('bind password', random('bind-')),
      STOWAGE_LDAP_BASE: 'dc=example,dc=com',
      LOG_LEVEL: 'trace',
    },
    command: withAdapters({
      api: `${api.endpoint}/`,
      authorize: fake.oauthEndpoints.oauth2AuthBaseUrl,
      token: `${tokens.endpoint}/token`,
    }),
    cwd: folder,
  }
  for (const purpose of [
    'session',
    'credentials',
    'download-link',
    'cursor',
    'access-token',
    'refresh-token',
  ] as const) {
    const key = deriveSecrets(options.environment.STOWAGE_SECRET).keys(purpose)[0]
    secret(`key of ${purpose}`, key.toString('base64'))
    secret(`key of ${purpose}, hex`, key.toString('hex'))
  }
  const program = await startProgram(t, options)
  const { url } = program
  const programs: Program[] = [program]

  // Accounts.
  const password = secret('password', random('pass word ü"\\'))
  const register = (email: string, more: object, shows: string[]) =>
    graphql(
      url,
      'mutation ($input: RegisterInput!) { register(input: $input) { token user { id } } }',
      {
        input: { email, password, ...more },
      },
      undefined,
      shows,
    )
  const noteToken = (name: string, token: string) => {
    secret(name, token)
    secret(`signature of ${name}`, token.split('.').at(-1) ?? '')
    return token
  }
  const names = (name: string) => [name, `signature of ${name}`]
  const wrongCode = secret('wrong setup code', random('wrong-setup-'))
  for (const setupCode of [wrongCode, [wrongCode], undefined]) await register('owner@example.org', { setupCode }, [])
  const setupCode = options.environment.STOWAGE_SETUP_CODE
  const owner = noteToken(
    'session',
    (await register('owner@example.org', { setupCode }, names('session'))).data.register.token,
  )
  const login = 'mutation ($input: LoginInput!) { login(input: $input) { token } }'
  const again = (
    await graphql(url, login, { input: { email: 'owner@example.org', password } }, undefined, names('other session'))
  ).data.login.token
  noteToken('other session', again)
  const wrong = secret('wrong password', random('wrong-'))
  await graphql(url, login, { input: { email: 'owner@example.org', password: wrong } })
  await graphql(url, login, { input: { email: password, password: 'x' } })
  await graphql(url, login, { input: { email: 'owner@example.org', password: wrong, remember: true } })
  await graphql(url, login, { input: { email: 1, password: [wrong] } })
  await graphql(url, `mutation { login("${wrong}") { token } }`, {})
  await graphql(url, `mutation { login(input: { email: "x@y", password: "${wrong}" }) { token } }`, {})
  await register('owner@example.org', { name: 'again' }, [])
  const short = secret('short password', 'kurz-und-gut')
  await register('short@example.org', { password: short.slice(0, 11) }, [])
  const invited = await graphql(url, 'mutation { createInvite(input: { role: EDITOR }) { invite } }', {}, owner, [
    'invite',
  ])
  const invite = secret('invite', invited.data.createInvite.invite)
  await graphql(url, '{ invites { id role createdAt expiresAt } }', {}, owner)
  noteToken(
    'invited session',
    (await register('invited@example.org', { invite }, names('invited session'))).data.register.token,
  )
  await register('late@example.org', { invite }, [])
  const { users } = (await graphql(url, '{ users(first: 10) { nodes { id email } } }', {}, owner)).data
  const userId = users.nodes.find(({ email }: { email: string }) => email === 'invited@example.org').id
  const createReset = 'mutation ($userId: ID!) { createPasswordReset(userId: $userId) { token } }'
  const resetting = await graphql(url, createReset, { userId }, owner, ['reset token'])
  const reset = secret('reset token', resetting.data.createPasswordReset.token)
  const resetPassword = secret('reset password', random('reset-'))
  const redeem = 'mutation ($input: ResetPasswordInput!) { resetPassword(input: $input) }'
  for (const newPassword of [short, resetPassword, resetPassword])
    await graphql(url, redeem, { input: { token: reset, newPassword } })
  const createLinkInvite = 'mutation ($userId: ID!) { createLinkInvite(userId: $userId) { invite } }'
  const linking = await graphql(url, createLinkInvite, { userId }, owner, ['link invite'])
  const linkInvite = secret('link invite', linking.data.createLinkInvite.invite)
  await graphql(url, 'query ($invite: String!) { linkInvite(invite: $invite) { email } }', { invite: linkInvite })
  const acceptLink = 'mutation ($invite: String!) { linkInvitedIdentity(invite: $invite, ticket: "x") }'
  await graphql(url, acceptLink, { invite: linkInvite })
  const next = secret('next password', random('next-'))
  const change = 'mutation ($input: ChangePasswordInput!) { changePassword(input: $input) { token } }'
  await graphql(url, change, { input: { currentPassword: wrong, newPassword: next } }, again)

  // SCIM.
  const scimCreate = 'mutation ($input: CreateScimTokenInput!) { createScimToken(input: $input) { token } }'
  const scim = (await graphql(url, scimCreate, { input: { name: 's' } }, owner, ['SCIM token'])).data.createScimToken
  const scimToken = secret('SCIM token', scim.token)
  const scimPassword = secret('SCIM password', random('scim-password-'))
  const scimBody = JSON.stringify({ userName: 'scim@example.org', password: scimPassword })
  const scimType = { 'content-type': 'application/scim+json' }
  for (const [path, token] of [
    ['/scim/v2/Users', scimToken],
    [`/scim/v2/Users/${scimToken}`, scimToken],
    [`/scim/v2/Users?filter=${scimToken}`, owner],
    ['/graphql', scimToken],
  ] as const) {
    await ask(`${url}${path}`, { method: 'POST', headers: scimType, body: scimBody, token })
  }

  // Second factors.
  const invitedLogin = { input: { email: 'invited@example.org', password: short } }
  const enrolling = (await graphql(url, login, invitedLogin, undefined, names('enrolling session'))).data.login.token
  noteToken('enrolling session', enrolling)
  const setup = (await graphql(url, '{ totpSetup { secret ticket } }', {}, enrolling, ['TOTP secret', 'TOTP ticket']))
    .data.totpSetup
  const totpSecret = secret('TOTP secret', setup.secret)
  secret('TOTP ticket', setup.ticket)
  const addTotp = 'mutation ($input: AddTotpInput!) { addTotp(input: $input) { recoveryCodes } }'
  const totpCode = new TOTP({ secret: totpSecret }).generate()
  await graphql(url, addTotp, { input: { ticket: setup.ticket, code: totpSecret } }, enrolling)
  const addedTotp = await graphql(url, addTotp, { input: { ticket: setup.ticket, code: totpCode } }, enrolling, [
    'recovery code',
  ])
  const recoveryCode = secret('recovery code', addedTotp.data.addTotp.recoveryCodes[0])
  const challenged = await graphql(url, login, invitedLogin, undefined, ['login challenge'])
  const challenge = secret('login challenge', challenged.errors[0].extensions.challenge)
  const complete = 'mutation ($input: CompleteLoginInput!) { completeLogin(input: $input) { token } }'
  await graphql(url, complete, { input: { challenge: recoveryCode, recoveryCode: challenge } })
  await graphql(url, complete, { input: { challenge, recoveryCode: totpSecret } })
  const completing = await graphql(
    url,
    complete,
    { input: { challenge, recoveryCode } },
    undefined,
    names('second session'),
  )
  noteToken('second session', completing.data.completeLogin.token)
  await graphql(url, complete, { input: { challenge, recoveryCode } })

  // An issuer of single sign-on, which does not respond.
  const issuerSecret = secret('secret of an issuer', random('issuer-'))
  const issuerInput = { issuer: 'http://127.0.0.1:1', clientId: 'stowage', clientSecret: issuerSecret }
  const addIssuer = 'mutation ($input: CreateIssuerInput!) { createIssuer(input: $input) { id name clientId } }'
  const added = (await graphql(url, addIssuer, { input: { name: 'Issuer', ...issuerInput } }, owner)).data.createIssuer
  await graphql(url, addIssuer, { input: { name: issuerSecret, ...issuerInput, issuer: issuerSecret } }, owner)
  const testIssuer = 'mutation ($input: TestIssuerInput!) { testIssuer(input: $input) }'
  const tested = await graphql(url, testIssuer, { input: issuerInput }, owner)
  await ask(tested.data.testIssuer)
  await ask(`${url}/auth/oidc/start?issuer=${added.id}`)
  await graphql(url, '{ issuers { id name issuer clientId } }', {}, owner)

  // Keys.
  const create =
    'mutation ($input: CreateApiKeyInput!) { createApiKey(input: $input) { key apiKey { id displayPrefix } } }'
  const made = (
    await graphql(url, create, { input: { name: 'k', scopes: ['admin'] } }, owner, ['key', 'rest of the key'])
  ).data.createApiKey
  const key = secret('key', made.key)
  secret('rest of the key', key.slice(12))
  const lost = (await graphql(url, create, { input: { name: 'l', scopes: ['read'] } }, owner, ['revoked key'])).data
    .createApiKey
  secret('revoked key', lost.key)
  await graphql(url, 'mutation ($id: ID!) { revokeApiKey(id: $id) { state } }', { id: lost.apiKey.id }, owner)
  await graphql(url, 'mutation ($id: ID!) { revokeApiKey(id: $id) { state } }', { id: key }, owner)
  await graphql(url, 'query ($id: ID!) { folder(providerId: $id) { id } }', { id: key }, owner)

  // A connected application.
  const post = async (path: string, body: object | URLSearchParams, shows: string[] = []) => {
    const isForm = body instanceof URLSearchParams
    const headers = { 'content-type': isForm ? 'application/x-www-form-urlencoded' : 'application/json' }
    const answer = await ask(`${url}/oauth/${path}`, {
      method: 'POST',
      headers,
      body: isForm ? `${body}` : JSON.stringify(body),
      shows,
    })
    return answer.body === '' ? null : JSON.parse(answer.body)
  }
  const redirect = 'http://127.0.0.1/callback'
  const { client_id } = await post('register', { redirect_uris: [redirect] })
  const verifier = secret(
    'verifier of an application',
    random('verifier-')
      .replace(/[^\w-]/g, 'x')
      .padEnd(43, 'x'),
  )
  const request = new URLSearchParams({
    response_type: 'code',
    client_id,
    redirect_uri: redirect,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  })
  const approve = 'mutation ($input: ApproveConnectionInput!) { approveConnection(input: $input) { returnUrl } }'
  const rights = { query: `${request}`, scopes: ['read'], expiresAt: '2099-01-01T00:00:00Z' }
  const approved = await graphql(url, approve, { input: rights }, owner, ['code of an application'])
  const { searchParams } = new URL(approved.data.approveConnection.returnUrl)
  const code = secret('code of an application', searchParams.get('code') ?? '')
  await ask(`${url}/oauth/authorize?${request}&code=${code}`)
  const tokenNames = (n: number) => [`access token of an application ${n}`, `refresh token of an application ${n}`]
  const grant = { grant_type: 'authorization_code', code, code_verifier: verifier, client_id }
  await post('token', new URLSearchParams({ ...grant, redirect_uri: code }))
  let refresh = ''
  for (const n of [1, 2]) {
    const form = n === 1 ? grant : { grant_type: 'refresh_token', refresh_token: refresh, client_id }
    const issued = await post('token', new URLSearchParams(form), tokenNames(n))
    const access = secret(`access token of an application ${n}`, issued.access_token)
    const old = refresh
    refresh = secret(`refresh token of an application ${n}`, issued.refresh_token)
    await graphql(url, '{ me { id } }', {}, access)
    await graphql(url, '{ me { id } }', {}, `${access}0`)
    await ask(`${url}/api/${access}?${access}=${refresh}`, { token: refresh })
    if (n === 2)
      await post('token', new URLSearchParams({ grant_type: 'refresh_token', refresh_token: old, client_id }))
  }
  await post('token', new URLSearchParams(grant))
  await post('revoke', new URLSearchParams({ token: refresh, client_id: refresh }))
  await graphql(
    url,
    'query ($query: String!) { consentRequest(query: $query) { name } }',
    { query: `client_id=${code}` },
    owner,
  )

  // The console's cookie.
  const kept = await ask(`${url}/console/session`, { method: 'POST', token: owner, shows: names('session') })
  const cookie = kept.headers.get('set-cookie')?.split(';', 1)[0] ?? ''
  t.ok(cookie.includes(owner))
  await ask(`${url}/graphql?query={me{id}}`, { headers: { cookie, 'x-stowage-console': '1' } })
  await ask(`${url}/graphql?query={me{id}}`, { headers: { cookie: `${cookie}x`, 'x-stowage-console': '1' } })
  await ask(`${url}/console/session`, { method: 'DELETE', headers: { cookie } })

  // Providers.
  const connect = async (type: string, config: object, shows?: string[]) =>
    (await graphql(url, connectDocument, { input: { type, name: type, config } }, owner, shows)).data?.connectProvider
  const update = (id: string, config: object) =>
    graphql(
      url,
      'mutation ($input: UpdateProviderInput!) { updateProvider(input: $input) { config statusReason } }',
      { input: { id, config } },
      owner,
    )
  const test = (id: string) =>
    graphql(url, 'mutation ($id: ID!) { testProvider(id: $id) { status statusReason config } }', { id }, owner)
  const local = (await connect('local', { root: files })).provider.id
  const encryption = {
    password: secret('password of an encrypted storage', random('vault-password-')),
    salt: secret('salt of an encrypted storage', random('vault-salt-')),
  }
  const vault = { type: 'memory', name: 'vault', config: {}, encryption }
  const { id: vaultId } = (await graphql(url, connectDocument, { input: vault }, owner)).data.connectProvider.provider
  await test(vaultId)
  await graphql(url, connectDocument, { input: { ...vault, encryption: { ...encryption, suffix: 'wrong' } } }, owner)

  const sharePassword = secret('password of a share', random('share-password-'))
  const wrongSharePassword = secret('wrong password of a share', random('wrong-share-password-'))
  const shareDocument =
    'mutation ($input: CreateShareInput!) { createShare(input: $input) { url share { id url hasPassword } } }'
  const input = { providerId: local, path: '/', kind: 'DROP', password: sharePassword }
  const link: string = (await graphql(url, shareDocument, { input }, owner, ['share link'])).data.createShare.url
  const shareToken = secret('share link', link.slice(link.lastIndexOf('/') + 1))
  for (const password of [sharePassword, wrongSharePassword]) {
    const at = `${url}/api/share/${shareToken}`
    const headers = { 'stowage-share-password': password }
    await ask(at, { headers })
    await ask(`${at}x`, { headers })
    await ask(at, { headers, token: shareToken })
    await ask(`${at}/content?path=/`, { headers })
    const cookie = await ask(`${at}/unlock`, { method: 'POST', headers, shows: ['share link', 'proof of a share'] })
    const proof = /stowage_share=([^;]+)/.exec(cookie.headers.get('set-cookie') ?? '')?.[1]
    if (proof) await ask(at, { headers: { cookie: `stowage_share=${secret('proof of a share', proof)}` } })
    await ask(`${at}/files?path=/dropped`, { method: 'POST', headers, body: 'x' })
    const metadata = { 'upload-metadata': `path ${Buffer.from('/tus').toString('base64')}`, 'upload-length': '1' }
    await ask(`${at}/uploads`, {
      method: 'POST',
      headers: { ...headers, 'tus-resumable': '1.0.0', ...metadata },
      shows: ['share link'],
    })
  }
  await graphql(url, '{ shares { nodes { url } } }', {}, owner, ['share link'])

  const s3Secret = secret('S3 secret key', s3.secretAccessKey.length >= 16 ? s3.secretAccessKey : random('s3-'))
  const bucket = {
    bucket: await s3.newBucket(),
    endpoint: s3Proxy.endpoint,
    accessKeyId: s3.accessKeyId,
    secretAccessKey: s3.secretAccessKey,
  }
  t.ok(s3Secret)
  const s3Id = (await connect('s3', bucket)).provider.id
  const xml = (sent: string) =>
    `<?xml version="1.0"?><Error><Code>AccessDenied</Code><Message>You sent ${sent.replace(/[<&]/g, '')}</Message></Error>`
  const s3Token = secret('S3 session token', random('session-token-'))
  const wrongKey = secret('wrong S3 secret key', random('wrong-s3-'))
  await connect('s3', { ...bucket, secretAccessKey: wrongKey })
  await connect('s3', { ...bucket, secretAccessKey: [wrongKey] })
  await connect('s3', { ...bucket, endpoint: `http://user:${wrongKey}@127.0.0.1` })
  await connect('s3', { ...bucket, secretKey: wrongKey, extra: { wrongKey } })
  await connect('s3', { ...bucket, endpoint: 'http://127.0.0.1:1', sessionToken: s3Token })
  for (const status of extent({ gate: [403], nightly: [403, 500, 200] })) {
    s3Proxy.fault = () => ({ answer: { status, body: xml } })
    await connect('s3', { ...bucket, sessionToken: s3Token })
    await update(s3Id, { sessionToken: s3Token })
    await test(s3Id)
  }
  s3Proxy.fault = undefined

  const { clientId, clientSecret } = fake.oauth
  secret('OAuth client secret', clientSecret)
  const drive = await connect('drive', { clientId, clientSecret }, ['OAuth ticket of a provider'])
  const driveId = drive.provider.id
  /** Consents up to the vendor's redirect. Resolves with the address to continue at. */
  const consent = async (name: string, address: string) => {
    secret(`OAuth ticket ${name}`, new URL(address).searchParams.get('ticket') ?? '')
    const page = await ask(address, {
      shows: ['ticket', 'state', 'browser key'].map(what => `OAuth ${what} ${name}`),
    })
    const cookie = page.headers.get('set-cookie')?.split(';', 1)[0] ?? ''
    secret(`OAuth browser key ${name}`, cookie.split('=')[1] ?? '')
    const vendorUrl = /<a href="([^"]+)"/.exec(page.body)?.[1]?.replaceAll('&#38;', '&') ?? ''
    secret(`OAuth state ${name}`, new URL(vendorUrl).searchParams.get('state') ?? '')
    const answer = await fetch(vendorUrl, { redirect: 'manual' })
    const { search, searchParams } = new URL(answer.headers.get('location') ?? '')
    secret(`OAuth code ${name}`, searchParams.get('code') ?? '')
    return () => ask(`${url}/webhook/callback${search}`, { headers: { cookie } })
  }
  const echo = (sent: string) => {
    const seen = { message: `You sent ${sent}`, errors: [{ reason: 'backendError', message: sent }] }
    return JSON.stringify({ error: { code: 500, ...seen }, error_description: sent })
  }
  const authorize = 'mutation ($id: ID!) { authorizeProvider(id: $id) { authorizationUrl } }'
  const json = { 'content-type': 'application/json' }
  for (const [n, status] of [400, 401, 500].entries()) {
    const asked = await graphql(url, authorize, { id: driveId }, owner, [`OAuth ticket ${n}`])
    const back = await consent(`${n}`, asked.data.authorizeProvider.authorizationUrl)
    tokens.fault = () => ({
      answer: {
        status,
        headers: json,
        body: sent => {
          const verifier = /code_verifier=([\w.~-]+)/.exec(sent)?.[1] ?? ''
          secret(`code verifier ${n}`, verifier)
          return n === 0 ? JSON.stringify({ error: 'invalid_request', error_description: sent }) : echo(sent)
        },
      },
    })
    await back()
    // Use the state a second time.
    await back()
  }
  tokens.fault = undefined
  const back = await consent('of a provider', drive.authorizationUrl)
  // The fake's tokens expire so early that each use refreshes them.
  fake.oauth.tokenLifetime = 30_000
  const connected = await back()
  t.equal(connected.status, 200)
  const noteAccess = () => {
    const used = new Set(fake.faults.log.flatMap(({ token }) => token ?? []))
    for (const [n, token] of [...used].slice(-20).entries()) secret(`access token ${secrets.size}-${n}`, token)
  }

  const account = fake.oauth.addServiceAccount('robot@example.com')
  const pem: string = JSON.parse(account).private_key
  secret('service account key', account)
  for (const n of [3, 10, 20]) secret(`line ${n} of the private key`, pem.split('\n')[n] ?? '')
  await connect('drive', { serviceAccountKey: account.slice(0, -20) })
  await connect('drive', { serviceAccountKey: account.replaceAll('PRIVATE', 'PRIVATE ') })
  tokens.fault = () => ({ answer: { status: 400, headers: json, body: echo } })
  await connect('drive', { serviceAccountKey: account })
  tokens.fault = undefined
  const robot = (await connect('drive', { serviceAccountKey: account }))?.provider.id
  t.ok(robot, 'the service account works')

  const leakyPassword = secret('password of the careless adapter', random('leaky pass/'))
  const leaky = (await connect('leaky', { password: leakyPassword })).provider.id
  for (const name of ['warn', 'throw', 'cause', 'object', 'text', 'encoded']) {
    await graphql(
      url,
      'query ($id: ID!, $path: String!) { file(providerId: $id, path: $path) { size } }',
      { id: leaky, path: `/${name}` },
      owner,
    )
    await ask(`${url}/api/download/proxy?providerId=${leaky}&path=/${name}`, { token: owner })
  }

  // Valid and invalid requests for files.
  const work = async (id: string, what: string) => {
    const location = `providerId=${id}&path=/${what}.txt`
    const idempotencyKey = secret(`idempotency key ${what}`, random('idem-').replace(/[^\w-]/g, 'x'))
    for (const headers of [{ 'idempotency-key': idempotencyKey }, { 'idempotency-key': idempotencyKey }, {}]) {
      await ask(`${url}/api/upload/proxy?${location}`, { method: 'POST', token: key, headers, body: what })
    }
    await ask(`${url}/api/download/proxy?${location}`, { token: owner })
    await ask(`${url}/api/download/proxy?${location}`, { token: owner, headers: { range: 'bytes=1-2' } })
    await ask(`${url}/api/download/proxy?providerId=${id}&path=/`, { token: owner })
    const files = await graphql(
      url,
      `query ($id: ID!, $path: String!) { folder(providerId: $id) { entries { nodes { name path } pageInfo { endCursor } } }
        file(providerId: $id, path: $path) { size downloadUrl } }`,
      { id, path: `/${what}.txt` },
      owner,
      [`ticket ${what}`],
    )
    const link = files.data?.file?.downloadUrl
    if (typeof link === 'string') {
      const ticket = secret(`ticket ${what}`, new URL(link).searchParams.get('ticket') ?? '')
      await ask(`${url}/api/download/proxy?ticket=${ticket}`)
      await ask(`${url}/api/download/proxy?%74icket=${ticket}`)
      await ask(`${url}/api/download/proxy?ticket=${ticket}x`)
      await ask(`${url}/api/download/proxy?ticket=${ticket}&ticket=${ticket}`)
    }
    for (const field of [
      'createFolder(input: { providerId: $id, path: "/f" }) { id }',
      `copy(input: { providerId: $id, path: "/${what}.txt", toPath: "/f/c.txt" }) { path }`,
      `move(input: { providerId: $id, path: "/f/c.txt", toPath: "/f/d.txt" }) { path }`,
      'rename(input: { providerId: $id, path: "/f/d.txt", name: "e.txt" }) { path }',
      'delete(input: { providerId: $id, path: "/f", recursive: true }) { deletedPath }',
    ]) {
      await graphql(url, `mutation ($id: ID!) { ${field} }`, { id }, owner)
    }
  }
  for (const [what, id] of Object.entries({ local, s3: s3Id, drive: driveId, robot, leaky })) await work(id, what)
  noteAccess()
  for (const status of extent({ gate: [500], nightly: [401, 500] })) {
    s3Proxy.fault = () => ({ answer: { status, body: xml } })
    api.fault = () => ({ answer: { status, headers: json, body: echo } })
    await Promise.all(
      Object.entries({ s3: s3Id, drive: driveId, robot }).map(([what, id]) => work(id, `${what}-${status}`)),
    )
    await test(driveId)
  }
  s3Proxy.fault = undefined
  api.fault = undefined
  fake.oauth.expireAccessTokens()
  tokens.fault = () => ({ answer: { status: 500, headers: json, body: echo } })
  await ask(`${url}/api/download/proxy?providerId=${driveId}&path=/drive.txt`, { token: owner })
  await test(driveId)
  tokens.fault = undefined
  noteAccess()
  await graphql(url, everythingDocument, {}, owner)

  // Requests with secrets in wrong places.
  await ask(`${url}/graphiql?key=${key}`)
  for (const value of extent({ gate: [key, password], nightly: [key, owner, password] })) {
    const encoded = encodeURIComponent(value)
    for (const path of [
      `/nowhere/${encoded}`,
      `/api/upload/proxy/${encoded}`,
      `/api/download/proxy?token=${encoded}`,
      `/api/download/proxy?providerId=${encoded}&path=/x`,
      `/api/download/proxy?${encoded}`,
      `/healthz?access_token=${encoded}`,
      `/webhook/callback?code=${encoded}&state=${encoded}`,
      `/webhook/callback?error=${encoded}&state=x`,
      `/graphql?query=${encodeURIComponent(`{ login(password: "${value}") }`)}`,
    ]) {
      // A password in a path looks like a name.
      if (value === password && /nowhere|proxy\//.test(path)) continue
      await ask(url + path)
      await ask(url + path, { token: owner })
    }
    const headers = { 'content-type': 'application/json' }
    const quoted = JSON.stringify(value)
    for (const body of [
      `{"password":${quoted}`,
      `[${quoted}]`,
      quoted,
      `{"query":{"password":${quoted}}}`,
      `{"query":"{me}","variables":${quoted}}`,
    ]) {
      await ask(`${url}/graphql`, { method: 'POST', headers, body })
    }
    const ascii = encodeURIComponent(value)
    for (const authorization of [
      ascii,
      `Basic ${ascii}`,
      `Bearer ${ascii} ${ascii}`,
      `Bearer ${ascii}x`,
      `Token ${ascii}`,
    ]) {
      await ask(`${url}/graphql?query={me{id}}`, { headers: { authorization } })
    }
    await ask(`${url}/graphql`, { method: 'POST', headers: { 'content-type': `text/${ascii}` }, body: value })
    await raw(url, `GET / HTTP/1.1\r\nAuthorization: Bearer ${ascii}\r\nbad header ${ascii}\r\n\r\n`)
    await raw(url, `${ascii}\r\n\r\n`)
    await ask(`${url}/api/upload/proxy`, {
      method: 'POST',
      token: owner,
      headers: { 'content-type': 'multipart/form-data; boundary=b' },
      body: `--b\r\nContent-Disposition: form-data; name="${ascii}"\r\n\r\n${value}\r\n--b--\r\n`,
    })
  }
  await graphql(url, 'mutation { logout }', {}, again)
  await graphql(url, '{ me { id } }', {}, again)
  await graphql(url, '{ me { id } }', {}, lost.key)

  // Search the current database.
  const database = new pg.Client({ connectionString })
  await database.connect()
  t.teardown(() => database.end())
  const { rows: tables } = await database.query("select tablename from pg_tables where schemaname = 'public'")
  t.ok(tables.length >= 12)
  const readTables = async () => {
    for (const { tablename } of tables) {
      const { rows } = await database.query(`select row_to_json(r)::text as row from "${tablename}" r`)
      texts.push({ what: `table ${tablename}`, text: rows.map(({ row }) => row).join('\n'), shows: new Set() })
    }
  }
  t.equal(await program.stop(), 0)
  await readTables()

  await atNight(t, 'a server with another secret, and a crash', async t => {
    const environment = { ...options.environment, STOWAGE_SECRET: secret('another STOWAGE_SECRET', random('other-')) }
    const other = await startProgram(t, { ...options, environment })
    programs.push(other)
    await graphql(other.url, '{ me { id } }', {}, owner)
    await graphql(other.url, everythingDocument, {}, key)
    for (const id of [s3Id, driveId, leaky]) {
      await graphql(other.url, 'mutation ($id: ID!) { testProvider(id: $id) { status statusReason } }', { id }, key)
    }
    const input = { type: 'leaky', name: 'leaky', config: { password: leakyPassword } }
    const { data } = await graphql(other.url, connectDocument, { input }, key)
    const crashing = { id: data.connectProvider.provider.id, path: '/crash' }
    await graphql(
      other.url,
      'query ($id: ID!, $path: String!) { file(providerId: $id, path: $path) { size } }',
      crashing,
      key,
    ).catch(() => {})
    t.equal(await other.stop(), 1, 'the server exited by itself')
    t.match(other.output(), /"level":60.*"type":"Error"/, 'the log says why')
  })
  await readTables()

  for (const [n, { output }] of programs.entries()) {
    texts.push(
      ...output()
        .split('\n')
        .map(line => ({ what: `line of program ${n}: ${line}`, text: line, shows: new Set<string>() })),
    )
  }
  const fault = program.output()
  t.match(fault, /You sent/, 'the log has messages in which back ends echo requests')
  t.match(fault, /Cannot log in with .{1,3}\[redacted\]/, 'a secret that is only known by its value is redacted')
  t.comment(
    `${secrets.size} secrets, ${texts.length} texts of ${texts.reduce((sum, { text }) => sum + text.length, 0)} characters`,
  )
  const found = makeSearch()
  const missed = [...secrets].flatMap(([name, forms]) => forms.filter(form => !found(`x${form}x`).includes(name)))
  t.same(missed, [], 'the search finds each form')
  let leaks = 0
  for (const { what, text, shows } of texts) {
    const names = found(text).filter(name => !shows.has(name))
    leaks += names.length
    if (names.length > 0 && leaks < 40) t.fail(`${what} tells ${names.join(', ')}`, { text: text.slice(0, 3000) })
  }
  t.equal(leaks, 0)
})
