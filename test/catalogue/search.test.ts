/** The search finds exactly what a plain search through all names finds, and nothing outside of a key. */
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { sql } from 'kysely'
import t from 'tap'
import { atNight } from '../support/extent.ts'
import { randomNumbers } from '../support/random.ts'
import { until } from '../support/until.ts'
import { catalogueWorld, converged, treeOf } from './world.ts'

const { app, token, disk } = await catalogueWorld(t)

const query = `query ($input: SearchInput!, $first: Int, $after: String) {
  search(input: $input, first: $first, after: $after) {
    nodes { entry { __typename path name ... on File { size } } provider { id } snippet }
    coverage { provider { id } isComplete indexedAt }
    pageInfo { hasNextPage endCursor }
  }
}`

interface Page {
  nodes: { entry: { __typename: string; path: string; name: string }; provider: { id: string }; snippet: null }[]
  coverage: { provider: { id: string }; isComplete: boolean; indexedAt: string | null }[]
  pageInfo: { hasNextPage: boolean; endCursor: string | null }
}

async function page(input: object, options: object = {}, as = token): Promise<Page> {
  return (await app.ask(query, { input, first: 50, ...options }, as)).search
}

async function everything(input: object, as = token, first = 50): Promise<string[]> {
  const paths: string[] = []
  for (let after: string | null = null; ; ) {
    const { nodes, pageInfo }: Page = await page(input, { first, after }, as)
    paths.push(...nodes.map(({ entry }) => entry.path))
    if (!pageInfo.hasNextPage) return paths
    after = pageInfo.endCursor
  }
}

async function complete(id: string): Promise<void> {
  const { rows } = await sql<{ now: Date }>`
    update catalogues set next_round_at = now() where provider_id = ${id} returning now()`.execute(app.db)
  const now = rows[0]?.now ?? new Date()
  await until(
    async () => {
      const row = await app.db
        .selectFrom('catalogues')
        .select(['indexed_at', 'round_started_at'])
        .where('provider_id', '=', id)
        .executeTakeFirst()
      return row?.indexed_at != null && row.indexed_at >= now && row.round_started_at === null
    },
    { within: 120_000 },
  )
}

// A folding and a search of its own, to compare with.
const alike: Record<string, string> = { ß: 'ss', ø: 'o', ł: 'l', æ: 'ae', ё: 'е', й: 'и', أ: 'ا' }
function plain(text: string): string {
  const lower = text.normalize('NFC').toLowerCase()
  const bare = Array.from(lower, letter => alike[letter] ?? letter).join('')
  return bare
    .normalize('NFD')
    .replace(/[\u0300-\u036f\u064b-\u0652]/g, '')
    .replaceAll('ς', 'σ')
    .normalize('NFC')
}
const isCjk = (text: string) => /^[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}]+$/u.test(text)
const kindOf = (letter: string) =>
  letter === ' ' ? 'space' : isCjk(letter) ? 'unspaced' : /[\p{L}\p{N}\p{M}]/u.test(letter) ? 'word' : 'other'
function finds(name: string, text: string): boolean {
  const words = Array.from(text.matchAll(/"([^"]+)"|(\S+)/g), ([, phrase, word]) => plain(phrase ?? word ?? ''))
  return words.every(word => {
    if (Array.from(word).length > 2 || isCjk(word)) return plain(name).includes(word)
    const letters = Array.from(plain(name))
    return letters.some((letter, index) => {
      const [before, kind] = [kindOf(letters[index - 1] ?? ' '), kindOf(letter)]
      const begins = kind !== 'space' && (before === 'space' || before === 'other' || before !== kind)
      return begins && letters.slice(index).join('').startsWith(word)
    })
  })
}

const parts = [
  'report',
  'Report',
  'RÉPORT',
  'quarterly',
  'straße',
  'STRASSE',
  'smørrebrød',
  'Łódź',
  'u\u0308ber',
  'Über',
  'ab',
  'a',
  'b',
  'отчёт',
  'ОТЧЕТ',
  'Ёлка',
  'Москва',
  'تقرير',
  'أحمد',
  'مُحَمَّد',
  '報告書',
  '東京都',
  '京都',
  'ひらがな',
  'カタカナ',
  '보고서',
  '서울',
  'ΣΊΣΥΦΟΣ',
  '2026',
  '20',
  '100%',
  '_draft_',
  "o'neil",
  '[x]',
  '\\d',
]
const separators = [' ', '-', '_', '.', '']

