/** The search finds the text of files, shows the words around it, and nothing outside of a key. */
import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { sql } from 'kysely'
import t from 'tap'
import { docx, pdf } from '../support/documents.ts'
import { atNight } from '../support/extent.ts'
import { until } from '../support/until.ts'
import { catalogueWorld, type Disk } from './world.ts'

const { app, token, disk } = await catalogueWorld(t)

const query = `query ($input: SearchInput!, $first: Int, $after: String) {
  search(input: $input, first: $first, after: $after) {
    nodes { entry { path } provider { id } snippet }
    coverage { provider { id } isComplete isContentComplete }
    pageInfo { hasNextPage endCursor }
  }
}`

interface Page {
  nodes: { entry: { path: string }; provider: { id: string }; snippet: string | null }[]
  coverage: { provider: { id: string }; isComplete: boolean; isContentComplete: boolean }[]
  pageInfo: { hasNextPage: boolean; endCursor: string | null }
}

async function page(input: object, options: object = {}, as = token): Promise<Page> {
  return (await app.ask(query, { input, first: 50, ...options }, as)).search
}

/** Connects a storage with files, and waits until their text was read. */
async function store(name: string, files: Readonly<Record<string, string | Uint8Array>>): Promise<Disk> {
  const made = await disk(name)
  await put(made, files)
  await setMode(made, 'CONTENT')
  await settled(made)
  return made
}

async function put(on: Disk, files: Readonly<Record<string, string | Uint8Array>>): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(on.at(path)), { recursive: true })
    await writeFile(on.at(path), content)
  }
}

async function setMode({ id }: Disk, catalogueMode: string): Promise<void> {
  const update = 'mutation ($input: UpdateProviderInput!) { updateProvider(input: $input) { catalogue { mode } } }'
  await app.ask(update, { input: { id, catalogueMode } }, token)
}

const within = ({ id }: Disk, path = '/') => [{ providerId: id, path }]

/** Compares the storage with its catalogue, and waits until all text was read. */
async function settled(on: Disk): Promise<void> {
  const { rows } = await sql<{ now: Date }>`
    update catalogues set next_round_at = now() where provider_id = ${on.id} returning now()`.execute(app.db)
  const now = rows[0]?.now ?? new Date()
  await until(
    async () => {
      const { rows } = await sql<{ indexed_at: Date | null; round_started_at: Date | null }>`
        select indexed_at, round_started_at from catalogues where provider_id = ${on.id}`.execute(app.db)
      const [row] = rows
      const isListed = row?.indexed_at != null && row.indexed_at >= now && row.round_started_at === null
      const { coverage } = await page({ text: 'x', within: within(on) })
      return (isListed && coverage[0]?.isContentComplete === true) || { row, coverage }
    },
    { within: 120_000, every: 50 },
  )
}

async function found(on: Disk, text: string, options: object = {}, as = token): Promise<string[]> {
  return (await page({ text, within: within(on), ...options }, {}, as)).nodes.map(({ entry }) => entry.path).toSorted()
}

const marked = (text: string) => text.replaceAll('[', '\u0002').replaceAll(']', '\u0003')

t.test('words in the text of files are found', async t => {
  const on = await store('words', {
    'a.txt': 'The quarterly numbers of the Straße company',
    'b.docx': docx(['A budget for next year', 'with Naïve numbers']),
    'c.pdf': pdf([['Invoice 4711 for numbers']]),
    'd.md': '# 東京都の報告書\n\n서울 보고서, and the rest',
    'numbers.txt': 'nothing else',
    'e.bin': 'numbers',
    'mail.eml': 'Subject: Lunch\r\nFrom: ann@example.org\r\n\r\nNumbers of people\r\n',
  })
  const { nodes } = await page({ text: 'numbers', within: within(on) })
  t.equal(nodes[0]?.entry.path, '/numbers.txt', 'names come first')
  t.equal(nodes[0]?.snippet, null)
  t.same(await found(on, 'numbers'), ['/a.txt', '/b.docx', '/c.pdf', '/mail.eml', '/numbers.txt'])
  t.same(await found(on, 'numbers', { content: false }), ['/numbers.txt'])
  const cases: [string, string[]][] = [
    ['STRASSE', ['/a.txt']],
    ['naive', ['/b.docx']],
    ['quart', ['/a.txt']],
    ['uarterly', []],
    ['numbers quarterly', ['/a.txt']],
    ['"quarterly numbers"', ['/a.txt']],
    ['"numbers quarterly"', []],
    ['4711', ['/c.pdf']],
    ['東京', ['/d.md']],
    ['京都', ['/d.md']],
    ['東京都', ['/d.md']],
    ['都', ['/d.md']],
    ['書', ['/d.md']],
    ['京東', []],
    ['보고서', ['/d.md']],
    ['"서울 보고서"', ['/d.md']],
    ['a.txt', ['/a.txt']],
    ["it's 100% \\ ' : & | ! <-> ()", []],
  ]
  for (const [text, paths] of cases) t.same(await found(on, text), paths, text)
  const rest = await app.request(`/api/search?${new URLSearchParams({ text: 'budget', providerId: on.id })}`, { token })
  t.match(await rest.json(), {
    entries: [{ path: '/b.docx', snippet: marked('A [budget] for next year with Naïve numbers') }],
    coverage: [{ isContentComplete: true }],
  })
  const names = await app.request(
    `/api/search?${new URLSearchParams({ text: 'budget', providerId: on.id, content: 'false' })}`,
    { token },
  )
  t.match(await names.json(), { entries: [] })
})

