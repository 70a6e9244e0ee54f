/** Earlier versions: what is replaced or deleted stays, whichever endpoint does it, and comes back. */
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { PutObjectCommand, S3Client } from '@aws-sdk/client-s3'
import { sql } from 'kysely'
import t from 'tap'
import { localAdapter } from '../../adapters/backends/local/index.ts'
import { memoryAdapter } from '../../adapters/backends/memory/index.ts'
import { type AdapterDefinition, StorageError } from '../../adapters/contract.ts'
import { send } from '../http/tus.ts'
import { startApp } from '../support/app.ts'
import { atNight } from '../support/extent.ts'
import { faultyAdapter } from '../support/faulty-adapter.ts'
import { toolCall } from '../support/mcp.ts'
import { until } from '../support/until.ts'
import { davClient } from '../webdav/client.ts'

/** A back end of all servers, which copies each file that it keeps. */
const shared = faultyAdapter()
/** Offers to copy and refuses it, as some services do if a file has the path. */
const refusing: AdapterDefinition = {
  ...(memoryAdapter as AdapterDefinition),
  type: 'refusing',
  open: async (config, host) =>
    Object.assign(await memoryAdapter.open(config as { maxBytes: number }, host), {
      async copy(): Promise<never> {
        throw new StorageError('NOT_IN_ONE_STEP', 'The service copies over no file.')
      },
    }),
}
const app = await startApp(t, {
  settings: { versionCount: 20, versionDays: 30 },
  adapters: folder => [
    localAdapter({ localRoots: [folder], dataFolder: '/nowhere' }) as AdapterDefinition,
    memoryAdapter as AdapterDefinition,
    shared,
    refusing,
  ],
})
const { token } = await app.register('owner@example.org')
const root = join(app.folder, 'disk')
await mkdir(root)
const disk = await app.connectProvider(token, 'local', { root }, 'Disk')
/** Copies each file that it keeps. */
const memory = await app.connectProvider(token, 'memory', {})
const update = `mutation ($input: UpdateProviderInput!) {
  updateProvider(input: $input) { versionCount versionDays versions { count days isOneStep } } }`
const set = async (id: string, input: object) =>
  (await app.ask(update, { input: { id, ...input } }, token)).updateProvider
await set(memory, { versionCount: 3 })

const versionsOf = `query ($providerId: ID!, $path: String!, $first: Int, $after: String) {
  versions(providerId: $providerId, path: $path, first: $first, after: $after) {
    nodes { id size modifiedAt isCurrent replacedBy { email } expiresAt } pageInfo { hasNextPage endCursor } } }`
const fileVersions = `query ($providerId: ID!, $path: String!, $first: Int, $after: String) {
  file(providerId: $providerId, path: $path) { versions(first: $first, after: $after) {
    nodes { id size isCurrent replacedAt } pageInfo { hasNextPage endCursor } } } }`
const restore = 'mutation ($input: RestoreVersionInput!) { restoreVersion(input: $input) { path modifiedAt } }'
const remove = 'mutation ($id: ID!) { deleteVersion(id: $id) }'
const deleteEntry = 'mutation ($input: DeleteInput!) { delete(input: $input) { deletedPath } }'
const moveEntry = 'mutation ($input: MoveInput!) { move(input: $input) { path } }'
const copyEntry = 'mutation ($input: CopyInput!) { copy(input: $input) { path } }'

interface Listed {
  id: string
  size: number
}
const earlier = async (path: string, providerId = disk): Promise<Listed[]> =>
  (await app.ask(versionsOf, { providerId, path }, token)).versions.nodes
async function put(path: string, content: string, providerId = disk): Promise<void> {
  const response = await app.upload(token, providerId, path, content, '&conflict=replace')
  if (!response.ok) throw new Error(await response.text())
}
const at = (path: string) => join(root, path)
const uuidOf = (id: string): string => JSON.parse(Buffer.from(id, 'base64url').toString())[0]
/** The contents of the versions of a file, the newest first. */
const contents = async (path: string) =>
  Promise.all((await earlier(path)).map(({ id }) => readFile(at(`.stowage-trash/${uuidOf(id)}`), 'utf8')))
const seed = async (path: string, content: string) => {
  await mkdir(dirname(at(path)), { recursive: true })
  await writeFile(at(path), content)
}
const reasonOf = async (document: string, variables: Record<string, unknown>, as = token) =>
  (await app.graphql(document, variables, as)).errors[0]?.extensions.reason
