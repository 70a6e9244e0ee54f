/** What quotas count when changes meet, fail or are interrupted, and what versions, the trash and moves count. */
import { randomUUID } from 'node:crypto'
import { mkdir, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { CreateMultipartUploadCommand, S3Client, UploadPartCommand } from '@aws-sdk/client-s3'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { localAdapter } from '../../adapters/backends/local/index.ts'
import { StorageError } from '../../adapters/contract.ts'
import type { StoragePath } from '../../src/auth/path.ts'
import { doubtQuotaChange } from '../../src/db/quotas/changes.ts'
import { requestCount } from '../../src/db/quotas/counts.ts'
import { metadataHeader, tusPath } from '../http/tus.ts'
import { startApp } from '../support/app.ts'
import type { Data } from '../support/client.ts'
import { atNight, inTurn } from '../support/extent.ts'
import { faultyAdapter } from '../support/faulty-adapter.ts'
import { until } from '../support/until.ts'

const faults = faultyAdapter()
const app = await startApp(t, {
  adapters: folder => [localAdapter({ localRoots: [folder], dataFolder: join(folder, 'data') }), faults],
})
const owner = await app.register('owner@example.org')
const { createInvite } = await app.ask(
  'mutation { createInvite(input: { role: EDITOR, providerAccess: { all: true } }) { invite } }',
  {},
  owner.token,
)
const anna = await app.register('anna@example.org', { invite: createInvite.invite })
const { rows: workspaces } = await sql<{ id: string }>`select id from workspaces`.execute(app.db)
const workspaceId = workspaces[0]?.id ?? ''

let lastName = 0

/** Connects a storage in memory, which neither moves nor copies in one step. */
async function memory(): Promise<{ id: string; name: string }> {
  const name = `memory-${++lastName}`
  return { id: await app.connectProvider(owner.token, 'faulty', { name }, name), name }
}

async function disk(): Promise<{ id: string; name: string; root: string }> {
  const name = `disk-${++lastName}`
  const root = join(app.folder, name)
  await mkdir(root)
  return { id: await app.connectProvider(owner.token, 'local', { root }, name), name, root }
}

async function setQuota(input: object): Promise<void> {
  await app.ask('mutation ($input: SetQuotaInput!) { setQuota(input: $input) { id } }', { input }, owner.token)
}

const sums = 'usedBytes usedFiles reservedBytes reservedFiles isExact'

async function quotaAt(id: string, path = '/'): Promise<Data> {
  const query = `query ($id: ID!) { quotas(first: 100, providerId: $id) { nodes { path ${sums} } } }`
  const { quotas } = await app.ask(query, { id }, owner.token)
  return quotas.nodes.find((quota: Data) => quota.path === path)
}

async function usedBy({ id }: { id: string }): Promise<number> {
  const { quotas } = await app.ask(`{ quotas(first: 100) { nodes { member { id } ${sums} } } }`, {}, owner.token)
  return quotas.nodes.find((quota: Data) => quota.member?.id === id).usedBytes
}

async function limited(id: string, bytes: number): Promise<void> {
  await setQuota({ providerId: id, bytes })
  await until(async () => (await quotaAt(id)).isExact)
}

/** Waits until no change is running or has to be looked at. */
async function settled(id: string): Promise<Data> {
  await until(async () => {
    const { rows } = await sql`select path, holder, due_at from quota_changes where provider_id = ${id}`.execute(app.db)
    return rows.length === 0 || rows
  })
  return quotaAt(id)
}

const bytes = (count: number) => 'x'.repeat(count)

async function reasonOf(response: Response): Promise<string> {
  const text = await response.text()
  return response.ok ? 'OK' : (/"reason":"(\w+)"/.exec(text)?.[1] ?? text)
}

async function put(id: string, path: string, size: number, by = owner): Promise<string> {
  return reasonOf(await app.upload(by.token, id, path, bytes(size), '&conflict=replace'))
}

async function change(name: string, input: object, select = 'path', by = owner): Promise<string> {
  const type = `${name[0]?.toUpperCase()}${name.slice(1)}Input`
  const mutation = `mutation ($input: ${type}!) { ${name}(input: $input) { ${select} } }`
  const { errors } = await app.graphql(mutation, { input }, by.token)
  return errors[0]?.extensions.reason ?? 'OK'
}

const remove = (providerId: string, path: string) => change('delete', { providerId, path }, 'deletedPath')
const move = (providerId: string, path: string, toPath: string) =>
  change('move', { providerId, path, toPath, conflict: 'REPLACE' })

/** Makes calls to the back end wait from now on. Returns a function that waits for the first one, and one that lets all continue. */
function gate(t: Test, when: 'before' | 'after', method: string, name: string) {
  const [arrived, opened] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  faults[when] = async call => {
    if (call.method !== method || call.provider !== name) return
    arrived.resolve()
    await opened.promise
  }
  const open = () => {
    faults[when] = () => {}
    opened.resolve()
  }
  t.teardown(open)
  return { arrived: arrived.promise, open }
}

async function versionsOf(id: string, path: string): Promise<string[]> {
  const query = 'query ($id: ID!, $path: String!) { versions(providerId: $id, path: $path) { nodes { id isCurrent } } }'
  const { versions } = await app.ask(query, { id, path }, owner.token)
  return versions.nodes.filter((version: Data) => !version.isCurrent).map((version: Data) => version.id)
}

async function keepVersions(id: string): Promise<void> {
  const input = { id, versionCount: 5 }
  await app.ask(
    'mutation ($input: UpdateProviderInput!) { updateProvider(input: $input) { id } }',
    { input },
    owner.token,
  )
}

async function recounted(id: string): Promise<Data> {
  await requestCount(app.db, id)
  // Any change of a quota wakes the server that counts.
  await setQuota({ userId: anna.id, bytes: 10_000 + ++lastName })
  await until(async () => (await quotaAt(id)).isExact)
  return quotaAt(id)
}

t.before(() => setQuota({ userId: anna.id, bytes: 10_000 }))

for (const [kind, connect] of inTurn(Object.entries({ 'at a disk': disk, 'where each one is a copy': memory }))) {
  t.test(`versions count, and charge who created them: ${kind}`, async t => {
    const { id } = await connect()
    await keepVersions(id)
    await limited(id, 200)
    const before = await usedBy(anna)
    t.equal(await put(id, '/a', 60, anna), 'OK')
    t.equal(await put(id, '/a', 50), 'OK')
    t.match(await settled(id), { usedBytes: 110, usedFiles: 2, reservedBytes: 0, reservedFiles: 0 })
    t.equal((await usedBy(anna)) - before, 60, 'a version stays with its creator')
    t.equal(await put(id, '/a', 91), 'QUOTA_EXCEEDED', 'what it replaces stays')
    t.match(await recounted(id), { usedBytes: 110, usedFiles: 2 })
    const [version = ''] = await versionsOf(id, '/a')
    t.equal(await change('restoreVersion', { id: version, conflict: 'RENAME' }), 'OK')
    t.match(await settled(id), { usedBytes: 110, usedFiles: 2, reservedBytes: 0, reservedFiles: 0 })
    t.equal((await usedBy(anna)) - before, 60)
    t.equal(await remove(id, '/a'), 'OK')
    t.match(await settled(id), { usedBytes: 110, usedFiles: 2 }, 'a deleted file is a version')
    const [last = ''] = await versionsOf(id, '/a')
    await app.ask('mutation ($id: ID!) { deleteVersion(id: $id) }', { id: last }, owner.token)
    await until(async () => (await quotaAt(id)).usedBytes === 60)
  })
}

atNight(t, 'a version charges whoever stored the content, also before the file is charged', async t => {
  const { id } = await disk()
  await keepVersions(id)
  await limited(id, 1000)
  const before = await usedBy(anna)
  t.equal(await put(id, '/late', 60), 'OK')
  // As if an upload by Anna had stored this content, and had met another one.
  await sql`
    insert into quota_changes (id, provider_id, workspace_id, user_id, path, is_tree, bytes, stored_size, rules, rule_bytes, rule_files,
      due_at)
    values (${randomUUID()}, ${id}, ${workspaceId}, ${anna.id}, '/late/', false, 0, 60, '{}', '{}', '{}',
      now() + interval '1 hour')`.execute(app.db)
  t.equal(await put(id, '/late', 50), 'OK')
  await sql`update quota_changes set due_at = now() where provider_id = ${id}`.execute(app.db)
  t.match(await settled(id), { usedBytes: 110, usedFiles: 2, reservedBytes: 0, reservedFiles: 0 })
  t.equal((await usedBy(anna)) - before, 60)
})

t.test('of a deletion and an upload at once, the back end decides which came last', async t => {
  const { id, name } = await memory()
  await limited(id, 200)
  const stored = gate(t, 'after', 'write', name)
  const storing = put(id, '/deleted', 60)
  await stored.arrived
  t.equal(await remove(id, '/deleted'), 'OK')
  stored.open()
  t.equal(await storing, 'OK')
  t.match(await settled(id), { usedBytes: 0, usedFiles: 0, reservedBytes: 0, reservedFiles: 0 })
  t.equal(await put(id, '/stored', 60), 'OK')
  const deleted = gate(t, 'after', 'delete', name)
  const deleting = remove(id, '/stored')
  await deleted.arrived
  t.equal(await put(id, '/stored', 50, anna), 'OK')
  deleted.open()
  t.equal(await deleting, 'OK')
  t.match(await settled(id), { usedBytes: 50, usedFiles: 1, reservedBytes: 0, reservedFiles: 0 })
})

atNight(t, 'a file that is moved away gives nothing to an upload that replaces it', async t => {
  const { id, name } = await memory()
  await limited(id, 100)
  t.equal(await put(id, '/f', 60), 'OK')
  const writing = gate(t, 'before', 'write', name)
  const replacing = put(id, '/f', 60)
  await writing.arrived
  t.equal(await move(id, '/f', '/g'), 'QUOTA_EXCEEDED')
  writing.open()
  t.equal(await replacing, 'OK')
  t.equal(await move(id, '/f', '/g'), 'OK')
  t.match(await settled(id), { usedBytes: 60, usedFiles: 1, reservedBytes: 0, reservedFiles: 0 })
  // What the upload counts on can also be gone because a count did not find it.
  const rest = Promise.withResolvers<void>()
  const begun = Promise.withResolvers<void>()
  const body = Readable.from(
    (async function* () {
      yield bytes(30)
      begun.resolve()
      await rest.promise
      yield bytes(30)
    })(),
  )
  const uncovered = app.upload(owner.token, id, '/g', Readable.toWeb(body) as BodyInit, '&conflict=replace')
  await begun.promise
  await until(async () => (await sql`select from quota_changes where bytes > 0`.execute(app.db)).rows.length === 1)
  await sql`update quota_files set path = '/elsewhere/' where provider_id = ${id}`.execute(app.db)
  rest.resolve()
  t.equal(await uncovered.then(reasonOf), 'QUOTA_EXCEEDED')
})

atNight(t, 'opposite moves and replacements at once lose nothing', async t => {
  const { id, root } = await disk()
  await mkdir(join(root, 'x'))
  await mkdir(join(root, 'y'))
  await setQuota({ providerId: id, path: '/x', bytes: 1000 })
  await setQuota({ providerId: id, path: '/y', bytes: 1000 })
  await limited(id, 10_000)
  for (const name of ['a', 'b']) t.equal(await put(id, `/${name === 'a' ? 'x' : 'y'}/${name}`, 10, anna), 'OK')
  await Promise.all(
    Array.from({ length: 12 }, (_, index) => [
      move(id, index % 2 === 0 ? '/x/a' : '/y/a', index % 2 === 0 ? '/y/a' : '/x/a'),
      move(id, index % 2 === 0 ? '/y/b' : '/x/b', index % 2 === 0 ? '/x/b' : '/y/b'),
      put(id, '/x/both', index, index % 2 === 0 ? anna : owner),
      put(id, '/y/both', index, index % 2 === 0 ? owner : anna),
    ]).flat(),
  )
  const files = (await readdir(root, { recursive: true, withFileTypes: true })).filter(entry => entry.isFile())
  const sizes = await Promise.all(files.map(async file => (await stat(join(file.parentPath, file.name))).size))
  const usedBytes = sizes.reduce((sum, size) => sum + size, 0)
  t.match(await settled(id), { usedBytes, usedFiles: files.length, reservedBytes: 0, reservedFiles: 0 })
  const [x, y] = [await quotaAt(id, '/x'), await quotaAt(id, '/y')]
  t.equal(x.usedBytes + y.usedBytes, usedBytes)
})

t.test('what is running when a quota is created counts', async t => {
  const { id, name } = await memory()
  t.equal(await put(id, '/old', 60), 'OK')
  const deleting = gate(t, 'before', 'delete', name)
  const deleted = remove(id, '/old')
  await deleting.arrived
  await limited(id, 100)
  t.match(await quotaAt(id), { usedBytes: 60 })
  deleting.open()
  t.equal(await deleted, 'OK')
  await until(async () => (await quotaAt(id)).usedBytes === 0)
})

atNight(t, 'a count goes on when somebody wants another one, which follows', async t => {
  const { id, name } = await memory()
  await limited(id, 100)
  const listing = gate(t, 'before', 'list', name)
  faults.calls.length = 0
  await requestCount(app.db, id)
  await setQuota({ userId: anna.id, bytes: 5000 })
  await listing.arrived
  await requestCount(app.db, id)
  listing.open()
  await until(async () => (await quotaAt(id)).isExact)
  t.equal(faults.calls.filter(call => call.method === 'list' && call.provider === name).length, 2)
})

t.test('a move in steps is a move: in a full storage, with its charge, to the trash and back', async t => {
  const { id } = await memory()
  await app.ask(
    'mutation ($input: UpdateProviderInput!) { updateProvider(input: $input) { id } }',
    { input: { id, trashDays: 3 } },
    owner.token,
  )
  await app.ask(
    'mutation ($input: CreateFolderInput!) { createFolder(input: $input) { path } }',
    { input: { providerId: id, path: '/team' } },
    owner.token,
  )
  await setQuota({ providerId: id, path: '/team', bytes: 60 })
  await limited(id, 60)
  const before = await usedBy(anna)
  t.equal(await put(id, '/team/a', 60, anna), 'OK')
  t.equal(await move(id, '/team/a', '/team/b'), 'OK')
  t.equal((await usedBy(anna)) - before, 60)
  t.equal(await change('delete', { providerId: id, path: '/team/b' }, 'trashItem { id }'), 'OK')
  t.match(await settled(id), { usedBytes: 60, usedFiles: 1, reservedBytes: 0 })
  t.match(await quotaAt(id, '/team'), { usedBytes: 60 }, 'the trash counts where its files were')
  const { trash } = await app.ask(
    'query ($id: ID!) { trash(providerId: $id, first: 1) { nodes { id } } }',
    { id },
    owner.token,
  )
  t.equal(await change('restore', { id: trash.nodes[0].id }), 'OK')
  t.match(await settled(id), { usedBytes: 60, usedFiles: 1, reservedBytes: 0 })
  t.equal((await usedBy(anna)) - before, 60)
})

atNight(t, 'a part that is sent again needs its space once', async t => {
  const { id, name } = await memory()
  await limited(id, 12_000_000)
  const select = 's3 { accessKeyId secretAccessKey endpoint }'
  const { createApiKey } = await app.ask(
    `mutation { createApiKey(input: { name: "s3", scopes: [write] }) { ${select} } }`,
    {},
    owner.token,
  )
  const { endpoint, ...credentials } = createApiKey.s3
  const client = new S3Client({ endpoint, region: 'us-east-1', credentials, forcePathStyle: true, maxAttempts: 1 })
  t.teardown(() => client.destroy())
  const at = { Bucket: name, Key: 'parts' }
  const { UploadId } = await client.send(new CreateMultipartUploadCommand(at))
  for (const letter of ['a', 'b', 'b']) {
    const Body = letter.repeat(5 * 1024 * 1024)
    await client.send(new UploadPartCommand({ ...at, UploadId, PartNumber: 2, Body }))
    t.match(await quotaAt(id), { reservedBytes: 5 * 1024 * 1024 }, letter)
  }
})

t.test('a new storage is counted where a quota of a member applies', async () => {
  const { id } = await memory()
  await until(async () => {
    const { rows } = await sql`select 1 from quota_counts where id = ${id}`.execute(app.db)
    return rows.length === 1
  })
})

atNight(t, 'a look at the back end ends what was interrupted', async t => {
  const [moved, uploaded, silent, halfway] = [await memory(), await memory(), await memory(), await memory()]
  for (const { id } of [moved, uploaded, silent, halfway]) await limited(id, 100)
  const before = await usedBy(anna)

  // The response to the last step of a move is lost.
  t.equal(await put(moved.id, '/from', 60, anna), 'OK')
  const lose = (method: string, name: string) => {
    faults.after = call => {
      if (call.method === method && call.provider === name) throw new Error('The response is lost.')
    }
  }
  lose('delete', moved.name)
  t.equal(await move(moved.id, '/from', '/to'), 'BACK_END_FAULT')

  // The response of the back end to an upload is lost, and its client gives up.
  lose('write', uploaded.name)
  const created = await app.request(tusPath, {
    method: 'POST',
    token: owner.token,
    headers: {
      'tus-resumable': '1.0.0',
      'upload-length': '50',
      'upload-metadata': metadataHeader({ providerId: uploaded.id, path: '/lost' }),
    },
  })
  const address = new URL(created.headers.get('location') ?? '', app.url)
  const headers = { 'tus-resumable': '1.0.0', authorization: `Bearer ${owner.token}` }
  const sent = await fetch(address, {
    method: 'PATCH',
    headers: { ...headers, 'upload-offset': '0', 'content-type': 'application/offset+octet-stream' },
    body: bytes(50),
  })
  t.equal(sent.status, 502)
  t.equal((await fetch(address, { method: 'DELETE', headers })).status, 204)

  // A back end says nothing for a day, and a folder is deleted in part.
  faults.after = () => {}
  faults.before = ({ method, provider }) => {
    if (method === 'stat' && provider === silent.name) throw new StorageError('UNAVAILABLE', 'Away.')
  }
  const doubt = (providerId: string, path: string, isTree: boolean) =>
    doubtQuotaChange(app.db, {
      id: randomUUID(),
      providerId,
      workspaceId,
      userId: owner.id,
      path: path as StoragePath,
      isTree,
    })
  await doubt(silent.id, 'unknown', false)
  await sql`update quota_changes set begun_at = now() - interval '2 days' where provider_id = ${silent.id}`.execute(
    app.db,
  )
  t.equal(await put(halfway.id, '/folder/rest', 10), 'OK')
  await sql`update quota_files set size = 1000 where provider_id = ${halfway.id}`.execute(app.db)
  await doubt(halfway.id, 'folder', true)

  await sql`update quota_changes set due_at = now() where due_at is not null`.execute(app.db)
  t.match(await settled(moved.id), { usedBytes: 60, usedFiles: 1, reservedBytes: 0 })
  t.equal((await usedBy(anna)) - before, 60, 'the move has kept its charge')
  t.match(await settled(uploaded.id), { usedBytes: 50, usedFiles: 1, reservedBytes: 0 })
  await settled(silent.id)
  const { rows: wanted } =
    await sql`select 1 from quota_counts where id = ${silent.id} and wanted_at is not null`.execute(app.db)
  t.equal(wanted.length, 1)
  await settled(halfway.id)
  await until(async () => (await quotaAt(halfway.id)).usedBytes === 10)
  const { rows: marks } = await sql`select path from quota_marks`.execute(app.db)
  t.same(marks, [], 'marks are for counts that are running')
})
