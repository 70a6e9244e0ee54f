/**
 * A baseline for Node: its own HTTP server. It responds to POST with constant JSON, and sends and stores files of a folder as
 * Node's manual shows, with `pipeline` and the default chunks.
 */
import { createReadStream, createWriteStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'

const [port, folder = ''] = process.argv.slice(2)
const body = JSON.stringify({
  data: { me: { id: '00000000-0000-0000-0000-000000000000', email: 'owner@example.org' } },
})

async function moveFile(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const path = join(folder, request.url ?? '')
  if (request.method === 'PUT') {
    await pipeline(request, createWriteStream(path))
    response.writeHead(201).end()
    return
  }
  response.setHeader('content-length', (await stat(path)).size)
  await pipeline(createReadStream(path), response)
}

createServer((request, response) => {
  if (request.method === 'POST' || request.url === '/') {
    request.resume()
    response.setHeader('content-type', 'application/json; charset=utf-8')
    response.end(body)
  } else moveFile(request, response).catch(() => response.destroy())
}).listen(Number(port), '127.0.0.1')
