/** Checks the fake server with rclone, and against Nextcloud's manual ("Chunked file upload"). */
import { execFile } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { atNight, extent } from '../support/extent.ts'
import { type Kind, type Nextcloud, startNextcloud } from './nextcloud/index.ts'
import { requirePrograms } from './programs.ts'

const run = promisify(execFile)
const mib = 1024 * 1024

atNight(t, 'rclone copies, checks and moves trees', async t => {
  await requirePrograms({
    who: 'The tests of Nextcloud',
    programs: ['rclone'],
    packages: ['rclone'],
    instead: 'put it on PATH',
  })
  const fake = await startNextcloud(t)
  const cwd = await mkdtemp(join(tmpdir(), 'stowage-nextcloud-'))
  t.teardown(() => rm(cwd, { recursive: true, force: true }))
  const { stdout: password } = await run('rclone', ['obscure', fake.password])
  const remote = {
    RCLONE_CONFIG_D_TYPE: 'webdav',
    RCLONE_CONFIG_D_URL: fake.filesUrl,
    RCLONE_CONFIG_D_VENDOR: 'nextcloud',
  }
  const user = {
    RCLONE_CONFIG_D_USER: fake.user,
    RCLONE_CONFIG_D_PASS: password.trim(),
    RCLONE_CONFIG: join(cwd, 'none'),
  }
  const rclone = (...given: string[]) => run('rclone', given, { cwd, env: { ...process.env, ...remote, ...user } })
  await mkdir(join(cwd, 'tree/a/ä b'), { recursive: true })
  for (const name of ['tree/one', 'tree/a/two & %20', 'tree/a/ä b/three']) {
    await writeFile(join(cwd, name), randomBytes(100_000))
  }
  await rclone('copy', 'tree', 'd:tree')
  // By the checksums and times that the server returns.
  await rclone('check', 'tree', 'd:tree')
  const { stderr } = await rclone('copy', '-v', 'tree', 'd:tree')
  t.notMatch(stderr, /Copied/)
  await rclone('move', 'd:tree/a', 'd:moved')
  await rclone('copyto', 'd:tree/one', 'd:moved/copy')
  await rclone('copy', 'd:moved', 'back')
  t.ok((await readFile(join(cwd, 'back/copy'))).equals(await readFile(join(cwd, 'tree/one'))))
  await run('diff', ['-r', 'tree/a/ä b', 'back/ä b'], { cwd })
  await rclone('purge', 'd:moved')
  t.same([...(fake.files.tree.root.children?.keys() ?? [])], ['tree'])
})

/** Returns a client, and the address of an upload. */
function clientOf(fake: Nextcloud) {
  const authorization = `Basic ${Buffer.from(`${fake.user}:${fake.password}`).toString('base64')}`
  const upload = `${fake.filesUrl.replace('/files/', '/uploads/')}myapp-1`
  const destination = `${fake.filesUrl}file.zip`
  const send = async (
    method: string,
    path: string,
    body: Buffer | null = null,
    headers: Record<string, string> = {},
  ) => {
    const options = { method, body, headers: { authorization, destination, ...headers } }
    const response = await fetch(`${upload}${path}`, options as RequestInit)
    const exception = /<s:exception>.*\\(\w+)</.exec(await response.text())?.[1]
    return exception === undefined ? String(response.status) : `${response.status} ${exception}`
  }
  return { send, authorization, destination }
}

const nextcloud: Kind = { vendor: 'Nextcloud' }
const inS3: Kind = { vendor: 'Nextcloud', hasObjectStore: true }
const ownCloud: Kind = { vendor: 'ownCloud' }

