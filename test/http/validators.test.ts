import fc from 'fast-check'
import t from 'tap'
import { namesTag, parseHttpDate } from '../../src/http/content/conditions.ts'

const opaque = fc.stringMatching(/^[!#-~]{0,12}$/)
const tag = fc.record({ opaque, weak: fc.boolean() })
const list = fc.array(tag, { maxLength: 5 })
const separator = fc.constantFrom(',', ', ', ' ,', ',,', ' , ,\t')
const write = ({ opaque, weak }: { opaque: string; weak: boolean }) => `${weak ? 'W/' : ''}"${opaque}"`

t.test('a list matches its tags, and weak tags only by weak comparison', async () => {
  fc.assert(
    fc.property(list, opaque, separator, (tags, own, between) => {
      const header = tags.map(write).join(between)
      const weak = tags.some(one => one.opaque === own)
      const strong = tags.some(one => one.opaque === own && !one.weak)
      return namesTag(header, own, 'weak') === weak && namesTag(header, own, 'strong') === strong
    }),
  )
})

t.test('a malformed list matches nothing', async t => {
  for (const header of ['abc', '"abc', 'abc"', 'w/"abc"', 'W/abc', '"abc" "abc"', '"x", abc', '""abc""']) {
    t.equal(namesTag(header, 'abc', 'weak'), false, header)
  }
  t.equal(namesTag('*', 'abc', 'strong'), true)
  t.equal(namesTag(' * ', null, 'strong'), true)
  t.equal(namesTag('"abc"', null, 'weak'), false)
})

t.test('only the three date formats are parsed', async t => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 4_000_000_000 }), seconds => {
      const date = new Date(seconds * 1000)
      return parseHttpDate(date.toUTCString()) === date.getTime()
    }),
  )
  const time = Date.UTC(1994, 10, 6, 8, 49, 37)
  t.equal(parseHttpDate('Sun, 06 Nov 1994 08:49:37 GMT'), time)
  t.equal(parseHttpDate('Sunday, 06-Nov-94 08:49:37 GMT'), time)
  t.equal(parseHttpDate('Sun Nov  6 08:49:37 1994'), time)
  const others = [
    '',
    'yesterday',
    '2026-01-01T00:00:00Z',
    '1994',
    '0',
    'Sun, 06 Nov 1994 08:49:37',
    'Sun, 06 Nov 1994 08:49:37 +0100',
  ]
  for (const text of [...others, 'Sun, 06 Nov 1994 28:49:37 GMT']) t.equal(parseHttpDate(text), null, text)
})
