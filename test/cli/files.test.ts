/** The commands for files and folders. */
import { randomBytes } from 'node:crypto'
import { mkdir, readdir, readFile, stat, symlink, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { atNight } from '../support/extent.ts'
import { lockInfo } from '../webdav/client.ts'
import { signedIn } from './command-line.ts'

// By night, each command starts a process, which takes a second.
t.setTimeout(300_000)

t.test('folders and files are made, listed, read, copied and deleted', async t => {
  const { home, run, output, json, diskFolder } = await signedIn(t)
  t.match(await json('mkdir', 'Disk:/a/b', 'Disk:/empty'), {
    status: 0,
    lines: [
      { path: 'Disk:/a/b', created: true },
      { path: 'Disk:/empty', created: true },
    ],
  })
  t.match(await json('mkdir', 'Disk:/a'), { status: 5, errors: [{ reason: 'ALREADY_EXISTS', subject: 'Disk:/a' }] })
  t.match(await json('mkdir', '-p', 'Disk:/a'), { status: 0, lines: [{ path: 'Disk:/a', created: false }] })

  const content = randomBytes(100_000)
  await writeFile(join(home, 'one.bin'), content)
  await writeFile(join(home, 'two.txt'), 'two\n')
  t.match(await json('cp', 'one.bin', 'two.txt', 'Disk:/a'), { status: 0 })
  t.ok((await readFile(join(diskFolder, 'a/one.bin'))).equals(content))
  t.equal(await output('cp', 'two.txt', 'Disk:/a/b/other.txt'), '', 'results are for the standard error')
  t.match(await run(['mkdir', '-p', 'Disk:/a/two.txt']), { status: 5 })

  const listed = await json('ls', 'Disk:/a')
  t.same(listed.lines.map(({ kind, name, path, size }) => [kind, name, path, size]).toSorted(), [
    ['file', 'one.bin', '/a/one.bin', 100_000],
    ['file', 'two.txt', '/a/two.txt', 4],
    ['folder', 'b', '/a/b', null],
  ])
  t.same((await output('ls', 'Disk:/a')).trim().split('\n').toSorted(), ['b/', 'one.bin', 'two.txt'])
  t.match(await output('ls', '-l', 'Disk:/a'), /^ {8}100000 {2}\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ {2}one\.bin$/m)
  t.same((await output('ls', '-r', 'Disk:/')).trim().split('\n').toSorted(), [
    'a/',
    'a/b/',
    'a/b/other.txt',
    'a/one.bin',
    'a/two.txt',
    'empty/',
  ])
  t.equal(await output('ls', 'Disk:/a/two.txt'), 'two.txt\n', 'a file lists itself')
  t.match(await json('stat', 'Disk:/a/two.txt', 'Disk:/a', 'Disk:/none'), {
    status: 4,
    lines: [
      { kind: 'file', name: 'two.txt', size: 4, mimeType: 'text/plain' },
      { kind: 'folder', name: 'a', size: null },
    ],
    errors: [{ reason: 'NOT_FOUND', subject: 'Disk:/none' }],
  })

  t.equal(await output('cat', 'Disk:/a/two.txt', 'Disk:/a/b/other.txt'), 'two\ntwo\n')
  t.match(await run(['cat', 'Disk:/a']), { status: 1, stdout: '', stderr: /This is a folder/ })
  await output('cp', 'Disk:/a/one.bin', 'back.bin')
  t.ok((await readFile(join(home, 'back.bin'))).equals(content))
  const times = await Promise.all([join(home, 'back.bin'), join(diskFolder, 'a/one.bin')].map(path => stat(path)))
  t.ok(Math.abs(Number(times[0]?.mtimeMs) - Number(times[1]?.mtimeMs)) < 2, 'the time of the source is kept')
  t.match(
    (await readdir(home)).filter(name => name.endsWith('.part')),
    [],
  )

  t.match(await json('mv', 'Disk:/a/two.txt', 'Disk:/a/renamed.txt'), {
    status: 0,
    lines: [{ result: 'moved', source: 'Disk:/a/two.txt', target: 'Disk:/a/renamed.txt', size: 4 }],
  })
  t.match(await json('rm', 'Disk:/a/renamed.txt', 'Disk:/a/none'), {
    status: 2,
    errors: [{ reason: 'USAGE', message: /give --yes/ }],
  })
  t.ok(await stat(join(diskFolder, 'a/renamed.txt')), 'nothing is deleted without a confirmation')
  t.match(await json('rm', '--yes', 'Disk:/a/renamed.txt', 'Disk:/a/none'), {
    status: 4,
    lines: [{ result: 'deleted', target: 'Disk:/a/renamed.txt' }],
    errors: [{ reason: 'NOT_FOUND', subject: 'Disk:/a/none' }],
  })
  t.match(await json('rm', '-y', 'Disk:/a'), { status: 5, errors: [{ reason: 'NOT_EMPTY' }] })
  t.match(await json('rm', '-r', '-y', 'Disk:/a', 'Disk:/empty'), {
    status: 0,
    lines: [{ kind: 'DELETE', state: 'SUCCEEDED', failed: 0 }],
  })
  t.equal(await output('ls', 'Disk:/'), '')
})

t.test('holds are created, listed and released, and locks are ended', async t => {
  const { run, output, json, diskFolder, app, token } = await signedIn(t)
  await writeFile(join(diskFolder, 'a.txt'), 'a')
  await writeFile(join(diskFolder, 'b.txt'), 'b')
  const held = await json('hold', 'create', 'Disk:/a.txt', 'Disk:/none', '--reason', 'Case 7')
  t.match(held, {
    status: 4,
    lines: [{ storage: 'Disk', path: '/a.txt', reason: 'Case 7', until: null, createdBy: 'owner@example.org' }],
    errors: [{ reason: 'NOT_FOUND', subject: 'Disk:/none' }],
  })
  t.match(await output('stat', 'Disk:/a.txt'), /^hold: {5}until it is released: Case 7$/m)
  t.match(await json('rm', '-y', 'Disk:/a.txt'), { status: 3, errors: [{ reason: 'ON_HOLD' }] })
  const dated = await output('hold', 'create', 'Disk:/b.txt', '--reason', 'Tax', '--until', '2030-01-01')
  t.match(dated, /^[0-9a-f-]{36} {2}2030-01-01T00:00:00\.000Z {2}Disk:\/b\.txt {2}Tax\n$/)
  const [id, datedId = ''] = [held.lines[0].id, dated.split(' ')[0]]
  t.equal(await output('hold', 'ls', 'Disk:'), `${dated}${id}  until released            Disk:/a.txt  Case 7\n`)
  t.match(await json('hold', 'release', id, datedId), {
    status: 3,
    lines: [{ id, releasedAt: /^20/ }],
    errors: [{ reason: 'ON_HOLD', subject: datedId }],
  })
  t.match((await json('hold', 'ls')).lines, [{ id: datedId }])
  for (const args of [[], ['--reason', 'x', '--until', 'soon']])
    t.match(await run(['hold', 'create', 'Disk:/a.txt', ...args]), { status: 2, stdout: '' }, args.join(' '))

  for (const scope of ['shared', 'shared'] as const) {
    const locking = { method: 'LOCK', headers: { depth: '0' }, body: lockInfo(scope), token }
    t.equal((await app.request('/dav/disk/a.txt', locking)).status, 200)
  }
  t.match(await run(['lock', 'end', 'Disk:/a.txt']), { status: 2, stderr: /give --yes/ })
  const lock = { path: 'Disk:/a.txt', lockedPath: '/a.txt' }
  t.match(await json('lock', 'end', '--yes', 'Disk:/a.txt', 'Disk:/b.txt'), {
    status: 4,
    lines: [lock, lock],
    errors: [{ reason: 'NOT_FOUND', subject: 'Disk:/b.txt' }],
  })
  t.match(await json('stat', 'Disk:/a.txt'), { lines: [{ lock: null }] })
})

atNight(t, 'what is deleted can be listed, restored and deleted for good', async t => {
  const { run, output, json, diskFolder } = await signedIn(t, { settings: { trashDays: 30 } })
  await mkdir(join(diskFolder, 'sub'))
  for (const name of ['a.txt', 'sub/b.txt', 'c.txt']) await writeFile(join(diskFolder, name), name)
  await output('rm', '-y', 'Disk:/a.txt')
  await output('rm', '-y', '-r', 'Disk:/sub')
  await output('rm', '-y', '--permanent', 'Disk:/c.txt')
  t.match(await json('trash', 'ls', 'Disk:/'), {
    status: 0,
    lines: [
      { kind: 'folder', originalPath: '/sub', size: null },
      { kind: 'file', originalPath: '/a.txt', size: 5 },
    ],
    errors: [],
  })
  t.match(await output('trash', 'ls', 'Disk:/sub'), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ {14,}- {2}\/sub\/\n$/)
  await writeFile(join(diskFolder, 'a.txt'), 'new')
  t.match(await json('trash', 'restore', 'Disk:/a.txt', 'Disk:/c.txt'), {
    status: 1,
    lines: [],
    errors: [
      { reason: 'ALREADY_EXISTS', subject: 'Disk:/a.txt' },
      { reason: 'NOT_FOUND', subject: 'Disk:/c.txt' },
    ],
  })
  t.match(await json('trash', 'restore', '--conflict', 'rename', 'Disk:/a.txt'), {
    status: 0,
    lines: [{ result: 'restored', target: 'Disk:/a (1).txt', size: 5 }],
  })
  t.match(await run(['trash', 'empty', 'Disk:']), { status: 2, stderr: /give --yes/ })
  await output('trash', 'empty', '--yes', 'Disk:')
  t.equal(await output('trash', 'ls', 'Disk:/'), '')
  t.equal(await output('ls', 'Disk:/'), 'a (1).txt\na.txt\n')
})

atNight(t, 'earlier versions can be listed, downloaded, restored and deleted', async t => {
  const { run, output, json, home, diskFolder } = await signedIn(t, { settings: { versionCount: 20, versionDays: 30 } })
  await run(['cp', '-', 'Disk:/a.txt'], { input: 'one' })
  for (const input of ['second', 'three'])
    t.match(await run(['cp', '--conflict', 'replace', '-', 'Disk:/a.txt'], { input }), { status: 0 })
  const { lines } = await json('versions', 'ls', 'Disk:/a.txt')
  t.match(lines, [
    { number: 1, size: 6, replacedBy: 'owner@example.org' },
    { number: 2, size: 3 },
  ])
  t.match(
    await output('versions', 'ls', 'Disk:/a.txt'),
    /^ {3}1 {2}\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ {14,}6 {2}owner@example\.org\n/,
  )
  t.equal(await output('versions', 'get', 'Disk:/a.txt', '2', '-'), 'one')
  t.match(await json('versions', 'get', 'Disk:/a.txt', lines[0].id), { lines: [{ result: 'copied', target: 'a.txt' }] })
  t.equal(await readFile(join(home, 'a.txt'), 'utf8'), 'second')
  t.match(await run(['versions', 'get', 'Disk:/a.txt', '1']), { status: 5, stderr: /a\.txt exists/ })
  for (const version of ['3', 'other'])
    t.match(await run(['versions', 'get', 'Disk:/a.txt', version]), { status: 4, stderr: /has no version/ }, version)
  t.match(await json('versions', 'restore', 'Disk:/a.txt', '2'), {
    lines: [{ result: 'restored', target: 'Disk:/a.txt', size: 3 }],
  })
  t.equal(await readFile(join(diskFolder, 'a.txt'), 'utf8'), 'one')
  t.match(await run(['versions', 'restore', '--conflict', 'fail', 'Disk:/a.txt', '1']), { status: 5 })
  t.match(await run(['versions', 'rm', 'Disk:/a.txt', '1']), { status: 2, stderr: /give --yes/ })
  await output('versions', 'rm', '--yes', 'Disk:/a.txt', '1', '2')
  t.equal(await output('versions', 'ls', 'Disk:/a.txt'), '')
})

atNight(t, 'the standard input and output are files', async t => {
  const { run, diskFolder } = await signedIn(t)
  const large = 'x'.repeat(9 * 1024 * 1024)
  t.match(await run(['cp', '-', 'Disk:/in.txt'], { input: large }), { status: 0 })
  t.equal((await stat(join(diskFolder, 'in.txt'))).size, large.length)
  const { stdout, stderr, status } = await run(['cp', 'Disk:/in.txt', '-'])
  t.same([status, stderr, stdout.length], [0, '', large.length])
  t.ok(stdout === large)
  t.match(await run(['cp', '-', 'Disk:/in.txt'], { input: 'new' }), { status: 5 })
  t.match(await run(['cp', '--conflict', 'replace', '-', 'Disk:/in.txt'], { input: 'new' }), { status: 0 })
  t.equal(await readFile(join(diskFolder, 'in.txt'), 'utf8'), 'new')
  for (const args of [
    ['cp', '-', 'Disk:/folder/'],
    ['cp', '-', 'local.txt'],
    ['cp', '-', 'a.txt', 'Disk:/x'],
    ['cp', 'Disk:/a', 'Disk:/b', '-'],
    ['cp', 'a.txt', '-'],
    ['cp', '--json', 'Disk:/in.txt', '-'],
    ['cp', '--conflict', 'newer', '-', 'Disk:/in.txt'],
  ]) {
    t.match(await run(args), { status: 2, stdout: '' }, args.join(' '))
  }
})

atNight(t, 'the conflict options have the meaning of the API in both directions', async t => {
  const { home, run, json, diskFolder } = await signedIn(t)
  const [local, remote] = [join(home, 'a.txt'), join(diskFolder, 'a.txt')]
  const read = (path: string) => readFile(path, 'utf8')
  const ways = [
    { from: local, to: remote, args: ['a.txt', 'Disk:/a.txt'] },
    { from: remote, to: local, args: ['Disk:/a.txt', 'a.txt'] },
  ]
  for (const { from, to, args } of ways) {
    await writeFile(from, 'new')
    await writeFile(to, 'old')
    t.match(await run(['cp', ...args]), { status: 5 })
    t.match(await json('cp', '--conflict', 'skip', ...args), { status: 0, lines: [{ result: 'skipped' }] })
    t.equal(await read(to), 'old')

    await utimes(from, 1000, 1000)
    t.match(await json('cp', '--conflict', 'newer', ...args), { status: 0, lines: [{ result: 'skipped' }] })
    await utimes(to, 500, 500)
    t.match(await json('cp', '--conflict', 'newer', ...args), { status: 0, lines: [{ result: 'copied' }] })
    t.equal(await read(to), 'new')

    await writeFile(from, 'newest')
    const renamed = await json('cp', '--conflict', 'rename', ...args)
    t.match(renamed, { status: 0, lines: [{ result: 'copied', target: /a \(1\)\.txt$/ }] })
    t.equal(await read(to), 'new')
    t.equal(await read(to.replace('a.txt', 'a (1).txt')), 'newest')
    t.match(await run(['cp', '--conflict', 'replace', ...args]), { status: 0 })
    t.equal(await read(to), 'newest')
  }
  t.match(await run(['cp', '--conflict', 'merge', 'a.txt', 'Disk:/']), { status: 2, stderr: /one of fail, replace/ })
})

t.test('a folder is copied with -r, as a job would copy it', async t => {
  const { home, run, json, diskFolder } = await signedIn(t)
  await mkdir(join(home, 'top/sub/empty'), { recursive: true })
  await writeFile(join(home, 'top/sub/a.txt'), 'a')
  await writeFile(join(home, 'top/sub/nothing.txt'), '')
  const tree = async (folder: string) => (await readdir(folder, { recursive: true })).toSorted()
  const whole = ['sub', 'sub/a.txt', 'sub/empty', 'sub/nothing.txt']

  t.match(await json('cp', 'top', 'Disk:/'), { status: 1, errors: [{ reason: 'IS_A_FOLDER', subject: 'top' }] })
  t.match(await run(['cp', '-r', 'top', 'Disk:/']), { status: 0 })
  t.same(await tree(join(diskFolder, 'top')), whole)
  t.match(await run(['cp', '-r', 'top', 'Disk:/']), { status: 5 }, 'the name is taken')
  t.match(await run(['cp', '-r', '--conflict', 'rename', 'top', 'Disk:/']), { status: 0 })
  t.same(await tree(join(diskFolder, 'top (1)')), whole)
  t.match(await run(['cp', '-r', 'top', 'Disk:/renamed']), { status: 0 })
  t.same(await tree(join(diskFolder, 'renamed')), whole)
  await writeFile(join(home, 'top/b.txt'), 'b')
  t.match(await json('cp', '-r', '--conflict', 'skip', 'top', 'Disk:/'), { status: 0 })
  t.same(await tree(join(diskFolder, 'top')), ['b.txt', ...whole])

  t.match(await run(['cp', 'Disk:/top', 'down']), { status: 1, stderr: /give -r/ })
  t.match(await run(['cp', '-r', 'Disk:/top', 'down']), { status: 0 })
  t.same(await tree(join(home, 'down')), ['b.txt', ...whole])
  t.match(await run(['cp', '-r', 'Disk:/top', 'down']), { status: 0 }, 'it goes into the folder')
  t.same(await tree(join(home, 'down/top')), ['b.txt', ...whole])
  t.match(await run(['cp', '-r', 'Disk:/top', 'down']), { status: 5 })
  t.match(await run(['cp', '-r', '--conflict', 'rename', 'Disk:/top', 'down']), { status: 0 })
  t.same(await tree(join(home, 'down/top (1)')), ['b.txt', ...whole])
  await mkdir(join(home, 'all'))
  t.match(await run(['cp', '-r', 'Disk:/', 'all']), { status: 0 })
  t.same((await readdir(join(home, 'all'))).toSorted(), ['renamed', 'top', 'top (1)'])
})

atNight(t, 'links and special files are skipped unless links are followed', async t => {
  const { home, json, diskFolder } = await signedIn(t)
  await mkdir(join(home, 'top/folder'), { recursive: true })
  await writeFile(join(home, 'secret.txt'), 'outside')
  await writeFile(join(home, 'top/folder/a.txt'), 'a')
  await symlink('../secret.txt', join(home, 'top/link.txt'))
  await symlink('nowhere', join(home, 'top/broken'))
  await symlink('folder', join(home, 'top/folder-link'))
  const { status, lines } = await json('cp', '-r', 'top', 'Disk:/plain')
  t.equal(status, 0)
  t.same(lines.map(({ result, target }) => `${result} ${target}`).toSorted(), [
    'copied Disk:/plain/folder/a.txt',
    'skipped Disk:/plain/broken',
    'skipped Disk:/plain/folder-link',
    'skipped Disk:/plain/link.txt',
  ])
  t.same(await readdir(join(diskFolder, 'plain')), ['folder'])

  t.match(await json('cp', '-r', '-L', 'top', 'Disk:/followed'), { status: 0 })
  t.equal(await readFile(join(diskFolder, 'followed/link.txt'), 'utf8'), 'outside')
  t.equal(await readFile(join(diskFolder, 'followed/folder-link/a.txt'), 'utf8'), 'a')
  await symlink('..', join(home, 'top/folder/up'))
  const looped = await json('cp', '-r', '-L', 'top', 'Disk:/looped')
  t.equal(looped.status, 1)
  t.same(looped.errors.map(({ reason, subject }) => `${reason} ${subject}`).toSorted(), [
    'LINK_LOOP top/folder-link/up',
    'LINK_LOOP top/folder/up',
  ])
  t.match(await json('cp', '/dev/null', 'Disk:/null'), { status: 1, errors: [{ reason: 'NOT_A_FILE' }] })
  const notUtf8 = Buffer.concat([Buffer.from(`${home}/top/`), Buffer.from([0xff, 0xfe])])
  await writeFile(notUtf8, 'x')
  t.match(await json('cp', '-r', 'top', 'Disk:/named'), { status: 1, errors: [{ reason: 'INVALID_NAME' }] })
})

atNight(t, 'storages are found by name and ID, and an unclear name fails', async t => {
  const { app, token, run, json, output, home } = await signedIn(t)
  const folder = async (name: string) => {
    await mkdir(join(app.folder, name))
    return { root: join(app.folder, name) }
  }
  const spaced = await app.connectProvider(token, 'local', await folder('s'), 'Team disk')
  const colons = await app.connectProvider(token, 'local', await folder('c'), 'a:b')
  const slash = await app.connectProvider(token, 'local', await folder('d'), 'x/y')
  const twins = [
    await app.connectProvider(token, 'local', await folder('t1'), 'Twin'),
    await app.connectProvider(token, 'local', await folder('t2'), 'Twin'),
  ]
  await writeFile(join(home, 'f.txt'), 'f')
  for (const target of ['Team disk:', 'a:b:/', `${slash}:/`, `${twins[0]}:`, `${spaced}:/`, `${colons}:/sub/`]) {
    t.match(await run(['cp', '--conflict', 'rename', 'f.txt', target]), { status: 0 }, target)
  }
  t.equal(await output('cat', 'a:b:/sub/f.txt'), 'f')
  const unclear = await json('ls', 'Twin:/')
  t.match(unclear, { status: 2, errors: [{ reason: 'AMBIGUOUS_STORAGE' }] })
  for (const id of twins) t.ok(unclear.errors[0]?.message.includes(`${id}:`), 'the message lists the IDs')
  t.match(await run(['ls', 'None:/']), { status: 4, stderr: /There is no storage "None"/ })
  t.match(await run(['cp', 'f.txt', 'Disk:x']), {
    status: 2,
    stderr: /write "Disk:\/x" for a storage, or "\.\/Disk:x"/,
  })
  t.match(await run(['ls', 'f.txt']), { status: 2, stderr: /is not in a storage/ })
  t.match(await run(['cp', 'f.txt', 'g.txt']), { status: 2, stderr: /Both paths are local/ })
  await output('cp', 'Disk:/', '-r', './a:c')
  t.ok((await stat(join(home, 'a:c'))).isDirectory())
  const connect = 'mutation ($input: ConnectProviderInput!) { connectProvider(input: $input) { provider { id } } }'
  const vault = { type: 'local', name: 'Vault', config: await folder('v'), encryption: { password: 'correct horse' } }
  await app.ask(connect, { input: vault }, token)
  const { lines } = await json('ls')
  t.same(
    lines.map(({ kind, name, type, status, isEncrypted }) => [kind, name, type, status, isEncrypted]),
    ['Disk', 'Team disk', 'a:b', 'x/y', 'Twin', 'Twin', 'Vault'].map(name => [
      'storage',
      name,
      'local',
      'CONNECTED',
      name === 'Vault',
    ]),
  )
  t.match(await output('ls', '--long'), /CONNECTED +encrypted +Vault:/)
})