const kept = () => readdir(at('.stowage-trash')).catch(() => [])

t.test('a replaced file is kept with a hard link, and a new one is not', async t => {
  await put('/new.txt', 'one')
  t.same([await earlier('/new.txt'), await kept()], [[], []])
  const { ino, mtimeMs } = await stat(at('new.txt'))
  await put('/new.txt', 'second')
  const [version] = await earlier('/new.txt')
  t.match(version, {
    size: 3,
    isCurrent: false,
    // `mtime` is rounded to the nearest millisecond.
    modifiedAt: new Date(Math.floor(mtimeMs)).toISOString(),
    replacedBy: { email: 'owner@example.org' },
  })
  const { expiresAt } = version as unknown as { expiresAt: string }
  t.equal(Math.round((Date.parse(expiresAt) - Date.now()) / 86_400_000), 30)
  const { ino: keptIno, nlink } = await stat(at(`.stowage-trash/${uuidOf(version?.id ?? '')}`))
  t.same([keptIno, nlink], [ino, 1], 'the same file, without a copy')
  t.same([await readFile(at('new.txt'), 'utf8'), await contents('/new.txt')], ['second', ['one']])
  const download = async (path: string, id = version?.id ?? '') =>
    app.request(`/api/download/proxy?${new URLSearchParams({ providerId: disk, path, version: id })}`, { token })
  const response = await download('/new.txt')
  t.match(response.headers.get('content-disposition'), /new\.txt/)
  t.equal(await response.text(), 'one')
  t.same([(await download('/other.txt')).status, (await download('/new.txt', 'no id')).status], [404, 404])
  await put('/new.txt', 'third')
  const page = async (first: number, after: string | null = null) =>
    (await app.ask(fileVersions, { providerId: disk, path: '/new.txt', first, after }, token)).file.versions
  const first = await page(2)
  t.match(first.nodes, [
    { size: 5, isCurrent: true, replacedAt: null },
    { size: 6, isCurrent: false },
  ])
  const second = await page(2, first.pageInfo.endCursor)
  t.match([second.nodes, second.pageInfo.hasNextPage], [[{ size: 3 }], false])
  t.equal((await page(1, (await page(1)).pageInfo.endCursor)).nodes[0].size, 6)
})

t.test('a link downloads its version, as long as there is one and the credential may read it', async t => {
  const linked = `query ($providerId: ID!, $path: String!) {
    file(providerId: $providerId, path: $path) { versions(first: 5) { nodes { id isCurrent mimeType downloadUrl(inline: true) } } } }`
  const key = await app.createKey(token, { name: 'reader', scopes: ['read'] })
  const links = async (path: string) =>
    (await app.ask(linked, { providerId: disk, path }, key.key)).file.versions.nodes as {
      id: string
      mimeType: string
      downloadUrl: string
    }[]
  for (const content of ['one', 'two', 'three']) await put('/linked.txt', content)
  const [current, second, first] = await links('/linked.txt')
  const follow = (node: { downloadUrl: string } | undefined) => fetch(node?.downloadUrl ?? '')
  t.match([current, second, first], [{ isCurrent: true }, { mimeType: 'text/plain' }, { mimeType: 'text/plain' }])
  const responses = await Promise.all([current, second, first].map(follow))
  t.same(await Promise.all(responses.map(response => response.text())), ['three', 'two', 'one'])
  t.match(responses[1]?.headers.get('content-disposition'), /^inline.*linked\.txt/)
  await put('/linked.txt', 'four')
  t.same(await (await follow(current)).text(), 'four', 'the link of the current content follows the file')
  t.equal(await (await follow(second)).text(), 'two')
  await app.ask(remove, { id: first?.id }, token)
  t.equal((await follow(first)).status, 404)
  await app.ask(restore, { input: { id: second?.id } }, token)
  t.equal((await follow(second)).status, 404, 'it is no version any more')
  const [, restored] = await links('/linked.txt')
  await app.ask('mutation ($id: ID!) { revokeApiKey(id: $id) { id } }', { id: key.id }, token)
  t.equal((await follow(restored)).status, 401)
})

