/** Fills catalogues from storages that had content before. */
import { execFile } from 'node:child_process'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { sql } from 'kysely'
import t from 'tap'
import type { StoragePath } from '../../adapters/contract.ts'
import { addEntries, copyLineOf, deleteEntries, findEntries } from '../../src/db/catalogue/entries.ts'
import { toEntry } from '../../src/services/catalogue/entry.ts'
import { atNight, extent } from '../support/extent.ts'
import { until } from '../support/until.ts'
import { catalogued, catalogueWorld, converged, isComplete, treeOf } from './world.ts'

const { app, token, disk } = await catalogueWorld(t)

/** Runs work for the numbers below `count`, a hundred at once. */
async function inTurns(count: number, work: (index: number) => Promise<unknown>): Promise<void> {
  const numbers = Array.from({ length: count }, (_, index) => index).values()
  const run = async () => {
    for (const index of numbers) await work(index)
  }
  await Promise.all(Array.from({ length: 100 }, run))
}

t.test('a catalogue gets everything that a storage contains', async t => {
  const root = join(app.folder, 'full')
  await mkdir(join(root, 'a/b/c/d/e'), { recursive: true })
  await mkdir(join(root, 'a-b'), { recursive: true })
  await mkdir(join(root, 'empty'), { recursive: true })
  await Promise.all(
    [
      'a/b/c/d/e/deep.txt',
      'a-b/x',
      'a.txt',
      'a0',
      `a/${'\u0301'.repeat(100)}`,
      'a/b/\u{10ffff}',
      'a/b/\u{10ffff}z',
    ].map((path, index) => writeFile(join(root, path), 'x'.repeat(index))),
  )
  // A name that is not UTF-8.
  await writeFile(Buffer.concat([Buffer.from(`${root}/`), Buffer.from([0x66, 0xff, 0xfe])]), 'x')
  const store = await disk('full')
  await until(() => isComplete(app, store.id))
  const known = await catalogued(app, store.id)
  t.match(known, ['a-b/', 'a-b/x 1'])
  t.ok(known.includes('a/b/c/d/e/deep.txt 0'))
  await rm(Buffer.concat([Buffer.from(`${root}/`), Buffer.from([0x66, 0xff, 0xfe])]))
  t.same(known, await treeOf(root), 'and nothing else')
})

atNight(t, 'a folder of a million entries is listed whole', async t => {
  t.setTimeout(900_000)
  const root = join(app.folder, 'wide')
  await mkdir(root)
  const make = `seq -f 'file %.0f' 1000000 | xargs -d '\\n' touch`
  await promisify(execFile)('sh', ['-c', make], { cwd: root })
  const store = await disk('wide')
  await until(() => isComplete(app, store.id), { within: 600_000, every: 500 })
  const { rows } = await sql<{ count: number }>`
    select count(*)::integer as count from catalogue_entries e join catalogues c on c.id = e.catalogue
    where c.provider_id = ${store.id}`.execute(app.db)
  t.equal(rows[0]?.count, 1_000_000)
  const query = '{ search(input: { text: "file 777777" }) { nodes { entry { path } } } }'
  t.match((await app.ask(query, {}, token)).search.nodes, [{ entry: { path: '/file 777777' } }])
  await app.ask('mutation ($id: ID!) { disconnectProvider(id: $id) }', { id: store.id }, token)
})

t.test('a comparison finds what was changed behind the back of the server', async t => {
  const store = await disk('compared')
  await mkdir(store.at('gone/below'), { recursive: true })
  await mkdir(store.at('big'), { recursive: true })
  await writeFile(store.at('gone/below/x'), '')
  await writeFile(store.at('becomes-folder'), '')
  // By night, more than one step of a walk lists.
  const count = extent({ gate: 600, nightly: 4500 })
  await inTurns(count, index => writeFile(store.at(`big/${index}`), ''))
  const compare = async () => {
    await app.db
      .updateTable('catalogues')
      .set({ next_round_at: sql`now()` })
      .where('provider_id', '=', store.id)
      .execute()
  }
  await compare()
  await converged(app, store)
  await rm(store.at('gone'), { recursive: true })
  await rm(store.at('becomes-folder'))
  await mkdir(store.at('becomes-folder'))
  await writeFile(store.at('becomes-folder/x'), 'new')
  await inTurns(count / 2, index => rm(store.at(`big/${2 * index}`)))
  await writeFile(store.at('big/1'), 'changed')
  await compare()
  await converged(app, store)
  await until(() => isComplete(app, store.id))
  const { entries } = (
    await sql<{ entries: string }>`select entries from catalogues where provider_id = ${store.id}`.execute(app.db)
  ).rows[0] ?? { entries: '' }
  t.equal(Number(entries), (await treeOf(store.root)).length, 'the number of entries is known')
})

