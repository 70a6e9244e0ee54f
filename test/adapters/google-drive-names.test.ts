import fc from 'fast-check'
import t from 'tap'
import { toShown, toStored } from '../../adapters/backends/google-drive/names.ts'
import { at, call, get, has, isMissing, listAll, namesIn, put, rejectsWith } from '../../adapters/conformance/kit.ts'
import { atNight, extent } from '../support/extent.ts'
import { openWorld } from './google-drive-world.ts'

const keep = { overwrite: false }
const replace = { overwrite: true }

/** Names with many characters that need escaping. */
const storedName = fc
  .array(fc.oneof(fc.constantFrom('/', '\0', '.', '\u201b', '\uff0f', '\u2400', '\uff0e', 'a'), fc.string()), {
    minLength: 1,
  })
  .map(parts => parts.join(''))
  .filter(name => name !== '' && name.isWellFormed())

t.test('every name in Drive maps to one name in a path, and back', async t => {
  fc.assert(
    fc.property(storedName, stored => {
      const shown = toShown(stored)
      if (shown === undefined || shown === '.' || shown === '..' || /[/\0]/.test(shown))
        throw new Error(`shown: ${shown}`)
      return toStored(shown) === stored
    }),
    { numRuns: extent({ gate: 600, nightly: 3000 }) },
  )
  const pathName = storedName.filter(name => !/[/\0]/.test(name) && name !== '.' && name !== '..')
  fc.assert(
    fc.property(pathName, shown => toShown(toStored(shown)) === shown),
    { numRuns: extent({ gate: 600, nightly: 3000 }) },
  )
  t.equal(toShown('a/b'), 'a\uff0fb')
  t.equal(toShown('..'), '\uff0e\uff0e')
  t.equal(toShown(''), undefined)
  t.equal(toShown('\ud800'), undefined)
})

t.test('files with a slash in their names are read, written and moved by their escaped names', async t => {
  const { provider, fake, rootId } = await openWorld(t)
  fake.addFile(rootId, 'AC/DC', 'rock')
  fake.addFile(rootId, '..', 'dots')
  t.strictSame(await namesIn(provider, ''), ['AC\uff0fDC', '\uff0e\uff0e'].sort())
  await has(provider, 'AC\uff0fDC', 'rock')
  await has(provider, '\uff0e\uff0e', 'dots')
  await put(provider, 'new\uff0fname', 'content')
  t.ok(fake.store.childrenOf(rootId).some(item => item.name === 'new/name'))
})

t.test('listings leave out names that are not valid in a path, with one warning per page', async t => {
  const { provider, fake, rootId, host } = await openWorld(t)
  fake.addFile(rootId, 'fine')
  fake.addFile(rootId, '\ud800 half')
  t.strictSame(await namesIn(provider, ''), ['fine'])
  t.equal(host.warnings.length, 1)
})

t.test('the oldest of several files of one name has the plain name, and each can be read and written', async t => {
  const { provider, fake, rootId } = await openWorld(t)
  const now = Date.now()
  const [second, first, third] = [1000, 0, 2000].map((age, i) =>
    fake.addFile(rootId, 'report.pdf', `content ${i}`, { createdTime: now - 10_000 + age }),
  )
  if (!first || !second || !third) throw new Error('none')
  const twin = (id: string) => `report (~${id.slice(-8)}).pdf`
  const names = ['report.pdf', twin(second.id), twin(third.id)].sort()
  t.strictSame(await namesIn(provider, ''), names)
  t.strictSame(
    (await listAll(provider, '', 1)).map(entry => entry.name).sort(),
    names,
    'the names are the same with pages of one entry',
  )
  await has(provider, 'report.pdf', 'content 1')
  await has(provider, twin(second.id), 'content 0')
  await has(provider, `report (~${third.id}).pdf`, 'content 2')
  t.equal((await provider.stat(at(twin(third.id)), call())).name, twin(third.id))
  await isMissing(provider, 'report (~xxxxxxxx).pdf')

  await rejectsWith('ALREADY_EXISTS', put(provider, 'report.pdf', 'no'))
  await put(provider, 'report.pdf', 'new', true)
  await has(provider, twin(second.id), 'content 0')
  await put(provider, twin(third.id), 'newest', true)
  t.equal(fake.store.childrenOf(rootId).length, 3, 'each id keeps its file')
  t.strictSame(
    [first, second, third].map(item => Buffer.concat(item.content?.chunks ?? []).toString()),
    ['new', 'content 0', 'newest'],
  )

  await put(provider, 'other', 'other')
  const move = provider.move?.(at('other'), at('report.pdf'), { ...call(), ...replace })
  await rejectsWith('PERMISSION_DENIED', Promise.resolve(move))
  await has(provider, 'other', 'other')
  await provider.move?.(at(twin(third.id)), at('third.pdf'), { ...call(), ...keep })
  await has(provider, 'third.pdf', 'newest')
  await provider.delete(at('report.pdf'), call())
  t.ok(first.explicitlyTrashed)
  await has(provider, 'report.pdf', 'content 0')
  await has(provider, twin(second.id), 'content 0')
})

t.test('twins can be two folders, or a folder and a file', async t => {
  const { provider, fake, rootId } = await openWorld(t)
  const now = Date.now()
  const folder = fake.addFolder(rootId, 'v1.2', { createdTime: now - 2000 })
  const other = fake.addFolder(rootId, 'v1.2', { createdTime: now - 1000 })
  const file = fake.addFile(rootId, 'v1.2', 'file')
  fake.addFile(folder.id, 'inside', 'first')
  fake.addFile(other.id, 'inside', 'other')
  const twin = `v1.2 (~${other.id.slice(-8)})`
  t.strictSame(await namesIn(provider, ''), ['v1.2', twin, `v1 (~${file.id.slice(-8)}).2`].sort())
  await has(provider, 'v1.2/inside', 'first')
  await has(provider, `${twin}/inside`, 'other')
  await has(provider, `v1 (~${file.id.slice(-8)}).2`, 'file')
  await put(provider, `${twin}/new`, 'new')
  t.equal(fake.store.childrenOf(other.id).length, 2)
})