atNight(t, 'snippets show the words around a hit', async t => {
  const filler = 'Lorem ipsum dolor sit amet. '.repeat(30)
  const on = await store('snippets', {
    'long.txt': `${filler}The Größe of the needle is here, says the needle.${filler}`,
    'cjk.txt': `${'あ'.repeat(300)}東京都の報告書${'い'.repeat(300)}`,
    'one-word.txt': `${'x'.repeat(1000)}`,
    'late.txt': `${'filler '.repeat(80_000)}behind`,
    'near.txt': `alpha ${'filler '.repeat(100)} alpha beta together`,
  })
  const snippetOf = async (text: string) => (await page({ text, within: within(on) })).nodes[0]?.snippet
  const snippet = (await snippetOf('grosse needle')) ?? ''
  t.ok(snippet.includes(marked('The [Größe] of the [needle] is here, says the [needle].')), snippet)
  t.ok(snippet.startsWith('…') && snippet.endsWith('…') && snippet.length < 300, snippet)
  t.ok((await snippetOf('京都の報'))?.includes(marked('東[京都の報]告書')))
  t.match(await snippetOf('xxxx'), marked(`[${'x'.repeat(1000)}]`))
  t.match(await page({ text: 'behind', within: within(on) }), {
    nodes: [{ entry: { path: '/late.txt' }, snippet: null }],
  })
  t.ok((await snippetOf('alpha beta'))?.includes(marked('[alpha] [beta] together')), 'where most of the words are')
})

atNight(t, 'results come page by page', async t => {
  const files = Object.fromEntries(Array.from({ length: 25 }, (_, n) => [`f${n}.txt`, `needle ${n}`]))
  const on = await store('pages', { ...files, 'needle.bin': '' })
  const paths: string[] = []
  for (let after: string | null = null; ; ) {
    const { nodes, pageInfo }: Page = await page({ text: 'needle', within: within(on) }, { first: 4, after })
    paths.push(...nodes.map(({ entry }) => entry.path))
    if (!pageInfo.hasNextPage) break
    after = pageInfo.endCursor
  }
  t.equal(paths[0], '/needle.bin')
  t.same(paths.toSorted(), [...Object.keys(files).map(name => `/${name}`), '/needle.bin'].toSorted())
})

atNight(t, 'texts follow their files', async t => {
  const on = await store('moving', {
    'from/deep/a.txt': 'wanted words',
    'from/b.txt': 'wanted too',
    'to/other.txt': 'something else',
  })
  t.same(await found(on, 'wanted'), ['/from/b.txt', '/from/deep/a.txt'])
  const { rows: before } = await sql`select queued_id from catalogue_contents where path = 'from/deep/a.txt'`.execute(
    app.db,
  )
  const move = 'mutation ($input: MoveInput!) { move(input: $input) { path } }'
  await app.ask(move, { input: { providerId: on.id, path: '/from', toPath: '/to/moved' } }, token)
  const paths = await found(on, 'wanted')
  t.notOk(
    paths.some(path => path.startsWith('/from')),
    'not at the old path',
  )
  await until(async () => (await found(on, 'wanted')).join() === '/to/moved/b.txt,/to/moved/deep/a.txt', {
    within: 60_000,
  })
  const { rows: after } =
    await sql`select queued_id from catalogue_contents where path = 'to/moved/deep/a.txt'`.execute(app.db)
  t.same(after, before, 'nothing was read again')
  await writeFile(on.at('to/moved/b.txt'), 'changed, and longer')
  await rename(on.at('to/other.txt'), on.at('to/renamed.txt'))
  await settled(on)
  t.same(await found(on, 'wanted'), ['/to/moved/deep/a.txt'])
  t.same(await found(on, 'changed'), ['/to/moved/b.txt'])
  t.same(await found(on, 'something'), ['/to/renamed.txt'])
  const upload = await app.upload(token, on.id, '/to/renamed.txt', 'replaced text', '&conflict=replace')
  t.ok(upload.ok, String(upload.status))
  await until(async () => (await found(on, 'replaced')).length === 1, { within: 60_000 })
  t.same(await found(on, 'something'), [])
  await rm(on.at('to'), { recursive: true })
  await settled(on)
  t.same(await found(on, 'wanted'), [])
  const { rows } = await sql`
    select path from catalogue_contents c join catalogues k on k.id = c.catalogue where k.provider_id = ${on.id}`.execute(
    app.db,
  )
  t.same(rows, [], 'no text is left')
})

