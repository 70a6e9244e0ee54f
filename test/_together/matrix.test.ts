import { together } from '../support/together.ts'

await together(['matrix'])
