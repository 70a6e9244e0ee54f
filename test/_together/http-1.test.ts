import { together } from '../support/together.ts'

await together(['http'], 0, 2)
