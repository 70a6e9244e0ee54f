import { together } from '../support/together.ts'

await together(['services'], 3, 4)
