import { together } from '../support/together.ts'

await together(['services'], 0, 2)
