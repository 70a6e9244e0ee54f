import t from 'tap'
import { LeaseKeeper } from '../../src/lib/lease-keeper.ts'
import { until } from '../support/until.ts'

t.test('a lease is lost when a renewal says so', async () => {
  let isLost = false
  using _keeper = new LeaseKeeper({
    interval: 5,
    renew: async () => false,
    onLost() {
      isLost = true
    },
  })
  await until(() => isLost)
})

t.test('a lease is lost when the database does not respond, and not after a single failure', async t => {
  let renewals = 0
  let lostAfter: number | null = null
  const startedAt = performance.now()
  using _keeper = new LeaseKeeper({
    interval: 5,
    timeout: 1000,
    async renew() {
      renewals += 1
      if (renewals === 1) throw new Error('The database fails once')
      await new Promise(() => {})
    },
    onLost() {
      lostAfter ??= performance.now() - startedAt
    },
  })
  await until(() => lostAfter !== null)
  t.ok(Number(lostAfter) > 1000)
  t.equal(renewals, 2, 'one renewal runs at a time')
})

t.test('the last renewal comes after the one that is running', async t => {
  const ended: number[] = []
  let renewals = 0
  const keeper = new LeaseKeeper({
    interval: 5,
    async renew() {
      renewals += 1
      const own = renewals
      await new Promise(resolve => setTimeout(resolve, 20))
      ended.push(own)
    },
  })
  await until(() => renewals === 1)
  await keeper.end()
  t.strictSame(ended, [1, 2])
})

/** A lease whose process is paused before the first renewal. @param answer to each renewal; null for none */
function pausedLease(answer: boolean | null, isExact = true) {
  const state = { offset: 0, renewals: 0, isLost: false }
  const keeper = new LeaseKeeper({
    interval: 5,
    timeout: 8000,
    isExact,
    now: () => performance.now() + state.offset,
    async renew() {
      state.renewals += 1
      return answer ?? new Promise(() => {})
    },
    onLost() {
      state.isLost = true
    },
  })
  state.offset = 9000
  return { keeper, state }
}

t.test('after a pause of the process, the renewal says whether the lease is lost', async t => {
  for (const isHeld of [true, false]) {
    const { keeper, state } = pausedLease(isHeld)
    using _keeper = keeper
    await until(() => state.renewals > 1)
    t.equal(state.isLost, !isHeld)
  }
})

t.test('a renewal from before a pause is repeated', async t => {
  const first = Promise.withResolvers<void>()
  const renewals: number[] = []
  let offset = 0
  let isLost = false
  using _keeper = new LeaseKeeper({
    interval: 5,
    timeout: 8000,
    isExact: true,
    now() {
      // The answer to the renewal from before arrives right after the pause.
      if (offset > 0) first.resolve()
      return performance.now() + offset
    },
    async renew() {
      renewals.push(offset)
      if (renewals.length === 1) await first.promise
    },
    onLost() {
      isLost = true
    },
  })
  await until(() => renewals.length === 1)
  offset = 9000
  await until(() => renewals.length >= 3)
  t.equal(isLost, false)
})

t.test('after a pause, a lease is lost when the database does not respond', async t => {
  const { keeper, state } = pausedLease(null)
  using _keeper = keeper
  await until(() => state.isLost)
  t.equal(state.renewals, 1)
})

t.test('a lease of which a renewal says nothing is lost after a pause', async () => {
  const { keeper, state } = pausedLease(true, false)
  using _keeper = keeper
  await until(() => state.isLost)
})
