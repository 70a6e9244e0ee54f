/** One archive of several files and folders. */
import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import t from 'tap'
import { Stowage } from '../../packages/client/src/index.ts'
import { startApp } from '../support/app.ts'
import { atNight } from '../support/extent.ts'
import { until } from '../support/until.ts'
import { readWithPython, requireArchivers, testWithOthers } from './archive-tools.ts'

await requireArchivers()

const address = '/api/download/archive'
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')
const ticketOf = 'query ($input: ArchiveTicketInput!) { archiveTicket(input: $input) }'

const app = await startApp(t)
const owner = await app.register('owner@example.org')
const providerId = await app.connectProvider(owner.token, 'local', { root: app.folder }, 'Team disk')
const unpacked = await mkdtemp(join(tmpdir(), 'stowage-selection-'))
t.teardown(() => rm(unpacked, { recursive: true, force: true }))
const contents = {
  'photos/a.jpg': 'a',
  'photos/b.jpg': 'b',
  'photos/2026/c.jpg': 'c',
  'photos/2026/deep/d.txt': 'd'.repeat(1000),
  'other/A.jpg': 'another A',
  'other/a.jpg': 'another a',
  'private/secret.txt': 'canary',
}
for (const [path, text] of Object.entries(contents)) {
  await mkdir(dirname(join(app.folder, path)), { recursive: true })
  await writeFile(join(app.folder, path), text)
}
await mkdir(join(app.folder, 'photos/empty'))

const post = (paths: readonly unknown[], token: string | null = owner.token, more: object = {}) =>
  app.request(address, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ providerId, paths, ...more }),
    token,
  })
const postTicket = (ticket: string) => app.request(address, { method: 'POST', body: new URLSearchParams({ ticket }) })
const reasonOf = async (response: Response) => (await response.json()).errors[0].extensions.reason

