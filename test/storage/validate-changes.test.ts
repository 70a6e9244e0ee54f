/** What adapters report about changes is validated before the server uses it. */
import t from 'tap'
import type { ChangesPage } from '../../adapters/contract.ts'
import { checkChanges } from '../../src/storage/validate-changes.ts'

const page = (changed: unknown, more: object = {}) =>
  ({ changed, cursor: 'next', hasMore: false, ...more }) as unknown as ChangesPage

t.test('only paths that can exist in a provider are looked at', async t => {
  const paths = ['a', 'a/b', '', '/a', 'a/', 'a//b', '..', 'a/../b', 'a/./b', 'a\0b', '\ud800', 1, '.stowage-trash/x']
  const checked = checkChanges(page(paths.map(path => ({ path }))))
  t.same(checked?.changed, [
    { path: 'a', fileId: null, isTree: false, noticedAt: null },
    { path: 'a/b', fileId: null, isTree: false, noticedAt: null },
    { path: '', fileId: null, isTree: false, noticedAt: null },
  ])
  t.same(checkChanges(page([{ path: `${'a/'.repeat(3000)}b` }]))?.changed, [])
})

t.test('an id counts without a path, and a malformed one not at all', async t => {
  const changes = [
    { fileId: 'x:1' },
    { fileId: '' },
    { fileId: 'x'.repeat(2049) },
    { path: '..', fileId: 'x:2', isTree: true },
  ]
  t.same(checkChanges(page(changes))?.changed, [
    { path: null, fileId: 'x:1', isTree: false, noticedAt: null },
    { path: null, fileId: 'x:2', isTree: true, noticedAt: null },
  ])
})

t.test('a malformed result is a fault of the back end', async t => {
  const wrong: [string, unknown][] = [
    ['no page', 'everything'],
    ['no list', page(null)],
    ['too many changes', page(Array.from({ length: 1001 }, () => ({ path: 'a' })))],
    ['a change that is no object', page(['a'])],
    ['no cursor', page([], { cursor: undefined })],
    ['an empty cursor', page([], { cursor: '' })],
    ['a long cursor', page([], { cursor: 'x'.repeat(4097) })],
    ['a long cursor of everything', page('everything', { cursor: 'x'.repeat(4097) })],
  ]
  for (const [what, result] of wrong) {
    t.match(refusalOf(result as ChangesPage), { reason: 'BACK_END_FAULT' }, what)
  }
  t.equal(checkChanges(null), null)
  t.same(checkChanges(page('everything', { hasMore: 1 })), { changed: 'everything', cursor: 'next', hasMore: false })
})

function refusalOf(result: ChangesPage): unknown {
  try {
    return checkChanges(result)
  } catch (error) {
    return error
  }
}
