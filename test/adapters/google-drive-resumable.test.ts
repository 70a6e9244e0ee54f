import { randomBytes } from 'node:crypto'
import { inspect } from 'node:util'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { googleDriveAdapter } from '../../adapters/backends/google-drive/index.ts'
import { chunkSize } from '../../adapters/backends/google-drive/upload.ts'
import {
  at,
  bodyOf,
  call,
  has,
  isMissing,
  makeFolder,
  namesIn,
  put,
  rejectsWith,
} from '../../adapters/conformance/kit.ts'
import type { ResumableWrites, StorageProvider } from '../../adapters/contract.ts'
import type { GoogleDrive } from '../servers/google-drive/index.ts'
import { atNight, extent } from '../support/extent.ts'
import { backoff, openWorld } from './google-drive-world.ts'

const kib256 = 256 * 1024
const session = { method: 'PUT', path: /upload_id/ }
const move = { method: 'PATCH', path: /addParents/ }
const bytes = randomBytes(2 * chunkSize + 1_000_000)

/** Two servers on one Drive. @param attempts at each request */
async function openTwo(t: Test, attempts = backoff.attempts) {
  const world = await openWorld(t, { options: { backoff: { ...backoff, attempts } } })
  const { clientId, clientSecret } = world.fake.oauth
  const config = { clientId, clientSecret, rootFolderId: world.rootId }
  const other = await googleDriveAdapter(world.options).open(config, world.host)
  world.fake.faults.clear()
  return { ...world, other }
}

function resumableOf({ resumable }: StorageProvider): ResumableWrites {
  if (!resumable) throw new Error('no resumable writes')
  return resumable
}

const append = (provider: StorageProvider, state: string, offset: number, signal = call().signal) => {
  const part = bytes.subarray(offset, offset + chunkSize)
  return resumableOf(provider).append(state, bodyOf(part), { signal, offset, size: part.length })
}

const complete = (provider: StorageProvider, state: string, offset: number, overwrite = false, whole = bytes) => {
  const rest = whole.subarray(offset)
  return resumableOf(provider).complete(state, bodyOf(rest), { ...call(), offset, size: rest.length, overwrite })
}

const begin = (provider: StorageProvider, path: string) => resumableOf(provider).begin(at(path), call())

const short = bytes.subarray(0, chunkSize + 100_000)
const appended = async (provider: StorageProvider, path: string) => append(provider, await begin(provider, path), 0)
const finish = (provider: StorageProvider, state: string, overwrite = false) =>
  complete(provider, state, chunkSize, overwrite, short)

/** The byte ranges of the upload requests, including status requests. */
const ranges = ({ faults }: GoogleDrive) =>
  faults.log.filter(({ method }) => method === 'PUT').map(({ contentRange }) => contentRange)

/** The files in the drive that listings leave out. */
const hidden = ({ store }: GoogleDrive) =>
  [...store.items.values()].map(({ name }) => name).filter(name => name.startsWith('.stowage'))

atNight(t, 'bytes that have arrived are not sent again, by any server', async t => {
  const { provider, other, fake } = await openTwo(t)
  const first = await begin(provider, 'file')
  fake.faults.clear()
  const sent: unknown[] = []
  const reached = () => {
    sent.push(...ranges(fake))
    fake.faults.clear()
  }
  const unreachable = () => fake.faults.fail({ ...session, reason: 'lost', times: Infinity })
  /** Cuts the next body after this many bytes and responds to no further request. */
  const cut = (after: number) => {
    const drop = () => {
      fake.uploads.dropAfter = after
      fake.faults.before({ ...session, run: unreachable })
    }
    fake.faults.before({ ...session, run: () => fake.faults.before({ ...session, run: drop }) })
  }
  cut(5 * kib256 + 77)
  await rejectsWith('UNAVAILABLE', append(provider, first, 0))
  reached()
  const second = await append(other, first, 0)
  t.strictSame(await append(provider, first, 0), second, 'even after the whole block has arrived')
  unreachable()
  await rejectsWith('UNAVAILABLE', append(provider, second, chunkSize))
  reached()
  const third = await append(provider, second, chunkSize)
  cut(2 * kib256)
  await rejectsWith('UNAVAILABLE', complete(provider, third, 2 * chunkSize))
  await isMissing(provider, 'file')
  reached()
  t.match(await complete(other, third, 2 * chunkSize), { name: 'file', size: bytes.length })
  await has(provider, 'file', bytes)
  reached()
  const end = `${bytes.length - 1}/${bytes.length}`
  t.strictSame(
    sent.filter(range => !String(range).startsWith('bytes */')),
    [
      `bytes 0-${chunkSize - 1}/*`,
      `bytes ${5 * kib256}-${chunkSize - 1}/*`,
      `bytes ${chunkSize}-${2 * chunkSize - 1}/*`,
      `bytes ${2 * chunkSize}-${end}`,
      `bytes ${2 * chunkSize + 2 * kib256}-${end}`,
    ],
  )
})