let count = 0
async function membersOf(response: Response) {
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`)
  const file = join(unpacked, `${count++}.zip`)
  await writeFile(file, Buffer.from(await response.arrayBuffer()))
  await testWithOthers(file)
  return new Map((await readWithPython(file)).map(member => [member.name, member.sha256]))
}

t.test('files and folders are at the top of one archive', async t => {
  const response = await post(['/photos/b.jpg', '/photos/2026', '/photos/empty', '/photos/b.jpg'])
  t.match(Object.fromEntries(response.headers), {
    'content-type': 'application/zip',
    'content-disposition': /^attachment; filename="?photos\.zip"?$/,
    'accept-ranges': 'none',
    'content-security-policy': 'sandbox',
  })
  const members = await membersOf(response)
  t.same([...members.keys()], ['b.jpg', '2026/', '2026/c.jpg', '2026/deep/', '2026/deep/d.txt', 'empty/'])
  t.equal(members.get('2026/deep/d.txt'), sha256(contents['photos/2026/deep/d.txt']))
  await app.app.services.audit.flush()
  const [event] = (
    await app.ask(
      '{ auditEvents(first: 1, filter: { action: DOWNLOAD }) { nodes { path bytes details } } }',
      {},
      owner.token,
    )
  ).auditEvents.nodes
  t.match(event, { path: '/photos/b.jpg', details: { kind: 'selection', sources: 4 } })
  t.same(
    event.details.otherSources.map(({ path }: { path: string }) => path),
    ['/photos/2026', '/photos/empty', '/photos/b.jpg'],
  )
  t.ok(event.bytes > 0)
})

atNight(t, 'equal names get numbers, also on systems that ignore case', async t => {
  const members = await membersOf(await post(['/photos/a.jpg', '/other/A.jpg', '/other/a.jpg', '/']))
  const tops = [...members.keys()].filter(name => !name.slice(0, -1).includes('/'))
  t.same(tops, ['a.jpg', 'A (1).jpg', 'a (2).jpg', 'Team disk/'])
  t.equal(members.get('A (1).jpg'), sha256('another A'))
  t.equal(members.get('a (2).jpg'), sha256('another a'))
  t.ok(members.has('Team disk/photos/2026/c.jpg'))
})

t.test('missing entries are listed, and a selection of nothing else is refused', async t => {
  const members = await membersOf(await post(['/gone', '/photos/a.jpg', '/other/gone.txt']))
  t.same([...members.keys()], ['a.jpg', '_left-out.txt'])
  t.equal(await reasonOf(await post(['/gone', '/other/gone.txt'])), 'NOT_FOUND')
})

t.test('one path outside the access refuses the whole selection', async t => {
  const providerAccess = { restrictions: [{ providerId, basePath: '/photos' }] }
  const { key, id } = await app.createKey(owner.token, { name: 'photos', scopes: ['read'], providerAccess })
  t.same([...(await membersOf(await post(['/photos/a.jpg', '/photos/b.jpg'], key))).keys()], ['a.jpg', 'b.jpg'])
  const both = ['/photos/a.jpg', '/private/secret.txt']
  t.equal(await reasonOf(await post(both, key)), 'OUTSIDE_BASE_PATH')
  t.equal(await reasonOf(await post(['/photos/a.jpg', '/photos/../private/secret.txt'], key)), 'INVALID_PATH')
  t.equal(await reasonOf(await post(both, null)), 'CREDENTIAL_REQUIRED')
  const { errors } = await app.graphql(ticketOf, { input: { providerId, paths: both } }, key)
  t.equal(errors[0]?.extensions.reason, 'OUTSIDE_BASE_PATH')
  const { archiveTicket } = await app.ask(ticketOf, { input: { providerId, paths: ['/photos/a.jpg'] } }, key)
  t.same([...(await membersOf(await postTicket(archiveTicket))).keys()], ['a.jpg'])
  await app.ask('mutation ($id: ID!) { revokeApiKey(id: $id) { id } }', { id }, owner.token)
  t.equal(await reasonOf(await postTicket(archiveTicket)), 'LINK_EXPIRED', 'a ticket ends with its credential')
})

t.test('a ticket of one kind is not valid as the other', async t => {
  const input = { providerId, paths: ['/photos/a.jpg'] }
  const { archiveTicket } = await app.ask(ticketOf, { input }, owner.token)
  const asLink = await app.request(`/api/download/proxy?ticket=${archiveTicket}`)
  t.equal(await reasonOf(asLink), 'LINK_EXPIRED')
  const link = 'query ($id: ID!) { file(providerId: $id, path: "/photos/a.jpg") { downloadUrl } }'
  const { file } = await app.ask(link, { id: providerId }, owner.token)
  const ticket = new URL(file.downloadUrl).searchParams.get('ticket') ?? ''
  t.equal(await reasonOf(await postTicket(ticket)), 'LINK_EXPIRED')
  const [payload, signature] = archiveTicket.split('.')
  const altered = Buffer.from(Buffer.from(payload, 'base64url').toString().replace('a.jpg', 'b.jpg'))
  t.equal(await reasonOf(await postTicket(`${altered.toString('base64url')}.${signature}`)), 'LINK_EXPIRED')
})

t.test('the size of a selection is bounded', async t => {
  t.equal(await reasonOf(await post([])), 'INVALID_INPUT')
  t.equal(await reasonOf(await post([1])), 'INVALID_INPUT')
  t.equal(await reasonOf(await post(Array.from({ length: 1001 }, (_, n) => `/photos/${n}`))), 'INVALID_INPUT')
  t.equal(
    await reasonOf(await post(Array.from({ length: 90 }, (_, n) => `/${n}/${'x/'.repeat(1900)}x`))),
    'INVALID_INPUT',
  )
  t.equal(await reasonOf(await post(['/photos/a.jpg'], owner.token, { more: 'x'.repeat(2 ** 20) })), 'TOO_LARGE')
  const most = Array.from({ length: 999 }, (_, n) => `/photos/missing-${n}`)
  t.same([...(await membersOf(await post([...most, '/photos/a.jpg']))).keys()], ['a.jpg', '_left-out.txt'])
  t.equal(
    await reasonOf(await app.request(address, { method: 'POST', body: 'x', token: owner.token })),
    'INVALID_INPUT',
  )
})

atNight(t, 'an archive is cut when its key is revoked', async t => {
  await writeFile(join(app.folder, 'large.bin'), Buffer.alloc(64 * 1024 * 1024))
  const { key, id } = await app.createKey(owner.token, { name: 'short', scopes: ['read'] })
  const { body } = await post(['/photos/a.jpg', '/large.bin'], key)
  const reader = body?.getReader()
  await reader?.read()
  await app.ask('mutation ($id: ID!) { revokeApiKey(id: $id) { id } }', { id }, owner.token)
  const filter = { action: 'DOWNLOAD', result: 'KEY_REVOKED' }
  const events = 'query ($filter: AuditEventFilter!) { auditEvents(first: 1, filter: $filter) { nodes { path } } }'
  await until(async () => (await app.ask(events, { filter }, owner.token)).auditEvents.nodes.length === 1)
  await t.rejects(
    (async () => {
      for (let done = false; !done; ) done = (await reader?.read())?.done ?? true
    })(),
    'the client notices that the archive is incomplete',
  )
})

atNight(t, 'the client library downloads a selection', async t => {
  const stowage = new Stowage({ url: app.url, credential: owner.token, retries: 0 })
  const body = await stowage.files.archive({ providerId, paths: ['/photos/a.jpg', '/photos/2026'] })
  const members = await membersOf(new Response(body as never))
  t.same([...members.keys()], ['a.jpg', '2026/', '2026/c.jpg', '2026/deep/', '2026/deep/d.txt'])
  await t.rejects(stowage.files.archive({ providerId, paths: ['/gone'] }), {
    name: 'StowageError',
    reason: 'NOT_FOUND',
  })
})
