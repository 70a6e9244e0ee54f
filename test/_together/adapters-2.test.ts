import { together } from '../support/together.ts'

await together(['adapters'], 1, 2)
