/** A value that is too long for an index makes its whole statement fail, so the tables bound every indexed column. */
import { sql } from 'kysely'
import t from 'tap'
import { connect } from '../../src/db/client.ts'
import { testDatabase } from '../servers/postgres.ts'

/** The largest btree tuple in bytes: PostgreSQL 14 to 18, "index row size exceeds btree version 4 maximum 2704". */
const maxTuple = 2704
const tupleHeader = 8
/** Additional bytes of a value: its length, and padding to the next multiple of eight. */
const valueHeader = 4 + 7
const bytesPerCharacter = 4

interface Key {
  index: string
  definition: string
  /** The size in bytes, or -1 if it varies. */
  size: number
  checks: string[] | null
}

/** Returns the largest size in bytes that the catalog states, or null. */
function boundOf({ definition, size, checks }: Key): number | null {
  if (size > 0) return size + 7
  if (definition.startsWith('md5(')) return 32 + valueHeader
  const characters = /^\(?"?left"?\(.+, (\d+)\)\)?$/.exec(definition)?.[1]
  if (characters) return Number(characters) * bytesPerCharacter + valueHeader
  const bounds = (checks ?? []).flatMap(check => {
    const [, column, bytes] = /octet_length\((\w+)\) <?= (\d+)\)/.exec(check) ?? []
    return column === definition ? [Number(bytes) + valueHeader] : []
  })
  return bounds.length > 0 ? Math.min(...bounds) : null
}

t.test('every index can store the longest value of its columns', async t => {
  const db = connect(await testDatabase(t), { max: 1 })
  t.teardown(() => db.destroy())
  const { rows } = await sql<Key>`
    select i.indexrelid::regclass::text as index, pg_get_indexdef(i.indexrelid, a.attnum, true) as definition,
      a.attlen as size,
      (select array_agg(pg_get_constraintdef(o.oid)) from pg_constraint o where o.conrelid = i.indrelid and o.contype = 'c')
        as checks
    from pg_index i
    join pg_attribute a on a.attrelid = i.indexrelid
    join pg_class c on c.oid = i.indrelid
    -- An index of another kind holds parts of values, and those of fixed size alone.
    join pg_class x on x.oid = i.indexrelid
    join pg_am m on m.oid = x.relam and m.amname = 'btree'
    where c.relnamespace = 'public'::regnamespace and c.relname not like 'kysely_%'
    order by 1, a.attnum`.execute(db)
  const indexes = Map.groupBy(rows, ({ index }) => index)
  t.ok(indexes.size > 30, `${indexes.size} indexes`)
  const varying = rows.filter(({ size }) => size === -1)
  t.ok(varying.length > 8, `${varying.length} columns of any length`)
  t.same(
    varying.filter(key => boundOf(key) === null).map(({ index, definition }) => `${index}: ${definition}`),
    [],
    'index a prefix or a hash, or add a check on octet_length(...) to the column',
  )
  for (const [index, keys] of indexes) {
    const bytes = tupleHeader + keys.reduce((sum, key) => sum + (boundOf(key) ?? 0), 0)
    t.ok(bytes <= maxTuple, `${index} holds up to ${bytes} bytes`)
  }
})

t.test('the longest values of the tables are stored even if they do not compress', async t => {
  const db = connect(await testDatabase(t), { max: 1 })
  t.teardown(() => db.destroy())
  const path = `/${Array.from({ length: 4095 }, (_, n) => String.fromCodePoint(0x10000 + ((n * 7919) % 0xf0000))).join('')}`
  await sql`insert into audit_events (id, workspace_id, at, action, result, address, request_id, provider_id, path,
    to_provider_id, to_path) values (gen_random_uuid(), gen_random_uuid(), now(), 'MOVE', 'OK', '', '',
    gen_random_uuid(), ${path}, gen_random_uuid(), ${path})`.execute(db)
  const { rows } = await sql`select 1 from audit_events where path = ${path} and to_path = ${path}`.execute(db)
  t.equal(rows.length, 1)
})
