/** Running transfers are cut when their rights end, on whichever replica that happens. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdir, readdir, truncate, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { type CompiledQuery, sql } from 'kysely'
import t, { type Test } from 'tap'
import { memoryAdapter } from '../../adapters/backends/memory/index.ts'
import { type AdapterDefinition, apiVersion } from '../../adapters/contract.ts'
import { builtInAdapters } from '../../adapters/index.ts'
import { changeRights } from '../../src/db/rights.ts'
import { startApp, type TestApp } from '../support/app.ts'
import { password } from '../support/client.ts'
import { atNight } from '../support/extent.ts'
import { toolCall, toolOutcome } from '../support/mcp.ts'
import { makeShare, sharePath } from '../support/shares.ts'
import { until } from '../support/until.ts'
import { eventually, head, talk } from './socket.ts'
import { metadataHeader, tus, tusPath } from './tus.ts'

const gigabyte = 1_000_000_000
/** Milliseconds until a test fails. The promise is one second; the test prints the measured time. */
const endTimeout = 10_000

/** Reads are endless and slow, so that a copy from it never finishes. */
const endless: AdapterDefinition = {
  type: 'endless',
  apiVersion,
  title: 'Endless',
  configSchema: { type: 'object', properties: {} },
  async open(_config, host) {
    const provider = await memoryAdapter.open({ maxBytes: 1_000_000 }, host)
    const entry = { name: '', kind: 'file', size: gigabyte, modifiedAt: null, etag: 'one', mimeType: null } as const
    return Object.assign(provider, {
      stat: async () => entry,
      async read() {
        const body = new PassThrough()
        const timer = setInterval(() => body.write(Buffer.alloc(1000)), 20)
        body.once('close', () => clearInterval(timer))
        return { body, entry }
      },
    })
  },
}

interface Person {
  token: string
  id: string
}

async function setUp(t: Test, options: { onQuery?: (query: CompiledQuery) => void } = {}) {
  const adapters = (folder: string) => [...builtInAdapters({ localRoots: [folder], dataFolder: '/nowhere' }), endless]
  const app = await startApp(t, { adapters, ...options })
  const replica = await app.replica()
  const owner = await app.register('owner@example.org')
  const provider = await app.connectProvider(owner.token, 'local', { root: app.folder })
  const streamed = await app.connectProvider(owner.token, 'endless', {})
  await mkdir(join(app.folder, 'a'))
  await writeFile(join(app.folder, 'a', 'large'), '')
  await truncate(join(app.folder, 'a', 'large'), gigabyte)
  let people = 0
  return {
    app,
    replica,
    owner,
    provider,
    streamed,
    async editor(): Promise<Person> {
      people += 1
      const person = await app.register(`person-${people}@example.org`)
      await app.ask(
        'mutation ($input: UpdateMemberInput!) { updateMember(input: $input) { id } }',
        { input: { userId: person.id, role: 'EDITOR', providerAccess: { all: true } } },
        owner.token,
      )
      return person
    },
  }
}

type World = Awaited<ReturnType<typeof setUp>>

/** A running transfer. `ended` resolves with what its client saw. */
interface Running {
  ended: Promise<string>
}

type Start = (world: World, server: TestApp, token: string) => Promise<Running>

/** A client that reads the start and then pauses. It ends when the server closes the connection. */
async function reader(server: TestApp, path: string, headers: Record<string, string>): Promise<Running> {
  const accepted: Promise<Socket[]> = once(server.app.server.server, 'connection')
  const client = await talk(Number(new URL(server.url).port))
  const [atServer] = await accepted
  await client.send(head('GET', server.url + path, headers))
  await client.until(/\r\n\r\n/)
  client.socket.pause()
  const ended = new Promise(resolve => atServer?.once('close', resolve)).then(async () => {
    client.socket.resume()
    await client.ended
    const received = client.received()
    const [, status] = /^HTTP\/1\.1 (\d+)/.exec(received) ?? []
    const [, length] = /content-length: (\d+)/i.exec(received) ?? []
    const isWhole = length === undefined ? received.endsWith('0\r\n\r\n') : client.socket.bytesRead >= Number(length)
    return isWhole ? 'whole' : `${status}, cut`
  })
  return { ended }
}

