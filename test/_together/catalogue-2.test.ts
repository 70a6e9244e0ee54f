import { together } from '../support/together.ts'

await together(['catalogue'], 1, 2)
