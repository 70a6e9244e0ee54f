/** The provider for servers of plain files, over the simplest server: a folder of this machine. */
import { createReadStream, createWriteStream } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, rename, rm, rmdir, stat, unlink, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import t from 'tap'
import type { Facts, PlainFiles } from '../../adapters/bases/plain/files.ts'
import { openPlainProvider } from '../../adapters/bases/plain/provider.ts'
import { at, bodyOf, call, get, listAll, namesIn, put } from '../../adapters/conformance/kit.ts'
import { type Call, type Host, StorageError, type StoragePath, type StorageProvider } from '../../adapters/contract.ts'
import { extent } from '../support/extent.ts'
import { faults, runConformance } from './conformance.ts'
import { recordingHost, silentHost } from './host.ts'

/** Refuses what servers refuse, with one error for all reasons. */
class Folder implements PlainFiles {
  readonly traits = { keepsModifiedAt: true }
  readonly root: string
  /** Called before each command. */
  before: (command: string) => void = () => {}
  renamesOverFiles = true
  ignoresCase = false

  constructor(root: string) {
    this.root = root
  }

  idOf(path: StoragePath): string {
    return `folder:${this.#at(path)}`
  }

  async find(path: StoragePath, { signal }: Call): Promise<Facts | null> {
    signal.throwIfAborted()
    const found = await stat(this.#at(path)).catch(error => {
      if (['ENOENT', 'ENOTDIR'].includes(error.code)) return null
      throw refused(error)
    })
    if (!found) return null
    const modifiedAt = new Date(Math.trunc(found.mtimeMs))
    return found.isDirectory()
      ? { kind: 'directory', size: null, modifiedAt }
      : { kind: 'file', size: found.size, modifiedAt }
  }

  async list(path: StoragePath, options: Call): Promise<(Facts & { name: string })[]> {
    const names = await this.#try('list', () => readdir(this.#at(path)))
    const found = names.map(async name => {
      const facts = await this.find((path === '' ? name : `${path}/${name}`) as StoragePath, options)
      return facts ? [{ name, ...facts }] : []
    })
    return (await Promise.all(found)).flat()
  }

  async *receive(
    path: StoragePath,
    { signal, start }: Call & { start: number; facts: Facts },
  ): AsyncGenerator<Buffer, void> {
    for await (const chunk of createReadStream(this.#at(path), { start, signal })) {
      this.before('receive')
      yield chunk
    }
  }

  // The body ends when the signal aborts, so this command needs no signal.
  async store(path: StoragePath, body: Readable, { modifiedAt }: Call & { modifiedAt?: Date }): Promise<void> {
    await this.#try('store', () => pipeline(body, createWriteStream(this.#at(path), { flags: 'wx' })))
    if (modifiedAt) await utimes(this.#at(path), modifiedAt, modifiedAt)
  }

  async append(
    path: StoragePath,
    body: Readable,
    { signal, offset, modifiedAt }: Call & { offset: number; modifiedAt?: Date },
  ): Promise<void> {
    const flags = offset === 0 ? 'w' : 'r+'
    const target = createWriteStream(this.#at(path), { flags, start: offset })
    await this.#try('append', () => pipeline(body, target, { signal }))
    if (modifiedAt) await utimes(this.#at(path), modifiedAt, modifiedAt)
  }

  async rename(from: StoragePath, to: StoragePath): Promise<void> {
    const isThere = (await this.find(to, call())) !== null
    await this.#try('rename', async () => {
      if (isThere && !this.renamesOverFiles) throw refusal()
      await rename(this.#at(from), this.#at(to))
    })
  }

  async makeFolder(path: StoragePath): Promise<void> {
    await this.#try('makeFolder', () => mkdir(this.#at(path)))
  }

  async removeFile(path: StoragePath): Promise<void> {
    await this.#try('removeFile', () => unlink(this.#at(path)))
  }

  async removeFolder(path: StoragePath): Promise<void> {
    await this.#try('removeFolder', () => rmdir(this.#at(path)))
  }

  async removeTree(path: StoragePath): Promise<void> {
    await this.#try('removeTree', () => rm(this.#at(path), { recursive: true }))
  }

  close(): void {}

  #at(path: StoragePath): string {
    const spelled = this.ignoresCase ? path.toLowerCase() : path
    return path === '' ? this.root : `${this.root}/${spelled}`
  }

  async #try<T>(command: string, work: () => Promise<T>): Promise<T> {
    this.before(command)
    return await work().catch(error => {
      throw refused(error)
    })
  }
}

const refusal = (cause?: unknown) => new StorageError('PERMISSION_DENIED', 'The server refuses.', { cause })