for (const [name, kind] of Object.entries({ nextcloud, inS3, ownCloud }).slice(0, extent({ gate: 1, nightly: 3 }))) {
  t.test(`${name}: chunks become a file in the order of their numbers`, async t => {
    const fake = await startNextcloud(t, kind)
    const { send, destination, authorization } = clientOf(fake)
    const bytes = randomBytes(12 * mib)
    const length = { 'oc-total-length': String(bytes.length) }
    t.equal(await send('PUT', '/1', bytes), '409 Conflict')
    t.equal(await send('MKCOL', ''), '201')
    t.equal(await send('MKCOL', ''), '405 MethodNotAllowed')
    t.equal(await send('MKCOL', '/folder'), '403 Forbidden')
    t.equal(await send('PUT', '/10', bytes.subarray(11 * mib), length), '201')
    t.equal(await send('PUT', '/00002', bytes.subarray(0, 6 * mib), length), '201')
    t.equal(await send('PUT', '/3', bytes.subarray(6 * mib, 11 * mib), length), '201')
    t.equal(await send('PUT', '/3', bytes.subarray(6 * mib, 11 * mib), length), name === 'inS3' ? '201' : '204')
    t.equal(await send('GET', '/3'), '405 MethodNotAllowed')
    t.equal(await send('PROPFIND', '', null, { depth: '1' }), '207')
    const time = { 'x-oc-mtime': '1547545326' }
    t.equal(await send('MOVE', '/.file', null, { ...time, ...length }), '201')
    t.equal(await send('MOVE', '/.file', null, length), '404 NotFound')
    const stored = await fetch(destination, { headers: { authorization } })
    t.ok(Buffer.from(await stored.arrayBuffer()).equals(bytes))
    t.equal(stored.headers.get('last-modified'), new Date(1547545326_000).toUTCString())
  })
}

t.test('refusals', async t => {
  const fake = await startNextcloud(t)
  const { send } = clientOf(fake)
  const chunk = randomBytes(1000)
  await send('MKCOL', '')
  await send('PUT', '/1', chunk)
  t.equal(await send('MOVE', '/.file', null, { 'oc-total-length': '1001' }), '400 BadRequest')
  t.equal(await send('PUT', '/.file', chunk), '403 Forbidden')
  t.equal(await send('MOVE', '/.file', null, { destination: `${fake.filesUrl}missing/file` }), '409 Conflict')
  fake.files.quota = 500
  t.equal(await send('PUT', '/2', chunk, { 'oc-total-length': '2000' }), '507 InsufficientStorage')
  t.equal(await send('MOVE', '/.file'), '507 InsufficientStorage')
  fake.files.quota = 5000
  t.equal(await send('MOVE', '/.file'), '201')
  await send('MKCOL', '')
  await send('PUT', '/1', chunk)
  t.equal(await send('MOVE', '/.file', null, { overwrite: 'F' }), '412 PreconditionFailed')
  t.equal(await send('MOVE', '/.file'), '204')
  await send('MKCOL', '')
  t.equal(await send('DELETE', '/'), '204')
  t.equal(await send('DELETE', '/'), '404 NotFound')
})

t.test('parts in S3 have the limits of S3, and need the header Destination', async t => {
  const fake = await startNextcloud(t, inS3)
  const { send } = clientOf(fake)
  await send('MKCOL', '')
  for (const name of ['0', '10001', 'x']) t.equal(await send('PUT', `/${name}`, randomBytes(10)), '400 BadRequest')
  await send('PUT', '/1', randomBytes(1000))
  await send('PUT', '/2', randomBytes(1000))
  t.equal(await send('MOVE', '/.file'), '500 GenericFileException', 'only the last part may be small')
})

t.test('Nextcloud returns the hash that it is asked for, and ownCloud checks the one that it gets', async t => {
  const bytes = randomBytes(1000)
  const sha1 = createHash('sha1').update(bytes).digest('hex')
  for (const kind of [nextcloud, ownCloud]) {
    const fake = await startNextcloud(t, kind)
    const { destination, authorization } = clientOf(fake)
    const put = (checksum: string) =>
      fetch(destination, {
        method: 'PUT',
        body: bytes,
        headers: { authorization, 'x-hash': 'sha1', 'oc-checksum': `SHA1:${checksum}` },
      })
    const isNextcloud = kind === nextcloud
    t.equal((await put(sha1)).headers.get('x-hash-sha1'), isNextcloud ? sha1 : null)
    t.equal((await put('0'.repeat(40))).status, isNextcloud ? 204 : 400)
  }
})
