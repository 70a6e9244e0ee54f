import { once } from 'node:events'
import { readdirSync, statSync } from 'node:fs'
import {
  appendFile,
  link,
  mkdir,
  open,
  readdir,
  readFile,
  readlink,
  rename,
  symlink,
  truncate,
  writeFile,
} from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { localAdapter } from '../../adapters/backends/local/index.ts'
import { namesAfter, packNames } from '../../adapters/backends/local/list.ts'
import { claim } from '../../adapters/backends/local/replace.ts'
import { sweepStaging, withStaged } from '../../adapters/backends/local/staging.ts'
import type { Harness } from '../../adapters/conformance/index.ts'
import {
  at,
  bodyOf,
  call,
  get,
  has,
  makeFolder,
  namesIn,
  pattern,
  put,
  rejectsWith,
  stalledBody,
} from '../../adapters/conformance/kit.ts'
import { oddNames } from '../../adapters/conformance/names.ts'
import type { KeepReplaced, StorageProvider } from '../../adapters/contract.ts'
import { builtInAdapters } from '../../adapters/index.ts'
import { atNight, extent } from '../support/extent.ts'
import { until } from '../support/until.ts'
import { faults, runConformance } from './conformance.ts'
import { silentHost } from './host.ts'
import { openTemporary } from './temporary.ts'

const mib = 1024 * 1024

const roots = new Map<StorageProvider, string>()
const openRoot = (root: string) =>
  localAdapter({ localRoots: [root], dataFolder: '/nowhere' }).open({ root }, silentHost)

const harness: Harness = {
  async open() {
    const { provider, root } = await openTemporary(t)
    roots.set(provider, root)
    return provider
  },
  reopen: provider => openRoot(roots.get(provider) ?? ''),
  openFolder: (provider, path) => openRoot(join(roots.get(provider) ?? '', path)),
  manyEntries: extent({ gate: 300, nightly: 10_000 }),
}
runConformance(t, 'local', harness, ['hasCreateRaces in the harness', 'the method presign', ...faults])

t.test('odd names are stored unchanged on the disk', async t => {
  const { provider, root } = await openTemporary(t)
  for (const name of oddNames) await put(provider, `folder/${name}`, name)
  t.strictSame((await readdir(join(root, 'folder'))).sort(), [...oddNames].sort())
  for (const name of oddNames) t.equal(await readFile(join(root, 'folder', name), 'utf8'), name)
})

t.test('an invalid configuration is refused with a reason', async t => {
  const { root, outside } = await openTemporary(t)
  const [local] = builtInAdapters({ localRoots: [root, '/nowhere/at/all'], dataFolder: '/nowhere' })
  const open = (folder: string) => Promise.resolve(local?.open({ root: folder }, silentHost))
  t.match(local?.configSchema.properties, { root: { default: root } })
  await mkdir(join(root, 'inside'))
  await writeFile(join(root, 'file'), '')
  await symlink(outside, join(root, 'out'))
  await symlink(root, join(outside, 'in'))
  const reject = async (folder: string, problem: RegExp) => {
    await t.rejects(open(folder), { code: 'INVALID_CONFIG', message: problem }, folder)
    await t.rejects(open(folder), { message: new RegExp(`^${folder} .*STOWAGE_LOCAL_ROOTS \\(now: ${root}`) }, folder)
  }
  await reject(join(root, 'missing'), /cannot be found/)
  await reject(join(root, 'file'), /is not a folder/)
  await reject(outside, /outside of the folders/)
  await reject(join(root, 'out'), /outside of the folders/)
  await reject(`${root}-sibling`, /cannot be found/)
  await reject('/', /outside of the folders/)
  await t.resolves(open(root))
  await t.resolves(open(join(root, 'inside')))
  await t.resolves(open(join(outside, 'in', 'inside')), 'the path of the root may contain links')
})

