/** The pool that the host offers to adapters. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { call } from '../../adapters/conformance/kit.ts'
import { type PoolOptions, StorageError } from '../../adapters/contract.ts'
import { createPool } from '../../adapters/pool.ts'
import { until } from '../support/until.ts'

interface Connection {
  id: number
  isOpen: boolean
}

/** Returns a pool and what happened to its connections. */
function world(options: Partial<PoolOptions<Connection>> = {}) {
  const opened: Connection[] = []
  const pool = createPool<Connection>({
    max: 2,
    async open() {
      const connection = { id: opened.length, isOpen: true }
      opened.push(connection)
      return connection
    },
    close: connection => {
      connection.isOpen = false
    },
    isOpen: ({ isOpen }) => isOpen,
    ...options,
  })
  return { pool, opened, open: () => opened.filter(({ isOpen }) => isOpen).length }
}

/** Work that ends when the test says so. */
function held() {
  const { promise, resolve } = Promise.withResolvers<void>()
  return { work: () => promise, end: resolve }
}

t.test('connections are bounded and reused, and callers get them in order', async t => {
  const { pool, opened } = world()
  const [first, second] = [held(), held()]
  const running = [pool.use(call(), first.work), pool.use(call(), second.work)]
  const order: number[] = []
  const waiting = [0, 1, 2, 3].map(n => pool.use(call(), async () => void order.push(n)))
  await sleep(0)
  t.same(order, [])
  first.end()
  await Promise.all(waiting)
  second.end()
  await Promise.all(running)
  t.same(order, [0, 1, 2, 3])
  t.equal(opened.length, 2)
  pool.close()
})

t.test('an abort ends the wait, and closes a connection in use', async t => {
  const { pool, opened, open } = world({ max: 1 })
  const [controller, waiter] = [new AbortController(), new AbortController()]
  const using = pool.use({ signal: controller.signal }, held().work)
  const waiting = pool.use({ signal: waiter.signal }, async () => t.fail('it got a connection'))
  waiter.abort(new Error('no longer needed'))
  await t.rejects(waiting, { message: 'no longer needed' })
  controller.abort(new Error('the client went away'))
  await t.rejects(using, { message: 'the client went away' })
  t.equal(open(), 0, 'a request on it had not ended')
  t.equal(await pool.use(call(), async ({ id }) => id), 1)
  t.equal(opened.length, 2)
  pool.close()
})

t.test('a connection that the server has closed is replaced', async t => {
  const { pool, opened } = world()
  await pool.use(call(), async () => {})
  for (const connection of opened) connection.isOpen = false
  t.equal(await pool.use(call(), async ({ id }) => id), 1)
  await t.rejects(
    pool.use(call(), async connection => {
      connection.isOpen = false
      throw new Error('it broke')
    }),
    { message: 'it broke' },
  )
  t.equal(await pool.use(call(), async ({ id }) => id), 2)
  pool.close()
})

t.test('a back end that refuses connections is tried again, and a free connection is used instead', async t => {
  let refusals = 2
  const { pool, opened } = world({
    async open() {
      if (refusals-- > 0) throw new StorageError('UNAVAILABLE', 'Not now.')
      const connection = { id: opened.length, isOpen: true }
      opened.push(connection)
      return connection
    },
  })
  t.equal(await pool.use(call(), async ({ id }) => id), 0)
  const first = held()
  const using = pool.use(call(), first.work)
  // From now on the server allows only one connection.
  refusals = Number.POSITIVE_INFINITY
  const next = pool.use(call(), async ({ id }) => id)
  first.end()
  await using
  t.equal(await next, 0)
  pool.close()
})

t.test('an error that another attempt does not change is returned at once', async t => {
  let attempts = 0
  const closed = Object.assign(new Error('closed'), { code: 'ERR_CLOSED_ADDRESS' })
  for (const error of [
    new StorageError('UNAUTHORIZED', 'The password is wrong.'),
    new StorageError('UNAVAILABLE', 'It cannot be reached.', { cause: closed }),
  ]) {
    const { pool } = world({
      async open() {
        attempts += 1
        throw error
      },
    })
    await t.rejects(
      pool.use(call(), async () => {}),
      { code: error.code },
    )
  }
  t.equal(attempts, 2)
})

t.test('errors of opening and of work are converted', async t => {
  const toError = (cause: unknown) => new StorageError('PERMISSION_DENIED', 'converted', { cause })
  const refused = new Error('refused')
  const closed = world({ open: () => Promise.reject(refused), toError })
  await t.rejects(closed.pool.use(call(), held().work), { message: 'converted', cause: refused })
  await t.rejects(closed.pool.take(call()), { message: 'converted', cause: refused })
  const { pool } = world({ toError })
  await t.rejects(
    pool.use(call(), () => Promise.reject(refused)),
    { message: 'converted', cause: refused },
  )
  const controller = new AbortController()
  const using = pool.use({ signal: controller.signal }, held().work)
  controller.abort(refused)
  await t.rejects(using, refused, 'the reason of an abort is not converted')
  pool.close()
})

t.test('idle connections are closed after a while', async t => {
  const { pool, open } = world({ idleTime: 20 })
  await pool.use(call(), async () => {})
  t.equal(open(), 1)
  await until(() => open() === 0)
  await pool.use(call(), async () => {})
  t.equal(open(), 1)
  pool.close()
  t.equal(open(), 0)
})

t.test('several users share a connection, and an abort of one does not close it', async t => {
  const { pool, opened, open } = world({ max: 2, maxUsers: 2 })
  const controller = new AbortController()
  const holds = Array.from({ length: 4 }, held)
  const users = holds.map(({ work }, n) =>
    pool.use({ signal: n === 0 ? controller.signal : call().signal }, work).catch(error => error.message),
  )
  await until(() => opened.length === 2)
  controller.abort(new Error('gone'))
  t.equal(await users[0], 'gone')
  t.equal(open(), 2)
  for (const { end } of holds) end()
  await Promise.all(users)
  pool.close()
})

t.test('a lease keeps its connection until it is released or discarded', async t => {
  const { pool, opened } = world({ max: 1 })
  const lease = await pool.take(call())
  const next = pool.take(call())
  lease.release()
  lease.release()
  const second = await next
  t.equal(second.connection, opened[0])
  second.discard()
  t.equal(opened[0]?.isOpen, false)
  const third = await pool.take(call())
  t.equal(third.connection, opened[1])
  pool.close()
  t.equal(opened[1]?.isOpen, false)
  await t.rejects(pool.take(call()), { code: 'UNAVAILABLE' })
})
