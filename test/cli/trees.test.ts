/** Copies and syncs of whole trees. */
import { mkdir, readdir, readFile, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import t from 'tap'
import { atNight, extent } from '../support/extent.ts'
import { commandLine, signedIn } from './command-line.ts'
import { hostileServer, type ListedName } from './hostile-server.ts'

// By night, each command starts a process, which takes a second.
t.setTimeout(300_000)

/** Returns the content of each file below a folder by its path. */
async function contents(folder: string): Promise<Record<string, string>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = entries.filter(entry => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name))
  const read = files.map(async path => [relative(folder, path), await readFile(path, 'utf8')] as const)
  return Object.fromEntries((await Promise.all(read)).toSorted())
}

async function writeTree(folder: string, files: Record<string, string>): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), content)
  }
}

atNight(t, 'a thousand small files go up and come down again', async t => {
  const count = extent({ gate: 80, nightly: 1000 })
  const { home, run, json, diskFolder } = await signedIn(t)
  const names = Array.from({ length: count }, (_, n) => `${n % 10}/${n % 7}/file ${n} ü.txt`)
  const files = Object.fromEntries(names.map(name => [name, `content of ${name}`]).toSorted())
  await writeTree(join(home, 'many'), files)

  const { status, lines, errors } = await json('cp', '-r', '--concurrency', '16', 'many', 'Disk:/')
  t.same([status, lines.length, errors], [0, count, []])
  t.ok(lines.every(({ result, size }) => result === 'copied' && size > 10))
  t.same(await contents(join(diskFolder, 'many')), files)

  const down = await run(['cp', '-r', 'Disk:/many', 'back'])
  t.equal(down.status, 0)
  t.equal(down.stdout, '')
  const [last, ...steps] = down.stderr.trim().split('\n').toReversed()
  t.equal(steps.length, count, 'a line for each file, because there is no terminal')
  t.match(last, new RegExp(`^${count} files copied \\(\\d+\\.\\d kB\\)$`))
  t.same(await contents(join(home, 'back')), files)

  const unchanged = await run(['sync', 'Disk:/many', 'back'])
  t.ok(unchanged.stderr.endsWith(`0 files copied (0 B), ${count} skipped\n`), unchanged.stderr)
  const quiet = await run(['sync', '--quiet', 'Disk:/many', 'quiet'])
  t.same(quiet, { status: 0, stdout: '', stderr: '' })
  t.same(await contents(join(home, 'quiet')), files)
})

t.test('sync makes the target equal to the source, in both directions', async t => {
  const { home, run, json, diskFolder } = await signedIn(t)
  const [local, remote] = [join(home, 'tree'), join(diskFolder, 'tree')]
  const old = new Date(Date.now() - 3600_000)
  const source = { 'a.txt': 'a', 'sub/b.txt': 'new b', 'sub/deep/c.txt': 'c' }
  const target = { 'sub/b.txt': 'old', 'extra.txt': 'extra', 'gone/deep/d.txt': 'd' }
  for (const [from, to, operands] of [
    [local, remote, ['tree', 'Disk:/tree']],
    [remote, local, ['Disk:/tree', 'tree']],
  ] as const) {
    for (const folder of [local, remote]) await rm(folder, { recursive: true, force: true })
    await writeTree(from, source)
    await writeTree(to, target)
    for (const path of Object.keys(source)) await utimes(join(from, path), old, old)

    const results = (lines: { result: string; target: string }[]) =>
      lines.map(({ result, target: path }) => `${result} ${path.replace(/^.*?tree\//, '')}`).toSorted()
    const dry = await json('sync', '--dry-run', '--delete', ...operands)
    const expected = ['copied a.txt', 'copied sub/b.txt', 'copied sub/deep/c.txt', 'deleted extra.txt', 'deleted gone']
    t.same([dry.status, results(dry.lines)], [0, expected])
    t.same(await contents(to), target, 'a dry run changes nothing')

    t.match(await run(['sync', '--delete', ...operands]), { status: 2, stderr: /give --yes/ })
    t.same(await contents(to), target, 'nothing is copied before the deletion is confirmed')

    t.same((await json('sync', ...operands)).lines.length, 3)
    t.same(await contents(to), { ...target, ...source })
    const real = await json('sync', '--delete', '--yes', ...operands)
    t.same(results(real.lines.filter(({ result }) => result === 'deleted')), ['deleted extra.txt', 'deleted gone'])
    t.same(await contents(to), source)
    const again = await json('sync', '--delete', '--yes', ...operands)
    t.same(new Set(again.lines.map(({ result }) => result)), new Set(['skipped']), 'nothing differs any more')

    // The size is the same, so only the time shows the change.
    await writeFile(join(from, 'a.txt'), 'A')
    const later = new Date(Date.now() + 5000)
    await utimes(join(from, 'a.txt'), later, later)
    const changed = results((await json('sync', ...operands)).lines)
    t.same(changed, ['copied a.txt', 'skipped sub/b.txt', 'skipped sub/deep/c.txt'])
    t.equal((await contents(to))['a.txt'], 'A')
  }
  t.match(await run(['sync', 'none', 'Disk:/tree']), { status: 4 })
  t.match(await run(['sync', 'Disk:/none', 'tree']), { status: 4 })
  t.match(await run(['sync', 'tree', 'Disk:/tree/a.txt']), { status: 1, stderr: /is not a folder/ })
})

