import { together } from '../support/together.ts'

await together(['adapters'], 2, 3)
