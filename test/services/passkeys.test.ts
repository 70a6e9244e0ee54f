import t from 'tap'
import { outdateSessions, startApp, type TestApp } from '../support/app.ts'
import { Authenticator, type Ceremony } from '../support/authenticator.ts'
import { type GraphqlResult, password } from '../support/client.ts'
import { atNight } from '../support/extent.ts'

const login = 'mutation ($input: LoginInput!) { login(input: $input) { token } }'
const complete = 'mutation ($input: CompleteLoginInput!) { completeLogin(input: $input) { token } }'
const signIn = 'mutation ($passkey: JSON!) { signInWithPasskey(passkey: $passkey) { token user { email } } }'
const confirm = 'mutation ($input: ConfirmIdentityInput!) { confirmIdentity(input: $input) }'
const add = 'mutation ($input: AddPasskeyInput!) { addPasskey(input: $input) { passkey { id name } recoveryCodes } }'

const reasonOf = ({ errors }: GraphqlResult) => errors[0]?.extensions.reason ?? 'none'
const settings = { publicUrl: 'https://files.example.org' }
const here: Ceremony = { origin: settings.publicUrl, rpId: 'files.example.org', isVerified: true }
/** What a browser answers on other sites, and without the person. */
const elsewhere: Record<string, Partial<Ceremony>> = {
  'of another origin': { origin: 'https://files.example.com' },
  'of another port': { origin: 'https://files.example.org:8443' },
  'of another relying party': { rpId: 'example.org' },
  'without the person': { isVerified: false },
}

const creation = async (app: TestApp, token: string) => (await app.ask('{ passkeySetup }', {}, token)).passkeySetup
const request = async (app: TestApp) => (await app.ask('{ passkeySignIn }')).passkeySignIn

/** Adds a passkey and returns its authenticator, id and the recovery codes. */
async function addPasskey(app: TestApp, token: string, name = 'a key') {
  const authenticator = new Authenticator()
  const passkey = authenticator.create(await creation(app, token), here)
  const { addPasskey } = await app.ask(add, { input: { name, passkey } }, token)
  return { authenticator, id: String(addPasskey.passkey.id), recoveryCodes: addPasskey.recoveryCodes as string[] }
}

t.test('a passkey signs in without a password, and each answer works once, for its question alone', async t => {
  const app = await startApp(t, { settings })
  const { token } = await app.register('owner@example.org')
  const options = await creation(app, token)
  t.match(options, {
    rp: { id: 'files.example.org' },
    user: { name: 'owner@example.org' },
    attestation: 'none',
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
  })
  for (const [what, ceremony] of Object.entries(elsewhere)) {
    const passkey = new Authenticator().create(options, { ...here, ...ceremony })
    t.equal(reasonOf(await app.graphql(add, { input: { name: 'a key', passkey } }, token)), 'WRONG_PASSKEY', what)
  }
  const { authenticator, recoveryCodes } = await addPasskey(app, token)
  t.equal(recoveryCodes.length, 10)
  t.match((await creation(app, token)).excludeCredentials, [{ id: authenticator.id.toString('base64url') }])

  for (const [what, ceremony] of Object.entries(elsewhere)) {
    const passkey = authenticator.get(await request(app), { ...here, ...ceremony })
    t.equal(reasonOf(await app.graphql(signIn, { passkey })), 'WRONG_PASSKEY', what)
  }
  const question = await request(app)
  t.same(question.allowCredentials, [], 'reveals no account')
  const passkey = authenticator.get(question, here)
  const { signInWithPasskey } = await app.ask(signIn, { passkey })
  t.equal(signInWithPasskey.user.email, 'owner@example.org')
  const { sessions } = await app.ask('{ sessions { current factors } }', {}, signInWithPasskey.token)
  t.match(sessions, [{ current: true, factors: ['PASSKEY'] }, { factors: ['PASSWORD', 'PASSKEY'] }])
  t.equal(reasonOf(await app.graphql(signIn, { passkey })), 'WRONG_PASSKEY', 'a replayed answer')
  const again = authenticator.get(question, here)
  t.equal(reasonOf(await app.graphql(signIn, { passkey: again })), 'WRONG_PASSKEY', 'a question that was answered')

  authenticator.counter = 0
  const back = authenticator.get(await request(app), here)
  t.equal(reasonOf(await app.graphql(signIn, { passkey: back })), 'WRONG_PASSKEY', 'a copy, whose counter goes back')
  authenticator.counter = 100
  const own = authenticator.get({ challenge: Buffer.from('a question of my own').toString('base64url') }, here)
  t.equal(reasonOf(await app.graphql(signIn, { passkey: own })), 'WRONG_PASSKEY', 'a question that nobody has asked')
  const other = { ...authenticator.get(await request(app), here), id: new Authenticator().id.toString('base64url') }
  t.equal(reasonOf(await app.graphql(signIn, { passkey: other })), 'WRONG_PASSKEY', 'an unknown passkey')
  const forged = new Authenticator().get(await request(app), here)
  const named = { ...forged, id: authenticator.id.toString('base64url'), rawId: authenticator.id.toString('base64url') }
  t.equal(reasonOf(await app.graphql(signIn, { passkey: named })), 'WRONG_PASSKEY', 'a signature of another key')
  const malformed = [{}, { id: 'a' }, { id: 5, response: {} }, { id: 'ä', response: {} }, 'text', null]
  for (const each of malformed) t.match(reasonOf(await app.graphql(signIn, { passkey: each })), /^INVALID_/)
})

