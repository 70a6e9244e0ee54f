import { together } from '../support/together.ts'

await together(['services'], 2, 4)