t.test('a replaced or missing root is UNAVAILABLE, and nothing is written at its path', async t => {
  const { provider, root, outside } = await openTemporary(t)
  await put(provider, 'file', 'content')
  const attempts = () => [
    put(provider, 'new', 'no'),
    provider.stat(at('file'), call()),
    provider.list(at(''), { ...call(), limit: 10 }),
    provider.delete(at('file'), call()),
    makeFolder(provider, 'folder'),
  ]
  await rename(root, `${root}-away`)
  await Promise.all(attempts().map(attempt => rejectsWith('UNAVAILABLE', attempt)))
  await mkdir(root)
  await Promise.all(attempts().map(attempt => rejectsWith('UNAVAILABLE', attempt)))
  t.strictSame(await readdir(root), [])
  await rename(root, `${root}-empty`)
  await symlink(outside, root)
  await Promise.all(attempts().map(attempt => rejectsWith('UNAVAILABLE', attempt)))
  t.strictSame(await readdir(outside), [])
})

t.test('a sender that is faster than the disk is slowed down', async t => {
  const { provider, root } = await openTemporary(t)
  const staging = join(root, '.stowage-staging')
  let mostAhead = 0
  function* pieces() {
    const piece = Buffer.alloc(mib)
    for (let sent = 0; sent < extent({ gate: 24, nightly: 96 }) * mib; sent += mib) {
      const [name] = readdirSync(staging)
      mostAhead = Math.max(mostAhead, sent - (name === undefined ? 0 : statSync(join(staging, name)).size))
      yield piece
    }
  }
  await provider.write(at('big'), Readable.from(pieces()), { ...call(), overwrite: false })
  t.ok(mostAhead <= 5 * mib, `${mostAhead / mib} MiB were read but not on the disk, at most`)
})

t.test('no call leaves an open descriptor or an unfinished file', async t => {
  const { provider, outside, root } = await openTemporary(t)
  await symlink(outside, join(root, 'link'))
  await put(provider, 'file', pattern(3 * mib))
  await put(provider, 'folder/file', '')
  const before = await descriptors()
  for (let round = 0; round < extent({ gate: 2, nightly: 5 }); round += 1) {
    const { body } = await provider.read(at('file'), call())
    body.destroy()
    const started = await provider.read(at('file'), call())
    await once(started.body, 'readable')
    started.body.destroy()
    await get(provider, 'file')
    const controller = new AbortController()
    const write = provider.write(at('cut'), stalledBody(pattern(2 * mib)), {
      signal: controller.signal,
      overwrite: true,
    })
    await delay(10)
    controller.abort()
    const calls: (Promise<unknown> | undefined)[] = [
      write,
      ...['file', 'folder', 'missing', 'missing/below', 'file/below', 'link', 'link/below', '.stowage-staging'].flatMap(
        path => [
          provider.stat(at(path), call()),
          provider.list(at(path), { ...call(), limit: 10 }),
          provider.read(at(path), { ...call(), range: { offset: 9e9 } }),
          provider.openFile?.(at(path), { ...call(), ifMatch: 'other' }),
          provider.readSmall?.(at(path), { ...call(), maxBytes: 1000 }),
          provider.write(at(path), bodyOf('x'), { ...call(), size: 1, overwrite: true }),
          provider.write(at(path), bodyOf('x'), { ...call(), overwrite: false }),
          provider.copy?.(at(path), at('folder'), { ...call(), overwrite: true }),
          provider.move?.(at(path), at('folder/file/below'), { ...call(), overwrite: true }),
          provider.mkdir(at(`${path}/below`), { ...call(), exclusive: true }),
        ],
      ),
      provider.quota?.(call()),
      provider.deleteTree?.(at('missing'), call()),
    ]
    await Promise.allSettled(calls)
  }
  await until(async () => (await descriptors()) === before)
  t.strictSame(await readdir(join(root, '.stowage-staging')), [], 'no unfinished file')
})

t.test('reading a file that becomes shorter ends with an error', async t => {
  const { provider, root } = await openTemporary(t)
  await put(provider, 'file', pattern(8 * mib))
  const { body } = await provider.read(at('file'), call())
  await once(body, 'readable')
  await truncate(join(root, 'file'), 3 * mib)
  await rejectsWith('UNAVAILABLE', buffer(body))
  t.pass()
})

t.test('reading a file that is written to ends with an error', async t => {
  const { provider, root } = await openTemporary(t)
  for (const change of [(path: string) => appendFile(path, 'x'), (path: string) => writeFile(path, pattern(8 * mib))]) {
    await put(provider, 'file', pattern(8 * mib), true)
    const { body } = await provider.read(at('file'), call())
    await once(body, 'readable')
    await change(join(root, 'file'))
    await rejectsWith('UNAVAILABLE', buffer(body))
  }
  t.pass()
})

