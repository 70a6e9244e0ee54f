import { together } from '../support/together.ts'

await together([
  'adapter-test.test.ts',
  'backup.test.ts',
  'metrics.test.ts',
  'processes.test.ts',
  'traces.test.ts',
  'upgrade.test.ts',
])
