/** The parsers of previews. They run on the main thread of the console, so hostile files must not occupy it. */
import t from 'tap'
import { parseMarkdown } from '../../web/src/files/preview/viewers/parse-markdown.ts'
import { parseTable } from '../../web/src/files/preview/viewers/parse-table.ts'

t.test('a table has a bounded number of columns and cells', async t => {
  const small = parseTable('name;quote\n"a;b";"c ""d"""\ne;', 10)
  t.same(small, {
    rows: [
      ['name', 'quote'],
      ['a;b', 'c "d"'],
      ['e', ''],
    ],
    hiddenColumns: 0,
    isAll: true,
  })
  t.match(parseTable('a\nb\n', 2), { rows: [['a'], ['b']], isAll: true })
  t.match(parseTable('a\nb\nc', 2), { rows: [['a'], ['b']], isAll: false })

  const wide = parseTable(`${','.repeat(500_000)}\na,b`, 1000)
  t.same(
    wide.rows.map(row => row.length),
    [100, 2],
  )
  t.match(wide, { hiddenColumns: 499_901, isAll: true })

  const full = parseTable(`${'x,'.repeat(99)}x\n`.repeat(2000), 1000)
  t.equal(full.rows.length, 200)
  t.match(full, { hiddenColumns: 0, isAll: false })
})

t.test('Markdown that would take long to parse is left as it is', async t => {
  t.match(
    parseMarkdown('# Title\n\n> > - *a* **b _c_**\n'),
    /<blockquote>\n<ul>\n<li><em>a<\/em> <strong>b <em>c<\/em>/,
  )
  t.match(parseMarkdown(`${'> '.repeat(20)}deep`), /(?:<blockquote>\n){20}<p>deep/)
  const text = 'Some *words* with [links](https://example.org) and `code`.\n\n- one\n  - two\n    1. three\n\n'
  t.ok(parseMarkdown(text.repeat(200_000 / text.length)), 'a long document')
  t.equal(parseMarkdown(text.repeat(200_000 / text.length + 1)), null)
  for (const part of ['>', '> ', '1. ', '>- ']) {
    t.equal(parseMarkdown(part.repeat(200_000 / part.length)), null, part)
  }
  // The parser reads each level twice, because the next line continues it, so each level doubles the time.
  const levels = Array.from({ length: 50 }, (_, n) => `${'>'.repeat(50 - n)}a`).join('\n')
  t.equal(parseMarkdown(levels), null)
})
