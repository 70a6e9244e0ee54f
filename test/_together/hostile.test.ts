import { together } from '../support/together.ts'

await together(['hostile'])
