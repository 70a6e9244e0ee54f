/** The server in a process of its own, for memory.test.ts: `node server-process.ts <database> <folder>`; ends with stdin. */
import { serve } from './server.ts'

const [connectionString = '', folder = ''] = process.argv.slice(2)
const server = await serve({ connectionString }, folder)
process.stdout.write(`${JSON.stringify({ url: server.url, local: server.local, token: server.token })}\n`)
process.stdin.resume().once('end', () => void server.close())
