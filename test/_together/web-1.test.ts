import { together } from '../support/together.ts'

await together(['web'], 0, 2)
