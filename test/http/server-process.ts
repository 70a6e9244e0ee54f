/**
 * Runs the server in a separate process for memory.test.ts: `node server-process.ts <database> <folder> [<S3 configuration>]`.
 * It exits when stdin closes.
 */
import { serve } from './server.ts'

const [connectionString = '', folder = '', config] = process.argv.slice(2)
const server = await serve({ connectionString }, folder)
const s3 = config === undefined ? null : await server.connect('s3', JSON.parse(config))
process.stdout.write(`${JSON.stringify({ url: server.url, local: server.local, s3, token: server.token })}\n`)
process.stdin.resume().once('end', () => void server.close())