function writer(server: TestApp, path: string, token: string, headers: Record<string, string>, start: string): Running {
  const outgoing = request(server.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, ...headers },
  })
  outgoing.write(start)
  const timer = setInterval(() => outgoing.write(Buffer.alloc(1000)), 20)
  const ended = (async () => {
    try {
      const [response] = await once(outgoing, 'response')
      const chunks = await Readable.from(response).toArray()
      const { errors } = JSON.parse(Buffer.concat(chunks).toString())
      return `${response.statusCode} ${errors[0].extensions.reason}`
    } finally {
      clearInterval(timer)
      outgoing.destroy()
    }
  })()
  return { ended }
}

async function patch(world: World, server: TestApp, token: string, headers: Record<string, string>): Promise<Running> {
  const metadata = metadataHeader({ providerId: world.streamed, path: newPath(), conflict: 'replace' })
  const made = await tus({ url: server.url, token }, 'POST', tusPath, {
    'upload-length': String(gigabyte),
    'upload-metadata': metadata,
  })
  const more = {
    'tus-resumable': '1.0.0',
    'x-http-method-override': 'PATCH',
    'upload-offset': '0',
    'content-type': 'application/offset+octet-stream',
    ...headers,
  }
  return writer(server, made.headers.get('location') ?? '', token, more, 'x')
}

const large = (world: World) => new URLSearchParams({ providerId: world.provider, path: '/a/large' })
const auth = (token: string) => ({ Authorization: `Bearer ${token}` })

const transfers: Record<string, Start> = {
  'a download from disk': (world, server, token) => reader(server, `/api/download/proxy?${large(world)}`, auth(token)),
  'a download from a back end': (world, server, token) => {
    const query = new URLSearchParams({ providerId: world.streamed, path: '/a/x' })
    return reader(server, `/api/download/proxy?${query}`, auth(token))
  },
  'a download of a range': (world, server, token) =>
    reader(server, `/api/download/proxy?${large(world)}`, { ...auth(token), Range: 'bytes=1000-' }),
  'a download of several ranges': (world, server, token) =>
    reader(server, `/api/download/proxy?${large(world)}`, { ...auth(token), Range: 'bytes=0-10,100-900000000' }),
  'a download of a folder': (world, server, token) => {
    const query = new URLSearchParams({ providerId: world.provider, path: '/a' })
    return reader(server, `/api/download/proxy?${query}`, auth(token))
  },
  'a download by a link': async (world, server, token) => {
    const query = 'query ($id: ID!) { file(providerId: $id, path: "/a/large") { downloadUrl } }'
    const { file } = await world.app.ask(query, { id: world.provider }, token)
    const { pathname, search } = new URL(file.downloadUrl)
    return reader(server, pathname + search, {})
  },
  'an upload': async (world, server, token) => {
    const query = new URLSearchParams({ providerId: world.provider, path: newPath() })
    return writer(server, `/api/upload/proxy?${query}`, token, { 'content-length': String(gigabyte) }, 'x')
  },
  'an upload of unknown size': async (world, server, token) => {
    const query = new URLSearchParams({ providerId: world.provider, path: newPath() })
    return writer(server, `/api/upload/proxy?${query}`, token, {}, 'x')
  },
  'an upload by a form': async (world, server, token) => {
    const query = new URLSearchParams({ providerId: world.provider, path: '/a' })
    const start = `--b\r\nContent-Disposition: form-data; name="f"; filename="${newPath().slice(3)}"\r\n\r\n`
    const headers = { 'content-type': 'multipart/form-data; boundary=b' }
    return writer(server, `/api/upload/proxy?${query}`, token, headers, start)
  },
  'a resumable upload': (world, server, token) => patch(world, server, token, {}),
  'a resumable upload with a checksum': (world, server, token) =>
    patch(world, server, token, { 'upload-checksum': `sha256 ${Buffer.alloc(32).toString('base64')}` }),
  'a tool that copies from one provider to another': async (world, server, token) => {
    const args = { providerId: world.streamed, path: '/a/x', toProviderId: world.provider, toPath: newPath() }
    const { path, ...call } = toolCall('copy', args)
    const ended = server.request(path, { ...call, token }).then(async response => {
      const { status, errors } = toolOutcome(response.status, await response.text())
      return `${status} ${errors[0]?.extensions.reason}`
    })
    return { ended }
  },
  ...Object.fromEntries(
    (['copy', 'move'] as const).map(name => [
      `a ${name} from one provider to another`,
      async (world: World, server: TestApp, token: string) => {
        const type = name === 'copy' ? 'CopyInput' : 'MoveInput'
        const input = { providerId: world.streamed, path: '/a/x', toProviderId: world.provider, toPath: newPath() }
        const ended = server
          .graphql(`mutation ($input: ${type}!) { ${name}(input: $input) { path } }`, { input }, token)
          .then(({ status, errors }) => `${status} ${errors[0]?.extensions.reason}`)
        return { ended }
      },
    ]),
  ),
}

