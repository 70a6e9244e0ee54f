/** Locks and holds bind every endpoint, whatever people use to change an entry. */
import { randomUUID } from 'node:crypto'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { CreateMultipartUploadCommand, DeleteObjectCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3'
import t from 'tap'
import { metadataHeader, tusPath } from '../http/tus.ts'
import { startApp, type TestApp } from '../support/app.ts'
import { atNight } from '../support/extent.ts'
import { toolCall } from '../support/mcp.ts'
import { drop, makeShare } from '../support/shares.ts'
import { until } from '../support/until.ts'
import { davClient, lockInfo, setProperty, tokenOf } from '../webdav/client.ts'

const app = await startApp(t, { settings: { trashDays: 30 } })
const owner = await app.register('owner@example.org')
const root = join(app.folder, 'files')
await mkdir(join(root, 'team/below'), { recursive: true })
const providerId = await app.connectProvider(owner.token, 'local', { root }, 'Files')
const anna = await joined('anna@example.org', 'Anna')
const ben = await joined('ben@example.org', 'Ben')

/** Registers a member and resolves with a session and a key. */
async function joined(email: string, name: string, role = 'EDITOR') {
  const invited = await app.ask(
    'mutation ($role: Role!) { createInvite(input: { role: $role, providerAccess: { all: true } }) { invite } }',
    { role },
    owner.token,
  )
  const { token } = await app.register(email, { invite: invited.createInvite.invite })
  await app.ask('mutation ($name: String) { updateProfile(input: { name: $name }) { id } }', { name }, token)
  const { createApiKey } = await app.ask(
    `mutation { createApiKey(input: { name: "all", scopes: [write] }) {
      key s3 { accessKeyId secretAccessKey endpoint } } }`,
    {},
    token,
  )
  return { token, ...createApiKey } as Person
}

interface Person {
  token: string
  key: string
  s3: { accessKeyId: string; secretAccessKey: string; endpoint: string }
}

const place = (path: string) => join(root, path)
async function fresh(): Promise<void> {
  await mkdir(place('team/below'), { recursive: true })
  for (const path of ['locked.txt', 'source.txt', 'team/a.txt', 'team/below/b.txt']) await writeFile(place(path), path)
}

async function lock(as: Person, path: string, depth = '0'): Promise<{ token: string; end(): Promise<void> }> {
  const dav = davClient(app, as.key)
  const token = tokenOf(await dav('LOCK', `/files${path}`, { body: lockInfo(), headers: { depth } }))
  return {
    token,
    async end() {
      await dav('UNLOCK', `/files${path}`, { headers: { 'lock-token': `<${token}>` } })
    },
  }
}

const change = (name: string, type: string, select: string) =>
  `mutation ($input: ${type}!) { ${name}(input: $input) { ${select} } }`

type Attempt = (at: TestApp, who: Person, path: string) => Promise<string>

async function reasonOf(response: Response): Promise<string> {
  const text = await response.text()
  return response.ok ? 'OK' : (/"reason":"(\w+)"/.exec(text)?.[1] ?? /<Code>(\w+)</.exec(text)?.[1] ?? text)
}

const mutation =
  (name: string, type: string, input: (path: string) => object, select = 'path'): Attempt =>
  async (at, { token }, path) => {
    const { errors } = await at.graphql(
      change(name, type, select),
      { input: { providerId, path, ...input(path) } },
      token,
    )
    return errors[0]?.extensions.reason ?? 'OK'
  }

const job =
  (kind: 'COPY' | 'MOVE' | 'DELETE', input: (path: string) => object): Attempt =>
  async (at, { token }, path) => {
    const created = await at.ask(
      change('createJob', 'CreateJobInput', 'job { id }'),
      { input: { kind, sources: [{ providerId, path }], ...input(path) } },
      token,
    )
    const { id } = created.createJob.job
    const query = 'query ($id: ID!) { job(id: $id) { state failures(first: 5) { nodes { reason } } } }'
    const find = async () => (await at.ask(query, { id }, token)).job
    await until(async () => ['SUCCEEDED', 'FAILED'].includes((await find()).state))
    return (await find()).failures.nodes[0]?.reason ?? 'OK'
  }

const s3 =
  (send: (client: S3Client, key: string) => Promise<unknown>): Attempt =>
  async (_at, { s3: { endpoint, ...credentials } }, path) => {
    const client = new S3Client({ endpoint, region: 'us-east-1', credentials, forcePathStyle: true, maxAttempts: 1 })
    try {
      await send(client, path.slice(1))
      return 'OK'
    } catch (error) {
      const { name, $metadata } = error as { name: string; $metadata?: { httpStatusCode?: number } }
      return `${$metadata?.httpStatusCode} ${name}`
    } finally {
      client.destroy()
    }
  }

const tool =
  (name: string, args: (path: string) => object): Attempt =>
  async (at, { key }, path) => {
    const { path: to, ...init } = toolCall(name, { providerId, path, ...args(path) })
    const text = await (await at.request(to, { ...init, token: key })).text()
    return /"reason":"(\w+)"/.exec(text)?.[1] ?? 'OK'
  }

const Bucket = 'files'
/** Changes of a file at a path, which replace it, remove it or put something there. */
const attempts: Record<string, Attempt> = {
  'an upload': async (at, { token }, path) =>
    reasonOf(await at.upload(token, providerId, path, 'new', '&conflict=replace')),
  'a resumable upload': async (at, { token }, path) => {
    const metadata = metadataHeader({ providerId, path, conflict: 'replace' })
    const headers = { 'tus-resumable': '1.0.0', 'upload-length': '5', 'upload-metadata': metadata }
    return reasonOf(await at.request(tusPath, { method: 'POST', headers, token }))
  },
  rename: mutation('rename', 'RenameInput', () => ({ name: 'renamed.txt' })),
  'move away': mutation('move', 'MoveInput', () => ({ toPath: '/moved.txt', conflict: 'REPLACE' })),
  'move onto': (at, who, path) =>
    mutation('move', 'MoveInput', () => ({ path: '/source.txt', toPath: path, conflict: 'REPLACE' }))(at, who, path),
  'copy onto': (at, who, path) =>
    mutation('copy', 'CopyInput', () => ({ path: '/source.txt', toPath: path, conflict: 'REPLACE' }))(at, who, path),
  delete: mutation('delete', 'DeleteInput', () => ({ recursive: true }), 'deletedPath'),
  'delete for good': mutation('delete', 'DeleteInput', () => ({ permanent: true }), 'deletedPath'),
  'a job that deletes': job('DELETE', () => ({})),
  'a job that moves': job('MOVE', () => ({ target: { providerId, path: '/jobs' }, conflict: 'REPLACE' })),
  'a tool that writes': tool('write_file', () => ({ content: 'new' })),
  'a tool that deletes': tool('delete', path => ({ confirm: path })),
  PUT: async (at, { key }, path) => {
    const { status } = await davClient(at, key)('PUT', `/files${path}`, { body: 'new' })
    return status === 423 ? 'LOCKED' : 'OK'
  },
  'an object': s3((client, Key) => client.send(new PutObjectCommand({ Bucket, Key, Body: 'new' }))),
  'an object of parts': s3((client, Key) => client.send(new CreateMultipartUploadCommand({ Bucket, Key }))),
  'the deletion of an object': s3((client, Key) => client.send(new DeleteObjectCommand({ Bucket, Key }))),
}
const isRefused = (outcome: string) => outcome === 'LOCKED' || outcome === '409 OperationAborted'

await mkdir(place('jobs'))
const replica = await app.replica()

t.test('nobody but the holder changes a locked file', async t => {
  for (const [name, attempt] of Object.entries(attempts)) {
    await fresh()
    const held = await lock(anna, '/locked.txt')
    const outcome = await attempt(replica, ben, '/locked.txt')
    t.ok(isRefused(outcome), `${name} by another member: ${outcome}`)
    t.equal(await readFile(place('locked.txt'), 'utf8'), 'locked.txt')
    const isDav = name === 'PUT'
    const own = await attempt(replica, anna, '/locked.txt')
    t.equal(isRefused(own), isDav, `${name} by the holder: ${own}`)
    await fresh()
    await held.end()
    const after = await attempt(replica, ben, '/locked.txt')
    t.notOk(isRefused(after), `${name} after the lock: ${after}`)
  }
})

atNight(
  t,
  'a deep lock of a folder covers everything below it, and changes above that would take it along',
  async t => {
    await fresh()
    const held = await lock(anna, '/team', 'infinity')
    for (const [name, attempt] of Object.entries(attempts)) {
      const outcome = await attempt(app, ben, '/team/below/b.txt')
      t.ok(isRefused(outcome), `${name}: ${outcome}`)
    }
    const made = await mutation('createFolder', 'CreateFolderInput', () => ({}))(app, ben, '/team/new')
    t.equal(made, 'LOCKED')
    for (const name of ['rename', 'move away', 'a job that moves', 'delete']) {
      t.equal(await attempts[name]?.(app, ben, '/team'), 'LOCKED', name)
    }
    t.equal(await readFile(place('team/below/b.txt'), 'utf8'), 'team/below/b.txt')
    const { link } = await makeShare(app, anna.token, { providerId, path: '/team', kind: 'DROP' })
    t.match(await drop(app, link, '/dropped.txt', 'x'), { status: 423, reason: 'LOCKED' }, 'a link of the holder')
    await held.end()
    t.match(await drop(app, link, '/dropped.txt', 'x'), { status: 201 })
  },
)

t.test(
  'a lock of the root alone does not prevent a job that deletes below its folders, where there is no trash',
  async t => {
    await fresh()
    const trashDays = (days: number | null) =>
      app.ask(
        change('updateProvider', 'UpdateProviderInput', 'id'),
        { input: { id: providerId, trashDays: days } },
        owner.token,
      )
    await trashDays(0)
    const held = await lock(anna, '/')
    t.equal(await attempts['a job that deletes']?.(app, ben, '/team/below'), 'OK')
    t.equal(await attempts['a job that deletes']?.(app, ben, '/source.txt'), 'LOCKED')
    await held.end()
    await trashDays(null)
  },
)

t.test('a job lists what is locked as a failure, and does the rest', async t => {
  await fresh()
  const held = await lock(anna, '/team/a.txt')
  t.equal(await job('DELETE', () => ({ permanent: true }))(app, ben, '/team'), 'LOCKED')
  t.equal(await readFile(place('team/a.txt'), 'utf8'), 'team/a.txt')
  await held.end()
})

t.test('people see who holds a lock, and the holder and administrators end it', async t => {
  await fresh()
  const query = `query ($id: ID!) { folder(providerId: $id, path: "/") { entries { nodes {
    path lock { id path isDeep isExclusive holderName holder { email } expiresAt } } } } }`
  const locks = async (token: string) => {
    const { folder } = await app.ask(query, { id: providerId }, token)
    return folder.entries.nodes.filter((entry: { lock: unknown }) => entry.lock)
  }
  t.same(await locks(ben.token), [])
  const { end } = await lock(anna, '/locked.txt')
  const seen = {
    path: '/locked.txt',
    lock: { path: '/locked.txt', isDeep: false, isExclusive: true, holderName: 'Anna' },
  }
  t.match(await locks(ben.token), [{ ...seen, lock: { ...seen.lock, holder: null } }])
  t.match(await locks(owner.token), [{ ...seen, lock: { ...seen.lock, holder: { email: 'anna@example.org' } } }])
  const id = (await locks(ben.token))[0].lock.id
  t.match(id, /^[0-9a-f-]{36}$/)
  const endLock = mutation('endLock', 'EndLockInput', () => ({ lockId: id }))
  t.equal(await endLock(app, ben, '/locked.txt'), 'SCOPE_REQUIRED')
  t.equal(
    await endLock(app, { ...anna, token: owner.token }, '/source.txt'),
    'NOT_FOUND',
    'the lock is of another path',
  )
  t.equal(await endLock(app, { ...anna, token: owner.token }, '/locked.txt'), 'OK')
  t.same(await locks(ben.token), [])
  t.equal(await endLock(app, anna, '/locked.txt'), 'NOT_FOUND')
  t.equal(await attempts['an upload']?.(app, ben, '/locked.txt'), 'OK')
  await end()
})

const held = async (path: string, more: object = {}, as = owner.token) => {
  const input = { providerId, path, reason: 'Litigation', ...more }
  const select = 'id path reason until createdBy { email } releasedAt'
  const { data, errors } = await app.graphql(change('createHold', 'CreateHoldInput', select), { input }, as)
  return data?.createHold ?? errors[0]?.extensions.reason
}
const released = async (id: string, as = owner.token) => {
  const { errors } = await app.graphql('mutation ($id: ID!) { releaseHold(id: $id) { releasedAt } }', { id }, as)
  return errors[0]?.extensions.reason ?? 'OK'
}
const isHeld = (outcome: string) => ['ON_HOLD', '403 AccessDenied', 'refused'].includes(outcome)
const everywhere: Record<string, Attempt> = {
  ...attempts,
  PUT: async (at, { key }, path) => {
    const { status, reason } = await davClient(at, key)('PUT', `/files${path}`, { body: 'new' })
    return status === 403 ? 'refused' : `${status} ${reason}`
  },
  'a property': async (at, { key }, path) => {
    const { status } = await davClient(at, key)('PROPPATCH', `/files${path}`, {
      body: setProperty('<x xmlns="urn:x">1</x>'),
    })
    return status === 403 ? 'refused' : `${status}`
  },
}

t.test('nobody changes what is on hold, through no endpoint, not even an owner', async t => {
  await fresh()
  const file = await held('/locked.txt')
  t.match(file, { path: '/locked.txt', reason: 'Litigation', until: null, createdBy: { email: 'owner@example.org' } })
  const folder = await held('/team')
  const ownKey = await app.createKey(owner.token, { name: 'all', scopes: ['admin'] })
  const mighty = { ...ben, token: owner.token, key: ownKey.key }
  for (const [name, attempt] of Object.entries(everywhere)) {
    for (const path of ['/locked.txt', '/team/below/b.txt']) {
      // The credentials of S3 are those of a member.
      const outcome = await attempt(replica, mighty, path)
      t.ok(isHeld(outcome), `${name} of ${path}: ${outcome}`)
    }
  }
  t.equal(await mutation('createFolder', 'CreateFolderInput', () => ({}))(app, mighty, '/team/new'), 'ON_HOLD')
  for (const name of ['rename', 'move away', 'a job that moves', 'delete']) {
    t.equal(await attempts[name]?.(app, mighty, '/team'), 'ON_HOLD', `${name} of the folder`)
  }
  t.equal(await released(folder.id), 'OK')
  t.equal(await attempts['move away']?.(app, mighty, '/team/a.txt'), 'OK')
  const below = await held('/team/below/b.txt')
  for (const name of ['rename', 'move away', 'a job that moves']) {
    t.equal(await attempts[name]?.(app, mighty, '/team'), 'ON_HOLD', `${name} of a folder around it`)
  }
  t.equal(await job('DELETE', () => ({ permanent: true }))(app, mighty, '/team'), 'ON_HOLD')
  t.equal(await readFile(place('team/below/b.txt'), 'utf8'), 'team/below/b.txt')
  t.equal(await readFile(place('locked.txt'), 'utf8'), 'locked.txt')
  const disconnect = 'mutation ($id: ID!) { disconnectProvider(id: $id) }'
  const { errors } = await app.graphql(disconnect, { id: providerId }, owner.token)
  t.equal(errors[0]?.extensions.reason, 'ON_HOLD', 'the storage stays connected')
  for (const { id } of [file, below]) t.equal(await released(id), 'OK')
  t.equal(await attempts['an upload']?.(app, ben, '/locked.txt'), 'OK')
})

t.test('only owners release a hold, and nobody one with a date', async t => {
  await fresh()
  t.equal(await held('/locked.txt', {}, ben.token), 'SCOPE_REQUIRED')
  t.equal(await held('/missing.txt'), 'NOT_FOUND')
  for (const bad of [{ reason: ' ' }, { until: new Date(0) }, { until: '2999-01-01T00:00:00Z' }]) {
    t.equal(await held('/locked.txt', bad), 'INVALID_INPUT', JSON.stringify(bad))
  }
  const open = await held('/locked.txt')
  const admin = await joined('admin@example.org', 'Ada', 'ADMIN')
  t.equal(await released(open.id, admin.token), 'SCOPE_REQUIRED')
  t.equal(await released(randomUUID()), 'NOT_FOUND')
  const end = new Date(Date.now() + 2000)
  const dated = await held('/source.txt', { until: end }, admin.token)
  t.equal(await released(dated.id), 'ON_HOLD')
  const query = `query ($id: ID!) { holds(providerId: $id) { nodes { path until } }
    file(providerId: $id, path: "/source.txt") { hold { id reason until } } }`
  const seen = await app.ask(query, { id: providerId }, admin.token)
  t.match(seen.holds.nodes, [
    { path: '/source.txt', until: end.toISOString() },
    { path: '/locked.txt', until: null },
  ])
  t.match(seen.file.hold, { id: dated.id, reason: 'Litigation' })
  t.equal(await attempts['an upload']?.(app, ben, '/source.txt'), 'ON_HOLD')
  await until(async () => (await attempts['an upload']?.(app, ben, '/source.txt')) === 'OK')
  t.ok(new Date() >= end, 'the hold ended by itself')
  t.equal(await released(open.id), 'OK')
  t.equal(await released(open.id), 'NOT_FOUND')
})

atNight(t, 'a hold ends an upload that is running', async t => {
  await fresh()
  const sent = Promise.withResolvers<void>()
  async function* slowly() {
    yield Buffer.from('new')
    await sent.promise
    yield Buffer.from('end')
  }
  const uploading = app.upload(
    ben.token,
    providerId,
    '/locked.txt',
    Readable.toWeb(Readable.from(slowly())) as ReadableStream,
    '&conflict=replace',
  )
  const { id } = await held('/locked.txt')
  await sleep(1000)
  sent.resolve()
  t.equal(await reasonOf(await uploading), 'ON_HOLD')
  t.equal(await readFile(place('locked.txt'), 'utf8'), 'locked.txt')
  t.equal(await released(id), 'OK')
})
