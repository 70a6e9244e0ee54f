import { together } from '../support/together.ts'

await together([
  'graphql/abuse.test.ts',
  'http/clock.test.ts',
  'http/download.test.ts',
  'http/linear-front-ends.test.ts',
  'http/linear-time.test.ts',
  'http/sockets.test.ts',
  'http/xml.test.ts',
  'log/redaction.test.ts',
])