t.test('a file that is replaced or deleted is still read whole', async t => {
  const { provider } = await openTemporary(t)
  const bytes = pattern(8 * mib)
  await put(provider, 'file', bytes)
  const { body } = await provider.read(at('file'), call())
  await put(provider, 'file', 'other', true)
  await provider.delete(at('file'), call())
  t.ok((await buffer(body)).equals(bytes))
})

atNight(t, 'a tree 800 folders deep and one 1,000 files wide are deleted', async t => {
  const { provider, root } = await openTemporary(t)
  await makeDeep(provider)
  await mkdir(join(root, 'tree/wide'))
  await Promise.all(Array.from({ length: 1000 }, (_, i) => writeFile(join(root, 'tree/wide', `file ${i}`), '')))
  await provider.deleteTree?.(at('tree'), call())
  t.strictSame(await namesIn(provider, ''), [])
})

t.test('an aborted deleteTree stops, and the rest stays visible', async t => {
  const { provider, root } = await openTemporary(t)
  const folders = Array.from({ length: 300 }, (_, i) => join(root, 'tree', `folder ${i}`, 'full'))
  await Promise.all(folders.map(folder => mkdir(folder, { recursive: true })))
  const controller = new AbortController()
  const removal = provider.deleteTree?.(at('tree'), { signal: controller.signal })
  setTimeout(() => controller.abort(new Error('stop')), 3)
  await t.rejects(Promise.resolve(removal), { message: 'stop' })
  const left = await namesIn(provider, 'tree')
  t.ok(left.length > 0 && left.length <= 300, `${left.length} of 300 are left`)
})

t.test('on disks without hard links one writer claims a name, and a failure frees it', async t => {
  const { root } = await openTemporary(t)
  const names = Array.from({ length: 8 }, (_, i) => join(root, `staged ${i}`))
  await Promise.all(names.map(name => writeFile(name, name)))
  const results = await Promise.allSettled(names.map(name => claim(name, join(root, 'file'))))
  const winner = results.findIndex(result => result.status === 'fulfilled')
  t.equal(results.filter(result => result.status === 'fulfilled').length, 1)
  t.equal(await readFile(join(root, 'file'), 'utf8'), names[winner])
  await t.rejects(claim(join(root, 'missing'), join(root, 'never')), { code: 'ENOENT' })
  t.notOk((await readdir(root)).includes('never'))
})

t.test('names after a cursor are found in any order of the disk', async t => {
  const names = Array.from({ length: 5000 }, (_, i) => `n${(i * 7919) % 5000}`)
  const sorted = [...names].sort()
  for (const input of [names, sorted, [...sorted].reverse()]) {
    const packed = packNames([...input])
    for (const [after, count] of [
      ['', 10],
      ['n42', 100],
      ['n42 ', 100],
      ['n4999', 3],
      ['n5', 5000],
      ['z', 1],
    ] as const) {
      const expected = sorted.filter(name => name > after)
      const found = namesAfter(packed, after, count)
      t.strictSame(found, { names: expected.slice(0, count), more: expected.length > count })
    }
  }
  t.strictSame(namesAfter(packNames([]), '', 1), { names: [], more: false })
})

t.test('a page of mostly unserved entries is short, not slow, and the walk continues', async t => {
  const { provider, root } = await openTemporary(t)
  await Promise.all(Array.from({ length: 300 }, (_, i) => symlink('nowhere', join(root, `link ${i}`))))
  await put(provider, 'zzz', 'content')
  const first = await provider.list(at(''), { ...call(), limit: 100 })
  t.strictSame(first.entries, [])
  t.type(first.cursor, 'string')
  t.strictSame(await namesIn(provider, ''), ['zzz'])
  await has(provider, 'zzz', 'content')
})

/** Counts descriptors except those of the event loops of threads. */
async function descriptors(): Promise<number> {
  const names = await readdir('/proc/self/fd')
  const targets = await Promise.all(names.map(name => readlink(`/proc/self/fd/${name}`).catch(() => '')))
  return targets.filter(target => target !== '' && !/^(pipe|anon_inode):/.test(target)).length
}