function refused(cause: { code?: string }): unknown {
  if (cause.code === 'ENAMETOOLONG') return new StorageError('INVALID_PATH', 'The name is too long.', { cause })
  return cause.code?.startsWith('E') ? refusal(cause) : cause
}

const roots = new Map<StorageProvider, string>()

async function openRoot(root: string, host: Host = silentHost): Promise<{ provider: StorageProvider; files: Folder }> {
  const files = new Folder(root)
  const provider = await openPlainProvider(files, host)
  roots.set(provider, root)
  return { provider, files }
}

async function openNew(host?: Host): Promise<{ provider: StorageProvider; files: Folder; root: string }> {
  const root = await mkdtemp(join(tmpdir(), 'stowage-plain-'))
  t.teardown(() => rm(root, { recursive: true, force: true }))
  return { root, ...(await openRoot(root, host)) }
}

runConformance(
  t,
  null,
  {
    open: async () => (await openNew()).provider,
    reopen: async provider => (await openRoot(roots.get(provider) ?? '')).provider,
    openFolder: async (provider, path) => (await openRoot(`${roots.get(provider)}/${path}`)).provider,
    manyEntries: extent({ gate: 200, nightly: 1_000 }),
  },
  [
    'hasCreateRaces in the harness',
    'parts of resumable writes',
    'the trait keepsReplaced',
    ...['copy', 'copySmall', 'openFile', 'readSmall', 'setModifiedAt', 'presign', 'quota', 'changes'].map(
      name => `the method ${name}`,
    ),
    ...faults,
  ],
  4,
)

t.test(
  'a listing is in the order of bytes, and a walk from the middle reads the folder once for each page',
  async t => {
    const { provider, files } = await openNew()
    for (const name of ['z\u{1f600}', 'z\u{fffd}', 'b', 'a', 'ä']) await put(provider, name, '')
    t.equal(provider.traits.listOrder, 'names')
    let lists = 0
    files.before = command => {
      if (command === 'list') lists += 1
    }
    const listed = await listAll(provider, '', 2, 'b')
    t.same(
      listed.map(({ name }) => name),
      ['b', 'z\u{fffd}', 'z\u{1f600}', 'ä'],
    )
    t.equal(lists, 2)
  },
)

t.test('a read continues after a lost connection, and fails if the file has changed', async t => {
  const { provider, files, root } = await openNew()
  const bytes = Buffer.alloc(300_000, 'content ')
  await put(provider, 'file', bytes)
  let left = 2
  files.before = command => {
    if (command === 'receive' && left-- === 0) throw new StorageError('UNAVAILABLE', 'The connection is lost.')
  }
  t.ok((await get(provider, 'file')).equals(bytes))
  t.ok(left < 0, 'the connection was lost once')
  left = 2
  const { body } = await provider.read(at('file'), call())
  await writeFile(join(root, 'file'), 'shorter')
  await t.rejects(body.toArray(), { code: 'UNAVAILABLE' })
})

t.test('a read gives up when the connection is lost again and again', async t => {
  const { provider, files } = await openNew()
  await put(provider, 'file', 'content')
  let tries = 0
  files.before = command => {
    if (command !== 'receive') return
    tries += 1
    throw new StorageError('UNAVAILABLE', 'The connection is lost.')
  }
  await t.rejects(provider.read(at('file'), call()), { code: 'UNAVAILABLE' })
  t.equal(tries, 4)
})

t.test('staging is hidden, refused as a path, and swept after a day', async t => {
  const { provider, root } = await openNew()
  await put(provider, 'file', 'content')
  const staging = join(root, '.stowage-staging')
  const hour = 60 * 60_000
  const ages = { new: 0, old: 25, 'upload-new': 25, 'upload-old': 200, 'replaced-old': 9999 }
  for (const [name, age] of Object.entries(ages)) {
    await writeFile(join(staging, name), '')
    const time = new Date(Date.now() - age * hour)
    await utimes(join(staging, name), time, time)
  }
  t.same(await namesIn(provider, ''), ['file'])
  for (const path of [
    '.stowage-staging',
    '.stowage-staging/new',
    '.STOWAGE-Staging/new',
    'folder/.stowage-staging/x',
  ]) {
    await t.rejects(put(provider, path, 'x', true), { code: 'INVALID_PATH' })
    await t.rejects(provider.stat(at(path), call()), { code: 'INVALID_PATH' })
    await t.rejects(provider.delete(at(path), call()), { code: 'INVALID_PATH' })
    await t.rejects(provider.mkdir(at(path), { ...call(), exclusive: false }), { code: 'INVALID_PATH' })
    await t.rejects(provider.list(at(path), { ...call(), limit: 10 }), { code: 'INVALID_PATH' })
  }
  await openRoot(root)
  t.same((await readdir(staging)).sort(), ['new', 'replaced-old', 'upload-new'])
})

