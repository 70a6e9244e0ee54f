import { together } from '../support/together.ts'

await together(['auth', 'lib', 'log', 'storage'])
