/** Small files, which threads read and write with synchronous calls. */
import { execFile } from 'node:child_process'
import { link, mkdir, open, readdir, readFile, readlink, rename, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import type { Root } from '../../adapters/backends/local/open.ts'
import { SmallFiles } from '../../adapters/backends/local/small-files/index.ts'
import { type SmallJob, type SmallResult, smallBytes } from '../../adapters/backends/local/small-files/jobs.ts'
import { runJobs } from '../../adapters/backends/local/small-files/thread.ts'
import { SmallFileThreads } from '../../adapters/backends/local/small-files/threads.ts'
import { copySmall } from '../../adapters/backends/local/small-files/write.ts'
import type { Destination } from '../../adapters/backends/local/write.ts'
import { at, bodyOf, call, has, makeFolder, pattern, put, rejectsWith } from '../../adapters/conformance/kit.ts'
import { segmentsOf } from '../../adapters/contract.ts'
import { atNight, extent } from '../support/extent.ts'
import { until } from '../support/until.ts'
import { openTemporary } from './temporary.ts'

const { signal } = call()
const past = new Date('2001-02-03T04:05:06.789Z')

/** Does jobs at once, in this thread, on a disk that seems to sync at once. */
const here = {
  run: async (job: SmallJob): Promise<SmallResult> => {
    const [result = null] = runJobs([job])
    return result && 'syncTime' in result ? { ...result, syncTime: 0 } : result
  },
}

/** Opens a provider whose staging folder exists, and the files in its root. */
async function openSmall(t: Test, threads: Pick<SmallFileThreads, 'run'> = here) {
  const temporary = await openTemporary(t)
  const small = new SmallFiles(threads)
  const stats = await stat(temporary.root, { bigint: true })
  const root: Root = { path: temporary.root, dev: stats.dev, ino: stats.ino }
  const to = (path: string, more: Partial<Destination> = {}): Destination => {
    const parents = path.split('/')
    const name = parents.pop() ?? ''
    return { root, parents, name, overwrite: false, signal, ...more }
  }
  return {
    ...temporary,
    staging: join(temporary.root, '.stowage-staging'),
    rootOf: root,
    look: (path: string) => small.stat(root, path.split('/'), signal),
    stats: async (names: readonly string[]) => {
      const directory = await open(temporary.root)
      return await small.stats(root, directory, names, signal).finally(() => directory.close())
    },
    list: (path: string, limit = 100) => small.list(root, path.split('/'), limit, signal),
    read: (path: string, maxBytes?: number) =>
      small.read(root, path.split('/'), { signal, ...(maxBytes === undefined ? {} : { maxBytes }) }),
    write: (path: string, bytes: Buffer | string, more?: Partial<Destination>) =>
      small.write(to(path, more), new Uint8Array(Buffer.from(bytes))),
    copy: (from: string, path: string, more?: Partial<Destination>) => small.copy(from.split('/'), to(path, more)),
    copyAll: (from: string, folder: string, names: readonly string[]) =>
      small.copyAll(root, { from: segmentsOf(at(from)), to: segmentsOf(at(folder)) }, names, signal),
  }
}

/** Waits until no descriptor leads into a folder. The general way closes some later. */
async function isClosed(folder: string): Promise<void> {
  await until(async () => {
    const names = await readdir('/proc/self/fd')
    const targets = await Promise.all(names.map(name => readlink(`/proc/self/fd/${name}`).catch(() => '')))
    const open = targets.filter(target => target.startsWith(folder))
    return open.length === 0 || open
  })
}

t.test('the fast way reads and stores what the general way does', async t => {
  const { provider, root, staging, read, write, copy } = await openSmall(t)
  await makeFolder(provider, 'folder')
  for (const size of [0, 1, 10_000, smallBytes]) {
    const bytes = pattern(size)
    for (const path of [`${size}`, `folder/${size}`]) {
      const written = await write(path, bytes)
      t.strictSame(written, await provider.stat(at(path), call()))
      await has(provider, path, bytes)
      const found = await read(path)
      t.strictSame(found?.entry, written)
      t.ok(bytes.equals(found?.bytes ?? Buffer.of(1)))
      const replaced = await write(path, 'other', { overwrite: true })
      t.not(replaced?.etag, written?.etag)
      t.not(replaced?.fileId, undefined)
      await has(provider, path, 'other')
    }
  }
  const kept = await write('kept', 'content', { modifiedAt: past })
  t.same(kept?.modifiedAt, past)
  const copied = await copy('kept', 'folder/copy')
  t.same(copied?.modifiedAt, past)
  t.strictSame(copied, await provider.stat(at('folder/copy'), call()))
  t.not(copied?.fileId, kept?.fileId)
  await has(provider, 'folder/copy', 'content')
  t.ok(await copy('kept', 'kept', { overwrite: true }), 'a file is copied over itself')
  await has(provider, 'kept', 'content')
  t.strictSame(await readdir(staging), [])
  await isClosed(root)
})

atNight(t, 'files of a folder are copied together as one by one', async t => {
  const { provider, root, staging, write, copyAll } = await openSmall(t)
  await makeFolder(provider, 'from')
  await makeFolder(provider, 'to/deep')
  const sizes = [0, 1, 10_000, smallBytes]
  for (const size of sizes) await write(`from/${size}`, pattern(size), { modifiedAt: past })
  const names = sizes.map(String)
  for (const folder of ['to', 'to/deep', '']) {
    const copies = await copyAll('from', folder, names)
    for (const [index, size] of sizes.entries()) {
      const path = folder === '' ? `${size}` : `${folder}/${size}`
      const copy = copies[index]
      t.strictSame(copy, await provider.stat(at(path), call()))
      t.same(copy?.modifiedAt, past)
      t.not(copy?.fileId, (await provider.stat(at(`from/${size}`), call())).fileId)
      await has(provider, path, pattern(size))
    }
  }
  const many = Array.from({ length: extent({ gate: 60, nightly: 300 }) }, (_, i) => `many ${i}`)
  for (const name of many) await writeFile(join(root, name), name)
  const copies = await copyAll('', 'to', many)
  t.strictSame(
    copies.map(copy => copy?.name),
    many,
  )
  for (const name of many) t.equal(await readFile(join(root, 'to', name), 'utf8'), name)
  t.strictSame(await readdir(staging), [])
  await isClosed(root)
})

t.test('files copied together never replace anything, and only ordinary small files are copied', async t => {
  const { provider, root, outside, staging, copyAll } = await openSmall(t)
  await put(provider, 'from/file', 'content')
  await put(provider, 'from/large', pattern(smallBytes + 1))
  await put(provider, 'from/taken', 'new')
  await put(provider, 'from/folder/file', 'inner')
  await put(provider, 'from/onto a link', 'content')
  await put(provider, 'to/taken', 'old')
  await writeFile(join(outside, 'file'), 'SECRET')
  await symlink(join(outside, 'file'), join(root, 'from/link'))
  await symlink(outside, join(root, 'from/out'))
  await symlink(join(outside, 'file'), join(root, 'to/onto a link'))
  await promisify(execFile)('mkfifo', [join(root, 'from/fifo')])
  if (process.getuid?.() === 0) await promisify(execFile)('mknod', [join(root, 'from/device'), 'c', '1', '5'])
  const refused = ['large', 'taken', 'folder', 'onto a link', 'link', 'out', 'fifo', 'device', 'missing']
  const copies = await copyAll('from', 'to', [...refused, 'file', 'x'.repeat(300)])
  t.strictSame(
    copies.map(copy => copy?.name ?? null),
    [...refused.map(() => null), 'file', null],
  )
  t.strictSame((await readdir(join(root, 'to'))).sort(), ['file', 'onto a link', 'taken'])
  t.equal(await readFile(join(root, 'to/taken'), 'utf8'), 'old')
  t.equal(await readFile(join(outside, 'file'), 'utf8'), 'SECRET')
  for (const [from, to] of [
    ['from/out', 'to'],
    ['from', 'from/out'],
    ['from', 'missing'],
    ['missing', 'to'],
    ['from/file', 'to'],
    ['from', 'to/taken'],
  ] as const) {
    t.strictSame(await copyAll(from, to, ['file']), [null], `${from} to ${to}`)
  }
  for (const name of ['..', '.', '', 'a/b', '../outside/file', '.stowage-staging', 'a\0b']) {
    await rejectsWith('INVALID_PATH', Promise.resolve(provider.copySmall?.(at('from'), at('to'), [name], call())))
  }
  t.strictSame(await readdir(outside), ['file'])
  t.strictSame(await readdir(staging), [])
  await isClosed(root)
  await isClosed(outside)
})

t.test('etags differ although files replace each other within one step of the clock', async t => {
  const { write } = await openSmall(t)
  const etags = new Set<string | null | undefined>()
  const rounds = extent({ gate: 60, nightly: 500 })
  for (let round = 0; round < rounds; round += 1) {
    etags.add((await write('file', `${round % 10}`, { overwrite: true, modifiedAt: past }))?.etag)
  }
  t.equal(etags.size, rounds)
})

t.test('whatever is not an ordinary small file takes the general way', async t => {
  const { provider, root, outside, look, read, copy } = await openSmall(t)
  await put(provider, 'real/file', 'inside')
  await put(provider, 'large', pattern(smallBytes + 1))
  await writeFile(join(outside, 'file'), 'SECRET')
  await mkdir(join(outside, 'sub'))
  await symlink(join(outside, 'file'), join(root, 'link'))
  await symlink(outside, join(root, 'out'))
  await symlink('real', join(root, 'in'))
  await promisify(execFile)('mkfifo', [join(root, 'fifo')])
  if (process.getuid?.() === 0) await promisify(execFile)('mknod', [join(root, 'device'), 'c', '1', '5'])
  const paths = [
    'link',
    'out/file',
    'out/sub',
    'in/file',
    'fifo',
    'device',
    'real',
    'large',
    'missing',
    'missing/file',
    'out/missing',
    'in/missing',
    'real/file/below',
  ]
  const looked = ['real', 'large', 'missing']
  for (const path of paths) {
    t.equal(await read(path), null, path)
    t.equal(await copy(path, 'real/copy'), null, path)
    if (!looked.includes(path)) t.equal(await look(path), null, path)
  }
  for (const path of ['missing', 'real/missing']) await t.rejects(look(path), { code: 'NOT_FOUND' }, path)
  for (const path of ['real', 'large', 'real/file']) {
    t.strictSame(await look(path), await provider.stat(at(path), call()))
  }
  t.equal(await read('real/file', 5), null, 'larger than the caller wants')
  t.ok(await read('real/file', 6))
  t.strictSame(await readdir(join(root, 'real')), ['file'])
  await isClosed(root)
  await isClosed(outside)
})

t.test('a write that the fast way cannot do changes nothing', async t => {
  const { provider, root, outside, staging, write } = await openSmall(t)
  await put(provider, 'taken', 'old')
  await makeFolder(provider, 'folder')
  await symlink(outside, join(root, 'out'))
  await symlink('folder', join(root, 'in'))
  await symlink('taken', join(root, 'link'))
  const replace = { overwrite: true }
  const refused: [string, object][] = [
    ['taken', {}],
    ['link', {}],
    ['folder', {}],
    ['folder', replace],
    ['missing/file', replace],
    ['out/file', replace],
    ['in/file', replace],
    ['taken/below', replace],
    ['x'.repeat(300), replace],
  ]
  for (const [path, options] of refused) t.equal(await write(path, 'new', options), null, path)
  t.strictSame(await readdir(outside), [])
  t.strictSame(await readdir(join(root, 'folder')), [])
  t.equal(await readFile(join(root, 'taken'), 'utf8'), 'old')
  t.equal(await readlink(join(root, 'link')), 'taken')
  t.strictSame(await readdir(staging), [])
  t.ok(await write('link', 'a file now', replace), 'a link itself is replaced')
  t.equal(await readFile(join(root, 'taken'), 'utf8'), 'old')
  await rm(staging, { recursive: true })
  t.equal(await write('new', 'no'), null, 'without a staging folder')
  await symlink(outside, staging)
  t.equal(await write('new', 'no'), null, 'with a link instead of the staging folder')
  t.strictSame(await readdir(outside), [])
  await isClosed(root)
})

t.test('a replaced root is neither read nor written', async t => {
  const { provider, root, outside, look, read, write, copy, copyAll } = await openSmall(t)
  await put(provider, 'file', 'content')
  await makeFolder(provider, 'folder')
  const isRefused = async (what: string) => {
    const results = [await look('file'), await read('file'), await write('new', 'no'), await copy('file', 'copy')]
    t.strictSame(results, [null, null, null, null], what)
    t.strictSame(await copyAll('', 'folder', ['file']), [null], what)
  }
  await rename(root, `${root}-away`)
  await isRefused('missing')
  for (const name of ['.stowage-staging', 'folder']) await mkdir(join(root, name), { recursive: true })
  await writeFile(join(root, 'file'), 'other')
  await isRefused('another folder')
  await rename(root, `${root}-other`)
  await symlink(outside, root)
  await isRefused('a link')
  t.strictSame(await readdir(outside), [])
})

t.test('a file is linked only where its name is free, whoever wins', async t => {
  const { provider, root, write } = await openSmall(t)
  for (let round = 0; round < 50; round += 1) {
    const fast = Array.from({ length: 4 }, (_, i) => write(`file ${round}`, `fast ${i}`))
    const general = Array.from({ length: 4 }, (_, i) =>
      put(provider, `file ${round}`, `general ${i}`).catch(() => null),
    )
    const stored = (await Promise.all([...fast, ...general])).filter(entry => entry !== null)
    t.equal(stored.length, 1)
  }
  t.strictSame(await readdir(join(root, '.stowage-staging')), [])
})

t.test('hard links are ordinary files, and a write replaces only its name', async t => {
  const { root, outside, read, write } = await openSmall(t)
  await writeFile(join(outside, 'file'), 'shared')
  await link(join(outside, 'file'), join(root, 'linked'))
  t.equal(Buffer.from((await read('linked'))?.bytes ?? []).toString(), 'shared')
  t.ok(await write('linked', 'replaced', { overwrite: true }))
  t.equal(await readFile(join(outside, 'file'), 'utf8'), 'shared')
})

t.test('the fast way looks at the entries of a folder as the general way does', async t => {
  const { provider, root, outside, stats } = await openSmall(t)
  await put(provider, 'file', 'content')
  await put(provider, 'größe', 'content')
  await makeFolder(provider, 'folder')
  await symlink(join(root, 'file'), join(root, 'link'))
  await symlink(outside, join(root, 'out'))
  await promisify(execFile)('mkfifo', [join(root, 'fifo')])
  const names = ['file', 'größe', 'folder', 'link', 'out', 'fifo', 'missing']
  const found = await stats(names.map(name => Buffer.from(name).toString('latin1')))
  const expected = await Promise.all(names.map(name => provider.stat(at(name), call()).catch(() => null)))
  t.strictSame(found, expected)
  t.equal(expected.filter(entry => entry !== null).length, 3)
  t.strictSame(await stats(['\xff\xfe']), [null])
  t.strictSame(await stats([]), [])
})

t.test('a listing by threads is that of the general way', async t => {
  const { provider, root } = await openTemporary(t)
  await put(provider, 'file 0', 'content')
  for (let i = 1; i < 200; i += 1) await writeFile(join(root, `file ${i}`), `content ${i}`)
  await writeFile(Buffer.concat([Buffer.from(`${root}/`), Buffer.from([0xff])]), '')
  const list = async () => (await provider.list(at(''), { ...call(), limit: 1000 })).entries
  const before = await list()
  await until(async () => (await provider.readSmall?.(at('file 0'), { ...call(), maxBytes: 100 })) !== null)
  t.strictSame(await list(), before)
  t.equal(before.length, 200)
})

t.test('the fast way lists a folder as the general way does', async t => {
  const { provider, root, outside, list } = await openSmall(t)
  for (const name of ['z', 'B', 'größe', 'ﬁn', '😀', 'a b']) await put(provider, `folder/${name}`, name)
  await makeFolder(provider, 'folder/inner/empty')
  await mkdir(join(root, 'folder/.stowage-staging'))
  await symlink(join(root, 'folder/z'), join(root, 'folder/link'))
  await symlink(join(root, 'folder'), join(root, 'other'))
  await symlink(outside, join(root, 'out'))
  const general = async (path: string) => (await provider.list(at(path), { ...call(), limit: 1000 })).entries
  for (const path of ['folder', 'folder/inner', 'folder/inner/empty'])
    t.strictSame(await list(path), await general(path))
  t.equal((await list('folder'))?.length, 7)
  for (const path of ['missing', 'folder/z', 'other', 'out', 'other/inner']) t.equal(await list(path), null, path)
  t.equal(await list('folder', 7), null, 'it has one entry more, which is not served')
  await writeFile(Buffer.concat([Buffer.from(`${root}/folder/`), Buffer.from([0xff])]), '')
  t.equal(await list('folder'), null, 'the general way reports names that are not UTF-8')
  t.equal((await general('folder')).length, 7)
  await isClosed(root)
})

t.test('a disk that syncs slowly gets no writes for a while, but reads', async t => {
  const done: string[] = []
  const threads = {
    run: async (job: SmallJob): Promise<SmallResult> => {
      done.push(job.kind)
      const result = await here.run(job)
      return result && 'syncTime' in result ? { ...result, syncTime: 1000 } : result
    },
  }
  const { provider, read, write, copy, copyAll } = await openSmall(t, threads)
  await makeFolder(provider, 'folder')
  for (const name of ['file', 'second', 'third']) t.ok(await write(name, 'content'), 'the write itself is done')
  t.equal(await write('other', 'content'), null)
  t.equal(await copy('file', 'other'), null)
  t.strictSame(await copyAll('', 'folder', ['file']), [null])
  t.ok(await read('file'))
  t.strictSame(done, ['write', 'write', 'write', 'read'])
})

t.test('the writes after a slow one in the same message take the general way', async t => {
  const jobs: SmallJob[] = []
  const collect = {
    run: async (job: SmallJob) => {
      jobs.push(job)
      return null
    },
  }
  const { provider, root, read, write } = await openSmall(t, collect)
  await put(provider, 'file', 'content')
  await write('first', '1')
  await read('file')
  await write('second', '2')
  const results = runJobs(jobs, -1)
  t.strictSame(
    results.map(result => result !== null),
    [true, true, false],
  )
  t.strictSame((await readdir(root)).sort(), ['.stowage-staging', 'file', 'first'])
})

t.test('single slow syncs do not make a disk slow', async t => {
  let count = 0
  const sometimes = {
    run: async (job: SmallJob): Promise<SmallResult> => {
      const result = await here.run(job)
      count += 1
      return result && 'syncTime' in result ? { ...result, syncTime: count % 3 === 0 ? 0 : 1000 } : result
    },
  }
  const { write } = await openSmall(t, sometimes)
  await write('first', '')
  for (let round = 0; round < 20; round += 1) t.ok(await write(`file ${round}`, 'content'))
})

t.test('a message copies at least one file, and then for a limited time', async t => {
  const jobs: SmallJob[] = []
  const collect = {
    run: async (job: SmallJob) => {
      jobs.push(job)
      return null
    },
  }
  const { provider, root, copyAll } = await openSmall(t, collect)
  await makeFolder(provider, 'folder')
  for (const name of ['a', 'b', 'c']) await put(provider, name, name)
  await copyAll('', 'folder', ['a', 'b', 'c'])
  const [job] = jobs
  if (job?.kind !== 'copies') throw new Error('No files are copied')
  const copied = copySmall(job, 0)
  t.strictSame(copied && 'copies' in copied && copied.copies.map(copy => copy?.name), ['a'])
  t.strictSame(await readdir(join(root, 'folder')), ['a'])
  const rest = await openSmall(t, { run: async job => (job.kind === 'copies' ? copySmall(job, 0) : null) })
  await makeFolder(rest.provider, 'folder')
  for (const name of ['a', 'b', 'c']) await put(rest.provider, name, name)
  const copies = await rest.copyAll('', 'folder', ['a', 'b', 'c'])
  t.equal(copies.filter(copy => copy !== null).length, 3)
})

t.test('an error after a file is visible is reported, not hidden by another attempt', async t => {
  const failure = { code: 'EIO', syscall: 'fsync', message: 'EIO: i/o error, fsync' }
  const { write } = await openSmall(t, { run: async () => failure })
  await t.rejects(write('file', 'content'), { code: 'EIO', syscall: 'fsync' })
})

t.test('the threads do the jobs of many callers', async t => {
  const threads = new SmallFileThreads({ stuckAfter: 60_000 })
  const { provider, root, staging, read, write, copy } = await openSmall(t, threads)
  await put(provider, 'first', 'content')
  await until(async () => (await read('first')) !== null)
  const count = extent({ gate: 50, nightly: 200 })
  await Promise.all(
    Array.from({ length: count }, async (_, i) => {
      // The general way is taken where the disk of the machine syncs slowly.
      const written = await write(`file ${i}`, `content ${i}`)
      if (!written) await put(provider, `file ${i}`, `content ${i}`)
      const copied = await copy(`file ${i}`, `copy ${i}`)
      if (!copied) await provider.copy?.(at(`file ${i}`), at(`copy ${i}`), { ...call(), overwrite: false })
      const found = await read(`copy ${i}`)
      t.equal(Buffer.from(found?.bytes ?? []).toString(), `content ${i}`)
    }),
  )
  t.equal((await readdir(root)).length, 2 * count + 2)
  t.strictSame(await readdir(staging), [])
  await isClosed(root)
})

atNight(t, 'a job whose signal aborts while it waits is not done', async t => {
  const { provider, rootOf, root } = await openSmall(t)
  await put(provider, 'first', 'content')
  const threads = new SmallFileThreads({ stuckAfter: 60_000 })
  const small = new SmallFiles(threads)
  await until(async () => (await small.read(rootOf, ['first'], { signal })) !== null)
  const controller = new AbortController()
  const options = { root: rootOf, parents: [], overwrite: false, signal: controller.signal }
  const writes = Array.from({ length: 20 }, (_, i) => small.write({ ...options, name: `file ${i}` }, Buffer.from('no')))
  controller.abort(new Error('the client went away'))
  for (const result of await Promise.allSettled(writes))
    t.match(result, { status: 'rejected', reason: { message: /went away/ } })
  t.strictSame((await readdir(root)).sort(), ['.stowage-staging', 'first'])
})

t.test('a provider stores and reads small files in the fast way by itself', async t => {
  const { provider, root } = await openTemporary(t)
  await put(provider, 'file', 'content')
  await until(async () => (await provider.readSmall?.(at('file'), { ...call(), maxBytes: 100 })) !== null)
  const stored = await provider.write(at('new'), bodyOf('new content'), { ...call(), size: 11, overwrite: false })
  t.strictSame(stored, await provider.stat(at('new'), call()))
  await rejectsWith('ALREADY_EXISTS', provider.write(at('new'), bodyOf('x'), { ...call(), size: 1, overwrite: false }))
  await provider.write(at('made/up/new'), bodyOf('deep'), { ...call(), size: 4, overwrite: false })
  await has(provider, 'made/up/new', 'deep')
  for (const [range, expected] of [
    [{ offset: 4 }, 'content'],
    [{ offset: 0, length: 3 }, 'new'],
    [{ offset: 10, length: 100 }, 't'],
  ] as const) {
    const { body } = await provider.read(at('new'), { ...call(), range })
    t.equal((await body.toArray()).join(''), expected)
  }
  await rejectsWith('RANGE_NOT_SATISFIABLE', provider.read(at('new'), { ...call(), range: { offset: 11 } }))
  await rejectsWith('PRECONDITION_FAILED', provider.read(at('new'), { ...call(), ifMatch: 'other' }))
  const controller = new AbortController()
  const { body } = await provider.read(at('new'), { signal: controller.signal })
  controller.abort(new Error('the grant ended'))
  await t.rejects(body.toArray(), { message: 'the grant ended' })
  t.strictSame(await readdir(join(root, '.stowage-staging')), [])
})

const stand = new URL('small-thread.ts', import.meta.url)
/** A job of a disk for the thread of small-thread.ts, which does what its name says. */
const jobFor = (disk: bigint, name: string): SmallJob => {
  return { kind: 'read', name, path: '/nowhere/file', maxBytes: 1, root: { path: '/nowhere', dev: disk, ino: 1n } }
}

async function startThreads(options = {}) {
  const threads = new SmallFileThreads({ file: stand, ...options })
  const run = (disk: bigint, name: string, more: object = {}) => threads.run({ ...jobFor(disk, name), ...more }, signal)
  await until(async () => (await run(1n, 'done')) !== null)
  return run
}

atNight(t, 'a disk that hangs delays neither other disks nor its own callers that can go another way', async t => {
  const run = await startThreads()
  const gate = new Int32Array(new SharedArrayBuffer(4))
  const hanging = run(1n, 'hang', { gate })
  // Jobs of one turn share a message.
  await new Promise(resolve => setImmediate(resolve))
  // These wait until the thread counts as stuck. Later ones do not wait.
  for (const disk of [1n, 2n, 2n]) t.equal(await run(disk, 'done'), null)
  Atomics.store(gate, 0, 1)
  Atomics.notify(gate, 0)
  t.ok(await hanging)
  await until(async () => (await run(1n, 'done')) !== null)
})

t.test('jobs that wait for a thread are bounded', async t => {
  const run = await startThreads({ stuckAfter: 60_000 })
  const results = await Promise.all(Array.from({ length: 300 }, () => run(1n, 'done')))
  t.equal(results.filter(result => result === null).length, 300 - 256)
})

t.test('a thread that dies fails only what it may have done', async t => {
  const run = await startThreads()
  t.equal(await run(1n, 'die'), null, 'a read takes the general way')
  await until(async () => (await run(1n, 'done')) !== null)
  await rejectsWith('UNAVAILABLE', run(1n, 'die', { kind: 'write' }))
  await until(async () => (await run(1n, 'done')) !== null)
})

t.test('without threads, the general way remains', async t => {
  const warnings: string[] = []
  const onWarning = ({ message }: Error) => warnings.push(message)
  process.on('warning', onWarning)
  t.teardown(() => process.off('warning', onWarning))
  const threads = new SmallFileThreads({ file: new URL('no-such-file.ts', import.meta.url) })
  t.equal(await threads.run(jobFor(1n, 'done'), signal), null)
  await until(() => warnings.some(message => message.startsWith('The threads for small files do not start')))
  t.equal(await threads.run(jobFor(1n, 'done'), signal), null)
})