t.test('a staging folder that another program removes is made again', async t => {
  const { provider, root } = await openNew()
  await put(provider, 'first', 'content')
  await rm(join(root, '.stowage-staging'), { recursive: true })
  await t.rejects(put(provider, 'second', 'content'))
  await put(provider, 'second', 'content')
  t.same(await namesIn(provider, ''), ['first', 'second'])
})

t.test(
  'a resumable upload continues where the server has less than was sent, and says when it has lost bytes',
  async t => {
    const { provider, files, root } = await openNew()
    const writes = provider.resumable
    if (!writes) throw new Error('The provider has no resumable writes')
    const append = (state: string, content: string, offset: number) =>
      writes.append(state, bodyOf(content), { ...call(), offset, size: content.length })
    const begun = await writes.begin(at('folder/file'), call())
    files.before = command => {
      if (command === 'append') throw new StorageError('UNAVAILABLE', 'The connection is lost.')
    }
    await t.rejects(append(begun, 'first ', 0), { code: 'UNAVAILABLE' })
    files.before = () => {}
    const second = await append(begun, 'first ', 0)
    await t.rejects(append(second, 'first ', 0), { code: 'PRECONDITION_FAILED' })
    const end = { ...call(), offset: 6, size: 4, overwrite: false }
    await t.rejects(writes.complete(second, bodyOf('too short'), end), { code: 'UNAVAILABLE' })
    const third = await writes.begin(at('other'), call())
    const lost = await append(third, 'first ', 0)
    for (const name of await readdir(join(root, '.stowage-staging')))
      await writeFile(join(root, '.stowage-staging', name), '')
    await t.rejects(writes.complete(lost, bodyOf('rest'), end), { code: 'NOT_FOUND' })
    await t.rejects(append('no state', 'x', 0), { code: 'NOT_FOUND' })
    t.same(await namesIn(provider, ''), [])
  },
)

t.test('a read of a file that has changed since its entry was read gets the current version', async t => {
  const { provider, files } = await openNew()
  const entry = await put(provider, 'file', 'first')
  await put(provider, 'file', 'second version', true)
  const receive = files.receive.bind(files)
  files.receive = async function* (path, options) {
    if (options.facts.size === 5) throw new StorageError('PRECONDITION_FAILED', 'The file has changed.')
    yield* receive(path, options)
  }
  const { body, entry: current } = await provider.read(at('file'), { ...call(), entry })
  t.equal(current.size, 14)
  t.equal((await body.toArray()).join(''), 'second version')
})

t.test('a file that arrives incomplete at the server is not stored', async t => {
  const { provider, files } = await openNew()
  const store = files.store.bind(files)
  files.store = async (path, body, options) => {
    await store(path, body, options)
    await writeFile(join(files.root, path), 'cut')
  }
  await t.rejects(put(provider, 'file', 'content'), { code: 'UNAVAILABLE', message: /stored 3 of 7 bytes/ })
  t.same(await namesIn(provider, ''), [])
})

const lost = () => new StorageError('UNAVAILABLE', 'The connection is lost.')

/** Ways for a command to fail. */
const failures: Record<string, (run: () => Promise<void>, abort: () => void) => Promise<void>> = {
  async 'a command is refused'() {
    throw refusal()
  },
  async 'the connection is lost before a command'() {
    throw lost()
  },
  async 'the connection is lost after a command'(run) {
    await run()
    throw lost()
  },
  async 'the request is aborted before a command'(run, abort) {
    abort()
    await run()
  },
  async 'the request is aborted after a command'(run, abort) {
    await run()
    abort()
  },
}

async function move(provider: StorageProvider, from: string, to: string, { signal } = call()): Promise<void> {
  if (!provider.move) throw new Error('The provider does not move files')
  await provider.move(at(from), at(to), { signal, overwrite: true })
}

/** Calls that replace the file "folder/old". */
const replacements: Record<string, (provider: StorageProvider, call: Call) => Promise<unknown>> = {
  'a write': (provider, { signal }) => provider.write(at('folder/old'), bodyOf('new'), { signal, overwrite: true }),
  'a move': (provider, { signal }) => move(provider, 'source', 'folder/old', { signal }),
}

/** A server that does not rename over files. */
async function openCareful() {
  const opened = await openNew()
  opened.files.renamesOverFiles = false
  await mkdir(join(opened.root, 'folder'))
  await writeFile(join(opened.root, 'folder/old'), 'old')
  await writeFile(join(opened.root, 'source'), 'new')
  return { ...opened, read: (path: string) => readFile(join(opened.root, path), 'utf8').catch(() => null) }
}

