import { together } from '../support/together.ts'

await together(['hostile'], 1, 2)
