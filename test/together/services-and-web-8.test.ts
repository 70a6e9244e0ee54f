import { together } from '../support/together.ts'

await together(['services', 'web'], 7, 8)
