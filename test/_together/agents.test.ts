import { together } from '../support/together.ts'

await together(['mcp', 'webdav'])
