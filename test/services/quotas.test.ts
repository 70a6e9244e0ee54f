/** Quotas bind every endpoint: what is stored never exceeds them, and what they count is what is there. */
import { randomUUID } from 'node:crypto'
import { mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  PutObjectCommand,
  S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import { sql } from 'kysely'
import t from 'tap'
import { localAdapter } from '../../adapters/backends/local/index.ts'
import { StorageError } from '../../adapters/contract.ts'
import type { StoragePath } from '../../src/auth/path.ts'
import { dropQuotaChange, type QuotaRequest, reserveQuota } from '../../src/db/quotas/changes.ts'
import { metadataHeader, tusPath } from '../http/tus.ts'
import { connectSsh, done, noAttributes, RawSftp, Refused, serveSftp, text, uint32, uint64 } from '../sftp/server.ts'
import { startApp, type TestApp } from '../support/app.ts'
import type { Data } from '../support/client.ts'
import { atNight } from '../support/extent.ts'
import { faultyAdapter } from '../support/faulty-adapter.ts'
import { toolCall } from '../support/mcp.ts'
import { drop, makeShare } from '../support/shares.ts'
import { until } from '../support/until.ts'
import { davClient, propfindOf, resourcesIn } from '../webdav/client.ts'

const faults = faultyAdapter()
const app = await startApp(t, {
  adapters: folder => [localAdapter({ localRoots: [folder], dataFolder: join(folder, 'data') }), faults],
})
const replica = await app.replica()
const owner = await app.register('owner@example.org')
let providerId: string
let root: string
let slug = ''
let lastRoot = 0

t.beforeEach(async () => {
  root = join(app.folder, `files-${++lastRoot}`)
  slug = `files-${lastRoot}`
  await mkdir(root)
  providerId = await app.connectProvider(owner.token, 'local', { root }, slug)
})

t.afterEach(async () => {
  for (const { providerId, path, member } of await quotas()) {
    await setQuota({ ...(member ? { userId: member.id } : { providerId, path }), bytes: null, files: null })
  }
})

const anna = await joined('anna@example.org')
const s3Key = (
  await app.ask(
    `mutation { createApiKey(input: { name: "s3", scopes: [write] }) { key s3 { accessKeyId secretAccessKey endpoint } } }`,
    {},
    owner.token,
  )
).createApiKey as { key: string; s3: { accessKeyId: string; secretAccessKey: string; endpoint: string } }

async function joined(email: string): Promise<{ token: string; id: string }> {
  const { createInvite } = await app.ask(
    'mutation { createInvite(input: { role: EDITOR, providerAccess: { all: true } }) { invite } }',
    {},
    owner.token,
  )
  return app.register(email, { invite: createInvite.invite })
}

const sums = 'bytes files usedBytes usedFiles reservedBytes reservedFiles isExact'

async function setQuota(input: object): Promise<Data> {
  const data = await app.ask(
    `mutation ($input: SetQuotaInput!) { setQuota(input: $input) { id providerId path ${sums} } }`,
    { input },
    owner.token,
  )
  return data.setQuota
}

async function quotas(): Promise<Data[]> {
  const { quotas } = await app.ask(
    `{ quotas(first: 100) { nodes { providerId path member { id } ${sums} } } }`,
    {},
    owner.token,
  )
  return quotas.nodes
}

async function quotaAt(path: string): Promise<Data> {
  return (await quotas()).find(quota => quota.providerId === providerId && quota.path === path)
}

async function quotaOf({ id }: { id: string }): Promise<Data> {
  return (await quotas()).find(quota => quota.member?.id === id)
}

/** Waits until the server has counted what existed before. */
async function counted(path = '/'): Promise<Data> {
  await until(async () => (await quotaAt(path)).isExact)
  return quotaAt(path)
}

/** Returns the bytes and files on the disk. */
async function onDisk(folder = root): Promise<{ usedBytes: number; usedFiles: number }> {
  const files = (await readdir(folder, { recursive: true, withFileTypes: true })).filter(entry => entry.isFile())
  const sizes = await Promise.all(files.map(async file => (await stat(join(file.parentPath, file.name))).size))
  return { usedBytes: sizes.reduce((sum, size) => sum + size, 0), usedFiles: sizes.length }
}

const nothingReserved = { reservedBytes: 0, reservedFiles: 0 }

async function reasonOf(response: Response): Promise<string> {
  const text = await response.text()
  return response.ok ? 'OK' : (/"reason":"(\w+)"/.exec(text)?.[1] ?? /<Code>(\w+)</.exec(text)?.[1] ?? text)
}

const bytes = (count: number) => 'x'.repeat(count)

async function put(path: string, size: number, { by = owner, at = app, query = '&conflict=replace' } = {}) {
  return reasonOf(await at.upload(by.token, providerId, path, bytes(size), query))
}

const change = (name: string, type: string, select = 'path') =>
  `mutation ($input: ${type}!) { ${name}(input: $input) { ${select} } }`

async function jobOf(input: object, by = owner): Promise<{ state: string; failures: string[] }> {
  const { createJob } = await app.ask(change('createJob', 'CreateJobInput', 'job { id }'), { input }, by.token)
  const query = 'query ($id: ID!) { job(id: $id) { state failures(first: 100) { nodes { reason } } } }'
  const find = async () => (await app.ask(query, createJob.job, by.token)).job
  await until(async () => ['SUCCEEDED', 'FAILED'].includes((await find()).state))
  const { state, failures } = await find()
  return { state, failures: failures.nodes.map(({ reason }: Data) => reason) }
}

function s3Client(): S3Client {
  const { endpoint, ...credentials } = s3Key.s3
  return new S3Client({ endpoint, region: 'us-east-1', credentials, forcePathStyle: true, maxAttempts: 1 })
}

const sftpSessions = new Map<TestApp, Promise<RawSftp>>()

/** Returns a session at a server, which all requests share. */
function sftpOf(at: TestApp): Promise<RawSftp> {
  const session =
    sftpSessions.get(at) ??
    serveSftp(t, at)
      .then(endpoint => connectSsh(t, endpoint, { password: s3Key.key }))
      .then(RawSftp.start)
  sftpSessions.set(at, session)
  return session
}

type Put = (at: TestApp, path: string, size: number) => Promise<string>

/** Ways to store a file, each of which says how it ended. */
const ways: Record<string, Put> = {
  REST: (at, path, size) => put(path, size, { at }),
  'REST without a size': async (at, path, size) =>
    reasonOf(await at.upload(owner.token, providerId, path, Readable.toWeb(Readable.from([bytes(size)])) as BodyInit)),
  tus: async (at, path, size) => {
    const headers = {
      'tus-resumable': '1.0.0',
      'upload-length': String(size),
      'upload-metadata': metadataHeader({ providerId, path }),
      'content-type': 'application/offset+octet-stream',
    }
    return reasonOf(await at.request(tusPath, { method: 'POST', headers, token: owner.token, body: bytes(size) }))
  },
  WebDAV: async (at, path, size) => {
    const { status } = await davClient(at, s3Key.key)('PUT', `/${slug}${path}`, { body: bytes(size) })
    return status === 507 ? 'QUOTA_EXCEEDED' : status < 300 ? 'OK' : String(status)
  },
  S3: async (_at, path, size) => {
    const client = s3Client()
    try {
      await client.send(new PutObjectCommand({ Bucket: slug, Key: path.slice(1), Body: bytes(size) }))
      return 'OK'
    } catch (error) {
      return (error as Error).name === 'QuotaExceeded' ? 'QUOTA_EXCEEDED' : String(error)
    } finally {
      client.destroy()
    }
  },
  SFTP: async (at, path, size) => {
    const sftp = await sftpOf(at)
    let handle: Buffer | null = null
    try {
      handle = (await done(sftp.request(3, text(`/${slug}${path}`), uint32(2 | 8 | 16), noAttributes))).rest
      await done(sftp.request(6, handle, uint64(0), text(bytes(size))))
      await done(sftp.request(4, handle))
      return 'OK'
    } catch (error) {
      if (!(error instanceof Refused)) throw error
      if (handle) await sftp.request(4, handle)
      return /\((\w+)\)$/.exec(error.reply.message)?.[1] ?? error.reply.message
    }
  },
  MCP: async (at, path, size) => {
    const { path: to, ...init } = toolCall('write_file', { providerId, path, content: bytes(size) })
    return /"reason":"(\w+)"/.exec(await (await at.request(to, { ...init, token: s3Key.key })).text())?.[1] ?? 'OK'
  },
}

atNight(t, '100 uploads at once, over all endpoints of two replicas, store exactly what fits', async t => {
  const size = 1000
  await setQuota({ providerId, bytes: 37 * size })
  await counted()
  const names = Object.keys(ways)
  const results = await Promise.all(
    Array.from({ length: 100 }, async (_, index) => {
      const way = names[index % names.length] ?? ''
      return `${(await ways[way]?.(index % 2 === 0 ? app : replica, `/${index}.txt`, size)) ?? ''}`
    }),
  )
  t.equal(results.filter(result => result === 'OK').length, 37)
  t.same(new Set(results), new Set(['OK', 'QUOTA_EXCEEDED']))
  const expected = { usedBytes: 37 * size, usedFiles: 37 }
  t.same(await onDisk(), expected)
  t.match(await quotaAt('/'), { ...expected, ...nothingReserved })
})

t.test('each way to store a file is bound, and says so', async t => {
  await setQuota({ providerId, bytes: 2500, files: 2 })
  await counted()
  for (const [name, store] of Object.entries(ways)) {
    t.equal(await store(app, '/large.txt', 2501), 'QUOTA_EXCEEDED', `${name}: too large`)
    t.equal(await store(app, '/small.txt', 100), 'OK', name)
    t.match(await quotaAt('/'), { usedBytes: 100, usedFiles: 1, ...nothingReserved }, name)
    await app.ask(
      change('delete', 'DeleteInput', 'deletedPath'),
      { input: { providerId, path: '/small.txt' } },
      owner.token,
    )
    t.match(await quotaAt('/'), { usedBytes: 0, usedFiles: 0, ...nothingReserved }, `${name}: deleted`)
  }
  const dav = davClient(app, s3Key.key)
  const body = propfindOf('D:quota-available-bytes', 'D:quota-used-bytes')
  const [top] = await resourcesIn(await dav('PROPFIND', `/${slug}/`, { headers: { depth: '0' }, body }))
  t.match(top?.found, { 'quota-used-bytes': '0', 'quota-available-bytes': '2500' })
  t.match((await dav('PUT', `/${slug}/large`, { body: bytes(2501) })).text, /<D:quota-not-exceeded\/>/)
  t.equal(await put('/a', 1), 'OK')
  t.equal(await put('/b', 1), 'OK')
  const refused = await app.upload(owner.token, providerId, '/c', 'x')
  t.match(
    [refused.status, await refused.json()],
    [507, { errors: [{ extensions: { leftBytes: 2498, leftFiles: 0 } }] }],
  )
  const share = await makeShare(app, owner.token, { providerId, path: '/', kind: 'DROP' })
  t.equal((await drop(app, share.link, '/d.txt', bytes(10))).reason, 'QUOTA_EXCEEDED')
})

t.test('a replacement is charged by its difference, after it succeeded', async t => {
  await setQuota({ providerId, bytes: 1000 })
  await counted()
  t.equal(await put('/a', 900), 'OK')
  t.equal(await put('/a', 1001), 'QUOTA_EXCEEDED')
  t.match(await quotaAt('/'), { usedBytes: 900, ...nothingReserved })
  t.equal(await put('/a', 1000), 'OK')
  t.equal(await put('/a', 10), 'OK')
  t.equal(await put('/a', 50, { query: '' }), 'ALREADY_EXISTS')
  t.match(await quotaAt('/'), { usedBytes: 10, usedFiles: 1, ...nothingReserved })
  // A lower limit deletes nothing, and lets files become smaller.
  await setQuota({ providerId, bytes: 5 })
  t.equal(await put('/b', 0), 'OK')
  t.equal(await put('/a', 11), 'QUOTA_EXCEEDED')
  t.equal(await put('/a', 9), 'OK')
})

t.test('a body of unknown size ends when no space is left', async t => {
  await setQuota({ providerId, bytes: 3_000_000 })
  await counted()
  let sent = 0
  const endless = Readable.from(
    (function* () {
      for (; sent < 50_000_000; sent += 65536) yield Buffer.alloc(65536)
    })(),
  )
  const response = await app
    .upload(owner.token, providerId, '/endless', Readable.toWeb(endless) as BodyInit)
    .then(reasonOf, error => String(error.cause?.code ?? error))
  t.match(response, /QUOTA_EXCEEDED|UND_ERR_SOCKET|EPIPE|ECONNRESET/)
  t.ok(sent < 20_000_000, `${sent} bytes were sent`)
  await until(async () => (await quotaAt('/')).reservedBytes === 0)
  t.match(await quotaAt('/'), { usedBytes: 0, usedFiles: 0, ...nothingReserved })
  t.same(await onDisk(), { usedBytes: 0, usedFiles: 0 })
})

atNight(t, 'folders count what is below them, and entries take what they count with them', async t => {
  await mkdir(join(root, 'team'))
  await mkdir(join(root, 'other'))
  await setQuota({ providerId, path: '/team', bytes: 100 })
  await setQuota({ providerId, bytes: 1000 })
  await counted('/team')
  t.equal(await put('/team/a', 60), 'OK')
  t.equal(await put('/team/b', 60), 'QUOTA_EXCEEDED')
  t.equal(await put('/other/b', 60), 'OK')
  const move = (path: string, toPath: string) =>
    app.graphql(change('move', 'MoveInput'), { input: { providerId, path, toPath, conflict: 'REPLACE' } }, owner.token)
  t.match((await move('/other', '/team/other')).errors[0]?.extensions, { reason: 'QUOTA_EXCEEDED', leftBytes: 40 })
  t.match(await quotaAt('/'), { usedBytes: 120, usedFiles: 2, ...nothingReserved })
  t.same((await move('/team/a', '/a')).errors, [])
  t.same((await move('/other', '/team/other')).errors, [])
  t.match(await quotaAt('/team'), { usedBytes: 60, usedFiles: 1, ...nothingReserved })
  t.same((await move('/a', '/team/other/b')).errors, [])
  t.match(await quotaAt('/team'), { usedBytes: 60, usedFiles: 1, ...nothingReserved })
  t.match(await quotaAt('/'), { usedBytes: 60, usedFiles: 1, ...nothingReserved })
  t.match(await jobOf({ kind: 'DELETE', sources: [{ providerId, path: '/team/other' }] }), { state: 'SUCCEEDED' })
  t.match(await quotaAt('/team'), { usedBytes: 0, usedFiles: 0, ...nothingReserved })
})

t.test('a member is charged for what they created until somebody deletes or replaces it', async t => {
  await setQuota({ userId: anna.id, bytes: 100, files: 3 })
  t.equal(await put('/a', 60, { by: anna }), 'OK')
  t.equal(await put('/b', 60, { by: anna }), 'QUOTA_EXCEEDED')
  t.equal(await put('/b', 60), 'OK', 'others are not bound')
  const input = { providerId, path: '/a', toPath: '/moved' }
  await app.ask(change('move', 'MoveInput'), { input }, owner.token)
  t.match(await quotaOf(anna), { usedBytes: 60, usedFiles: 1 }, 'a move keeps it')
  await app.ask(change('copy', 'CopyInput'), { input: { providerId, path: '/moved', toPath: '/copy' } }, owner.token)
  t.match(await quotaOf(anna), { usedBytes: 60, usedFiles: 1 }, 'a copy charges the copier')
  const { errors } = await app.graphql(
    change('copy', 'CopyInput'),
    { input: { providerId, path: '/moved', toPath: '/mine' } },
    anna.token,
  )
  t.match(errors[0]?.extensions, { reason: 'QUOTA_EXCEEDED', leftBytes: 40, leftFiles: 2 })
  t.equal(await put('/moved', 10), 'OK')
  t.match(await quotaOf(anna), { usedBytes: 0, usedFiles: 0, ...nothingReserved }, 'the file was replaced')
})

atNight(t, 'the trash counts until it is emptied', async t => {
  const trashed = await app.replica({ settings: { trashDays: 30 } })
  await setQuota({ providerId, bytes: 100 })
  await counted()
  await put('/folder/a', 60)
  const remove = async () =>
    (
      await trashed.ask(
        change('delete', 'DeleteInput', 'trashItem { id }'),
        { input: { providerId, path: '/folder', recursive: true } },
        owner.token,
      )
    ).delete.trashItem
  const item = await remove()
  t.match(await quotaAt('/'), { usedBytes: 60, usedFiles: 1, ...nothingReserved })
  t.equal(await put('/b', 60), 'QUOTA_EXCEEDED')
  await trashed.ask(change('restore', 'RestoreInput'), { input: { id: item.id } }, owner.token)
  t.match(await quotaAt('/'), { usedBytes: 60, usedFiles: 1, ...nothingReserved })
  await remove()
  await trashed.ask('mutation ($id: ID!) { emptyTrash(providerId: $id) }', { id: providerId }, owner.token)
  await until(async () => (await quotaAt('/')).usedBytes === 0)
  t.match(await quotaAt('/'), { usedBytes: 0, usedFiles: 0 })
})

t.test('a resumable upload reserves its size when it is created', async t => {
  await setQuota({ providerId, bytes: 100 })
  await counted()
  const create = (length: number, path: string) =>
    app.request(tusPath, {
      method: 'POST',
      token: owner.token,
      headers: {
        'tus-resumable': '1.0.0',
        'upload-length': String(length),
        'upload-metadata': metadataHeader({ providerId, path }),
      },
    })
  const first = await create(60, '/first')
  t.equal(first.status, 201)
  t.match(await quotaAt('/'), { usedBytes: 0, reservedBytes: 60, reservedFiles: 1 })
  t.equal((await create(60, '/second')).status, 413)
  const headers = { 'tus-resumable': '1.0.0' }
  const ended = await fetch(new URL(first.headers.get('location') ?? '', app.url), {
    method: 'DELETE',
    headers: { ...headers, authorization: `Bearer ${owner.token}` },
  })
  t.equal(ended.status, 204)
  t.match(await quotaAt('/'), { usedBytes: 0, ...nothingReserved })
})

atNight(t, 'parts reserve their bytes, and an aborted upload frees them', async t => {
  await setQuota({ providerId, bytes: 12_000_000 })
  await counted()
  const client = s3Client()
  t.teardown(() => client.destroy())
  const at = { Bucket: slug, Key: 'parts' }
  const part = bytes(5 * 1024 * 1024)
  const begin = async () => (await client.send(new CreateMultipartUploadCommand(at))).UploadId
  const send = (UploadId: string | undefined, PartNumber: number) =>
    client.send(new UploadPartCommand({ ...at, UploadId, PartNumber, Body: part }))
  const upload = await begin()
  await send(upload, 1)
  t.match(await quotaAt('/'), { usedBytes: 0, reservedBytes: part.length, reservedFiles: 1 })
  const other = await begin()
  await send(other, 1)
  await t.rejects(send(other, 2), { name: 'QuotaExceeded', $metadata: { httpStatusCode: 403 } })
  await client.send(new AbortMultipartUploadCommand({ ...at, UploadId: other }))
  t.match(await quotaAt('/'), { reservedBytes: part.length, reservedFiles: 1 })
  const { ETag } = await send(upload, 2)
  const Parts = [
    { PartNumber: 1, ETag },
    { PartNumber: 2, ETag },
  ]
  await client.send(new CompleteMultipartUploadCommand({ ...at, UploadId: upload, MultipartUpload: { Parts } }))
  t.match(await quotaAt('/'), { usedBytes: 2 * part.length, usedFiles: 1, ...nothingReserved })
})

t.test('of the requests that share a statement, each has its own outcome', async t => {
  await setQuota({ providerId, bytes: 100 })
  await counted()
  const { rows } = await sql<{ id: string }>`select workspace_id as id from providers where id = ${providerId}`.execute(
    app.db,
  )
  const request = (id: string, size: number, other: Partial<QuotaRequest> = {}): QuotaRequest => ({
    id,
    providerId,
    workspaceId: rows[0]?.id ?? '',
    path: 'a' as StoragePath,
    userId: anna.id,
    isTree: false,
    bytes: size,
    adds: true,
    files: 0,
    keepsReplaced: false,
    isFinal: false,
    isRunning: true,
    ...other,
  })
  const answers = await reserveQuota(app.db, randomUUID(), [
    request('aborted', -10, { uploadId: 'aborted' }),
    request('disconnected', 10, { providerId: randomUUID() }),
    request('parts', 60),
    request('parts', 60),
    request('other', 30),
  ])
  t.same(
    answers.map(({ refusals: [refusal] }) => refusal?.leftBytes ?? null),
    [null, null, null, 100, null],
  )
  t.match(await quotaAt('/'), { reservedBytes: 90 })
  for (const id of ['parts', 'other']) await dropQuotaChange(app.db, id)
  t.match(await quotaAt('/'), nothingReserved)
})

atNight(t, 'a deadlock of statements loses nothing of what they count', async t => {
  await setQuota({ providerId, bytes: 100 })
  await counted()
  // The first attempt fails of the statements that reserve, that end an upload, and that end a deletion.
  await sql`create sequence charges`.execute(app.db)
  await sql`
    create function end_some() returns trigger language plpgsql as $$
    begin
      if nextval('charges') in (1, 3, 6) then raise 'deadlock detected' using errcode = 'deadlock_detected'; end if;
      return new;
    end $$`.execute(app.db)
  await sql`create trigger end_some before update on quota_rules for each row execute function end_some()`.execute(
    app.db,
  )
  t.teardown(async () => {
    await sql`drop function end_some cascade`.execute(app.db)
    await sql`drop sequence charges`.execute(app.db)
  })
  t.equal(await put('/a', 60), 'OK')
  t.match(await quotaAt('/'), { usedBytes: 60, usedFiles: 1, ...nothingReserved })
  const input = { providerId, path: '/a' }
  await app.ask(change('delete', 'DeleteInput', 'deletedPath'), { input }, owner.token)
  t.match(await quotaAt('/'), { usedBytes: 0, usedFiles: 0, ...nothingReserved })
  const { rows } = await sql`select last_value as charges from charges`.execute(app.db)
  t.same(rows, [{ charges: '7' }])
})

atNight(t, 'a job stores what fits, and lists the rest', async t => {
  await mkdir(join(root, 'from'))
  for (const name of ['a', 'b', 'c', 'd']) await writeFile(join(root, 'from', name), bytes(10))
  await setQuota({ providerId, bytes: 65 })
  t.match(await counted(), { usedBytes: 40, usedFiles: 4 })
  const copied = await jobOf({
    kind: 'COPY',
    sources: [{ providerId, path: '/from' }],
    target: { providerId, path: '/to' },
  })
  t.same(copied.failures, ['QUOTA_EXCEEDED', 'QUOTA_EXCEEDED'])
  t.match(await quotaAt('/'), { usedBytes: 60, usedFiles: 6, ...nothingReserved })
  t.same(await onDisk(), { usedBytes: 60, usedFiles: 6 })
})

t.test('a count corrects what changed outside, and direct uploads pass through the server', async t => {
  await mkdir(join(root, 'below'))
  await writeFile(join(root, 'below', 'before'), bytes(30))
  await setQuota({ providerId, bytes: 100 })
  t.match(await counted(), { usedBytes: 30, usedFiles: 1 })
  await put('/through', 20)
  await writeFile(join(root, 'outside'), bytes(5))
  await writeFile(join(root, 'through'), bytes(7))
  await rm(join(root, 'below'), { recursive: true })
  await sql`update quota_counts set counted_at = null, due_at = now() where id = ${providerId}`.execute(app.db)
  await setQuota({ providerId, bytes: 200 })
  t.match(await counted(), { usedBytes: 12, usedFiles: 2, ...nothingReserved })
})

atNight(t, 'a count keeps what it knows of a folder that refuses to be listed', async t => {
  providerId = await app.connectProvider(owner.token, 'faulty', { name: 'faulty' }, 'faulty')
  await setQuota({ providerId, bytes: 100 })
  await counted()
  t.equal(await put('/closed/below/a', 60), 'OK')
  let refusals = 0
  t.teardown(() => {
    faults.before = () => {}
  })
  faults.before = ({ method, path }) => {
    if (method !== 'list' || path !== 'closed') return
    refusals += 1
    throw new StorageError('PERMISSION_DENIED', 'Closed.')
  }
  await sql`update quota_counts set counted_at = null, due_at = now() where id = ${providerId}`.execute(app.db)
  await setQuota({ providerId, bytes: 200 })
  t.match(await counted(), { usedBytes: 60, usedFiles: 1, ...nothingReserved })
  t.ok(refusals > 0)
})

atNight(t, 'a count keeps what it knows if the root is gone', async t => {
  const away = faultyAdapter()
  const app = await startApp(t, { adapters: [away] })
  const { token } = await app.register('owner@example.org')
  const id = await app.connectProvider(token, 'faulty', { name: 'faulty' })
  const set = 'mutation ($input: SetQuotaInput!) { setQuota(input: $input) { id } }'
  await app.ask(set, { input: { providerId: id, bytes: 100 } }, token)
  const find = async (): Promise<Data> =>
    (await app.ask(`query ($id: ID!) { provider(id: $id) { quotaRule { ${sums} } } }`, { id }, token)).provider
      .quotaRule
  await until(async () => (await find()).isExact)
  t.equal(await reasonOf(await app.upload(token, id, '/a', bytes(60))), 'OK')
  away.before = ({ method, path }) => {
    if (method === 'list' && path === '') throw new StorageError('NOT_FOUND', 'Gone.')
  }
  await sql`update quota_counts set counted_at = null, due_at = now()`.execute(app.db)
  await app.ask(set, { input: { providerId: id, bytes: 200 } }, token)
  const later = sql`select 1 from quota_counts where lease_id is null and due_at > now() + interval '5 minutes'`
  await until(async () => (await later.execute(app.db)).rows.length === 1)
  t.match(await find(), { usedBytes: 60, usedFiles: 1, isExact: false })
})

t.test('what changed while no quota applied is counted again', async t => {
  await setQuota({ providerId, bytes: 100 })
  await counted()
  await put('/a', 10)
  await setQuota({ providerId, bytes: null })
  await put('/a', 30)
  await setQuota({ providerId, bytes: 100 })
  t.match(await counted(), { usedBytes: 30, usedFiles: 1, ...nothingReserved })
})

t.test('nobody learns sums of what they cannot access', async t => {
  await mkdir(join(root, 'team'))
  const all = await setQuota({ providerId, bytes: 100 })
  const team = await setQuota({ providerId, path: '/team', bytes: 50 })
  await setQuota({ userId: anna.id, bytes: 1000 })
  await counted()
  const restrictions = [{ providerId, basePath: '/team' }]
  const { key } = await app.createKey(anna.token, {
    name: 'team',
    scopes: ['write'],
    providerAccess: { restrictions },
  })
  const seen = `{ quotas(first: 10) { nodes { id } } viewer { user { quotaRule { id } } } }`
  const { quotas: visible, viewer } = await app.ask(seen, {}, key)
  t.same([visible.nodes, viewer.user.quotaRule], [[{ id: team.id }], null])
  const query = 'query ($id: ID!) { provider(id: $id) { quotaRule { id } } }'
  t.same((await app.ask(query, { id: providerId }, key)).provider.quotaRule, null)
  t.same((await app.ask(query, { id: providerId }, anna.token)).provider.quotaRule, { id: all.id })
  const factsOf = async (size: number) =>
    (await (await app.upload(key, providerId, '/team/a', bytes(size))).json()).errors[0].extensions
  t.match(await factsOf(60), { reason: 'QUOTA_EXCEEDED', leftBytes: 50 })
  await put('/other', 90)
  const refused = await factsOf(20)
  t.match(refused, { reason: 'QUOTA_EXCEEDED' })
  t.notOk('leftBytes' in refused)
  const ownQuota = (await app.ask('{ viewer { user { quotaRule { bytes isExact } } } }', {}, anna.token)).viewer.user
  t.match(ownQuota.quotaRule, { bytes: 1000 })
  t.match(
    (
      await app.graphql(
        'mutation ($input: SetQuotaInput!) { setQuota(input: $input) { id } }',
        { input: { providerId, bytes: null } },
        anna.token,
      )
    ).errors[0]?.extensions,
    { reason: 'SCOPE_REQUIRED' },
  )
})

t.test('hostile paths and numbers are refused', async t => {
  const set = 'mutation ($input: SetQuotaInput!) { setQuota(input: $input) { id } }'
  const reason = async (input: object) =>
    (await app.graphql(set, { input }, owner.token)).errors[0]?.extensions.reason ?? 'OK'
  for (const path of [
    '/../x',
    '/a\u0000b',
    '/.stowage-trash',
    '/.stowage-trash/x',
    'x',
    '/a//b',
    `/${'a'.repeat(5000)}`,
  ]) {
    t.equal(await reason({ providerId, path, bytes: 1 }), 'INVALID_PATH', JSON.stringify(path.slice(0, 20)))
  }
  for (const input of [{ bytes: -1 }, { files: -1 }, { path: '/', userId: anna.id, bytes: 1 }, {}]) {
    t.equal(
      await reason({ providerId, ...input }),
      input.bytes === undefined && input.files === undefined ? 'NOT_FOUND' : 'INVALID_INPUT',
    )
  }
  for (const id of [randomUUID(), 'x', '']) t.equal(await reason({ providerId: id, bytes: 1 }), 'NOT_FOUND')
  t.same(await quotas(), [])
})

t.test('without a quota, a change costs no query', async t => {
  const queries: string[] = []
  const watched = await app.replica({ settings: { workers: 0 }, onQuery: ({ sql }) => queries.push(sql) })
  await put('/a', 10, { at: watched })
  t.equal(queries.filter(query => query.includes('quota_rules')).length > 0, true, 'the process has looked once')
  await until(async () => {
    queries.length = 0
    await put('/b', 10, { at: watched })
    return queries.every(query => !query.includes('quota')) || queries
  })
})

t.test('the servers report no failure', async t => {
  for (const { logged } of [app, replica]) t.notMatch(logged(), /"level":50/)
})
