import { together } from '../support/together.ts'

await together(['http'], 2, 4)
