import t from 'tap'
import { at, call, listAll, rejectsWith } from '../../adapters/conformance/kit.ts'
import { extent } from '../support/extent.ts'
import { openWorld } from './google-drive-world.ts'

const nameOf = (i: number) => `file ${String(i).padStart(5, '0')}`

t.test('pages of any size list many files once each, with two requests per page', async t => {
  const count = extent({ gate: 2000, nightly: 10_000 })
  const { provider, fake, rootId } = await openWorld(t)
  for (let i = 0; i < count; i += 1) fake.addFile(rootId, nameOf((i * 7919) % count))
  const expected = Array.from({ length: count }, (_, i) => nameOf(i))
  for (const limit of [1000, 333]) {
    fake.faults.clear()
    const names = (await listAll(provider, '', limit)).map(entry => entry.name)
    t.strictSame(names, expected)
    const pages = Math.ceil(count / limit)
    t.ok(fake.faults.log.length <= pages * 2 + 1, `${fake.faults.log.length} requests for ${pages} pages`)
  }
})

t.test('short and empty pages of Drive lose no file', async t => {
  const { provider, fake, rootId } = await openWorld(t)
  for (let i = 0; i < 100; i += 1) fake.addFile(rootId, nameOf(i))
  fake.lister.maxPage = 7
  t.equal((await listAll(provider, '', 1000)).length, 100)
})

t.test('a cursor works after its page token expired in Drive', async t => {
  const { provider, fake, rootId } = await openWorld(t)
  for (let i = 0; i < 100; i += 1) fake.addFile(rootId, nameOf(i))
  const names: string[] = []
  let cursor: string | undefined
  do {
    const page = await provider.list(at(''), { ...call(), limit: 9, ...(cursor ? { cursor } : {}) })
    names.push(...page.entries.map(entry => entry.name))
    cursor = page.cursor
    fake.lister.tokens.expiredBefore = Date.now()
    await new Promise(resolve => setTimeout(resolve, 2))
  } while (cursor !== undefined)
  t.strictSame(
    names,
    Array.from({ length: 100 }, (_, i) => nameOf(i)),
  )

  const first = await provider.list(at(''), { ...call(), limit: 9 })
  const last = fake.store.childrenOf(rootId).find(item => item.name === nameOf(8))
  if (last) fake.store.remove(last)
  fake.lister.tokens.expiredBefore = Date.now()
  await rejectsWith('UNAVAILABLE', provider.list(at(''), { ...call(), limit: 9, cursor: first.cursor ?? '' }))
})

t.test('requests ask only for the needed fields', async t => {
  const { provider, fake, rootId } = await openWorld(t)
  fake.addFile(rootId, 'file')
  await listAll(provider, '')
  await provider.stat(at('file'), call())
  for (const { url } of fake.faults.log) {
    const fields = new URL(url, fake.url).searchParams.get('fields') ?? ''
    t.ok(fields !== '' && !fields.includes('*') && fields.length < 250, fields)
  }
})

t.test('trashed files, and files in trashed folders, do not exist', async t => {
  const { provider, fake, rootId } = await openWorld(t)
  const folder = fake.addFolder(rootId, 'folder')
  fake.addFile(folder.id, 'file')
  fake.addFile(rootId, 'gone', '', { explicitlyTrashed: true })
  t.strictSame(
    (await listAll(provider, '')).map(entry => entry.name),
    ['folder'],
  )
  folder.explicitlyTrashed = true
  fake.store.touch(folder)
  await rejectsWith('NOT_FOUND', provider.stat(at('folder/file'), call()))
  await rejectsWith('NOT_FOUND', provider.list(at('folder'), { ...call(), limit: 10 }))
  t.strictSame(await listAll(provider, ''), [])
})
