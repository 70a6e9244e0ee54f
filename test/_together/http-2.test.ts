import { together } from '../support/together.ts'

await together(['http'], 1, 2)