t.test('every endpoint keeps what it replaces', async t => {
  const key = await app.ask(
    `mutation { createApiKey(input: { name: "all", scopes: [write] }) { key s3 { accessKeyId secretAccessKey } } }`,
    {},
    token,
  )
  const { key: secret, s3 } = key.createApiKey
  const client = new S3Client({ endpoint: `${app.url}/s3`, region: 'us-east-1', forcePathStyle: true, credentials: s3 })
  t.teardown(() => client.destroy())
  const dav = davClient(app, secret)
  await seed('source.txt', 'source')
  const ways: Record<string, (path: string) => Promise<unknown>> = {
    async rest(path) {
      await put(path, 'new')
    },
    async 'rest, without a size'(path) {
      await app.upload(token, disk, path, new Blob(['new']).stream(), '&conflict=replace')
    },
    async 'a large file'(path) {
      await put(path, 'new'.repeat(100_000))
    },
    async tus(path) {
      const metadata = { providerId: disk, path, conflict: 'replace' }
      await send({ url: app.url, token, metadata }, Buffer.from('new'))
    },
    webdav: path => dav('PUT', `/disk${path}`, { body: 'new' }),
    s3: path => client.send(new PutObjectCommand({ Bucket: 'disk', Key: path.slice(1), Body: 'new' })),
    async copy(path) {
      const input = { providerId: disk, path: '/source.txt', toPath: path, conflict: 'REPLACE' }
      await app.ask(copyEntry, { input }, token)
    },
    async move(path) {
      await seed('moved.txt', 'moved')
      const input = { providerId: disk, path: '/moved.txt', toPath: path, conflict: 'REPLACE' }
      await app.ask(moveEntry, { input }, token)
    },
    webdavCopy: path =>
      dav('COPY', '/disk/source.txt', { headers: { destination: `${app.url}/dav/disk${path}`, overwrite: 'T' } }),
    mcp: path => {
      const { path: to, ...init } = toolCall('write_file', {
        providerId: disk,
        path,
        content: 'new',
        conflict: 'REPLACE',
      })
      return app.request(to, { ...init, token: secret })
    },
    async job(path) {
      await seed(`jobs${path}`, 'from a job')
      const input = {
        kind: 'COPY',
        sources: [{ providerId: disk, path: `/jobs${path}` }],
        target: { providerId: disk, path: '/' },
        conflict: 'REPLACE',
      }
      const { createJob } = await app.ask(
        'mutation ($input: CreateJobInput!) { createJob(input: $input) { job { id } } }',
        { input },
        token,
      )
      await until(async () => {
        const { job } = await app.ask('query ($id: ID!) { job(id: $id) { state } }', { id: createJob.job.id }, token)
        return job.state === 'SUCCEEDED' || job.state
      })
    },
  }
  for (const [way, replaceBy] of Object.entries(ways)) {
    const path = `/${way.replaceAll(/[ ,]/g, '-')}.txt`
    await seed(path, `old of ${way}`)
    await replaceBy(path)
    t.not(await readFile(at(path), 'utf8'), `old of ${way}`, `${way} replaces the file`)
    t.same(await contents(path), [`old of ${way}`], way)
  }
})

t.test('a version is restored by one rename, and the file that it replaces becomes a version', async t => {
  await put('/back.txt', 'first')
  await put('/back.txt', 'second')
  const [version] = await earlier('/back.txt')
  const { ino } = await stat(at(`.stowage-trash/${uuidOf(version?.id ?? '')}`))
  const { restoreVersion } = await app.ask(restore, { input: { id: version?.id } }, token)
  t.equal(restoreVersion.path, '/back.txt')
  t.same([await readFile(at('back.txt'), 'utf8'), (await stat(at('back.txt'))).ino], ['first', ino])
  t.same(await contents('/back.txt'), ['second'])
  t.equal(await reasonOf(restore, { input: { id: version?.id } }), 'NOT_FOUND', 'only once')
  const [second] = await earlier('/back.txt')
  t.equal(await reasonOf(restore, { input: { id: second?.id, conflict: 'FAIL' } }), 'ALREADY_EXISTS')
  t.same(await contents('/back.txt'), ['second'], 'it is still a version')
  const renamed = await app.ask(restore, { input: { id: second?.id, conflict: 'RENAME' } }, token)
  t.equal(renamed.restoreVersion.path, '/back (1).txt')
  t.equal(await readFile(at('back (1).txt'), 'utf8'), 'second')
})

t.test('only one of two restores at once gets a version', async t => {
  await put('/twice.txt', 'first')
  await put('/twice.txt', 'second')
  const [version] = await earlier('/twice.txt')
  const results = await Promise.all(
    [1, 2].map(() => reasonOf(restore, { input: { id: version?.id, conflict: 'RENAME' } })),
  )
  t.same(results.toSorted(), ['NOT_FOUND', undefined])
})