/** Transfers by share links that `token` makes. */
const byShares: Record<string, Start> = {
  'a download by a share link': async (world, server, token) => {
    const { link } = await makeShare(world.app, token, { providerId: world.provider, path: '/a' })
    return reader(server, sharePath(link, 'content', { path: '/large' }), {})
  },
  'a download of a shared folder': async (world, server, token) => {
    const { link } = await makeShare(world.app, token, { providerId: world.provider, path: '/a' })
    return reader(server, sharePath(link, 'content', { path: '/' }), {})
  },
  'an upload by a drop link': async (world, server, token) => {
    const { link } = await makeShare(world.app, token, { providerId: world.provider, path: '/a', kind: 'DROP' })
    const path = sharePath(link, 'files', { path: newPath() })
    return writer(server, path, '', { 'content-length': String(gigabyte) }, 'x')
  },
  'a resumable upload by a drop link': async (world, server, token) => {
    const { link } = await makeShare(world.app, token, { providerId: world.provider, path: '/a', kind: 'DROP' })
    const made = await tus({ url: server.url, token: '' }, 'POST', sharePath(link, 'uploads'), {
      'upload-length': String(gigabyte),
      'upload-metadata': metadataHeader({ path: newPath() }),
    })
    const more = {
      'tus-resumable': '1.0.0',
      'x-http-method-override': 'PATCH',
      'upload-offset': '0',
      'content-type': 'application/offset+octet-stream',
    }
    return writer(server, made.headers.get('location') ?? '', '', more, 'x')
  },
}

let names = 0
const newPath = () => `/a/new-${names++}`

const isDownload = (name: string) => name.includes('download')

/** Starts all transfers on both replicas, makes `change` on the second, and waits until all transfers have ended. */
async function cutAll(
  t: Test,
  world: World,
  token: string,
  change: (by: TestApp) => Promise<unknown>,
  expected: string,
  starts = transfers,
) {
  const servers = [world.app, world.replica]
  const started: { name: string; ended: Promise<[string, number]> }[] = []
  for (const [name, start] of Object.entries(starts)) {
    for (const [index, server] of servers.entries()) {
      const running = await start(world, server, token)
      const at = `${name}, at ${index === 0 ? 'one replica' : 'the other'}`
      started.push({ name: at, ended: running.ended.then(outcome => [outcome, performance.now()]) })
    }
  }
  await eventually(async () => assert.ok(await isWriting(world)))
  // Wait until the rights have been checked again once and found valid.
  await new Promise(resolve => setTimeout(resolve, 1200))
  const askedAt = performance.now()
  await change(world.replica)
  const changedAt = performance.now()
  let slowest = 0
  for (const { name, ended } of started) {
    const [outcome, endedAt] = await ended
    slowest = Math.max(slowest, endedAt - changedAt)
    // Disconnecting a provider first asks the holders of upload leases to release them.
    const isReleased = /resumable/.test(name) && expected.includes('PROVIDER_NOT_ALLOWED')
    // GraphQL responds to a refusal with status 200, except to an invalid credential.
    const refusal = isReleased
      ? '423 UPLOAD_LOCKED'
      : /a copy|a move/.test(name)
        ? expected.replace('403', '200')
        : expected
    t.match(outcome, isDownload(name) ? /^20[06], cut$/ : new RegExp(`^${refusal}$`), name)
    t.ok(endedAt > askedAt && endedAt < changedAt + endTimeout, `${name} was cut after the change`)
  }
  t.comment(`${started.length} transfers were cut; the last ${Math.round(slowest)} ms after the change`)
  await leavesNothing(world)
}

