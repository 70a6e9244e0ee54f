import t from 'tap'
import { conformanceCases, type Harness } from '../../adapters/conformance/index.ts'

/** The needs of cases that a harness without faults cannot run. */
export const faults = ['expireCredentials', 'rateLimit', 'unavailable'].map(name => `faults.${name} in the harness`)

/** @param lacks everything that the adapter lacks: each skipped case must name one of these */
export function runConformance(harness: Harness, lacks: readonly string[] = []): void {
  const skips = new Set<string>()
  for (const { name, run } of conformanceCases(harness)) {
    t.test(name, async t => {
      const { skipped } = await run()
      if (skipped !== undefined) skips.add(skipped)
      if (skipped !== undefined) t.ok(lacks.includes(skipped), `skipped, as it needs ${skipped}`)
    })
  }
  t.test('the skipped cases name exactly what the adapter lacks', async t => {
    t.same([...skips].sort(), [...lacks].sort())
  })
}