t.test('a walk through a folder keeps the file that has replaced it', async t => {
  const store = await disk('replaced')
  await until(() => isComplete(app, store.id))
  await app.upload(token, store.id, '/x.txt', 'x')
  await converged(app, store)
  await sql`
    insert into catalogue_changes (catalogue, kind, path)
    select id, 'TREE', 'x.txt' from catalogues where provider_id = ${store.id}`.execute(app.db)
  await until(async () => {
    const { rows } = await sql`
      select from catalogue_changes x join catalogues c on c.id = x.catalogue where c.provider_id = ${store.id}`.execute(
      app.db,
    )
    return rows.length === 0
  })
  t.same(await catalogued(app, store.id), ['x.txt 1'])
})

t.test('disconnecting a storage removes its entries', async () => {
  const store = await disk('left')
  await writeFile(store.at('x'), '')
  await app.db
    .updateTable('catalogues')
    .set({ next_round_at: sql`now()` })
    .where('provider_id', '=', store.id)
    .execute()
  await converged(app, store)
  const { rows } = await sql<{ id: number }>`select id from catalogues where provider_id = ${store.id}`.execute(app.db)
  await app.ask('mutation ($id: ID!) { disconnectProvider(id: $id) }', { id: store.id }, token)
  await until(async () => {
    const left = await sql`select from catalogue_entries where catalogue = ${rows[0]?.id}`.execute(app.db)
    const kept = await sql`select from catalogues where id = ${rows[0]?.id}`.execute(app.db)
    return left.rows.length + kept.rows.length === 0
  })
})

t.test('disconnecting a storage waits for a change of its catalogue', async t => {
  const store = await disk('changing')
  await until(() => isComplete(app, store.id))
  const change = (trx: typeof app.db) =>
    sql`update catalogues set claimed_at = now() where provider_id = ${store.id}`.execute(trx)
  const disconnected = await app.db.transaction().execute(async trx => {
    await change(trx)
    const ended = app.graphql('mutation ($id: ID!) { disconnectProvider(id: $id) }', { id: store.id }, token)
    await until(async () => {
      const { rows } = await sql`select from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' and query like '%catalogues%'`.execute(app.db)
      return rows.length > 0
    })
    // The second change of a row in a transaction locks what it refers to.
    await change(trx)
    return { ended }
  })
  t.match(await disconnected.ended, { data: { disconnectProvider: true } })
})

t.test('a first fill stores each text and time as it is', async t => {
  const catalogue = 1_000_000
  const odd = ['plain', '\\N', 'a\\tb', 'tab\there', 'line\nbreak', 'return\r', '{"a",b}', 'ünïcödé 日本']
  const times = [null, new Date('2026-11-27T01:02:03.456Z'), new Date('0000-03-01T00:00:00Z'), new Date(-63e12)]
  const entries = odd.map((name, index) =>
    toEntry(catalogue, `folder/${name}` as StoragePath, {
      isFolder: false,
      size: index,
      modifiedAt: times[index % times.length] ?? null,
      etag: index % 2 === 0 ? null : name,
      fileId: index % 3 === 0 ? null : '-9223372036854775808',
      checksums: index % 2 === 0 ? {} : { md5: name },
    }),
  )
  const paths = entries.map(({ path }) => path)
  await app.db.transaction().execute(async trx => {
    t.equal(await addEntries(trx, catalogue, entries, entries.map(copyLineOf).join('')), odd.length)
    const found = await findEntries(trx, catalogue, paths)
    for (const entry of found) t.match(entries, { [paths.indexOf(entry.path)]: entry }, JSON.stringify(entry.path))
    t.equal(found.length, odd.length)
    t.equal(await addEntries(trx, catalogue, entries, entries.map(copyLineOf).join('')), 0, 'they are there already')
    await deleteEntries(trx, catalogue, paths)
  })
})
