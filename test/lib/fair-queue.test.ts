import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import type { AppError } from '../../src/errors.ts'
import { FairQueue, type QueueSlot } from '../../src/lib/fair-queue.ts'

const refusals = { owner: 'Too many for one', all: 'Too many' }
const bounds = { running: 1, slots: 6, slotsOfOwner: 4, refusals }

/** Runs work in a slot until `end` is called, and adds `name` to `begun` when it starts. */
function work(slot: QueueSlot, name: string, begun: string[]) {
  const end = Promise.withResolvers<void>()
  const done = slot
    .run(async () => {
      begun.push(name)
      await end.promise
    })
    .then(
      () => 'done',
      (error: AppError) => error.reason ?? error.message,
    )
  return { end: end.resolve, done }
}

t.test('owners take turns, in any order of arrival', async t => {
  const queue = new FairQueue(bounds)
  const begun: string[] = []
  const names = ['a1', 'a2', 'a3', 'b1', 'b2', 'c1']
  const works = names.map(name => work(queue.enter(name.slice(0, 1)), name, begun))
  for (const { end } of works) end()
  t.same(await Promise.all(works.map(({ done }) => done)), Array(6).fill('done'))
  t.same(begun, ['a1', 'a2', 'b1', 'c1', 'a3', 'b2'])
})

t.test('work runs up to the limit, and a failure frees its slot', async t => {
  const queue = new FairQueue({ ...bounds, running: 2 })
  let running = 0
  let most = 0
  const fault = new Error('the work failed')
  const results = await Promise.allSettled(
    ['a', 'a', 'b', 'b', 'c', 'c'].map((network, n) =>
      queue.enter(network).run(async () => {
        running += 1
        most = Math.max(most, running)
        await turn()
        running -= 1
        if (n % 2) throw fault
      }),
    ),
  )
  t.equal(most, 2)
  t.same(
    results.map(result => result.status === 'rejected' && result.reason === fault),
    [false, true, false, true, false, true],
  )
})

t.test('a network occupies its slots until it disposes of them', async t => {
  const queue = new FairQueue(bounds)
  const slots = Array.from({ length: 4 }, () => queue.enter('a'))
  t.throws(() => queue.enter('a'), /^Too many for one/)
  slots[1]?.[Symbol.dispose]()
  slots[1]?.[Symbol.dispose]()
  t.ok(queue.enter('a'))
  t.throws(() => queue.enter('a'), /^Too many for one/)
})

t.test('a new network takes the latest idle slot of the network with the most slots', async t => {
  const queue = new FairQueue(bounds)
  const begun: string[] = []
  const names = ['a1', 'a2', 'a3', 'b1', 'c1', 'd1']
  const works = names.map(name => work(queue.enter(name.slice(0, 1)), name, begun))
  const e1 = work(queue.enter('e'), 'e1', begun)
  t.equal(await works[2]?.done, 'RATE_LIMITED', 'a loses its third slot')
  const idle = queue.enter('f')
  t.equal(await works[1]?.done, 'RATE_LIMITED', 'a loses its second slot')
  t.throws(() => queue.enter('g'), /^Too many:/, 'no network has more than one')
  for (const { end } of [...works, e1]) end()
  await e1.done
  t.same(begun, ['a1', 'b1', 'c1', 'd1', 'e1'])
  t.equal(await idle.run(async () => 'f1'), 'f1')
})

t.test('a slot that was lost before its work runs rejects', async t => {
  const queue = new FairQueue({ ...bounds, slots: 2, slotsOfOwner: 2 })
  const [first, second] = [queue.enter('a'), queue.enter('a')]
  queue.enter('b')
  await t.rejects(
    second.run(async () => {}),
    /^Too many:/,
  )
  second[Symbol.dispose]()
  t.equal(await first.run(async () => 1), 1)
  t.throws(() => queue.enter('c'), /^Too many:/, 'the lost slot is not freed twice')
})

t.test('an abort leaves the queue, but running work finishes', async t => {
  const queue = new FairQueue(bounds)
  const begun: string[] = []
  const client = new AbortController()
  const [a1, a2, b1] = ['a', 'a', 'b'].map((network, n) => work(queue.enter(network, client.signal), `${n}`, begun))
  client.abort(new Error('disconnected'))
  t.same(await Promise.all([a2?.done, b1?.done]), ['disconnected', 'disconnected'])
  a1?.end()
  t.equal(await a1?.done, 'done')
  t.equal(await queue.enter('c').run(async () => 'next'), 'next')
  t.throws(() => queue.enter('c', client.signal), { message: 'disconnected' })
  t.same(begun, ['0'])
})

t.test('one owner runs no more than its share, and leaves the rest to others', async t => {
  const queue = new FairQueue({ ...bounds, running: 2, runningOfOwner: 1 })
  const begun: string[] = []
  const names = ['a1', 'a2', 'a3', 'b1']
  const works = names.map(name => work(queue.enter(name.slice(0, 1)), name, begun))
  await turn()
  t.same(begun, ['a1', 'b1'])
  works[3]?.end()
  await turn()
  t.same(begun, ['a1', 'b1'], 'the turn of b stays free')
  for (const { end } of works) end()
  t.same(await Promise.all(works.map(({ done }) => done)), Array(4).fill('done'))
  t.same(begun, ['a1', 'b1', 'a2', 'a3'])
})

t.test('a slot that ends while it waits gets no turn', async t => {
  const queue = new FairQueue(bounds)
  const [first, second, third] = [queue.enter('a'), queue.enter('a'), queue.enter('b')]
  t.ok(first.begin())
  const waiting = second.wait().catch((error: AppError) => error.reason)
  const next = third.wait()
  second[Symbol.dispose]()
  first.end()
  await next
  t.equal(await waiting, 'RATE_LIMITED')
  third.end()
  t.throws(() => second.begin(), 'nor later')
  t.ok(first.begin(), 'the turn is free again')
})
