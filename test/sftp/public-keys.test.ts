/** Public keys of SSH, which belong to API keys. */
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import ssh2 from 'ssh2'
import t from 'tap'
import { generateSshKeys } from '../../src/services/host-keys.ts'
import { extent, isNight } from '../support/extent.ts'
import { connectSsh, RawSftp, SftpClient, startWithSftp } from './server.ts'

const create = `mutation ($input: CreateApiKeyInput!) {
  createApiKey(input: $input) { key apiKey { id sshFingerprint } } }`
const revoke = 'mutation ($id: ID!) { revokeApiKey(id: $id) { id } }'

t.test('a public key opens SFTP with the rights of its API key', async t => {
  const { app, token, root, providerId, endpoint } = await startWithSftp(t)
  const { generateKeyPairSync } = ssh2.utils
  const pairs = {
    ed25519: await generateSshKeys('ssh-ed25519'),
    ...(isNight && {
      ecdsa: generateKeyPairSync('ecdsa', { bits: 384 }),
      rsa: generateKeyPairSync('rsa', { bits: 2048 }),
    }),
  }
  const register = async (publicKey: string, more: object = {}) => {
    const input = { name: 'ssh', scopes: ['write'], publicKey, ...more }
    return (await app.ask(create, { input }, token)).createApiKey
  }
  const username = 'Owner@example.com'
  const open = async (privateKey: string, as = username) =>
    new SftpClient(await RawSftp.start(await connectSsh(t, endpoint, { privateKey, username: as })))
  const refused = (privateKey: string, as = username) =>
    t.rejects(connectSsh(t, endpoint, { privateKey, username: as }), /authentication methods failed/)

  await refused(pairs.ed25519.private)
  for (const [name, pair] of Object.entries(pairs)) {
    const { apiKey } = await register(`${pair.public} somebody@laptop\n`)
    t.match(apiKey.sshFingerprint, /^SHA256:[\w+/]{43}$/)
    await (await open(pair.private)).put(`/files/${name}`, Buffer.from(name))
    t.equal(await readFile(join(root, name), 'utf8'), name)
    await t.rejects(register(pair.public), /has this public key already/)
    await app.ask(revoke, { id: apiKey.id }, token)
    await refused(pair.private)
  }

  // Somebody else registers the same public key: the user name says whose rights it gives.
  const { ed25519 } = pairs
  const other = await app.register('other@example.com')
  const update = 'mutation ($input: UpdateMemberInput!) { updateMember(input: $input) { role } }'
  await app.ask(update, { input: { userId: other.id, role: 'EDITOR' } }, token)
  const theirs = { name: 'ssh', scopes: ['read'], publicKey: ed25519.public }
  await app.ask(create, { input: theirs }, other.token)
  await refused(ed25519.private)
  await refused(ed25519.private, 'anybody')
  await refused(ed25519.private, 'x'.repeat(2000))
  const limits = { scopes: ['read'], providerAccess: { restrictions: [{ providerId, basePath: '/inside' }] } }
  await register(ed25519.public, limits)
  await mkdir(join(root, 'inside'))
  const limited = await open(ed25519.private)
  await t.rejects(limited.open('/files/inside/x', 2 | 8), /SCOPE_REQUIRED/)
  await t.rejects(limited.open('/files/ed25519', 1), /OUTSIDE_BASE_PATH/)
  const elsewhere = await open(ed25519.private, 'other@example.com')
  await t.rejects(elsewhere.open('/files/inside/x', 1), /NOT_FOUND|PROVIDER_NOT_ALLOWED/)

  const wrong = {
    'a private key': ed25519.private,
    'a certificate': 'ssh-ed25519-cert-v01@openssh.com AAAAIHNzaC1lZDI1NTE5LWNlcnQtdjAxQG9wZW5zc2guY29t',
    'a short RSA key': generateKeyPairSync('rsa', { bits: 1024 }).public,
    'another type': 'ssh-dss AAAAB3NzaC1kc3MAAACBAP',
    nothing: '',
    'a broken line': 'ssh-ed25519 AAAA',
  }
  for (const [what, publicKey] of Object.entries(wrong)) {
    await t.rejects(register(publicKey), /INVALID_INPUT/, what)
  }
  t.notMatch(app.logged(), ed25519.private.split('\n')[1] ?? 'x')
})

t.test('a signature of another key is refused', async t => {
  const { app, token, endpoint } = await startWithSftp(t)
  const [known, other] = [await generateSshKeys('ssh-ed25519'), await generateSshKeys('ssh-ed25519')]
  await app.ask(create, { input: { name: 'ssh', scopes: ['read'], publicKey: known.public } }, token)
  // A client that names one key and signs with another.
  const [named, signer] = [known.private, other.private].map(text => {
    const parsed = ssh2.utils.parseKey(text)
    if (parsed instanceof Error) throw parsed
    return parsed
  })
  if (!named || !signer) throw new Error('No keys')
  class Forger extends ssh2.BaseAgent<typeof named & object> {
    getIdentities(done: (error?: Error, keys?: ssh2.ParsedKey[]) => void): void {
      done(undefined, named ? [named] : [])
    }
    sign(_key: unknown, data: Buffer, options: unknown, done?: (error?: Error, signature?: Buffer) => void): void {
      const finish = typeof options === 'function' ? (options as typeof done) : done
      finish?.(undefined, signer?.sign(data))
    }
  }
  const username = 'owner@example.com'
  await t.rejects(connectSsh(t, endpoint, { username, agent: new Forger() } as never), /authentication methods failed/)
  await connectSsh(t, endpoint, { username, privateKey: known.private })
})

t.test('every generated key can be parsed', async t => {
  for (let index = 0; index < extent({ gate: 50, nightly: 600 }); index += 1) {
    const pair = await generateSshKeys('ssh-ed25519')
    const wrong = [pair.private, pair.public].filter(text => ssh2.utils.parseKey(text) instanceof Error)
    if (wrong.length > 0) t.fail('a key that cannot be parsed', { found: wrong })
  }
})
