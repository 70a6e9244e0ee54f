import { together } from '../support/together.ts'

await together(['http'], 3, 4)
