import { together } from '../support/together.ts'

await together(['matrix'], 1, 2)
