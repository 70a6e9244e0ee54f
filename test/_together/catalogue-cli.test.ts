import { together } from '../support/together.ts'

await together(['catalogue', 'cli'])
