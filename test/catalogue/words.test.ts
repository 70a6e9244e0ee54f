/** Whatever a text contains, PostgreSQL takes its words and finds the text by itself. */
import fc from 'fast-check'
import { sql } from 'kysely'
import t from 'tap'
import { connect } from '../../src/db/client.ts'
import { parseContentQuery, vectorOf, wordsOf } from '../../src/services/catalogue/content/words.ts'
import { testDatabase } from '../servers/postgres.ts'
import { extent } from '../support/extent.ts'

const db = connect(await testDatabase(t), { max: 1 })
t.teardown(() => db.destroy())

// Characters of the syntax of searches and of PostgreSQL, and those that change their form or number when they are folded.
const special = fc.constantFrom(...'a\'\\" :*&|!<->()東京ー가ำé', '\u0301', '\u3099', 'ß', 'İ', 'ﬁ', '\u{1f600}')
const texts = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 60 }),
  fc.string({ unit: special, maxLength: 30 }),
  fc.string({ unit: 'grapheme', minLength: 100, maxLength: 200 }),
)

t.test('a search for a text without quotes finds it', async t => {
  let found = 0
  await fc.assert(
    fc.asyncProperty(texts, async given => {
      const text = given.toWellFormed()
      const content = parseContentQuery(text)
      if (!content) return true
      const { rows } = await sql<{ isFound: boolean }>`
        select ${vectorOf(wordsOf(text.normalize('NFC')))}::tsvector @@ ${content.query}::tsquery as "isFound"`.execute(
        db,
      )
      found += 1
      return rows[0]?.isFound === true || text.includes('"')
    }),
    { seed: 5, numRuns: extent({ gate: 150, nightly: 20_000 }) },
  )
  t.ok(found > extent({ gate: 30, nightly: 100 }), `${found} texts have words`)
})

t.test('the words of a long text stay below the limit of PostgreSQL', async t => {
  const many = Array.from({ length: 300_000 }, (_, n) => `word${n}é`)
  const others = [Array.from({ length: 500_000 }, (_, n) => `w${n % 40}`), ['x'.repeat(2_000_000)]]
  for (const words of extent({ gate: [many], nightly: [many, ...others] })) {
    const vector = vectorOf(wordsOf(words.join(' ')))
    const { rows } = await sql<{ count: number }>`select length(${vector}::tsvector) as count`.execute(db)
    t.ok((rows[0]?.count ?? 0) > 0)
  }
})
