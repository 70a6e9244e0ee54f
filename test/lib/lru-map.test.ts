import t from 'tap'
import { LruMap } from '../../src/lib/lru-map.ts'

t.test('forgets the entries that were used least recently', async t => {
  const forgotten: string[] = []
  const map = new LruMap<string, number>(3, { onForget: key => forgotten.push(key) })
  for (const key of ['a', 'b', 'c']) map.set(key, 1)
  t.equal(map.get('a'), 1)
  t.equal(map.peek('b'), 1, 'which is no use')
  map.set('d', 1)
  t.strictSame(forgotten, ['b'])
  map.set('c', 2)
  map.set('e', 1)
  t.strictSame(forgotten, ['b', 'a'])
  t.strictSame(
    [...map],
    [
      ['d', 1],
      ['c', 2],
      ['e', 1],
    ],
  )
})

t.test('bounds the sizes of all values together', async t => {
  const map = new LruMap<string, string>(10, { sizeOf: ({ length }) => length })
  map.set('a', '1234')
  map.set('b', '1234')
  map.set('c', '123')
  t.strictSame(
    [...map].map(([key]) => key),
    ['b', 'c'],
  )
  map.set('b', '1')
  map.delete('c')
  map.set('d', '123456789')
  t.strictSame(
    [...map].map(([key]) => key),
    ['b', 'd'],
  )
  map.set('e', '12345678901')
  t.strictSame([...map], [], 'a value that is too large is not kept either')
})