/** Makes a tree that is deeper than a path can be: 800 folders, 7,200 bytes. */
async function makeDeep(provider: StorageProvider): Promise<void> {
  const chain = Array.from({ length: 400 }, () => 'a folder').join('/')
  await makeFolder(provider, `lower/${chain}`)
  await makeFolder(provider, `tree/${chain}`)
  await provider.move?.(at('lower'), at(`tree/${chain}/lower`), { ...call(), overwrite: false })
}

t.test('times are kept to the millisecond', async t => {
  const { provider } = await openTemporary(t)
  for (const time of [0, 1, 999, 981_173_106_789, 1_790_000_000_999, Date.UTC(2099, 11, 31, 23, 59, 59, 999)]) {
    const options = { ...call(), overwrite: true, modifiedAt: new Date(time) }
    for (let round = 0; round < extent({ gate: 2, nightly: 20 }); round += 1) {
      const { modifiedAt } = await provider.write(at('file'), bodyOf('content'), options)
      t.equal(modifiedAt?.getTime(), time)
    }
  }
})

t.test('the sweep leaves a file that is about to become visible with an old time', async t => {
  const { root } = await openTemporary(t)
  const parent = await open(root)
  try {
    const options = { parent, keep: true, modifiedAt: new Date('2001-02-03') }
    const fill = (handle: { writeFile(text: string): Promise<void> }) => handle.writeFile('content')
    const removed = await withStaged(options, fill, () => sweepStaging(parent, call().signal))
    t.equal(removed, 0)
  } finally {
    await parent.close()
  }
})

t.test('a file that takes the place of one that was kept is kept, too', async t => {
  const { provider, root } = await openTemporary(t)
  const kept: string[] = []
  let count = 0
  const keepAnd =
    (then: () => Promise<unknown>): KeepReplaced =>
    async preserve => {
      const path = at(`kept-${count++}`)
      const entry = await preserve(path)
      kept.push(entry ? await readFile(join(root, path), 'utf8') : 'nothing')
      if (kept.length === 1) await then()
    }
  const ways: Record<string, (keep: KeepReplaced) => Promise<unknown>> = {
    write: keep => provider.write(at('file'), bodyOf('new'), { ...call(), overwrite: true, keep }),
    async move(keep) {
      await put(provider, 'moved', 'new')
      await provider.move?.(at('moved'), at('file'), { ...call(), overwrite: true, keep })
    },
  }
  for (const [way, replace] of Object.entries(ways)) {
    await put(provider, 'file', 'first', true)
    const replaceByOther = async () => {
      await rename(join(root, 'file'), join(root, 'away'))
      await put(provider, 'file', 'second')
    }
    await replace(keepAnd(replaceByOther))
    t.same([kept.splice(0), await readFile(join(root, 'file'), 'utf8')], [['first', 'second'], 'new'], way)
    await replace(keepAnd(() => rename(join(root, 'file'), join(root, 'away'))))
    t.same(
      [kept.splice(0), await readFile(join(root, 'file'), 'utf8')],
      [['new'], 'new'],
      `${way}, if the file is gone`,
    )
  }
})

t.test('an upload whose server was killed when its file had both names changes nothing in it', async t => {
  const { provider, root } = await openTemporary(t)
  const { resumable } = provider
  if (!resumable) throw new Error('A disk takes resumable uploads')
  const begun = await resumable.begin(at('file'), call())
  const state = await resumable.append(begun, bodyOf('abc'), { ...call(), offset: 0, size: 3 })
  const { name } = JSON.parse(state)
  const staged = join(root, '.stowage-staging', name)
  await appendFile(staged, 'def')
  await link(staged, join(root, 'file'))
  await rename(join(root, 'file'), join(root, 'version'))
  await put(provider, 'file', 'newer')
  const end = { ...call(), offset: 3, size: 3 }
  await rejectsWith('NOT_FOUND', resumable.append(state, bodyOf('xyz'), end))
  t.equal((await resumable.complete(state, bodyOf('xyz'), { ...end, overwrite: true })).size, 6)
  t.same(await Promise.all(['file', 'version'].map(each => readFile(join(root, each), 'utf8'))), ['newer', 'abcdef'])
  t.notOk((await readdir(join(root, '.stowage-staging'))).includes(name))
})