atNight(t, 'twins at the edges of pages have unique names', async t => {
  const { provider, fake, rootId } = await openWorld(t)
  for (let i = 0; i < 300; i += 1) {
    const name = `file ${String(i % 100).padStart(3, '0')}`
    fake.addFile(rootId, i % 7 === 0 ? name.toUpperCase() : name, '', { createdTime: Date.now() - i * 1000 })
  }
  const whole = (await listAll(provider, '')).map(entry => entry.name).sort()
  t.equal(new Set(whole).size, 300)
  for (const limit of [1, 2, 3, 7, 50, 99]) {
    const names = (await listAll(provider, '', limit)).map(entry => entry.name).sort()
    t.strictSame(names, whole, `in pages of ${limit}`)
  }
  for (const name of whole.filter((_, i) => i % 29 === 0)) t.equal((await provider.stat(at(name), call())).name, name)
})

t.test("Google's documents have no size and are downloaded as exports", async t => {
  const { provider, fake, rootId } = await openWorld(t)
  fake.addGoogleDoc(rootId, 'Plan', 'document', 'the plan')
  fake.addGoogleDoc(rootId, 'Plan', 'spreadsheet', 'the table')
  fake.addGoogleDoc(rootId, 'Talk', 'presentation')
  fake.addGoogleDoc(rootId, 'Sketch', 'drawing')
  fake.addGoogleDoc(rootId, 'Survey', 'form')
  t.strictSame(await namesIn(provider, ''), ['Plan.docx', 'Plan.xlsx', 'Sketch.png', 'Survey', 'Talk.pptx'])
  const entry = await provider.stat(at('Plan.docx'), call())
  t.match(entry, { size: null, etag: null, mimeType: /wordprocessingml/ })
  t.match((await get(provider, 'Plan.docx')).toString(), /^application.*wordprocessing.*the plan$/s)
  t.match((await get(provider, 'Plan.xlsx')).toString(), /the table/)
  const whole = await get(provider, 'Plan.docx')
  t.equal((await get(provider, 'Plan.docx', { offset: whole.length - 4, length: 3 })).toString(), 'pla')
  await rejectsWith('RANGE_NOT_SATISFIABLE', get(provider, 'Plan.docx', { offset: 10_000 }))
  await rejectsWith('PERMISSION_DENIED', get(provider, 'Survey'))
  await isMissing(provider, 'Plan')

  await rejectsWith('ALREADY_EXISTS', put(provider, 'Plan.docx', 'no'))
  await rejectsWith('PERMISSION_DENIED', put(provider, 'Plan.docx', 'no', true))
  const rename = (to: string) => Promise.resolve(provider.move?.(at('Plan.docx'), at(to), { ...call(), ...keep }))
  await rejectsWith('INVALID_PATH', rename('Plan.txt'))
  await rename('folder/Next.docx')
  t.strictSame(await namesIn(provider, 'folder'), ['Next.docx'])
  await provider.copy?.(at('folder/Next.docx'), at('Copy.docx'), { ...call(), ...keep })
  const copied = fake.store.childrenOf(rootId).find(item => item.name === 'Copy')
  t.equal(copied?.mimeType, 'application/vnd.google-apps.document')
})

t.test('a document yields its name to a file that really has it, on any page', async t => {
  const { provider, fake, rootId } = await openWorld(t)
  const doc = fake.addGoogleDoc(rootId, 'Report', 'document', 'of Google')
  fake.addFile(rootId, 'Report 2', '')
  fake.addFile(rootId, 'Report.docx', 'of Word')
  const twin = `Report (~${doc.id.slice(-8)}).docx`
  for (const limit of [1, 2, 1000]) {
    const names = (await listAll(provider, '', limit)).map(entry => entry.name)
    t.strictSame(names.sort(), ['Report 2', 'Report.docx', twin].sort(), `in pages of ${limit}`)
  }
  await has(provider, 'Report.docx', 'of Word')
  t.match((await get(provider, twin)).toString(), /of Google/)
})

t.test('shortcuts are never followed and occupy no name', async t => {
  const { provider, fake, rootId } = await openWorld(t)
  const secret = fake.addFile(fake.rootId, 'outside', 'SECRET')
  const folder = fake.addFolder(rootId, 'folder')
  fake.addShortcut(folder.id, 'to a file', secret.id)
  fake.addShortcut(folder.id, 'to a folder', fake.rootId)
  fake.addShortcut(folder.id, 'to itself', folder.id)
  t.strictSame(await namesIn(provider, 'folder'), [])
  for (const name of ['to a file', 'to a folder', 'to itself', 'to a folder/outside', 'to itself/to a file']) {
    await isMissing(provider, `folder/${name}`)
    await rejectsWith('NOT_FOUND', get(provider, `folder/${name}`))
  }
  await put(provider, 'folder/to a file', 'my own')
  t.equal(Buffer.concat(secret.content?.chunks ?? []).toString(), 'SECRET')
  await provider.delete(at('folder/to a file'), call())
  await rejectsWith('NOT_EMPTY', provider.delete(at('folder'), call()))
  await t.rejects(provider.delete(at('folder'), call()), { message: /contains shortcuts/ })
  await provider.deleteTree?.(at('folder'), call())
  t.ok(folder.explicitlyTrashed, 'it is trashed, not deleted')
  t.notOk(fake.store.isTrashed(secret))
})