atNight(t, 'one call survives dropped connections, temporary errors and rate limits', async t => {
  const { provider, fake } = await openTwo(t)
  const state = await begin(provider, 'file')
  for (const reason of ['backendError', 'userRateLimitExceeded', 'lost']) {
    fake.faults.fail({ ...session, reason, times: 2 })
    await append(provider, state, 0)
    t.equal(fake.faults.pending, 0, reason)
  }
  fake.uploads.dropAfter = 3 * kib256
  await complete(provider, await append(provider, await append(provider, state, 0), chunkSize), 2 * chunkSize)
  await has(provider, 'file', bytes)
})

/** `MATRIX=all` tries many more. */
const numRuns = process.env.MATRIX === 'all' ? 300 : extent({ gate: 4, nightly: 10 })

/** A fault in one request. */
const trouble = fc.record({
  /** The number of the request, counted from the start of the upload. */
  at: fc.integer({ min: 1, max: 20 }),
  what: fc.constantFrom('unheard', 'unanswered', 'backendError', 'userRateLimitExceeded', 'dropped', 'aborted'),
})

t.test('after any failure of any request, the upload continues and stores one whole file', async t => {
  const { provider, other, fake, rootId } = await openTwo(t, 1)
  const reason = new Error('the client went away')
  const place = fc.constantFrom('new', 'over', 'made/up/new')
  const rest = fc.constantFrom(0, 1, kib256, 300_000)
  let failures = 0
  const upload = async (path: string, whole: Buffer, troubles: Map<number, string>) => {
    let controller = new AbortController()
    let requests = 0
    const watch = () =>
      fake.faults.before({
        run() {
          requests += 1
          const what = troubles.get(requests)
          if (what) failures += 1
          if (what === 'unheard' || what === 'unanswered') {
            fake.faults.fail({ reason: 'lost', executed: what === 'unanswered' })
          } else if (what === 'dropped') {
            fake.uploads.dropAfter = 3 * kib256
          } else if (what === 'aborted') {
            controller.abort(reason)
          } else if (what) {
            fake.faults.fail({ reason: what })
          }
          watch()
        },
      })
    let attempts = 0
    const repeated = async <T>(work: (resumable: ResumableWrites, signal: AbortSignal) => Promise<T>): Promise<T> => {
      for (;;) {
        attempts += 1
        controller = new AbortController()
        try {
          return await work(resumableOf(attempts % 2 ? provider : other), controller.signal)
        } catch (error) {
          const { code } = error as { code?: string }
          if (attempts > 20 || (error !== reason && code !== 'UNAVAILABLE' && code !== 'RATE_LIMITED')) throw error
        }
      }
    }
    watch()
    let state = await repeated((resumable, signal) => resumable.begin(at(path), { signal }))
    const part = { offset: 0, size: chunkSize }
    state = await repeated((resumable, signal) =>
      resumable.append(state, bodyOf(whole.subarray(0, chunkSize)), { signal, ...part }),
    )
    const end = { offset: chunkSize, size: whole.length - chunkSize, overwrite: path === 'over' }
    const entry = await repeated((resumable, signal) =>
      resumable.complete(state, bodyOf(whole.subarray(chunkSize)), { signal, ...end }),
    )
    fake.faults.clear()
    fake.uploads.dropAfter = undefined
    return entry
  }
  const run = async (path: string, size: number, troubles: { at: number; what: string }[]) => {
    for (const item of fake.store.childrenOf(rootId)) fake.store.remove(item)
    await put(provider, 'over', 'old')
    const id = fake.store.childrenNamed(rootId, 'over')[0]?.id
    const whole = bytes.subarray(0, chunkSize + size)
    const entry = await upload(path, whole, new Map(troubles.map(({ at, what }) => [at, what])))
    t.match(entry, { name: path.split('/').at(-1), size: whole.length })
    await has(provider, path, whole)
    const expected = { new: ['new', 'over'], over: ['over'], 'made/up/new': ['made', 'over'] }[path]
    t.strictSame(await namesIn(provider, ''), expected)
    if (path.startsWith('made')) t.strictSame(await namesIn(provider, 'made/up'), ['new'])
    t.equal(fake.store.childrenNamed(rootId, 'over')[0]?.id, id, 'the replaced file keeps its id')
    t.strictSame(hidden(fake), [])
  }
  await fc.assert(fc.asyncProperty(place, rest, fc.array(trouble, { maxLength: 6 }), run), { numRuns, seed: 5 })
  t.ok(failures > extent({ gate: 1, nightly: numRuns }), `${failures} requests failed`)
})

