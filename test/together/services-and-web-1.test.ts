import { together } from '../support/together.ts'

await together(['services', 'web'], 0, 8)
