import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { link, lstat, mkdir, readdir, readFile, readlink, stat, symlink, utimes, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { Worker } from 'node:worker_threads'
import fc from 'fast-check'
import t from 'tap'
import { localAdapter } from '../../adapters/backends/local/index.ts'
import {
  at,
  call,
  get,
  has,
  isMissing,
  listAll,
  makeFolder,
  namesIn,
  put,
  rejectsWith,
} from '../../adapters/conformance/kit.ts'
import type { StorageErrorCode, StorageProvider } from '../../adapters/contract.ts'
import { atNight, extent } from '../support/extent.ts'
import { recordingHost } from './host.ts'
import { snapshot } from './snapshot.ts'
import { openTemporary, type Temporary } from './temporary.ts'

const run = promisify(execFile)
const secret = 'SECRET of somebody else'
const keep = { overwrite: false }
const replace = { overwrite: true }

t.test('symbolic links cannot be read, and occupy their names for writes', async t => {
  const { provider, root, outside } = await openTemporary(t)
  await writeFile(join(outside, 'file'), secret)
  await mkdir(join(outside, 'folder'))
  await put(provider, 'real/file', 'inside')
  const before = await snapshot(outside)
  const targets = [
    outside,
    join(outside, 'file'),
    '../outside',
    'real',
    join(root, 'real'),
    'real/file',
    'nowhere',
    '.',
  ]
  for (const target of targets) {
    const reset = async () => {
      await provider.delete(at('folder/link'), call())
      await makeFolder(provider, 'folder')
      await symlink(target, join(root, 'folder/link'))
    }
    await reset()
    const check = (code: StorageErrorCode, promise: Promise<unknown> | undefined) =>
      rejectsWith(code, Promise.resolve(promise))
    for (const path of ['folder/link', 'folder/link/file', 'folder/link/folder']) {
      await isMissing(provider, path)
      await check('NOT_FOUND', provider.list(at(path), { ...call(), limit: 10 }))
      await check('NOT_FOUND', get(provider, path))
      await check('NOT_FOUND', provider.openFile?.(at(path), call()))
      await check('NOT_FOUND', provider.copy?.(at(path), at('copied'), { ...call(), ...keep }))
      await check('NOT_FOUND', provider.move?.(at(path), at('moved'), { ...call(), ...keep }))
    }
    for (const path of ['folder/link/file', 'folder/link/new', 'folder/link/far/new']) {
      for (const options of [keep, replace]) {
        await check('NOT_A_DIRECTORY', put(provider, path, 'no', options.overwrite))
        await check('NOT_A_DIRECTORY', provider.copy?.(at('real/file'), at(path), { ...call(), ...options }))
        await check('NOT_A_DIRECTORY', provider.move?.(at('real/file'), at(path), { ...call(), ...options }))
      }
      await check('NOT_A_DIRECTORY', makeFolder(provider, path))
      await provider.delete(at(path), call())
      await provider.deleteTree?.(at(path), call())
    }
    await check('ALREADY_EXISTS', makeFolder(provider, 'folder/link'))
    await check('ALREADY_EXISTS', put(provider, 'folder/link', 'no'))
    await check('ALREADY_EXISTS', provider.copy?.(at('real/file'), at('folder/link'), { ...call(), ...keep }))
    await check('ALREADY_EXISTS', provider.move?.(at('real/file'), at('folder/link'), { ...call(), ...keep }))
    t.equal(await readlink(join(root, 'folder/link')), target)
    t.strictSame(await listAll(provider, 'folder'), [])

    await put(provider, 'folder/link', 'a file now', true)
    t.ok((await lstat(join(root, 'folder/link'))).isFile(), 'the link itself was replaced')
    await provider.delete(at('folder/link'), call())
    await reset()
    await provider.copy?.(at('real/file'), at('folder/link'), { ...call(), ...replace })
    await has(provider, 'folder/link', 'inside')
    await provider.delete(at('folder/link'), call())
    await reset()
    await provider.deleteTree?.(at('folder'), call())
    await isMissing(provider, 'folder')
    await has(provider, 'real/file', 'inside')
  }
  t.strictSame(await snapshot(outside), before)
})

t.test('a folder that is repeatedly replaced by a link to the outside never leads out of the root', async t => {
  const { provider, root, outside } = await openTemporary(t)
  for (const folder of [outside, join(root, 'dir')]) {
    await mkdir(join(folder, 'sub/tree/deep'), { recursive: true })
    for (const name of ['file', 'sub/file', 'sub/tree/file', 'sub/tree/deep/file']) {
      await writeFile(join(folder, name), folder === outside ? secret : 'inside')
    }
  }
  await writeFile(join(outside, 'only-outside'), secret)
  await writeFile(join(outside, 'sub/only-outside'), secret)
  const before = await snapshot(outside)
  const worker = new Worker(new URL('swapper.ts', import.meta.url), {
    workerData: { folder: join(root, 'dir'), away: join(root, 'away'), outside },
  })
  await once(worker, 'online')

  const codes = new Set<string>()
  const counts = { naive: 0, calls: 0 }
  const tolerate = async <T>(call: Promise<T> | undefined): Promise<T | undefined> => {
    counts.calls += 1
    try {
      return await call
    } catch (error) {
      codes.add(error instanceof Error && 'code' in error ? String(error.code) : String(error))
      return undefined
    }
  }
  let i = 0
  const started = Date.now()
  const isWanted = () => Date.now() < started + 3500 || (counts.naive === 0 && Date.now() < started + 20_000)
  const client = async () => {
    while (isWanted()) {
      i += 1
      const path = ['dir/file', 'dir/sub/file', 'dir/sub/tree/deep/file'][i % 3] ?? ''
      // The control: an adapter that opens whole paths would fail here.
      const naive = await readFile(join(root, path), 'utf8').catch(() => '')
      if (naive === secret) counts.naive += 1
      const read = await tolerate(get(provider, path))
      if (read?.includes('SECRET')) t.fail('the outside was read')
      const opened = await tolerate(provider.openFile?.(at(path), call()))
      if ((await opened?.handle.readFile('utf8'))?.includes('SECRET')) t.fail('the outside was opened')
      await opened?.handle.close()
      for (const folder of ['dir', 'dir/sub']) {
        const listed = await tolerate(namesIn(provider, folder))
        if (listed?.includes('only-outside')) t.fail('the outside was listed')
      }
      for (const name of ['dir/only-outside', 'dir/sub/only-outside']) {
        if (await tolerate(provider.stat(at(name), call()))) t.fail('the outside was seen')
        await tolerate(provider.delete(at(name), call()))
        if (await tolerate(provider.copy?.(at(name), at('copied'), { ...call(), ...replace }))) t.fail('copied')
        if (await tolerate(provider.move?.(at(name), at('moved'), { ...call(), ...replace }))) t.fail('moved')
      }
      await tolerate(put(provider, `dir/sub/new ${i % 7}`, 'new', true))
      await tolerate(put(provider, `dir/new ${i % 7}/below`, 'new'))
      await tolerate(put(provider, path, 'inside', true))
      await tolerate(makeFolder(provider, `dir/folder ${i % 7}`))
      await tolerate(provider.deleteTree?.(at(`dir/new ${i % 7}`), call()))
      await tolerate(provider.move?.(at(`dir/folder ${i % 7}`), at(`dir/sub/f ${i % 7}`), { ...call(), ...keep }))
      if (i % 5 === 0) {
        await tolerate(provider.deleteTree?.(at('dir/sub'), call()))
        await tolerate(put(provider, 'dir/sub/tree/deep/file', 'inside', true))
        await tolerate(put(provider, 'dir/sub/file', 'inside', true))
      }
    }
  }
  await Promise.all([client(), client(), client()])
  worker.postMessage('stop')
  const [swaps] = await once(worker, 'message')
  await worker.terminate()

  t.strictSame(await snapshot(outside), before, 'files outside the root are unchanged')
  t.ok(counts.naive > 0, `by path, the outside was read ${counts.naive} times: the race is real`)
  t.ok(swaps > 100, `${swaps} swaps, ${counts.calls} calls`)
  const expected = ['NOT_FOUND', 'NOT_A_DIRECTORY', 'ALREADY_EXISTS', 'NOT_EMPTY', 'UNAVAILABLE']
  t.strictSame(
    [...codes].filter(code => !expected.includes(code)),
    [],
  )
  t.strictSame((await readdir(join(root, '.stowage-staging'))).length, 0, 'no unfinished file remains')
})

t.test('FIFOs, sockets and devices are not served and block no call', { timeout: 60_000 }, async t => {
  const { provider, root } = await openTemporary(t)
  await makeFolder(provider, 'folder')
  await run('mkfifo', [join(root, 'folder/fifo')])
  const server = createServer().listen(join(root, 'folder/socket'))
  await once(server, 'listening')
  const specials = ['fifo', 'socket']
  if (process.getuid?.() === 0) {
    await run('mknod', [join(root, 'folder/device'), 'c', '1', '5'])
    specials.push('device')
  }
  await put(provider, 'folder/file', 'content')
  t.strictSame(await namesIn(provider, 'folder'), ['file'])
  for (const name of specials) {
    await isMissing(provider, `folder/${name}`)
    await rejectsWith('NOT_FOUND', get(provider, `folder/${name}`))
    await rejectsWith('NOT_FOUND', Promise.resolve(provider.openFile?.(at(`folder/${name}`), call())))
    await rejectsWith('NOT_FOUND', provider.list(at(`folder/${name}`), { ...call(), limit: 1 }))
    await rejectsWith('ALREADY_EXISTS', put(provider, `folder/${name}`, 'no'))
    await rejectsWith('NOT_A_DIRECTORY', put(provider, `folder/${name}/below`, 'no', true))
    const moved = provider.move?.(at(`folder/${name}`), at('moved'), { ...call(), ...keep })
    await rejectsWith('NOT_FOUND', Promise.resolve(moved))
  }
  await rejectsWith(
    'NOT_EMPTY',
    makeFolder(provider, 'folder').then(() => provider.delete(at('folder'), call())),
  )
  await put(provider, 'folder/fifo', 'a file now', true)
  await has(provider, 'folder/fifo', 'a file now')
  await provider.deleteTree?.(at('folder'), call())
  await isMissing(provider, 'folder')
  server.close()
})

t.test('listings leave out names that are not UTF-8, and deleteTree removes them', async t => {
  const { provider, root, host } = await openTemporary(t)
  await put(provider, 'folder/fine', 'content')
  for (const bytes of ['fffe', 'c328', 'eda080', '61f0809f']) {
    await writeFile(Buffer.concat([Buffer.from(join(root, 'folder/')), Buffer.from(bytes, 'hex')]), '')
  }
  t.strictSame(await namesIn(provider, 'folder'), ['fine'])
  t.equal(host.warnings.length, 1)
  t.match(host.warnings[0], { details: { path: 'folder', count: 4 } })
  await rejectsWith('NOT_EMPTY', provider.delete(at('folder'), call()))
  await provider.deleteTree?.(at('folder'), call())
  t.strictSame(await readdir(root), ['.stowage-staging'])
})

t.test('the reserved name is hidden and refused at every level and in any case', async t => {
  const { provider, root } = await openTemporary(t)
  await mkdir(join(root, 'folder/.stowage-staging'), { recursive: true })
  await writeFile(join(root, 'folder/.stowage-staging/young'), secret)
  t.strictSame(await namesIn(provider, ''), ['folder'])
  t.strictSame(await namesIn(provider, 'folder'), [])
  const paths = ['.stowage-staging', '.stowage-staging/young', 'folder/.stowage-staging/young', 'a/.STOWAGE-Staging']
  for (const path of paths) {
    const calls = [
      provider.stat(at(path), call()),
      provider.list(at(path), { ...call(), limit: 1 }),
      get(provider, path),
      put(provider, path, 'no', true),
      provider.delete(at(path), call()),
      provider.deleteTree?.(at(path), call()),
      makeFolder(provider, path),
      provider.openFile?.(at(path), call()),
      provider.copy?.(at(path), at('to'), { ...call(), ...keep }),
      provider.move?.(at(path), at('to'), { ...call(), ...keep }),
      provider.move?.(at('folder'), at(path), { ...call(), ...keep }),
    ]
    await Promise.all(calls.map(promise => rejectsWith('INVALID_PATH', Promise.resolve(promise))))
  }
  await rejectsWith('NOT_EMPTY', provider.delete(at('folder'), call()))
  await age(join(root, 'folder/.stowage-staging/young'))
  await provider.delete(at('folder'), call())
  t.strictSame(await namesIn(provider, ''), [], 'a folder that contains only the remains of a killed write is deleted')
})

t.test('no path leaves the root, even if the host does not refuse it', async t => {
  const { provider, outside } = await openTemporary(t)
  await writeFile(join(outside, 'file'), secret)
  await makeFolder(provider, 'folder')
  for (const path of [
    '../outside/file',
    'folder/../../outside/file',
    '/etc/passwd',
    'folder//file',
    './file',
    'a\0b',
  ]) {
    await rejectsWith('INVALID_PATH', get(provider, path))
    await rejectsWith('INVALID_PATH', put(provider, path, 'no', true))
    await rejectsWith('INVALID_PATH', provider.delete(at(path), call()))
  }
  await rejectsWith('INVALID_PATH', provider.delete(at(''), call()))
  await rejectsWith('INVALID_PATH', Promise.resolve(provider.deleteTree?.(at(''), call())))
  const intoItself = provider.move?.(at('folder'), at('folder/below/it'), { ...call(), ...keep })
  await rejectsWith('INVALID_PATH', Promise.resolve(intoItself))
  t.strictSame(await namesIn(provider, 'folder'), [])
})

t.test('hard links are ordinary files', async t => {
  const { provider, root, outside } = await openTemporary(t)
  await writeFile(join(outside, 'file'), 'shared')
  await link(join(outside, 'file'), join(root, 'linked'))
  await has(provider, 'linked', 'shared')
  await put(provider, 'linked', 'replaced', true)
  t.equal(await readFile(join(outside, 'file'), 'utf8'), 'shared', 'a write replaces only this name')
})

atNight(t, 'opening a provider removes unfinished files that are older than a day, and no others', async t => {
  const temporary = await openTemporary(t)
  // Its sweep, which a busy machine may delay, would find the files first.
  await temporary.provider.close?.()
  const staging = join(temporary.root, '.stowage-staging')
  for (const name of ['old', 'young']) await writeFile(join(staging, name), 'unfinished')
  await age(join(staging, 'old'))
  const { host } = await reopen(t, temporary)
  // The warning comes last.
  await eventually(async () => host.warnings.length === 1)
  t.strictSame(await readdir(staging), ['young'])
  t.match(host.warnings, [{ details: { removed: 1 } }])
})

t.test('a server that is killed during a write leaves nothing visible, and its file is swept', async t => {
  const temporary = await openTemporary(t)
  await put(temporary.provider, 'file', 'old')
  const child = spawn(process.execPath, [join(import.meta.dirname, 'stalled-writer.ts'), temporary.root], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const staging = join(temporary.root, '.stowage-staging')
  await eventually(async () => {
    const names = await readdir(staging)
    const sizes = await Promise.all(names.map(async name => (await stat(join(staging, name))).size))
    return sizes.filter(size => size >= 2 * 1024 * 1024).length === 2
  })
  await kill(child)
  const { provider } = await reopen(t, temporary)
  t.strictSame(await namesIn(provider, ''), ['file'])
  await has(provider, 'file', 'old')
  await put(provider, 'new/file', 'works')
  const left = await readdir(staging)
  t.equal(left.length, 2)
  await Promise.all(left.map(name => age(join(staging, name))))
  await reopen(t, temporary)
  await eventually(async () => (await readdir(staging)).length === 0)
})

t.test('every name that the contract allows is stored exactly', async t => {
  const { provider } = await openTemporary(t)
  const name = fc
    .oneof(fc.string({ unit: 'binary' }), fc.string({ unit: 'grapheme' }), fc.string({ unit: 'binary-ascii' }))
    .filter(text => isName(text))
  let round = 0
  const property = fc.asyncProperty(fc.uniqueArray(name, { minLength: 1, maxLength: 6 }), async names => {
    round += 1
    for (const [index, text] of names.entries()) await put(provider, `round ${round}/${text}`, `file ${index}`)
    const listed = await listAll(provider, `round ${round}`, 2)
    t.strictSame(listed.map(entry => entry.name).sort(), [...names].sort())
    const bytes = listed.map(entry => Buffer.from(entry.name))
    t.strictSame([...bytes].sort(Buffer.compare), bytes, 'names are sorted by their bytes')
    for (const [index, text] of names.entries()) await has(provider, `round ${round}/${text}`, `file ${index}`)
    for (const text of names) await provider.delete(at(`round ${round}/${text}`), call())
    await provider.delete(at(`round ${round}`), call())
  })
  await fc.assert(property, { numRuns: extent({ gate: 2, nightly: 40 }) })
})

function isName(text: string): boolean {
  return (
    text !== '' &&
    text !== '.' &&
    text !== '..' &&
    !/[/\0]/.test(text) &&
    text.isWellFormed() &&
    Buffer.byteLength(text) <= 255
  )
}

async function age(path: string): Promise<void> {
  const longAgo = Date.now() / 1000 - 25 * 60 * 60
  await utimes(path, longAgo, longAgo)
}

async function reopen(t: { teardown(clean: () => Promise<void>): void }, { root }: Temporary) {
  const host = recordingHost()
  const provider: StorageProvider = await localAdapter({ localRoots: [root], dataFolder: '/nowhere' }).open(
    { root },
    host,
  )
  t.teardown(async () => provider.close?.())
  return { provider, host }
}

async function eventually(condition: () => Promise<boolean>): Promise<void> {
  for (let waited = 0; !(await condition()); waited += 20) {
    if (waited > 8000) throw new Error('it did not happen within 8 s')
    await delay(20)
  }
}

async function kill(child: ChildProcess): Promise<void> {
  const exit = once(child, 'exit')
  child.kill('SIGKILL')
  await exit
}
