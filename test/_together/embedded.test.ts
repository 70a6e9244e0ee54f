import { together } from '../support/together.ts'

await together(['db/embedded'])
