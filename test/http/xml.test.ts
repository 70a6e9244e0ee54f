/** XML from clients: what is parsed, what is refused, and in what time. */
import fc from 'fast-check'
import t from 'tap'
import { AppError } from '../../src/errors.ts'
import { childNamed, elementsOf, escapeXml, parseXml, textOf, type XmlElement } from '../../src/http/xml.ts'
import { extent } from '../support/extent.ts'

const maxElements = 100
const parse = (text: string | Buffer): Promise<XmlElement> => parseXml(Buffer.from(text as string), maxElements)

/** Returns the message of the refusal. */
async function refusal(text: string | Buffer): Promise<string> {
  try {
    await parse(text)
    return 'parsed'
  } catch (error) {
    if (!(error instanceof AppError) || error.reason !== 'INVALID_INPUT') throw error
    return error.message
  }
}

t.test('a document becomes a tree with namespaces, languages and texts', async t => {
  const root = await parse(`<?xml version="1.0" encoding="utf-8" ?>
    <a xmlns="one:" xmlns:p="two:" xml:lang="de"><p:b p:x="1" y="&lt;&#x1F600;">t&amp;<![CDATA[<&]]></p:b><c xmlns=""/></a>`)
  t.match(root, { namespace: 'one:', name: 'a', language: 'de' })
  const b = childNamed(root, 'two:', 'b')
  t.match(b, {
    language: 'de',
    attributes: [
      { namespace: 'two:', name: 'x', value: '1' },
      { namespace: '', name: 'y', value: '<😀' },
    ],
  })
  t.equal(b && textOf(b), 't&<&')
  t.match(elementsOf(root)[1], { namespace: '', name: 'c' })
  t.equal(childNamed(root, '', 'b'), undefined)
  t.equal(textOf(await parse('\ufeff<a>x</a>')), 'x', 'with a byte order mark')
})

t.test('malformed documents are refused', async t => {
  const deep = '<a>'.repeat(33) + '</a>'.repeat(33)
  const cases: [string | Buffer, RegExp][] = [
    ['', /malformed/],
    ['<a>', /malformed/],
    ['<a></b>', /malformed/],
    ['<a/><b/>', /malformed/],
    ['<a x="1" x="2"/>', /duplicate attribute/],
    ['<p:a/>', /unbound namespace prefix/],
    ['<a><b xmlns:p=""/></a>', /undefine/],
    ['<a>\u0001</a>', /disallowed/],
    ['<a>&#0;</a>', /malformed/],
    ['<a>&nbsp;</a>', /undefined entity/],
    ['<!DOCTYPE a><a/>', /document type/],
    ['<!DOCTYPE a [<!ENTITY e "eee">]><a>&e;</a>', /document type/],
    ['<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>', /document type/],
    [Buffer.from([0x3c, 0x61, 0x3e, 0xff, 0x3c, 0x2f, 0x61, 0x3e]), /not UTF-8/],
    [deep, /deeper than 32/],
    [`<a>${'<b/>'.repeat(100)}</a>`, /more than 100 elements/],
    [`<a>${'<![CDATA[x]]>'.repeat(101)}</a>`, /more than 100 elements/],
    [`<a ${Array.from({ length: 65 }, (_, n) => `x${n}=""`).join(' ')}/>`, /more than 64 attributes/],
  ]
  for (const [text, message] of cases) t.match(await refusal(text), message, String(text).slice(0, 60))
})

t.test('all elements together have a bounded number of attributes', async t => {
  const many = (count: number) =>
    `<a>${`<b ${Array.from({ length: 50 }, (_, n) => `x${n}=""`).join(' ')}/>`.repeat(count)}</a>`
  t.equal(await refusal(many(40)), 'parsed')
  t.match(await refusal(many(41)), /more than 2000 attributes/)
})

t.test('elements in the root are passed on one after the other', async t => {
  const names: string[] = []
  const root = await parseXml(Buffer.from('<a>x<b><d>1</d></b><c/>y</a>'), maxElements, element => {
    names.push(`${element.name} ${elementsOf(element).map(textOf)}`)
  })
  t.same(names, ['b 1', 'c '])
  t.same(root.children, [], 'the tree does not keep them')
  const nested = `<a><b>${'<c/>'.repeat(101)}</b></a>`
  await t.rejects(
    parseXml(Buffer.from(nested), 1000, () => {}),
    /an element with more than 100 others/,
  )
  const long = `<a>${`<b>ä${'x'.repeat(100)}</b>`.repeat(5000)}</a>`
  let length = 0
  await parseXml(Buffer.from(long), 10_001, element => {
    length += textOf(element).length
  })
  t.equal(length, 5000 * 101, 'also in pieces that end within a character')
})

t.test('hostile documents take no time', async t => {
  const mb = 1024 * 1024
  const started = performance.now()
  for (const text of [
    '<a>'.repeat(mb / 3),
    `<a ${Array.from({ length: mb / 8 }, (_, n) => `x${n}=""`).join(' ')}/>`,
    `<a ${Array.from({ length: mb / 16 }, (_, n) => `xmlns:x${n}="u"`).join(' ')}/>`,
    `<a>&${'x'.repeat(mb)};</a>`,
    `<a${' '.repeat(mb)}/>`,
    `<a>${'&amp;'.repeat(mb / 5)}</a>`,
    `<a><?${'p'.repeat(mb)}?></a>`,
    `<a><!--${'-'.repeat(mb)}`,
  ])
    await refusal(text)
  t.ok(performance.now() - started < 60_000, `${performance.now() - started} ms`)
})

t.test('any text survives writing and parsing', async () => {
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: 'binary' }), async text => {
      const isKept = (each: string) => (each >= ' ' ? !'\ufffe\uffff'.includes(each) : '\t\n\r'.includes(each))
      const expected = [...text.toWellFormed()].map(each => (isKept(each) ? each : '\ufffd')).join('')
      const root = await parse(`<a x="${escapeXml(text)}">${escapeXml(text)}</a>`)
      return textOf(root) === expected && root.attributes[0]?.value === expected
    }),
    { numRuns: extent({ gate: 60, nightly: 200 }) },
  )
})
