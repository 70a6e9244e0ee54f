import { together } from '../support/together.ts'

await together(['adapters'], 0, 2)