atNight(t, 'uploads that replace the same file at once leave a version of each content', async t => {
  await put('/race.txt', 'start')
  const replica = await app.replica()
  const names = Array.from({ length: 12 }, (_, index) => `content ${index}`)
  await Promise.all(
    names.map((content, index) =>
      (index % 2 === 0 ? app : replica).upload(token, disk, '/race.txt', content, '&conflict=replace'),
    ),
  )
  const all = [await readFile(at('race.txt'), 'utf8'), ...(await contents('/race.txt'))]
  t.same(all.toSorted(), ['start', ...names].toSorted(), 'nothing is lost, and nothing is kept twice')
  await replica.close()
})

atNight(t, 'uploads that create and replace the same file at once lose nothing where files are copied', async t => {
  const copying = await app.connectProvider(token, 'faulty', { name: 'race' }, 'Race')
  await set(copying, { versionCount: 20 })
  const wantsTurn = Promise.withResolvers<void>()
  const replica = await app.replica({
    onQuery: ({ sql }) => {
      if (sql.includes('insert into locks')) wantsTurn.resolve()
    },
  })
  const content = (size: number) => 'x'.repeat(size)
  const upload = (size: number, to = app) => to.upload(token, copying, '/race.txt', content(size), '&conflict=replace')
  let second: Promise<Response> | null = null
  shared.before = async ({ method, path }) => {
    const isWriting = shared.calls.some(call => call.method === 'write' && call.path === path)
    if (second || method !== 'stat' || path !== 'race.txt' || !isWriting) return
    second = upload(2, replica)
    await Promise.race([second, wantsTurn.promise])
    throw new StorageError('NOT_FOUND', 'Nothing was there when the first upload asked.')
  }
  const first = await upload(1)
  const others = [3, 4, 5, 6, 7, 8].map((size, index) => upload(size, index % 2 === 0 ? app : replica))
  const responses = await Promise.all([first, second, ...others])
  t.ok(
    responses.every(response => response?.ok),
    'each of them succeeds',
  )
  const last = await (await app.download(token, copying, '/race.txt')).text()
  const sizes = (await earlier('/race.txt', copying)).map(({ size }) => size)
  t.same([last.length, ...sizes].toSorted(), [1, 2, 3, 4, 5, 6, 7, 8])
  shared.before = () => {}
  await replica.close()
})

atNight(t, 'a copy that the back end refuses in one step leaves one version', async t => {
  const other = await app.connectProvider(token, 'refusing', {}, 'Refusing')
  await set(other, { versionCount: 3 })
  await put('/source.txt', 'source', other)
  await put('/copy.txt', 'old', other)
  const input = { providerId: other, path: '/source.txt', toPath: '/copy.txt', conflict: 'REPLACE' }
  await app.ask(copyEntry, { input }, token)
  t.equal(await (await app.download(token, other, '/copy.txt')).text(), 'source')
  t.match(await earlier('/copy.txt', other), [{ size: 3 }])
  t.equal((await earlier('/copy.txt', other)).length, 1)
})

atNight(t, 'a deletion keeps the content where there is no trash, and a permanent one nothing', async t => {
  await put('/gone.txt', 'one')
  await put('/gone.txt', 'two')
  await app.ask(deleteEntry, { input: { providerId: disk, path: '/gone.txt' } }, token)
  t.same(await contents('/gone.txt'), ['two', 'one'])
  const [version] = await earlier('/gone.txt')
  await app.ask(restore, { input: { id: version?.id } }, token)
  t.equal(await readFile(at('gone.txt'), 'utf8'), 'two')
  await app.ask(deleteEntry, { input: { providerId: disk, path: '/gone.txt', permanent: true } }, token)
  t.same(await earlier('/gone.txt'), [])

  await seed('tree/a.txt', 'a')
  await seed('tree/sub/b.txt', 'b')
  await app.ask(deleteEntry, { input: { providerId: disk, path: '/tree', recursive: true } }, token)
  t.notOk((await readdir(root)).includes('tree'))
  t.same([await contents('/tree/a.txt'), await contents('/tree/sub/b.txt')], [['a'], ['b']])
  const [inTree] = await earlier('/tree/sub/b.txt')
  t.equal((await app.ask(restore, { input: { id: inTree?.id } }, token)).restoreVersion.path, '/tree/sub/b.txt')

  await set(disk, { versionCount: 0 })
  const folder = { providerId: disk, path: '/tree', recursive: true }
  await app.ask(deleteEntry, { input: folder }, token)
  t.same(await contents('/tree/a.txt'), ['a'], 'a storage that keeps no more versions keeps those of a folder, too')
  await seed('tree/a.txt', 'again')
  await app.ask(deleteEntry, { input: { ...folder, permanent: true } }, token)
  t.same(await earlier('/tree/a.txt'), [], 'and a permanent deletion none')
  await set(disk, { versionCount: null })
})