t.test('nothing is visible before complete, even if the folder is missing', async t => {
  const { provider, fake, rootId } = await openTwo(t)
  await makeFolder(provider, 'there')
  const state = await appended(provider, 'there/made/up/file')
  t.strictSame(await namesIn(provider, 'there'), [])
  const looked = new Promise<string[]>(resolve => {
    fake.faults.before({ ...move, run: async () => resolve(await namesIn(provider, 'there')) })
  })
  await finish(provider, state)
  t.strictSame(await looked, ['made'], 'during the move')
  t.strictSame(await namesIn(provider, 'there/made/up'), ['file'])
  const [there] = fake.store.childrenNamed(rootId, 'there')
  fake.addFile(there?.id ?? '', '.stowage-upload-of-a-person', 'shown')
  t.strictSame(
    await namesIn(provider, 'there'),
    ['.stowage-upload-of-a-person', 'made'],
    'only temporary files of the adapter are hidden',
  )
})

t.test('a file that cannot be moved to its path stays hidden until it is freed or the upload continues', async t => {
  const { provider, fake } = await openTwo(t)
  for (const isGivenUp of [true, false]) {
    const state = await appended(provider, 'made/up/file')
    fake.faults.fail({ ...move, reason: 'backendError', times: Infinity })
    await rejectsWith('UNAVAILABLE', finish(provider, state))
    await rejectsWith('UNAVAILABLE', finish(provider, state))
    fake.faults.clear()
    t.equal(hidden(fake).length, 1)
    t.notOk((await namesIn(provider, '')).includes(hidden(fake)[0] ?? ''))
    if (isGivenUp) await resumableOf(provider).abort(state, call())
    else await finish(provider, state)
    t.strictSame(hidden(fake), [])
  }
  await has(provider, 'made/up/file', short)
})

t.test('an existing name is reported before the last byte is sent, and the upload can still replace it', async t => {
  const { provider, fake, rootId } = await openTwo(t)
  for (const path of ['file', 'made/file']) {
    const state = await appended(provider, path)
    await put(provider, path, 'theirs')
    fake.faults.clear()
    await rejectsWith('ALREADY_EXISTS', finish(provider, state))
    t.strictSame(ranges(fake), ['bytes */*'])
    await has(provider, path, 'theirs')
    await finish(provider, state, true)
    await has(provider, path, short)
  }
  t.strictSame(await namesIn(provider, ''), ['file', 'made'])

  const late = await appended(provider, 'late')
  const add = () => fake.addFile(rootId, 'late', 'theirs', { createdTime: Date.now() - 1000 })
  fake.faults.before({ ...session, run: () => fake.faults.before({ ...session, run: add }) })
  await rejectsWith('ALREADY_EXISTS', finish(provider, late))
  await has(provider, 'late', 'theirs')
  t.equal(fake.store.childrenNamed(rootId, 'late').length, 1, 'our file is deleted')
})

t.test('an upload refuses folders, documents, a file as parent, and a deleted destination', async t => {
  const { provider, fake, rootId } = await openTwo(t)
  await makeFolder(provider, 'folder')
  fake.addGoogleDoc(rootId, 'Report', 'document')
  const item = fake.addFile(rootId, 'file', 'old')
  await rejectsWith('NOT_A_FILE', begin(provider, ''))
  await rejectsWith('NOT_A_FILE', begin(provider, 'folder'))
  await rejectsWith('PERMISSION_DENIED', begin(provider, 'Report.docx'))
  await rejectsWith('NOT_A_DIRECTORY', begin(provider, 'file/up/new'))
  const later = await appended(provider, 'later')
  await makeFolder(provider, 'later')
  await rejectsWith('ALREADY_EXISTS', finish(provider, later))
  await rejectsWith('NOT_A_FILE', finish(provider, later, true))
  const over = await appended(provider, 'file')
  fake.store.rename(item, 'renamed')
  await rejectsWith('NOT_FOUND', finish(provider, over, true))
  await has(provider, 'renamed', 'old')
  await isMissing(provider, 'file')
})

t.test('an upload handles a parent folder that is moved or deleted', async t => {
  const { provider, fake, rootId } = await openTwo(t)
  const shown = async (path: string) => (await namesIn(provider, path)).join()
  for (const change of ['moved', 'trashed']) {
    const folder = fake.addFolder(rootId, 'folder')
    const state = await appended(provider, 'folder/file')
    if (change === 'moved') fake.store.rename(folder, 'moved')
    else folder.explicitlyTrashed = true
    await finish(provider, state)
    await has(provider, 'folder/file', short)
    t.equal(await shown('folder'), 'file')
    t.equal(fake.store.childrenOf(folder.id).length, 0)
    await provider.deleteTree?.(at('folder'), call())
  }
  t.equal(await shown('moved'), '')
})

