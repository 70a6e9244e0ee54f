import t from 'tap'
import { isNight } from '../support/extent.ts'
import { isBroken, type Rule, rules, type State, start, steps } from './protocol.ts'

/** Explores all states, and returns the way to the first one that breaks the promise. */
function explore(without?: Rule): { states: number; broken: State[] | null; returned: number } {
  const seen = new Map<string, string | null>([[JSON.stringify(start), null]])
  const waiting = [start]
  let returned = 0
  for (let state = waiting.pop(); state; state = waiting.pop()) {
    if (state.change === 'returned') returned++
    const from = JSON.stringify(state)
    if (isBroken(state)) return { states: seen.size, broken: wayTo(from, seen), returned }
    for (const next of steps(state, without)) {
      const key = JSON.stringify(next)
      if (seen.has(key)) continue
      seen.set(key, from)
      waiting.push(next)
    }
  }
  return { states: seen.size, broken: null, returned }
}

function wayTo(last: string, from: ReadonlyMap<string, string | null>): State[] {
  const way: State[] = []
  for (let key: string | null | undefined = last; key; key = from.get(key)) way.unshift(JSON.parse(key) as State)
  return way
}

t.test('no order of the steps lets a process decide by a value that a returned change has replaced', async t => {
  const { states, broken, returned } = explore()
  t.equal(broken, null)
  t.ok(states > 10_000, `${states} states`)
  t.ok(returned > 1000, `${returned} of them after the change has returned`)
})

for (const [index, rule] of rules.entries()) {
  // `npm test` takes out every third rule.
  if (!isNight && index % 3 > 0) continue
  t.test(`without the rule "${rule}", the promise is broken`, async t => {
    t.ok(explore(rule).broken, 'an order of steps that breaks it')
  })
}
