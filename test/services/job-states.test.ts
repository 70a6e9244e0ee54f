/** The states of jobs that the feed of subscriptions keeps in memory. */
import t from 'tap'
import type { JobRecord } from '../../src/db/jobs/jobs.ts'
import { JobStates } from '../../src/services/jobs/feed.ts'

const count = 1000

/** Returns a state whose paths have about 60,000 characters. */
function largeJob(n: number, state = 'QUEUED'): JobRecord {
  const sources = Array.from({ length: 15 }, (_, index) => ({ providerId: 'p', path: `/${index}/${'x'.repeat(4000)}` }))
  return { id: `${n}`, state, sources, target: null } as unknown as JobRecord
}

t.test('only the latest large states stay whole, and changes of all of them are noticed', async t => {
  const states = new JobStates()
  for (let n = 0; n < count; n++) {
    states.keep(largeJob(n))
    t.ok(states.note(largeJob(n)))
  }
  const kept = () => Array.from({ length: count }, (_, n) => n).filter(n => states.latest(`${n}`))
  t.equal(kept().at(-1), count - 1)
  t.equal(kept().length, 68)
  t.equal(states.note(largeJob(0)), false)
  t.equal(states.note(largeJob(0, 'RUNNING')), true)
  for (let n = 0; n < count; n++) states.keep(largeJob(count - 1, 'RUNNING'))
  t.equal(kept().length, 68, 'a new state replaces the one before')
  t.equal(states.latest(`${count - 1}`)?.state, 'RUNNING')

  states.retain(new Set(['0', `${count - 1}`]))
  t.same(kept(), [count - 1])
  t.equal(states.note(largeJob(0, 'RUNNING')), false)
  t.equal(states.note(largeJob(1)), true)
  states.keep(largeJob(5))
  t.same(kept(), [5, count - 1])
})
