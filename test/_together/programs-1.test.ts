import { together } from '../support/together.ts'

await together(['apply.test.ts', 'background.test.ts', 'doctor.test.ts', 'secrets.test.ts', 'start.test.ts'])
