import { together } from '../support/together.ts'

await together(['cli'])
