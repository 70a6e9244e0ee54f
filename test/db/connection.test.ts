import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, connect as connectSocket, createServer, type Socket } from 'node:net'
import { sql } from 'kysely'
import t from 'tap'
import { prepareOwnedApiKeys } from '../../src/db/api-keys.ts'
import { connect, prepared } from '../../src/db/client.ts'
import { batchedSlugs } from '../../src/db/providers.ts'
import { prepareSessions } from '../../src/db/sessions.ts'
import { testDatabase } from '../servers/postgres.ts'

t.test('a query on a connection that went silent fails, and the next one gets another connection', async t => {
  const url = new URL((await testDatabase(t)).connectionString)
  const folder = url.searchParams.get('host')
  const port = url.searchParams.get('port') ?? (url.port || '5432')
  const sockets = new Set<Socket>()
  let isSilent = false
  const proxy = createServer(client => {
    const server = folder ? connectSocket(`${folder}/.s.PGSQL.${port}`) : connectSocket(Number(port), url.hostname)
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      sockets.add(from)
      from.on('error', () => {})
      from.on('data', bytes => void (isSilent || to.write(bytes)))
      from.on('close', () => to.destroy())
    }
  })
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    proxy.close()
  })
  const through = new URL(url)
  through.searchParams.delete('host')
  through.searchParams.delete('port')
  through.hostname = '127.0.0.1'
  through.port = String((proxy.address() as AddressInfo).port)
  const db = connect({ connectionString: through.href }, { max: 1, queryTimeout: 500 })
  t.teardown(() => db.destroy())
  await sql`select 1`.execute(db)
  isSilent = true
  await t.rejects(sql`select 2`.execute(db))
  isSilent = false
  t.same((await sql<{ n: number }>`select 3 as n`.execute(db)).rows, [{ n: 3 }])
})

t.test('a migration can take longer', async t => {
  const db = connect(await testDatabase(t), { max: 1, queryTimeout: null })
  t.teardown(() => db.destroy())
  const short = connect(await testDatabase(t), { max: 1, queryTimeout: 100 })
  t.teardown(() => short.destroy())
  await t.rejects(sql`select pg_sleep(1)`.execute(short))
  await t.resolves(sql`select pg_sleep(1)`.execute(db))
})

t.test('a prepared query is parsed once, and works on a connection that has lost it', async t => {
  const db = connect(await testDatabase(t), { max: 1 })
  t.teardown(() => db.destroy())
  const query = prepared(sql<{ n: number }>`select ${0}::int + 1 as n`.compile(db))
  const run = async (number: number) => (await db.executeQuery({ ...query, parameters: [number] })).rows
  const names = async () => (await sql<{ name: string }>`select name from pg_prepared_statements`.execute(db)).rows
  for (const number of [1, 2, 3]) t.same(await run(number), [{ n: number + 1 }])
  t.equal((await names()).length, 1)
  await t.rejects(db.executeQuery({ ...query, parameters: ['no number'] }))
  // As a pooler does that passes connections on.
  await sql`deallocate all`.execute(db)
  for (const number of [1, 2, 3]) t.same(await run(number), [{ n: number + 1 }])
  t.same(await names(), [])
})

t.test('the lookup of a credential or a slug is planned once, not for each request', async t => {
  const db = connect(await testDatabase(t), { max: 1 })
  t.teardown(() => db.destroy())
  const id = randomUUID()
  const findKeys = prepareOwnedApiKeys(db, 'key_hash')
  const findSessions = prepareSessions(db)
  const findSlug = batchedSlugs(db)
  for (let round = 0; round < 20; round += 1) {
    const provider = round % 2 === 0 ? { id } : { slug: 'documents' }
    await findKeys([{ value: Buffer.alloc(32), provider }])
    await findSessions([{ value: id, provider: null }])
    await findSlug(`${id}/documents`)
  }
  const { rows } = await sql<{ statement: string; plans: number; uses: number }>`
    select statement, custom_plans::int as plans, generic_plans::int as uses from pg_prepared_statements`.execute(db)
  t.equal(rows.length, 3)
  // PostgreSQL tries five plans for known values before it keeps one for all.
  for (const { statement, plans, uses } of rows) t.same({ plans, uses }, { plans: 5, uses: 15 }, statement)
})