atNight(t, 'an expired session is NOT_FOUND, unless its file exists', async t => {
  const { provider, fake } = await openTwo(t)
  const [first, second] = [await begin(provider, 'first'), await appended(provider, 'second')]
  await finish(provider, second)
  const over = await appended(provider, 'second')
  fake.uploads.expireSessions()
  await rejectsWith('NOT_FOUND', append(provider, first, 0))
  await rejectsWith('NOT_FOUND', complete(provider, first, 0))
  await rejectsWith('NOT_FOUND', finish(provider, over, true))
  t.match(await finish(provider, second), { name: 'second', size: short.length })
  for (const state of [first, second, over]) await resumableOf(provider).abort(state, call())
  t.strictSame(await namesIn(provider, ''), ['second'])
  await has(provider, 'second', short)
})

atNight(t, 'a repeated complete returns the same result', async t => {
  const { provider, other } = await openTwo(t)
  await put(provider, 'over', 'old')
  for (const path of ['new', 'over', 'made/up/new']) {
    const state = await appended(provider, path)
    const entry = await finish(provider, state, path === 'over')
    t.strictSame(await finish(other, state, path === 'over'), entry, path)
    await has(provider, path, short)
  }
  t.strictSame(await namesIn(provider, ''), ['made', 'new', 'over'])
})

atNight(t, 'a repeated complete or abort keeps the changes that others made to the file', async t => {
  const { provider, fake, rootId } = await openTwo(t)
  const changes: ((path: string) => unknown)[] = [
    path => fake.store.rename(fake.store.childrenNamed(rootId, path)[0] ?? fake.addFile(rootId, path), `${path} kept`),
    path => provider.delete(at(path), call()),
    path => fake.addFile(rootId, path, 'older', { createdTime: 0 }),
  ]
  for (const [n, change] of changes.entries()) {
    const state = await appended(provider, `file ${n}`)
    await finish(provider, state)
    await change(`file ${n}`)
    await finish(provider, state).catch(error => t.match(error.code, /NOT_FOUND|ALREADY_EXISTS/))
    await resumableOf(provider).abort(state, call())
  }
  await has(provider, 'file 0 kept', short)
  const ours = [...fake.store.items.values()].filter(({ content }) => content?.size === short.length)
  t.equal(ours.length, 3, 'no file was deleted')
})

atNight(t, 'states are short, fit only their offset, and leave no secret in errors', async t => {
  const { provider, fake } = await openTwo(t)
  const long = await begin(provider, `${'\u0001'.repeat(2000)}/${'"'.repeat(2095)}`)
  t.ok(Buffer.byteLength(long) < 8192, `${long.length} bytes`)
  await resumableOf(provider).abort(long, call())
  const first = await begin(provider, 'file')
  const second = await append(provider, first, 0)
  await append(provider, second, chunkSize)
  await rejectsWith('PRECONDITION_FAILED', append(provider, first, 0))
  await rejectsWith('PRECONDITION_FAILED', append(provider, second, 2 * chunkSize))
  for (const text of ['', '{}', 'null', '{"path":"YQ"}']) {
    await rejectsWith('NOT_FOUND', append(provider, text, 0))
    await resumableOf(provider).abort(text, call())
  }
  const short = { ...call(), offset: chunkSize, size: chunkSize }
  await rejectsWith('UNAVAILABLE', resumableOf(provider).append(second, bodyOf('too little'), short))
  await rejectsWith('UNAVAILABLE', resumableOf(provider).append(second, bodyOf(bytes), short))
  for (const reason of ['badRequest', 'lost', 'backendError']) {
    fake.faults.fail({ ...session, reason, times: Infinity })
    const error = await append(provider, second, chunkSize).catch(error => error)
    fake.faults.clear()
    t.equal(error.code, 'UNAVAILABLE')
    t.notMatch(inspect(error, { depth: 20, showHidden: true }), /upload_id=|Bearer|<Buffer|ya29/)
  }
  await resumableOf(provider).abort(second, call())
  await rejectsWith('NOT_FOUND', append(provider, second, chunkSize))
  t.strictSame(await namesIn(provider, ''), [])
  t.equal(fake.uploads.openSessions, 0)
})

t.test('a file larger than the free space is refused before its bytes are sent', async t => {
  const { provider, fake } = await openTwo(t)
  fake.store.storageLimit = bytes.length - 1
  const size = { ...call(), size: bytes.length }
  await rejectsWith('QUOTA_EXCEEDED', resumableOf(provider).begin(at('file'), size))
  t.equal(fake.uploads.openSessions, 0)
})
