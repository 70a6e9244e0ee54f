import { together } from '../support/together.ts'

await together(['services', 'web'], 3, 8)