t.test('versions follow a file or folder that moves, and stay while it is in the trash', async t => {
  await put('/old/doc.txt', 'one')
  await put('/old/doc.txt', 'two')
  await app.ask(moveEntry, { input: { providerId: disk, path: '/old', toPath: '/renamed' } }, token)
  t.same([await contents('/renamed/doc.txt'), await earlier('/old/doc.txt')], [['one'], []])
  await app.ask(moveEntry, { input: { providerId: disk, path: '/renamed/doc.txt', toPath: '/doc.txt' } }, token)
  t.same(await contents('/doc.txt'), ['one'])

  await set(disk, { trashDays: 7 })
  const { delete: deleted } = await app.ask(
    'mutation ($input: DeleteInput!) { delete(input: $input) { trashItem { id } } }',
    { input: { providerId: disk, path: '/doc.txt' } },
    token,
  )
  await seed('doc.txt', 'another file')
  const back = 'mutation ($input: RestoreInput!) { restore(input: $input) { path } }'
  const input = { id: deleted.trashItem.id, conflict: 'RENAME' }
  t.equal((await app.ask(back, { input }, token)).restore.path, '/doc (1).txt')
  t.same([await contents('/doc (1).txt'), await earlier('/doc.txt')], [['one'], []])
  await set(disk, { trashDays: null })
})

atNight(t, 'versions follow what a job moves', async t => {
  for (const path of ['/from/a.txt', '/from/sub/b.txt', '/c.txt']) {
    await put(path, 'one')
    await put(path, 'two')
  }
  await seed('to/from/a.txt', 'taken')
  await seed('to/from/sub/x.txt', 'so that the folders are merged')
  const input = {
    kind: 'MOVE',
    sources: ['/from', '/c.txt'].map(path => ({ providerId: disk, path })),
    target: { providerId: disk, path: '/to' },
    conflict: 'SKIP',
  }
  const { createJob } = await app.ask(
    'mutation ($input: CreateJobInput!) { createJob(input: $input) { job { id } } }',
    { input },
    token,
  )
  await until(async () => {
    const { job } = await app.ask('query ($id: ID!) { job(id: $id) { state } }', { id: createJob.job.id }, token)
    return job.state === 'SUCCEEDED' || job.state
  })
  t.same([await contents('/to/from/sub/b.txt'), await contents('/to/c.txt')], [['one'], ['one']])
  t.same(
    [await contents('/from/a.txt'), await contents('/to/from/a.txt')],
    [['one'], []],
    'a file that stays keeps them',
  )
})

atNight(t, 'what was created and replaced during a long change keeps its versions', async t => {
  await put('/doomed/a.txt', 'one')
  await put('/doomed/a.txt', 'two')
  await put('/doomed/a.txt', 'three')
  const [newest] = await earlier('/doomed/a.txt')
  await sql`update file_versions set replaced_at = now() + interval '1 hour' where id = ${uuidOf(newest?.id ?? '')}`.execute(
    app.db,
  )
  const folder = { providerId: disk, path: '/doomed', recursive: true, permanent: true }
  await app.ask(deleteEntry, { input: folder }, token)
  t.same(await contents('/doomed/a.txt'), ['two'])
})

