import { together } from '../support/together.ts'

await together(['cli'], 1, 2)
