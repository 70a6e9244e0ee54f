import { together } from '../support/together.ts'

await together(['client', 'graphql', 'rights', 'servers', 'thumbnails'])