atNight(t, 'the oldest versions go by number, expired ones by time, and those on hold stay', async t => {
  t.same(await set(disk, { versionCount: 2, versionDays: 5 }), {
    versionCount: 2,
    versionDays: 5,
    versions: { count: 2, days: 5, isOneStep: true },
  })
  for (const content of ['1', '2', '3', '4']) await put('/many.txt', content)
  t.same(await contents('/many.txt'), ['3', '2'])
  await set(disk, { versionCount: 0 })
  await put('/many.txt', '5')
  t.same(await contents('/many.txt'), ['3', '2'], 'a storage that keeps none keeps what it has')
  t.equal(await reasonOf(update, { input: { id: disk, versionCount: 1001 } }), 'INVALID_INPUT')
  t.equal(await reasonOf(update, { input: { id: disk, versionDays: 0 } }), 'INVALID_INPUT')
  await set(disk, { versionCount: null, versionDays: null })

  await put('/held.txt', '1')
  await put('/held.txt', '2')
  const [held] = await earlier('/held.txt')
  await app.ask(
    'mutation ($input: CreateHoldInput!) { createHold(input: $input) { id } }',
    { input: { providerId: disk, path: '/held.txt', reason: 'A contract' } },
    token,
  )
  t.equal(await reasonOf(remove, { id: held?.id }), 'ON_HOLD')
  t.equal(await reasonOf(restore, { input: { id: held?.id } }), 'ON_HOLD')
  const [first] = await earlier('/many.txt')
  t.equal((await app.ask(remove, { id: first?.id }, token)).deleteVersion, true)
  t.same(await contents('/many.txt'), ['2'])
  t.equal(await reasonOf(remove, { id: first?.id }), 'NOT_FOUND')
  await sql`update file_versions set due_at = now() where state = 'KEPT'`.execute(app.db)
  const other = await app.replica()
  await until(async () => `${await kept()}` === uuidOf(held?.id ?? '') || (await kept()).join())
  t.same([await contents('/held.txt'), await earlier('/many.txt')], [['1'], []])
  const later = sql`select from file_versions where id = ${uuidOf(held?.id ?? '')} and due_at > now() + interval '20 hours'`
  await until(async () => (await later.execute(app.db)).rows.length === 1)
  await other.close()
})

atNight(t, 'a storage that has to copy keeps nothing unless it is switched on', async t => {
  const off = await app.connectProvider(token, 'memory', {}, 'Off')
  const { provider } = await app.ask(
    'query ($id: ID!) { provider(id: $id) { versionCount versions { count isOneStep } } }',
    { id: off },
    token,
  )
  t.same(provider, { versionCount: null, versions: { count: 0, isOneStep: false } })
  await put('/a.txt', 'one', off)
  await put('/a.txt', 'two', off)
  t.same(await earlier('/a.txt', off), [])

  for (const content of ['1', '22', '333', '4444', '55555']) await put('/a.txt', content, memory)
  const listed = await earlier('/a.txt', memory)
  t.same(
    listed.map(({ size }) => size),
    [4, 3, 2],
    'and then as many as it is set to',
  )
  await app.ask(restore, { input: { id: listed[1]?.id } }, token)
  t.equal(await (await app.download(token, memory, '/a.txt')).text(), '333')
  t.same(
    (await earlier('/a.txt', memory)).map(({ size }) => size),
    [5, 4, 2],
  )
  await app.ask(deleteEntry, { input: { providerId: memory, path: '/a.txt' } }, token)
  t.same(
    (await earlier('/a.txt', memory)).map(({ size }) => size),
    [3, 5, 4],
  )
  const folder = await app.ask(
    'query ($id: ID!) { folder(providerId: $id, path: "/") { entries { nodes { name } } } }',
    { id: memory },
    token,
  )
  t.same(folder.folder.entries.nodes, [], 'no listing shows them')
})

t.test('versions need the rights of their path', async t => {
  await put('/team/a.txt', 'one')
  await put('/team/a.txt', 'two')
  const [version] = await earlier('/team/a.txt')
  const keyAt = async (path: string, scopes: string[]) =>
    (
      await app.createKey(token, {
        name: path,
        scopes,
        providerAccess: { restrictions: [{ providerId: disk, basePath: path }] },
      })
    ).key
  const [reader, other] = [await keyAt('/team', ['read']), await keyAt('/other', ['write'])]
  const query = { providerId: disk, path: '/team/a.txt' }
  t.equal((await app.ask(versionsOf, query, reader)).versions.nodes.length, 1)
  t.equal(await reasonOf(versionsOf, query, other), 'OUTSIDE_BASE_PATH')
  t.equal(await reasonOf(restore, { input: { id: version?.id } }, reader), 'SCOPE_REQUIRED')
  t.equal(await reasonOf(remove, { id: version?.id }, reader), 'SCOPE_REQUIRED')
  for (const document of [restore, remove]) {
    t.equal(await reasonOf(document, { id: version?.id, input: { id: version?.id } }, other), 'OUTSIDE_BASE_PATH')
  }
  const forged = Buffer.from(JSON.stringify([uuidOf(version?.id ?? ''), disk, '/other/a.txt'])).toString('base64url')
  t.equal(await reasonOf(restore, { input: { id: forged } }, other), 'NOT_FOUND', 'an id cannot name another path')
})
