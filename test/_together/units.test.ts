import { together } from '../support/together.ts'

await together([
  'architecture.test.ts',
  'deploy.test.ts',
  'docs.test.ts',
  'helm.test.ts',
  'regular-expressions.test.ts',
  'settings.test.ts',
  'tests.test.ts',
  'type-names.test.ts',
  'auth',
  'db',
  'lib',
  'log',
  'storage',
])