t.test('the search finds what a plain search finds', async t => {
  const random = randomNumbers(7)
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T
  const store = await disk('scripts')
  const names = new Set<string>()
  while (names.size < 300) {
    const name = Array.from({ length: 1 + Math.floor(random() * 4) }, () => pick(parts) + pick(separators)).join('')
    // The same name in two forms of Unicode would be two files here and one elsewhere.
    if (name.trim() !== '' && name !== '.' && name !== '..') names.add(name)
  }
  for (const name of names) await writeFile(store.at(name), '')
  await complete(store.id)
  const queries = [
    ...parts,
    ...parts.map(each => each.slice(1, 4)),
    ...parts.map(each => each.slice(0, 2)),
    'report 20',
    '"ab a"',
  ]
  let hits = 0
  for (const text of queries.filter(each => each.trim() !== '')) {
    const found = (await everything({ text, within: [{ providerId: store.id, path: '/' }] })).map(path => path.slice(1))
    t.same(found.toSorted(), [...names].filter(name => finds(name, text)).toSorted(), text)
    hits += found.length
  }
  t.ok(hits > 1000, `${hits} hits`)
})

t.test('better matches come first, then newer ones, page by page', async t => {
  const store = await disk('ranked')
  const expected = ['plan', 'plan b.txt', 'planet', 'my-plan.txt', 'the plan', 'explanation']
  for (const name of expected.toReversed()) await writeFile(store.at(name), '')
  await complete(store.id)
  const input = { text: 'plan', within: [{ providerId: store.id, path: '/' }] }
  for (const first of [1, 2, 50]) {
    const found = (await everything(input, token, first)).map(path => path.slice(1))
    t.equal(found.length, expected.length)
    t.equal(found[0], 'plan')
    t.same(found.slice(1, 3).toSorted(), ['plan b.txt', 'planet'])
    t.same(found.slice(3, 5).toSorted(), ['my-plan.txt', 'the plan'])
    t.equal(found[5], 'explanation')
  }
  const { pageInfo } = await page(input, { first: 1 })
  const other = await app.graphql(
    query,
    { input: { ...input, text: 'planet' }, first: 1, after: pageInfo.endCursor },
    token,
  )
  t.match(other.errors, [{ extensions: { reason: 'INVALID_CURSOR' } }])
})

t.test('searches of a member that begin together wait for each other', async t => {
  const found = await Promise.all(Array.from({ length: 10 }, () => page({ text: 'a' })))
  t.equal(new Set(found.map(({ nodes }) => JSON.stringify(nodes))).size, 1)
})

t.test('filters restrict the entries', async t => {
  const store = await disk('filtered')
  await mkdir(store.at('item folder'))
  await writeFile(store.at('item small'), 'x')
  await writeFile(store.at('item large'), 'x'.repeat(1000))
  await complete(store.id)
  const within = [{ providerId: store.id, path: '/' }]
  const found = async (filters: object) => (await everything({ text: 'item', within, ...filters })).toSorted()
  t.same(await found({ kinds: ['FOLDER'] }), ['/item folder'])
  t.same(await found({ kinds: ['FILE'] }), ['/item large', '/item small'])
  await writeFile(store.at('item.JPG'), 'x')
  await mkdir(store.at('item.jpg folder.png'))
  await complete(store.id)
  t.same(await found({ types: ['IMAGE'] }), ['/item.JPG'])
  t.same(await found({ types: ['IMAGE', 'VIDEO'], kinds: ['FOLDER'] }), [])
  t.same(await found({ types: ['VIDEO'] }), [])
  t.same(await found({ minSize: 2 }), ['/item large'])
  t.same(await found({ maxSize: 2 }), ['/item small', '/item.JPG'])
  t.same(await found({ modifiedAfter: '2100-01-01T00:00:00Z' }), [])
  t.same((await found({ modifiedBefore: '2100-01-01T00:00:00Z' })).length, 5)
  const tags = { providerId: within[0]?.providerId, path: '/item small', add: ['Wanted'] }
  await app.ask('mutation ($input: UpdateTagsInput!) { updateTags(input: $input) }', { input: tags }, token)
  t.same(await found({ tag: 'wanted' }), ['/item small'])
  t.same(await found({ tag: 'wanted', kinds: ['FOLDER'] }), [])
})

