import { once } from 'node:events'
import { type AddressInfo, connect as connectSocket, createServer, type Socket } from 'node:net'
import { sql } from 'kysely'
import t from 'tap'
import { connect } from '../../src/db/client.ts'
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
