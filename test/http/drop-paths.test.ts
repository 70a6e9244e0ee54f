/** The paths that strangers send through a drop link: their cost is bounded, and they do not reveal which names are taken. */
import { Readable } from 'node:stream'
import t, { type Test } from 'tap'
import { StorageError, type StoragePath, segmentsOf } from '../../adapters/contract.ts'
import { startApp } from '../support/app.ts'
import { extent } from '../support/extent.ts'
import { type FaultyAdapter, faultyAdapter } from '../support/faulty-adapter.ts'
import { ask, drop, makeShare } from '../support/shares.ts'

async function startDrops(t: Test) {
  const faults = faultyAdapter()
  const app = await startApp(t, { adapters: [faults] })
  const { token } = await app.register('owner@example.org')
  const providerId = await app.connectProvider(token, 'faulty', { name: 'files' })
  const { signal } = new AbortController()
  await faults.files('files').mkdir('in' as StoragePath, { signal, exclusive: false })
  const { link } = await makeShare(app, token, { providerId, path: '/in', kind: 'DROP' })
  const put = (path: string) =>
    faults.files('files').write(`in/${path}` as StoragePath, Readable.from(['x']), { signal, overwrite: false })
  const names = async (folder = '') => {
    const path = `in${folder && `/${folder}`}` as StoragePath
    return (await faults.files('files').list(path, { signal, limit: 10_000 })).entries.map(({ name }) => name)
  }
  /** Sends a file, and resolves with the response and the number of calls that it took at the back end. */
  const send = async (path: string) => {
    faults.calls.length = 0
    const { status, reason, text } = await drop(app, link, path, 'x')
    return { status, reason, text, calls: faults.calls.length }
  }
  return { app, token, providerId, faults, link, put, names, send }
}

t.test('a path has a bounded number of names, and missing folders cost no lookups', async t => {
  const { app, faults, link, names, send } = await startDrops(t)
  for (const path of ['/a'.repeat(101), '/a'.repeat(2000)]) {
    t.match(await send(path), { status: 400, reason: 'INVALID_PATH', text: /at most 100 names/, calls: 0 })
    const metadata = `path ${Buffer.from(path).toString('base64')}`
    const headers = { 'tus-resumable': '1.0.0', 'upload-length': '1', 'upload-metadata': metadata }
    t.equal((await ask(app, link, 'uploads', { method: 'POST', headers })).reason, 'INVALID_PATH')
    t.equal(faults.calls.length, 0)
  }
  t.same(await names(), [])
  const deepest = await send('/a'.repeat(100))
  t.equal(deepest.status, 201)
  t.ok(deepest.calls < 10, `${deepest.calls} calls`)
})

t.test('a name is found at a bounded cost, however many are taken', async t => {
  const { app, token, providerId, put, names, send } = await startDrops(t)
  const numbered = Array.from({ length: 20 }, (_, index) => `same (${index + 1}).txt`)
  for (let sent = 0; sent < 24; sent++) t.equal((await send('/same.txt')).status, 201)
  const isRandom = (name: string) => /^same \([0-9a-z]{4}\)\.txt$/.test(name)
  const stored = await names()
  for (const name of ['same.txt', ...numbered]) t.ok(stored.includes(name), name)
  t.equal(stored.filter(isRandom).length, 3)
  for (let number = 0; number < 1000; number++) await put(number === 0 ? 'many.txt' : `many (${number}).txt`)
  const { status, calls } = await send('/many.txt')
  t.equal(status, 201)
  t.ok(calls < 30, `${calls} calls`)
  t.equal((await app.upload(token, providerId, '/in/many.txt', 'x', '&conflict=rename')).status, 201)
  for (let number = 0; number < 1000; number++) await put(number === 0 ? 'folder' : `folder (${number})`)
  const below = await send('/folder/x.txt')
  t.equal(below.status, 201)
  t.ok(below.calls < 30, `${below.calls} calls`)
})

t.test('files are in the way at several levels', async t => {
  const { put, names, send } = await startDrops(t)
  for (const path of ['a', 'a (1)/b', 'a (1)/b (1)/c']) await put(path)
  t.equal((await send('/a/b/c/d.txt')).status, 201)
  t.same(await names('a (1)/b (1)/c (1)'), ['d.txt'])
  t.equal((await send('/a/b/c')).status, 201)
  t.same((await names('a (1)/b (1)')).toSorted(), ['c', 'c (1)', 'c (2)'])
})

/** Lets the back end refuse what is too long for many others. */
function limit(faults: FaultyAdapter, bytes: number): void {
  faults.before = ({ path }) => {
    const isLong = segmentsOf(path as StoragePath).some(name => Buffer.byteLength(name) > 255)
    if (isLong || Buffer.byteLength(path) > bytes) throw new StorageError('INVALID_PATH', 'The path is too long.')
  }
}

t.test('whether a path is too long does not depend on the names that are taken', async t => {
  const { faults, put, send } = await startDrops(t)
  const statuses = new Set<number>()
  /** Sends two paths of the same length. A file has the name in the first. */
  const compare = async ([taken, free]: readonly [string, string], pathOf: (name: string) => string) => {
    await put(taken)
    const [first, second] = [await send(pathOf(taken)), await send(pathOf(free))]
    t.same([first.status, first.reason], [second.status, second.reason], `${pathOf(taken).length} bytes`)
    statuses.add(first.status)
  }
  const padded = (path: string, bytes: number) => {
    let longer = path
    while (longer.length < bytes) longer += `/${'y'.repeat(Math.max(1, Math.min(199, bytes - longer.length - 1)))}`
    return longer
  }
  const long = async (bytes: number) => compare([`taken-${bytes}`, `other-${bytes}`], name => padded(`/${name}`, bytes))
  const step = extent({ gate: 4, nightly: 1 })
  for (let bytes = 1015; bytes <= 1030; bytes += step) await long(bytes)
  for (let bytes = 4080; bytes <= 4096; bytes += step) await long(bytes)
  t.same([...statuses].toSorted(), [201, 400])

  statuses.clear()
  limit(faults, 600)
  for (let bytes = 550; bytes <= 610; bytes += step) await long(bytes)
  t.same([...statuses].toSorted(), [201, 400])

  statuses.clear()
  for (let bytes = 225; bytes <= 255; bytes += step) {
    const named = (letter: string) => `${bytes}`.padEnd(bytes, letter)
    await compare([named('a'), named('b')], name => `/${name}/x.txt`)
    await compare([named('c'), named('d')], name => `/${name}`)
  }
  t.same([...statuses].toSorted(), [201, 400])
})
