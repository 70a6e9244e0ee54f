import { together } from '../support/together.ts'

await together(['services/accounts.test.ts', 'services/interrupted.test.ts', 'services/sign-in-queue.test.ts'])
