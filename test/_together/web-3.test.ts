import { together } from '../support/together.ts'

await together(['web'], 2, 3)