t.test('a key finds no text outside of its folders', async t => {
  const on = await store('shared', {
    'open/a.txt': 'secret words of the open folder',
    'open-not/b.txt': 'secret words of another',
    'closed/c.txt': 'secret words of the closed one',
    'closed/broken.pdf': 'no document',
  })
  const providerAccess = { restrictions: [{ providerId: on.id, basePath: '/open' }] }
  const { key, id } = await app.createKey(token, { name: 'narrow', scopes: ['read'], providerAccess })
  const seen = await page({ text: 'secret' }, {}, key)
  t.match(seen.nodes, [{ entry: { path: '/open/a.txt' }, snippet: marked('[secret] words of the open folder') }])
  t.equal(seen.nodes.length, 1)
  t.same(seen.coverage, [{ provider: { id: on.id }, isComplete: true, isContentComplete: true }])
  for (const text of ['another', 'closed']) t.same((await page({ text }, {}, key)).nodes, [], text)
  const outside = await app.graphql(query, { input: { text: 'secret', within: within(on, '/closed') } }, key)
  t.match(outside.errors, [{ extensions: { reason: 'OUTSIDE_BASE_PATH' } }])
  // Files that wait elsewhere do not show.
  await sql`update catalogue_contents set state = 'WAITING', path = path || '.away' where path = 'closed/c.txt'`.execute(
    app.db,
  )
  await sql`update catalogues set content_retry_at = 'infinity' where provider_id = ${on.id}`.execute(app.db)
  await sql`
    insert into catalogue_contents (catalogue, path, folders) select id, 'closed/waiting.txt', '{}' from catalogues
    where provider_id = ${on.id}`.execute(app.db)
  t.equal((await page({ text: 'secret' }, {}, key)).coverage[0]?.isContentComplete, true)
  t.equal((await page({ text: 'secret', within: within(on) })).coverage[0]?.isContentComplete, false)
  const counts = 'query ($id: ID!) { provider(id: $id) { catalogue { waitingFiles failedFiles } } }'
  t.same((await app.ask(counts, { id: on.id }, key)).provider.catalogue, { waitingFiles: null, failedFiles: null })
  const all = (await app.ask(counts, { id: on.id }, token)).provider.catalogue
  t.ok(all.waitingFiles >= 1 && all.failedFiles === 1, JSON.stringify(all))
  const find = await app.request('/api/search?text=secret', { token: key })
  t.equal(((await find.json()) as { entries: unknown[] }).entries.length, 1)
  await app.ask('mutation ($id: ID!) { revokeApiKey(id: $id) { id } }', { id }, token)
  t.equal((await app.request('/api/search?text=secret', { token: key })).status, 401)
})

atNight(t, 'a file that cannot be read is not read again until it changes', async t => {
  const on = await store('broken', { 'a.docx': 'no document', 'b.pdf': 'no document', 'c.txt': 'fine' })
  const failed = async () => {
    const { rows } = await sql<{ path: string; failure: string; queued_id: string }>`
      select c.path, c.failure, c.queued_id from catalogue_contents c join catalogues k on k.id = c.catalogue
      where k.provider_id = ${on.id} and c.state = 'FAILED' order by c.path`.execute(app.db)
    return rows
  }
  const first = await failed()
  t.same(
    first.map(({ path }) => path),
    ['a.docx', 'b.pdf'],
  )
  await settled(on)
  t.same(await failed(), first)
  await writeFile(on.at('a.docx'), docx(['now it is one']))
  await settled(on)
  t.same(
    (await failed()).map(({ path }) => path),
    ['b.pdf'],
  )
  t.same(await found(on, 'now'), ['/a.docx'])
})

atNight(t, 'a storage keeps the text of its files only with the mode CONTENT', async t => {
  const on = await store('modes', { 'a.txt': 'readable' })
  t.same(await found(on, 'readable'), ['/a.txt'])
  await setMode(on, 'NAMES')
  t.same(await found(on, 'readable'), [])
  const rows = async () =>
    (
      await sql`select from catalogue_contents c join catalogues k on k.id = c.catalogue where k.provider_id = ${on.id}`.execute(
        app.db,
      )
    ).rows.length
  await until(async () => (await rows()) === 0, { within: 60_000 })
  await setMode(on, 'CONTENT')
  await until(async () => (await found(on, 'readable')).length === 1, { within: 60_000 })
})