async function isWriting({ app }: World): Promise<boolean> {
  const entries = await readdir(app.folder, { recursive: true, withFileTypes: true })
  return entries.some(entry => entry.isFile() && entry.parentPath.includes('.stowage-'))
}

async function leavesNothing(world: World): Promise<void> {
  await eventually(async () => {
    const entries = await readdir(world.app.folder, { recursive: true, withFileTypes: true })
    assert.deepEqual(
      entries.filter(entry => entry.isFile()).map(entry => entry.name),
      ['large'],
    )
    for (const { app } of [world.app, world.replica]) assert.equal(app.server.transfers.size, 0)
  })
}

t.test('running transfers', async t => {
  const world = await setUp(t)
  const { owner, provider } = world

  t.test('transfers end when their key is revoked', async t => {
    const { key, id } = await world.app.createKey(owner.token, { name: 'k', scopes: ['write'] })
    const revoke = 'mutation ($id: ID!) { revokeApiKey(id: $id) { id } }'
    await cutAll(t, world, key, by => by.ask(revoke, { id }, owner.token), '401 KEY_REVOKED')
  })

  t.test('downloads of a recipient end when they are removed from a share, and when it is revoked', async t => {
    const { app, replica } = world
    const [ann, bob] = [await world.editor(), await world.editor()]
    const update = 'mutation ($input: UpdateShareInput!) { updateShare(input: $input) { id } }'
    const revoke = 'mutation ($id: ID!) { revokeShare(id: $id) { id } }'
    const share = await makeShare(app, owner.token, { providerId: provider, path: '/a', userIds: [ann.id, bob.id] })
    const path = sharePath(share.link, 'content', { path: '/large' })
    const start = async (server: TestApp, { token }: Person) => {
      const { ended } = await reader(server, path, auth(token))
      let endedAt = 0
      void ended.then(() => {
        endedAt = performance.now()
      })
      return { ended, isRunning: () => endedAt === 0, endedAt: () => endedAt }
    }
    const cut = async (running: Awaited<ReturnType<typeof start>>[], change: Promise<unknown>) => {
      await change
      const changedAt = performance.now()
      for (const { ended } of running) t.equal(await ended, '200, cut')
      const slowest = Math.max(...running.map(({ endedAt }) => endedAt())) - changedAt
      t.ok(slowest < endTimeout)
      t.comment(`the last download was cut ${Math.round(slowest)} ms after the change`)
    }
    const ofAnn = [await start(app, ann), await start(replica, ann)]
    const ofBob = [await start(app, bob), await start(replica, bob)]
    const removal = { id: share.id, removeUserIds: [ann.id] }
    await cut(ofAnn, replica.ask(update, { input: removal }, owner.token))
    t.ok(
      ofBob.every(({ isRunning }) => isRunning()),
      'those of others go on',
    )
    await cut(ofBob, replica.ask(revoke, { id: share.id }, owner.token))
  })

  atNight(t, 'transfers end when their key expires', async t => {
    const tomorrow = new Date(Date.now() + 86_400_000)
    const { key, id } = await world.app.createKey(owner.token, { name: 'k', scopes: ['write'], expiresAt: tomorrow })
    // Nobody can tell before how long the start of all transfers takes.
    const expire = async ({ db }: TestApp) => {
      const expiresAt = new Date(Date.now() + 1500)
      const update = sql`update api_keys set expires_at = ${expiresAt} where id = ${id}`
      t.equal((await changeRights(db, change => update.execute(change))).numAffectedRows, 1n)
      await until(() => Date.now() >= expiresAt.getTime() - 1)
    }
    await cutAll(t, world, key, expire, '401 KEY_EXPIRED')
  })

  atNight(t, 'transfers end when their session ends', async t => {
    const person = await world.editor()
    await cutAll(t, world, person.token, by => by.ask('mutation { logout }', {}, person.token), '401 SESSION_ENDED')
  })

  atNight(t, 'transfers end when the password is changed in another session', async t => {
    const person = await world.editor()
    const login = 'mutation ($input: LoginInput!) { login(input: $input) { token user { email } } }'
    const { email } = (await world.app.ask('{ me { email } }', {}, person.token)).me
    const other = (await world.app.ask(login, { input: { email, password } })).login.token
    const change = 'mutation ($input: ChangePasswordInput!) { changePassword(input: $input) { __typename } }'
    const input = { currentPassword: password, newPassword: `${password} again` }
    await cutAll(t, world, person.token, by => by.ask(change, { input }, other), '401 SESSION_ENDED')
  })

  atNight(t, 'transfers end when their member is removed, keys included', async t => {
    const person = await world.editor()
    const { key } = await world.app.createKey(person.token, { name: 'k', scopes: ['write'] })
    const remove = 'mutation ($id: ID!) { removeMember(userId: $id) }'
    const change = (by: TestApp) => by.ask(remove, { id: person.id }, owner.token)
    await cutAll(t, world, key, change, '401 INVALID_CREDENTIAL')
  })

  atNight(t, 'transfers end when their member is deactivated, keys included', async t => {
    const person = await world.editor()
    const { key } = await world.app.createKey(person.token, { name: 'k', scopes: ['write'] })
    const deactivate = 'mutation ($id: ID!) { deactivateMember(userId: $id) { id } }'
    const change = (by: TestApp) => by.ask(deactivate, { id: person.id }, owner.token)
    await cutAll(t, world, key, change, '401 ACCOUNT_DEACTIVATED')
  })

  atNight(t, 'transfers end when their provider is disconnected', async t => {
    const other = await setUp(t)
    const { token } = other.owner
    const disconnect = 'mutation ($a: ID!, $b: ID!) { a: disconnectProvider(id: $a) b: disconnectProvider(id: $b) }'
    const change = (by: TestApp) => by.ask(disconnect, { a: other.provider, b: other.streamed }, token)
    await cutAll(t, other, token, change, '403 PROVIDER_NOT_ALLOWED')
  })

  const update = 'mutation ($input: UpdateMemberInput!) { updateMember(input: $input) { id } }'

  atNight(t, 'transfers end when their member loses all scopes', async t => {
    const person = await world.editor()
    const input = { userId: person.id, role: 'NONE', providerAccess: { all: true } }
    await cutAll(t, world, person.token, by => by.ask(update, { input }, owner.token), '403 SCOPE_REQUIRED')
  })

  await atNight(t, 'transfers end when their member is restricted to another folder', async t => {
    const person = await world.editor()
    const restrictions = [
      { providerId: provider, basePath: '/b' },
      { providerId: world.streamed, basePath: '/b' },
    ]
    const input = { userId: person.id, role: 'EDITOR', providerAccess: { restrictions } }
    const change = (by: TestApp) => by.ask(update, { input }, owner.token)
    await cutAll(t, world, person.token, change, '403 OUTSIDE_BASE_PATH')
  })

  await atNight(t, 'transfers end when their share is revoked', async t => {
    const person = await world.editor()
    const change = async (by: TestApp) => {
      const { shares } = await by.ask('{ shares { nodes { id } } }', {}, person.token)
      const revoke = 'mutation ($id: ID!) { revokeShare(id: $id) { id } }'
      for (const { id } of shares.nodes) await by.ask(revoke, { id }, owner.token)
    }
    await cutAll(t, world, person.token, change, '401 SHARE_ENDED', byShares)
  })

  atNight(t, 'transfers end when the maker of their share loses all scopes', async t => {
    const person = await world.editor()
    const input = { userId: person.id, role: 'NONE', providerAccess: { all: true } }
    const change = (by: TestApp) => by.ask(update, { input }, owner.token)
    await cutAll(t, world, person.token, change, '401 SHARE_ENDED', byShares)
  })

  atNight(t, 'transfers end when the key that made their share is revoked', async t => {
    const { key, id } = await world.app.createKey(owner.token, { name: 'k', scopes: ['write'] })
    const revoke = 'mutation ($id: ID!) { revokeApiKey(id: $id) { id } }'
    const change = (by: TestApp) => by.ask(revoke, { id }, owner.token)
    await cutAll(t, world, key, change, '401 SHARE_ENDED', byShares)
  })
})
