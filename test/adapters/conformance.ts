import t from 'tap'
import { conformanceCases, type Harness } from '../../adapters/conformance/index.ts'

export function runConformance(harness: Harness): void {
  for (const { name, run } of conformanceCases(harness)) {
    t.test(name, async t => {
      const { skipped } = await run()
      t.pass(skipped === undefined ? name : `skipped: needs ${skipped}`)
    })
  }
}