for (const [change, replace] of Object.entries(replacements)) {
  t.test(`${change} replaces a file at a server that does not rename over files`, async t => {
    const { provider, root, read } = await openCareful()
    await replace(provider, call())
    t.equal(await read('folder/old'), 'new')
    t.same(await namesIn(provider, 'folder'), ['old'])
    t.same(await readdir(join(root, '.stowage-staging')), [])
  })

  t.test(`${change} that is aborted between two renames brings the replaced file back`, async t => {
    const { provider, files, root, read } = await openCareful()
    const aborter = new AbortController()
    const { rename } = files
    files.rename = async (from, to) => {
      await rename.call(files, from, to)
      if (from === 'folder/old') aborter.abort()
    }
    await t.rejects(replace(provider, aborter), { name: 'AbortError' })
    t.equal(await read('folder/old'), 'old')
    t.equal(await read('source'), 'new')
    t.same(await readdir(join(root, '.stowage-staging')), [])
  })

  for (const [failure, fail] of Object.entries(failures)) {
    t.test(`${change} loses no file at a server that does not rename over files, where ${failure}`, async t => {
      let most = 0
      for (let failing = -1; failing < most; failing += 1) {
        const { provider, files, read } = await openCareful()
        const aborter = new AbortController()
        let count = 0
        const disturbed = (run: () => Promise<void>) => {
          const isFailing = count === failing
          count += 1
          return isFailing ? fail(run, () => aborter.abort()) : run()
        }
        const { rename, removeFile } = files
        files.rename = (from, to) => disturbed(() => rename.call(files, from, to))
        files.removeFile = path => disturbed(() => removeFile.call(files, path))
        const isDone = await replace(provider, aborter).then(
          () => true,
          () => false,
        )
        most = Math.max(most, count)
        const [content, source] = [await read('folder/old'), await read('source')]
        const place = `command ${failing}`
        t.match(content, /^(?:old|new)$/, `the file has a content: ${place}`)
        if (isDone) t.equal(content, 'new', `the call that succeeded replaced the file: ${place}`)
        // A request that was aborted after the last rename has replaced the file.
        else if (!aborter.signal.aborted) t.equal(content, 'old', `the call that failed kept the file: ${place}`)
        const isMoved = change === 'a move' && content === 'new'
        t.equal(source, isMoved ? null : 'new', `the source is there unless it was moved: ${place}`)
      }
      t.ok(most >= 4, 'the call has several commands')
    })
  }
}

t.test('a file on another disk of the server stays when it cannot be replaced from here', async t => {
  const { provider, files } = await openNew()
  for (const path of ['disk/file', 'disk/source', 'file', 'source']) await put(provider, path, path)
  const disk = (path: StoragePath) => path.startsWith('disk/')
  const { rename } = files
  files.rename = async (from, to) => {
    if (disk(from) !== disk(to)) throw refusal()
    await rename.call(files, from, to)
  }
  await t.rejects(put(provider, 'disk/file', 'new', true), { code: 'PERMISSION_DENIED' })
  await t.rejects(move(provider, 'source', 'disk/file'), { code: 'PERMISSION_DENIED' })
  await t.rejects(move(provider, 'disk/source', 'file'), { code: 'PERMISSION_DENIED' })
  for (const path of ['disk/file', 'disk/source', 'file', 'source']) {
    t.equal((await get(provider, path)).toString(), path)
  }
})

t.test('a file that is moved to another spelling of its own name stays where names ignore case', async t => {
  const { provider, files } = await openNew()
  files.ignoresCase = true
  files.renamesOverFiles = false
  await put(provider, 'a.txt', 'the only copy')
  await t.rejects(move(provider, 'a.txt', 'A.txt'))
  t.equal((await get(provider, 'a.txt')).toString(), 'the only copy')
  t.equal((await get(provider, 'A.txt')).toString(), 'the only copy')
})

t.test('a replaced file that cannot be renamed back is kept, and the log names it', async t => {
  const host = recordingHost()
  const { provider, files, root } = await openNew(host)
  await put(provider, 'file', 'old')
  await utimes(join(root, 'file'), 0, 0)
  const { rename } = files
  files.rename = async (from, to) => {
    if (from !== 'file') throw refusal()
    await rename.call(files, from, to)
  }
  await t.rejects(put(provider, 'file', 'new', true), { code: 'PERMISSION_DENIED' })
  await openRoot(root)
  const kept = await readdir(join(root, '.stowage-staging'))
  t.match(host.warnings, [{ details: { path: 'file', hiddenName: `.stowage-staging/${kept[0]}` } }])
  t.equal(await readFile(join(root, '.stowage-staging', kept[0] ?? ''), 'utf8'), 'old')
})
