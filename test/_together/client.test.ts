import { together } from '../support/together.ts'

await together(['client', 'rights', 'servers', 'thumbnails'])
