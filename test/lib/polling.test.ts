import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { startClaiming, startPolling } from '../../src/lib/polling.ts'
import { until } from '../support/until.ts'

const day = 24 * 60 * 60 * 1000

t.test('searches once more after a search during which it was woken', async t => {
  let searches = 0
  const first = Promise.withResolvers<void>()
  const search = async () => {
    searches += 1
    if (searches === 1) await first.promise
  }
  const polling = startPolling({ interval: day, search, onError: error => t.fail(String(error)) })
  polling.wake()
  polling.wake()
  t.equal(searches, 1)
  first.resolve()
  await until(() => searches === 2)
  polling.wake()
  await until(() => searches === 3)
  await polling.stop()
  polling.wake()
  t.equal(searches, 3)
})

t.test('works on a bounded number of items at once, and goes on after a failure', async t => {
  const items = Array.from({ length: 20 }, (_, index) => index)
  const errors: unknown[] = []
  let running = 0
  let most = 0
  const polling = startClaiming({
    interval: day,
    atOnce: 4,
    isAnyDue: async () => items.length > 0,
    claim: async () => items.shift() ?? null,
    async work(item) {
      running += 1
      most = Math.max(most, running)
      await sleep(1)
      running -= 1
      if (item === 3) throw new Error('The third one fails')
    },
    onError: error => errors.push(error),
  })
  await until(() => items.length === 0 && running === 0)
  await polling.stop()
  t.equal(most, 4)
  t.equal(errors.length, 1)
})
