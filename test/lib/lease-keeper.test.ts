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
