import { together } from '../support/together.ts'

await together(['services'], 1, 2)