t.test('a failure keeps what only the target has, and the other files are copied', async t => {
  const { home, json, diskFolder } = await signedIn(t)
  await writeTree(join(home, 'tree'), { 'a.txt': 'a', 'b.txt': 'b' })
  // A folder of the target has the name of a file.
  await writeTree(join(diskFolder, 'tree'), { 'a.txt/x': 'x', 'extra.txt': 'extra' })
  const { status, errors } = await json('sync', '--delete', '--yes', 'tree', 'Disk:/tree')
  t.match({ status, errors }, { status: 5, errors: [{ reason: 'ALREADY_EXISTS', subject: 'tree/a.txt' }] })
  t.same(await contents(join(diskFolder, 'tree')), { 'a.txt/x': 'x', 'b.txt': 'b', 'extra.txt': 'extra' })
})

t.test('no name of a server leads out of the target folder', async t => {
  const hostile: ListedName[] = [
    ...['..', '.', '', '../escaped.txt', '/etc/escaped.txt', 'a/../../escaped.txt', 'nul\0.txt'].map(name => {
      return { name, kind: 'File' as const }
    }),
    ...['..', '../escaped', 'a/b'].map(name => ({ name, kind: 'Folder' as const })),
    { name: '.stowage-0123456789abcdef.part', kind: 'File' },
  ]
  const good: ListedName[] = [
    { name: 'good.txt', kind: 'File' },
    { name: '\u001b[2J.txt', kind: 'File' },
    { name: '..hidden', kind: 'Folder' },
    { name: 'link', kind: 'Folder' },
  ]
  const url = await hostileServer(t, [...hostile, ...good])
  const cli = await commandLine(t, { STOWAGE_URL: url, STOWAGE_API_KEY: 'stw_x' })
  for (const target of ['cp', 'sync'].map(command => `${command}-target`)) {
    // A link that somebody has placed in the target folder.
    await mkdir(join(cli.home, target, 'inside'), { recursive: true })
    await mkdir(join(cli.home, 'outside'), { recursive: true })
    await symlink('../outside', join(cli.home, target, 'link'))
  }
  const before = (await readdir(cli.home)).toSorted()
  const copied = await cli.json('cp', '-r', '--conflict', 'replace', 'Evil:/top', 'cp-target/inside')
  const synced = await cli.json('sync', 'Evil:/top', 'sync-target')
  for (const { status, errors } of [copied, synced]) {
    t.equal(status, 1)
    // Entries of one name are one entry.
    const unsafe = new Set(hostile.map(({ name }) => name)).size
    t.equal(errors.filter(({ reason }) => reason === 'UNSAFE_NAME').length, unsafe)
  }
  t.same((await readdir(cli.home)).toSorted(), before)
  t.same(await readdir(join(cli.home, 'outside')), [], 'nothing is written through the link')
  t.match(
    synced.errors.filter(({ reason }) => reason !== 'UNSAFE_NAME'),
    [{ reason: 'ALREADY_EXISTS' }],
  )
  t.same(Object.keys(await contents(join(cli.home, 'cp-target'))).toSorted(), [
    'inside/top/\u001b[2J.txt',
    'inside/top/..hidden/inner.txt',
    'inside/top/good.txt',
    'inside/top/link/inner.txt',
  ])
  t.same(Object.keys(await contents(join(cli.home, 'sync-target'))).toSorted(), [
    '\u001b[2J.txt',
    '..hidden/inner.txt',
    'good.txt',
  ])

  const listed = await cli.run(['ls', 'Evil:/top'])
  t.ok(listed.stdout.includes('\\u001b[2J.txt'), 'control characters are escaped')
  t.notMatch(listed.stdout, '\u001b')
  t.notMatch((await cli.run(['ls', '--json', 'Evil:/top'])).stdout, '\u001b')
})

atNight(t, 'a terminal shows the progress in one line, and asks before a deletion', async t => {
  const { home, diskFolder, startOnTerminal, run } = await signedIn(t)
  await writeTree(join(home, 'tree'), { 'a.txt': 'a'.repeat(1000), 'b.txt': 'b' })
  await writeTree(join(diskFolder, 'tree'), { 'extra.txt': 'extra' })
  const copy = startOnTerminal(['cp', '-r', 'tree', 'Disk:/copy'])
  t.equal(await copy.exited, 0, copy.printed())
  t.match(copy.printed(), /2 files copied \(1\.0 kB\)/)
  t.notMatch(copy.printed(), 'a.txt', 'the bar replaces the lines')
  t.ok(copy.printed().includes('\r\u001b[K'), 'the bar is removed')
  const plain = await run(['cp', '-r', 'tree', 'Disk:/plain'])
  t.notMatch(plain.stderr, '\u001b', 'without a terminal there is no bar')

  for (const [answer, status, remaining] of [
    ['n', 0, true],
    ['y', 0, false],
  ] as const) {
    const sync = startOnTerminal(['sync', '--delete', 'tree', 'Disk:/tree'])
    await sync.hasPrinted('Delete what only the target has: 1 file or folder? [y/N]')
    sync.process.stdin?.write(`${answer}\r`)
    t.equal(await sync.exited, status)
    t.equal('extra.txt' in (await contents(join(diskFolder, 'tree'))), remaining)
  }
  const remove = startOnTerminal(['rm', 'Disk:/tree/b.txt'])
  await remove.hasPrinted('Delete Disk:/tree/b.txt? [y/N]')
  remove.process.stdin?.write('\r')
  t.equal(await remove.exited, 2)
  t.ok(await stat(join(diskFolder, 'tree/b.txt')))
})
