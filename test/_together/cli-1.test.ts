import { together } from '../support/together.ts'

await together(['cli'], 0, 2)
