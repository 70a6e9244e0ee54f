import { together } from '../support/together.ts'

await together([
  'adapter-test.test.ts',
  'apply.test.ts',
  'background.test.ts',
  'backup.test.ts',
  'doctor.test.ts',
  'metrics.test.ts',
  'processes.test.ts',
  'secrets.test.ts',
  'start.test.ts',
  'traces.test.ts',
  'upgrade.test.ts',
])