atNight(t, 'a passkey completes a sign-in with a password, for its member alone', async t => {
  const app = await startApp(t, { settings })
  const owner = await app.register('owner@example.org')
  const other = await app.register('other@example.org')
  const mine = await addPasskey(app, owner.token)
  const theirs = await addPasskey(app, other.token)
  const ask = async (email: string) => {
    const { errors } = await app.graphql(login, { input: { email, password } })
    const extensions: unknown = errors[0]?.extensions
    return extensions as { challenge: string; methods: string[]; passkeyOptions: { challenge: string } }
  }
  const asked = await ask('owner@example.org')
  t.match(asked, {
    reason: 'SECOND_FACTOR_REQUIRED',
    methods: ['PASSKEY', 'RECOVERY_CODE'],
    passkeyOptions: { allowCredentials: [{ id: mine.authenticator.id.toString('base64url') }] },
  })
  const { challenge } = asked
  const send = (passkey: object) => app.graphql(complete, { input: { challenge, passkey } })
  const foreign = theirs.authenticator.get(asked.passkeyOptions, here)
  t.equal(reasonOf(await send(foreign)), 'WRONG_PASSKEY', 'the passkey of another member')
  const { passkeyOptions } = await ask('other@example.org')
  t.equal(reasonOf(await send(mine.authenticator.get(passkeyOptions, here))), 'WRONG_PASSKEY', 'their question')
  const general = mine.authenticator.get(await request(app), here)
  t.equal(reasonOf(await send(general)), 'WRONG_PASSKEY', 'the question of a sign-in without a name')
  const answer = mine.authenticator.get(asked.passkeyOptions, here)
  t.equal(reasonOf(await app.graphql(signIn, { passkey: answer })), 'WRONG_PASSKEY', 'the answer in another place')
  t.equal(reasonOf(await send(mine.authenticator.get(asked.passkeyOptions, here))), 'none')
})

atNight(t, 'a passkey confirms who uses its session, and no other', async t => {
  const app = await startApp(t, { settings })
  const { token } = await app.register('owner@example.org')
  const { authenticator, id } = await addPasskey(app, token, 'the first')
  const second = (await app.ask(signIn, { passkey: authenticator.get(await request(app), here) })).signInWithPasskey
  await outdateSessions(app)
  const needs = '{ confirmation { confirmedUntil methods passkeyOptions } }'
  const { confirmation } = await app.ask(needs, {}, token)
  t.match(confirmation, { confirmedUntil: null, methods: ['PASSKEY', 'RECOVERY_CODE'] })
  const passkey = authenticator.get(confirmation.passkeyOptions, here)
  t.equal(reasonOf(await app.graphql(confirm, { input: { passkey } }, second.token)), 'WRONG_PASSKEY')
  const remove = 'mutation ($id: ID!) { removePasskey(id: $id) }'
  t.equal(reasonOf(await app.graphql(remove, { id }, token)), 'CONFIRMATION_REQUIRED')
  t.equal(reasonOf(await app.graphql(confirm, { input: { passkey } }, token)), 'none')
  const rename = 'mutation ($id: ID!, $name: String!) { renamePasskey(id: $id, name: $name) { name lastUsedAt } }'
  const { renamePasskey } = await app.ask(rename, { id, name: ' my laptop ' }, token)
  t.match(renamePasskey, { name: 'my laptop', lastUsedAt: /^20/ })
  const member = await app.register('member@example.org')
  t.equal(reasonOf(await app.graphql(remove, { id }, member.token)), 'NOT_FOUND', 'the passkey of somebody else')
  await app.ask(remove, { id }, token)
  const removed = authenticator.get(await request(app), here)
  t.equal(reasonOf(await app.graphql(signIn, { passkey: removed })), 'WRONG_PASSKEY', 'a removed passkey')
  t.equal(reasonOf(await app.graphql(login, { input: { email: 'owner@example.org', password } })), 'none')
})

t.test('while passwords are for some owners only, a passkey signs in nobody else', async t => {
  const oidc = { issuer: 'https://id.example.org', clientId: 'stowage', clientSecret: 'a secret', groupsClaim: null }
  const app = await startApp(t, { settings: { ...settings, oidc } })
  const owner = await app.register('owner@example.org')
  const ann = await app.register('ann@example.org')
  const [ofOwner, ofAnn] = [await addPasskey(app, owner.token), await addPasskey(app, ann.token)]
  const signInAs = async ({ authenticator }: typeof ofAnn) =>
    app.graphql(signIn, { passkey: authenticator.get(await request(app), here) })
  const before = await signInAs(ofAnn)
  t.equal(reasonOf(before), 'none')
  const update = 'mutation ($input: UpdateWorkspaceInput!) { updateWorkspace(input: $input) { id } }'
  await app.ask(update, { input: { singleSignOnOnly: true, passwordOwners: [owner.id] } }, owner.token)
  t.equal((await app.graphql('{ me { id } }', {}, before.data?.signInWithPasskey.token)).status, 401)
  t.equal(reasonOf(await signInAs(ofAnn)), 'SINGLE_SIGN_ON_REQUIRED')
  t.equal(reasonOf(await signInAs(ofOwner)), 'none')

  const { errors } = await app.graphql(login, { input: { email: 'ann@example.org', password } })
  const challenge = errors[0]?.extensions.challenge
  const passkey = ofAnn.authenticator.get(errors[0]?.extensions.passkeyOptions as { challenge: string }, here)
  t.equal(reasonOf(await app.graphql(complete, { input: { challenge, passkey } })), 'SINGLE_SIGN_ON_REQUIRED')
})
