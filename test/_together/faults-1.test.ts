import { together } from '../support/together.ts'

await together(['faults'], 0, 2)
