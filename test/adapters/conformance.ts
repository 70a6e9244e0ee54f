import t from 'tap'
import { conformanceCases, type Harness } from '../../adapters/conformance/index.ts'

/** What cases need of a harness that cannot make its back end fail. */
export const faults = ['expireCredentials', 'rateLimit', 'unavailable'].map(name => `faults.${name} in the harness`)

/** @param lacks all that cases need and the adapter lacks: a case is skipped for nothing else */
export function runConformance(harness: Harness, lacks: readonly string[] = []): void {
  const met = new Set<string>()
  for (const { name, run } of conformanceCases(harness)) {
    t.test(name, async t => {
      const { skipped } = await run()
      if (skipped !== undefined) met.add(skipped)
      if (skipped !== undefined) t.ok(lacks.includes(skipped), `skipped, as it needs ${skipped}`)
    })
  }
  t.test('the adapter lacks nothing else, and all of that', async t => {
    t.same([...met].sort(), [...lacks].sort())
  })
}
