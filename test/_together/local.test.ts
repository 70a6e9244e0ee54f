import { together } from '../support/together.ts'

await together([
  'adapters/conformance.test.ts',
  'adapters/local.test.ts',
  'adapters/local-confinement.test.ts',
  'adapters/local-power.test.ts',
  'adapters/local-small.test.ts',
  'db/embedded',
])
