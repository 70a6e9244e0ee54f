import { together } from '../support/together.ts'

await together(['catalogue'], 0, 2)