t.test('a key finds nothing outside of its folders', async t => {
  const store = await disk('shared')
  const folders = ['open', 'open-not', 'also/open', 'closed']
  for (const folder of folders) {
    await mkdir(store.at(folder), { recursive: true })
    await writeFile(store.at(`${folder}/secret plan ${folder.replaceAll('/', ' ')}`), '')
  }
  await complete(store.id)
  const restrictions = [{ providerId: store.id, basePath: '/open' }]
  const access = { restrictions }
  const { key, id } = await app.createKey(token, { name: 'narrow', scopes: ['read'], providerAccess: access })
  const seen = await page({ text: 'secret' }, {}, key)
  t.same(
    seen.nodes.map(({ entry }) => entry.path),
    ['/open/secret plan open'],
  )
  t.same(
    seen.coverage.map(({ provider }) => provider.id),
    [store.id],
    'no other storage is named',
  )
  t.equal(seen.pageInfo.hasNextPage, false)
  t.same((await page({ text: 'closed' }, {}, key)).nodes, [])
  const outside = await app.graphql(
    query,
    { input: { text: 'secret', within: [{ providerId: store.id, path: '/closed' }] } },
    key,
  )
  t.match(outside.errors, [{ extensions: { reason: 'OUTSIDE_BASE_PATH' } }])
  const { provider } = await app.ask(
    'query ($id: ID!) { provider(id: $id) { catalogue { entries } } }',
    { id: store.id },
    key,
  )
  t.equal(provider.catalogue.entries, null, 'nor does it learn how many entries there are')
  const rest = await app.request('/api/search?text=secret', { token: key })
  t.equal(((await rest.json()) as { entries: unknown[] }).entries.length, 1)
  const several = ['/open', '/also', '/also/open'].map(path => ({ providerId: store.id, path }))
  t.same(
    (await everything({ text: 'secret', within: several })).toSorted(),
    ['/also/open/secret plan also open', '/open/secret plan open'],
    'several folders, of which one is in another',
  )
  const file = { providerId: store.id, path: '/open/secret plan open' }
  t.same(await everything({ text: 'secret', within: [file] }), [file.path], 'a file')
  await app.ask('mutation ($id: ID!) { revokeApiKey(id: $id) { id } }', { id }, token)
  t.equal((await app.request('/api/search?text=secret', { token: key })).status, 401)
})

t.test('a moved folder is found at neither path until the catalogue has the move, and then at the new one', async t => {
  const store = await disk('moving')
  for (const path of ['from/deep/wanted', 'to/other']) {
    await mkdir(dirname(store.at(path)), { recursive: true })
    await writeFile(store.at(path), '')
  }
  await complete(store.id)
  const within = [{ providerId: store.id, path: '/' }]
  t.same(await everything({ text: 'wanted', within }), ['/from/deep/wanted'])
  await app.ask(
    'mutation ($input: MoveInput!) { move(input: $input) { path } }',
    { input: { providerId: store.id, path: '/from', toPath: '/to/moved' } },
    token,
  )
  t.notOk((await everything({ text: 'wanted', within })).includes('/from/deep/wanted'), 'not at the old path')
  await until(async () => (await everything({ text: 'wanted', within }))[0] === '/to/moved/deep/wanted', {
    within: 120_000,
  })
  await converged(app, store)
  t.equal((await treeOf(store.root)).length, 5)
})

atNight(t, 'the best matches of a frequent word come first, wherever they are', async t => {
  const store = await disk('frequent')
  for (const folder of ['a', 'z']) await mkdir(store.at(folder))
  const names = Array.from({ length: 2300 }, (_, index) => `a/not common ${index}.txt`)
  for (const name of [...names, 'z/common', 'z/common note.txt']) await writeFile(store.at(name), '')
  await complete(store.id)
  // The database knows from now on that the word is frequent.
  await sql`analyze catalogue_entries`.execute(app.db)
  const found = await everything({ text: 'common', within: [{ providerId: store.id, path: '/' }] }, token, 200)
  t.same(found.slice(0, 2), ['/z/common', '/z/common note.txt'])
  t.equal(found.length, 1002, 'and as many others as are ranked')
  t.equal(new Set(found).size, found.length)
  const both = await everything({ text: 'common not', within: [{ providerId: store.id, path: '/' }] }, token, 200)
  t.equal(both[0], '/z/common note.txt')
  t.equal(both.length, 1001)
  t.equal(new Set(both).size, both.length)
  t.equal((await everything({ text: 'common', within: [{ providerId: store.id, path: '/z' }] })).length, 2)
  t.equal((await everything({ text: 'common', minSize: 1 })).length, 0)
})

t.test('the catalogue of a storage can be switched off', async t => {
  const store = await disk('off')
  await writeFile(store.at('findable'), '')
  await complete(store.id)
  const within = [{ providerId: store.id, path: '/' }]
  const update =
    'mutation ($input: UpdateProviderInput!) { updateProvider(input: $input) { catalogue { mode state isComplete } } }'
  const change = (catalogueMode: string) => app.ask(update, { input: { id: store.id, catalogueMode } }, token)
  t.same((await change('OFF')).updateProvider.catalogue, { mode: 'OFF', state: 'OFF', isComplete: false })
  t.match(await page({ text: 'findable', within }), { nodes: [], coverage: [{ isComplete: false, indexedAt: null }] })
  t.equal((await change('NAMES')).updateProvider.catalogue.mode, 'NAMES')
  await until(async () => (await everything({ text: 'findable', within })).length === 1, { within: 120_000 })
})
