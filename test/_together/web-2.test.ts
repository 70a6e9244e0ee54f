import { together } from '../support/together.ts'

await together(['web'], 1, 2)
