import { together } from '../support/together.ts'

await together(['faults'], 1, 2)
